# Gradients of the weight and of the bias.

set(asynchronous stages=2 single_floats=true)

# ---- tensor cores: numbers of channels that fill a tile
# As many blocks as one round takes, or two: each ends with the stores of its part of the sum, and the parts are added.
set(one_round wanted_blocks=132)
set(two_rounds wanted_blocks=264)
set(c64x32 in_channel_multiple=64 out_channel_multiple=32 tile_out=32)
set(c64x16 in_channel_multiple=64 out_channel_multiple=16 tile_out=16)
set(c32 in_channel_multiple=32 out_channel_multiple=32 tile_in=32 tile_out=32)
set(c32x16 in_channel_multiple=32 out_channel_multiple=16 tile_in=32 tile_out=16)
set(row_tf32 weight_gradient tf32 cuda tensor_core ALLOW_SPILLS)
conv_transpose_kernel(${row_tf32} AS c64 ${k3} ${s1} ${c64x32} chunk_columns=32 chunk_rows=4 H200_TFLOPS 230)
conv_transpose_kernel(${row_tf32} AS c32 ${k3} ${s1} ${c32} chunk_columns=32 chunk_rows=4 stages=3 ${two_rounds} H200_TFLOPS 145)
conv_transpose_kernel(${row_tf32} AS c64 ${k3x5} ${s1} ${c64x32} chunk_columns=32 chunk_rows=3 ${two_rounds} H200_TFLOPS 290)
conv_transpose_kernel(${row_tf32} AS c64 ${k3x7} ${s1} ${c64x16} chunk_columns=32 chunk_rows=6 ${two_rounds} H200_TFLOPS 265)
conv_transpose_kernel(${row_tf32} AS c32 ${k3x7} ${s1} ${c32} chunk_columns=32 chunk_rows=4 ${two_rounds} H200_TFLOPS 216)
conv_transpose_kernel(${row_tf32} AS c64 ${k3s2} ${c64x32} chunk_columns=32 chunk_rows=3 ${one_round} H200_TFLOPS 130)
# Three products for one: on Hopper, where they were measured; other GPUs have the packed product.
set(row_tf32x3 weight_gradient tf32x3 cuda tensor_core ALLOW_SPILLS parts=2 ONLY_ON sm_90)
conv_transpose_kernel(${row_tf32x3} AS c64 ${k3} ${s1} ${c64x32} chunk_columns=16 chunk_rows=4 FULL H200_TFLOPS 98)
conv_transpose_kernel(${row_tf32x3} AS c32 ${k3} ${s1} ${c32} chunk_columns=32 chunk_rows=4 ${two_rounds} FULL H200_TFLOPS 70)
conv_transpose_kernel(${row_tf32x3} AS c64 ${k3x5} ${s1} ${c64x16} chunk_columns=32 chunk_rows=3 FULL H200_TFLOPS 100)
conv_transpose_kernel(${row_tf32x3} AS c64 ${k3x7} ${s1} ${c64x16} chunk_columns=16 chunk_rows=3 ${two_rounds} FULL H200_TFLOPS 100)
conv_transpose_kernel(${row_tf32x3} AS c32 ${k3x7} ${s1} ${c32x16} chunk_columns=32 chunk_rows=2 H200_TFLOPS 75)
conv_transpose_kernel(${row_tf32x3} AS c64 ${k4s2} ${c64x16} chunk_columns=16 chunk_rows=4 wanted_blocks=128 FULL H200_TFLOPS 66)

# ---- exact
set(dense weight_gradient f32 cuda dense ${asynchronous})
conv_transpose_kernel(${dense} ${k3} ${s1} ${c32x32} lanes_in=4 lanes_out=8 thread_in=8 chunk_columns=32 run=8 H200_TFLOPS 42)
conv_transpose_kernel(${dense} ${k3x7} ${s1} ${c32x32} lanes_in=8 lanes_out=8 chunk_columns=32 run=8 H200_TFLOPS 49)
conv_transpose_kernel(weight_gradient f32 cuda general ${exact75} in_tile=4 out_tile=1 all_taps_x=true all_taps_y=true)

# ---- depthwise
conv_transpose_kernel(weight_gradient f32 cuda general ${k4s2} ${depthwise}
    in_tile=1 out_tile=1 all_taps_x=true all_taps_y=true warps=1 wanted_blocks=8448)
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    # Many taps: few of a column that a position sees, longer runs, those for low columns, and in channels_last groups side by side.
    set(staged GENERATOR weight_gradient_cuda_staged ${maybe} storage=${format} ${depthwise})
    set(staged_few LAYOUT any ${staged} parts=16 threads=256 elements=9216 others=2048)
    set(staged_window3 ${staged_few} window=3)
    set(staged_window4 ${staged_few} window=4 FULL)
    set(staged_long LAYOUT any ${staged} parts=16)
    set(staged_low LAYOUT any ${staged} parts=8)
    set(staged_groups LAYOUT nhwc ${staged} parts=16 planes=8)
    foreach(tile staged_window3 staged_window4 staged_groups staged_long staged_low)
        if(format IN_LIST formats_of_16_bits)
            set(seldom "")
            if(tile MATCHES "window3|groups")
                set(seldom FULL)
            endif()
            conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS ${tile}_result ${${tile}} writes_result=true
                ${seldom})
        endif()
        conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS ${tile} ${${tile}})
    endforeach()
    set(depthwise_vectors LAYOUT nhwc GENERATOR weight_gradient_cuda_depthwise_vectors ${maybe} storage=${format} ${depthwise})
    if(format IN_LIST formats_of_16_bits)  # 16 bytes of them
        set(eights vector=8 taps=3 warps=4 lanes=64 at_once=2)
        conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS eights_result ${depthwise_vectors} ${eights}
            writes_result=true)
        conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS eights ${depthwise_vectors} ${eights})
    endif()
    # Runs of a column, whose taps see what overlaps.
    set(runs taps=1 window=3 run=8 warps=4 lanes=64 at_once=1)
    if(format IN_LIST formats_of_16_bits)
        conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS runs_of_eights ${depthwise_vectors} vector=8 ${runs})
    endif()
    conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS runs_of_fours ${depthwise_vectors} ${runs})
    conv_transpose_kernel(weight_gradient ${format} cuda depthwise ${depthwise_vectors})
    set(depthwise_gather LAYOUT any GENERATOR weight_gradient_cuda_depthwise_gather ${maybe} storage=${format} in_channels=1)
    conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS columns ${depthwise_gather} taps=3 window=3 run=8 at_once=1)
    # As many taps of a row as a thread sums, of kernels whose width they divide; two of each of two rows.
    set(t2x2 taps=2 window=2 at_once=2)
    set(t3 taps=3)
    set(t6 taps=6 at_once=2)
    foreach(taps t2x2 t3 t6)
        if(format IN_LIST formats_of_16_bits)
            conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS ${taps}_result ${depthwise_gather} ${${taps}}
                writes_result=true)
        endif()
        conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS ${taps} ${depthwise_gather} ${${taps}})
    endforeach()
    if(format IN_LIST formats_of_16_bits)
        conv_transpose_kernel(weight_gradient ${format} cuda depthwise AS result ${depthwise_gather} writes_result=true)
    endif()
    conv_transpose_kernel(weight_gradient ${format} cuda depthwise ${depthwise_gather})
endforeach()

# ---- families, for numbers of channels that fill enough of a tile
set(many_channels in_channel_multiple=32 out_channel_multiple=32)
# A thread's sums: 8 x 4 channels and 3 or 4 taps, or 4 x 4 and 3 or 7. The blocks wanted are one or two waves
# of what an H200 runs at a time: parts are sums that are stored and added once more.
set(tile64x64 lanes_in=8 lanes_out=16 thread_in=8)
set(tile64x32 lanes_in=16 lanes_out=8)
conv_transpose_kernel(${dense} ${k3} ${s1} ${many_channels} ${tile64x64} wanted_blocks=264 H200_TFLOPS 49)
conv_transpose_kernel(${dense} ${k3x7} ${s1} ${many_channels} ${tile64x32} chunk_columns=32 run=8 wanted_blocks=528 H200_TFLOPS 49)
conv_transpose_kernel(${dense} ${k3x5} ${s1} ${many_channels} lanes_in=8 thread_in=8 thread_out=2 chunk_columns=32 run=8 FULL
    H200_TFLOPS 49)
conv_transpose_kernel(${dense} ${k2s2} ${many_channels} lanes_out=8 thread_in=8 all_taps_y=true chunk_columns=16 wanted_blocks=264
    H200_TFLOPS 44)

# ---- any attributes: products of packed pictures. TF32's rates were fitted to 53 layers (H200, 2026-11-28).
set(one_block blocks=1 ${one_round})
set(taps2x64 tile_taps=2 tile_out=64)
set(taps4x64 tile_taps=4 tile_out=64)
set(taps4x32 tile_taps=4 tile_out=32)
set(taps4x16 tile_taps=4 tile_out=16)
set(some_channels min_in_channels=8 min_out_channels=3)
set(over_32 min_in_channels=33 min_out_channels=33)
set(row_f32 weight_gradient f32 cuda product)
set(by_tensor_cores GENERATOR weight_gradient_cuda_product_tensor_core)
set(row_tf32 weight_gradient tf32 cuda product ${by_tensor_cores} parts=1)
set(row_tf32x3 weight_gradient tf32x3 cuda product ${by_tensor_cores} parts=2 ALLOW_SPILLS)
conv_transpose_kernel(${row_tf32} AS c64x256 ${taps2x64} tile_in=256 ${one_block} stages=4 ${over_32} H200_TFLOPS 295)
conv_transpose_kernel(${row_tf32} AS c64x128 ${taps2x64} tile_in=128 ${one_block} stages=5 ${over_32} H200_TFLOPS 275)
conv_transpose_kernel(${row_tf32} AS c64 ${taps2x64} tile_in=64 stages=4 ${over_32} FULL H200_TFLOPS 215)
# 80, 96, 160, 168 and 192 channels, and others that fill less of tiles of powers of two.
conv_transpose_kernel(${row_tf32} AS c64x96 ${taps2x64} tile_in=96 ${one_block} stages=5 ${over_32} H200_TFLOPS 235)
conv_transpose_kernel(${row_tf32} AS c16x96 ${taps4x16} tile_in=96 blocks=2 stages=4 ${two_rounds} ${some_channels} H200_TFLOPS 165)
conv_transpose_kernel(${row_tf32} AS c32x64 ${taps4x32} tile_in=64 stages=4 ${some_channels} H200_TFLOPS 180)
conv_transpose_kernel(${row_tf32} AS c16x32 ${taps4x16} tile_in=32 blocks=4 stages=4 wanted_blocks=528 ${some_channels} H200_TFLOPS
    97)
conv_transpose_kernel(${row_tf32x3} AS c64x128 ${taps2x64} tile_in=128 ${one_block} stages=3 ${over_32} H200_TFLOPS 110)
conv_transpose_kernel(${row_tf32x3} AS c32x64 ${taps4x32} tile_in=64 stages=2 ${some_channels} H200_TFLOPS 104)
# By Winograd's algorithm, where there are few positions of many channels.
conv_transpose_kernel(weight_gradient f32 cuda winograd GENERATOR winograd_product terms_innermost=true min_channels=8
    MAX_REGISTERS 128 H200_TFLOPS 43)
conv_transpose_kernel(${row_f32} AS c64 ${taps2x64} tile_in=64 lanes_columns=4 ${over_32} H200_TFLOPS 47)
conv_transpose_kernel(${row_f32} AS c32 ${taps4x32} tile_in=32 ${some_channels} H200_TFLOPS 43)
conv_transpose_kernel(${row_f32} AS c16x32 ${taps4x16} tile_in=32 lanes_rows=8 ${some_channels} H200_TFLOPS 37)
# Few output channels: kernel positions fill up a tile.
set(taps16x4 tile_taps=16 tile_out=4)
set(taps64x1 tile_taps=64 tile_out=1)
set(few_outputs tile_in=64 blocks=4 stages=4 wanted_blocks=528 min_in_channels=8)
conv_transpose_kernel(${row_tf32} AS t16x4 ${taps16x4} ${few_outputs} H200_TFLOPS 117)
conv_transpose_kernel(${row_tf32} AS t64x1 ${taps64x1} ${few_outputs} H200_TFLOPS 105)
conv_transpose_kernel(${row_f32} AS t64x1 ${taps64x1} tile_in=32 lanes_rows=8 min_in_channels=8 H200_TFLOPS 30)
conv_transpose_kernel(${row_f32} AS t32x1 tile_taps=32 tile_out=1 tile_in=64 lanes_rows=4 min_in_channels=8 H200_TFLOPS 33)
# ---- any attributes: pictures as they lie. Rates of float32, these and those of products above, were fitted to 76 drawn layers, of
# which what is chosen takes 1.05 of the fastest's time, 1.065 before (H200, 2026-11-30).
set(pictures weight_gradient f32 cuda implicit_gemm GENERATOR weight_gradient_cuda_pictures)
conv_transpose_kernel(${pictures} AS c64 ${taps2x64} tile_in=64 ${over_32} H200_TFLOPS 34)
conv_transpose_kernel(${pictures} AS t1c64 tile_taps=1 tile_out=64 tile_in=64 lanes_rows=8 H200_TFLOPS 34)
conv_transpose_kernel(${pictures} AS t3c32 tile_taps=3 tile_out=32 tile_in=32 lanes_rows=12 H200_TFLOPS 32)
conv_transpose_kernel(${pictures} AS c16x32 ${taps4x16} tile_in=32 lanes_rows=8 H200_TFLOPS 26)
conv_transpose_kernel(${pictures} AS t1c32x64 tile_taps=1 tile_out=32 tile_in=64 lanes_rows=4 H200_TFLOPS 28)
conv_transpose_kernel(${pictures} AS t1c16x64 tile_taps=1 tile_out=16 tile_in=64 lanes_rows=4 lanes_columns=16 H200_TFLOPS 25)
# Few output channels: kernel positions fill up a tile.
conv_transpose_kernel(${pictures} AS t8c8x32 tile_taps=8 tile_out=8 tile_in=32 lanes_rows=8 H200_TFLOPS 29)
conv_transpose_kernel(${pictures} AS t16c4x64 ${taps16x4} tile_in=64 lanes_rows=8 H200_TFLOPS 37)
# Of channels_last, in fours of channels (schedules/cuda_weight_gradient_channels.h).
set(channels weight_gradient f32 cuda implicit_gemm LAYOUT nhwc GENERATOR weight_gradient_cuda_channels format=f32)
conv_transpose_kernel(${channels} AS c64x128 ${taps2x64} tile_in=128 lanes_rows=16 ${over_32} H200_TFLOPS 39)
conv_transpose_kernel(${channels} AS t1c64 tile_taps=1 tile_out=64 tile_in=64 H200_TFLOPS 38)
conv_transpose_kernel(${channels} AS t1c32x64 tile_taps=1 tile_out=32 tile_in=64 lanes_rows=4 H200_TFLOPS 29)
conv_transpose_kernel(${channels} AS c16x32 ${taps4x16} tile_in=32 lanes_rows=8 H200_TFLOPS 28)
conv_transpose_kernel(${channels} AS t16c4x64 ${taps16x4} tile_in=64 lanes_rows=8 H200_TFLOPS 37)
# Of any number of them, copied one by one: k2 s2, 2 of 256x256, 64 to 5 channels 48 us, turned 76; k4 s2, 16 of 192x192, 160 to 1,
# 387 (495); 64 of 32x32, 64 to 3, 36 (41; H200, 2026-11-29).
set(any_channels ${channels} single_floats=true)
conv_transpose_kernel(${any_channels} AS any_t1c32x64 tile_taps=1 tile_out=32 tile_in=64 lanes_rows=4 H200_TFLOPS 29)
conv_transpose_kernel(${any_channels} AS any_t16c4x64 ${taps16x4} tile_in=64 lanes_rows=8 H200_TFLOPS 30)
# By tensor maps, which round to TF32. Lanes load fragments from shared memory, whose rate limits them: warps of 32 rows multiply
# each column of 128 twice as often as warps of 16 (k2 s2, 256 to 256, 384x384: 352 us in place of 484; H200, 2026-11-29). Tiles of
# two kernel positions x 32 are for few output channels.
set(maps weight_gradient tf32 cuda implicit_gemm LAYOUT nhwc ONLY_ON sm_90 tensor_maps=true format=tf32 steps=32 producer=true
    ALLOW_SPILLS)
conv_transpose_kernel(${maps} AS maps_t1c64 blocks=3 stages=4 producer_registers=24 wanted_blocks=396 tile_taps=1 tile_out=64
    tile_in=64 min_in_channels=8 min_out_channels=8 H200_TFLOPS 150)
conv_transpose_kernel(${maps} AS maps_t2c32x64 blocks=3 stages=4 producer_registers=24 wanted_blocks=396 tile_taps=2 tile_out=32
    tile_in=64 min_in_channels=8 H200_TFLOPS 140)
set(maps ${maps} warpgroup_rows=128)
conv_transpose_kernel(${maps} AS maps_t2c64 blocks=3 stages=3 producer_registers=24 wanted_blocks=396 ${taps2x64} tile_in=64
    min_in_channels=8 min_out_channels=8 H200_TFLOPS 185)
set(maps ${maps} ${one_block} stages=4 tile_in=128 min_in_channels=65)
conv_transpose_kernel(${maps} AS maps_t4c64x128 tile_taps=4 tile_out=64 min_out_channels=16 H200_TFLOPS 222)
conv_transpose_kernel(${maps} AS maps_t2c128 tile_taps=2 tile_out=128 min_out_channels=65 H200_TFLOPS 230)
conv_transpose_kernel(${maps} AS maps_t1c256x128 tile_taps=1 tile_out=256 min_out_channels=129 H200_TFLOPS 235)
# Rounded on their way through registers.
set(by_tensor_cores GENERATOR weight_gradient_cuda_pictures_tensor_core separate_registers=true stages=2 ALLOW_SPILLS)
set(row_tf32 weight_gradient tf32 cuda implicit_gemm ${by_tensor_cores} parts=1)
conv_transpose_kernel(${row_tf32} AS c64x128 ${one_block} ${taps2x64} tile_in=128 H200_TFLOPS 115)
conv_transpose_kernel(${row_tf32} AS t1c64x128 blocks=2 ${two_rounds} tile_taps=1 tile_out=64 tile_in=128 H200_TFLOPS 105)
conv_transpose_kernel(${row_tf32} AS t3c64 ${one_block} tile_taps=3 tile_out=64 tile_in=64 H200_TFLOPS 86)
conv_transpose_kernel(${row_tf32} AS c32 blocks=3 wanted_blocks=396 ${taps4x32} tile_in=32 H200_TFLOPS 51)
# By tensor maps, where all positions of an image are one row and taps see others of it: 1x1, and kernels along one outer axis.
foreach(format tf32 ${formats_of_16_bits})
    conv_transpose_small_set_has(tf32 f16)
    set(full "${maybe}")
    set(storage ${format})
    set(rates c128 600 c64 450)
    if(format STREQUAL "tf32")
        set(storage f32)
        set(rates c128 500 c64 335)
    endif()
    set(runs weight_gradient ${format} cuda implicit_gemm ONLY_ON sm_90 GENERATOR weight_gradient_cuda_pictures_tensor_core
        tensor_maps=true storage=${storage} parts=1 steps=8 producer=true tile_taps=1 ALLOW_SPILLS)
    cmake_parse_arguments(TFLOPS "" "c128;c64" "" ${rates})
    conv_transpose_kernel(${runs} AS maps_c128 ${one_block} stages=6 tile_out=128 tile_in=128 min_in_channels=65
        min_out_channels=65 ${full} H200_TFLOPS ${TFLOPS_c128})
    conv_transpose_kernel(${runs} AS maps_c64 blocks=3 wanted_blocks=396 stages=4 producer_registers=24 tile_out=64 tile_in=64
        ${full} H200_TFLOPS ${TFLOPS_c64})
    # Kernels are as large as their strides, two along the width; tensor cores take their words from registers.
    if(NOT format STREQUAL "tf32")
        set(pairs weight_gradient ${format} cuda implicit_gemm ONLY_ON sm_90 GENERATOR weight_gradient_cuda_pictures_tensor_core
            in_pairs=true tensor_maps=true storage=${storage} parts=1 steps=4 producer=true ${taps2x64} ALLOW_SPILLS)
        conv_transpose_kernel(${pairs} AS as_it_lies_in_pairs_c256 ${one_block} stages=8 tile_in=256 min_in_channels=129 FULL
            H200_TFLOPS 620)
        conv_transpose_kernel(${pairs} AS as_it_lies_in_pairs_c128 ${one_block} stages=12 tile_in=128 min_in_channels=65 ${full}
            H200_TFLOPS 480)
        conv_transpose_kernel(${pairs} AS as_it_lies_in_pairs_c64 blocks=2 wanted_blocks=264 stages=8 producer_registers=24
            tile_in=64 ${full} H200_TFLOPS 370)
    endif()
endforeach()
conv_transpose_kernel(weight_gradient tf32x3 cuda implicit_gemm AS t3c64 ${by_tensor_cores} parts=2 ${one_block} tile_taps=3
    tile_out=64 tile_in=64 H200_TFLOPS 55)

foreach(turned true false)
    set(as "")
    if(NOT turned)
        set(as AS along_channels)
    endif()
    conv_transpose_helper(pack_pictures f32 cuda ${as} turned=${turned})
    conv_transpose_helper(pack_pictures tf32 cuda ${as} parts=1 turned=${turned})
    conv_transpose_helper(pack_pictures tf32x3 cuda ${as} parts=2 turned=${turned})
endforeach()
conv_transpose_helper(weight_gradient_sum f32 cuda)
conv_transpose_helper(weight_gradient_sum f32 cuda AS in_order slices=1)

# ---- operands of 16 bits, any attributes
set(implicit_gemm steps=64 stages=4)
foreach(format ${formats_of_16_bits})
    set(row weight_gradient ${format} cuda implicit_gemm LAYOUT nhwc)
    set(of format=${format} ${implicit_gemm})
    # What both formats have in a full build, float16 has in every.
    conv_transpose_small_set_has(f16)
    set(full "${maybe}")
    # Read by tensor maps; with a producer. Tiles of one kernel position waste nothing where there are nine. From eight input
    # channels on the estimate tells whether a tile that is mostly empty pays (1x1, 16 to 288, 2 of 384x384: 157 us, now 55).
    set(maps ONLY_ON sm_90 tensor_maps=true format=${format} steps=64 producer=true ALLOW_SPILLS)
    set(maps_one_block ${maps} ${one_block} stages=4)
    set(maps_two_blocks ${maps} blocks=2 stages=4 producer_registers=24 ${two_rounds})
    set(maps_three_blocks ${maps} blocks=3 stages=4 producer_registers=24 wanted_blocks=396)
    conv_transpose_kernel(${row} AS maps_t1c128 ${maps_one_block} tile_taps=1 tile_out=128 tile_in=128 stages=6 min_in_channels=65
        min_out_channels=65 ${full} H200_TFLOPS 770)
    conv_transpose_kernel(${row} AS maps_c64x256 ${maps_one_block} ${taps2x64} tile_in=256 min_in_channels=129 min_out_channels=33
        ${full} H200_TFLOPS 920)
    conv_transpose_kernel(${row} AS maps_t1c64x128 ${maps_two_blocks} tile_taps=1 tile_out=64 tile_in=128 min_in_channels=65
        min_out_channels=33 ${full} H200_TFLOPS 640)
    conv_transpose_kernel(${row} AS maps_t1c64 ${maps_three_blocks} tile_taps=1 tile_out=64 tile_in=64 min_in_channels=8
        min_out_channels=17 ${full} H200_TFLOPS 550)
    # They write weights of channels_last themselves, tiles of one kernel position x output channels x input channels.
    set(result writes_result=true tile_taps=1)
    # They store 16 bytes at once, where output channels are whole eights; blocks of a cluster add their parts of the sum before.
    set(rows ${result} row_stores=true)
    # Few blocks, which have their multiprocessors for themselves: more of a sum is on its way.
    set(deep ${maps} ${one_block} ${rows})
    conv_transpose_kernel(${row} AS maps_deep_c128 ${deep} stages=6 tile_out=128 tile_in=128 min_in_channels=65
        min_out_channels=65 ${full} H200_TFLOPS 815)
    conv_transpose_kernel(${row} AS maps_deep_c64 ${deep} stages=12 tile_out=64 tile_in=64 min_in_channels=8
        min_out_channels=9 ${full} H200_TFLOPS 330)
    # Short sums, many weights: the next tile's operands come while one is stored.
    set(tiles ${maps} ${one_block} ${rows} resident_blocks=132 tiles_in_rounds=true)
    conv_transpose_kernel(${row} AS maps_tiles_c256x128 ${tiles} stages=3 tile_out=256 tile_in=128 min_in_channels=65
        min_out_channels=129 ${full} H200_TFLOPS 790)
    conv_transpose_kernel(${row} AS maps_tiles_c128 ${tiles} stages=5 tile_out=128 tile_in=128 min_in_channels=65
        min_out_channels=65 ${full} H200_TFLOPS 630)
    # Of mixed precision, in every build: without them the result is the sum of parts, which take 1.15 times as long in
    # channels_last, at most 3.2 times; with them 1.03, at most 1.42 (estimates of 173 layers, 2026-11-28).
    conv_transpose_kernel(${row} AS maps_deep_c64_in_f32 ${deep} in_float32=true stages=12 tile_out=64 tile_in=64 min_in_channels=8
        min_out_channels=9 H200_TFLOPS 330)
    conv_transpose_kernel(${row} AS maps_tiles_c128_in_f32 ${tiles} in_float32=true stages=5 tile_out=128 tile_in=128
        min_in_channels=65 min_out_channels=65 H200_TFLOPS 630)
    # More blocks, of which some share a multiprocessor.
    conv_transpose_kernel(${row} AS maps_rows_c64x128 ${maps_two_blocks} ${rows} tile_out=64 tile_in=128 min_in_channels=65
        min_out_channels=33 ${full} H200_TFLOPS 680)
    conv_transpose_kernel(${row} AS maps_rows_c128x192 ${maps_one_block} ${rows} stages=5 tile_out=128 tile_in=192
        min_in_channels=129 min_out_channels=65 ${full} H200_TFLOPS 930)
    conv_transpose_kernel(${row} AS maps_rows_c64 ${maps_three_blocks} ${rows} tile_out=64 tile_in=64 min_in_channels=8
        min_out_channels=9 ${full} H200_TFLOPS 560)
    # These take any number of output channels.
    conv_transpose_kernel(${row} AS maps_result_c128 ${maps_one_block} ${result} stages=5 tile_out=128 tile_in=128
        min_in_channels=65 min_out_channels=65 ${full} H200_TFLOPS 830)
    conv_transpose_kernel(${row} AS maps_result_c64x128 ${maps_two_blocks} ${result} tile_out=64 tile_in=128 min_in_channels=65
        min_out_channels=33 ${full} H200_TFLOPS 620)
    conv_transpose_kernel(${row} AS maps_result_c64 ${maps_three_blocks} ${result} tile_out=64 tile_in=64 min_in_channels=8
        min_out_channels=9 ${full} H200_TFLOPS 560)
    # All kernel positions of a line share a box, three lines a block.
    set(lines ${maps} blocks=1 ${one_round} tile_in=64)
    conv_transpose_kernel(${row} AS maps_w3 ${lines} window=3 tile_taps=9 tile_out=64 stages=5 ${full} H200_TFLOPS 890)
    conv_transpose_kernel(${row} AS maps_w5 ${lines} window=5 tile_taps=15 tile_out=32 stages=8 ${full} H200_TFLOPS 950)
    # A warpgroup more would leave a thread too few registers.
    conv_transpose_kernel(${row} AS maps_w7 ${lines} producer=false window=7 tile_taps=21 tile_out=32 stages=8 ${full} H200_TFLOPS
        940)
    conv_transpose_kernel(${row} AS c64x256 ${of} ${taps2x64} tile_in=256 ${one_block} ${full} min_in_channels=129
        min_out_channels=33 H200_TFLOPS 580)
    conv_transpose_kernel(${row} AS c64x128 ${of} ${taps4x64} tile_in=128 ${one_block} ALLOW_SPILLS ${full} min_in_channels=65
        min_out_channels=33 H200_TFLOPS 550)
    conv_transpose_kernel(${row} AS c64 ${of} ${taps2x64} tile_in=64 stages=4 ${full} min_in_channels=33 min_out_channels=33
        H200_TFLOPS 290)
    conv_transpose_kernel(${row} AS result_c64x128 ${of} ${taps4x64} tile_in=128 writes_result=true ${one_block} ${full}
        min_in_channels=65 min_out_channels=33 H200_TFLOPS 480)
    conv_transpose_kernel(${row} AS result_c32x64 ${of} ${taps4x32} tile_in=64 writes_result=true ${full} min_in_channels=33
        min_out_channels=17 H200_TFLOPS 280)
    conv_transpose_kernel(${row} AS t1c64x128 ${of} tile_taps=1 tile_out=64 tile_in=128 ${full} min_in_channels=33
        min_out_channels=17 H200_TFLOPS 335)
    conv_transpose_kernel(${row} AS c32x64 ${of} ${taps4x32} tile_in=64 stages=4 ${full} H200_TFLOPS 270)
    conv_transpose_kernel(${row} AS c16x32 ${of} ${taps4x16} tile_in=32 blocks=4 wanted_blocks=528 H200_TFLOPS 117)
    conv_transpose_kernel(${row} AS c16x96 ${of} ${taps4x16} tile_in=96 blocks=2 ${two_rounds} ${full} H200_TFLOPS 255)
    conv_transpose_kernel(${row} AS c8x64 ${of} tile_taps=8 tile_out=8 tile_in=64 blocks=3 wanted_blocks=396 ${full} H200_TFLOPS
        200)
    conv_transpose_helper(weight_gradient_sum ${format} cuda written=${format})
    conv_transpose_helper(weight_gradient_sum ${format} cuda AS in_order written=${format} slices=1)
endforeach()

# ---- CPU: any attributes, rank, layout and element type
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_channel_rows(weight_gradient)
    conv_transpose_small_set_has(f32 f16)
    set(in_vectors LAYOUT any ${maybe} ${depthwise} storage=${format})
    conv_transpose_of_small_set_by_avx2(weight_gradient ${format} cpu depthwise ${in_vectors})
    conv_transpose_kernel(weight_gradient ${format} cpu implicit_gemm LAYOUT any AS entries GENERATOR weight_gradient_cpu_entries
        ${maybe} storage=${format} AVX2 channels=4)
    if(format STREQUAL f32)
        conv_transpose_kernel(weight_gradient f32 cpu implicit_gemm LAYOUT ncdhw AS cells GENERATOR weight_gradient_cpu_cells
            AVX2 channels=3 outputs=4)
    endif()
    # By AMX: columns of a row of the kernel, in channels_last, and entries.
    if(format STREQUAL bf16)
        set(row weight_gradient bf16 cpu implicit_gemm storage=bf16 ONLY_ON amx)
        foreach(rows columns tiles)
            set(layout any)
            if(rows STREQUAL columns)
                set(layout ndhwc)
            endif()
            set(tiles ${row} LAYOUT ${layout} GENERATOR weight_gradient_cpu_${rows})
            conv_transpose_kernel(${tiles} AS narrow_${rows} vectors=1)
            conv_transpose_kernel(${tiles} AS ${rows})
        endforeach()
    endif()
    # Pairs of cells by AVX-512 BF16 (schedules/cpu_weight_gradient_implicit_gemm.h).
    if(format STREQUAL bf16)
        set(in_pairs storage=bf16 pairs=true ONLY_ON avx512_bf16)
        set(row weight_gradient bf16 cpu implicit_gemm)
        conv_transpose_kernel(${row} LAYOUT any AS entries_pairs GENERATOR weight_gradient_cpu_entries ${in_pairs})
        foreach(layout ndhwc any)
            set(of_layout LAYOUT ${layout} ${in_pairs} min_in_channels=1)
            set(rare "")
            if(layout STREQUAL ndhwc)
                list(APPEND of_layout spots=true)
                set(rare FULL)  # of few channels in channels_last, which the others take, too
            endif()
            conv_transpose_kernel(${row} AS narrow_pairs ${of_layout} vectors=1 ${rare})
            conv_transpose_kernel(${row} AS pairs ${of_layout})
        endforeach()
    endif()
    if(format STREQUAL f32)
        conv_transpose_kernel(weight_gradient f32 cpu implicit_gemm LAYOUT ndhwc AS narrow spots=true vectors=1 min_in_channels=1
            max_in_channels=16 AVX2 max_in_channels=8)
    endif()
    conv_transpose_small_set_has(f32)
    conv_transpose_kernel(weight_gradient ${format} cpu implicit_gemm LAYOUT ndhwc ${maybe} storage=${format} spots=true
        min_in_channels=1 AVX2 outputs=6)
    # One vector of input channels, where two would pad more: with AVX-512 0.78 of the time at 48 channels; AVX2's registers hold
    # fewer sums.
    if(format STREQUAL f32)
        conv_transpose_kernel(weight_gradient f32 cpu implicit_gemm LAYOUT any AS narrow vectors=1 min_in_channels=1
            AVX2 max_in_channels=8)
    endif()
    set(any weight_gradient ${format} cpu implicit_gemm LAYOUT any storage=${format} min_in_channels=1)
    conv_transpose_of_small_set_by_avx2(${any} AVX2 outputs=6)
    conv_transpose_kernel(${any} ${maybe} outputs=6 BASELINE_ONLY)
endforeach()
# ---- general
conv_transpose_kernel(weight_gradient f32 cuda general H200_TFLOPS 6)
conv_transpose_kernel(weight_gradient f32 cuda general LARGE H200_TFLOPS 3)
# For those who ask for strict propagation.
conv_transpose_kernel(weight_gradient f32 cuda general AS strict strict=true LARGE)
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_kernel(bias_gradient ${format} cpu general GENERATOR bias_gradient storage=${format} BASELINE)
    conv_transpose_kernel(bias_gradient ${format} cpu general LAYOUT nhwc GENERATOR bias_gradient storage=${format}
        channels_last=true BASELINE LARGE)
    conv_transpose_kernel(bias_gradient ${format} cuda general GENERATOR bias_gradient storage=${format})
    conv_transpose_kernel(bias_gradient ${format} cuda general LAYOUT nhwc GENERATOR bias_gradient storage=${format}
        channels_last=true LARGE)
    conv_transpose_helper(sum_of_parts ${format} cpu result=${format} BASELINE_ONLY)
    conv_transpose_helper(sum_of_parts ${format} cuda result=${format})
endforeach()

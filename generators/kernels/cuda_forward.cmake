# Forward, on CUDA: CUDA cores (float32 products), and tensor cores where no attribute is compiled in.

# Threads that keep 4 rows, 4 columns and 4 channels load least, for small kernels; where rows of taps are
# long, 8 columns and 8 channels, one row of taps at a time: all of them would not fit the instruction cache.
# The register limit decides how many blocks share a multiprocessor: 3 of 128 threads with 168 (what spills
# with 128 is read once a chunk).
set(tile4x4x4 thread_rows=4 thread_vectors=1 thread_channels=4 --registers=168 ALLOW_SPILLS)
set(tile8x8 vector=8 thread_vectors=1 unroll_taps_y=false chunk=4 --registers=128 ALLOW_SPILLS)
set(block4x4x4_c32 ${tile4x4x4} lanes_x=4 lanes_channel=8 lanes_y=4)
set(block8x8_c64 ${tile8x8} lanes_x=2 lanes_y=8)
set(block8x8_c32 ${tile8x8} lanes_x=4 lanes_channel=4 lanes_y=8)

# ---- exact: KernelBench level 1, problems 65, 71, 75, 78, 81
conv_transpose_kernel(forward f32 cuda dense ${k3x7} ${s1} ${c64x64} ${block8x8_c64} FULL)
conv_transpose_kernel(forward f32 cuda dense ${k3} ${s1} ${c32x32} ${block4x4x4_c32} H200_TFLOPS 46)
conv_transpose_kernel(forward f32 cuda dense ${k3x7} ${s1} ${c32x32} ${block8x8_c32} load_offsets=true)
# An even output width spares every store its tests. Of 16 bits a block's rows take half of the shared memory: a block has
# twice the channels (81), or threads fewer registers, so that there are five blocks in place of four (75).
set(tiles75 ${exact75} padding_phase_h=1 padding_phase_w=2 thread_cells=4 threads_x=32 lanes_x=32 cells_y=2)
set(tiles81 ${exact81} padding_phase_h=1 padding_phase_w=1 thread_cells=4 threads_x=16 thread_channels=2 rows_outermost=true
    unroll_in_channels=8)
conv_transpose_kernel(forward f32 cuda phases AS even ${tiles75} width_multiple=2 H200_TFLOPS 27)
conv_transpose_kernel(forward f32 cuda phases AS even ${tiles81} lanes_x=8 width_multiple=2 H200_TFLOPS 17)
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(even width_multiple=2 storage=${format} ${maybe})
    conv_transpose_kernel(forward ${format} cuda phases AS even ${tiles75} unroll_in_channels=2 ${even} H200_TFLOPS 32)
    conv_transpose_kernel(forward ${format} cuda phases AS even ${tiles81} block_channels=32 lanes_x=16 ${even} H200_TFLOPS 21)
endforeach()

# ---- depthwise in channels_last, any attributes and rank: neighbouring groups are lanes and vectors
set(depthwise_vectors LAYOUT nhwc GENERATOR forward_cuda_depthwise_vectors ${depthwise})
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    set(of_zeros ${depthwise_vectors} storage=${format} multiplies_zeros=true)
    if(format IN_LIST formats_of_16_bits)
        conv_transpose_kernel(forward ${format} cuda depthwise AS eights ${of_zeros} groups=8 window=3 ${maybe})
        conv_transpose_kernel(forward ${format} cuda depthwise AS eights_w2 ${of_zeros} groups=8 window=2 ${maybe})
        conv_transpose_kernel(forward ${format} cuda depthwise AS fours ${of_zeros} parts=8 window=3 ${maybe})
    else()
        conv_transpose_kernel(forward ${format} cuda depthwise AS fours ${of_zeros} parts=8 ${columns2} ${maybe})
        conv_transpose_kernel(forward ${format} cuda depthwise AS rows_of_fours ${of_zeros} parts=8 window=2 FULL)
    endif()
    conv_transpose_kernel(forward ${format} cuda depthwise AS pairs ${of_zeros} groups=2 parts=8 window=3 FULL)
    conv_transpose_kernel(forward ${format} cuda depthwise ${depthwise_vectors} storage=${format} ${maybe})
endforeach()
# ---- depthwise, any attributes, rank, element type and layout
set(depthwise_gather LAYOUT any GENERATOR forward_cuda_depthwise_gather in_channels=1)
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    conv_transpose_kernel(forward ${format} cuda depthwise AS columns ${depthwise_gather} ${columns3} parts=16 multiplies_zeros=true
        storage=${format} ${maybe})
    conv_transpose_kernel(forward ${format} cuda depthwise ${depthwise_gather} storage=${format} ${maybe})
endforeach()

# ---- few output channels: last layers of networks that make pictures, or their brightness
# (super-resolution). Constants are those that were fastest on an H200; those for one and three channels take
# input channels in whole chunks.
set(few forward f32 cuda few_out_channels)
set(tile lanes_x=8 lanes_y=8 splits=2 H200_TFLOPS 30)
set(whole ${tile} in_channel_multiple=8 cells_y=2 unroll_in_channels=2)
conv_transpose_kernel(${few} ${whole} ${k3} ${s1} out_channels=1 cells_y=4 chunk=4 stages=3 FULL)
conv_transpose_kernel(${few} ${whole} ${k3} ${s1} out_channels=3 chunk=4 stages=3 FULL)
conv_transpose_kernel(${few} ${whole} ${k2s2} out_channels=3 chunk=8)
conv_transpose_kernel(${few} ${whole} ${k3s2p1} out_channels=3 chunk=4 stages=3 FULL)
conv_transpose_kernel(${few} ${whole} ${k4s2p1} out_channels=1 chunk=4 FULL)
conv_transpose_kernel(${few} ${whole} ${k4s2p1} out_channels=3 chunk=4 stages=3 FULL)
conv_transpose_kernel(${few} AS c4 ${tile} ${k3s2p1} cells_y=2 chunk=8 unroll_in_channels=2 FULL)
conv_transpose_kernel(${few} AS c4 ${tile} ${k4s2p1} chunk=4 unroll_in_channels=2)
set(k9 kernel_h=9 kernel_w=9 out_channels=1)
conv_transpose_kernel(${few} ${tile} ${k9} stride_h=2 stride_w=2 splits=4 cells_y=2 chunk=4 FULL)
conv_transpose_kernel(${few} ${tile} ${k9} stride_h=3 stride_w=3 padding_phase_h=1 padding_phase_w=1 splits=4 chunk=4)
conv_transpose_kernel(${few} ${tile} ${k9} stride_h=4 stride_w=4 chunk=14 FULL)

# ---- on tensor cores, any attributes: implicit matrix products. Behind the exact kernels above, which are
# faster where outputs lie far apart. Two warpgroups share the pixels of 128 positions, or the weights of 64
# channels; chunks of 32 input channels. Where there is much to do, larger tiles of pictures that are packed
# before.
set(whole_chunks in_channel_multiple=32 min_in_channels=32)
set(channels128 columns=128 blocks=2 min_out_channels=65)
set(positions256 columns=128 row_sets=1 column_sets=2 blocks=2)
set(any_channels columns=128 row_sets=1 chunk_channels=16)
conv_transpose_gemm(forward tf32 nchw packed input_layout=channel_rows stages=4 min_in_channels=32 min_out_channels=65 min_steps=32
    H200_TFLOPS 300)
conv_transpose_gemm(forward tf32 nchw c128 ${whole_chunks} ${channels128} H200_TFLOPS 200)
conv_transpose_gemm(forward tf32 nchw c64 ${whole_chunks} ${positions256} H200_TFLOPS 170)
conv_transpose_gemm(forward tf32 nchw "" ${any_channels} blocks=4 H200_TFLOPS 117)
conv_transpose_gemm(forward tf32x3 nchw c128 ${whole_chunks} ${channels128} blocks=1 H200_TFLOPS 95)
conv_transpose_gemm(forward tf32x3 nchw "" ${any_channels} blocks=2 H200_TFLOPS 63)
# ---- phases as channels: few output channels fill a tile, the picture is read once for all phases, and input gradients
# are such products of packed phases.
set(sub_pixel phases_as_channels=true min_out_channels=1)
set(sub_pixel_any ${sub_pixel} ${any_channels} column_sets=2 blocks=2)
set(sub_pixel_packed ${sub_pixel} input_layout=channel_rows stages=3 columns=128 blocks=2 min_in_channels=8)
conv_transpose_gemm(forward tf32 nchw sub_pixel ${sub_pixel_any} H200_TFLOPS 120)
conv_transpose_gemm(forward tf32 nchw sub_pixel_packed_c128 ${sub_pixel_packed} H200_TFLOPS 200)
conv_transpose_gemm(forward tf32 nchw pairs_c128 ${sub_pixel} ${whole_chunks} columns=128 blocks=2 neighbours=2 H200_TFLOPS 210)
# ---- 16 bits, any attributes. Pictures with channels innermost are read as they are; others are packed before. Names
# tell the layout of input and output, and tiles that are not 128 positions x 128 channels.
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(chunks chunk_channels=64 stages=3)
    set(channels_last ${chunks} input_layout=channels_last channels_last_output=true in_channel_multiple=8)
    set(from_channels_last ${chunks} input_layout=channels_last in_channel_multiple=8)
    set(packed ${chunks} input_layout=channel_rows)
    set(to_channels_last ${packed} channels_last_output=true)
    set(tile128x128 columns=128 blocks=2)
    set(tile256x64 ${tile128x128} row_sets=1 column_sets=2)
    conv_transpose_gemm(forward ${format} nhwc "" ${channels_last} ${tile128x128} H200_TFLOPS 460)
    conv_transpose_gemm(forward ${format} nhwc 128x64 ${channels_last} columns=64 blocks=3 ${maybe} H200_TFLOPS 310)
    conv_transpose_gemm(forward ${format} nhwc 128x256 ${channels_last} columns=256 FULL H200_TFLOPS 520)
    conv_transpose_gemm(forward ${format} nchw "" ${packed} ${tile128x128} H200_TFLOPS 460)
    conv_transpose_gemm(forward ${format} nchw 256x64 ${packed} ${tile256x64} ${maybe} H200_TFLOPS 330)
    conv_transpose_gemm(forward ${format} nchw sub_pixel ${packed} ${tile256x64} ${sub_pixel} ${maybe} H200_TFLOPS 380)
    conv_transpose_gemm(forward ${format} nchw pairs_128x128 ${packed} ${tile128x128} ${sub_pixel} neighbours=2 ${maybe}
        H200_TFLOPS 510)
    conv_transpose_gemm(forward ${format} nhwc sub_pixel ${channels_last} columns=32 blocks=4 ${sub_pixel} H200_TFLOPS 205)
    conv_transpose_gemm(forward ${format} nhwc sub_pixel_128x128 ${channels_last} ${tile128x128} phases_as_channels=true
        neighbours=8 ${maybe} H200_TFLOPS 460)
    conv_transpose_gemm(forward ${format} nhwc parts ${channels_last} ${tile128x128} makes_parts=true ${maybe} H200_TFLOPS 460)
    conv_transpose_gemm(forward ${format} nchw parts ${packed} ${tile128x128} makes_parts=true ${maybe} H200_TFLOPS 460)
    conv_transpose_gemm(forward ${format} nhwc_to_nchw "" ${from_channels_last} ${tile128x128} FULL H200_TFLOPS 420)
    conv_transpose_gemm(forward ${format} nchw_to_nhwc "" ${to_channels_last} ${tile128x128} ${maybe} H200_TFLOPS 420)
    conv_transpose_gemm(forward ${format} nchw_to_nhwc sub_pixel ${to_channels_last} columns=32 blocks=4 ${sub_pixel} ${maybe}
        H200_TFLOPS 200)
endforeach()
set(channels_last input_layout=channels_last channels_last_output=true in_channel_multiple=4)
conv_transpose_gemm(forward tf32 nhwc "" ${channels_last} columns=128 blocks=2 H200_TFLOPS 200)
conv_transpose_gemm(forward tf32 nhwc sub_pixel ${channels_last} columns=32 blocks=4 ${sub_pixel} H200_TFLOPS 70)
# ---- of three axes
conv_transpose_gemm(forward tf32 ncdhw "" ${any_channels} blocks=4 H200_TFLOPS 110)
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    conv_transpose_gemm(forward ${format} ncdhw "" input_layout=channel_rows columns=128 chunk_channels=64 stages=3 blocks=2
        ${maybe} H200_TFLOPS 430)
endforeach()
conv_transpose_gemm(forward tf32 ncdhw sub_pixel ${sub_pixel_any} H200_TFLOPS 110)
conv_transpose_gemm(forward tf32 ncdhw sub_pixel_packed_c128 ${sub_pixel_packed} H200_TFLOPS 200)
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    conv_transpose_gemm(forward ${format} ncdhw sub_pixel ${sub_pixel} input_layout=channel_rows ${positions256} chunk_channels=64
        stages=3 ${maybe} H200_TFLOPS 350)
endforeach()
conv_transpose_helper(sum_of_output_parts f32 cuda)
conv_transpose_helper(sum_of_output_parts f32 cuda AS turned turned=true)
# Few output channels, whose taps are channels of a product: col2im.
conv_transpose_helper(sum_of_taps f32 cuda)

# ---- Winograd's algorithm, where it saves more products than transforms cost
conv_transpose_kernel(forward f32 cuda winograd GENERATOR winograd_product min_channels=8 stages=3 MAX_REGISTERS 128 H200_TFLOPS 48)
# ---- any attributes, for numbers of channels that fill enough of a tile; by splits of the sum where there
# are few tiles
conv_transpose_gemm(forward f32 nchw c64 ${product_c64} H200_TFLOPS 41)
conv_transpose_gemm(forward f32 nchw c32 ${product_c32} H200_TFLOPS 38)
conv_transpose_gemm(forward f32 nchw c16 ${product_c16} H200_TFLOPS 29)
conv_transpose_gemm(forward f32 nchw c64_split ${product_c64_split} H200_TFLOPS 39)
# Few channels, and many taps along rows: what a window of them sees is staged once.
set(window lanes_x=16 lanes_y=1 lanes_channel=4 channel_vectors=1 chunk=4 blocks=10 MAX_REGISTERS 96)
conv_transpose_gemm(forward f32 nchw w5_c16 ${window} window=5 unroll_summed=20 H200_TFLOPS 40)
conv_transpose_gemm(forward f32 nchw w7_c16 ${window} window=7 unroll_summed=28 H200_TFLOPS 40)

# Phases as channels are stored by lanes of four of them. Weights are read as they are given, whose rows have the phases of each
# channel side by side: a launch less, and 0.69 to 1.02 of the time of packed ones, 0.95 at the median (67 times of 140 layers;
# H200, 2026-11-30).
set(sub_pixel phases_as_channels=true min_out_channels=1 storing_channels=4)
set(given_sub_pixel ${sub_pixel} weights_as_given=true)
conv_transpose_gemm(forward f32 nchw sub_pixel_given_c64 ${given_sub_pixel} ${product_c64} H200_TFLOPS 41)
conv_transpose_gemm(forward f32 nchw sub_pixel_given_c32 ${given_sub_pixel} ${product_c32} H200_TFLOPS 37)
conv_transpose_gemm(forward f32 nchw sub_pixel_given_c16 ${given_sub_pixel} ${product_c16} H200_TFLOPS 28)
# These have three axes.
conv_transpose_gemm(forward f32 ncdhw c64 ${product_c64_blocks3} H200_TFLOPS 40)
conv_transpose_gemm(forward f32 ncdhw c32 ${product_c32} FULL H200_TFLOPS 33)
conv_transpose_gemm(forward f32 ncdhw c16 ${product_c16} H200_TFLOPS 26)
conv_transpose_gemm(forward f32 ncdhw c64_split ${product_c64_split} FULL H200_TFLOPS 33)
conv_transpose_gemm(forward f32 ncdhw sub_pixel_given_c32 ${given_sub_pixel} ${product_c32} H200_TFLOPS 31)
# Few output channels: a thread has all of a block's, and what a row of three taps sees is staged once.
set(window ${sub_pixel} storing_channels=1 window=3 lanes_x=32 lanes_y=2 lanes_channel=1 chunk=8 blocks=4)
conv_transpose_gemm(forward f32 ncdhw sub_pixel_w3_c8 ${window} channel_vectors=2 splits=2 unroll_summed=12 MAX_REGISTERS 128
    H200_TFLOPS 29)
conv_transpose_gemm(forward f32 ncdhw sub_pixel_w3_c4 ${window} channel_vectors=1 splits=4 unroll_summed=6 MAX_REGISTERS 64 FULL
    H200_TFLOPS 18)
# Small problems, as in input_gradient.cmake: phases with blocks of their own, or as channels.
set(small weights_as_given=true lanes_y=1 column_vectors=1 channel_vectors=1 splits=4 blocks=1 MAX_REGISTERS 64 H200_TFLOPS 13)
conv_transpose_gemm(forward f32 ncdhw small_c32 ${small} chunk=32 stages=3)
conv_transpose_gemm(forward f32 ncdhw small_sub_pixel_c32 ${small} phases_as_channels=true min_out_channels=1 chunk=64)
# The same on tensor cores, phases with blocks of their own: float16, 1x1, 224 to 32 of 16 x 5x10x10 8.2 us (13.0 by the fastest
# kernel before). Not input gradients of stride 1, whose lanes have weights apart.
foreach(format tf32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f16 tf32)
    conv_transpose_chunks()
    conv_transpose_rates(64x64 50 38)
    set(small weights_as_given=true row_sets=1 ${maybe})
    if(NOT format STREQUAL tf32)
        conv_transpose_gemm(forward ${format} ncdhw small_deep_64x64 ${small} columns=32 column_sets=2 chunk_channels=128 blocks=2
            H200_TFLOPS 60)
    endif()
    conv_transpose_gemm(forward ${format} ncdhw small_64x64 ${small} columns=64 ${chunk} blocks=4 ${rate64x64})
endforeach()

# Gradient of the input.

set(asynchronous stages=2 single_floats=true)
# ---- exact
set(row input_gradient f32 cuda dense)
conv_transpose_kernel(${row} ${exact75} lanes_x=16 lanes_y=8 lanes_channel=1 chunk=2 H200_TFLOPS 21.4)
conv_transpose_kernel(${row} ${exact81} lanes_channel=4 lanes_y=2 thread_vectors=1 thread_rows=2 chunk=2 ${asynchronous}
    H200_TFLOPS 35.8)
conv_transpose_kernel(${row} ${k9s3} in_channels=56 out_channels=1 lanes_channel=7 chunk=1 unroll_taps_y=false H200_TFLOPS 26.6)

conv_transpose_kernel(input_gradient f32 cpu depthwise ${k4s2} ${depthwise} vectors=2 rows=8 min_output_h=32 min_output_w=32
    min_width_of_groups=128 AVX2 min_width_of_groups=64)
conv_transpose_depthwise_products(input_gradient)

# ---- tensor cores, any attributes: as the forward kernels of that name
set(whole_chunks out_channel_multiple=32 min_out_channels=32)
set(channels128 columns=128 blocks=2 min_in_channels=65)
set(positions256 columns=128 row_sets=1 column_sets=2 blocks=2)
set(any_channels columns=128 row_sets=1 chunk_channels=16)
conv_transpose_gemm(input_gradient tf32 nchw c128 ${whole_chunks} ${channels128} H200_TFLOPS 185)
conv_transpose_gemm(input_gradient tf32 nchw c64 ${whole_chunks} ${positions256} H200_TFLOPS 130)
conv_transpose_gemm(input_gradient tf32 nchw "" ${any_channels} blocks=4 H200_TFLOPS 115)
conv_transpose_gemm(input_gradient tf32x3 nchw c128 ${whole_chunks} ${channels128} blocks=1 H200_TFLOPS 88)
conv_transpose_gemm(input_gradient tf32x3 nchw "" ${any_channels} blocks=2 H200_TFLOPS 62)

# ---- 16 bits, any attributes. Pictures with channels innermost are read as they are. Names tell the layout of input and
# output, and tiles that are not 128 positions x 128 channels.
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(from_channels_last chunk_channels=64 stages=3 input_layout=channels_last out_channel_multiple=8)
    set(channels_last ${from_channels_last} channels_last_output=true)
    set(tile128x128 columns=128 blocks=2)
    conv_transpose_gemm(input_gradient ${format} nhwc "" ${channels_last} ${tile128x128} min_in_channels=65 H200_TFLOPS 460)
    conv_transpose_gemm(input_gradient ${format} nhwc 128x64 ${channels_last} columns=64 blocks=3 ${maybe} H200_TFLOPS 310)
    conv_transpose_gemm(input_gradient ${format} nhwc parts ${channels_last} ${tile128x128} makes_parts=true ${maybe} H200_TFLOPS
        460)
    # Few channels that are summed over, or rows of them that a box would leave partly empty: kernel positions are summed like
    # channels, of weights as they are given, 16, 8 or 4 bytes at a time (k2 s2, 80 from 4 channels, N8 180x180: 0.029 ms, 0.058 by
    # boxes).
    set(taps input_layout=channels_last channels_last_output=true taps_as_channels=true min_out_channels=1 min_in_channels=8
        in_channel_multiple=8 whole_rows=true)
    set(taps128x128 ${taps} ${tile128x128} chunk_channels=32 stages=4)
    set(taps128x64 ${taps} columns=64 blocks=3 chunk_channels=64 stages=3)
    set(taps128x32 ${taps} columns=32 blocks=4 chunk_channels=64 stages=3)
    set(eights given_channels=8 out_channel_multiple=8)
    set(fours given_channels=4 out_channel_multiple=4)
    set(pairs given_channels=2 out_channel_multiple=2)
    conv_transpose_gemm(input_gradient ${format} nhwc taps_128x128 ${taps128x128} ${eights} H200_TFLOPS 340 ${maybe})
    conv_transpose_gemm(input_gradient ${format} nhwc taps_128x64 ${taps128x64} ${eights} H200_TFLOPS 283 ${maybe})
    conv_transpose_gemm(input_gradient ${format} nhwc taps_128x32 ${taps128x32} ${eights} H200_TFLOPS 182 ${maybe})
    conv_transpose_gemm(input_gradient ${format} nhwc taps_fours_128x128 ${taps128x128} ${fours} H200_TFLOPS 260 FULL)
    conv_transpose_gemm(input_gradient ${format} nhwc taps_fours_128x64 ${taps128x64} ${fours} H200_TFLOPS 193 ${maybe})
    conv_transpose_gemm(input_gradient ${format} nhwc taps_fours_128x32 ${taps128x32} ${fours} H200_TFLOPS 130 ${maybe})
    conv_transpose_gemm(input_gradient ${format} nhwc taps_pairs_128x128 ${taps128x128} ${pairs} H200_TFLOPS 130 FULL)
    conv_transpose_gemm(input_gradient ${format} nhwc taps_pairs_128x64 ${taps128x64} ${pairs} blocks=4 chunk_channels=32
        H200_TFLOPS 95 ${maybe})
    conv_transpose_gemm(input_gradient ${format} ndhwc taps_128x128 ${taps128x128} ${eights} H200_TFLOPS 340 FULL)
    conv_transpose_gemm(input_gradient ${format} ndhwc taps_128x64 ${taps128x64} ${eights} H200_TFLOPS 265 ${maybe})
    conv_transpose_gemm(input_gradient ${format} ndhwc taps_fours_128x64 ${taps128x64} ${fours} H200_TFLOPS 193 FULL)
    conv_transpose_gemm(input_gradient ${format} ndhwc taps_any_128x64 ${taps128x64} ${eights} whole_rows=false min_in_channels=1
        in_channel_multiple=1 H200_TFLOPS 240 ${maybe})
    conv_transpose_gemm(input_gradient ${format} ncdhw taps_64x128 input_layout=channels_last taps_as_channels=true
        min_out_channels=1 min_in_channels=1 ${eights} columns=64 row_sets=1 column_sets=2 blocks=3 chunk_channels=64 stages=3
        H200_TFLOPS 283 ${maybe})
    conv_transpose_gemm(input_gradient ${format} nhwc_to_nchw "" ${from_channels_last} ${tile128x128} FULL H200_TFLOPS 420)
endforeach()
# In TF32 boxes are faster wherever more than two channels are summed over: 32 from 2, k3 s2, 4 of 48^3 80 us by pairs, 117 by
# boxes (H200, 2026-12-01).
set(taps128x32 input_layout=channels_last channels_last_output=true taps_as_channels=true min_out_channels=1 min_in_channels=4
    in_channel_multiple=4 whole_rows=true columns=32 blocks=4 chunk_channels=32 stages=3)
conv_transpose_gemm(input_gradient tf32 ndhwc taps_pairs_128x32 ${taps128x32} given_channels=2 out_channel_multiple=2
    H200_TFLOPS 33)
conv_transpose_gemm(input_gradient tf32 ndhwc taps_128x32 ${taps128x32} given_channels=1 H200_TFLOPS 23)
conv_transpose_gemm(input_gradient tf32 nhwc "" columns=128 blocks=2 input_layout=channels_last channels_last_output=true
    out_channel_multiple=4 H200_TFLOPS 185)
# ---- of three axes
conv_transpose_gemm(input_gradient tf32 ncdhw "" ${any_channels} blocks=4 H200_TFLOPS 105)

# ---- CPU: any attributes, rank and channels
set(avx2_places chunk=256 fma_percent=89)
set(avx2_channels1 chunk=256 fma_percent=47)
set(avx2_narrow chunk=256 fma_percent=84)
set(avx2_in_vectors only_cells=true joined_terms=true)
# Pairs of bfloat16 as in cpu_forward.cmake, of any layout and of channels_first; of one vector of channels where two would pad
# more. Joined terms take 0.45 to 0.9 of the time of a loop for each tap in channels_last (EPYC, Zen 4, 2026-11-27).
set(in_pairs GENERATOR input_gradient_cpu_implicit_gemm_channels rank=3 storage=bf16 pairs=true only_cells=true joined_terms=true
    places=8 fma_percent=150 ONLY_ON avx512_bf16)
set(one_vector vectors=1 places=10)
set(row input_gradient bf16 cpu implicit_gemm)
conv_transpose_kernel(${row} LAYOUT any AS pairs ${in_pairs})
conv_transpose_kernel(${row} LAYOUT any AS narrow_pairs ${in_pairs} ${one_vector})
conv_transpose_kernel(${row} LAYOUT ncdhw AS turned_pairs ${in_pairs} turned=true)
conv_transpose_kernel(${row} LAYOUT ncdhw AS narrow_turned_pairs ${in_pairs} turned=true ${one_vector})
conv_transpose_matrix_tiles(input_gradient out_channel_multiple)
set(any_vectors "")
set(any_narrow only_cells=true joined_terms=true places=10 AVX2 only_cells=false joined_terms=false places=12)
conv_transpose_flat_products(input_gradient)
# From channels_last to channels_last: sums are stored from registers. Joined terms, of 17 to 32, more and fewer channels; small
# pictures and long sums.
set(last LAYOUT ndhwc GENERATOR input_gradient_cpu_implicit_gemm_channels rank=3 only_cells=true stores_sums=true)
set(row input_gradient f32 cpu implicit_gemm ${last})
conv_transpose_kernel(${row} AS joined joined_terms=true places=8 fma_percent=77 AVX2 places=6)
conv_transpose_kernel(${row} AS wide_joined joined_terms=true vectors=4 places=6 fma_percent=84 ONLY_ON avx512)
conv_transpose_kernel(${row} AS narrow_joined joined_terms=true vectors=1 places=12 fma_percent=80 ONLY_ON avx512)
conv_transpose_kernel(${row} AS wide_cells vectors=4 places=6 fma_percent=85 ONLY_ON avx512)
set(turned LAYOUT ncdhw GENERATOR input_gradient_cpu_implicit_gemm_channels rank=3 turned=true)
conv_transpose_kernel(input_gradient f32 cpu implicit_gemm ${turned} AS turned only_cells=true places=8 fma_percent=75
    AVX2 places=6 fma_percent=92)
# Joined terms: two vectors of channels, as processors that multiply two vectors a cycle wait for operands of one: 0.8 of its time
# (a Xeon, Sapphire Rapids, 38 layers, 2026-11-30), where a vector a cycle is multiplied 1.04 (EPYC, Zen 4, 2026-11-27). Weights
# of a chunk are 16 KB.
conv_transpose_kernel(input_gradient f32 cpu implicit_gemm ${turned} AS joined only_cells=true joined_terms=true chunk=128
    places=8 fma_percent=78 AVX2 places=6 chunk=256 fma_percent=88)
# Winograd's algorithm, as in cpu_forward.cmake.
foreach(taps 2 3)
    foreach(taps_h 1 ${taps})
        conv_transpose_kernel(input_gradient f32 cpu winograd AS ${taps_h}x${taps} taps_h=${taps_h} taps_w=${taps} vectors=2
            fma_percent=86 AVX2 channels=6 fma_percent=99)
    endforeach()
endforeach()

# ---- any attributes, as in cuda_forward.cmake
conv_transpose_gemm(input_gradient f32 nchw c64 ${product_c64_blocks3} H200_TFLOPS 47)
conv_transpose_gemm(input_gradient f32 nchw c16 ${product_c16} H200_TFLOPS 29)
conv_transpose_gemm(input_gradient f32 ncdhw c128 ${product_c64} channel_vectors=4 blocks=2 MAX_REGISTERS 255 H200_TFLOPS 43)
conv_transpose_gemm(input_gradient f32 ncdhw c64 ${product_c64_blocks3} H200_TFLOPS 46)
conv_transpose_gemm(input_gradient f32 ncdhw c32 ${product_c32} H200_TFLOPS 43)
conv_transpose_gemm(input_gradient f32 ncdhw c16 ${product_c16} H200_TFLOPS 29)
# Few output channels, or many taps: kernel positions are summed like channels, of weights as they are given, whose rows lie as they
# are summed. That is a launch less, and as fast for each product: 0.94 to 0.98 of the time of packed ones at the median, 334 times
# of 203 layers (H200, 2026-11-30).
set(taps taps_as_channels=true min_out_channels=1)
set(staged_taps ${taps} staging_channels=4)
set(given_taps ${staged_taps} weights_as_given=true min_in_channels=1)
conv_transpose_gemm(input_gradient f32 nchw taps_given_c64 ${given_taps} ${product_c64_blocks3} H200_TFLOPS 35)
conv_transpose_gemm(input_gradient f32 nchw taps_given_c32 ${given_taps} ${product_c32} H200_TFLOPS 28)
conv_transpose_gemm(input_gradient f32 nchw taps_given_c16 ${given_taps} ${product_c16} H200_TFLOPS 19)
conv_transpose_gemm(input_gradient f32 ncdhw taps_given_c64 ${given_taps} ${product_c64_blocks3} H200_TFLOPS 32)
conv_transpose_gemm(input_gradient f32 ncdhw taps_given_c32 ${given_taps} ${product_c32} H200_TFLOPS 25)
conv_transpose_gemm(input_gradient f32 ncdhw taps_given_c16 ${given_taps} ${product_c16} H200_TFLOPS 16)
# Long sums are cut into parts, which are groups of packed weights.
conv_transpose_gemm(input_gradient f32 ncdhw taps_c128 ${staged_taps} ${product_c64_blocks3} lanes_x=8 lanes_channel=16
    min_in_channels=65 H200_TFLOPS 35)
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    conv_transpose_gemm_by(input_gradient ${format} ncdhw taps_given_c32 cuda_cores storage=${format} ${given_taps} ${product_c32}
        H200_TFLOPS 23 ${maybe})
endforeach()
# Small problems are mostly launches: these kernels take one, and the threads of a block share out the sum. A
# multiprocessor is busy with one of its blocks. Rates of float32: 37 layers of 5 to 2000 us, 8 % off (H200, 2026-11-28).
set(small ${taps} weights_as_given=true min_in_channels=1 lanes_y=1 column_vectors=1 channel_vectors=1 chunk=64 blocks=1
    MAX_REGISTERS 64)
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    set(by cuda_cores storage=${format} ${small} ${maybe})
    set(rate32 H200_TFLOPS 13)
    set(rate16 H200_TFLOPS 7.5)
    if(format STREQUAL f32)
        set(rate32 H200_TFLOPS 17)
        set(rate16 H200_TFLOPS 12)
    endif()
    conv_transpose_gemm_by(input_gradient ${format} ncdhw small_c32 ${by} splits=4 ${rate32})
    conv_transpose_gemm_by(input_gradient ${format} ncdhw small_c16 ${by} lanes_channel=4 splits=8 ${rate16})
endforeach()
conv_transpose_gemm(input_gradient f32 ncdhw c64_split ${product_c64_split} H200_TFLOPS 34)
conv_transpose_gemm(input_gradient f32 ncdhw c32_split ${product_c32_split} min_out_channels=128 H200_TFLOPS 22)

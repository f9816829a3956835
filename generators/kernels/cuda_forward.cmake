# Forward, on CUDA cores (float32 products).

# Threads that keep 4 rows, 4 columns and 4 channels load least, for small kernels; where rows of taps are
# long, 8 columns and 8 channels, one row of taps at a time: all of them would not fit the instruction cache.
# The register limit decides how many blocks share a multiprocessor: 3 of 128 threads with 168 (what spills
# with 128 is read once a chunk).
set(tile4x4x4 thread_rows=4 thread_vectors=1 thread_channels=4 --registers=168 ALLOW_SPILLS)
set(tile8x8 vector=8 thread_vectors=1 unroll_taps_y=false chunk=4 --registers=128 ALLOW_SPILLS)
set(block4x4x4_c64 ${tile4x4x4} lanes_x=4 lanes_channel=16 lanes_y=2)
set(block4x4x4_c32 ${tile4x4x4} lanes_x=4 lanes_channel=8 lanes_y=4)
set(block8x8_c64 ${tile8x8} lanes_x=2 lanes_y=8)
set(block8x8_c32 ${tile8x8} lanes_x=4 lanes_channel=4 lanes_y=8)

# ---- exact: KernelBench level 1, problems 57, 65, 69, 71, 75, 78, 81
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c64x64 forward_cuda_dense ${k3} ${s1} ${c64x64} ${block4x4x4_c64})
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1_c64x64 forward_cuda_dense ${k3x7} ${s1} ${c64x64} ${block8x8_c64})
conv_transpose_kernel(f32_cuda_dense_k3x5_s1x1_c64x128 forward_cuda_dense ${k3x5} ${s1} in_channels=64 out_channels=128
    ${block8x8_c64} load_offsets=true)
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c32x32 forward_cuda_dense ${k3} ${s1} ${c32x32} ${block4x4x4_c32})
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1_c32x32 forward_cuda_dense ${k3x7} ${s1} ${c32x32} ${block8x8_c32}
    load_offsets=true)
# An even output width spares every store its tests.
set(tiles75 ${exact75} padding_phase_h=1 padding_phase_w=2 thread_cells=4 threads_x=32 lanes_x=32 cells_y=2)
set(tiles81 ${exact81} padding_phase_h=1 padding_phase_w=1 thread_cells=4 threads_x=16 thread_channels=2 lanes_x=8
    rows_outermost=true unroll_in_channels=8)
conv_transpose_kernel(f32_cuda_phases_k3x5_s2x3_p1x2_d2x1_c8x16_even forward_cuda_phases ${tiles75} width_multiple=2)
conv_transpose_kernel(f32_cuda_phases_k3x5_s2x3_p1x2_d2x1_c8x16 forward_cuda_phases ${tiles75})
conv_transpose_kernel(f32_cuda_phases_k3x3_s5x5_p1x1_d2x2_c32x64_even forward_cuda_phases ${tiles81} width_multiple=2)
conv_transpose_kernel(f32_cuda_phases_k3x3_s5x5_p1x1_d2x2_c32x64 forward_cuda_phases ${tiles81})

# ---- depthwise: first by vectors for even strides, then any kernel of a stride (separable resampling, either pass)
set(k4s2p1 ${k4s2} padding_phase_h=1 padding_phase_w=1)
conv_transpose_kernel(f32_cuda_depthwise_k4x4_s2x2_p1x1 forward_cuda_depthwise ${k4s2p1} ${depthwise} vector=4)
foreach(stride RANGE 2 8)
    conv_transpose_kernel(f32_cuda_depthwise_s1x${stride} forward_cuda_depthwise stride_h=1 stride_w=${stride}
        ${depthwise} cells_y=8)
    conv_transpose_kernel(f32_cuda_depthwise_s${stride}x1 forward_cuda_depthwise stride_h=${stride} stride_w=1
        ${depthwise} lanes_x=64 cells_y=1)
endforeach()

# ---- few output channels: last layers of networks that make pictures, or their brightness
# (super-resolution). Constants are those that were fastest on an H200; those for one and three channels take
# input channels in whole chunks.
set(k3s2p1 ${k3s2} padding_phase_h=1 padding_phase_w=1)
set(few forward_cuda_few_channels lanes_x=8 lanes_y=8 splits=2)
set(few_whole ${few} in_channel_multiple=8 cells_y=2 unroll_in_channels=2)
conv_transpose_kernel(f32_cuda_few_channels_k3x3_s1x1_c1 ${few_whole} ${k3} ${s1} out_channels=1 cells_y=4 chunk=4 stages=3)
conv_transpose_kernel(f32_cuda_few_channels_k3x3_s1x1_c3 ${few_whole} ${k3} ${s1} out_channels=3 chunk=4 stages=3)
conv_transpose_kernel(f32_cuda_few_channels_k2x2_s2x2_c3 ${few_whole} ${k2s2} out_channels=3 chunk=8)
conv_transpose_kernel(f32_cuda_few_channels_k3x3_s2x2_p1x1_c3 ${few_whole} ${k3s2p1} out_channels=3 chunk=4 stages=3)
conv_transpose_kernel(f32_cuda_few_channels_k4x4_s2x2_p1x1_c1 ${few_whole} ${k4s2p1} out_channels=1 chunk=4)
conv_transpose_kernel(f32_cuda_few_channels_k4x4_s2x2_p1x1_c3 ${few_whole} ${k4s2p1} out_channels=3 chunk=4 stages=3)
conv_transpose_kernel(f32_cuda_few_channels_k2x2_s2x2_c4 ${few} ${k2s2} cells_y=2 chunk=8 unroll_in_channels=2)
conv_transpose_kernel(f32_cuda_few_channels_k3x3_s2x2_p1x1_c4 ${few} ${k3s2p1} cells_y=2 chunk=8 unroll_in_channels=2)
conv_transpose_kernel(f32_cuda_few_channels_k4x4_s2x2_p1x1_c4 ${few} ${k4s2p1} chunk=4 unroll_in_channels=2)
conv_transpose_kernel(f32_cuda_few_channels_k9x9_s2x2_c1 ${few} kernel_h=9 kernel_w=9 stride_h=2 stride_w=2
    out_channels=1 splits=4 cells_y=2 chunk=4)
conv_transpose_kernel(f32_cuda_few_channels_k9x9_s3x3_p1x1_c1 ${few} ${k9s3} padding_phase_h=1 padding_phase_w=1
    out_channels=1 splits=4 chunk=4)
conv_transpose_kernel(f32_cuda_few_channels_k9x9_s4x4_c1 ${few} kernel_h=9 kernel_w=9 stride_h=4 stride_w=4
    out_channels=1 chunk=14)

# ---- on tensor cores, any attributes: implicit matrix products. Behind the exact kernels above, which are
# faster where outputs lie far apart. Two warpgroups share the pixels of 128 positions, or the weights of 64
# channels; chunks of 32 input channels. Where there is much to do, larger tiles of pictures that are packed
# before.
set(gemm forward_cuda_implicit_gemm_tensor_cores)
set(whole_chunks in_channel_multiple=32 min_in_channels=32)
set(channels128 columns=128 blocks=2 min_out_channels=65)
set(positions256 columns=128 row_sets=1 column_sets=2 blocks=2)
set(any_channels columns=128 row_sets=1 chunk_channels=16)
conv_transpose_kernel(tf32_cuda_implicit_product_packed ${gemm} input_layout=channel_rows stages=4
    min_in_channels=32 min_out_channels=65 min_steps=32 ALLOW_SPILLS RATE 260)
conv_transpose_kernel(tf32_cuda_implicit_product_c128 ${gemm} ${whole_chunks} ${channels128} ALLOW_SPILLS
    RATE 200)
conv_transpose_kernel(tf32_cuda_implicit_product_c64 ${gemm} ${whole_chunks} ${positions256} ALLOW_SPILLS
    RATE 170)
conv_transpose_kernel(tf32_cuda_implicit_product ${gemm} ${any_channels} blocks=4 ALLOW_SPILLS RATE 117)
conv_transpose_kernel(tf32x3_cuda_implicit_product_c128 ${gemm} format=tf32x3 ${whole_chunks} ${channels128}
    blocks=1 ALLOW_SPILLS RATE 95)
conv_transpose_kernel(tf32x3_cuda_implicit_product ${gemm} format=tf32x3 ${any_channels} blocks=2 ALLOW_SPILLS RATE 63)
conv_transpose_kernel(f32_cuda_sum_of_output_parts sum_of_output_parts)

# ---- families: any number of channels. Few output channels take blocks of few channels.
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c4 forward_cuda_dense ${k3} ${s1} lanes_channel=1 thread_channels=4
    lanes_x=32 thread_vectors=1 thread_rows=2 max_out_channels=4 --registers=128 ALLOW_SPILLS)
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c32 forward_cuda_dense ${k3} ${s1} ${block4x4x4_c32} max_out_channels=32)
conv_transpose_kernel(f32_cuda_dense_k3x5_s1x1_c32 forward_cuda_dense ${k3x5} ${s1} ${block8x8_c32} max_out_channels=32)
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1_c32 forward_cuda_dense ${k3x7} ${s1} ${block8x8_c32} max_out_channels=32)
conv_transpose_kernel(f32_cuda_dense_k2x2_s2x2_c32 forward_cuda_dense ${k2s2} ${block4x4x4_c32} max_out_channels=32)
conv_transpose_kernel(f32_cuda_dense_k3x3_s2x2_p1x1_c32 forward_cuda_dense ${k3s2p1} ${block4x4x4_c32} max_out_channels=32)
conv_transpose_kernel(f32_cuda_dense_k4x4_s2x2_p1x1_c32 forward_cuda_dense ${k4s2p1} ${block4x4x4_c32} max_out_channels=32)
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1 forward_cuda_dense ${k3} ${s1} ${block4x4x4_c64} RATE 48)
conv_transpose_kernel(f32_cuda_dense_k3x5_s1x1 forward_cuda_dense ${k3x5} ${s1} ${block8x8_c64} RATE 45)
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1 forward_cuda_dense ${k3x7} ${s1} ${block8x8_c64} RATE 48)
conv_transpose_kernel(f32_cuda_dense_k2x2_s2x2 forward_cuda_dense ${k2s2} ${block4x4x4_c64} load_offsets=true
    RATE 38)
conv_transpose_kernel(f32_cuda_dense_k3x3_s2x2_p1x1 forward_cuda_dense ${k3s2p1} ${block4x4x4_c64} load_offsets=true
    RATE 39)
# Two taps a phase: weights are used so seldom that 128 sums a thread pay, at fewer warps.
conv_transpose_kernel(f32_cuda_dense_k4x4_s2x2_p1x1 forward_cuda_dense ${k4s2p1} lanes_x=4 thread_rows=2
    load_offsets=true blocks=2 --registers=232 ALLOW_SPILLS RATE 43)
# ---- any attributes, for numbers of channels that fill enough of a tile; by splits of the sum where there
# are few tiles
set(product forward_cuda_implicit_gemm_cuda_cores)
conv_transpose_kernel(f32_cuda_core_product_c64 ${product} ${product_c64} MAX_REGISTERS 128 RATE 41)
conv_transpose_kernel(f32_cuda_core_product_c32 ${product} ${product_c32} MAX_REGISTERS 96 RATE 31)
conv_transpose_kernel(f32_cuda_core_product_c16 ${product} ${product_c16} MAX_REGISTERS 64 RATE 22)
conv_transpose_kernel(f32_cuda_core_product_c64_split ${product} ${product_c64_split} MAX_REGISTERS 128 RATE 35)
conv_transpose_kernel(f32_cuda_core_product_c32_split ${product} ${product_c32_split} min_in_channels=128
    MAX_REGISTERS 96 RATE 21)

# ---- general: every attribute a run-time value
conv_transpose_kernel(f32_cuda_general_c1 forward_cuda_general channels=1 max_out_channels=1)
conv_transpose_kernel(f32_cuda_general_c4 forward_cuda_general channels=4 max_out_channels=4)
conv_transpose_kernel(f32_cuda_general forward_cuda_general)
conv_transpose_kernel(f32_cuda_general_large forward_cuda_general LARGE)

# Forward, on CUDA cores (float32 products).

# ---- exact: KernelBench level 1, problems 57, 65, 69, 71, 75, 78, 81
# 64 sums a thread: with 128 registers two blocks share a multiprocessor; what spills is read once a chunk.
set(two_blocks --registers=128 ALLOW_SPILLS)
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c64x64 forward_cuda_dense ${k3} ${s1} ${c64x64} chunk=16 ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1_c64x64 forward_cuda_dense ${k3x7} ${s1} ${c64x64}
    lanes_x=4 chunk=4 ${two_blocks})
# 260 columns of output: tiles of 20 leave none idle.
conv_transpose_kernel(f32_cuda_dense_k3x5_s1x1_c64x128 forward_cuda_dense ${k3x5} ${s1}
    in_channels=64 out_channels=128 lanes_x=5 thread_vectors=1 thread_rows=2 chunk=4 ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c32x32 forward_cuda_dense ${k3} ${s1} ${c32x32} lanes_channel=4 ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1_c32x32 forward_cuda_dense ${k3x7} ${s1} ${c32x32} lanes_channel=4
    lanes_y=8 chunk=4 ${two_blocks})
# An even output width spares every store its tests.
set(tiles75 ${exact75} padding_phase_h=1 padding_phase_w=2 thread_cells=2 threads_x=32 cells_y=3)
set(tiles81 ${exact81} padding_phase_h=1 padding_phase_w=1 thread_cells=4 threads_x=16 cells_y=1 stagings=4
    thread_channels=2 lanes_x=8 rows_outermost=true unroll_in_channels=8)
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

# ---- families: any number of channels. Few output channels take blocks of few channels.
set(k3s2p1 ${k3s2} padding_phase_h=1 padding_phase_w=1)
set(channels4 lanes_channel=1 thread_channels=4 lanes_x=32 thread_vectors=1 thread_rows=2 max_out_channels=4)
set(channels32 lanes_channel=4 max_out_channels=32)
foreach(family k3x3_s1x1 k2x2_s2x2 k3x3_s2x2_p1x1 k4x4_s2x2_p1x1)
    set(k3x3_s1x1 ${k3} ${s1})
    set(k2x2_s2x2 ${k2s2})
    set(k3x3_s2x2_p1x1 ${k3s2p1})
    set(k4x4_s2x2_p1x1 ${k4s2p1})
    conv_transpose_kernel(f32_cuda_dense_${family}_c4 forward_cuda_dense ${${family}} ${channels4})
    # Measured by the tuner: at k3 s2 the register limit costs 1.6x.
    set(limit ${two_blocks})
    if(family STREQUAL k3x3_s2x2_p1x1)
        set(limit "")
    endif()
    conv_transpose_kernel(f32_cuda_dense_${family}_c32 forward_cuda_dense ${${family}} ${channels32} ${limit})
endforeach()
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1 forward_cuda_dense ${k3} ${s1} thread_rows=2 thread_vectors=1 ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k2x2_s2x2 forward_cuda_dense ${k2s2} chunk=16 ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k3x3_s2x2_p1x1 forward_cuda_dense ${k3s2p1} lanes_x=4 ${two_blocks})
# Two taps a phase: weights are used so seldom that 128 sums a thread pay, at fewer warps.
conv_transpose_kernel(f32_cuda_dense_k4x4_s2x2_p1x1 forward_cuda_dense ${k4s2p1} lanes_x=4 thread_rows=2
    --registers=232 ALLOW_SPILLS)
# Super-resolution's last layer, one channel: a thread's vector is two cells, for stride 4 one.
set(channel1 lanes_channel=1 thread_channels=1 thread_vectors=1 max_out_channels=1 lanes_x=16)
conv_transpose_kernel(f32_cuda_dense_k9x9_s2x2_c1 forward_cuda_dense kernel_h=9 kernel_w=9 stride_h=2 stride_w=2
    ${channel1} lanes_y=8)
conv_transpose_kernel(f32_cuda_dense_k9x9_s3x3_p1x1_c1 forward_cuda_dense ${k9s3}
    padding_phase_h=1 padding_phase_w=1 ${channel1} lanes_y=12 vector=6)
conv_transpose_kernel(f32_cuda_dense_k9x9_s4x4_c1 forward_cuda_dense kernel_h=9 kernel_w=9 stride_h=4 stride_w=4
    ${channel1} lanes_y=8)

# ---- general: every attribute a run-time value
conv_transpose_kernel(f32_cuda_general_c1 forward_cuda_general channels=1 max_out_channels=1)
conv_transpose_kernel(f32_cuda_general_c4 forward_cuda_general channels=4 max_out_channels=4)
conv_transpose_kernel(f32_cuda_general forward_cuda_general)
conv_transpose_kernel(f32_cuda_general_large forward_cuda_general LARGE)

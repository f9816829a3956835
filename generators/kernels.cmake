# The kernels that are built. Their order is the order of preference: a plan takes the first that accepts its problem.
# So exact kernels come first, then families (fixed kernel and stride, any channels), then the general kernels.
#
#   conv_transpose_kernel(NAME GENERATOR [parameter=value ...] [FULL] [ALLOW_SPILLS] [MAX_REGISTERS n] [AVX2 parameter=value ...])
#
# NAME is <precision>_<device>_<schedule>_<attributes>. Kernels marked FULL are left out unless CONV_TRANSPOSE_KERNELS=full.
# cpu kernels are made for each instruction set in CONV_TRANSPOSE_CPU_LEVELS; AVX2 has half as many registers as AVX-512
# and takes the parameters behind its name in place of those before it.

# ---- CPU, depthwise: any kernel, vertical stride and padding, without dilation
foreach(stride RANGE 1 8)
    conv_transpose_kernel(f32_cpu_depthwise_sw${stride} forward_cpu_depthwise stride_w=${stride} in_channels=1 out_channels=1)
endforeach()

# ---- CPU, images of a few pixels: any kernel, without dilation
foreach(stride 1 2)
    conv_transpose_kernel(f32_cpu_channels_s${stride}x${stride} forward_cpu_channels stride_h=${stride} stride_w=${stride}
        AVX2 channels=32 cells=3)
endforeach()

# ---- CPU, exact attributes, any channels
set(attributes_75 kernel_h=3 kernel_w=5 stride_h=2 stride_w=3 dilation_h=2 dilation_w=1 padding_phase_h=1 padding_phase_w=2)
set(attributes_81 kernel_h=3 kernel_w=3 stride_h=5 stride_w=5 dilation_h=2 dilation_w=2 padding_phase_h=1 padding_phase_w=1)
conv_transpose_kernel(f32_cpu_tiles_k3x5_s2x3_d2x1_p1x2 forward_cpu_tiles ${attributes_75}
    joint_phases=true vectors=2 tile_rows=1 channels=4 AVX2 vectors=1)
conv_transpose_kernel(f32_cpu_tiles_k3x3_s5x5_d2x2_p1x1 forward_cpu_tiles ${attributes_81}
    joint_phases=true tile_rows=1 channels=2 AVX2 channels=1)

# ---- CPU, families: fixed kernel and stride, any channels
set(s2p1 stride_h=2 stride_w=2 padding_phase_h=1 padding_phase_w=1)
conv_transpose_kernel(f32_cpu_tiles_k3x3_s1x1_few forward_cpu_tiles kernel_h=3 kernel_w=3 stride_h=1 stride_w=1
    vectors=2 channels=4 max_channels=4 AVX2 vectors=1)
foreach(width 3 5 7)
    conv_transpose_kernel(f32_cpu_tiles_k3x${width}_s1x1 forward_cpu_tiles kernel_h=3 kernel_w=${width} stride_h=1 stride_w=1
        AVX2 channels=6)
endforeach()
conv_transpose_kernel(f32_cpu_tiles_k2x2_s2x2 forward_cpu_tiles kernel_h=2 kernel_w=2 stride_h=2 stride_w=2
    joint_phases=true channels=3 AVX2 tile_rows=1)
conv_transpose_kernel(f32_cpu_tiles_k3x3_s2x2_p1x1 forward_cpu_tiles kernel_h=3 kernel_w=3 ${s2p1}
    joint_phases=true channels=3 AVX2 tile_rows=1)
conv_transpose_kernel(f32_cpu_tiles_k4x4_s2x2_p1x1_few forward_cpu_tiles kernel_h=4 kernel_w=4 ${s2p1}
    joint_phases=true channels=3 max_channels=3 AVX2 tile_rows=1)
conv_transpose_kernel(f32_cpu_tiles_k4x4_s2x2_p1x1 forward_cpu_tiles kernel_h=4 kernel_w=4 ${s2p1} AVX2 channels=6)
conv_transpose_kernel(f32_cpu_tiles_k9x9_s2x2 forward_cpu_tiles kernel_h=9 kernel_w=9 stride_h=2 stride_w=2
    joint_phases=true vectors=3 channels=1 AVX2 tile_rows=1)
conv_transpose_kernel(f32_cpu_tiles_k9x9_s3x3_p1x1 forward_cpu_tiles kernel_h=9 kernel_w=9 stride_h=3 stride_w=3
    padding_phase_h=1 padding_phase_w=1 joint_phases=true vectors=2 tile_rows=1 channels=1 AVX2 vectors=1)
conv_transpose_kernel(f32_cpu_tiles_k9x9_s4x4 forward_cpu_tiles kernel_h=9 kernel_w=9 stride_h=4 stride_w=4
    joint_phases=true tile_rows=1 channels=1 AVX2 joint_phases=false vectors=4)

# ---- tensor cores, stride 1: exact for KernelBench level 1, problems 57, 65, 69, 71, 78; then any channels
# A few bytes spill where tiles were chosen for speed, more of them in the portable code (docs/tensor-cores.md).
set(k3_s1 kernel_h=3 kernel_w=3 stride_h=1 stride_w=1)
set(k3x5_s1 kernel_h=3 kernel_w=5 stride_h=1 stride_w=1)
set(k3x7_s1 kernel_h=3 kernel_w=7 stride_h=1 stride_w=1)
set(c64x64 in_channels=64 out_channels=64)
set(c32x32 in_channels=32 out_channels=32)
set(split parts=2 blocks=1)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x3_s1x1_c64x64 forward_tensor_core_stride1
    ${k3_s1} ${c64x64} columns=152 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x7_s1x1_c64x64 forward_tensor_core_stride1
    ${k3x7_s1} ${c64x64} columns=104 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x5_s1x1_c64x128 forward_tensor_core_stride1
    ${k3x5_s1} in_channels=64 out_channels=128 columns=136 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x3_s1x1_c32x32 forward_tensor_core_stride1
    ${k3_s1} ${c32x32} picture_rows=2 columns=104 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x7_s1x1_c32x32 forward_tensor_core_stride1
    ${k3x7_s1} ${c32x32} picture_rows=2 columns=152 warpgroups=3 blocks=1 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x3_s1x1 forward_tensor_core_stride1
    ${k3_s1} columns=72 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x3_s1x1_c64x64 forward_tensor_core_stride1
    ${k3_s1} ${c64x64} ${split} columns=152 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x7_s1x1_c64x64 forward_tensor_core_stride1
    ${k3x7_s1} ${c64x64} ${split} columns=88 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x5_s1x1_c64x128 forward_tensor_core_stride1
    ${k3x5_s1} in_channels=64 out_channels=128 ${split} columns=136 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x3_s1x1_c32x32 forward_tensor_core_stride1
    ${k3_s1} ${c32x32} ${split} picture_rows=2 columns=152 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x7_s1x1_c32x32 forward_tensor_core_stride1
    ${k3x7_s1} ${c32x32} ${split} columns=88 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x3_s1x1 forward_tensor_core_stride1
    ${k3_s1} ${split} columns=72 ALLOW_SPILLS)

# ---- CUDA, exact: KernelBench level 1, problems 57, 65, 69, 71, 75, 78, 81
# 64 sums a thread: with 128 registers two blocks share a multiprocessor; what spills is read once a chunk.
set(two_blocks --registers=128 ALLOW_SPILLS)
set(k3 kernel_h=3 kernel_w=3)
set(k3x7 kernel_h=3 kernel_w=7)
set(s1 stride_h=1 stride_w=1)
set(c64 in_channels=64 out_channels=64)
set(c32 in_channels=32 out_channels=32 lanes_channel=4)
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c64x64 forward_cuda_dense ${k3} ${s1} ${c64} chunk=16 ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1_c64x64 forward_cuda_dense ${k3x7} ${s1} ${c64}
    lanes_x=4 chunk=4 ${two_blocks})
# 260 columns of output: tiles of 20 leave none idle.
conv_transpose_kernel(f32_cuda_dense_k3x5_s1x1_c64x128 forward_cuda_dense kernel_h=3 kernel_w=5 ${s1}
    in_channels=64 out_channels=128 lanes_x=5 thread_vectors=1 thread_rows=2 chunk=4 ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k3x3_s1x1_c32x32 forward_cuda_dense ${k3} ${s1} ${c32} ${two_blocks})
conv_transpose_kernel(f32_cuda_dense_k3x7_s1x1_c32x32 forward_cuda_dense ${k3x7} ${s1} ${c32}
    lanes_y=8 chunk=4 ${two_blocks})
# An even output width spares every store its tests.
set(exact75 kernel_h=3 kernel_w=5 stride_h=2 stride_w=3 padding_phase_h=1 padding_phase_w=2 dilation_h=2
    in_channels=8 out_channels=16 thread_cells=2 threads_x=32 cells_y=3)
set(exact81 ${k3} stride_h=5 stride_w=5 padding_phase_h=1 padding_phase_w=1 dilation_h=2 dilation_w=2
    in_channels=32 out_channels=64 thread_cells=4 threads_x=16 cells_y=1 stagings=4 thread_channels=2 lanes_x=8
    rows_outermost=true unroll_in_channels=8)
conv_transpose_kernel(f32_cuda_phases_k3x5_s2x3_p1x2_d2x1_c8x16_even forward_cuda_phases ${exact75} width_multiple=2)
conv_transpose_kernel(f32_cuda_phases_k3x5_s2x3_p1x2_d2x1_c8x16 forward_cuda_phases ${exact75})
conv_transpose_kernel(f32_cuda_phases_k3x3_s5x5_p1x1_d2x2_c32x64_even forward_cuda_phases ${exact81} width_multiple=2)
conv_transpose_kernel(f32_cuda_phases_k3x3_s5x5_p1x1_d2x2_c32x64 forward_cuda_phases ${exact81})

# ---- CUDA, depthwise: first by vectors for even strides, then any kernel of a stride (separable resampling, either pass)
set(k4s2p1 kernel_h=4 kernel_w=4 stride_h=2 stride_w=2 padding_phase_h=1 padding_phase_w=1)
set(depthwise in_channels=1 out_channels=1)
conv_transpose_kernel(f32_cuda_depthwise_k4x4_s2x2_p1x1 forward_cuda_depthwise ${k4s2p1} ${depthwise} vector=4)
foreach(stride RANGE 2 8)
    conv_transpose_kernel(f32_cuda_depthwise_s1x${stride} forward_cuda_depthwise stride_h=1 stride_w=${stride}
        ${depthwise} cells_y=8)
    conv_transpose_kernel(f32_cuda_depthwise_s${stride}x1 forward_cuda_depthwise stride_h=${stride} stride_w=1
        ${depthwise} lanes_x=64 cells_y=1)
endforeach()

# ---- CUDA, families: any number of channels. Few output channels take blocks of few channels.
set(k2s2 kernel_h=2 kernel_w=2 stride_h=2 stride_w=2)
set(k3s2p1 kernel_h=3 kernel_w=3 stride_h=2 stride_w=2 padding_phase_h=1 padding_phase_w=1)
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
conv_transpose_kernel(f32_cuda_dense_k9x9_s3x3_p1x1_c1 forward_cuda_dense kernel_h=9 kernel_w=9 stride_h=3 stride_w=3
    padding_phase_h=1 padding_phase_w=1 ${channel1} lanes_y=12 vector=6)
conv_transpose_kernel(f32_cuda_dense_k9x9_s4x4_c1 forward_cuda_dense kernel_h=9 kernel_w=9 stride_h=4 stride_w=4
    ${channel1} lanes_y=8)

# ---- CPU, strides: any kernel and padding, without dilation
foreach(stride 1 2 3 4)
    conv_transpose_kernel(f32_cpu_tiles_s${stride}x${stride} forward_cpu_tiles stride_h=${stride} stride_w=${stride}
        unroll_taps=false AVX2 channels=6)
endforeach()

# ---- general: every attribute a run-time value
conv_transpose_kernel(f32_cpu_general forward_cpu_general)
conv_transpose_kernel(f32_cpu_general_large forward_cpu_general LARGE)
conv_transpose_kernel(f32_cuda_general_c1 forward_cuda_general channels=1 max_out_channels=1)
conv_transpose_kernel(f32_cuda_general_c4 forward_cuda_general channels=4 max_out_channels=4)
conv_transpose_kernel(f32_cuda_general forward_cuda_general)
conv_transpose_kernel(f32_cuda_general_large forward_cuda_general LARGE)

# ---- gradients: exact
set(p75 kernel_h=3 kernel_w=5 stride_h=2 stride_w=3 dilation_h=2 in_channels=8 out_channels=16)
set(in32_out32 in_channels=32 out_channels=32)
set(p81 ${k3} stride_h=5 stride_w=5 dilation_h=2 dilation_w=2 in_channels=32 out_channels=64)
set(k4s2 kernel_h=4 kernel_w=4 stride_h=2 stride_w=2)
set(k9s3 kernel_h=9 kernel_w=9 stride_h=3 stride_w=3)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x3_s1x1_c32 input_gradient_cuda_dense ${k3} ${s1} ${in32_out32}
    lanes_x=16 lanes_y=2 lanes_channel=4)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x7_s1x1_c32 input_gradient_cuda_dense ${k3x7} ${s1} ${in32_out32}
    lanes_y=8 lanes_channel=4 chunk=4)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x5_s2x3_d2x1_c8x16 input_gradient_cuda_dense ${p75}
    lanes_x=16 lanes_y=8 lanes_channel=1 chunk=2)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x3_s5x5_d2x2_c32x64 input_gradient_cuda_dense ${p81}
    lanes_y=2 lanes_channel=4 chunk=4 unroll_staging=false)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k4x4_s2x2_c64x3 input_gradient_cuda_dense ${k4s2}
    in_channels=64 out_channels=3 lanes_y=2 runs=1 chunk=3)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k9x9_s3x3_c56x1 input_gradient_cuda_dense ${k9s3}
    in_channels=56 out_channels=1 lanes_channel=7 chunk=1 unroll_taps_y=false)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s1x1_c32 weight_gradient_cuda_dense ${k3} ${s1} ${in32_out32}
    lanes_in=8 lanes_out=8 MAX_REGISTERS 128)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x7_s1x1_c32 weight_gradient_cuda_dense ${k3x7} ${s1} ${in32_out32}
    lanes_in=8 lanes_out=16 thread_out=2 MAX_REGISTERS 128)
conv_transpose_kernel(f32_cuda_weight_gradient_lanes_k3x5_s2x3_d2x1_c8x16 weight_gradient_cuda_lanes ${p75}
    in_tile=4 out_tile=1 all_taps_x=true all_taps_y=true)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s5x5_d2x2_c32x64 weight_gradient_cuda_dense ${p81}
    lanes_in=8 chunk_columns=32)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k4x4_s2x2_c64x3 weight_gradient_cuda_dense ${k4s2}
    in_channels=64 out_channels=3 lanes_in=32 lanes_out=3 thread_in=2 thread_out=1 all_taps_y=true staging_columns=16)
conv_transpose_kernel(f32_cuda_weight_gradient_lanes_k9x9_s3x3_c56x1 weight_gradient_cuda_lanes ${k9s3}
    in_channels=56 out_channels=1 in_tile=8 out_tile=1 all_taps_x=true warps=1 wanted_blocks=4224)

# ---- gradients: depthwise
conv_transpose_kernel(f32_cuda_input_gradient_depthwise_k4x4_s2x2 input_gradient_cuda_general ${k4s2} ${depthwise} channels=1)
conv_transpose_kernel(f32_cuda_weight_gradient_depthwise_k4x4_s2x2 weight_gradient_cuda_lanes ${k4s2} ${depthwise}
    in_tile=1 out_tile=1 all_taps_x=true all_taps_y=true warps=1 wanted_blocks=8448)

# ---- gradients: families, for numbers of channels that fill enough of a tile
set(many_channels in_channel_multiple=32 out_channel_multiple=8)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x3_s1x1 input_gradient_cuda_dense ${k3} ${s1} ${many_channels})
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x7_s1x1 input_gradient_cuda_dense ${k3x7} ${s1} ${many_channels}
    lanes_x=16 lanes_y=2 chunk=4 unroll_taps_y=false)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x5_s1x1 input_gradient_cuda_dense kernel_h=3 kernel_w=5 ${s1}
    ${many_channels} lanes_x=16 lanes_y=2 chunk=4 unroll_taps_y=false)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k2x2_s2x2 input_gradient_cuda_dense ${k2s2} ${many_channels} lanes_y=2)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k3x3_s2x2 input_gradient_cuda_dense ${k3} stride_h=2 stride_w=2
    ${many_channels} lanes_y=2)
conv_transpose_kernel(f32_cuda_input_gradient_dense_k4x4_s2x2 input_gradient_cuda_dense ${k4s2} ${many_channels}
    lanes_x=4 lanes_y=8 runs=1 thread_rows=2 unroll_taps_y=false)
set(many_channels in_channel_multiple=32 out_channel_multiple=32)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s1x1 weight_gradient_cuda_dense ${k3} ${s1} ${many_channels}
    MAX_REGISTERS 128)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x7_s1x1 weight_gradient_cuda_dense ${k3x7} ${s1} ${many_channels}
    lanes_out=8)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x5_s1x1 weight_gradient_cuda_dense kernel_h=3 kernel_w=5 ${s1}
    ${many_channels} thread_out=2 MAX_REGISTERS 128)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k2x2_s2x2 weight_gradient_cuda_dense ${k2s2} ${many_channels}
    lanes_out=8 thread_in=8 all_taps_y=true chunk_columns=32)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s2x2 weight_gradient_cuda_dense ${k3} stride_h=2 stride_w=2
    ${many_channels} chunk_columns=32 MAX_REGISTERS 128)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k4x4_s2x2 weight_gradient_cuda_dense ${k4s2} ${many_channels}
    lanes_out=8 chunk_columns=16 chunk_rows=2 MAX_REGISTERS 128)

# ---- gradients: general
conv_transpose_kernel(f32_cpu_input_gradient_general input_gradient_cpu_general)
conv_transpose_kernel(f32_cpu_input_gradient_general_large input_gradient_cpu_general LARGE)
conv_transpose_kernel(f32_cuda_input_gradient_general input_gradient_cuda_general)
conv_transpose_kernel(f32_cuda_input_gradient_general_large input_gradient_cuda_general LARGE)
conv_transpose_kernel(f32_cpu_weight_gradient_general weight_gradient_cpu_general)
conv_transpose_kernel(f32_cpu_weight_gradient_general_large weight_gradient_cpu_general LARGE)
conv_transpose_kernel(f32_cuda_weight_gradient_general weight_gradient_cuda_lanes)
conv_transpose_kernel(f32_cuda_weight_gradient_general_large weight_gradient_cuda_lanes LARGE)
conv_transpose_kernel(f32_cpu_bias_gradient_general bias_gradient)
conv_transpose_kernel(f32_cuda_bias_gradient_general bias_gradient)
conv_transpose_kernel(f32_cpu_sum_of_parts sum_of_parts BASELINE_ONLY)
conv_transpose_kernel(f32_cuda_sum_of_parts sum_of_parts)

# ---- preparation of operands
conv_transpose_kernel(f32_cpu_pack_channels_innermost pack_channels_innermost BASELINE_ONLY)
conv_transpose_kernel(f32_cpu_pack_channel_tiles pack_channel_tiles BASELINE_ONLY)
conv_transpose_kernel(f32_cuda_pack_channels_innermost pack_channels_innermost)
conv_transpose_kernel(tf32_cuda_pack_tensor_core pack_tensor_core)
conv_transpose_kernel(tf32_cuda_pack_tensor_core_row_pairs pack_tensor_core picture_rows=2)
conv_transpose_kernel(tf32x3_cuda_pack_tensor_core pack_tensor_core parts=2)
conv_transpose_kernel(tf32x3_cuda_pack_tensor_core_row_pairs pack_tensor_core parts=2 picture_rows=2)

# Forward, on tensor cores.

# ---- stride 1: exact for KernelBench level 1, problems 57, 65, 69, 71, 78; then any channels
# A few bytes spill where tiles were chosen for speed, more of them in the portable code (docs/tensor-cores.md).
set(split parts=2 blocks=1)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x3_s1x1_c64x64 forward_tensor_core_stride1
    ${k3} ${s1} ${c64x64} columns=152 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x7_s1x1_c64x64 forward_tensor_core_stride1
    ${k3x7} ${s1} ${c64x64} columns=104 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x5_s1x1_c64x128 forward_tensor_core_stride1
    ${k3x5} ${s1} in_channels=64 out_channels=128 columns=136 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x3_s1x1_c32x32 forward_tensor_core_stride1
    ${k3} ${s1} ${c32x32} picture_rows=2 columns=104 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x7_s1x1_c32x32 forward_tensor_core_stride1
    ${k3x7} ${s1} ${c32x32} picture_rows=2 columns=152 warpgroups=3 blocks=1 ALLOW_SPILLS)
conv_transpose_kernel(tf32_cuda_tensor_cores_k3x3_s1x1 forward_tensor_core_stride1
    ${k3} ${s1} columns=72 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x3_s1x1_c64x64 forward_tensor_core_stride1
    ${k3} ${s1} ${c64x64} ${split} columns=152 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x7_s1x1_c64x64 forward_tensor_core_stride1
    ${k3x7} ${s1} ${c64x64} ${split} columns=88 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x5_s1x1_c64x128 forward_tensor_core_stride1
    ${k3x5} ${s1} in_channels=64 out_channels=128 ${split} columns=136 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x3_s1x1_c32x32 forward_tensor_core_stride1
    ${k3} ${s1} ${c32x32} ${split} picture_rows=2 columns=152 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x7_s1x1_c32x32 forward_tensor_core_stride1
    ${k3x7} ${s1} ${c32x32} ${split} columns=88 ALLOW_SPILLS)
conv_transpose_kernel(tf32x3_cuda_tensor_cores_k3x3_s1x1 forward_tensor_core_stride1
    ${k3} ${s1} ${split} columns=72 ALLOW_SPILLS)

# The kernels that are built. Their order is the order of preference: a plan takes the first that accepts its problem.
# So exact kernels come first, then families (fixed kernel and stride, any channels), then the general kernels.
#
#   conv_transpose_kernel(NAME GENERATOR [parameter=value ...] [FULL] [ALLOW_SPILLS])
#
# NAME is f32_<device>_<schedule>_<attributes>. Kernels marked FULL are left out unless CONV_TRANSPOSE_KERNELS=full.
# cpu kernels are made for each instruction set in CONV_TRANSPOSE_CPU_LEVELS.

# ---- general: every attribute a run-time value
conv_transpose_kernel(f32_cpu_general forward_cpu_general)
conv_transpose_kernel(f32_cpu_general_large forward_cpu_general LARGE)
conv_transpose_kernel(f32_cuda_general forward_cuda_general)
conv_transpose_kernel(f32_cuda_general_large forward_cuda_general LARGE)

# ---- gradients
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
conv_transpose_kernel(f32_cuda_pack_channels_innermost pack_channels_innermost)
conv_transpose_kernel(f32_cpu_pack_in_channels_innermost pack_in_channels_innermost BASELINE_ONLY)
conv_transpose_kernel(f32_cuda_pack_in_channels_innermost pack_in_channels_innermost)

# CUDA, problems that are mostly launches: one of them.

conv_transpose_kernel(f32_cuda_small forward_cuda_small)
conv_transpose_kernel(f32_cuda_input_gradient_small input_gradient_cuda_small)

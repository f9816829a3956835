# CUDA, problems that are mostly launches: one of them.

conv_transpose_kernel(forward f32 cuda small)
conv_transpose_kernel(input_gradient f32 cuda small)

# Gradients of the weight and of the bias.

set(asynchronous stages=2 single_floats=true)

# ---- tensor cores: numbers of channels that fill a tile
# As many blocks as one round takes, or two: each ends with the stores of its part of the sum, and the parts are added.
set(one_round wanted_blocks=132)
set(two_rounds wanted_blocks=264)
set(c64 in_channel_multiple=64 out_channel_multiple=64)
set(c64x32 in_channel_multiple=64 out_channel_multiple=32 tile_out=32)
set(c64x16 in_channel_multiple=64 out_channel_multiple=16 tile_out=16)
set(c32 in_channel_multiple=32 out_channel_multiple=32 tile_in=32 tile_out=32)
set(c32x16 in_channel_multiple=32 out_channel_multiple=16 tile_in=32 tile_out=16)
set(tf32 weight_gradient_cuda_tensor_core ALLOW_SPILLS)
set(tf32x3 ${tf32} parts=2)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x3_s1x1_c64 ${tf32} ${k3} ${s1} ${c64x32}
    chunk_columns=32 chunk_rows=4)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x3_s1x1_c32 ${tf32} ${k3} ${s1} ${c32}
    chunk_columns=32 chunk_rows=4 stages=3 ${two_rounds})
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x5_s1x1_c64 ${tf32} ${k3x5} ${s1} ${c64x32}
    chunk_columns=32 chunk_rows=3 ${two_rounds})
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c64 ${tf32} ${k3x7} ${s1} ${c64x16}
    chunk_columns=32 chunk_rows=6 ${two_rounds})
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c32 ${tf32} ${k3x7} ${s1} ${c32}
    chunk_columns=32 chunk_rows=4 ${two_rounds})
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k2x2_s2x2_c64 ${tf32} ${k2s2} ${c64}
    chunk_columns=16 chunk_rows=2 stages=3 ${two_rounds})
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k2x2_s2x2_c64x32 ${tf32} ${k2s2} ${c64x32}
    chunk_columns=16 chunk_rows=2 blocks=2 ${two_rounds} FULL)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x3_s2x2_c64 ${tf32} ${k3s2} ${c64x32}
    chunk_columns=32 chunk_rows=3 ${one_round})
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k4x4_s2x2_c64 ${tf32} ${k4s2} ${c64x32}
    chunk_columns=16 chunk_rows=3 wanted_blocks=128)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x3_s1x1_c64 ${tf32x3} ${k3} ${s1} ${c64x32}
    chunk_columns=16 chunk_rows=4)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x3_s1x1_c32 ${tf32x3} ${k3} ${s1} ${c32}
    chunk_columns=32 chunk_rows=4 ${two_rounds})
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x5_s1x1_c64 ${tf32x3} ${k3x5} ${s1} ${c64x16}
    chunk_columns=32 chunk_rows=3)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c64 ${tf32x3} ${k3x7} ${s1} ${c64x16}
    chunk_columns=16 chunk_rows=3 ${two_rounds})
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c32 ${tf32x3} ${k3x7} ${s1} ${c32x16}
    chunk_columns=32 chunk_rows=2)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k2x2_s2x2_c64 ${tf32x3} ${k2s2} ${c64x32}
    chunk_columns=16 chunk_rows=2 ${two_rounds} FULL)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x3_s2x2_c64 ${tf32x3} ${k3s2} ${c64x16}
    chunk_columns=16 chunk_rows=3 ${one_round} FULL)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k4x4_s2x2_c64 ${tf32x3} ${k4s2} ${c64x16}
    chunk_columns=16 chunk_rows=4 wanted_blocks=128)

# ---- exact
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s1x1_c32 weight_gradient_cuda_dense ${k3} ${s1} ${c32x32}
    lanes_in=4 lanes_out=8 thread_in=8 chunk_columns=32 run=8 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x7_s1x1_c32 weight_gradient_cuda_dense ${k3x7} ${s1} ${c32x32}
    lanes_in=8 lanes_out=8 chunk_columns=32 run=8 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_lanes_k3x5_s2x3_d2x1_c8x16 weight_gradient_cuda_lanes ${exact75}
    in_tile=4 out_tile=1 all_taps_x=true all_taps_y=true)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s5x5_d2x2_c32x64 weight_gradient_cuda_dense ${exact81}
    lanes_in=8 thread_out=2 chunk_columns=16 chunk_rows=2 staging_columns=16 MAX_REGISTERS 128)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k4x4_s2x2_c64x3 weight_gradient_cuda_dense ${k4s2}
    in_channels=64 out_channels=3 lanes_out=1 thread_out=3 lanes_taps_y=true chunk_columns=32 staging_columns=32 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k9x9_s3x3_c56x1 weight_gradient_cuda_dense ${k9s3}
    in_channels=56 out_channels=1 lanes_in=14 lanes_out=1 thread_out=1 lanes_taps_y=true run=8 ${asynchronous})

# ---- depthwise
conv_transpose_kernel(f32_cuda_weight_gradient_depthwise_k4x4_s2x2 weight_gradient_cuda_lanes ${k4s2} ${depthwise}
    in_tile=1 out_tile=1 all_taps_x=true all_taps_y=true warps=1 wanted_blocks=8448)

# ---- families, for numbers of channels that fill enough of a tile
set(many_channels in_channel_multiple=32 out_channel_multiple=32)
# A thread's sums: 8 x 4 channels and 3 or 4 taps, or 4 x 4 and 3 or 7. The blocks wanted are one or two waves of what an H200 runs
# at a time: parts are sums that are stored and added once more.
set(tile64x64 lanes_in=8 lanes_out=16 thread_in=8)
set(tile64x32 lanes_in=16 lanes_out=8)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s1x1 weight_gradient_cuda_dense ${k3} ${s1} ${many_channels}
    ${tile64x64} wanted_blocks=264 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x7_s1x1 weight_gradient_cuda_dense ${k3x7} ${s1} ${many_channels}
    ${tile64x32} chunk_columns=32 run=8 wanted_blocks=528 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x5_s1x1 weight_gradient_cuda_dense ${k3x5} ${s1} ${many_channels}
    lanes_in=8 thread_in=8 thread_out=2 chunk_columns=32 run=8 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k2x2_s2x2 weight_gradient_cuda_dense ${k2s2} ${many_channels}
    lanes_out=8 thread_in=8 all_taps_y=true chunk_columns=16 wanted_blocks=264 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s2x2 weight_gradient_cuda_dense ${k3s2} ${many_channels}
    ${tile64x32} chunk_columns=32 run=8 wanted_blocks=768 ${asynchronous})
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k4x4_s2x2 weight_gradient_cuda_dense ${k4s2} ${many_channels}
    ${tile64x64} chunk_columns=16 run=8 wanted_blocks=512 ${asynchronous})

# ---- CPU: any attributes
set(one_output max_out_channels=1 channels=1 taps=9 out_blocks=1)
conv_transpose_kernel(f32_cpu_weight_gradient_one_output weight_gradient_cpu_channels ${one_output} AVX2 lanes=8 taps=5)
set(few_outputs max_out_channels=3 channels=3 taps=4 out_blocks=1)
conv_transpose_kernel(f32_cpu_weight_gradient_few_outputs weight_gradient_cpu_channels ${few_outputs} AVX2 lanes=8 taps=2)
conv_transpose_kernel(f32_cpu_weight_gradient_channels weight_gradient_cpu_channels AVX2 lanes=8 channels=6)
set(half_vectors lanes=8 vectors=1 channels=16 out_blocks=4 min_in_channels=8)
conv_transpose_kernel(f32_cpu_weight_gradient_eight_inputs weight_gradient_cpu_channels ${half_vectors} AVX2 channels=12)
conv_transpose_kernel(f32_cpu_weight_gradient_depthwise weight_gradient_cpu_general ${depthwise} in_tile=1 out_tile=1)

# ---- general
set(tile4 in_tile=4 out_tile=4)
set(tile3 AVX2 in_tile=3 out_tile=3)
conv_transpose_kernel(f32_cpu_weight_gradient_general weight_gradient_cpu_general ${tile4} ${tile3})
conv_transpose_kernel(f32_cpu_weight_gradient_general_large weight_gradient_cpu_general ${tile4} LARGE ${tile3})
conv_transpose_kernel(f32_cuda_weight_gradient_general weight_gradient_cuda_lanes)
conv_transpose_kernel(f32_cuda_weight_gradient_general_large weight_gradient_cuda_lanes LARGE)
conv_transpose_kernel(f32_cpu_bias_gradient_general bias_gradient)
conv_transpose_kernel(f32_cuda_bias_gradient_general bias_gradient)
conv_transpose_kernel(f32_cpu_sum_of_parts sum_of_parts BASELINE_ONLY)
conv_transpose_kernel(f32_cuda_sum_of_parts sum_of_parts)

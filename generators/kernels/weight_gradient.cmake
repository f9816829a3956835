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
    chunk_columns=32 chunk_rows=4 RATE 230)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x3_s1x1_c32 ${tf32} ${k3} ${s1} ${c32}
    chunk_columns=32 chunk_rows=4 stages=3 ${two_rounds} RATE 145)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x5_s1x1_c64 ${tf32} ${k3x5} ${s1} ${c64x32}
    chunk_columns=32 chunk_rows=3 ${two_rounds} RATE 290)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c64 ${tf32} ${k3x7} ${s1} ${c64x16}
    chunk_columns=32 chunk_rows=6 ${two_rounds} RATE 265)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c32 ${tf32} ${k3x7} ${s1} ${c32}
    chunk_columns=32 chunk_rows=4 ${two_rounds} RATE 216)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k2x2_s2x2_c64 ${tf32} ${k2s2} ${c64}
    chunk_columns=16 chunk_rows=2 stages=3 ${two_rounds} RATE 110)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k2x2_s2x2_c64x32 ${tf32} ${k2s2} ${c64x32}
    chunk_columns=16 chunk_rows=2 blocks=2 ${two_rounds} FULL RATE 100)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k3x3_s2x2_c64 ${tf32} ${k3s2} ${c64x32}
    chunk_columns=32 chunk_rows=3 ${one_round} RATE 150)
conv_transpose_kernel(tf32_cuda_weight_gradient_tensor_cores_k4x4_s2x2_c64 ${tf32} ${k4s2} ${c64x32}
    chunk_columns=16 chunk_rows=3 wanted_blocks=128 RATE 210)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x3_s1x1_c64 ${tf32x3} ${k3} ${s1} ${c64x32}
    chunk_columns=16 chunk_rows=4 RATE 98)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x3_s1x1_c32 ${tf32x3} ${k3} ${s1} ${c32}
    chunk_columns=32 chunk_rows=4 ${two_rounds} RATE 70)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x5_s1x1_c64 ${tf32x3} ${k3x5} ${s1} ${c64x16}
    chunk_columns=32 chunk_rows=3 RATE 100)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c64 ${tf32x3} ${k3x7} ${s1} ${c64x16}
    chunk_columns=16 chunk_rows=3 ${two_rounds} RATE 100)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x7_s1x1_c32 ${tf32x3} ${k3x7} ${s1} ${c32x16}
    chunk_columns=32 chunk_rows=2 RATE 75)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k2x2_s2x2_c64 ${tf32x3} ${k2s2} ${c64x32}
    chunk_columns=16 chunk_rows=2 ${two_rounds} FULL RATE 49)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k3x3_s2x2_c64 ${tf32x3} ${k3s2} ${c64x16}
    chunk_columns=16 chunk_rows=3 ${one_round} FULL RATE 55)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_tensor_cores_k4x4_s2x2_c64 ${tf32x3} ${k4s2} ${c64x16}
    chunk_columns=16 chunk_rows=4 wanted_blocks=128 RATE 66)

# ---- exact
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s1x1_c32 weight_gradient_cuda_dense ${k3} ${s1} ${c32x32}
    lanes_in=4 lanes_out=8 thread_in=8 chunk_columns=32 run=8 ${asynchronous} RATE 42)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x7_s1x1_c32 weight_gradient_cuda_dense ${k3x7} ${s1} ${c32x32}
    lanes_in=8 lanes_out=8 chunk_columns=32 run=8 ${asynchronous} RATE 49)
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
# A thread's sums: 8 x 4 channels and 3 or 4 taps, or 4 x 4 and 3 or 7. The blocks wanted are one or two waves
# of what an H200 runs at a time: parts are sums that are stored and added once more.
set(tile64x64 lanes_in=8 lanes_out=16 thread_in=8)
set(tile64x32 lanes_in=16 lanes_out=8)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s1x1 weight_gradient_cuda_dense ${k3} ${s1} ${many_channels}
    ${tile64x64} wanted_blocks=264 ${asynchronous} RATE 49)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x7_s1x1 weight_gradient_cuda_dense ${k3x7} ${s1} ${many_channels}
    ${tile64x32} chunk_columns=32 run=8 wanted_blocks=528 ${asynchronous} RATE 49)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x5_s1x1 weight_gradient_cuda_dense ${k3x5} ${s1} ${many_channels}
    lanes_in=8 thread_in=8 thread_out=2 chunk_columns=32 run=8 ${asynchronous} RATE 49)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k2x2_s2x2 weight_gradient_cuda_dense ${k2s2} ${many_channels}
    lanes_out=8 thread_in=8 all_taps_y=true chunk_columns=16 wanted_blocks=264 ${asynchronous} RATE 44)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k3x3_s2x2 weight_gradient_cuda_dense ${k3s2} ${many_channels}
    ${tile64x32} chunk_columns=32 run=8 wanted_blocks=768 ${asynchronous} RATE 39)
conv_transpose_kernel(f32_cuda_weight_gradient_dense_k4x4_s2x2 weight_gradient_cuda_dense ${k4s2} ${many_channels}
    ${tile64x64} chunk_columns=16 run=8 wanted_blocks=512 ${asynchronous} RATE 44)

# ---- any attributes: products of packed pictures
set(product weight_gradient_cuda_product)
set(tf32_product weight_gradient_cuda_product_tensor_core parts=1)
set(tf32x3_product weight_gradient_cuda_product_tensor_core parts=2 ALLOW_SPILLS)
set(one_block blocks=1 ${one_round})
set(taps2x64 tile_taps=2 tile_out=64)
set(taps4x32 tile_taps=4 tile_out=32)
set(taps4x16 tile_taps=4 tile_out=16)
set(some_channels min_in_channels=8 min_out_channels=3)
set(over_32 min_in_channels=33 min_out_channels=33)
conv_transpose_kernel(tf32_cuda_weight_gradient_product_c64x256 ${tf32_product} ${taps2x64} tile_in=256 ${one_block} stages=4
    ${over_32} RATE 330)
conv_transpose_kernel(tf32_cuda_weight_gradient_product_c64x128 ${tf32_product} ${taps2x64} tile_in=128 ${one_block} stages=5
    ${over_32} RATE 295)
conv_transpose_kernel(tf32_cuda_weight_gradient_product_c64 ${tf32_product} ${taps2x64} tile_in=64 stages=4 ${over_32} RATE 215)
conv_transpose_kernel(tf32_cuda_weight_gradient_product_c32x64 ${tf32_product} ${taps4x32} tile_in=64 stages=4 ${some_channels} RATE 220)
conv_transpose_kernel(tf32_cuda_weight_gradient_product_c16x32 ${tf32_product} ${taps4x16} tile_in=32 blocks=4 stages=4
    wanted_blocks=528 ${some_channels} RATE 130)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_product_c64x128 ${tf32x3_product} ${taps2x64} tile_in=128 ${one_block} stages=3
    ${over_32} RATE 110)
conv_transpose_kernel(tf32x3_cuda_weight_gradient_product_c32x64 ${tf32x3_product} ${taps4x32} tile_in=64 stages=2 ${some_channels} RATE 104)
conv_transpose_kernel(f32_cuda_weight_gradient_product_c64 ${product} ${taps2x64} tile_in=64 lanes_columns=4 ${over_32} RATE 47)
conv_transpose_kernel(f32_cuda_weight_gradient_product_c32 ${product} ${taps4x32} tile_in=32 ${some_channels} RATE 40)
conv_transpose_kernel(f32_cuda_weight_gradient_product_c16x32 ${product} ${taps4x16} tile_in=32 lanes_rows=8 ${some_channels} RATE 38)
conv_transpose_kernel(f32_cuda_pack_pictures pack_pictures)
conv_transpose_kernel(tf32_cuda_pack_pictures pack_pictures parts=1)
conv_transpose_kernel(tf32x3_cuda_pack_pictures pack_pictures parts=2)
conv_transpose_kernel(f32_cuda_weight_gradient_sum weight_gradient_sum)

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
conv_transpose_kernel(f32_cuda_weight_gradient_general weight_gradient_cuda_lanes RATE 6)
conv_transpose_kernel(f32_cuda_weight_gradient_general_large weight_gradient_cuda_lanes LARGE RATE 3)
# For those who ask for strict propagation.
conv_transpose_kernel(f32_cpu_weight_gradient_general_strict weight_gradient_cpu_general ${tile4} strict=true LARGE ${tile3})
conv_transpose_kernel(f32_cuda_weight_gradient_general_strict weight_gradient_cuda_lanes strict=true LARGE)
conv_transpose_kernel(f32_cpu_bias_gradient_general bias_gradient)
conv_transpose_kernel(f32_cuda_bias_gradient_general bias_gradient)
conv_transpose_kernel(f32_cpu_sum_of_parts sum_of_parts BASELINE_ONLY)
conv_transpose_kernel(f32_cuda_sum_of_parts sum_of_parts)

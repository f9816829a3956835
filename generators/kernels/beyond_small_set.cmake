# Kernels on GPUs that the small set does without, beyond rows that say FULL. By estimates of 117,000 cases (1,092 layers of
# tests/shapes and of networks, three operations, ten combinations of element types and layouts, three precisions, GPUs with wgmma
# and without) what is chosen without them takes at most 1.1 of its time; of 117 layers on an H200 none takes more than 1.06 of it
# (2026-11-30). Fifteen others that estimates called superfluous took up to 1.29 there, and stay; so do nine that tests name.
set(conv_transpose_beyond_small_set
    forward_f16_cuda_implicit_gemm_any_nchw_as_it_lies_256x128
    forward_f16_cuda_implicit_gemm_any_nchw_as_it_lies_pairs_128x64
    forward_f16_cuda_implicit_gemm_any_nchw_as_it_lies_t3_384x32
    forward_f16_cuda_implicit_gemm_any_nchw_as_it_lies_weight_maps_128x64
    forward_f16_cuda_implicit_gemm_any_nchw_maps_parts_256x128
    forward_f16_cuda_implicit_gemm_any_ndhwc_weight_maps_128x128
    forward_f16_cuda_implicit_gemm_any_nhwc_maps_128x64
    forward_f16_cuda_implicit_gemm_any_nhwc_maps_256x128_w5
    forward_f16_cuda_implicit_gemm_any_nhwc_maps_kept_256x64_w3
    forward_f16_cuda_implicit_gemm_any_nhwc_maps_sub_pixel_128x64
    forward_f16_cuda_implicit_gemm_any_nhwc_weight_maps_1x1_128x64
    forward_tf32_cuda_implicit_gemm_any_nchw_sub_pixel_packed_c128
    input_gradient_f16_cuda_depthwise_any_any_columns
    input_gradient_f16_cuda_depthwise_any_nhwc_c1x1_fours
    input_gradient_f16_cuda_implicit_gemm_any_ncdhw_small_c16
    input_gradient_f16_cuda_implicit_gemm_any_ndhwc_weight_maps_tiles_128x128
    input_gradient_f16_cuda_implicit_gemm_any_ndhwc_weight_maps_tiles_128x64
    input_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_256x64
    input_gradient_f16_cuda_implicit_gemm_any_nhwc_weight_maps_128x128
    input_gradient_f16_cuda_implicit_gemm_any_nhwc_weight_maps_1x1_clusters_128x64
    input_gradient_f16_cuda_implicit_gemm_any_nhwc_weight_maps_any_128x64
    input_gradient_f16_cuda_implicit_gemm_any_nhwc_weight_maps_tiles_128x64
    input_gradient_f32_cuda_depthwise_any_nhwc_c1x1_fours
    input_gradient_f32_cuda_implicit_gemm_any_nchw_c16
    weight_gradient_f16_cuda_depthwise_any_any_c1x1_staged_long
    weight_gradient_f16_cuda_depthwise_any_any_c1x1_staged_long_result
    weight_gradient_f16_cuda_depthwise_any_any_c1x1_staged_low_result
    weight_gradient_f16_cuda_depthwise_any_any_t2x2_result
    weight_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_result_c64x128
    weight_gradient_f32_cuda_depthwise_any_any_c1x1_staged_long
    weight_gradient_f32_cuda_implicit_gemm_any_nchw_c64
)

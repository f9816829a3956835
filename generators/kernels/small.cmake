# CUDA, before all others: depthwise problems by vectors for even strides, and of a stride along rows (separable resampling); of
# many taps, forward and at stride 1 input gradient, by how many of a column see one position, in channels_last with groups side by
# side; input gradients of others, which leave nearly all of a product's tile empty, of any attributes, rank and element type, in
# channels_last by vectors of groups; then problems that are mostly launches: one of them.

foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    conv_transpose_kernel(forward ${format} cuda depthwise ${k4s2p1} ${depthwise} vector=4 storage=${format} ${maybe})
endforeach()
foreach(stride RANGE 2 8)
    conv_transpose_kernel(forward f32 cuda depthwise stride_h=1 stride_w=${stride} ${depthwise} cells_y=8)
endforeach()
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    set(staged GENERATOR forward_cuda_staged storage=${format} threads=256 ${depthwise})
    set(groups planes=8 lanes=8 elements=8192 others=3072)
    set(full_of_2 FULL)
    set(full_of_3 ${maybe})
    set(full_of_4 FULL)
    foreach(window 2 3 4)
        set(of_window ${staged} window=${window} ${full_of_${window}})
        conv_transpose_kernel(forward ${format} cuda depthwise AS staged${window} LAYOUT any ${of_window})
        if(window GREATER 2)
            conv_transpose_kernel(forward ${format} cuda depthwise AS staged${window} LAYOUT nhwc ${of_window} ${groups})
        endif()
    endforeach()
    conv_transpose_kernel(forward ${format} cuda depthwise AS staged LAYOUT any ${staged} others=2048 ${maybe})
    conv_transpose_kernel(forward ${format} cuda depthwise AS staged LAYOUT nhwc ${staged} ${groups} FULL)
    conv_transpose_kernel(input_gradient ${format} cuda depthwise LAYOUT nhwc GENERATOR input_gradient_cuda_depthwise_vectors
        storage=${format} parts=8 window=3 ${depthwise} ${maybe})
    set(depthwise_gather LAYOUT any GENERATOR input_gradient_cuda_depthwise_gather storage=${format} in_channels=1 ${maybe})
    conv_transpose_kernel(input_gradient ${format} cuda depthwise AS columns ${depthwise_gather} ${columns3} min_taps=16)
    conv_transpose_kernel(input_gradient ${format} cuda depthwise ${depthwise_gather})
endforeach()
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    conv_transpose_kernel(forward ${format} cuda gather LAYOUT any AS small storage=${format} channels=1 parts=1 packs_weights=false
        max_products=1048576 ${maybe})
endforeach()

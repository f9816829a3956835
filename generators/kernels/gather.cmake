# Any rank, element type and layout, every attribute a run-time value: few channels, and what no kernel before takes.

set(rate_forward 10)
set(rate_input_gradient 12)
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    foreach(operation forward input_gradient)
        set(rate H200_TFLOPS ${rate_${operation}})
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT nhwc GENERATOR ${operation}_cuda_gather_vectors
            storage=${format} ${rate} ${maybe})
        conv_transpose_kernel(${operation} ${format} cuda gather AS columns_c4 LAYOUT any storage=${format} ${columns2} channels=4
            H200_TFLOPS 8 ${maybe})
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT any storage=${format} ${rate})
    endforeach()
    conv_transpose_kernel(weight_gradient ${format} cuda gather LAYOUT any storage=${format})
    foreach(operation forward input_gradient weight_gradient)
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT any storage=${format} LARGE)
        conv_transpose_kernel(${operation} ${format} cpu gather LAYOUT any storage=${format} LARGE BASELINE)
    endforeach()
endforeach()

# In channels_last, few channels that are summed over, or computed: vectors of those that are many (k2 s2, 24 channels from one,
# 368x368: 0.0095 ms, by tensor cores 0.017).
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    conv_transpose_kernel(input_gradient ${format} cuda gather LAYOUT nhwc AS few_summed GENERATOR
        input_gradient_cuda_gather_vectors storage=${format} channels=8 read=1 parts=4 H200_TFLOPS 12 ${maybe})
    conv_transpose_kernel(forward ${format} cuda gather LAYOUT nhwc AS few_computed GENERATOR forward_cuda_gather_vectors
        storage=${format} channels=1 read=8 parts=8 H200_TFLOPS 4 ${maybe})
endforeach()
# Weight gradients of few positions in one launch, where products would pack pictures before and add parts behind (24 to 12 channels,
# N16 2x2: 3.2 us, 5.9). In float32 products of pictures as they lie are as fast (H200, 2026-12-01).
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    conv_transpose_kernel(weight_gradient ${format} cuda gather AS result LAYOUT any storage=${format} writes_result=true H200_TFLOPS 11
        ${maybe})
endforeach()
# One or two, in any layout (k4 s2, 2 to 2 channels, N8 64x128: 0.0062 ms; with packed weights and four positions 0.0095).
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32 f16)
    conv_transpose_kernel(input_gradient ${format} cuda gather LAYOUT any AS few storage=${format} channels=2 parts=1
        packs_weights=false H200_TFLOPS 12 ${maybe})
endforeach()

# Any rank, element type and layout, every attribute a run-time value: few channels, and what no kernel before takes.

set(rate_forward 10)
set(rate_input_gradient 12)
foreach(format f32 f16 bf16)
    foreach(operation forward input_gradient)
        set(rate H200_TFLOPS ${rate_${operation}})
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT nhwc GENERATOR ${operation}_cuda_gather_vectors
            storage=${format} ${rate})
        conv_transpose_kernel(${operation} ${format} cuda gather AS columns_c4 LAYOUT any storage=${format} ${columns2} channels=4
            H200_TFLOPS 8)
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT any storage=${format} ${rate})
    endforeach()
    conv_transpose_kernel(weight_gradient ${format} cuda gather LAYOUT any storage=${format})
    foreach(operation forward input_gradient weight_gradient)
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT any storage=${format} LARGE)
        conv_transpose_kernel(${operation} ${format} cpu gather LAYOUT any storage=${format} LARGE BASELINE)
    endforeach()
endforeach()

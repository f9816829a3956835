# Any rank, element type and layout, every attribute a run-time value: what no kernel before takes.

foreach(format f32 f16 bf16)
    foreach(operation forward input_gradient)
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT nhwc GENERATOR ${operation}_cuda_gather_vectors storage=${format})
    endforeach()
    foreach(operation forward input_gradient weight_gradient)
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT any storage=${format})
        conv_transpose_kernel(${operation} ${format} cuda gather LAYOUT any storage=${format} LARGE)
        conv_transpose_kernel(${operation} ${format} cpu gather LAYOUT any storage=${format} LARGE BASELINE)
    endforeach()
endforeach()

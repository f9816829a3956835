# Pictures in channels_last that the copy engine reads by tensor maps, on Hopper: products of any attributes. Names tell
# tiles, positions x channels, and the taps of a window. Rates: H200, 2026-11-22, float16; bfloat16 has the same.
foreach(format f16 bf16 tf32)
    set(rows_of_16_bytes 8)  # values
    set(chunk chunk_channels=64)
    set(half_chunk chunk_channels=32)
    set(maybe "")
    if(NOT format STREQUAL f16)
        set(maybe FULL)
    endif()
    if(format STREQUAL tf32)
        set(rows_of_16_bytes 4)
        set(chunk chunk_channels=32)
        set(half_chunk chunk_channels=16)
    endif()
    foreach(operation forward input_gradient)
        set(maps ONLY_ON sm_90 GENERATOR ${operation}_cuda_implicit_gemm_tensor_maps format=${format}
            input_layout=channels_last channels_last_output=true in_channel_multiple=${rows_of_16_bytes}
            out_channel_multiple=${rows_of_16_bytes} ALLOW_SPILLS)
        set(large tile_rows=128 columns=128 ${chunk} stages=4 blocks=1 producer=true)
        set(narrow tile_rows=128 columns=64 ${chunk} stages=2 blocks=2)
        set(small columns=64 ${chunk} stages=3 blocks=3)
        # TF32 is multiplied at half the rate, and half as many channels are 128 bytes.
        set(rates 695 526 450 349 506 684)
        if(format STREQUAL tf32)
            set(rates 370 290 260 200 270 340)
        endif()
        list(GET rates 0 rate_large)
        list(GET rates 1 rate_two)
        list(GET rates 2 rate_narrow)
        list(GET rates 3 rate_small)
        list(GET rates 4 rate_window3)
        list(GET rates 5 rate_window7)
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x128 ${maps} ${large}
            H200_TFLOPS ${rate_large})
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_128x128 ${maps} columns=128 ${chunk}
            stages=3 blocks=2 H200_TFLOPS ${rate_two} FULL)
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x64 ${maps} ${narrow}
            H200_TFLOPS ${rate_narrow})
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_128x64 ${maps} ${small}
            H200_TFLOPS ${rate_small} ${maybe})
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x128 ${maps} rank=3 ${large}
            H200_TFLOPS ${rate_large} FULL)
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x64 ${maps} rank=3 ${narrow}
            H200_TFLOPS ${rate_narrow} ${maybe})
        if(operation STREQUAL forward)
            # All taps of a window share a box: 64 to 64 channels, k3, 0.438 ms in place of 0.464, 3x7 0.338 in place of 0.479.
            set(narrow3 tile_rows=128 columns=64 ${half_chunk} stages=3 blocks=2 window=3 boxes=2)
            conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x64_w3 ${maps} ${narrow3}
                H200_TFLOPS ${rate_window3} ${maybe})
            conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x64_w7 ${maps} tile_rows=128
                columns=64 ${half_chunk} stages=2 blocks=2 window=7 boxes=2 H200_TFLOPS ${rate_window7} ${maybe})
            conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x32_w3 ${maps} tile_rows=128
                columns=32 ${half_chunk} stages=3 blocks=2 window=3 boxes=2 H200_TFLOPS ${rate_narrow} ${maybe})
            conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x32_w7 ${maps} tile_rows=128
                columns=32 ${half_chunk} stages=2 blocks=2 window=7 boxes=2 H200_TFLOPS ${rate_window3} ${maybe})
            conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x64_w3 ${maps} rank=3 ${narrow3}
                H200_TFLOPS ${rate_window3} FULL)
        endif()
    endforeach()
endforeach()

# Pictures in channels_last that the copy engine reads by tensor maps, on Hopper: products of any attributes. Names tell
# tiles, positions x channels, and the taps of a window. Rates of full blocks beside what a block takes before and behind its
# loop (estimated_time.cpp): H200, 2026-11-22, medians of 28 layers in float16; bfloat16 is taken to have float16's, three
# axes those of two.
#
# One block of 256 x 128 has a producer. Two or three smaller ones overlap each other's stores, which short sums need: U-Net's
# k2 s2 0.165 ms by 128 x 128, 0.190 by 256 x 128; of k5 0.335 and 0.318. Chunks of half a row leave 256 x 64 five stages in
# place of two: 0.436 in place of 0.499 (k5).
foreach(format f16 bf16 tf32)
    set(values 8)  # of 16 bytes
    set(chunk chunk_channels=64)
    set(half_chunk chunk_channels=32)
    set(rates 717 537 545 505)
    set(sub_pixel_rates 763 649 545 546)
    set(maybe FULL)
    if(format STREQUAL f16)
        set(maybe "")
    elseif(format STREQUAL tf32)
        set(values 4)
        set(chunk chunk_channels=32)
        set(half_chunk chunk_channels=16)
        set(rates 358 270 227 200)
        set(sub_pixel_rates 358 270 227 200)
    endif()
    set(tile256x128 tile_rows=128 columns=128 ${chunk} stages=4 blocks=1 producer=true)
    set(tile128x128 columns=128 ${chunk} stages=3 blocks=2)
    set(tile256x64 tile_rows=128 columns=64 ${half_chunk} stages=5 blocks=2)
    set(tile128x64 columns=64 ${chunk} stages=3 blocks=3)
    foreach(operation forward input_gradient)
        set(maps ONLY_ON sm_90 GENERATOR ${operation}_cuda_implicit_gemm_tensor_maps format=${format}
            input_layout=channels_last channels_last_output=true in_channel_multiple=${values} out_channel_multiple=${values}
            ALLOW_SPILLS)
        list(GET rates 0 rate256x128)
        list(GET rates 1 rate128x128)
        list(GET rates 2 rate256x64)
        list(GET rates 3 rate128x64)
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x128 ${maps} ${tile256x128}
            H200_TFLOPS ${rate256x128})
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_128x128 ${maps} ${tile128x128}
            H200_TFLOPS ${rate128x128} FULL)
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x64 ${maps} ${tile256x64}
            H200_TFLOPS ${rate256x64})
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT nhwc AS maps_128x64 ${maps} ${tile128x64}
            H200_TFLOPS ${rate128x64} ${maybe})
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x128 rank=3 ${maps} ${tile256x128}
            H200_TFLOPS ${rate256x128} FULL)
        conv_transpose_kernel(${operation} ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x64 rank=3 ${maps} ${tile256x64}
            H200_TFLOPS ${rate256x64} ${maybe})
    endforeach()
    # Phases as channels: the picture is read once for all phases, and a tile has the channels of several.
    set(sub_pixel ONLY_ON sm_90 GENERATOR forward_cuda_implicit_gemm_tensor_maps format=${format} input_layout=channels_last
        channels_last_output=true in_channel_multiple=${values} phases_as_channels=true neighbours=${values} min_out_channels=1
        ALLOW_SPILLS)
    list(GET sub_pixel_rates 0 rate256x128)
    list(GET sub_pixel_rates 1 rate128x128)
    list(GET sub_pixel_rates 2 rate256x64)
    list(GET sub_pixel_rates 3 rate128x64)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_sub_pixel_256x128 ${sub_pixel} ${tile256x128}
        H200_TFLOPS ${rate256x128} ${maybe})
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_sub_pixel_128x128 ${sub_pixel} ${tile128x128}
        H200_TFLOPS ${rate128x128})
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_sub_pixel_256x64 ${sub_pixel} ${tile256x64}
        H200_TFLOPS ${rate256x64} ${maybe})
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_sub_pixel_128x64 ${sub_pixel} ${tile128x64}
        H200_TFLOPS ${rate128x64} ${maybe})
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_sub_pixel_128x128 rank=3 ${sub_pixel}
        ${tile128x128} H200_TFLOPS ${rate128x128} ${maybe})
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_sub_pixel_256x64 rank=3 ${sub_pixel}
        ${tile256x64} H200_TFLOPS ${rate256x64} FULL)
endforeach()

# All taps of a window share a box, and one run of weights: of 64 channels k3 1.19 ms in place of 1.60, 3x7 0.548 in place of
# 0.842. Not in TF32 (0.847 in place of 0.826).
foreach(format f16 bf16)
    set(maps ONLY_ON sm_90 GENERATOR forward_cuda_implicit_gemm_tensor_maps format=${format} input_layout=channels_last
        channels_last_output=true in_channel_multiple=8 out_channel_multiple=8 tile_rows=128 columns=64 chunk_channels=32
        blocks=2 boxes=2 ALLOW_SPILLS)
    set(maybe FULL)
    if(format STREQUAL f16)
        set(maybe "")
    endif()
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x64_w3 ${maps} stages=3 window=3
        H200_TFLOPS 870 ${maybe})
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT nhwc AS maps_256x64_w7 ${maps} stages=2 window=7
        H200_TFLOPS 880 ${maybe})
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x64_w3 rank=3 ${maps} stages=3 window=3
        H200_TFLOPS 800 FULL)
endforeach()

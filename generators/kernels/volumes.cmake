# Volumes in TF32, packed as rows of their channels before, which the copy engine reads by tensor maps on Hopper (rank-3
# kernels take fewer axes, too). A step is a window of taps along x of 16 channels: kernels of many taps and few channels
# fetch a box for all taps of a row, and two warpgroups share the weights. Rates: H200, 2026-11-22, KernelBench 61 (w3), 68
# (w5) and 58 (w7), without packing and prologues. Not: chunks of 32 channels in two stages (68 6.7 ms in place of 4.5), 256
# positions in two blocks a multiprocessor (5.9), positions as rows of a tile of 16 to 48 channels (ten times as long).
set(maps ONLY_ON sm_90 GENERATOR forward_cuda_implicit_gemm_tensor_maps format=tf32 rank=3 input_layout=channels_last
    in_channel_multiple=4 ALLOW_SPILLS)
set(tile512x64 ${maps} columns=256 row_sets=1 column_sets=2 boxes=3 chunk_channels=16 producer=true)
conv_transpose_kernel(forward tf32 cuda implicit_gemm LAYOUT ncdhw AS maps_512x64_w3 ${tile512x64} stages=4 window=3
    H200_TFLOPS 300)
conv_transpose_kernel(forward tf32 cuda implicit_gemm LAYOUT ncdhw AS maps_512x64_w5 ${tile512x64} stages=4 window=5
    H200_TFLOPS 400)
conv_transpose_kernel(forward tf32 cuda implicit_gemm LAYOUT ncdhw AS maps_512x64_w7 ${tile512x64} stages=3 window=7
    H200_TFLOPS 400)
# Phases as channels, of an even stride along the width: U-Nets' k2 s2 0.133 in place of 0.153 ms. The rate is that of short sums.
conv_transpose_kernel(forward tf32 cuda implicit_gemm LAYOUT ncdhw AS maps_pairs_256x64 ${maps} phases_as_channels=true
    neighbours=2 min_out_channels=1 columns=128 row_sets=1 column_sets=2 chunk_channels=32 stages=2 blocks=2 H200_TFLOPS 130)

# Phases along the width as channels, of cells of several inputs where output channels are few (choice/input_cells.h): pairs
# and fours are neighbours in the output.
foreach(format tf32 f16 bf16)
    set(maybe "")
    set(chunk 16)
    set(values 4)
    if(NOT format STREQUAL tf32)
        set(chunk 32)
        set(values 8)
        if(format STREQUAL bf16)
            set(maybe FULL)
        endif()
    endif()
    math(EXPR whole_chunk "2 * ${chunk}")
    set(cells ONLY_ON sm_90 GENERATOR forward_cuda_implicit_gemm_tensor_maps format=${format} rank=3 input_layout=channels_last
        in_channel_multiple=${values} min_in_channels=4 min_out_channels=1 phases_as_channels=true phases_along_width=true
        ALLOW_SPILLS ${maybe})
    set(tile512x64 columns=256 row_sets=1 column_sets=2 boxes=3 chunk_channels=${chunk} producer=true stages=4)
    set(tile256x64 columns=128 row_sets=1 column_sets=2 boxes=2 chunk_channels=${chunk} stages=3 blocks=2)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ncdhw AS maps_cells_fours_512x64_w3 ${cells} ${tile512x64}
        neighbours=4 window=3 H200_TFLOPS 400)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ncdhw AS maps_cells_pairs_512x64_w2 ${cells} ${tile512x64}
        neighbours=2 window=2 H200_TFLOPS 300)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ncdhw AS maps_cells_pairs_256x64_w2 ${cells} ${tile256x64}
        neighbours=2 window=2 H200_TFLOPS 250)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ncdhw AS maps_cells_pairs_256x64_w3 ${cells} ${tile256x64}
        neighbours=2 window=3 H200_TFLOPS 250)
    if(NOT format STREQUAL tf32)
        set(rows channels_last_output=true out_channel_multiple=8 tile_rows=128 columns=64 boxes=2 chunk_channels=32 blocks=2)
        conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_cells_256x64_w3 ${cells} ${rows}
            neighbours=8 window=3 stages=3 H200_TFLOPS 800)
        conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_cells_256x64_w2 ${cells} ${rows}
            neighbours=8 window=2 stages=3 H200_TFLOPS 800)
    endif()
endforeach()

# Windows of 16 bits.
foreach(format f16 bf16)
    set(maybe FULL)
    if(format STREQUAL f16)
        set(maybe "")
    endif()
    set(maps ONLY_ON sm_90 GENERATOR forward_cuda_implicit_gemm_tensor_maps format=${format} rank=3 input_layout=channels_last
        in_channel_multiple=8 ALLOW_SPILLS ${maybe})
    set(tile512x64 columns=256 row_sets=1 column_sets=2 boxes=3 chunk_channels=32 producer=true)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ncdhw AS maps_512x64_w3 ${maps} ${tile512x64} stages=4
        window=3 H200_TFLOPS 600)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ncdhw AS maps_512x64_w5 ${maps} ${tile512x64} stages=3
        window=5 H200_TFLOPS 700)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ncdhw AS maps_512x64_w7 ${maps} ${tile512x64} stages=3
        window=7 H200_TFLOPS 700)
    set(rows channels_last_output=true out_channel_multiple=8 tile_rows=128 columns=64 boxes=2 chunk_channels=32 blocks=2)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x64_w5 ${maps} ${rows} stages=2 window=5
        H200_TFLOPS 850)
    conv_transpose_kernel(forward ${format} cuda implicit_gemm LAYOUT ndhwc AS maps_256x64_w7 ${maps} ${rows} stages=2 window=7
        H200_TFLOPS 880)
endforeach()

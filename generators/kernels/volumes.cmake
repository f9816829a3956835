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

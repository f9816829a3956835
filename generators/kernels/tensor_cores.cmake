# Forward, on tensor cores.

set(row_tf32 forward tf32 cuda tensor_core ALLOW_SPILLS)
# Three products for one are made for Hopper alone, where a warpgroup of its own may stage; other GPUs have the implicit product.
set(row_tf32x3 forward tf32x3 cuda tensor_core ONLY_ON sm_90 ALLOW_SPILLS parts=2)
# In TF32 kernels by tensor maps are faster of stride 1 and of k3 s2 (docs/tensor-core-experiments.md).
# ---- stride 1: channels of KernelBench level 1, problems 57, 65, 71
set(split blocks=1 separate_registers=true)  # one block a multiprocessor has registers to spare
set(split_staged blocks=1 producer=true)
conv_transpose_kernel(${row_tf32x3} ${k3} ${s1} ${c64x64} ${split_staged} columns=152 FULL H200_TFLOPS 110)
conv_transpose_kernel(${row_tf32x3} ${k3x7} ${s1} ${c64x64} ${split_staged} columns=104 producer_registers=136 FULL H200_TFLOPS 118)
conv_transpose_kernel(${row_tf32x3} ${k3x5} ${s1} in_channels=64 out_channels=128 ${split_staged} columns=136 FULL H200_TFLOPS 110)

# ---- phases of strided problems: any channels. Wide tiles for large pictures, others for small ones.
conv_transpose_kernel(${row_tf32} ${k2s2} columns=64 chunk_channels=32 separate_registers=true H200_TFLOPS 200)
conv_transpose_kernel(${row_tf32x3} ${k2s2} ${split} columns=64 chunk_channels=16 FULL H200_TFLOPS 72)
conv_transpose_kernel(${row_tf32} ${k4s2p1} columns=8 tile_rows=16 blocks=1 stages=3 separate_registers=true H200_TFLOPS 275)
conv_transpose_kernel(${row_tf32} AS tile8x8 ${k4s2p1} columns=8 tile_rows=8 separate_registers=true H200_TFLOPS 230)
conv_transpose_kernel(${row_tf32x3} ${k3s2p1} ${split} columns=8 tile_rows=8 FULL H200_TFLOPS 55)
conv_transpose_kernel(${row_tf32x3} ${k4s2p1} ${split_staged} columns=8 tile_rows=8 producer_registers=136 H200_TFLOPS 98)

# ---- sub-pixels: any padding and channels. Tiles that an H200's tuner found for patches and for audio, whose pictures
# have one row.
set(sub_pixel sub_pixel=true channel_sets=2 separate_registers=true)
set(sub_pixel_tile ${sub_pixel} columns=8 tile_rows=16)
set(sub_pixel_row ${sub_pixel} columns=128 kernel_h=1 stride_h=1)
conv_transpose_kernel(${row_tf32} ${sub_pixel_tile} kernel_h=5 kernel_w=5 stride_h=2 stride_w=2 H200_TFLOPS 205)
conv_transpose_kernel(${row_tf32} ${sub_pixel_tile} kernel_h=16 kernel_w=16 stride_h=8 stride_w=8 FULL H200_TFLOPS 120)
conv_transpose_kernel(${row_tf32} ${sub_pixel_row} kernel_w=10 stride_w=5 chunk_channels=32 FULL H200_TFLOPS 170)
conv_transpose_kernel(${row_tf32} ${sub_pixel_row} columns=144 kernel_w=16 stride_w=8 chunk_channels=32 FULL H200_TFLOPS 210)

# Forward, on tensor cores.

set(row_tf32 forward tf32 cuda tensor_core ALLOW_SPILLS)
# Three products for one are made for Hopper alone, where a warpgroup of its own may stage; other GPUs have the implicit product.
set(row_tf32x3 forward tf32x3 cuda tensor_core ONLY_ON sm_90 ALLOW_SPILLS parts=2)
# ---- stride 1: channels of KernelBench level 1, problems 57, 65, 71, 78; then any
# A few bytes spill where tiles were chosen for speed, more of them in the portable code (docs/tensor-core-experiments.md).
# One block a multiprocessor has registers to spare.
set(split blocks=1 separate_registers=true)
set(split_staged blocks=1 producer=true)
conv_transpose_kernel(${row_tf32} ${k3} ${s1} ${c64x64} columns=152 H200_TFLOPS 263)
conv_transpose_kernel(${row_tf32} ${k3x7} ${s1} ${c64x64} columns=104 FULL H200_TFLOPS 320)
conv_transpose_kernel(${row_tf32} ${k3} ${s1} ${c32x32} picture_rows=2 columns=104 FULL H200_TFLOPS 138)
# Wide tiles for large pictures, others for small ones: on 14x14 pixels 0.08 ms in place of 0.4.
set(tile8x8 columns=8 tile_rows=8 separate_registers=true)
conv_transpose_kernel(${row_tf32} ${k3} ${s1} columns=128 H200_TFLOPS 250)
conv_transpose_kernel(${row_tf32} AS tile8x8 ${k3} ${s1} ${tile8x8} H200_TFLOPS 222)
conv_transpose_kernel(${row_tf32x3} ${k3} ${s1} ${c64x64} ${split_staged} columns=152 FULL H200_TFLOPS 110)
conv_transpose_kernel(${row_tf32x3} ${k3x7} ${s1} ${c64x64} ${split_staged} columns=104 producer_registers=136 FULL H200_TFLOPS 118)
conv_transpose_kernel(${row_tf32x3} ${k3x5} ${s1} in_channels=64 out_channels=128 ${split_staged} columns=136 FULL H200_TFLOPS 110)
# One row: KernelBench 64 2.24 ms in place of 2.85.
set(row ${s1} kernel_h=1 columns=128 chunk_channels=16 separate_registers=true)
conv_transpose_kernel(${row_tf32} ${row} kernel_w=3 channel_sets=2 H200_TFLOPS 225)

# ---- phases of strided problems: any channels
conv_transpose_kernel(${row_tf32} ${k2s2} columns=64 chunk_channels=32 separate_registers=true H200_TFLOPS 200)
conv_transpose_kernel(${row_tf32x3} ${k2s2} ${split} columns=64 chunk_channels=16 FULL H200_TFLOPS 72)
conv_transpose_kernel(${row_tf32} ${k3s2p1}
    columns=8 tile_rows=16 blocks=1 chunk_channels=16 separate_registers=true H200_TFLOPS 155)
conv_transpose_kernel(${row_tf32} ${k4s2p1} columns=8 tile_rows=16 blocks=1 stages=3 separate_registers=true H200_TFLOPS 285)
conv_transpose_kernel(${row_tf32} AS tile8x8 ${k4s2p1} ${tile8x8} H200_TFLOPS 240)
conv_transpose_kernel(${row_tf32x3} ${k3s2p1} ${split} columns=8 tile_rows=8 FULL H200_TFLOPS 55)
conv_transpose_kernel(${row_tf32x3} ${k4s2p1} ${split_staged} columns=8 tile_rows=8 producer_registers=136 H200_TFLOPS 98)

# ---- sub-pixels: any padding and channels. Tiles that an H200's tuner found for patches and for audio, whose pictures
# have one row.
set(sub_pixel sub_pixel=true channel_sets=2 separate_registers=true)
set(sub_pixel_tile ${sub_pixel} columns=8 tile_rows=16)
set(sub_pixel_row ${sub_pixel} columns=128 kernel_h=1 stride_h=1)
conv_transpose_kernel(${row_tf32} ${sub_pixel_tile} kernel_h=5 kernel_w=5 stride_h=2 stride_w=2 H200_TFLOPS 230)
conv_transpose_kernel(${row_tf32} ${sub_pixel_tile} kernel_h=16 kernel_w=16 stride_h=8 stride_w=8 FULL H200_TFLOPS 120)
conv_transpose_kernel(${row_tf32} ${sub_pixel_row} kernel_w=10 stride_w=5 chunk_channels=32 FULL H200_TFLOPS 170)
conv_transpose_kernel(${row_tf32} ${sub_pixel_row} columns=144 kernel_w=16 stride_w=8 chunk_channels=32 FULL H200_TFLOPS 210)

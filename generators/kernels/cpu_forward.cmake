# Forward, on the CPU.

set(k4s2p1 kernel_h=4 kernel_w=4 stride_h=2 stride_w=2 padding_phase_h=1 padding_phase_w=1)

# ---- depthwise: a common kernel, then any kernel, vertical stride and padding, without dilation, where rows are long and
# many; then any attributes
conv_transpose_kernel(forward f32 cpu depthwise ${k4s2p1} in_channels=1 out_channels=1
    unroll_taps=true rows=4 min_output_h=32 min_output_w=32 min_width_of_groups=192)
set(strides 1 2 3 4)
set(width_of_groups 1024 256 512 512)
foreach(stride width IN ZIP_LISTS strides width_of_groups)
    conv_transpose_kernel(forward f32 cpu depthwise stride_w=${stride} in_channels=1 out_channels=1
        min_output_h=16 min_output_w=128 min_width_of_groups=${width})
endforeach()
conv_transpose_depthwise_products(forward)

# ---- exact attributes, any channels. Those for AVX-512 alone are left out with AVX2, as general products take 0.5 to 1.2 of their
# time there (41 layers; EPYC, Zen 3, 2026-12-01; docs/experiments.md).
set(attributes_75 kernel_h=3 kernel_w=5 stride_h=2 stride_w=3 dilation_h=2 dilation_w=1 padding_phase_h=1 padding_phase_w=2)
set(attributes_81 kernel_h=3 kernel_w=3 stride_h=5 stride_w=5 dilation_h=2 dilation_w=2 padding_phase_h=1 padding_phase_w=1)
conv_transpose_kernel(forward f32 cpu tiles ${attributes_75}
    joint_phases=true vectors=2 tile_rows=1 channels=4 ONLY_ON avx512)
conv_transpose_kernel(forward f32 cpu tiles ${attributes_81}
    joint_phases=true tile_rows=1 channels=2 AVX2 channels=1)

# ---- families: fixed kernel and stride, any channels
set(s2p1 stride_h=2 stride_w=2 padding_phase_h=1 padding_phase_w=1)
conv_transpose_kernel(forward f32 cpu tiles AS few kernel_h=3 kernel_w=3 stride_h=1 stride_w=1
    vectors=2 channels=4 max_channels=4 fma_percent=60 AVX2 vectors=1 fma_percent=87)
# 1x1 to few channels wait for the picture, which flat products read at two thirds of the rate (EPYC, 2026-11-24).
set(k1 kernel_h=1 kernel_w=1 stride_h=1 stride_w=1 tile_rows=1 fma_percent=60)
conv_transpose_kernel(forward f32 cpu tiles AS two vectors=4 channels=2 max_channels=2 min_output_w=32 ${k1}
    AVX2 fma_percent=90)
conv_transpose_kernel(forward f32 cpu tiles AS four vectors=2 channels=4 min_channels=3 max_channels=32 min_output_w=16 ${k1}
    AVX2 fma_percent=60)
set(k3 forward f32 cpu tiles kernel_h=3 stride_h=1 stride_w=1 fma_percent=74)
conv_transpose_kernel(${k3} kernel_w=3 AVX2 channels=6 fma_percent=70)
conv_transpose_kernel(${k3} kernel_w=5 ONLY_ON avx512)
conv_transpose_kernel(${k3} kernel_w=7 ONLY_ON avx512)
conv_transpose_kernel(forward f32 cpu tiles kernel_h=2 kernel_w=2 stride_h=2 stride_w=2
    joint_phases=true vectors=2 tile_rows=1 channels=3 max_in_channels=383
    fma_percent=78 AVX2 vectors=1 fma_percent=67)
conv_transpose_kernel(forward f32 cpu tiles kernel_h=3 kernel_w=3 ${s2p1}
    joint_phases=true channels=3 fma_percent=56 ONLY_ON avx512)
conv_transpose_kernel(forward f32 cpu tiles AS few kernel_h=4 kernel_w=4 ${s2p1}
    joint_phases=true channels=3 max_channels=3 fma_percent=56 ONLY_ON avx512)
conv_transpose_kernel(forward f32 cpu tiles kernel_h=4 kernel_w=4 ${s2p1} min_channels=11
    fma_percent=70 ONLY_ON avx512)
conv_transpose_kernel(forward f32 cpu tiles kernel_h=9 kernel_w=9 stride_h=2 stride_w=2
    joint_phases=true vectors=3 channels=1 max_channels=4 AVX2 tile_rows=1 max_channels=1)
conv_transpose_kernel(forward f32 cpu tiles kernel_h=9 kernel_w=9 stride_h=3 stride_w=3
    padding_phase_h=1 padding_phase_w=1 joint_phases=true vectors=2 tile_rows=1 channels=1 ONLY_ON avx512)
conv_transpose_kernel(forward f32 cpu tiles kernel_h=9 kernel_w=9 stride_h=4 stride_w=4
    joint_phases=true tile_rows=1 channels=1 fma_percent=70 ONLY_ON avx512)

# ---- any attributes, of any rank; for four or five channels, and for many channels of small pictures, more register tiles
# Rates with AVX2 are percent of 100 GFLOP/s (EPYC, Zen 3, where PyTorch's matrix product of 768 reaches 90), fitted with the times
# of copies and stores (runtime/src/choice/relative_time.cpp) to 228 layers, 2026-11-23.
set(avx2_places fma_percent=86)
set(avx2_channels1 fma_percent=47)
set(avx2_narrow fma_percent=84)
# Pairs of bfloat16 by AVX-512 BF16, of any layout and of channels_first. Full register tiles reach twice the FMA rate. One vector
# of channels where two would pad more: 0.56 to 0.72 of the time at 16 channels (EPYC, Zen 4, 2026-11-27).
set(in_pairs GENERATOR forward_cpu_implicit_gemm_channels rank=3 storage=bf16 pairs=true fma_percent=150 ONLY_ON avx512_bf16)
set(one_vector vectors=1 places=16)
set(row forward bf16 cpu implicit_gemm)
conv_transpose_kernel(${row} LAYOUT any AS pairs ${in_pairs} only_cells=true)
conv_transpose_kernel(${row} LAYOUT any AS narrow_pairs ${in_pairs} ${one_vector})
conv_transpose_kernel(${row} LAYOUT ncdhw AS turned_pairs ${in_pairs} turned=true only_cells=true places=8)
conv_transpose_kernel(${row} LAYOUT ncdhw AS narrow_turned_pairs ${in_pairs} turned=true ${one_vector})
conv_transpose_matrix_tiles(forward in_channel_multiple)
set(any_vectors only_cells=true)
set(any_narrow only_cells=true places=10 AVX2 only_cells=false places=12)
conv_transpose_flat_products(forward)
# From channels_last to channels_last: sums are stored from registers, of 17 to 32, more and fewer channels.
set(row forward f32 cpu implicit_gemm LAYOUT ndhwc GENERATOR forward_cpu_implicit_gemm_channels rank=3 only_cells=true
    stores_sums=true)
conv_transpose_kernel(${row} places=8 AVX2 places=6)
conv_transpose_kernel(${row} AS wide vectors=4 places=6 ONLY_ON avx512)
conv_transpose_kernel(${row} AS narrow vectors=1 places=12 ONLY_ON avx512)
# Few channels in channels_last: vectors are of places, as channels would fill little of one.
set(few LAYOUT any rank=3 any_layout=true)
conv_transpose_kernel(forward f32 cpu implicit_gemm ${few} AS few vectors=6 channels=4 fma_percent=70 AVX2 vectors=3
    fma_percent=80)
set(single ${few} AS single vectors=12 channels=1 fma_percent=33)
conv_transpose_kernel(forward f32 cpu implicit_gemm ${single} AVX2 vectors=6)
conv_transpose_kernel(forward bf16 cpu implicit_gemm ${single} storage=bf16 ONLY_ON avx512_bf16)
conv_transpose_kernel(forward f32 cpu implicit_gemm LAYOUT ncdhw AS balanced rank=3 vectors=4 channels=5 fma_percent=69
    AVX2 vectors=2 channels=6 fma_percent=89)
foreach(format f32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f32)
    set(of_storage ${maybe} rank=3 storage=${format})
    conv_transpose_kernel(forward ${format} cpu implicit_gemm LAYOUT ncdhw AS turned GENERATOR forward_cpu_implicit_gemm_channels
        ${of_storage} turned=true only_cells=true places=8 fma_percent=78 AVX2 places=6 fma_percent=92)
    # Few channels: the product's are all taps of them.
    conv_transpose_kernel(forward ${format} cpu implicit_gemm LAYOUT ncdhw AS taps ${of_storage} computes_taps=true fma_percent=66
        AVX2 vectors=2 channels=6 chunk=256 fma_percent=85)
endforeach()
# Few channels of few: all phases of them at once. 120 layers of few output channels take 0.91 of the time at the geometric mean
# (EPYC, Zen 3, 2026-12-01). With AVX-512 the rate is no measurement: it lies as far below that of `taps` as lets this wait.
conv_transpose_kernel(forward f32 cpu implicit_gemm ${few} AS phases joins_phases=true channels=4 vectors=6 fma_percent=60
    AVX2 vectors=3 fma_percent=85)
# Winograd's algorithm, for kernels of up to two strides, or of three; rates as above, fitted with the times of transforms.
foreach(taps 2 3)
    foreach(taps_h 1 ${taps})
        conv_transpose_kernel(forward f32 cpu winograd AS ${taps_h}x${taps} taps_h=${taps_h} taps_w=${taps} fma_percent=80
            AVX2 vectors=2 channels=6 fma_percent=99)
    endforeach()
endforeach()

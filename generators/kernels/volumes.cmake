# Volumes in TF32, packed as rows of their channels before, which the copy engine reads by tensor maps on Hopper (rank-3 kernels
# take fewer axes, too). A step is a window of taps along x of 16 channels: kernels of many taps and few channels fetch a box for
# all taps of a row, and two warpgroups share the weights. Rates: KernelBench 68 (w5) and 58 (w7), without packing and prologues; w3
# was fitted to eleven layers. What was tried: docs/experiments.md#one-and-three-axes
set(format tf32)
set(maps input_layout=channels_last in_channel_multiple=4)
set(tile512x64 ${maps} columns=256 row_sets=1 column_sets=2 boxes=3 chunk_channels=16 producer=true)
conv_transpose_maps(forward ncdhw maps_512x64_w3 ${tile512x64} stages=4 window=3 H200_TFLOPS 375)
conv_transpose_maps(forward ncdhw maps_512x64_w5 ${tile512x64} stages=4 window=5 H200_TFLOPS 450)
conv_transpose_maps(forward ncdhw maps_512x64_w7 ${tile512x64} stages=3 window=7 H200_TFLOPS 400)
# Phases as channels, of an even stride along the width: U-Nets' k2 s2 0.133 in place of 0.153 ms. The rate is that of short sums.
conv_transpose_maps(forward ncdhw maps_pairs_256x64 ${maps} phases_as_channels=true neighbours=2 min_out_channels=1 columns=128
    row_sets=1 column_sets=2 chunk_channels=32 stages=2 blocks=2 H200_TFLOPS 130)

# Phases along the width as channels, of cells of several inputs where output channels are few (choice/input_cells.h): pairs and
# fours are neighbours in the output. Two blocks of 256 x 64 overlap their stores. KernelBench 58 takes 0.509 ms in TF32 by three
# taps in place of 0.881 by windows of seven (H200, 2026-11-22).
foreach(format tf32 ${formats_of_16_bits})
    conv_transpose_small_set_has(f16 tf32)
    conv_transpose_chunks()
    # Those of pairs since phases of odd paddings are some: 143 layers of even strides, 2026-11-30.
    conv_transpose_rates(pairs_w2 900 395 pairs_w3 1000 430 fours_w2 875 410 of_rows_w2 750 292 of_rows_w3 850 342)
    set(cells input_layout=channels_last in_channel_multiple=${values} min_in_channels=4 min_out_channels=1 phases_as_channels=true
        phases_along_width=true ${half_chunk} boxes=2 stages=3 blocks=2 ${maybe})
    set(positions256 ${cells} columns=128 row_sets=1 column_sets=2)
    conv_transpose_maps(forward ncdhw maps_cells_pairs_256x64_w2 ${positions256} neighbours=2 window=2 ${ratepairs_w2})
    conv_transpose_maps(forward ncdhw maps_cells_pairs_256x64_w3 ${positions256} neighbours=2 window=3 ${ratepairs_w3})
    conv_transpose_maps(forward ncdhw maps_cells_fours_256x64_w2 ${positions256} neighbours=4 window=2 ${ratefours_w2})
    set(rows ${cells} channels_last_output=true out_channel_multiple=${values} neighbours=${values} tile_rows=128 columns=64)
    conv_transpose_maps(forward ndhwc maps_cells_256x64_w2 ${rows} window=2 ${rateof_rows_w2})
    conv_transpose_small_set_has(f16)
    conv_transpose_maps(forward ndhwc maps_cells_256x64_w3 ${rows} window=3 ${rateof_rows_w3} ${maybe})
endforeach()

# Windows of 16 bits are faster: KernelBench 68 takes 2.58 ms in place of 7.68 (in channels_last 2.11 in place of 3.54).
# With three taps cells are faster. Rates of five taps, and of three above, since divisions are products: 58 drawn layers (H200,
# 2026-11-29). Behind them come outputs in channels_last of any number of channels, which lanes
# store one by one.
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(maps input_layout=channels_last in_channel_multiple=8 ${maybe})
    set(tile512x64 ${maps} columns=256 row_sets=1 column_sets=2 boxes=3 chunk_channels=32 stages=3 producer=true)
    set(tile256x64 ${maps} channels_last_output=true out_channel_multiple=8 tile_rows=128 columns=64 boxes=2 chunk_channels=32
        stages=2 blocks=2)
    conv_transpose_maps(forward ncdhw maps_512x64_w5 ${tile512x64} window=5 H200_TFLOPS 740)
    conv_transpose_maps(forward ncdhw maps_512x64_w7 ${tile512x64} window=7 H200_TFLOPS 800 ${maybe})
    conv_transpose_maps(forward ndhwc maps_256x64_w5 ${tile256x64} window=5 H200_TFLOPS 780)
    conv_transpose_maps(forward ndhwc maps_256x64_w7 ${tile256x64} window=7 FULL H200_TFLOPS 800)
    conv_transpose_maps(forward ndhwc maps_sub_pixel_any_128x64 ${maps} channels_last_output=true phases_as_channels=true
        min_out_channels=1 whole_rows=false columns=64 chunk_channels=64 stages=3 blocks=3 H200_TFLOPS 345)
endforeach()

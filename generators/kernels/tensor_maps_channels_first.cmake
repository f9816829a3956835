# Pictures in channels_first by tensor maps, on Hopper, packed or as they lie, and parts of sums, which serve every layout; what was
# tried: docs/tensor-core-experiments.md#tensor-maps

# Pictures in channels_first, packed as rows of their channels before (Computation::packed_rows), and outputs in
# channels_first: rows of a tile are channels, whose positions are neighbours. Names tell positions x channels.
foreach(format ${formats_of_16_bits} tf32)
    conv_transpose_chunks()
    conv_transpose_rates(256x128 760 340 256x64 420 212 of_parts 695 .)
    set(maps input_layout=channels_last in_channel_multiple=${values})
    set(tile256x128 ${maps} columns=256 ${chunk} stages=4 blocks=1 producer=true)
    set(tile256x64 ${maps} columns=128 row_sets=1 column_sets=2 ${chunk} stages=2 blocks=2)
    conv_transpose_small_set_has(f16 tf32)
    conv_transpose_maps(forward nchw maps_256x128 ${tile256x128} min_out_channels=65 ${rate256x128} ${maybe})
    conv_transpose_maps(forward nchw maps_256x64 ${tile256x64} ${rate256x64})
    if(NOT format STREQUAL tf32)  # of which every kernel makes parts
        conv_transpose_small_set_has(f16)
        conv_transpose_maps(forward nchw maps_parts_256x128 ${tile256x128} makes_parts=true min_out_channels=65 ${rateof_parts}
            ${maybe})
    endif()
    conv_transpose_small_set_has(f16 tf32)
    conv_transpose_maps(forward ncdhw maps_256x128 ${tile256x128} min_out_channels=65 ${rate256x128} FULL)
    conv_transpose_maps(forward ncdhw maps_256x64 ${tile256x64} ${rate256x64} ${maybe})
endforeach()

foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(maps input_layout=channels_last in_channel_multiple=8 columns=128 row_sets=1 column_sets=2 chunk_channels=32 blocks=2
        boxes=2)
    conv_transpose_maps(forward nchw maps_256x64_w3 ${maps} stages=3 window=3 H200_TFLOPS 700 ${maybe})
    conv_transpose_maps(forward nchw maps_256x64_w7 ${maps} stages=2 window=7 H200_TFLOPS 560 FULL)
    conv_transpose_maps(forward ncdhw maps_256x64_w3 ${maps} stages=3 window=3 H200_TFLOPS 700 FULL)
endforeach()

# Pictures in channels_first as they lie: boxes of 64 positions x 64 channels, which tensor cores take with positions innermost, so
# nothing is packed. The copy engine takes them from multiples of 16 bytes, so that taps along the width are one, or eight inputs
# apart. Kernels as large as their strides read an image as one row, and weights as they are given: k2 s2, N8 128 to 64 256x256
# 0.122 ms (0.324 packed).
foreach(format ${formats_of_16_bits} tf32)
    conv_transpose_chunks()
    conv_transpose_small_set_has(f16)
    set(as_it_lies input_layout=channels_first ${chunk} columns=128)
    set(further_tiles ${as_it_lies} row_sets=1 column_sets=2 stages=4 blocks=1 producer=true resident_blocks=132)
    set(tile256x128 ${further_tiles} tile_rows=128)
    set(tile256x64 ${further_tiles})
    # These read weights as they are given, also for few blocks (192->192, 2 of 10x10x10, 0.0042 ms, 0.0051 by 256 x 64); where
    # blocks are many 256 x 64 is faster.
    set(tiles128x64 ${as_it_lies} row_sets=1 stages=3 blocks=2 producer=true producer_registers=24 resident_blocks=264)
    set(weight_maps weight_map=true out_channel_multiple=${values})
    # Input gradients of kernels of one position: 1x1, 2048->512, 4 of 32x32, 0.0174 ms, with packed weights 0.0251.
    set(weight_rows weight_map=true weight_rows=true min_out_channels=1 in_channel_multiple=${values})
    # Few blocks, whose sums are cut.
    set(clusters128x64 ${as_it_lies} row_sets=1 stages=6 blocks=1 producer=true in_clusters=true one_position=true)
    # In rounds blocks of channels read the same positions at a time: 384->384, 4 of 16x48x48, 0.0887 ms in place of 0.0984.
    # Operands of 32 bits whose rows lie transposed, too, are multiplied by mma.sync; in TF32 256 x 64 and 128 x 128 are never much
    # faster than the better of these.
    if(format STREQUAL tf32)
        set(tile256x128 ${tile256x128} tiles_in_rounds=true min_out_channels=65)
        conv_transpose_maps(forward nchw as_it_lies_256x128 ${tile256x128} H200_TFLOPS 260 FULL)
        conv_transpose_maps(forward nchw as_it_lies_weight_maps_256x128 ${tile256x128} ${weight_maps} H200_TFLOPS 190 FULL)
        conv_transpose_maps(forward nchw as_it_lies_weight_rows_256x128 ${tile256x128} ${weight_rows} min_out_channels=65
            H200_TFLOPS 380)
        conv_transpose_maps(forward nchw as_it_lies_weight_maps_128x64 ${tiles128x64} ${weight_maps} H200_TFLOPS 156)
        conv_transpose_maps(forward nchw as_it_lies_weight_rows_128x64 ${tiles128x64} ${weight_rows} H200_TFLOPS 242 FULL)
        conv_transpose_maps(forward nchw as_it_lies_weight_maps_clusters_128x64 ${clusters128x64} ${weight_maps} H200_TFLOPS 156)
        conv_transpose_maps(forward nchw as_it_lies_weight_rows_clusters_128x64 ${clusters128x64} ${weight_rows} H200_TFLOPS 242)
        # With the weights of up to 128 channels kept: 1x1, N4 64 to 128 248x216 47.8 us in place of 49.9, its input gradient 45.1
        # (53.2; H200, 2026-11-28).
        set(kept256x64 ${tile256x64} tiles_in_rounds=true kept_steps=4 H200_TFLOPS 200)
        conv_transpose_maps(forward nchw as_it_lies_weight_maps_kept_256x64 ${kept256x64} ${weight_maps} min_out_channels=1)
        conv_transpose_maps(forward nchw as_it_lies_weight_rows_kept_256x64 ${kept256x64} ${weight_rows})
        continue()
    endif()
    set(tiles128x64 ${tiles128x64} H200_TFLOPS 520)
    set(tiles256x64 ${tile256x64} H200_TFLOPS 600)
    set(tiles256x128 ${tile256x128} tiles_in_rounds=true H200_TFLOPS 680)
    set(tile128x64 ${as_it_lies} row_sets=1 whole_rows=false stages=2 blocks=4 H200_TFLOPS 470)
    conv_transpose_rates(256x128 503 0 256x64 400 0)
    foreach(tile 256x128 256x64)
        conv_transpose_maps(forward nchw as_it_lies_${tile} ${tile${tile}} min_out_channels=1 ${rate${tile}} ${maybe})
    endforeach()
    # With the weights of up to 512 channels kept: 1x1, 512 to 64, 32 of 36x60 25.8 us in place of 29.1, input gradient, 48 from
    # 24, 8 of 32^3 14.3 (15.1; H200, 2026-11-28).
    set(kept256x64 ${tile256x64} tiles_in_rounds=true kept_steps=8 H200_TFLOPS 650 ${maybe})
    conv_transpose_maps(forward nchw as_it_lies_weight_maps_kept_256x64 ${kept256x64} ${weight_maps})
    conv_transpose_maps(forward nchw as_it_lies_weight_rows_kept_256x64 ${kept256x64} ${weight_rows})
    foreach(tile 256x128 256x64 128x64)
        conv_transpose_maps(forward nchw as_it_lies_weight_maps_${tile} ${tiles${tile}} ${weight_maps} ${maybe})
        conv_transpose_maps(forward nchw as_it_lies_weight_rows_${tile} ${tiles${tile}} ${weight_rows} ${maybe})
    endforeach()
    conv_transpose_maps(forward nchw as_it_lies_weight_maps_clusters_128x64 ${clusters128x64} ${weight_maps} H200_TFLOPS 500
        ${maybe})
    conv_transpose_maps(forward nchw as_it_lies_weight_rows_clusters_128x64 ${clusters128x64} ${weight_rows} H200_TFLOPS 500
        ${maybe})
    # Input gradients of kernels as large as their strides, two along the width, whose words tensor cores take from registers (k2
    # s2, 128 to 64, 8 of 256x256: 0.104 ms, 0.277 packed). With 2048 products a sum of few positions what is packed is faster.
    set(pairs in_pairs=true weight_map=true chunk_channels=32 min_out_channels=1)
    set(rates_of_pairs nchw 690 ncdhw 600)
    cmake_parse_arguments(TFLOPS "" "nchw;ncdhw" "" ${rates_of_pairs})
    foreach(layout nchw ncdhw)
        conv_transpose_maps(input_gradient ${layout} as_it_lies_in_pairs_256x128 ${tile256x128} ${pairs} tiles_in_rounds=true
            H200_TFLOPS ${TFLOPS_${layout}} ${maybe})
        conv_transpose_maps(input_gradient ${layout} as_it_lies_in_pairs_128x64 ${tiles128x64} ${pairs} H200_TFLOPS 380 ${maybe})
    endforeach()
    conv_transpose_maps(forward ncdhw as_it_lies_256x128 ${tile256x128} ${rate256x128} FULL)
    conv_transpose_rates(256x128 717 0 256x64 680 0)
    set(phases phases_as_channels=true weight_map=true min_out_channels=8)
    conv_transpose_maps(forward nchw as_it_lies_whole_pairs_256x128 ${tile256x128} ${phases} neighbours=2 ${rate256x128} ${maybe})
    conv_transpose_maps(forward nchw as_it_lies_whole_pairs_256x64 ${tile256x64} ${phases} neighbours=2 ${rate256x64} ${maybe})
    # With the weights of up to 256 channels kept: k2 s2, N8 128 to 64 256x256 0.112 ms in place of 0.119, 84 % of the memory's
    # bandwidth; 256 to 64, N64 64x64 0.082 (0.090). Of 128 channels a tile nothing is gained (H200, 2026-11-28).
    conv_transpose_maps(forward nchw as_it_lies_whole_pairs_kept_256x64 ${tile256x64} ${phases} neighbours=2 tiles_in_rounds=true
        kept_steps=4 H200_TFLOPS 700 ${maybe})
    conv_transpose_maps(forward nchw as_it_lies_pairs_128x64 ${tile128x64} ${phases} neighbours=2 ${maybe})
    conv_transpose_maps(forward nchw as_it_lies_fours_128x64 ${tile128x64} ${phases} neighbours=4 ${maybe})
    conv_transpose_maps(forward ncdhw as_it_lies_pairs_128x64 ${tile128x64} ${phases} neighbours=2 ${maybe})
endforeach()

# Likewise of three taps along the width, which are rows of the product: sums of each are moved by a position and added at last.
# Runs of 128 positions store 120 (k3 p1, 64 to 64 channels, 16 of 112x112, float16: 0.0397 ms, packed 0.0563); rows of 240 or 256
# leave a run half empty.
foreach(format ${formats_of_16_bits} tf32)
    conv_transpose_chunks()
    conv_transpose_small_set_has(f16 tf32)
    set(row_taps input_layout=channels_first row_taps=3 columns=128 row_sets=1 column_sets=2 ${half_chunk} stages=6 blocks=1
        producer=true producer_registers=24 resident_blocks=132 tiles_in_rounds=true whole_rows=false)
    conv_transpose_rates(nchw 900 355 ncdhw 770 285)
    conv_transpose_maps(forward nchw as_it_lies_t3_256x64 ${row_taps} ${ratenchw} ${maybe})
    # Of up to 32 channels: KernelBench 71 0.552 ms in TF32 (by 64 channels 0.659). Three runs beside each other hide more of what
    # is behind the loop than two, or two blocks of one.
    conv_transpose_rates(32 600 240)
    set(of_32_channels ${row_taps} tile_rows=32 column_sets=3 stages=5)
    conv_transpose_maps(forward nchw as_it_lies_t3_384x32 ${of_32_channels} ${rate32} ${maybe})
    # Of up to 64 channels that are summed over by three rows of taps a block keeps all weights: KernelBench 57 1.353 ms in float16
    # (1.422), 71 0.262 (0.307; H200, 2026-11-28). In TF32 there is room for those of 32 channels alone, and nothing is gained.
    if(NOT format STREQUAL tf32)
        conv_transpose_maps(forward nchw as_it_lies_t3_kept_256x64 ${row_taps} kept_steps=6 H200_TFLOPS 960 ${maybe})
        conv_transpose_maps(forward nchw as_it_lies_t3_kept_384x32 ${of_32_channels} kept_steps=6 H200_TFLOPS 800 ${maybe})
    endif()
    conv_transpose_maps(forward ncdhw as_it_lies_t3_256x64 ${row_taps} ${ratencdhw} FULL)  # faster by 4 % at most, by estimate
endforeach()

# Their phases as channels: of a stride along the width that is a multiple of two (pairs), or four, neighbours in the output
# are rows of a tile. 256 x 128 is slower (k2 s2, 256 to 64 channels: 0.270 ms in place of 0.240), and TF32 has faster kernels.
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(maps input_layout=channels_last in_channel_multiple=8 phases_as_channels=true min_out_channels=1 chunk_channels=64
        columns=128 row_sets=1 column_sets=2 stages=2 blocks=2)
    conv_transpose_maps(forward nchw maps_pairs_256x64 ${maps} neighbours=2 H200_TFLOPS 420 ${maybe})
    conv_transpose_maps(forward nchw maps_fours_256x64 ${maps} neighbours=4 H200_TFLOPS 420 ${maybe})
    conv_transpose_maps(forward ncdhw maps_pairs_256x64 ${maps} neighbours=2 H200_TFLOPS 390 ${maybe})
endforeach()

# Long sums of few tiles, whose parts are shares of the steps, taps as well as channels, and lie in channels_last whatever the
# output does. So one kernel of three axes serves every layout, rank and number of channels: 112 to 21 channels, 6x12x12 k3 0.0173
# ms in place of 0.0423 (float16).
foreach(format ${formats_of_16_bits} tf32)
    conv_transpose_small_set_has(f16 tf32)
    conv_transpose_chunks()
    conv_transpose_rates(128x64 560 230)
    set(tile128x64 input_layout=channels_last channels_last_output=true in_channel_multiple=${values} min_in_channels=1
        min_out_channels=1 makes_parts=true ${chunk} columns=64 stages=4 blocks=2 producer=true producer_registers=24 ${rate128x64}
        ${maybe})
    conv_transpose_maps(forward ndhwc maps_parts_128x64 ${tile128x64})
    conv_transpose_maps(forward ndhwc maps_sub_pixel_parts_128x64 ${tile128x64} whole_rows=false phases_as_channels=true)
endforeach()

# Input gradients of output gradients in channels_first, packed likewise.
foreach(format ${formats_of_16_bits} tf32)
    conv_transpose_chunks()
    conv_transpose_small_set_has(f16 tf32)
    # Rates were fitted to 111 layers in TF32 and 98 in float16 (H200, 2026-11-28).
    conv_transpose_rates(256x128 720 440 128x128 425 320 256x64 510 330 128x64 480 300 _of_given256x128 800 468
        _of_given128x64 540 333 _of_given_parts 530 315)
    set(maps input_layout=channels_last out_channel_multiple=${values})
    set(tile256x128 ${maps} columns=256 ${chunk} stages=4 blocks=1 producer=true min_in_channels=65)
    set(tile128x64 ${maps} columns=128 row_sets=1 ${chunk} stages=4 blocks=2 producer=true producer_registers=24)
    set(positions256 columns=128 row_sets=1 column_sets=2)
    conv_transpose_maps(input_gradient nchw maps_256x128 ${tile256x128} ${rate256x128} ${maybe})
    conv_transpose_maps(input_gradient nchw maps_128x128 ${maps} columns=128 ${half_chunk} stages=6 blocks=2 min_in_channels=65
        ${rate128x128} FULL)
    conv_transpose_maps(input_gradient nchw maps_256x64 ${maps} ${positions256} ${chunk} stages=2 blocks=2 ${rate256x64} FULL)
    conv_transpose_maps(input_gradient nchw maps_128x64 ${tile128x64} ${rate128x64} ${maybe})
    # Weights as they are given, of kernels of one position: others are, when their taps are channels (Computation::by_taps).
    conv_transpose_maps(input_gradient nchw weight_maps_256x128 ${tile256x128} weight_map=true ${rate_of_given256x128} ${maybe})
    conv_transpose_maps(input_gradient nchw weight_maps_256x64 ${maps} weight_map=true ${positions256} ${chunk} stages=2 blocks=2
        ${rate256x64} FULL)
    conv_transpose_maps(input_gradient nchw weight_maps_128x64 ${tile128x64} weight_map=true ${rate_of_given128x64} ${maybe})
    conv_transpose_maps(input_gradient nchw weight_maps_clusters_128x64 ${maps} weight_map=true columns=128 row_sets=1 ${chunk}
        stages=6 blocks=1 producer=true in_clusters=true ${rate_of_given_parts} ${maybe})
    if(NOT format STREQUAL tf32)
        conv_transpose_maps(input_gradient nchw weight_maps_128x128 ${maps} weight_map=true columns=128 ${chunk} stages=6 blocks=1
            producer=true min_in_channels=65 H200_TFLOPS 630 ${maybe})
        conv_transpose_maps(input_gradient nchw weight_maps_parts_128x64 ${tile128x64} weight_map=true makes_parts=true
            ${rate_of_given_parts} ${maybe})
    endif()
    # Large volumes gain by 256 x 64: k3 s3, 288 to 288 of 20^3, takes 0.179 ms in place of 0.229. 128 x 128 does not: its packed
    # weights are 32 copies a step.
    conv_transpose_maps(input_gradient ncdhw maps_256x64 ${maps} ${positions256} ${half_chunk} stages=5 blocks=2 ${rate256x64}
        ${maybe})
    conv_transpose_maps(input_gradient ncdhw maps_128x64 ${tile128x64} ${rate128x64} ${maybe})
endforeach()

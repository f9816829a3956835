# Pictures in channels_last that the copy engine reads by tensor maps, on Hopper: products of any attributes. Names tell
# tiles, positions x channels, and the taps of a window. Rates of full blocks beside what a block takes before and behind its
# loop (estimated_time.cpp): H200, 2026-11-22, medians of 28 layers in float16; bfloat16 is taken to have float16's, three
# axes those of two. TF32's of 256 x 64, and those of sub-pixels of 256 x 128: 58 drawn layers, 2026-11-29.
#
# One block of 256 x 128 has a producer. Forward it goes through many tiles, the next on its way while one is stored, which
# short sums need: U-Net's k2 s2 0.124 ms in place of 0.190. Two blocks of 128 x 128 overlap each other's stores, and fill the
# last round better. Chunks of half a row leave 256 x 64 five stages in place of two. What was tried:
# docs/tensor-core-experiments.md#tensor-maps
foreach(format ${formats_of_16_bits} tf32)
    conv_transpose_chunks()
    # Of TF32 the small set has what 159 layers of networks were fastest by (H200, 2026-12-01).
    conv_transpose_small_set_has(tf32)
    set(tf32_alone "${maybe}")
    conv_transpose_small_set_has(f16 tf32)
    set(maybe_tf32 "${maybe}")
    conv_transpose_small_set_has(f16)
    set(further_tiles resident_blocks=132)
    set(in_rounds ${further_tiles} tiles_in_rounds=true)
    set(of_two_axes ${further_tiles})
    if(format STREQUAL tf32)
        set(of_two_axes ${in_rounds})
        set(further_tiles "")
    endif()
    set(tile256x128 tile_rows=128 columns=128 ${chunk} stages=4 blocks=1 producer=true)
    set(tile128x128 columns=128 ${chunk} stages=3 blocks=2)
    set(tile256x64 tile_rows=128 columns=64 ${half_chunk} stages=5 blocks=2)
    set(tile128x64 columns=64 ${chunk} stages=3 blocks=3)
    conv_transpose_rates(256x128 717 380 128x128 546 300 256x64 566 246 128x64 505 278)
    set(channels_last input_layout=channels_last channels_last_output=true in_channel_multiple=${values})
    foreach(operation forward input_gradient)
        set(in_small_set ${maybe_tf32})
        if(operation STREQUAL input_gradient)
            set(in_small_set FULL)
            set(of_two_axes "")
            set(further_tiles "")
            conv_transpose_rates(256x128 717 400 256x64 566 258 128x64 505 285)
        endif()
        set(maps ${channels_last} out_channel_multiple=${values})
        conv_transpose_maps(${operation} nhwc maps_256x128 ${maps} ${tile256x128} ${rate256x128} ${of_two_axes} ${in_small_set})
        conv_transpose_maps(${operation} nhwc maps_128x128 ${maps} ${tile128x128} ${rate128x128} FULL)
        conv_transpose_maps(${operation} nhwc maps_256x64 ${maps} ${tile256x64} ${rate256x64})
        conv_transpose_maps(${operation} nhwc maps_128x64 ${maps} ${tile128x64} ${rate128x64} ${maybe_tf32})
        conv_transpose_maps(${operation} ndhwc maps_256x128 ${maps} ${tile256x128} ${rate256x128} ${further_tiles} ${tf32_alone})
        conv_transpose_maps(${operation} ndhwc maps_256x64 ${maps} ${tile256x64} ${rate256x64} ${maybe})
    endforeach()
    # Phases as channels: the picture is read once for all phases, and a tile has the channels of several. Rounds bring 5 to 10 %
    # (k2 s2, 128->128 768x768: 0.215 ms in place of 0.237), which they do not above.
    set(maps ${channels_last} phases_as_channels=true neighbours=${values} min_out_channels=1)
    conv_transpose_rates(256x128 690 370 128x128 655 295 256x64 566 300 128x64 546 303)
    conv_transpose_maps(forward nhwc maps_sub_pixel_256x128 ${maps} ${tile256x128} ${in_rounds} ${rate256x128} ${maybe_tf32})
    conv_transpose_maps(forward nhwc maps_sub_pixel_128x128 ${maps} ${tile128x128} ${rate128x128} FULL)
    conv_transpose_maps(forward nhwc maps_sub_pixel_256x64 ${maps} ${tile256x64} ${rate256x64} ${maybe})
    conv_transpose_maps(forward nhwc maps_sub_pixel_128x64 ${maps} ${tile128x64} ${rate128x64} ${maybe_tf32})
    conv_transpose_maps(forward ndhwc maps_sub_pixel_256x128 ${maps} ${tile256x128} ${in_rounds} ${rate256x128} ${maybe_tf32})
    conv_transpose_maps(forward ndhwc maps_sub_pixel_128x128 ${maps} ${tile128x128} ${rate128x128} FULL)
    conv_transpose_maps(forward ndhwc maps_sub_pixel_128x64 ${maps} ${tile128x64} ${rate128x64} ${maybe_tf32})
    # There is shared memory for all of a tile of 192 positions while it is stored, which pays for short sums: k2 s2, N8 128->64
    # 256x256, 0.119 ms in place of 0.127, 79 % of the memory's bandwidth, N16 96->96 56x56 21.8 us in place of 25.2, N64 256->64 64x64
    # 89 in place of 80 (H200, 2026-11-29).
    set(tile192x128 row_sets=3 columns=128 ${chunk} stages=4 blocks=1 producer=true ${in_rounds})
    conv_transpose_rates(192x128 620 350 128x64 . 300)
    conv_transpose_maps(forward nhwc maps_sub_pixel_192x128 ${maps} ${tile192x128} ${rate192x128} ${maybe_tf32})
    conv_transpose_maps(forward ndhwc maps_sub_pixel_192x128 ${maps} ${tile192x128} ${rate192x128} ${maybe})
    # In TF32 other forward kernels have such tiles, too: of 76 layers of networks what is fastest takes 0.96 of what it took
    # without rounds (H200, 2026-12-01).
    if(format STREQUAL tf32)
        set(tiles128x64 columns=64 ${chunk} stages=3 blocks=2 producer=true producer_registers=24 resident_blocks=264
            tiles_in_rounds=true)
        conv_transpose_maps(forward nhwc maps_sub_pixel_tiles_128x64 ${maps} ${tiles128x64} ${rate128x64})
        set(maps ${channels_last} out_channel_multiple=${values})
        conv_transpose_rates(192x128 . 345 128x64 . 290)
        conv_transpose_maps(forward nhwc maps_192x128 ${maps} ${tile192x128} ${rate192x128})
        conv_transpose_maps(forward nhwc maps_tiles_128x64 ${maps} ${tiles128x64} ${rate128x64})
    endif()
endforeach()

# These read weights as they are given. Their rates are of a shorter time beside the loop (choice/estimated_time.cpp). With few
# blocks one of 128 x 128 with six stages is fastest; 192 positions fill rounds that 256 leave empty, and 96 channels a tile
# leave nothing empty of 96, 288 or 384. Tiles go in rounds: through its own neighbours a block would read the output
# gradient anew for all channels but the first (256->256 384x384: 0.128 ms, 0.195).
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(maps weight_map=true input_layout=channels_last channels_last_output=true in_channel_multiple=8 out_channel_multiple=8)
    set(chunk chunk_channels=64)
    set(half_chunk chunk_channels=32)
    set(producer blocks=1 producer=true)
    set(in_rounds resident_blocks=132 tiles_in_rounds=true)
    set(tile128x128 columns=128 ${chunk} stages=6 ${producer} H200_TFLOPS 670)
    set(tile128x64 columns=64 ${chunk} stages=4 blocks=2 producer=true producer_registers=24)
    conv_transpose_maps(input_gradient nhwc weight_maps_256x128 ${maps} tile_rows=128 columns=128 ${chunk} stages=4 ${producer}
        ${in_rounds} H200_TFLOPS 820 ${maybe})
    conv_transpose_maps(input_gradient nhwc weight_maps_128x128 ${maps} ${tile128x128} ${maybe})
    conv_transpose_maps(input_gradient ndhwc weight_maps_128x128 ${maps} ${tile128x128} ${maybe})
    conv_transpose_maps(input_gradient ndhwc weight_maps_192x128 ${maps} row_sets=3 columns=128 ${chunk} stages=4 ${producer}
        ${in_rounds} H200_TFLOPS 735 ${maybe})
    conv_transpose_maps(input_gradient ndhwc weight_maps_128x192 ${maps} columns=192 ${chunk} stages=4 ${producer} ${in_rounds}
        H200_TFLOPS 800 ${maybe})
    conv_transpose_maps(input_gradient nhwc weight_maps_256x96 ${maps} tile_rows=128 columns=96 ${chunk} stages=4 ${producer}
        ${in_rounds} H200_TFLOPS 760 ${maybe})
    # With the weights of eight steps kept: k2 s2, N8 128 from 64 256x256 0.099 ms in place of 0.103, 95 % of the memory's
    # bandwidth; of 128 columns nothing is gained (H200, 2026-11-28).
    conv_transpose_maps(input_gradient ndhwc weight_maps_kept_256x64 ${maps} tile_rows=128 columns=64 ${chunk} stages=4 ${producer}
        ${in_rounds} kept_steps=8 H200_TFLOPS 625 ${maybe})
    # Sums over 32, 96, 160, ... channels have no chunk that is half empty (k4 s2, 192 from 96, 24^3, 50 us in place of 63). Of
    # 80 a row is no whole line, and nothing is gained.
    set(halves ${maps} out_channel_multiple=32 ${half_chunk} stages=8 ${producer} ${in_rounds})
    conv_transpose_maps(input_gradient ndhwc weight_maps_halves_128x192 ${halves} columns=192 H200_TFLOPS 700 ${maybe})
    conv_transpose_maps(input_gradient ndhwc weight_maps_halves_256x128 ${halves} tile_rows=128 columns=128 H200_TFLOPS 655
        ${maybe})
    conv_transpose_maps(input_gradient nhwc weight_maps_128x64 ${maps} ${tile128x64} H200_TFLOPS 550 ${maybe})
    # Few blocks, whose sums are cut.
    set(clusters128x64 ${maps} columns=64 ${chunk} stages=8 ${producer} in_clusters=true ${maybe})
    conv_transpose_maps(input_gradient nhwc weight_maps_1x1_clusters_128x64 ${clusters128x64} one_position=true H200_TFLOPS 450)
    conv_transpose_maps(input_gradient ndhwc weight_maps_clusters_128x64 ${clusters128x64} H200_TFLOPS 400)
    # Any number of channels that are computed, stored one by one (k4 s2, N8 770 to 128 24x32: 0.051 ms, by threads 0.086; 18 from
    # 96 channels of 24x48x80 1.4 ms with what taps see packed before; H200, 2026-11-29).
    set(any_channels ${maps} in_channel_multiple=1 whole_rows=false producer=true ${chunk} stages=4)
    set(any128x64 ${any_channels} columns=64 blocks=2 producer_registers=24 H200_TFLOPS 460 ${maybe})
    conv_transpose_maps(input_gradient nhwc weight_maps_any_128x64 ${any128x64})
    conv_transpose_maps(input_gradient ndhwc weight_maps_any_128x64 ${any128x64})
    conv_transpose_maps(input_gradient nhwc weight_maps_any_256x128 ${any_channels} tile_rows=128 columns=128 blocks=1
        H200_TFLOPS 800 ${maybe})
    # Parts have whole rows of 16 bytes, whatever the number of channels is.
    set(parts ${maps} in_channel_multiple=1 min_in_channels=1 makes_parts=true)
    conv_transpose_maps(input_gradient ndhwc weight_maps_parts_128x128 ${parts} ${tile128x128} H200_TFLOPS 580
        ${maybe})
    conv_transpose_maps(input_gradient ndhwc weight_maps_parts_128x64 ${parts} ${tile128x64} H200_TFLOPS 475 ${maybe})
    set(tiles128x128 columns=128 ${chunk} stages=6 ${producer} ${in_rounds} H200_TFLOPS 660 ${maybe})
    set(tiles128x64 columns=64 ${chunk} stages=3 blocks=2 producer=true producer_registers=24 resident_blocks=264
        tiles_in_rounds=true H200_TFLOPS 530 ${maybe})
    conv_transpose_maps(input_gradient nhwc weight_maps_tiles_128x64 ${maps} ${tiles128x64})
    conv_transpose_maps(input_gradient ndhwc weight_maps_tiles_128x128 ${maps} ${tiles128x128})
    conv_transpose_maps(input_gradient ndhwc weight_maps_tiles_128x64 ${maps} ${tiles128x64})
    # Half a row of channels a step, and so eight steps on the way, of few channels that are summed over: k2 s2, 32 to 16, 2 x 48^3,
    # 24.4 us, by 256 x 64 in two blocks 29.6.
    set(tiles256x64 tile_rows=128 columns=64 ${half_chunk} stages=8 ${producer} ${in_rounds})
    set(packed ${maps} weight_map=false ${tiles256x64})
    conv_transpose_maps(input_gradient nhwc maps_tiles_256x64 ${packed} FULL H200_TFLOPS 470)
    conv_transpose_maps(input_gradient ndhwc maps_tiles_256x64 ${packed} H200_TFLOPS 460 ${maybe})
    conv_transpose_maps(input_gradient ndhwc weight_maps_tiles_256x64 ${maps} ${tiles256x64} FULL H200_TFLOPS 430)
endforeach()

# The same in TF32, where a kernel of three axes serves two as well, in 1.00 to 1.01 of the time of one for two. Of 159 layers of
# networks what is fastest of all tiles takes 0.96 of what five took, and with rounds, of 76, 0.99 of that (H200, 2026-12-01).
set(format tf32)
set(maps weight_map=true input_layout=channels_last channels_last_output=true in_channel_multiple=4 out_channel_multiple=4)
set(chunk chunk_channels=32)
set(half_chunk chunk_channels=16)
set(producer blocks=1 producer=true)
set(tile256x64 tile_rows=128 columns=64)
conv_transpose_rates(256x128 . 440 192x128 . 428 128x192 . 428 128x128 . 400 128x64 . 230)
set(in_rounds resident_blocks=132 tiles_in_rounds=true)
conv_transpose_maps(input_gradient ndhwc weight_maps_256x128 ${maps} tile_rows=128 columns=128 ${chunk} stages=4 ${producer}
    ${in_rounds} ${rate256x128})
conv_transpose_maps(input_gradient ndhwc weight_maps_192x128 ${maps} row_sets=3 columns=128 ${chunk} stages=4 ${producer}
    ${in_rounds} ${rate192x128})
conv_transpose_maps(input_gradient ndhwc weight_maps_tiles_128x64 ${maps} columns=64 ${chunk} stages=3 blocks=2 producer=true
    producer_registers=24 resident_blocks=264 tiles_in_rounds=true H200_TFLOPS 290)
conv_transpose_maps(input_gradient ndhwc weight_maps_128x192 ${maps} columns=192 ${chunk} stages=5 ${producer} ${rate128x192})
# 65 to 96 and 257 to 288 channels leave less empty (k3, 80 from 64, 64 x 80x80, 158 us, 218 before; k3 s2, 288 from 144, 155 and
# 217).
conv_transpose_maps(input_gradient ndhwc weight_maps_256x96 ${maps} tile_rows=128 columns=96 ${chunk} stages=4 ${producer}
    ${in_rounds} H200_TFLOPS 430)
conv_transpose_maps(input_gradient ndhwc weight_maps_128x128 ${maps} columns=128 ${chunk} stages=6 ${producer} ${rate128x128})
# With the weights of four steps kept: k2 s2, 16 from 3 channels, 16 of 512x512, 288 us, 357 by packed weights.
conv_transpose_maps(input_gradient ndhwc weight_maps_kept_256x64 ${maps} ${tile256x64} ${chunk} stages=4 ${producer}
    ${in_rounds} kept_steps=4 H200_TFLOPS 300)
# Few channels that are summed over leave half of a step empty (k2 s2, 24 to 24, 184x184, 8.9 us, 9.7).
conv_transpose_maps(input_gradient ndhwc weight_maps_halves_256x128 ${maps} tile_rows=128 columns=128 ${half_chunk} stages=8
    ${producer} H200_TFLOPS 408)
conv_transpose_maps(input_gradient ndhwc weight_maps_halves_256x64 ${maps} ${tile256x64} ${half_chunk} stages=5 blocks=2
    H200_TFLOPS 300)
conv_transpose_maps(input_gradient ndhwc weight_maps_halves_128x64 ${maps} columns=64 ${half_chunk} stages=6 blocks=3
    H200_TFLOPS 262)
conv_transpose_maps(input_gradient ndhwc weight_maps_clusters_128x64 ${maps} columns=64 ${chunk} stages=8 ${producer}
    in_clusters=true ${rate128x64})
# Any number of channels that are computed: 1 of 136x240, 150 from 5 channels: 22 us, turned 30 (H200, 2026-11-29).
conv_transpose_maps(input_gradient ndhwc weight_maps_any_128x64 ${maps} in_channel_multiple=1 whole_rows=false ${chunk} stages=4
    columns=64 blocks=2 producer=true producer_registers=24 H200_TFLOPS 305)

# Weights as they are given, of the forward operation: runs of 64 channels, which tensor cores take transposed, so of 16 bits. 192
# channels a tile leave nothing empty where there are 144 to 192 or 576 (k3 s2, 320 to 160 of 24^3: 93 us in place of 119), and of
# 64 further tiles are for short sums (1x1, 64 to 32, 16 x 45x80: 8.3 us in place of 10.1).
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(maps weight_map=true input_layout=channels_last channels_last_output=true in_channel_multiple=8 out_channel_multiple=8
        chunk_channels=64)
    set(parts128x128 columns=128 stages=6 blocks=1 producer=true)
    set(parts128x64 columns=64 stages=4 blocks=2 producer=true producer_registers=24)
    set(in_rounds resident_blocks=132 tiles_in_rounds=true)
    set(tile256x128 tile_rows=128 columns=128 stages=4 blocks=1 producer=true ${in_rounds})
    set(tile192x128 row_sets=3 columns=128 stages=4 blocks=1 producer=true ${in_rounds})
    set(tile128x192 columns=192 stages=4 blocks=1 producer=true ${in_rounds})
    set(tile128x128 ${parts128x128} ${in_rounds})
    set(tile128x64 ${parts128x64})
    # With three axes the producer, which finds where boxes begin, is slower than products of 128 x 128.
    set(rates_of_nhwc 256x128 880 . 192x128 855 . 128x192 820 . 128x128 755 . 128x64 680 .)
    set(rates_of_ndhwc 256x128 790 . 192x128 800 . 128x192 750 . 128x128 580 . 128x64 620 .)
    foreach(layout nhwc ndhwc)
        conv_transpose_rates(${rates_of_${layout}})
        foreach(tile 256x128 192x128 128x192 128x128 128x64)
            conv_transpose_maps(forward ${layout} weight_maps_${tile} ${maps} ${tile${tile}} ${rate${tile}} ${maybe})
        endforeach()
    endforeach()
    conv_transpose_maps(forward nhwc weight_maps_tiles_128x64 ${maps} columns=64 stages=3 blocks=2 producer=true
        producer_registers=24 resident_blocks=264 tiles_in_rounds=true H200_TFLOPS 650 FULL)
    # Eight steps on the way, of few blocks: k4 s2, 1024 to 512, 8 x 6x8, 20.4 us, by 128 x 64 in four steps 23.7 (H200,
    # 2026-11-23).
    set(clusters128x64 ${maps} columns=64 stages=8 blocks=1 producer=true in_clusters=true H200_TFLOPS 570 ${maybe})
    conv_transpose_maps(forward ndhwc weight_maps_clusters_128x64 ${clusters128x64})
    # 1x1 of few positions: 112 to 112, 4 of 16x16, 2.5 us in place of 3.2, 384 to 384 of 5x10x12 3.7 (4.7); with the weights of up
    # to 512 channels kept, 160 to 160, 32 of 32x32 10.4 (12.1; H200, 2026-11-29). Of 128 columns little is gained.
    conv_transpose_maps(forward nhwc weight_maps_1x1_clusters_128x64 ${clusters128x64} one_position=true)
    conv_transpose_maps(forward nhwc weight_maps_1x1_128x64 ${maps} ${tile128x64} one_position=true H200_TFLOPS 680 ${maybe})
    conv_transpose_maps(forward nhwc weight_maps_1x1_kept_256x64 ${maps} tile_rows=128 columns=64 stages=4 blocks=1 producer=true
        ${in_rounds} kept_steps=8 one_position=true H200_TFLOPS 700 ${maybe})
    conv_transpose_maps(forward ndhwc weight_maps_parts_128x128 ${maps} makes_parts=true ${parts128x128} H200_TFLOPS 850 ${maybe})
    conv_transpose_maps(forward ndhwc weight_maps_parts_128x64 ${maps} makes_parts=true ${parts128x64} H200_TFLOPS 560 ${maybe})
endforeach()

# All taps of a window share a box, and one run of weights: of 64 channels k3 1.19 ms in place of 1.60, 3x7 0.548 in place of 0.842.
# Not in TF32 (0.847 in place of 0.826).
foreach(format ${formats_of_16_bits})
    conv_transpose_small_set_has(f16)
    set(maps input_layout=channels_last channels_last_output=true in_channel_multiple=8 out_channel_multiple=8 tile_rows=128
        columns=64 chunk_channels=32 boxes=2)
    set(further_tiles blocks=1 producer=true resident_blocks=132)
    conv_transpose_maps(forward nhwc maps_256x64_w3 ${maps} ${further_tiles} stages=6 window=3 H200_TFLOPS 870 ${maybe})
    conv_transpose_maps(forward nhwc maps_256x64_w7 ${maps} ${further_tiles} stages=4 window=7 H200_TFLOPS 880 ${maybe})
    # KernelBench 69 0.785 ms in place of 0.85; not windows of three (H200, 2026-11-28).
    conv_transpose_maps(forward nhwc maps_256x128_w5 ${maps} columns=128 ${further_tiles} stages=3 window=5 H200_TFLOPS 820
        ${maybe})
    # A block keeps its weights: KernelBench 57 1.05 ms in place of 1.17 (H200, 2026-11-28).
    conv_transpose_maps(forward nhwc maps_kept_256x64_w3 ${maps} ${further_tiles} tiles_in_rounds=true stages=6 window=3
        kept_steps=6 H200_TFLOPS 920 ${maybe})
    conv_transpose_maps(forward ndhwc maps_256x64_w3 ${maps} blocks=2 stages=3 window=3 H200_TFLOPS 800 FULL)
endforeach()

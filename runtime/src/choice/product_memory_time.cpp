// What implicit matrix products take to read and store: see product_memory_time.h.
#include "choice/product_memory_time.h"

#include <algorithm>
#include <numeric>

#include "algorithm/machine_facts.h"
#include "choice/block_overhead.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "choice/waves.h"

namespace conv_transpose {

namespace {

using machines::H200;

// Channels of an output gradient's pixel that are summed over, with those that fill it up where it is packed.
int64_t channels_of_pixel(const KernelTraits &k, const Computation &c) {
    return c.packed_rows ? packed_row_channels(k, c) : c.problem.out_channels / c.problem.groups;
}

// Whether neighbours of a row lie side by side, and channels apart.
bool reads_given_lines(const KernelTraits &k, const Computation &c) {
    return !k.packed_channels && !c.packed_rows && !channels_innermost(c.read_format);
}

// The second-level cache takes at least this for boxes of 16 bits whose rows, of channels, begin inside of its sectors:
// the copy engine reads all of a row, however few channels it has, and a sector more (k2, 80 from 40 channels, 512x512,
// in seven kernels: 3.4 to 3.7 TB/s; H200, 2026-11-22). Others come in less time than products take (k4 s2, 96 from
// 48). Pictures that are packed count where they have three axes (k5 s2, 192 from 24 channels, 32 x 6x12x12, by
// 256 x 64: 256 us, and so estimated), by the channels that they have then. Boxes of 64 bytes of float32 that lie a stride apart take
// 4.5 TB/s (k8 s4, 96 from 12 channels, 6 x 256x256, in five kernels: 809 to 1566 us, within 0.06; H200, 2026-12-01).
double split_sectors_time(const KernelTraits &k, const Computation &c) {
    constexpr int64_t sector = 32, half_a_line = 64;
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(k.output.type);
    const double bytes_per_second = bytes == 2 ? 3.6e12 : 4.5e12;
    const bool measured = k.operation == Operation::input_gradient && (channels_innermost(k.input) || k.rank == 3) &&
                          (bytes == 2 || (bytes * k.weight_in_channel_multiple == half_a_line && p.width().stride > 1));
    if (k.box_positions == 0 || !measured || channels_of_pixel(k, c) * bytes % sector == 0) return 0;
    const double rows = double(area(k.block_positions)) + (maps_weights(k) ? double(k.block_channels) : 0);
    const ProductBlocks work(k, p);
    return work.blocks * double(work.steps) * rows * double(bytes * k.weight_in_channel_multiple + sector) / bytes_per_second;
}

// The share of the output gradient that positions see on an axis: phases of the stride, of which the innermost axis reads sectors.
double share_of_axis(const Axis &a, int64_t element_bytes) {
    const int64_t phases = std::min(a.kernel, a.stride / std::gcd(a.stride, a.dilation));
    return std::min(double(phases * (32 / element_bytes)) / double(a.stride), 1.0);
}

// An input gradient takes at least this where kernels leave positions of the output gradient out: products are few then beside
// what is read (k3 s5 d2, 32 to 64 channels: 229 us, of products 118; k1 s2 of three axes: 79, 48; TF32, H200, 2026-11-24).
double seen_bytes_time(const KernelTraits &k, const Computation &c) {
    const bool measured = k.counts_through_images && k.box_positions == 0 && k.operation == Operation::input_gradient;
    if (!measured || !reads_given_lines(k, c)) return 0;
    constexpr double bytes_per_second = 3.2e12;
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(c.read_format.type);
    double share = 1;
    for (const Axis &a : p.axes) share *= share_of_axis(a, &a == &p.width() ? bytes : 32);
    const double elements = double(p.output_elements()) * share + double(p.input_elements());
    return share < 1 ? double(bytes) * elements / bytes_per_second : 0;
}

// An input gradient takes at least this where each element that is read is its own sector of the second-level cache, or a large part
// of one: five layers, 64 to 128 channels, strides of 4 to 10, take 7.4 to 8.4 TB/s (k16 s10, 120000: 520 us, of products 346;
// k8 s8, 8 of 64x64: 557, 311; TF32, H200, 2026-12-01), but where what the taps of all blocks of a multiprocessor see of a chunk stays
// in its first-level cache (k8 s4, 16 of 32000: 194 us in chunks of 16 channels, 282 of 32).
double strided_sectors_time(const KernelTraits &k, const Computation &c) {
    const bool measured = k.counts_through_images && k.box_positions == 0 && k.operation == Operation::input_gradient &&
                          !k.taps_as_channels;
    constexpr int64_t least_stride = 4, sector = 32, first_level_bytes = 128 << 10;
    constexpr double bytes_per_second = 8e12;
    const int64_t stride = c.problem.width().stride, bytes = bytes_of(c.read_format.type);
    if (!measured || stride < least_stride || !reads_given_lines(k, c)) return 0;
    const int64_t of_chunk = k.weight_in_channel_multiple * area(k.block_positions);
    if (of_chunk * stride * bytes * k.blocks_per_multiprocessor <= first_level_bytes) return 0;
    const ProductBlocks work(k, c.problem);
    return work.blocks * double(work.steps * of_chunk) * double(std::min(stride * bytes, sector)) / bytes_per_second;
}

// A product of few channels takes at least this where float32 are stored in channels_first while nothing else is done (1x1, 48 to
// 320 channels, 4 x 30000: 86 us with packing, 16 to 288, 2 x 384x384: 143; TF32, H200, 2026-11-27).
double stored_bytes_time(const KernelTraits &k, const Computation &c) {
    const bool measured = k.box_positions > 0 && k.resident_blocks == 0 && k.operation == Operation::forward &&
                          k.output.type == ElementType::float32 && !channels_innermost(k.output);
    constexpr double bytes_per_second = 2.6e12;
    return measured ? sizeof(float) * double(c.problem.input_elements() + c.problem.output_elements()) / bytes_per_second : 0;
}

// Boxes of half a line bring the other half to the second-level cache, which has lost it at the next chunk of channels where blocks
// go through more taps in between than it holds: an output gradient in channels_last is read twice from memory (k8 s8, 16 from 8
// channels, 64 x 64x64, 159 us, by whole lines 74 to 88; k4 s4, 24 from 12, 4 x 40^3, 280; but k2 s2, 64 from 32, 32 x 192x192,
// 118 at 3.9 TB/s; float16, H200, 2026-11-28).
double half_lines_time(const KernelTraits &k, const Computation &c) {
    constexpr int64_t line = 128;
    constexpr double held_bytes = 3e7, bytes_per_second = 3.4e12;
    const int64_t bytes = bytes_of(k.output.type), box = bytes * k.weight_in_channel_multiple;
    const bool measured = k.box_positions > 0 && k.operation == Operation::input_gradient && channels_innermost(k.input) &&
                          bytes == 2 && !c.packed_rows;
    if (!measured || box >= line || bytes * channels_of_pixel(k, c) <= box) return 0;
    const Problem &p = c.problem;
    const double blocks = double(H200::multiprocessors * k.blocks_per_multiprocessor);
    const double between = blocks * double(taps_of_phases(k, p)) * double(area(k.block_positions)) * double(line);
    const double seen = double(bytes) * double(p.output_elements()) * share_seen(p);
    return std::min(between, seen) > held_bytes ? 2 * seen / bytes_per_second : 0;
}

// Boxes of whole lines of output gradients that are large beside the second-level cache come from memory again for each tap, where
// those that their taps leave out lie between (k4 s2, 32 channels from 64 to 128, 103 to 270 MB, by tiles of 128 x 64 to 256 x 128:
// 3.6 to 4.4 TB/s; float16, channels_last, H200, 2026-12-01).
double strided_boxes_time(const KernelTraits &k, const Computation &c) {
    constexpr double held_bytes = 8e7, bytes_per_second = 4.3e12;
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(k.output.type), box = bytes * k.weight_in_channel_multiple;
    const bool measured = k.box_positions > 0 && maps_weights(k) && k.operation == Operation::input_gradient &&
                          channels_innermost(k.input) && bytes == 2 && !c.packed_rows && p.width().stride > 1;
    if (!measured || box < 128 || double(bytes) * double(p.output_elements()) * share_seen(p) < held_bytes) return 0;
    const ProductBlocks work(k, p);
    return work.blocks * double(work.steps) * double(area(k.block_positions)) * double(box) / bytes_per_second;
}

// Phases of a row fill lines of the second-level cache one after the other, which memory takes at least this long to merge once
// outputs are larger than that cache. Such phases have blocks of their own (k3 s2 d2, 32 to 64 channels, 16 x 131072, TF32: 1218
// us, by pairs of phases 715; k1 s2 of three axes, 64 to 32, 2 x 64^3: 742 and 365, float16 346 and 259), or are rows of tiles
// whose lanes do not pair them (k8 s4, 32 to 16, 4 x 500000: 636, by fours 377; k2 s3, 32 to 32, 4 x 256x256: 286; H200,
// 2026-11-28).
double merged_stores_time(const KernelTraits &k, const Computation &c) {
    constexpr double second_level_bytes = 40e6, of_blocks = 1e12, of_rows = 3.2e12;
    const Axis &x = c.problem.width();
    const bool in_blocks = channel_phases(k, c.problem, x) == 1, together = !in_blocks && is_forward_on_cuda_cores(k);
    const bool splits_lines = k.counts_through_images && k.operation == Operation::forward && !channels_innermost(k.output) &&
                              k.stride_width_multiple <= 1 && x.stride > 1 && !together;
    if (!splits_lines) return 0;
    const double bytes = double(bytes_of(k.output.type)) * double(c.problem.output_elements() / c.parts_in_groups());
    const double rate = in_blocks ? of_blocks : of_rows / double(x.stride);
    return std::max(bytes - second_level_bytes, 0.0) / rate;
}

}  // namespace

double least_moving_time(const KernelTraits &k, const Computation &c) {
    return std::max({split_sectors_time(k, c), seen_bytes_time(k, c), strided_sectors_time(k, c), stored_bytes_time(k, c),
                     half_lines_time(k, c), strided_boxes_time(k, c), merged_stores_time(k, c)});
}

// 1x1 of 16 bits in channels_last, forward (five layers of 48 to 88 MB by nine kernels, H200, 2026-11-29). Blocks of other channels
// read a picture again, unless at the same time (384 to 96 channels of 224x224, 21 us).
double pixels_time(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(k.output.type);
    const bool stores_pixels = k.box_positions > 0 && k.operation == Operation::forward && channels_innermost(k.output);
    const bool is_of_one_tap = taps(c.problem_without_cells()) == 1 && (!k.phases_as_channels || p.out_channels >= 64);
    if (!stores_pixels || !is_of_one_tap || bytes != 2 || c.packed_rows) return 0;
    const double tile = double(area(k.block_positions)) * double(k.block_channels);
    const bool in_rounds = k.resident_blocks > 0, is_large = tile >= 256 * 128;
    const double rate = !in_rounds && !maps_weights(k) ? 2.3e12 : is_large ? 2.8e12 : 3.3e12;
    const double times_read = !in_rounds && p.out_channels / p.groups > k.block_channels ? 1.4 : 1;
    const double read = times_read * double(p.input_elements()), written = double(p.output_elements() / c.parts_in_groups());
    return double(bytes) * (read + written) / rate;
}

// Float32 in TF32, by maps: input gradients of both layouts, and what is computed in channels_last (k2 s2, 64 from 32 channels of
// 64^3, 156 us, all of the memory's bandwidth; forty of 159 layers; H200, 2026-12-01).
double float_pictures_time(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const bool forward = k.operation == Operation::forward;
    if (forward && !channels_innermost(k.output)) return 0;
    const double read = forward ? double(p.input_elements()) : double(p.output_elements()) * share_seen(p);
    const double written = double((forward ? p.output_elements() : p.input_elements()) / c.parts_in_groups());
    return sizeof(float) * (read + written) / (forward ? 3.3e12 : k.kept_steps > 0 ? 4.1e12 : 3.85e12);
}

// Kernels whose products are few beside the pictures: 1x1 of pictures as they lie (ten times of three layers in float16, 26 of
// eight in TF32), and input gradients of 16 bits in channels_last (k2 s2, 49 times of six layers; H200, 2026-11-28). Those that keep
// their weights wait least.
double pictures_time(const KernelTraits &k, const Computation &c) {
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(k.output.type);
    const bool keeps = k.kept_steps > 0, of_one_tap = reads_as_it_lies(k) && taps(p) == 1 && !k.phases_as_channels;
    if (bytes == 4 && k.box_positions > 0 && !of_one_tap) return float_pictures_time(k, c);
    const bool of_gradient = k.box_positions > 0 && k.operation == Operation::input_gradient && channels_innermost(k.input) &&
                             bytes == 2 && !c.packed_rows;
    if (!(of_one_tap || of_gradient)) return pixels_time(k, c);
    const double tile = double(area(k.block_positions)) * double(k.block_channels);
    const double of_tile = tile >= 256 * 128 ? 3.3e12 : tile >= 256 * 64 ? 3.15e12 : 2.8e12;
    const double rate = of_one_tap ? (keeps ? 3.9e12 : of_tile) : keeps ? 4.15e12 : 3.85e12;
    return double(bytes) * double(p.input_elements() + p.output_elements() / c.parts_in_groups()) / rate;
}

// Pixels whose channels are no whole lines of 128 bytes touch two of them at every tap, of output gradients that are large beside
// the second-level cache: such kernels take 1.45 to 1.9 times as long as with whole lines (302 times of 30 layers of few channels,
// float16, channels_last, H100, 2026-11-28), on an H200 1.1 to 1.3 times (21 times). Tiles of 256 x 96 and more read least for
// their products: 1.05 to 1.1 times (k3 s2, 288 from 144 channels, 256x256, in both layouts; H200, 2026-11-28). Where TF32 reads
// weights so, too, 1.1 to 1.5 times, by tiles of 256 x 128 1.05 to 1.2, and of up to one line as well (44 layers, that day).
double split_lines_factor(const KernelTraits &k, const Computation &c) {
    constexpr int64_t line = 128;
    const double small = bytes_of(k.output.type) == 2 ? 1e7 : 2e6;
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(k.output.type), pixel = bytes * channels_of_pixel(k, c);
    const bool reads_pixels = k.box_positions > 0 && k.operation == Operation::input_gradient &&
                              (bytes == 2 || maps_weights(k)) && taps(p) > 1;
    const bool splits = reads_pixels && ((pixel % line != 0 && 2 * pixel > line) || (bytes == 4 && pixel <= line));
    const bool is_large = double(area(k.block_positions)) * double(k.block_channels) >= 256 * 96;
    return splits && double(bytes) * double(p.output_elements()) > small ? (is_large ? 1.1 : bytes == 2 ? 1.4 : 1.3) : 1;
}

// Threads that copy the channels of one group leave the rest of a pixel to the blocks of others, which read it from memory again:
// each 64 bytes take 33 ps (k4 s4, 16 groups of 14 from 7 channels, 64 x 20x20, 326 us, of which 218; k8 s8, 16 of 32 from 20, 8 x
// 20x40, 323 and 204; seven more of 17 to 44; float16, H200, 2026-11-28).
double other_groups_time(const KernelTraits &k, const Computation &c) {
    constexpr int64_t granule = 64;
    constexpr double second_level_bytes = 40e6, seconds_of_granule = 33e-12;
    const Problem &p = c.problem;
    if (!copies_taps(k) || p.groups == c.parts_in_groups()) return 0;
    const int64_t pixel = bytes_of(k.output.type) * channels_of_pixel(k, c);
    const double pixels = double(p.batch) * double(p.groups) * double(output_positions(p));
    return pixels * double(pixel) > second_level_bytes ? pixels * double(ceil_divide(pixel, granule)) * seconds_of_granule : 0;
}

// Outputs of one phase lie a stride apart. What an output takes of the second-level cache beyond 16 bytes is not in the overhead of
// blocks (1-D, stride 8: 37 us for 8 million outputs). Where kernels read tensor maps, two or four phases that are channels share
// it (k16 s8, 8 x 112 channels of 64x64 in TF32: 1.11 ms by two, 0.58 by four).
double scattered_stores_time(const KernelTraits &k, const Computation &c) {
    if (!k.counts_through_images || k.operation != Operation::forward || channels_innermost(k.output)) return 0;
    if (is_forward_on_cuda_cores(k) && k.phases_as_channels && k.window == 1) return 0;  // lanes have four phases
    const bool maps = k.box_positions > 0, shared = maps && k.phases_as_channels && k.stride_width_multiple > 1;
    const double bytes = maps && bytes_of(k.output.type) == 2 ? 2.5 : 4;
    const double apart = std::min(bytes * double(c.problem.width().stride), 32.0);
    const double outputs = double(c.problem.output_elements() / c.parts_in_groups());
    return outputs * std::max(apart - 16, 0.0) * (shared ? 1.3 / double(k.stride_width_multiple) : 1) /
           H200::second_level_bytes_per_second;
}

// Where a phase without taps has blocks of its own, nothing hides that single elements are stored (k1 s2 of three axes, 1024 to 448
// channels, 2 x 24^3: 368 and 387 us in float16, 626 and 662 in TF32, by pairs of phases 339 and 556; H200, 2026-11-28).
double bare_stores_time(const KernelTraits &k, const Computation &c) {
    constexpr double bytes_per_second = 2e12;
    const Problem &p = c.problem;
    const bool in_blocks = k.counts_through_images && k.operation == Operation::forward && !channels_innermost(k.output) &&
                           channel_phases(k, p, p.width()) == 1 && p.width().stride > 1;
    if (!in_blocks) return 0;
    const double with_taps = share_seen(p);
    const double bytes = double(bytes_of(k.output.type)) * double(p.output_elements() / c.parts_in_groups());
    return (1 - with_taps) * bytes / bytes_per_second;
}

// Float32 that the copy engine does not store, to images of a few positions in channels_first (k4 of 1x1, 512 and 1024 channels,
// 128 and 64 images: 29 to 36 us by two kernels, in channels_last 10 and 13; H200, 2026-12-01).
bool has_tiny_images(const KernelTraits &k, const Computation &c) {
    constexpr int64_t most = 16;
    return k.box_positions > 0 && k.output.type == ElementType::float32 && output_positions(c.problem) <= most;
}

// Tensor-core kernels store single elements where the stride is odd, which products hide in part (eight layers of strides of 3 and
// 5 in float16 and TF32, which took up to 1.5 times what was estimated; H200, 2026-11-28), and where phases that are channels are
// not known to be neighbours: of strides of 2 to 8 by threads that copy (104 times of 60 layers, TF32; H200, 2026-11-30).
double single_stores_time(const KernelTraits &k, const Computation &c) {
    const bool stores = k.counts_through_images && k.operation == Operation::forward && !channels_innermost(k.output) &&
                        !is_forward_on_cuda_cores(k);
    if (!stores) return 0;
    const double outputs = double(c.problem.output_elements() / c.parts_in_groups());
    if (has_tiny_images(k, c)) return 19e-12 * outputs;
    if (has_single_phases(c.problem_without_cells())) return (bytes_of(k.output.type) == 2 ? 0.9e-12 : 1.25e-12) * outputs;
    const bool unpaired = k.phases_as_channels && k.stride_width_multiple <= 1 && k.box_positions == 0;
    return unpaired && c.problem.width().stride > 1 ? 0.5e-12 * outputs + std::min(1.5e-12 * outputs, 6e-6) : 0;
}

// An input gradient reads pixels a stride apart, where neighbours in a row are no neighbouring channels: a warp's load of
// 32 positions takes as many lines of the first-level cache. Rates were measured at stride 2 (k20 s10, 256 to 128
// channels: 0.256 ms, of which 0.09 are this).
double strided_loads_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    if (!k.counts_through_images || k.operation != Operation::input_gradient || !reads_given_lines(k, c)) return 0;
    // Lanes that stage four taps each of eight positions see a fourth of the lines (k16 s16, 24 to 24: 0.46 ms, was 0.65).
    const double apart = double(std::min<int64_t>(c.problem.width().stride, 32)) / (k.taps_as_channels ? 4 : 1);
    const ProductBlocks work(k, c.problem);
    const double loads = work.blocks * double(work.steps) * double(k.weight_in_channel_multiple) *
                         double(area(k.block_positions)) / 32;
    return loads * std::max(apart - 2, 0.0) / (H200::loads_per_second * double(multiprocessors(machine)));
}

}  // namespace conv_transpose

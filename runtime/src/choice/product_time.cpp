// What implicit matrix products take: see product_time.h.
#include "choice/product_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "algorithm/machine_facts.h"
#include "choice/block_overhead.h"
#include "choice/kernel_properties.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

using machines::H200;

double blocks_of(const KernelTraits &k, const Problem &p) {
    if (k.counts_through_images) return ProductBlocks(k, p).blocks;
    const bool forward = k.operation == Operation::forward;
    const int64_t channels = (forward ? p.out_channels : p.in_channels) / p.groups;
    const Size2 tile = k.block_positions,
                picture = forward ? Size2{spanned_output(k, p, p.height()), spanned_output(k, p, p.width())}
                                  : plane_of(p, &Axis::input);
    const double tiles = double(ceil_divide(picture.height, tile.height)) * double(ceil_divide(picture.width, tile.width));
    return double(p.batch) * tiles * double(ceil_divide(channels, k.block_channels)) * double(p.groups);
}

// Outputs of one phase lie a stride apart. Beyond 16 bytes every one costs a transaction more of the
// second-level cache than the overhead of blocks has in it (1-D, stride 8: 37 us for 8 million outputs). Of tensor maps phases
// that are channels share it, two or four (k16 s8, 8 x 112 channels of 64x64 in TF32: 1.11 ms by two, 0.58 by four).
double scattered_stores_time(const KernelTraits &k, const Computation &c) {
    if (!k.counts_through_images || k.operation != Operation::forward || channels_innermost(k.output)) return 0;
    if (is_forward_on_cuda_cores(k) && k.phases_as_channels && k.window == 1) return 0;  // lanes have four phases
    const bool of_maps = k.box_positions > 0, shared = of_maps && k.phases_as_channels && k.stride_width_multiple > 1;
    const double element = of_maps && bytes_of(k.output.type) == 2 ? 2.5 : 4,
                 apart = std::min(element * static_cast<double>(c.problem.width().stride), 32.0),
                 outputs = static_cast<double>(c.problem.output_elements() / c.parts_in_groups());
    return outputs * std::max(apart - 16, 0.0) * (shared ? 1.3 / static_cast<double>(k.stride_width_multiple) : 1) /
           H200::second_level_bytes_per_second;
}

// Of odd strides tensor-core kernels store single elements; what of it products do not hide (eight layers of strides of 3 and 5 in
// float16 and TF32, which took up to 1.5 times what was estimated; H200, 2026-11-28).
double odd_stores_time(const KernelTraits &k, const Computation &c) {
    const bool single = k.counts_through_images && k.operation == Operation::forward && !channels_innermost(k.output) &&
                        !is_forward_on_cuda_cores(k) && has_single_phases(c.problem_without_cells());
    const double element = bytes_of(k.output.type) == 2 ? 0.9e-12 : 1.25e-12;
    return single ? element * double(c.problem.output_elements() / c.parts_in_groups()) : 0;
}

// Channels of an output gradient's pixel that are summed over, with those that fill it up where it is packed.
int64_t channels_of_pixel(const KernelTraits &k, const Computation &c) {
    return c.packed_rows ? packed_row_channels(k, c) : c.problem.out_channels / c.problem.groups;
}

// The second-level cache takes at least this for boxes of 16 bits whose rows, of channels, begin inside of its sectors:
// the copy engine reads all of a row, however few channels it has, and a sector more (k2, 80 from 40 channels, 512x512,
// in seven kernels: 3.4 to 3.7 TB/s; H200, 2026-11-22). Others come in less time than products take (k4 s2, 96 from
// 48). Pictures that are packed count where they have three axes (k5 s2, 192 from 24 channels, 32 x 6x12x12, by
// 256 x 64: 256 us, and so estimated), by the channels that they have then.
double split_sectors_time(const KernelTraits &k, const Computation &c) {
    constexpr int64_t sector = 32;
    constexpr double bytes_per_second = 3.6e12;
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(k.output.type);
    const bool measured = k.operation == Operation::input_gradient && (channels_innermost(k.input) || k.rank == 3);
    if (k.box_positions == 0 || !measured || bytes != 2 || channels_of_pixel(k, c) * bytes % sector == 0) return 0;
    const double rows = double(area(k.block_positions)) + (maps_weights(k) ? double(k.block_channels) : 0);
    const ProductBlocks work(k, p);
    return work.blocks * double(work.steps) * rows * double(bytes * k.weight_in_channel_multiple + sector) / bytes_per_second;
}

// Pixels whose channels are no whole lines of 128 bytes touch two of them at every tap, of output gradients that are large beside
// the second-level cache: such kernels take 1.45 to 1.9 times as long as with whole lines (302 times of 30 layers of few channels,
// float16, channels_last, H100, 2026-11-28), on an H200 1.1 to 1.3 times (21 times).
double split_lines(const KernelTraits &k, const Computation &c) {
    constexpr int64_t line = 128;
    constexpr double small = 1e7;
    const Problem &p = c.problem;
    const int64_t bytes = bytes_of(k.output.type), pixel = bytes * channels_of_pixel(k, c);
    const bool reads_pixels = k.box_positions > 0 && k.operation == Operation::input_gradient && bytes == 2 && taps(p) > 1;
    const bool splits = reads_pixels && pixel % line != 0 && 2 * pixel > line;
    return splits && double(bytes) * double(p.output_elements()) > small ? 1.4 : 1;
}

// Whether neighbours of a row lie side by side, and channels apart.
bool reads_given_lines(const KernelTraits &k, const Computation &c) {
    return !k.packed_channels && !c.packed_rows && !channels_innermost(c.read_format);
}

// What of the output gradient positions see on an axis: phases of the stride, on the innermost whole sectors.
double share_of_axis(const Axis &a, int64_t element_bytes) {
    const int64_t phases = std::min(a.kernel, a.stride / std::gcd(a.stride, a.dilation));
    return std::min(double(phases * (32 / element_bytes)) / double(a.stride), 1.0);
}

// At least this an input gradient takes where kernels leave positions of the output gradient out: products are few then beside
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

// At least this a product of few channels takes whose float32 are stored in channels_first while nothing else is done (1x1, 48 to
// 320 channels, 4 x 30000: 86 us with packing, 16 to 288, 2 x 384x384: 143; TF32, H200, 2026-11-27).
double stored_bytes_time(const KernelTraits &k, const Computation &c) {
    const bool measured = k.box_positions > 0 && k.resident_blocks == 0 && k.operation == Operation::forward &&
                          k.output.type == ElementType::float32 && !channels_innermost(k.output);
    constexpr double bytes_per_second = 2.6e12;
    return measured ? sizeof(float) * double(c.problem.input_elements() + c.problem.output_elements()) / bytes_per_second : 0;
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

// Taps that see a phase of an axis; the first phases have the most.
int64_t taps_of_phase(const Axis &a, int64_t phase) {
    const int64_t live = a.stride / std::gcd(a.stride, a.dilation);
    return phase < live ? ceil_divide(std::max<int64_t>(a.kernel - phase, 0), live) : 0;
}

// How long the longest blocks are, in averages of all: phases that have blocks of their own may differ in taps.
double longest_block(const KernelTraits &k, const Problem &p) {
    if (!k.counts_through_images || k.operation != Operation::forward) return 1;
    const auto of_phases = [&](const auto &count) {
        return double(product_of_axes(p, [&](const Axis &a) { return channel_phases(k, p, a) > 1 ? 1 : count(a); }));
    };
    return of_phases([](const Axis &a) { return taps_of_phase(a, 0); }) * of_phases([](const Axis &a) { return a.stride; }) /
           of_phases([](const Axis &a) { return a.kernel; });
}

// Input gradients of groups that are joined wait for lines of the output gradient that taps of large strides read anew: fourteen
// layers with strides of 2 to 8, in one axis and in two, in float16 and TF32 (H200, 2026-11-23).
double revisits(const Computation &c) {
    if (c.joined_groups == 1 || c.operation != Operation::input_gradient) return 1;
    return std::sqrt(std::sqrt(double(product_of_axes(c.problem, [](const Axis &a) { return a.stride; }))));
}

// Taps of the phases that have blocks of their own, the most first.
std::vector<int64_t> taps_of_each_phase(const KernelTraits &k, const Problem &p) {
    std::vector<int64_t> all{1};
    for (const Axis &a : p.axes) {
        if (channel_phases(k, p, a) > 1) continue;
        std::vector<int64_t> products;
        for (const int64_t others : all)
            for (int64_t phase = 0; phase < a.stride; phase++) products.push_back(others * taps_of_phase(a, phase));
        all = std::move(products);
    }
    std::sort(all.rbegin(), all.rend());
    return all;
}

// Blocks begin at once, the longest first. How long those of the first multiprocessor are, in averages of all.
std::vector<double> blocks_of_first(const KernelTraits &k, const Problem &p, double blocks, int64_t multiprocessors) {
    const std::vector<int64_t> taps = taps_of_each_phase(k, p);
    const double phases = double(taps.size()), all = std::max(std::accumulate(taps.begin(), taps.end(), 0.0), 1.0);
    std::vector<double> lengths;
    for (double block = 0; block < blocks; block += double(multiprocessors))
        lengths.push_back(double(taps[static_cast<std::size_t>(block / blocks * phases)]) * phases / all);
    return lengths;
}

// What they take together, where so many equal ones take `together` of a round.
template <class Together>
double longest_stay(const std::vector<double> &lengths, const Together &together) {
    double time = 0, before = 0;
    for (std::size_t left = lengths.size(); left > 0; left--) {
        time += (lengths[left - 1] - before) * together(double(left));
        before = lengths[left - 1];
    }
    return time;
}

}  // namespace

double products_of_element(const KernelTraits &k, const Problem &p) {
    const int64_t summed = summed_channels(k, p), chunk = k.weight_in_channel_multiple;
    const double products = double(taps_of_phases(k, p)) / block_phases(k, p) * round_up(summed, chunk);
    // Boxes of 128 bytes that are half empty come as slowly as two (k2 s2, 32 to 16 channels, 2 x 48^3: 0.046 ms), of packed
    // pictures those of three axes; smaller ones do not (k4 s2, 64 from 16, 544x960: 0.172 ms by 256 x 64, 2026-11-23).
    const bool measured = k.box_positions > 0 && (maps_weights(k) || k.rank == 3) && chunk * bytes_of(k.output.type) == 128;
    return products * (k.operation != Operation::forward && measured && 2 * summed <= chunk ? 2 : 1);
}

// The problem has a group for each part of a split sum, unless its steps are cut.
double product_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const double products = products_of_element(k, p);
    const double parts = c.parts_of_steps ? double(c.partial_sums) : 1, blocks = blocks_of(k, p) * parts;
    const double flop = 2.0 * double(area(k.block_positions)) * k.block_channels * products / parts;
    const int64_t multiprocessors = std::max(machine.multiprocessors, 1);
    const double slots = double(multiprocessors * k.blocks_per_multiprocessor);
    double rounds = std::floor(blocks / slots);
    if (const double rest = blocks - rounds * slots; rest > 0) {
        // Blocks with fewer neighbours on their multiprocessor are faster, but each alone does not fill it. Each of two
        // that the copy engine serves waits for its own copies: one alone is hardly faster (4 x 4, 2048 channels:
        // 104 us, 109 both). That is not so where weights, too, come in boxes (8 x 6, 2048 channels, by 128 x 64:
        // 53 us).
        const bool waits = k.box_positions > 0 && k.operation == Operation::forward && !maps_weights(k) &&
                           channels_innermost(k.output) && k.blocks_per_multiprocessor == 2;
        // On CUDA cores a block alone takes half as long as of others (twelve layers, H200, 2026-11-22), of input gradients less
        // (fitted to 256 times, 2026-11-23).
        const bool sorted = is_forward_on_cuda_cores(k), quick = sorted && k.window == 1;
        // Tiles beside others have fewer stages, for which one alone waits (k3 s3, 128 to 64, 4 x 8x10x8: 15 us by 40 of 128 x 64).
        const bool shallow = k.resident_blocks > 0 && k.blocks_per_multiprocessor > 1;
        // Of the largest blocks one alone takes longer (twelve layers, H200, 2026-11-28).
        constexpr double large = 128 * 128;
        const double of_gradient = double(area(k.block_positions)) * double(k.block_channels) >= large ? 0.5 : 0.15;
        const double alone = waits ? 0.8 : is_gradient_on_cuda_cores(k) ? of_gradient : quick ? 0.25 : shallow ? 0.5 : 0.4;
        const auto with_neighbours = [&](double of_multiprocessor) {
            return alone + (1 - alone) * of_multiprocessor / double(k.blocks_per_multiprocessor);
        };
        // Where the longest come first, shorter ones fill up what they leave, and the first multiprocessor has most of the only
        // round.
        const double last = with_neighbours(std::ceil(rest / multiprocessors));
        rounds += !sorted      ? longest_block(k, p) * last
                  : rounds > 0 ? last
                               : std::max(longest_stay(blocks_of_first(k, p, blocks, multiprocessors), with_neighbours), last);
    }
    // A round takes as long as on an H200: multiprocessors are equally fast, whatever their number is.
    const double round_flop = H200::multiprocessors * k.blocks_per_multiprocessor * flop;
    const double overhead = block_overhead(k, p, products);
    // Nothing hides such stores where blocks are few (k4 s2 p1, 64 to 32 channels, 32 x 94: 14 us of 12 blocks).
    const double bare = k.box_positions > 0 && blocks <= double(multiprocessors) && stores_at_odd_elements(k, p) ? overhead : 0;
    const double in_rounds = rounds * (round_flop / (k.h200_tflops * 1e12) * revisits(c) * split_lines(k, c) + overhead) + bare;
    const double least =
        std::max({split_sectors_time(k, c), seen_bytes_time(k, c), stored_bytes_time(k, c), merged_stores_time(k, c)});
    return std::max(in_rounds, least) + before_first_block(k) + scattered_stores_time(k, c) + odd_stores_time(k, c);
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
    return loads * std::max(apart - 2, 0.0) / (H200::loads_per_second * std::max(machine.multiprocessors, 1));
}

}  // namespace conv_transpose

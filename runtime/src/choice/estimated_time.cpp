// An estimate of time: see estimated_time.h.
#include "choice/estimated_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "algorithm/machine_facts.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/tensor_formats.h"
#include "choice/weight_gradient_time.h"
#include "choice/winograd_sizes.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

using machines::H200;

// The tensor that is computed, and its sum, of one group.
struct Work {
    Size2 picture;
    int64_t channels;
    double products;  // for an element, on average
    double longest = 1;  // block, in such averages: phases of their own blocks may differ in taps

    Work(const KernelTraits &k, const Problem &p) {
        const bool forward = k.operation == Operation::forward;
        const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups,
                      chunk = k.weight_in_channel_multiple;
        const int64_t summed = summed_channels(k, p);
        picture = forward ? Size2{spanned_output(k, p, p.height()), spanned_output(k, p, p.width())}
                          : plane_of(p, &Axis::input);
        channels = forward ? out : in;
        const int64_t phases = block_phases(k, p);
        products = double(taps_of_phases(k, p)) / phases * round_up(summed, chunk);
        // Boxes of 128 bytes that are half empty come as slowly as two (k2 s2, 32 to 16 channels, 2 x 48^3: 0.046 ms), of packed
        // pictures those of three axes; smaller ones do not (k4 s2, 64 from 16, 544x960: 0.172 ms by 256 x 64, 2026-11-23).
        const bool measured = k.box_positions > 0 && (maps_weights(k) || k.rank == 3) && chunk * bytes_of(k.output.type) == 128;
        if (!forward && measured && 2 * summed <= chunk) products *= 2;
        if (forward && k.counts_through_images)
            longest = double(most_taps(k, p)) * double(phases) / double(taps_of_phases(k, p));
    }

  private:
    // A phase has at most so many.
    static int64_t most_taps(const KernelTraits &k, const Problem &p) {
        return product_of_axes(p, [&](const Axis &a) {
            const bool in_channels = channel_phases(k, p, a) > 1;
            return ceil_divide(a.kernel, in_channels ? a.stride : a.stride / std::gcd(a.stride, a.dilation));
        });
    }
};

double blocks_of(const KernelTraits &k, const Problem &p, const Work &work) {
    if (k.counts_through_images) return ProductBlocks(k, p).blocks;
    const Size2 tile = k.block_positions;
    const double tiles = double(ceil_divide(work.picture.height, tile.height)) *
                         double(ceil_divide(work.picture.width, tile.width));
    return double(p.batch) * tiles * double(ceil_divide(work.channels, k.block_channels)) * double(p.groups);
}

// Where copies of the next tile come while one is stored, 1.1 us of 256 x 64 in channels_last, 1.8 of 256 x 128, and this once
// (H200, 2026-11-22, seventeen layers in float16; input gradients likewise, fitted to eleven); where the weights of a forward
// operation come by a map, too, 0.6 us more (nine layers).
constexpr double before_first_tile = 2.6e-6;

// Likewise of input gradients of 16 bits in channels_first (twelve layers of 8 to 16 us; H200, 2026-11-23), and of forward
// operations in channels_last (twenty of 5 to 25 us).
double before_first_box(const KernelTraits &k) {
    if (k.box_positions == 0) return 0;
    if (k.operation == Operation::forward) return channels_innermost(k.output) ? 2e-6 : 0;
    return k.operation == Operation::input_gradient && !channels_innermost(k.input) && bytes_of(k.input.type) == 2 ? 1.5e-6 : 0;
}

// Runs of phases that are channels, in channels_first, are then stored by 2 bytes.
bool stores_at_odd_elements(const KernelTraits &k, const Problem &p) {
    const Axis &x = p.width();
    return k.operation == Operation::forward && !channels_innermost(k.output) &&
           bytes_of(k.output.type) == 2 && k.phases_as_channels && !k.phases_along_width && k.stride_width_multiple == 2 &&
           x.stride == 2 && x.padding % 2 != 0;
}

// The same where the copy engine stages, on average of what was measured on an H200 (2026-11-22). In channels_last, where
// lanes store whole rows, 3.2 us of 128 positions x 64 channels, 4.4 of 256 x 128 (fitted to 28 layers; of seven kernels the
// one that is chosen so takes 1.06 of the fastest's time at most). In channels_first, where neighbouring lanes store, 4.5 us of tiles
// of 128 channels and half of it of 64, 18 where positions lie a stride apart; phases that are channels take longer where they
// begin at odd elements of 16 bits. (Fitted to 521 layers in float16 and TF32, all kernels timed, H200, 2026-11-23.)
double block_overhead_of_maps(const KernelTraits &k, const Problem &p) {
    // Blocks that make parts have an overhead of 7 to 10 us: their lanes store single channels of any number (twelve
    // layers in float16, H200, 2026-11-22); those of phases that are channels half of it (2026-11-23).
    if (k.makes_parts && k.stores_single_channels && k.operation == Operation::forward)
        return k.phases_as_channels ? 4.5e-6 : 8.5e-6;
    const bool maps_both = k.operation == Operation::forward && maps_weights(k) && channels_innermost(k.output);
    if (k.resident_blocks > 0) {
        const double element = reads_as_it_lies(k) && k.output.type == ElementType::float32 ? 1.3e-10 : 4.3e-11;
        return double(k.blocks_per_multiprocessor) *
               ((maps_both ? 1e-6 : 0.4e-6) + element * double(area(k.block_positions)) * static_cast<double>(k.block_channels));
    }
    const double tile = static_cast<double>(k.block_channels) / 128;
    const Axis &x = p.width();
    if (k.operation == Operation::input_gradient)  // by what a multiprocessor computes at once
        return (channels_innermost(k.input) ? 5.5e-6 : bytes_of(k.input.type) == 2 ? 3e-6 : maps_weights(k) ? 3.6e-6 : 6e-6) *
               double(area(k.block_positions)) * tile * double(k.blocks_per_multiprocessor) / 256;
    if (channels_innermost(k.output))
        return 2.8e-6 + 5e-11 * double(area(k.block_positions)) * static_cast<double>(k.block_channels);
    if (x.stride == 1) return 4.5e-6 * tile;
    const int64_t neighbours = k.stride_width_multiple;
    if (!k.phases_as_channels || neighbours == 1) return 16e-6 + 2e-6 * tile;
    if (k.phases_along_width) return (x.stride > neighbours ? 10e-6 : neighbours == 4 ? 11e-6 : 12e-6) * tile;
    if (neighbours == 4) return 5.5e-6 * tile;
    if (x.stride > neighbours) return 6e-6 * tile;
    if (k.output.type == ElementType::float32) return 2e-6 * tile;
    return (stores_at_odd_elements(k, p) ? 6.2e-6 : 5e-6) * tile;
}

// A step of its own, before the kernel's or behind it, waits for what is before.
constexpr double launch = 2.1e-6;

// Products on CUDA cores that read weights as they are given.
bool reads_weights_on_cuda_cores(const KernelTraits &k) {
    return reads_weights_as_given(k) && k.box_positions == 0 && !channels_innermost(k.output);
}

// Blocks of small problems, of which a multiprocessor has one (input gradients: fitted to 25 layers, a tenth off, H200,
// 2026-11-22).
bool is_for_small_problems(const KernelTraits &k) {
    return reads_weights_on_cuda_cores(k) && k.blocks_per_multiprocessor == 1;
}

// Forward products on CUDA cores, whose longest phases come first.
bool is_forward_on_cuda_cores(const KernelTraits &k) {
    return k.counts_through_images && k.operation == Operation::forward &&
           (k.weight_layout == WeightLayout::channels_innermost || reads_weights_on_cuda_cores(k));
}

// Input gradients of pictures of float32, of which a multiprocessor has several blocks.
bool is_gradient_on_cuda_cores(const KernelTraits &k) {
    return k.counts_through_images && k.precision == Precision::float32 && k.operation == Operation::input_gradient &&
           k.output.type == ElementType::float32 && !is_for_small_problems(k);
}

// What a block does before and behind its loop, which may be short where any attributes are allowed: 13 us of
// c128's blocks, two of which share a multiprocessor, and 17 of large ones (H200, strides 2 to 5), 10 where phases are
// channels and their outputs meet. Rates of the others have it in them, on tensor cores those of sums of 1024 products:
// of 256 products k4 s2 took 11 us more (2026-11-22). CUDA cores' input gradients: fitted to 30 layers, a tenth off.
double block_overhead(const KernelTraits &k, const Problem &p, const Work &work) {
    const double blocks = double(k.blocks_per_multiprocessor);
    if (k.box_positions > 0) return block_overhead_of_maps(k, p);
    if (is_for_small_problems(k)) return 0.35e-6;
    if (k.taps_as_channels) return 2.5e-6;
    if (is_gradient_on_cuda_cores(k)) return 3e-6;
    // Fitted to seven layers of a few microseconds (H200, 2026-11-23).
    if (is_forward_on_cuda_cores(k) && !k.phases_as_channels) return 2e-6 * (1 + 3 / blocks);
    // Those that take phases' weights as they are given: 66 layers of 14 to 2040 us, a tenth off (H200, 2026-11-23). Where weights
    // are not most of what a launch moves, they go behind packed ones, whose estimates are as much too long.
    const bool few_weights = 2 * p.weight_elements() < p.output_elements();
    const bool on_tensor_cores = k.precision == Precision::tf32 || bytes_of(k.output.type) == 2;
    const double of_forward = reads_weights_on_cuda_cores(k) ? (few_weights ? 27e-6 : 17e-6) : on_tensor_cores ? 4e-6 : 8e-6,
                 of_gradient = k.precision == Precision::tf32 ? 2.5e-6 : 6e-6,
                 least = k.operation == Operation::input_gradient ? of_gradient : of_forward;
    if (k.counts_through_images) return least * (1 + 1 / blocks) * (channel_phases(k, p) > 1 ? 0.8 : 1);
    return k.precision == Precision::float32 ? 0 : 11e-6 / blocks * std::max(0.0, 1 - work.products / 1024);
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

// What taps see is gathered element by element: on an H200 0.8 ps each, with three axes 1.8, and 3.2 at strides above 2
// (2026-11-23).
double gathering_time(const Computation &c, double elements) {
    if (!c.by_taps) return 0;
    const double element = c.by_taps->rank <= 2 ? 0.8e-12 : c.by_taps->width().stride > 2 ? 3.2e-12 : 1.8e-12;
    return 1.5e-6 + element * elements;
}

// A picture that is packed before is read and written once. Lanes pack neighbours in a row of phases: in channels_last
// each takes a sector of its own (302 MB in 7 ms; an element of 16 bits takes a third of that). By phases each element
// is found by itself: 16 bits take as long as 32.
double packing_time(const KernelTraits &k, const Computation &c) {
    if (c.packed_rows) {
        const Problem &p = c.problem;
        const double read = double(c.by_taps                             ? c.by_taps->output_elements()
                                   : c.operation == Operation::forward ? p.input_elements()
                                                                       : p.output_elements());
        const double written = double(p.batch) * double(p.groups) * double(packed_row_channels(k, c)) *
                               double(read_positions(c));
        return launch + gathering_time(c, written) + double(bytes_of(c.read_format.type)) * (read + written) / H200::memory_bytes_per_second;
    }
    if (!k.packed_channels) return 0;
    // Weights are packed by phases more slowly than others, by about as much as they take to read and write.
    const double weights =
        c.by_phases ? 2.0 * double(bytes_of(c.weight_format.type)) * double(c.by_phases->weight_elements())
                    : 0;
    const bool apart = c.by_phases && channels_innermost(c.read_format);
    const double of_axes = c.by_phases && c.by_phases->rank > 2 ? 2 : 1;  // k4 s2, 4 x 32 channels of 48^3: 55 us of 16 bits
    const double passes = of_axes * (!apart ? 2.0 : c.read_format.type == ElementType::float32 ? 32.0 : 10.0);
    const double bytes = c.by_phases ? sizeof(float) : double(bytes_of(c.read_format.type));
    const double picture = passes * bytes * double(c.problem.input_elements());
    return launch + (picture + weights) / H200::memory_bytes_per_second;
}

// Weights of cells are filled up with zeros, and each is found by itself (HiFi-GAN, DAC, FlowNet, H200, 2026-11-22).
// Where outputs are joined 3 us more beside the products (fourteen layers of 8 to 240 us, H200, 2026-11-23; of 1x1 three of 9 to
// 12 us), and where channels of an input are no whole rows each weight is moved alone (20 to 768, k2 s2: 7 us).
double packing_time_of_cells(const Computation &c) {
    if (!c.cells) return 0;
    const double weights = double(c.problem.weight_elements()), filling = 2.3e-12 * weights;
    const Axis &x = c.cells->given.width();
    if (!c.cells->joins_outputs()) return filling;
    const bool moved_alone = c.cells->channels % 8 != 0 && !(x.kernel == 1 && x.stride == 1);
    return filling + 3.2e-6 + (moved_alone ? 3e-11 * weights : 0);
}

// Packing of weights, in channels_last about 4 ps each of 16 bits (k3, 512 to 512 channels; k4, 386 to 64; k2, 1024 to 1024),
// which kernels that read them as they are given spare. Others, and what is no weight, were fitted with a fourth of that.
double weight_packing_time(const KernelTraits &k, const Computation &c) {
    const bool of_weight = c.weight_operand == Operand::weight;
    const double elements = double((c.cells ? c.cells->given : c.problem).weight_elements()),
                 passes = of_weight && channels_innermost(c.weight_format) ? 8 : 2,
                 time = launch + passes * double(bytes_of(c.weight_format.type)) * elements / H200::memory_bytes_per_second;
    const bool packs = of_weight ? !reads_weights_as_given(k) : k.weight_layout != WeightLayout::as_given;
    return packs ? time : 0;
}

// Mirrored, and given with channels innermost, each lies in a row of its own: of 2.4 million 9 us more (k3, 512 to 512).
double mirroring_time(const KernelTraits &k, const Computation &c) {
    if (reads_weights_as_given(k) || c.weight != WeightView::mirrored || !channels_innermost(c.weight_format)) return 0;
    return 3.8e-12 * double(c.problem.weight_elements());
}

// The parts of a split sum are written and read once.
double adding_time(const Computation &c) {
    if (c.partial_sums == 1) return 0;
    const double parts = double(c.operation == Operation::forward ? c.problem.output_elements() : c.problem.input_elements());
    const double bytes = sizeof(float) * (c.parts_of_steps ? parts * double(c.partial_sums) : parts);
    constexpr double most_in_second_level = 2.4e7;
    const double rate = bytes <= most_in_second_level ? H200::second_level_bytes_per_second : H200::memory_bytes_per_second;
    return launch + 1.5e-6 + 2 * bytes / rate;
}

// An input gradient reads pixels a stride apart, where neighbours in a row are no neighbouring channels: a warp's load of
// 32 positions takes as many lines of the first-level cache. Rates were measured at stride 2 (k20 s10, 256 to 128
// channels: 0.256 ms, of which 0.09 are this).
double strided_loads_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const bool neighbours = k.packed_channels || c.packed_rows || channels_innermost(c.read_format);
    if (!k.counts_through_images || k.operation != Operation::input_gradient || neighbours) return 0;
    // Lanes that stage four taps each of eight positions see a fourth of the lines (k16 s16, 24 to 24: 0.46 ms, was 0.65).
    const double apart = double(std::min<int64_t>(c.problem.width().stride, 32)) / (k.taps_as_channels ? 4 : 1);
    const ProductBlocks work(k, c.problem);
    const double loads = work.blocks * double(work.steps) * double(k.weight_in_channel_multiple) *
                         double(area(k.block_positions)) / 32;
    return loads * std::max(apart - 2, 0.0) / (H200::loads_per_second * std::max(machine.multiprocessors, 1));
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
    const int64_t bytes = bytes_of(k.output.type), given = p.out_channels / p.groups,
                  summed = c.packed_rows ? packed_row_channels(k, c) : given;
    const bool measured = k.operation == Operation::input_gradient && (channels_innermost(k.input) || k.rank == 3);
    if (k.box_positions == 0 || !measured || bytes != 2 || summed * bytes % sector == 0) return 0;
    const double rows = double(area(k.block_positions)) + (maps_weights(k) ? double(k.block_channels) : 0);
    const ProductBlocks work(k, p);
    return work.blocks * double(work.steps) * rows * double(bytes * k.weight_in_channel_multiple + sector) / bytes_per_second;
}

// Taps of the phases that have blocks of their own, the most first.
std::vector<int64_t> taps_of_each_phase(const KernelTraits &k, const Problem &p) {
    std::vector<int64_t> all{1};
    for (const Axis &a : p.axes) {
        if (channel_phases(k, p, a) > 1) continue;
        std::vector<int64_t> products;
        const int64_t live = a.stride / std::gcd(a.stride, a.dilation);
        for (const int64_t others : all)
            for (int64_t phase = 0; phase < a.stride; phase++)
                products.push_back(phase < live ? others * ceil_divide(std::max<int64_t>(a.kernel - phase, 0), live) : 0);
        all = std::move(products);
    }
    std::sort(all.rbegin(), all.rend());
    return all;
}

// Of blocks that begin at once, the longest first: how long those are that the first multiprocessor has, in averages of all.
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

// The kernel's own step. Its problem has a group for each part of a split sum, unless its steps are cut.
double kernel_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const Work work(k, p);
    const double parts = c.parts_of_steps ? double(c.partial_sums) : 1, blocks = blocks_of(k, p, work) * parts;
    const double flop = 2.0 * double(area(k.block_positions)) * k.block_channels * work.products / parts;
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
        // On CUDA cores a block alone takes half as long as of others (twelve layers, H200, 2026-11-22), of input gradients less (fitted
        // to 256 times, 2026-11-23).
        const bool sorted = is_forward_on_cuda_cores(k), quick = sorted && k.window == 1;
        // Tiles beside others have fewer stages, for which one alone waits (k3 s3, 128 to 64, 4 x 8x10x8: 15 us by 40 of 128 x 64).
        const bool shallow = k.resident_blocks > 0 && k.blocks_per_multiprocessor > 1;
        const double alone = waits ? 0.8 : is_gradient_on_cuda_cores(k) ? 0.15 : quick ? 0.25 : shallow ? 0.5 : 0.4;
        const auto with_neighbours = [&](double of_multiprocessor) {
            return alone + (1 - alone) * of_multiprocessor / double(k.blocks_per_multiprocessor);
        };
        // Where the longest come first, shorter ones fill up what they leave, and the first multiprocessor has most of the only round.
        const double last = with_neighbours(std::ceil(rest / multiprocessors));
        rounds += !sorted      ? work.longest * last
                  : rounds > 0 ? last
                               : std::max(longest_stay(blocks_of_first(k, p, blocks, multiprocessors), with_neighbours), last);
    }
    // A round takes as long as on an H200: multiprocessors are equally fast, whatever their number is.
    const double round_flop = H200::multiprocessors * k.blocks_per_multiprocessor * flop;
    const double once = k.resident_blocks > 0 ? before_first_tile : is_for_small_problems(k) ? launch : before_first_box(k);
    const double overhead = block_overhead(k, p, work);
    // Nothing hides such stores where blocks are few (k4 s2 p1, 64 to 32 channels, 32 x 94: 14 us of 12 blocks).
    const double bare = k.box_positions > 0 && blocks <= double(multiprocessors) && stores_at_odd_elements(k, p) ? overhead : 0;
    const double in_rounds = rounds * (round_flop / (k.h200_tflops * 1e12) + overhead) + bare;
    return std::max(in_rounds, split_sectors_time(k, c)) + once + scattered_stores_time(k, c);
}

// Where threads have some channels at a position of each part of a row, and nothing in common (schedules/cuda_gather.h).
// Phases along the width share warps, so the longest counts. An element takes 2 ps beside its products (H200, KernelBench 72,
// 75 and 81, 2026-11-22); where lanes lie apart by all channels, up to four times as long. Fewer threads than a machine holds
// take as long as one of them, whose loads nobody hides. An input gradient's lanes are a stride apart: at 16 it takes ten times as
// long (k16 s16, 24 to 24 channels; 2026-11-23).
double gather_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    const Problem &p = c.problem;
    const bool forward = k.operation == Operation::forward;
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const auto extent = [&](const Axis &a) { return std::max<int64_t>(forward ? a.output() : a.input, 1); };
    const auto step = [&](const Axis &a) { return forward ? a.stride : 1; };
    const Axis &cut = k.part_axis == 1 ? p.height() : p.width();
    const int64_t all = extent(cut), of_taps = k.parts_are_neighbours ? cut.dilation / std::gcd(cut.stride, cut.dilation) : 1,
                  apart_by = forward ? cut.stride * of_taps : k.parts_are_neighbours ? cut.dilation : 1,
                  part = k.parts_are_neighbours ? ceil_divide(all, k.parts * apart_by) * apart_by
                                                : std::min(round_up(ceil_divide(all, k.parts), apart_by), all);
    const double sums = double(k.parts * k.block_channels),
                 summed = double(forward ? round_up(in, k.in_channel_multiple) : round_up(out, k.out_channel_multiple));
    const double threads = double(p.batch) * double(p.groups) * double(ceil_divide(forward ? out : in, k.block_channels)) *
                           double(product_of_axes(p, extent)) / double(all) * double(part);
    double products = summed;  // of an element
    for (const Axis &a : p.axes)
        products *= &a == &p.width() ? double(ceil_divide(a.kernel, step(a))) : double(a.kernel) / double(step(a));

    constexpr double threads_a_multiprocessor = 768, alone = 0.4, element = 2e-12;
    const double size = double(std::max(machine.multiprocessors, 1)) / H200::multiprocessors;
    const double elements = sums * std::max(threads, alone * threads_a_multiprocessor * H200::multiprocessors * size);
    const bool channels_last =
        channels_innermost(c.read_format) || channels_innermost(c.written_format);
    const double pixel = double(bytes_of(c.read_format.type) * std::max(p.in_channels, p.out_channels)),
                 stride = forward || channels_last ? 1 : double(p.width().stride),
                 apart = k.any_layout && channels_last ? std::clamp(pixel / 8, 1.0, 4.0) : std::clamp(stride / 4, 1.0, 8.0);
    return elements / size * (element + 2 * products / (k.h200_tflops * 1e12)) * apart;
}

// Where one thread computes an element, its products one after another, from memory: 0.04 to 0.12 us each (H200, 2026-11-22), and
// half as long again where neighbouring channels, not positions, are neighbours (2026-11-23).
// No step packs its weights, and what is spared so may be more than what is left.
double serial_time(const KernelTraits &k, const Computation &c) {
    constexpr double shortest = 1e-7;
    const bool channels_last = channels_innermost(c.read_format) || channels_innermost(c.written_format);
    const double product = channels_last ? 1.2e-7 : 8e-8;
    const double spared = c.weight_operand == Operand::weight ? 0 : launch;
    return std::max(product * Work(k, c.problem).products - spared, shortest);
}

}  // namespace

bool has_estimate(const KernelTraits &k) { return k.h200_tflops > 0 || k.max_products > 0; }

double estimated_time(const Candidate &candidate, const Machine &machine) {
    const KernelTraits &k = candidate.kernel;
    const Computation &c = candidate.computation;
    const double packing = c.operation == Operation::weight_gradient ? 0 : weight_packing_time(k, c);
    if (k.family == Family::winograd_product) return winograd_time(k, c.problem, machine) + packing;
    if (k.operation == Operation::weight_gradient) return weight_gradient_time(k, c, machine);
    if (k.max_products > 0) return serial_time(k, c);
    if (k.parts > 0) return gather_time(k, c, machine) + packing;
    return packing_time(k, c) + kernel_time(k, c, machine) + strided_loads_time(k, c, machine) + adding_time(c) +
           packing_time_of_cells(c) + mirroring_time(k, c) + packing;
}

}  // namespace conv_transpose

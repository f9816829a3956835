// What blocks take beside their products: see block_overhead.h.
#include "choice/block_overhead.h"

#include <algorithm>

#include "choice/kernel_properties.h"
#include "choice/other_steps_time.h"
#include "choice/picture_frame.h"
#include "choice/product_blocks.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// Products on CUDA cores that read weights as they are given.
bool reads_weights_on_cuda_cores(const KernelTraits &k) {
    return reads_weights_as_given(k) && k.box_positions == 0 && !channels_innermost(k.output) && !loads_weights_as_given(k);
}

}  // namespace

bool is_for_small_problems(const KernelTraits &k) {
    return reads_weights_on_cuda_cores(k) && k.blocks_per_multiprocessor == 1;
}

bool is_forward_on_cuda_cores(const KernelTraits &k) {
    return k.counts_through_images && k.operation == Operation::forward &&
           (k.weight_layout == WeightLayout::channels_innermost || reads_weights_on_cuda_cores(k));
}

bool is_gradient_on_cuda_cores(const KernelTraits &k) {
    return k.counts_through_images && k.precision == Precision::float32 && k.operation == Operation::input_gradient &&
           k.output.type == ElementType::float32 && !is_for_small_problems(k);
}

bool stores_at_odd_elements(const KernelTraits &k, const Problem &p) {
    const Axis &x = p.width();
    return k.operation == Operation::forward && !channels_innermost(k.output) &&
           bytes_of(k.output.type) == 2 && k.phases_as_channels && !k.phases_along_width && k.stride_width_multiple == 2 &&
           x.stride == 2 && x.output() % 2 != 0;
}

namespace {

// Where copies of the next tile come while one is stored, a tile takes 1.1 us (256 x 64 in channels_last) or 1.8 (256 x 128), and
// this comes once (H200, 2026-11-22, seventeen layers in float16; input gradients likewise, fitted to eleven); where the weights
// of a forward operation come by a map, too, 0.6 us more (nine layers).
constexpr double before_first_tile = 2.6e-6;

// Where rows of channels are written: of one position, parts in TF32 (50 times of layers of 9 to 60 us; H200, 2026-11-29), by weights
// as they are given (130 times of 4 to 40 us, 2026-12-01), others.
double before_first_box_of_rows(const KernelTraits &k) {
    if (k.one_position) return k.adds_in_clusters ? 0 : 0.8e-6;
    if (maps_weights(k)) return 0.7e-6;
    return k.makes_parts && k.output.type == ElementType::float32 ? 0 : 2e-6;
}

// Likewise of input gradients of 16 bits in channels_first (twelve layers of 8 to 16 us; H200, 2026-11-23), and of forward
// operations in channels_last (twenty of 5 to 25 us; where threads copy, k2 s2, 64 to 32 of 128x128, 11.6 us, by maps 8.1), or of
// three axes in channels_first (35 times of layers of 5 to 20 us; H200, 2026-11-30).
double before_first_box(const KernelTraits &k) {
    const bool to_channels_last = k.operation == Operation::forward && channels_innermost(k.output);
    const bool of_16_bits = bytes_of(k.output.type) == 2;
    if (k.box_positions == 0) return to_channels_last && k.counts_through_images && of_16_bits ? 2e-6 : 0;
    if (to_channels_last) return before_first_box_of_rows(k);
    if (k.operation == Operation::forward) return of_16_bits && k.rank == 3 ? (k.phases_along_width ? 1.5e-6 : 2e-6) : 0;
    return k.operation == Operation::input_gradient && !channels_innermost(k.input) && bytes_of(k.input.type) == 2 ? 1.5e-6 : 0;
}

// What a tile takes of blocks that go through many, while copies of the next come.
double resident_block_overhead(const KernelTraits &k) {
    const bool maps_both = k.operation == Operation::forward && maps_weights(k) && channels_innermost(k.output);
    // Taps that are rows are added before the store, while nothing is multiplied (twelve layers, H200, 2026-11-27); of pictures
    // as they lie float32 takes twice as long (1x1, three layers, that day).
    const bool is_float = k.output.type == ElementType::float32;
    const double tile = double(area(k.block_positions)) * static_cast<double>(k.block_channels);
    // Where the copy engine stores, weights of a map take no longer, and there is shared memory for half of a tile of 256 x 128
    // (53 layers, H200, 2026-11-29).
    const bool stores_halves = k.operation == Operation::forward && k.stored_box_channels > 0 && tile > 24576;
    const bool waits = maps_both && !k.one_position && k.stored_box_channels == 0;
    // Weights that blocks keep, and phases that are channels of pictures as they lie: six layers of k2 s2 (H200, 2026-11-28).
    const double start = waits ? 1e-6 : stores_halves ? 0.7e-6 : k.kept_steps > 0 ? 0.3e-6 : 0.4e-6;
    const double of_phases = k.block_channels >= 128 ? 5.8e-11 : 3.6e-11;
    const double element = k.row_taps > 1                                ? (is_float ? 1e-10 : 1.35e-10)
                           : reads_as_it_lies(k) && is_float             ? 8e-11
                           : reads_as_it_lies(k) && k.phases_as_channels ? of_phases
                                                                         : 4.3e-11;
    return double(k.blocks_per_multiprocessor) * (start + element * tile);
}

// Neighbouring lanes store to channels_first: 4.5 us of tiles of 128 channels and half of it of 64, 18 where positions lie a stride
// apart. Phases that are channels take longer where rows of 16 bits have an odd length.
double stores_to_channels_first(const KernelTraits &k, const Problem &p) {
    const Axis &x = p.width();
    const double tile = static_cast<double>(k.block_channels) / 128;
    if (x.stride == 1) return 4.5e-6 * tile;
    const int64_t neighbours = k.stride_width_multiple;
    // They store positions a stride apart, so the more lines the larger it is.
    if (!k.phases_as_channels || neighbours == 1) return (std::min(3 + 1.5 * double(x.stride), 16.0) + 2 * tile) * 1e-6;
    // Strides beyond the neighbours: twenty drawn layers in TF32 (H200, 2026-11-29).
    if (k.phases_along_width && x.stride > neighbours) return (neighbours == 4 ? 13e-6 : 17e-6) * tile;
    if (k.phases_along_width) return (neighbours == 4 ? 11e-6 : 10.5e-6) * tile;
    if (neighbours == 4) return 5.5e-6 * tile;
    // Of 16 bits fitted to 23 times of drawn layers (H200, 2026-11-29).
    if (x.stride > neighbours) return (k.output.type == ElementType::float32 ? 6e-6 : 9e-6) * tile;
    if (k.output.type == ElementType::float32) return 2e-6 * tile;
    return (stores_at_odd_elements(k, p) ? 6.2e-6 : 5e-6) * tile;
}

// Two blocks of 256 x 64 in TF32 hide more of it, and of one position less comes before (58 drawn layers; 1x1, 29 layers of 2 to 18
// us). Single channels are stored one by one (1x1 of 20 and 28 channels; H200, 2026-11-29).
double stores_to_channels_last(const KernelTraits &k) {
    const double elements = double(area(k.block_positions)) * static_cast<double>(k.block_channels);
    const bool hides = k.output.type == ElementType::float32 && elements == 256 * 64;
    const double start = hides ? 1e-6 : k.one_position ? 2.4e-6 : 2.8e-6;
    return start + (k.stores_single_channels ? 1e-6 : 0) + 5e-11 * elements;
}

// A block's overhead where the copy engine stages, on average of what was measured on an H200 (2026-11-22). In channels_last, where
// lanes store whole rows, it is 3.2 us of 128 positions x 64 channels, 4.4 of 256 x 128 (fitted to 28 layers; of seven kernels the
// one that is chosen so takes 1.06 of the fastest's time at most). All others were fitted to 521 layers in float16 and TF32, all
// kernels timed (H200, 2026-11-23).
double block_overhead_of_maps(const KernelTraits &k, const Problem &p) {
    // Blocks that make parts have an overhead of 7 to 10 us: their lanes store single channels of any number (twelve
    // layers in float16, H200, 2026-11-22); those of phases that are channels a third of it (44 layers, 2026-11-27).
    if (k.makes_parts && k.stores_single_channels && k.operation == Operation::forward)
        return k.phases_as_channels ? 3e-6 : 8.5e-6;
    if (k.resident_blocks > 0) return resident_block_overhead(k);
    const double tile = static_cast<double>(k.block_channels) / 128;
    // Nothing hides stores to channels_first of a block that is alone on its multiprocessor (44 layers, H200, 2026-11-27).
    if (k.adds_in_clusters && reads_as_it_lies(k)) return 7e-6 * tile;
    if (k.adds_in_clusters && k.operation == Operation::input_gradient && !channels_innermost(k.input)) return 3e-6;
    if (k.operation == Operation::input_gradient)  // by what a multiprocessor computes at once
        return (channels_innermost(k.input) ? 5.5e-6 : bytes_of(k.input.type) == 2 ? 3e-6 : maps_weights(k) ? 3.6e-6 : 6e-6) *
               double(area(k.block_positions)) * tile * double(k.blocks_per_multiprocessor) / 256;
    return channels_innermost(k.output) ? stores_to_channels_last(k) : stores_to_channels_first(k, p);
}

}  // namespace

double before_first_block(const KernelTraits &k) {
    // Copies of taps that are packed as rows: 35 times of few channels, 5 to 25 us (H200, 2026-11-30).
    if (k.taps_as_channels && is_gradient_on_cuda_cores(k)) return k.block_channels >= 64 ? 2e-6 : 0.8e-6;
    // Fitted with the other constants of such kernels to 52 times of layers of 4 to 45 us (H200, 2026-11-28).
    constexpr double before_given_weights = 2.5e-6;
    if (loads_weights_as_given(k)) return before_given_weights;
    constexpr double forward_of_small = 0.85e-6;  // beyond a launch (seven layers of 6 to 11 us in float32, that day)
    if (is_for_small_problems(k)) return launch + (k.operation == Operation::forward ? forward_of_small : 0);
    // What a block keeps comes first (1x1, eight layers of 4 to 6 us, H200, 2026-11-29); of what the copy engine stores less is
    // waited for (eleven of 4 to 30 us, later that day).
    const double kept = k.kept_steps == 0 || !k.one_position ? 0 : k.stored_box_channels > 0 ? -0.3e-6 : 0.5e-6;
    // Of two blocks on a multiprocessor one begins while the other waits (1x1, twenty of 3 to 21 us, that day).
    const double beside = reads_as_it_lies(k) && bytes_of(k.output.type) == 2 && k.blocks_per_multiprocessor > 1 ? 0.8e-6 : 0;
    return k.resident_blocks > 0 ? before_first_tile + kept - beside : before_first_box(k);
}

// What a block does before and behind its loop, which may be short where any attributes are allowed: 13 us of
// c128's blocks, two of which share a multiprocessor, and 17 of large ones (H200, strides 2 to 5), 10 where phases are
// channels and their outputs meet. Rates of the others have it in them, on tensor cores those of sums of 1024 products:
// of 256 products k4 s2 took 11 us more (2026-11-22). CUDA cores' input gradients: fitted to 30 layers, a tenth off.
double block_overhead(const KernelTraits &k, const Problem &p, double products) {
    const double blocks = double(k.blocks_per_multiprocessor);
    if (k.box_positions > 0) return block_overhead_of_maps(k, p);
    if (loads_weights_as_given(k)) return 0.2e-6;
    if (is_for_small_problems(k)) return 0.35e-6;
    if (k.taps_as_channels) return 2.5e-6;
    if (is_gradient_on_cuda_cores(k)) return 3e-6;
    // Fitted to 152 layers of 2 to 2700 us (H200, 2026-11-30).
    if (is_forward_on_cuda_cores(k) && !k.phases_as_channels)
        return (k.block_channels >= 64 ? 3.4e-6 : 2e-6) * (1 + 3 / blocks);
    const bool on_tensor_cores = k.precision == Precision::tf32 || bytes_of(k.output.type) == 2;
    // Those that take phases' weights as they are given: 104 times of 2 to 420 us (H200, 2026-11-30).
    const bool is_large = reads_weights_on_cuda_cores(k) && k.block_channels >= 64;
    const double of_forward = on_tensor_cores ? 4e-6 : is_large ? 15e-6 : 7.5e-6,
                 of_gradient = k.precision == Precision::tf32 ? 2.5e-6 : 6e-6,
                 least = k.operation == Operation::input_gradient ? of_gradient : of_forward;
    if (k.counts_through_images) return least * (1 + 1 / blocks) * (channel_phases(k, p) > 1 ? 0.8 : 1);
    return k.precision == Precision::float32 ? 0 : 11e-6 / blocks * std::max(0.0, 1 - products / 1024);
}

}  // namespace conv_transpose

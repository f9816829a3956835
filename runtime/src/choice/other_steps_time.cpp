// What other steps take: see other_steps_time.h.
#include "choice/other_steps_time.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithm/machine_facts.h"
#include "choice/kernel_properties.h"
#include "choice/picture_frame.h"
#include "choice/registry.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"
#include "choice/weight_phases.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

using machines::H200;

// Of groups in channels_last each brings a sector of the second-level cache, or 64 bytes of memory where that holds less, which have
// other groups' channels, too (0.65 ps of 20 channels, k8 s8, 16 groups of 32 from 20, 8 x 20x40, eighteen kernels; of depthwise
// k8 s4 5.5 ps, 64 to 256 channels of 64x64, and 15, 8 x 64 of 100x100; H200, 2026-12-01).
double gathering_time_of_groups(const Computation &c) {
    constexpr double second_level_bytes = 40e6, seconds_of_sector = 6e-12, seconds_of_granule = 15e-12, least = 0.65e-12;
    const Problem &p = *c.by_taps;
    if (p.groups == 1 || !channels_innermost(c.read_format)) return 0;
    const double bytes = double(bytes_of(c.read_format.type)) * double(p.output_elements());
    return std::max((bytes > second_level_bytes ? seconds_of_granule : seconds_of_sector) / double(p.out_channels / p.groups), least);
}

// What taps see is gathered element by element: on an H200 0.8 ps each, with three axes 1.8, and 3.2 at strides above 2
// (2026-11-23).
double gathering_time(const Computation &c, double elements) {
    if (!c.by_taps) return 0;
    const double element = c.by_taps->rank <= 2 ? 0.8e-12 : c.by_taps->width().stride > 2 ? 3.2e-12 : 1.8e-12;
    return 1.5e-6 + (element + gathering_time_of_groups(c)) * elements;
}

// What one pass writes and the next one reads stays in the second-level cache where it is no larger than this.
double written_and_read_time(double bytes, double bytes_per_second) {
    constexpr double most_in_second_level = 2.4e7;
    return 2 * bytes / (bytes <= most_in_second_level ? H200::second_level_bytes_per_second : bytes_per_second);
}

// A picture that is turned is written and read once more, a tile of 64 x 32 at a time, of which the longer side is innermost
// then: where channels fill little of it threads limit (64 x 10 channels of 96x96, 31 us; 8 x 64 of 128x128, 18; H200, 2026-11-28).
double time_of_turning(const std::optional<TurnedPicture> &picture, TensorFormat wanted) {
    constexpr double bytes_per_second = 3.2e12, places_per_second = 1.25e12;
    constexpr int64_t inner_tile = 64, outer_tile = 32;
    if (!picture || !picture->lies_otherwise()) return 0;
    int64_t inner = picture->positions, outer = picture->channels;
    if (channels_innermost(wanted)) std::swap(inner, outer);
    const double places = double(picture->images) * double(round_up(inner, inner_tile)) * double(round_up(outer, outer_tile));
    const double bytes = double(bytes_of(wanted.type)) * double(picture->elements());
    return launch + std::max(written_and_read_time(bytes, bytes_per_second), places / places_per_second);
}

// Channels of a group in channels_last, which fill little of the 64 that a block packs (8 groups of 7, 2 x 80005: 57 us more than
// products took; H200, 2026-11-28).
double time_of_narrow_groups(const KernelTraits &k, const Computation &c) {
    constexpr double places_per_second = 1.4e12;
    constexpr int64_t tile_channels = 64;
    if (c.by_taps || c.problem.groups == 1 || !channels_innermost(c.read_format)) return 0;
    return double(c.problem.batch) * double(c.problem.groups) * double(read_positions(c)) *
           double(round_up(packed_row_channels(k, c), tile_channels)) / places_per_second;
}

}  // namespace

// A picture that is packed before is read and written once. Lanes pack neighbours in a row of phases: in channels_last
// each takes a sector of its own (302 MB in 7 ms; an element of 16 bits takes a third of that). By phases each element
// is found by itself: 16 bits take as long as 32.
double picture_packing_time(const KernelTraits &k, const Computation &c) {
    if (c.packed_rows) {
        const Problem &p = c.problem;
        const double read = double(c.by_taps                             ? c.by_taps->output_elements()
                                   : c.operation == Operation::forward ? p.input_elements()
                                                                       : p.output_elements());
        const double written = double(p.batch) * double(p.groups) * double(packed_row_channels(k, c)) *
                               double(read_positions(c));
        const double bytes = double(bytes_of(c.read_format.type)) * (read + written);
        return launch + gathering_time(c, written) +
               std::max(bytes / H200::memory_bytes_per_second, time_of_narrow_groups(k, c));
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
// 12 us; one in channels_last, twenty of 7 to 20 us, 2026-12-01), and where channels of an input are no whole rows each weight is
// moved alone (20 to 768, k2 s2: 7 us).
double cell_packing_time(const Computation &c) {
    if (!c.cells) return 0;
    const double weights = double(c.problem.weight_elements()), filling = 2.3e-12 * weights;
    const Axis &x = c.cells->given.width();
    if (!c.cells->joins_outputs()) return filling;
    const bool moved_alone = c.cells->channels % 8 != 0 && !(x.kernel == 1 && x.stride == 1);
    const double joining = channels_innermost(c.weight_format) && bytes_of(c.weight_format.type) == 2 ? 1.2e-6 : 3.2e-6;
    return filling + joining + (moved_alone ? 3e-11 * weights : 0);
}

// Weights between channels of two groups are zeros, each found by itself (eleven layers of 14 to 45 us, H200, 2026-11-23). Of a
// weight gradient's sums the diagonal is taken, which takes longer by 15 to 18 ns a group (153 times of depthwise layers of 16 to
// 1024 groups in float16, H200, 2026-11-27).
double group_packing_time(const Computation &c) {
    constexpr double of_group = 1.6e-8;
    if (c.joined_groups == 1) return 0;
    return c.operation == Operation::weight_gradient ? of_group * double(c.problem.groups * c.joined_groups) : 3e-6;
}

namespace {

// Phases that are channels, given inside of those: to find each value's place takes longer the more there are (k4 to k16 at strides
// of 2 to 16, which have 4 to 256 phases; twelve layers, H200, 2026-11-29).
double time_of_scattered_phases(const KernelTraits &k, const Computation &c, double elements) {
    constexpr double most_phases = 32, seconds = 5.5e-12;
    if (!k.phases_outermost || channels_innermost(c.weight_format) || phases_are_row(k, c) || phases_are_apart(k, c)) return 0;
    return seconds * std::min(double(channel_phases(k, c.problem)) / most_phases, 1.0) * elements;
}

// Runs of 64 channels for tensor cores (twelve layers of 0.4 to 34 million weights, in float16 and TF32 by seven kernels each;
// H200, 2026-11-29), which of the forward operation in channels_last begin later in 16 bits (forty layers of 8 to 25 us, 2026-12-01).
double time_of_packed_runs(const KernelTraits &k, const Computation &c, double elements) {
    const bool begins_late = c.operation == Operation::forward && channels_innermost(c.weight_format) &&
                             bytes_of(c.weight_format.type) == 2 && !c.cells;
    const double beginning = launch + (!begins_late ? 0 : k.rank > 2 ? 2.5e-6 : 1.3e-6);
    const double moving = (bytes_of(c.weight_format.type) == 2 ? 1.4e-12 : 2.1e-12) * elements;
    return beginning + moving + time_of_scattered_phases(k, c, elements);
}

}  // namespace

// Others in channels_last take about four times as long as in channels_first, or as what is no weight.
double weight_packing_time(const KernelTraits &k, const Computation &c) {
    const bool of_weight = c.weight_operand == Operand::weight;
    const double elements = double(c.problem_without_cells().weight_elements()),
                 passes = of_weight && channels_innermost(c.weight_format) ? 8 : 2,
                 time = launch + passes * double(bytes_of(c.weight_format.type)) * elements / H200::memory_bytes_per_second;
    // Hidden by the packing of the picture, where taps of both are copied (five layers of 8 to 13 us, H200, 2026-11-28).
    if (packs_weight_rows(k, c)) return time - launch / 2;
    if (turns_weights(k, c)) return time_of_turning(weight_picture(c), in_other_layout(c.weight_format));
    const bool packs = of_weight ? !reads_weights_as_given(k) : k.weight_layout != WeightLayout::as_given;
    return !packs ? 0 : of_weight && reads_packed_runs(k) ? time_of_packed_runs(k, c, elements) : time;
}

// Weights of another type are converted before: a pass that the next one follows at once.
double conversion_time(const KernelTraits &k, const Computation &c) {
    if (!reads_weights(c.operation) || !converts_weights(k, c.weight_format.type)) return 0;
    const double bytes = double(bytes_of(c.weight_format.type)) + double(bytes_of(k.output.type));
    return launch + bytes * double(c.problem_without_cells().weight_elements()) / H200::memory_bytes_per_second;
}

// Mirrored, and given with channels innermost, each lies in a row of its own: of 2.4 million 9 us more (k3, 512 to 512).
double mirroring_time(const KernelTraits &k, const Computation &c) {
    if (reads_weights_as_given(k) || c.weight != WeightView::mirrored || !channels_innermost(c.weight_format)) return 0;
    return 3.8e-12 * double(c.problem.weight_elements());
}

// Seven weight gradients of float16, tiles of 64 x 64 to 128 x 128 (H200, 2026-11-23).
double cluster_time(double tile_elements) { return 1.2e-6 + 1.2e-10 * tile_elements; }

double turning_time(const Computation &c) {
    const bool reads_both = c.operation == Operation::weight_gradient;
    // Results of 16 bits to channels_last take longer, whose channels fill no 16 bytes (54 forward problems, H200, 2026-11-28).
    constexpr double odd_channels = 2.5e-6;
    const bool is_odd = c.written_turned && bytes_of(c.written_format.type) == 2 && !channels_innermost(c.written_format);
    return time_of_turning(c.read_turned, c.read_format) + (is_odd ? odd_channels : 0) +
           time_of_turning(c.written_turned, reads_both ? c.written_format : in_other_layout(c.written_format));
}

// A thread adds what an output sees, six taps at a time: one after the other, and by instructions that outputs share out (48 layers
// in float32 and TF32, a tenth off; H200, 2026-11-28).
double time_of_tap_products(const Computation &c) {
    constexpr double seconds_of_round = 0.3e-6, seconds_of_output = 6e-12, seconds_of_taps = 2e-12;
    if (!c.of_taps) return 0;
    const Problem &p = c.of_taps->given;
    const auto seen = [](const Axis &a) { return ceil_divide(a.kernel, a.stride / std::gcd(a.stride, a.dilation)); };
    const int64_t rounds = ceil_divide(seen(p.width()), 3) * ceil_divide(seen(p.height()), 2) * seen(p.depth());
    const double bytes = sizeof(float) * double(c.problem.output_elements()), outputs = double(p.output_elements());
    return launch + seconds_of_round * double(rounds) + written_and_read_time(bytes, H200::memory_bytes_per_second) +
           outputs * (seconds_of_output + seconds_of_taps * double(rounds) + sizeof(float) / H200::memory_bytes_per_second);
}

// The parts of a split sum are written and read once, if no cluster adds them.
double adding_time(const KernelTraits &k, const Computation &c) {
    if (c.partial_sums == 1) return 0;
    if (k.adds_in_clusters) return cluster_time(double(area(k.block_positions)) * static_cast<double>(k.block_channels));
    const double parts = double(c.operation == Operation::forward ? c.problem.output_elements() : c.problem.input_elements());
    const double bytes = sizeof(float) * (c.parts_of_steps ? parts * double(c.partial_sums) : parts);
    // Kernels that read maps were fitted anew (99 layers, H200, 2026-11-27).
    const double adding = k.box_positions > 0 ? launch : launch + 1.5e-6;
    // In channels_first lanes store single floats where images have one position (k4 and k5, 100 to 1024 channels from 128 to 1024,
    // 32 to 128 images, TF32: seventeen times of 18 to 31 us; H200, 2026-12-01).
    const bool stores_single_floats = c.operation == Operation::input_gradient && !channels_innermost(k.input) &&
                                      k.output.type == ElementType::float32 && input_positions(c.problem) == 1;
    return adding + (stores_single_floats ? 1e-5 : 0) + written_and_read_time(bytes, H200::memory_bytes_per_second);
}

}  // namespace conv_transpose

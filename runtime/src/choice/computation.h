// A computation: a way to the result of a problem, which may be computed as another one, whose tensors lie in the same memory.
// Kernels see only that one, and know nothing of the first.
#ifndef CONV_TRANSPOSE_RUNTIME_COMPUTATION_H
#define CONV_TRANSPOSE_RUNTIME_COMPUTATION_H

#include <optional>

#include "choice/kernel_traits.h"
#include "problem/operand.h"

namespace conv_transpose {

/// How the weight of the problem that is computed lies in the caller's.
enum class WeightView {
    as_given,
    mirrored,  ///< its channels are exchanged, and every kernel is turned round
};

/// Neighbouring inputs of a row that are channels of the problem that is computed (input_cells.h).
struct InputCells {
    Problem given;
    int64_t inputs;    ///< of a cell
    int64_t channels;  ///< of an input, with those that fill up 16 bytes where it is packed
    /// Not 0: so many outputs of a row are channels, too, in channels_last.
    int64_t outputs = 0;
    /// Kernels begin so many positions later, where outputs that are joined, or stored at once, begin before the first.
    int64_t lead = 0;

    bool joins_outputs() const { return outputs > 0; }
};

/// A picture whose channels and positions change places.
struct TurnedPicture {
    int64_t images, channels, positions;

    int64_t elements() const { return images * channels * positions; }
    /// Of one channel, or one position, both layouts are the same.
    bool lies_otherwise() const { return images > 0 && channels > 1 && positions > 1; }
};

/// What each tap of this problem's weight makes of each input, in the order of the weight. A second pass adds what outputs, in that
/// layout, see of it (generators/sum_of_taps.cpp).
struct ProductsOfTaps {
    Problem given;
    Layout written;
};

/// What a kernel is to compute, and which tensors play its roles.
struct Computation {
    Operation operation;
    Problem problem;
    Operand read, written;
    WeightView weight = WeightView::as_given;
    /// What plays the weight's role: a weight gradient may be the forward operation of others.
    Operand weight_operand = Operand::weight;
    Operand gradient = Operand::output_gradient;  ///< what a weight gradient reads beside the input
    /// A split sum: a second pass adds so many parts. They are groups of the problem, each with its share of the summed
    /// channels, or parts of each group's steps, of which the problem tells nothing.
    int64_t partial_sums = 1;
    bool parts_of_steps = false;
    /// The forward operation is this problem's input gradient, whose output gradient is packed by phases: they are channels
    /// that `problem` sums over, at stride 1. Only for kernels that read packed channels.
    std::optional<Problem> by_phases{};
    /// `problem` sums over channels of neighbouring inputs. Only for kernels whose channels are phases along the width.
    std::optional<InputCells> cells{};
    /// The picture is packed before: channels innermost, each group's filled up with zeros (packed_row_channels). Only for
    /// kernels that read tensor maps.
    bool packed_rows = false;
    /// Such a picture has a row for every position of this problem's input, of what its taps see in the output gradient: they
    /// are channels of `problem`, whose weights lie as they did. In a weight gradient these taps are those of a kernel
    /// that is as long as the stride on the outermost axis: along that `problem` has a tap for each such cell, of which
    /// the last may have more positions than are left of the kernel's.
    std::optional<Problem> by_taps{};
    int64_t kernel_positions = 0;
    /// The kernel reads a region in `read_format`, or writes one in `written_format`: the caller's picture has the other layout,
    /// and a pass before, or after, turns it. A weight gradient reads the second as well. Only for kernels with an estimate, which
    /// tells whether that pays.
    std::optional<TurnedPicture> read_turned{}, written_turned{};

    /// `problem` has an output channel for each tap. Only for kernels with an estimate, of the forward operation.
    std::optional<ProductsOfTaps> of_taps{};

    /// In a weight gradient, of this problem, whose kernels are as large as their strides: what outer axes see are channels of
    /// `problem`, in the order of a weight in channels_first. Only for kernels that read pairs.
    std::optional<Problem> by_lines{};

    /// So many groups are one of the problem's, which has the weights between all of their channels. Of a weight gradient a second
    /// pass takes those that there are; else the others are zeros of the packed weight.
    int64_t joined_groups = 1;
    /// In a weight gradient the channels of so many neighbouring positions are those of one of the problem's. What each
    /// position makes of its own are parts of the sum, which lie along a diagonal.
    int64_t joined_positions = 1;

    /// How the tensors lie in memory.
    TensorFormat read_format{}, written_format{}, weight_format{};
    /// The problem whose neighbours `cells` joins.
    const Problem &problem_without_cells() const { return cells ? cells->given : problem; }

    /// Elements from a pixel to the next, where pixels are wider than their channels; else 0.
    int64_t read_pixel = 0, written_pixel = 0;
    bool has_wide_pixels() const { return read_pixel != 0 || written_pixel != 0; }

    /// Groups of the problem that are parts of one.
    int64_t parts_in_groups() const { return parts_of_steps ? 1 : partial_sums; }

    /// Channels of the result, of all groups that are left when the parts are added.
    int64_t result_channels() const {
        return (operation == Operation::forward ? problem.out_channels : problem.in_channels) / parts_in_groups();
    }
};

/// The phases that by_phases makes channels of; 1 without.
int64_t summed_phases(const Computation &computation);

/// Whether no phases of the forward operation are neighbours in pairs: those of an odd stride lie in a row of the output by single
/// elements.
bool has_single_phases(const Problem &);

/// The weight as a picture: its input channels are images.
TurnedPicture weight_picture(const Computation &computation);

/// The picture that is summed over has so many.
int64_t read_positions(const Computation &computation);

/// Whether one of its pictures has channels innermost.
bool has_channels_last(const Computation &computation);

}  // namespace conv_transpose

#endif

// What tensor maps bring to implicit matrix products (algorithm/implicit_gemm.h): where the box of an operand begins, and the
// element of it that is meant (compiler/passes/tensor_boxes.h).
#ifndef CONV_TRANSPOSE_GENERATORS_IMPLICIT_GEMM_BOXES_H
#define CONV_TRANSPOSE_GENERATORS_IMPLICIT_GEMM_BOXES_H

#include <vector>

#include "Halide.h"
#include "algorithm/implicit_gemm.h"
#include "compiler/passes/tensor_boxes.h"

namespace conv_transpose {

/// Tensors are the generator's, of as many axes as `rank`.
class ImplicitGemmBoxes {
  public:
    ImplicitGemmBoxes(const GemmFuncs &f, int rank) : f_(f), rank_(rank) {}

    /// A run of positions of a row, each of which sees two neighbours of some rows of channels: a block of the picture.
    template <class Picture>
    TensorBox pairs(const implicit_gemm::Geometry &g, const Picture &picture) const {
        using namespace Halide;
        const GemmVars &v = f_.v;
        const PerAxis word = digits(v.k_group, g.rows_of_pairs);  // the rows that a position sees, channel
        const Expr first = g.group * picture.dim(rank_).extent() + g.chunk * (g.steps.chunk / product(g.rows_of_pairs));
        const auto promised = [&](const Expr &at, int d) { return unsafe_promise_clamped(at, 0, picture.dim(d).extent() - 1); };
        std::vector<Expr> begin{2 * g.cell_at[0]}, index{promised(begin[0] + 2 * v.value, 0)};
        for (int d = 1; d < rank_; d++) {
            begin.push_back(g.cell_at[d] * g.rows_of_pairs[d - 1]);
            index.push_back(promised(begin[d] + word[d - 1], d));
        }
        begin.insert(begin.end(), {first, g.image});
        index.insert(index.end(), {promised(first + word.back(), rank_), g.group, promised(g.image, rank_ + 2)});
        return {picture(index), begin, {}};
    }

    /// Where a tensor map finds the element: the map begins at the picture's first element, and has the channels of all
    /// groups side by side. It rounds to TF32 itself. In channels_first a box is of a run of positions and a chunk of channels.
    template <class Picture>
    TensorBox picture(const implicit_gemm::Geometry &g, const Picture &picture, const Halide::Expr &element) const {
        TensorBox box{element, {g.group * picture.dim(rank_).extent() + g.chunk * g.steps.chunk}, g.offset};
        if (f_.position_run > 0) {
            for (int d = 0; d < rank_; d++)
                box.coordinates.insert(d == 0 ? box.coordinates.begin() : box.coordinates.end(),
                                       g.cell_at[d] + g.offset[d] - picture.dim(d).min());
            box.coordinates.push_back(g.image), box.offsets.clear();
            return box;
        }
        for (int d = 0; d < rank_; d++) box.coordinates.push_back(g.cell_at[d] - picture.dim(d).min());
        box.coordinates.push_back(g.image);
        return box;
    }

    /// Weights as they are given, in channels_last, are a picture of kernel positions for every input channel, whose channels are
    /// the output's.
    template <class Weight>
    TensorBox weights(const implicit_gemm::Geometry &g, const Weight &weight) const {
        return f_.weight_run > 0 ? computed_runs(g, weight) : summed_rows(g, weight);
    }

    /// A tile of input channels, which are computed, each with a chunk of those that are summed over.
    template <class Weight>
    TensorBox summed_rows(const implicit_gemm::Geometry &g, const Weight &weight) const {
        using namespace Halide;
        const GemmVars &v = f_.v;
        const auto promised = [&](const Expr &at, int d) {
            return unsafe_promise_clamped(at, 0, weight.dim(d).extent() - 1);
        };
        const int elements = f_.in_pairs ? 2 : 1;  // of a value
        const Expr first = g.chunk * (g.steps.chunk * elements),
                   summed = first + (v.k_group * f_.values() + v.value) * elements;
        const Expr channels = weight.dim(rank_ + 1).extent();
        std::vector<Expr> index;
        for (int d = 0; d < rank_; d++) index.push_back(promised(g.kernel[d], d));
        index.insert(index.end(), {promised(summed, rank_), promised(v.channel, rank_ + 1), g.group});
        const Expr element = weight(index);
        // Groups that are parts of a sum follow each other inside of the channels that they share.
        const Expr of_group = weight.dim(rank_).extent();
        const Expr is_part = weight.dim(rank_ + 2).stride() == of_group;
        TensorBox box{select(summed < of_group, element, Internal::make_zero(element.type())),
                      {first + select(is_part, g.group * of_group, 0)}, g.kernel, 1};
        box.coordinates.resize(rank_ + 1, 0);
        box.coordinates.push_back(select(is_part, 0, g.group * channels) + v.channel);
        return box;
    }

    /// An element of the output with how the copy engine stores it, if tiles are: in channels_last. A row of the map has the cells
    /// of a line of the output, of which each has the channels of a phase, or of all phases of the width; where all phases are
    /// one, a row has all positions.
    template <class Output>
    Halide::Expr stored(const implicit_gemm::Geometry &g, const Output &output, const Halide::Expr &value,
                        const implicit_gemm::StoredElement &at) const {
        using namespace Halide;
        if (f_.stored_channels == 0) return value;
        const auto extent = [&](int d) { return Expr(output.dim(d).extent()); };
        const auto stride = [&](int d) { return Expr(output.dim(d).stride()); };
        const int group = rank_ + 1, image = rank_ + 2;
        const Expr channels = extent(rank_), groups = extent(group), one_phase = product(g.strides) == 1;
        Expr line = at.image, lines = extent(image);
        Expr lies_so = stride(image) == stride(rank_ - 1) * extent(rank_ - 1) && stride(group) == channels;
        for (int d = rank_ - 1; d > 0; d--) {
            lines = lines * extent(d);
            line = line * extent(d) + at.cell[d] * g.strides[d] + at.phase[d];
            lies_so = lies_so && stride(d) == stride(d - 1) * extent(d - 1);
        }
        const bool phases_in_runs = !g.channel_phases.empty();
        const Expr run = phases_in_runs ? at.group : at.phase[0] * groups + at.group,
                   channel = phases_in_runs ? at.phase[0] * channels + at.channel : at.channel;
        // Channels of a box are those of one phase of the other axes; beyond the last phase there is no row.
        Expr lines_are_cut = stride(0) == channels * groups && g.cells[0] % 8 == 0;
        if (phases_in_runs)
            lines_are_cut = lines_are_cut && channels * g.strides[0] % f_.stored_channels == 0 && groups == 1;
        const auto fills = [&](int positions) { return g.cells[0] % positions == 0; };
        const Expr positions = select(fills(64), 64, fills(32), 32, fills(16), 16, 8);
        const auto of_channel = [&](const Expr &line, const Expr &none) {
            return phases_in_runs ? select(at.is_channel, line, none) : line;
        };
        const auto where_one = [&](const Expr &flat, const Expr &in_lines) { return simplify(select(one_phase, flat, in_lines)); };
        return stored_in_box({value,
                              {channel, run, where_one(at.position, at.cell[0]),
                               where_one(of_channel(0, 1), of_channel(line, lines))},
                              where_one(64, positions),
                              simplify(at.whole_cells && lies_so && (one_phase || lines_are_cut)),
                              f_.maps_weights ? 2 : 1});
    }

  private:
    /// A chunk of input channels, each with a run of those that are computed.
    template <class Weight>
    TensorBox computed_runs(const implicit_gemm::Geometry &g, const Weight &weight) const {
        using namespace Halide;
        const GemmVars &v = f_.v;
        const Expr first = v.channel * f_.weight_run, channel = first + v.value;
        const Expr summed = g.chunk * g.steps.chunk + v.k_group, of_group = weight.dim(rank_ + 1).extent();
        std::vector<Expr> index;
        for (int d = 0; d < rank_; d++) index.push_back(unsafe_promise_clamped(g.kernel[d], 0, weight.dim(d).extent() - 1));
        index.push_back(unsafe_promise_clamped(channel, 0, weight.dim(rank_).extent() - 1));
        index.insert(index.end(), {unsafe_promise_clamped(summed, 0, of_group - 1), g.group});
        const Expr element = weight(index), inside = channel < weight.dim(rank_).extent() && summed < of_group;
        TensorBox box{select(inside, element, Internal::make_zero(element.type())), {first}, g.kernel, 1};
        box.coordinates.resize(rank_ + 1, 0);
        box.coordinates.push_back(g.group * of_group + summed);
        return box;
    }

    const GemmFuncs &f_;
    const int rank_;
};

}  // namespace conv_transpose

#endif

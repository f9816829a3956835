// Where an implicit matrix product reads and stores: its positions, phases and steps, of the forward operation (a gather) and
// of the input gradient (a strided convolution).
#ifndef CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_GEOMETRY_H
#define CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_GEOMETRY_H

#include <tuple>
#include <vector>

#include "Halide.h"
#include "algorithm/gather.h"
#include "algorithm/implicit_gemm_funcs.h"
#include "algorithm/per_axis.h"
#include "algorithm/strided_axis.h"

namespace conv_transpose::implicit_gemm {

/// Steps of the sum. Taps are innermost: what they see of a chunk of channels overlaps, and is still in a cache.
struct Steps {
    PerAxis taps;   ///< of a phase; there may be none
    Expr channels;  ///< that are summed over
    int chunk;

    Expr chunks() const { return rounded_up(channels, chunk); }
    Expr count() const { return product(taps) * chunks(); }

    struct Step {
        PerAxis tap;
        Expr chunk;
    };
    Step operator[](const Expr &step) const {
        PerAxis divisors;  // without taps there are no steps either
        for (const Expr &t : taps) divisors.push_back(Halide::Internal::is_const_one(t) ? t : max(t, 1));
        PerAxis all = digits(step, divisors);
        const Expr of_chunk = Halide::unsafe_promise_clamped(all.back(), 0, chunks() - 1);
        all.pop_back();
        return {all, of_chunk};
    }
};

/// What an operation makes of positions, phases and steps: where a step of a position reads, and what it stores.
struct Geometry {
    PerAxis cells;    ///< of a phase; of a window, with those that are not stored
    PerAxis phases;   ///< that there are, of cells of `strides` outputs
    PerAxis first_phases;  ///< which is counted first, where GemmFuncs::longest_phases_first
    PerAxis strides;
    Expr images;
    Steps most, steps;  ///< of any phase, of v.phase
    PerAxis at;         ///< in the picture that is summed over; of a window, what its last tap sees
    /// The position is also a sum of these: `cell_at` does not change with steps and phases, and offsets are from 0 on.
    PerAxis cell_at, offset;
    Expr image;
    PerAxis kernel;     ///< position
    PerAxis rows_of_pairs;  ///< which a position sees of a channel, on all axes but the first (GemmFuncs::in_pairs)
    Expr chunk;
    /// The picture's, where kernel positions are channels of the product, too, and whether there is such a one; else undefined.
    Expr picture_channel, is_summed;
    /// Phases that are channels of the product, 1 of axes whose phases have blocks of their own; none where all have. They
    /// run faster than the output's channels, x first, unless neighbouring channels are neighbours in the output. On the
    /// first axes, those of such phases, the first cell begins so many positions before the output.
    PerAxis channel_phases, early;

    /// Positions come in runs (GemmFuncs::position_run): of rows of cells, which are filled up, or of all cells of an image,
    /// which lie in one row of the picture. So many of them, `position_unit`, are of one row of cells in any case.
    int position_run = 0, position_unit = 1;
    bool in_one_row = false;
    /// The first of a run that is stored, where not all are (GemmFuncs::run_margin). It lies `run_lead` before the first cell.
    int run_margin = 0;
    Expr run_begin = 0, run_lead = 0;

    /// `group` is the operands'. An output of more groups than they have holds parts of sums, all groups of one part
    /// after the other; a part is `part_steps` steps from `first_step` on, the last maybe fewer.
    Expr group, first_step = 0, part_steps;

    /// Cuts the sum into as many parts as there are groups of the output for each of the operands; not if those are undefined.
    void cut_sum(const GemmVars &v, const Expr &groups, const Expr &written_groups) {
        group = v.group, part_steps = steps.count();
        if (!groups.defined()) return;
        const Expr part = unsigned_quotient(v.group, groups), parts = unsigned_quotient(written_groups, groups);
        const Expr length = unsigned_quotient(steps.count() + parts - 1, parts);
        group = Halide::unsafe_promise_clamped(v.group - part * groups, 0, groups - 1);
        first_step = part * length;
        part_steps = min(length, steps.count() - first_step);
    }

    /// The product has so many of them.
    Expr computed_channels(const Expr &channels) const { return channels * product(channel_phases); }

    Expr positions() const { return position_run == 0 ? product(cells) * images : runs_of_image() * images * position_run; }

    /// The cell at a position, on each axis, and its image.
    PerAxis cell(const Expr &position) const {
        return position_run == 0 ? digits(position, cells) : cell(position - position % position_unit, position % position_unit);
    }

    /// The same of a position in a unit, which begins at another.
    PerAxis cell(const Expr &unit, const Expr &within) const {
        PerAxis counted = cells, all;
        if (run_margin > 0) {
            counted[0] = runs_of_row();
            all = digits(unit / position_run, counted);
            all[0] = all[0] * stored_of_run() + within - run_begin - run_lead;
            return all;
        }
        counted[0] = rounded_up(cells[0], position_unit);
        if (in_one_row) {
            const Division of_image = divide(unit / position_unit, runs_of_image() * (position_run / position_unit));
            counted.pop_back();
            all = digits(of_image.rest, counted);
            all.push_back(of_image.quotient);
        } else {
            all = digits(unit / position_unit, counted);
        }
        all[0] = all[0] * position_unit + within;
        return all;
    }

    /// Where a position of a run is in the picture as it is read, and its image.
    PerAxis place(const Expr &run, const Expr &within) const {
        if (!in_one_row) return cell(run * position_run, within);
        const Division of_image = divide(run, runs_of_image());
        PerAxis all(cells.size(), 0);
        all[0] = of_image.rest * position_run + within;
        all.push_back(of_image.quotient);
        return all;
    }

    /// Whether cells fill all runs.
    Expr runs_are_whole() const { return (in_one_row ? product(cells) : cells[0]) % position_run == 0; }

    int stored_of_run() const { return position_run - 2 * run_margin; }

  private:
    Expr runs_of_image() const {
        if (in_one_row) return rounded_up(product(cells), position_run);
        PerAxis rows = cells;
        rows[0] = runs_of_row();
        return product(rows);
    }
    Expr runs_of_row() const { return rounded_up(cells[0] + run_lead, stored_of_run()); }
};

/// Taps of a phase: which kernel position the first is, how far its input is from the cell, how many are live.
struct LiveTaps {
    PerAxis live, shift, first;
};

/// Phases of the first `channel_axes` are channels, of which every tap is live.
inline LiveTaps live_taps(const Geometry &g, const std::vector<GatherAxis> &axes, int channel_axes, const PerAxis &most,
                          const Expr &number_of_phase) {
    const PerAxis phase = phase_digits(number_of_phase, g.phases, g.first_phases);
    LiveTaps taps;
    for (int d = 0; d < static_cast<int>(axes.size()); d++) {
        if (d < channel_axes) {
            taps.live.push_back(most[d]), taps.shift.push_back(0), taps.first.push_back(0);
            continue;
        }
        const GatherAxis::Phase of_phase = axes[d].run_time_phase(phase[d]);
        taps.live.push_back(of_phase.taps), taps.shift.push_back(of_phase.shift), taps.first.push_back(of_phase.first);
    }
    return taps;
}

/// Adds an axis of a gather's cells and phases, and returns how many taps a phase has at the most.
inline Expr add_gather_axis(Geometry &g, const GatherAxis &axis, const Expr &padding_phase, const Expr &extent, bool in_channels,
                            bool has_channel_axes, bool longest_phases_first) {
    const Expr stride = axis.stride();
    g.strides.push_back(stride);
    g.cells.push_back(rounded_up(extent, stride));
    // A stride that goes beyond the output's end has only those phases that there are.
    const bool is_one = in_channels || Halide::Internal::is_const_one(stride);
    g.phases.push_back(is_one ? Expr(1) : min(stride, extent));
    if (has_channel_axes) g.channel_phases.push_back(in_channels ? stride : 1);
    if (in_channels) g.early.push_back(padding_phase);
    // That of the kernel's first position has the most taps, and the next ones no more.
    if (longest_phases_first)
        g.first_phases.push_back(is_one ? Expr(0) : select(padding_phase > 0, max(g.phases.back() - padding_phase, 0), 0));
    return in_channels ? rounded_up(axis.kernel(), stride) : axis.taps();
}

/// The forward operation's, a gather. Phases of the first `channel_axes` are channels of the product: that is a convolution
/// of stride 1, whose weights are zero where a phase lacks a tap. Its cells begin with whole ones, `padding_phase` positions
/// before the output, so that all phases of a cell see the same positions; a stride above 1 has a dilation of 1 there. Each
/// phase of other axes has its own live taps. A row of cells has `window - 1` more than are stored, so that all taps of a
/// window see neighbours of one row. In a picture as it lies, cells of one tap, of all phases, lie in one row. With
/// `operand_groups` the sum may be cut. `run_lead` is for runs of which taps are rows.
template <class Output>
Geometry gather_geometry(const GemmFuncs &f, const std::vector<GatherAxis> &axes, const PerAxis &padding_phase,
                         int channel_axes, const Output &output, const Expr &summed, int chunk,
                         const Expr &operand_groups = Expr(), const Expr &run_lead = 0) {
    const GemmVars &v = f.v;
    const int rank = static_cast<int>(axes.size()), window = f.window;
    Geometry g;
    g.position_run = f.position_run, g.position_unit = f.position_unit;
    if (f.row_taps > 1) g.run_margin = f.run_margin, g.run_begin = f.run_margin + f.centre, g.run_lead = run_lead;
    g.in_one_row = f.position_run > 0 && channel_axes > 0;
    g.images = output.dim(rank + 2).extent();
    PerAxis most;
    for (int d = 0; d < rank; d++)
        most.push_back(add_gather_axis(g, axes[d], padding_phase[d], output.dim(d).extent(), d < channel_axes, channel_axes > 0,
                                       f.longest_phases_first));
    auto [live, shift, first] = live_taps(g, axes, channel_axes, most, v.phase);
    const PerAxis all_taps = most;
    if (window > 1) {
        g.cells[0] = g.cells[0] + (window - 1);
        // Weights of taps beyond the last are zero where they are not packed so.
        const int filled_up = f.format.on_tensor_cores() ? 0 : window - 1;
        most[0] = (most[0] + filled_up) / window, live[0] = (live[0] + filled_up) / window;
    }
    if (f.row_taps > 1) most[0] = live[0] = 1;  // step
    const bool in_runs = f.position_run > 0;  // which v.position counts
    const PerAxis cell = in_runs ? g.place(v.position, v.value) : g.cell(v.position);
    const PerAxis first_cell = in_runs ? g.place(v.position, 0) : cell;
    g.most = {most, summed, chunk}, g.steps = {live, summed, chunk};
    g.cut_sum(v, operand_groups, output.dim(rank + 1).extent());
    const Steps::Step step = g.steps[v.step + g.first_step];
    for (int d = 0; d < rank; d++) {
        const bool in_window = d == 0 && window > 1, in_channels = d < channel_axes, in_rows = d == 0 && f.row_taps > 1;
        const Expr last = in_window ? step.tap[d] * window + (window - 1) : step.tap[d];
        const Expr tap = in_window ? step.tap[d] * window + v.k_group % window
                         : in_rows ? v.channel / f.row_channels % f.row_taps
                                   : step.tap[d];
        const Expr least = in_channels ? -((all_taps[d] - 1) * axes[d].input_step())
                           : in_rows   ? Expr(0)
                                       : axes[d].least_input();
        const Expr at = in_rows ? Expr(0) : shift[d] - last * axes[d].input_step();
        g.at.push_back(cell[d] + at);
        g.cell_at.push_back(first_cell[d] + least);
        g.offset.push_back(at - least);
        g.kernel.push_back(in_channels ? tap : first[d] + tap * axes[d].tap_step());
    }
    g.image = cell.back();
    g.chunk = step.chunk;
    return g;
}

/// Where kernel positions are summed over like channels: the position and the channel at 16 bytes of an operand, and whether
/// there are such ones. In channels_last channels run fastest, and GemmFuncs::given_channels of them are of one position; else
/// last.
inline std::tuple<PerAxis, Expr, Expr> summed_tap(const GemmFuncs &f, const Expr &k_group, const PerAxis &kernel_size,
                                                  const Expr &channels) {
    const int values = f.values();
    if (f.input_layout != PictureLayout::channels_last) {
        PerAxis tap = digits(k_group * values + f.v.value, kernel_size, divide_small);
        const Expr channel = tap.back();
        tap.pop_back();
        return {tap, channel, channel < channels};
    }
    const int together = f.given_channels;
    PerAxis counted{channels / together};
    counted.insert(counted.end(), kernel_size.begin(), kernel_size.end() - 1);
    PerAxis tap = digits(k_group * (values / together) + (together < values ? f.v.value / together : 0), counted, divide_small);
    const Expr channel = tap[0] * together + f.v.value % together;
    tap.erase(tap.begin());
    return {tap, channel, tap.back() < kernel_size.back()};
}

/// The input gradient's, of which every output is a cell, and which has one phase.
template <class Output>
Geometry geometry_of_outputs(const GemmFuncs &f, const Output &output, int rank) {
    Geometry g;
    g.position_run = f.position_run, g.position_unit = f.position_unit;
    g.images = output.dim(rank + 2).extent();
    for (int d = 0; d < rank; d++) {
        g.strides.push_back(1);
        g.phases.push_back(1);
        g.cells.push_back(output.dim(d).extent());
    }
    return g;
}

/// The input gradient's where kernels are as large as strides, two along the width: a chunk is of words (GemmFuncs::in_pairs), of
/// rows and channels, in the order of the weight in channels_first. A box has a run of positions.
template <class Output>
Geometry pairs_geometry(const GemmFuncs &f, const std::vector<StridedAxis> &axes, const Output &output, const Expr &summed,
                        int chunk) {
    const int rank = static_cast<int>(axes.size());
    Geometry g = geometry_of_outputs(f, output, rank);
    for (int d = 1; d < rank; d++) g.rows_of_pairs.push_back(axes[d].kernel);
    g.most = g.steps = Steps{PerAxis(rank, 1), summed * product(g.rows_of_pairs), chunk};
    g.cut_sum(f.v, Expr(), Expr());
    const Steps::Step step = g.steps[f.v.step];
    g.kernel = step.tap, g.chunk = step.chunk;
    g.cell_at = g.place(f.v.position, 0);
    g.image = g.cell_at.back();
    return g;
}

/// The input gradient's, a strided convolution: every tap is live everywhere. With taps as
/// channels a chunk is of channels and kernel positions together, in the order of the weight: few channels fill it, too.
/// With `operand_groups` the sum may be cut.
template <class Output>
Geometry strided_geometry(const GemmFuncs &f, const std::vector<StridedAxis> &axes, const Output &output,
                          const Expr &summed, int chunk, bool taps_as_channels = false,
                          const Expr &operand_groups = Expr()) {
    const GemmVars &v = f.v;
    const int rank = static_cast<int>(axes.size());
    Geometry g = geometry_of_outputs(f, output, rank);
    PerAxis kernel_size;
    for (const StridedAxis &axis : axes) kernel_size.push_back(axis.kernel);
    const PerAxis none(rank, 1);
    g.most = g.steps = taps_as_channels ? Steps{none, summed * product(kernel_size), chunk} : Steps{kernel_size, summed, chunk};
    g.cut_sum(v, operand_groups, output.dim(rank + 1).extent());
    const PerAxis cell = digits(v.position, g.cells);
    const Steps::Step step = g.steps[v.step + g.first_step];
    g.kernel = step.tap, g.chunk = step.chunk;
    PerAxis tap = step.tap;
    if (taps_as_channels) {
        std::tie(tap, g.picture_channel, g.is_summed) =
            summed_tap(f, step.chunk * (chunk / f.values()) + v.k_group, kernel_size, summed);
        if (f.given_channels > 0) g.kernel = tap;
    }
    for (int d = 0; d < rank; d++) {
        g.at.push_back(axes[d].output(cell[d], tap[d]));
        g.cell_at.push_back(cell[d] * axes[d].stride);
        g.offset.push_back(tap[d] * axes[d].dilation);
    }
    g.image = cell.back();
    return g;
}

}  // namespace conv_transpose::implicit_gemm

#endif

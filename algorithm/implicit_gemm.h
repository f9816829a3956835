// The forward operation and the input gradient as a matrix product without the matrices, every attribute a run-time
// value, of any rank, element format and layout, on CUDA cores and on tensor cores.
//
// Rows or columns of the product are the positions of a phase, counted through all images, so that small and narrow
// pictures fill tiles; the others are channels. The sum runs in steps, each one live tap of a chunk of channels. What a
// step multiplies are two matrices that a schedule stages, and only their elements know taps, strides and pictures.
#ifndef CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_H

#include <functional>
#include <tuple>
#include <vector>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/fast_division.h"
#include "algorithm/gather.h"
#include "algorithm/implicit_gemm_funcs.h"
#include "algorithm/strided_axis.h"
#include "algorithm/tensor_layout.h"

namespace conv_transpose::implicit_gemm {

using Halide::Expr;
/// One value for each axis, x first.
using PerAxis = std::vector<Expr>;

inline Expr product(const PerAxis &factors) {
    Expr all = 1;
    for (const Expr &factor : factors) all = all * factor;
    return all;
}
inline Expr rounded_up(const Expr &a, const Expr &b) { return (a + b - 1) / b; }

/// Takes a number apart that counts through `extents`, the first fastest; the last entry is what is left.
inline PerAxis digits(const Expr &number, const PerAxis &extents, Division (*divided)(const Expr &, const Expr &) = divide) {
    PerAxis all;
    Expr rest = number;
    for (const Expr &extent : extents) {
        if (Halide::Internal::is_const_one(extent)) {
            all.push_back(0);
            continue;
        }
        const Division d = divided(rest, extent);
        all.push_back(d.rest);
        rest = d.quotient;
    }
    all.push_back(rest);
    return all;
}

/// The same of a phase, which does not change in a block's loop: Halide takes plain divisions out of that.
inline PerAxis phase_digits(const Expr &phase, const PerAxis &phases) {
    using Halide::cast;
    PerAxis all;
    Expr rest = cast<uint32_t>(phase);
    for (std::size_t d = 0; d < phases.size(); d++) {
        const Expr extent = cast<uint32_t>(phases[d]);
        all.push_back(cast<int>(d + 1 < phases.size() ? rest % extent : rest));
        rest = rest / extent;
    }
    return all;
}

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
    PerAxis strides;
    Expr images;
    Steps most, steps;  ///< of any phase, of v.phase
    PerAxis at;         ///< in the picture that is summed over; of a window, what its last tap sees
    /// The same as a sum: `cell_at` does not change with steps and phases, and offsets are from 0 on.
    PerAxis cell_at, offset;
    Expr image;
    PerAxis kernel;     ///< position
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

    /// Of the operands. An output of more groups than they have holds parts of sums, of one part all groups after the other;
    /// a part is `part_steps` steps from `first_step` on, the last maybe fewer.
    Expr group, first_step = 0, part_steps;

    /// Cuts the sum into as many parts as there are groups of the output for each of the operands; not if those are undefined.
    void cut_sum(const GemmVars &v, const Expr &groups, const Expr &written_groups) {
        using Halide::cast;
        group = v.group, part_steps = steps.count();
        if (!groups.defined()) return;
        const auto divided = [](const Expr &a, const Expr &b) { return cast<int>(cast<uint32_t>(a) / cast<uint32_t>(b)); };
        const Expr part = divided(v.group, groups), length = divided(steps.count() + divided(written_groups, groups) - 1,
                                                                     divided(written_groups, groups));
        group = Halide::unsafe_promise_clamped(v.group - part * groups, 0, groups - 1);
        first_step = part * length;
        part_steps = min(length, steps.count() - first_step);
    }

    /// Of the product.
    Expr computed_channels(const Expr &channels) const { return channels * product(channel_phases); }

    Expr positions() const { return position_run == 0 ? product(cells) * images : runs_of_image() * images * position_run; }

    /// The cell at a position, on each axis, and its image.
    PerAxis cell(const Expr &position) const {
        return position_run == 0 ? digits(position, cells) : cell(position - position % position_unit, position % position_unit);
    }

    /// The same of a position in a unit, which begins at another.
    PerAxis cell(const Expr &unit, const Expr &within) const {
        PerAxis counted = cells, all;
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

  private:
    Expr runs_of_image() const {
        if (in_one_row) return rounded_up(product(cells), position_run);
        PerAxis rows = cells;
        rows[0] = rounded_up(cells[0], position_run);
        return product(rows);
    }
};

/// The forward operation's, a gather. Phases of the first `channel_axes` are channels of the product: that is a convolution
/// of stride 1, whose weights are zero where a phase lacks a tap. Its cells begin with whole ones, `padding_phase` positions
/// before the output, so that all phases of a cell see the same positions; a stride above 1 has a dilation of 1 there. Each
/// phase of other axes has its own live taps. A row of cells has `window - 1` more than are stored, so that all taps of a
/// window see neighbours of one row. Of a picture as it lies cells of one tap, of all phases, lie in one row.
/// With `operand_groups` the sum may be cut.
template <class Output>
Geometry gather_geometry(const GemmFuncs &f, const std::vector<GatherAxis> &axes, const PerAxis &padding_phase,
                         int channel_axes, const Output &output, const Expr &summed, int chunk,
                         const Expr &operand_groups = Expr()) {
    const GemmVars &v = f.v;
    const int rank = static_cast<int>(axes.size()), window = f.window;
    Geometry g;
    g.position_run = f.position_run, g.position_unit = f.position_unit;
    g.in_one_row = f.position_run > 0 && channel_axes > 0;
    g.images = output.dim(rank + 2).extent();
    PerAxis most, live, shift, first;
    for (int d = 0; d < rank; d++) {
        const bool in_channels = d < channel_axes;
        const Expr stride = axes[d].stride(), extent = output.dim(d).extent();
        g.strides.push_back(stride);
        g.cells.push_back(rounded_up(extent, stride));
        // Of a stride beyond the output's end only those that there are.
        const bool is_one = in_channels || Halide::Internal::is_const_one(stride);
        g.phases.push_back(is_one ? Expr(1) : min(stride, extent));
        most.push_back(in_channels ? rounded_up(axes[d].kernel(), stride) : axes[d].taps());
        if (channel_axes > 0) g.channel_phases.push_back(in_channels ? stride : 1);
        if (in_channels) g.early.push_back(padding_phase[d]);
    }
    const PerAxis phase = phase_digits(v.phase, g.phases);
    for (int d = 0; d < rank; d++) {
        if (d < channel_axes) {
            live.push_back(most[d]), shift.push_back(0), first.push_back(0);
            continue;
        }
        const GatherAxis::Phase of_phase = axes[d].run_time_phase(phase[d]);
        live.push_back(of_phase.taps), shift.push_back(of_phase.shift), first.push_back(of_phase.first);
    }
    const PerAxis all_taps = most;
    if (window > 1) {
        g.cells[0] = g.cells[0] + (window - 1);
        // Weights of taps beyond the last are zero where they are not packed so.
        const int filled_up = f.format.on_tensor_cores() ? 0 : window - 1;
        most[0] = (most[0] + filled_up) / window, live[0] = (live[0] + filled_up) / window;
    }
    const bool in_runs = f.position_run > 0;  // which v.position counts
    const PerAxis cell = in_runs ? g.place(v.position, v.value) : g.cell(v.position);
    const PerAxis first_cell = in_runs ? g.place(v.position, 0) : cell;
    g.most = {most, summed, chunk}, g.steps = {live, summed, chunk};
    g.cut_sum(v, operand_groups, output.dim(rank + 1).extent());
    const Steps::Step step = g.steps[v.step + g.first_step];
    for (int d = 0; d < rank; d++) {
        const bool in_window = d == 0 && window > 1, in_channels = d < channel_axes;
        const Expr last = in_window ? step.tap[d] * window + (window - 1) : step.tap[d];
        const Expr tap = in_window ? step.tap[d] * window + v.k_group % window : step.tap[d];
        const Expr least = in_channels ? -((all_taps[d] - 1) * axes[d].input_step()) : axes[d].least_input();
        const Expr at = shift[d] - last * axes[d].input_step();
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

/// The input gradient's, a strided convolution: every tap is live everywhere, and there is one phase. With taps as
/// channels a chunk is of channels and kernel positions together, in the order of the weight: few channels fill it, too.
/// With `operand_groups` the sum may be cut.
template <class Output>
Geometry strided_geometry(const GemmFuncs &f, const std::vector<StridedAxis> &axes, const Output &output,
                          const Expr &summed, int chunk, bool taps_as_channels = false,
                          const Expr &operand_groups = Expr()) {
    const GemmVars &v = f.v;
    const int rank = static_cast<int>(axes.size());
    Geometry g;
    g.images = output.dim(rank + 2).extent();
    PerAxis kernel_size;
    for (int d = 0; d < rank; d++) {
        g.strides.push_back(1);
        g.phases.push_back(1);
        g.cells.push_back(output.dim(d).extent());
        kernel_size.push_back(axes[d].kernel);
    }
    const PerAxis none(rank, 1);
    g.most = g.steps = taps_as_channels ? Steps{none, summed * product(kernel_size), chunk} : Steps{kernel_size, summed, chunk};
    g.cut_sum(v, operand_groups, output.dim(rank + 1).extent());
    const PerAxis cell = digits(v.position, g.cells);
    const Steps::Step step = g.steps[v.step + g.first_step];
    g.kernel = step.tap, g.chunk = step.chunk;
    PerAxis tap = step.tap;
    if (taps_as_channels) {
        std::tie(tap, g.picture_channel, g.is_summed) = summed_tap(f, step.chunk * (chunk / f.values()) + v.k_group, kernel_size, summed);
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

/// How a picture is read.
struct PictureRead {
    /// No chunk has channels beyond the last.
    bool whole_chunks;
    /// What is not inside is not loaded, as copies to shared memory are asynchronous (compiler/passes/async_copies.h);
    /// otherwise it is, from the nearest place that there is.
    bool asynchronous;
};

/// An element of a step at a position; zero outside of the picture, and in channels beyond the last.
template <class Tensor>
Expr picture_or_zero(const GemmFuncs &f, const Tensor &picture, const Geometry &g, const PictureRead &read) {
    using namespace Halide;
    const GemmVars &v = f.v;
    const int rank = static_cast<int>(g.at.size()), values = f.values();
    const bool in_rows = f.input_layout == PictureLayout::channel_rows;
    const auto limited = [&](const Expr &at, const Expr &min, const Expr &max) {
        return read.asynchronous ? unsafe_promise_clamped(at, min, max) : clamp(at, min, max);
    };
    // One comparison tells both ends: below the first, an unsigned distance is large.
    const auto is_inside = [](const Expr &at, const Expr &min, const Expr &extent) {
        return cast<uint32_t>(at - min) < cast<uint32_t>(extent);
    };
    Expr inside = Internal::const_true();
    std::vector<Expr> index;
    for (int d = 0; d < rank; d++) {
        const int pitch = in_rows && d == 0 ? values : 1;
        const Expr min = picture.dim(d).min() / pitch, extent = picture.dim(d).extent() / pitch;
        inside = inside && is_inside(g.at[d], min, extent);
        const Expr at = limited(g.at[d], min, min + extent - 1);
        index.push_back(pitch == 1 ? at : at * pitch + v.value);
    }
    const Expr images = picture.dim(rank + 2).extent(), channels = picture.dim(rank).extent();
    if (read.asynchronous) inside = inside && g.image < images;
    const bool in_runs = f.position_run > 0;
    const Expr first = g.chunk * g.steps.chunk, in_chunk = in_runs ? Expr(v.k_group) : v.k_group * values + v.value;
    if (g.picture_channel.defined()) {
        const Expr channel = read.asynchronous ? g.picture_channel : min(g.picture_channel, channels - 1);
        index.push_back(unsafe_promise_clamped(channel, 0, channels - 1));
        inside = inside && g.is_summed;
    } else if (in_rows) {
        index.push_back(unsafe_promise_clamped(g.chunk * (g.steps.chunk / values) + v.k_group, 0, channels - 1));
    } else {
        const Expr channel = read.whole_chunks || read.asynchronous ? first + in_chunk : min(first + in_chunk, channels - 1);
        index.push_back(unsafe_promise_clamped(channel, 0, channels - 1));
    }
    index.push_back(g.group);
    index.push_back(limited(g.image, 0, images - 1));
    const Expr element = picture(index), zero = Internal::make_zero(element.type());
    if (read.whole_chunks || in_rows || g.picture_channel.defined()) return select(inside, element, zero);
    // Then each of the channels at a place is tested once, whatever else is tested of the place. Whole rows of 16 bytes
    // are inside or outside together.
    const Expr left = select(inside, channels - first, 0);
    const bool whole_rows = f.input_layout == PictureLayout::channels_last;
    return select((whole_rows ? v.k_group * values : in_chunk) < left, element, zero);
}

/// Where kernel positions are summed over like channels: a weight in channels_last as it is given.
template <class Tensor>
Expr given_weight_of_taps(const GemmFuncs &f, const Tensor &weight, const Geometry &g) {
    using namespace Halide;
    const int rank = static_cast<int>(g.kernel.size());
    PerAxis index = g.kernel;
    index.insert(index.end(), {g.picture_channel, f.v.channel, f.v.group});
    for (int d = 0; d < rank + 2; d++) index[d] = unsafe_promise_clamped(index[d], 0, weight.dim(d).extent() - 1);
    const Expr element = weight(index);
    return select(g.is_summed && f.v.channel < weight.dim(rank + 1).extent(), element, Internal::make_zero(element.type()));
}

/// A weight as pack_channels_innermost has put it; zero for summed channels beyond the last, and for taps of a window.
template <class Tensor>
Expr channels_innermost_weight(const GemmFuncs &f, const Tensor &weight, const Geometry &g) {
    using namespace Halide;
    const int rank = static_cast<int>(g.kernel.size());
    // There is such a kernel position, and packed channels fill whole tiles.
    const auto promised = [&](const Expr &at, int d) {
        return unsafe_promise_clamped(at, 0, weight.dim(d).extent() - 1);
    };
    const Expr summed = g.chunk * g.steps.chunk + f.v.k_group / f.window;
    std::vector<Expr> index{promised(f.v.channel, 0)};
    for (int d = 0; d < rank; d++) index.push_back(promised(g.kernel[d], d + 1));
    index.push_back(promised(summed, rank + 1));
    index.push_back(g.group);
    Expr there = summed < weight.dim(rank + 1).extent();
    if (f.window > 1) there = there && g.kernel[0] < weight.dim(1).extent();
    return select(there, weight(index), 0.f);
}

/// A weight as it is given, of one kernel position, whose summed channels are neighbours; zero beyond the last of either.
template <class Tensor>
Expr given_weight(const GemmFuncs &f, const Tensor &weight, const Geometry &g) {
    using namespace Halide;
    const int rank = static_cast<int>(g.kernel.size());
    const auto extent = [&](int d) { return Expr(weight.dim(d).extent()); };
    const Expr summed = g.chunk * g.steps.chunk + f.v.k_group;
    std::vector<Expr> index(rank, 0);
    index.push_back(unsafe_promise_clamped(summed, 0, extent(rank) - 1));
    index.push_back(unsafe_promise_clamped(f.v.channel, 0, extent(rank + 1) - 1));
    index.push_back(f.v.group);
    return select(summed < extent(rank) && f.v.channel < extent(rank + 1), weight(index), 0.f);
}

/// Packed weights (layouts::tensor_core_weights) are one array.
template <class Tensor>
Expr tensor_core_weight(const GemmFuncs &f, const Tensor &weight, const Geometry &g, const PerAxis &kernel_size,
                        const Expr &channels, bool block_goes_beyond) {
    using namespace Halide;
    const GemmVars &v = f.v;
    const int values = f.values(), groups_of_chunk = g.steps.chunk / values;
    const Expr k_group = f.window > 1 ? v.k_group / f.window : v.k_group;
    // Tiles of 64 channels that a block has beyond the last are computed of the last, and not stored.
    const Expr tile = v.channel / 64, last_tile = (channels + 63) / 64 - 1;
    const Expr channel = (block_goes_beyond ? min(tile, last_tile) : tile) * 64 + v.channel % 64;
    PerDimension<Expr> at(0, {{Dimension::summed, (g.chunk * groups_of_chunk + k_group) * values},
                              {Dimension::channel, channel}, {Dimension::piece, v.piece}, {Dimension::group, g.group}});
    PerDimension<Expr> extents(1, {{Dimension::summed, g.steps.chunks() * g.steps.chunk},
                                   {Dimension::channel, channels}, {Dimension::piece, f.format.pieces()}});
    constexpr Dimension axes[] = {Dimension::x, Dimension::y, Dimension::z};
    for (std::size_t d = 0; d < kernel_size.size(); d++) at[axes[d]] = g.kernel[d], extents[axes[d]] = kernel_size[d];
    const Expr row = layouts::tensor_core_weights(values).offset<Expr>(at, extents);
    std::vector<Expr> index(weight.dimensions(), 0);
    index[0] = unsafe_promise_clamped(row + v.value, 0, weight.dim(0).extent() - 1);
    return weight(index);
}

/// The sum of operands over the steps of a phase, from `initial` on.
inline void define_sum(GemmFuncs &f, const Geometry &g, const Expr &initial) {
    using namespace Halide;
    const GemmVars &v = f.v;
    f.r.domain = RDom({{0, f.values()}, {0, g.steps.chunk / f.values() * f.window}, {0, f.format.terms},
                       {0, g.most.count()}}, "r");
    const RDom &r = f.r.domain;
    f.r.value = r[0], f.r.k_group = r[1], f.r.term = r[2], f.r.step = r[3];
    f.r.domain.where(r[3] < g.part_steps);
    const PiecesOfTerm piece = pieces_of_term(f.format, r[2]);
    const bool in_runs = f.weight_run > 0;
    const Expr value = in_runs ? v.channel % f.weight_run : r[0], channel = in_runs ? v.channel / f.weight_run : v.channel;
    const Expr k = r[1] * f.values() + r[0], k_group = in_runs ? k : Expr(r[1]);
    f.sum(v.position, v.channel, v.phase, v.group) = initial;
    const int run = f.position_run;
    f.sum(v.position, v.channel, v.phase, v.group) +=
        load(run > 0         ? f.picture(v.position % run, v.position / run, k, piece.first, r[3], v.phase, v.group)
             : f.window == 1 ? f.picture(r[0], v.position, r[1], piece.first, r[3], v.phase, v.group)
                             : f.picture(r[0], v.position + (f.window - 1) - r[1] % f.window, r[1] / f.window, piece.first,
                                         r[3], v.phase, v.group)) *
        load(f.weights(value, channel, k_group, piece.second, r[3], v.phase, v.group));
}

/// The stores of output(x, y, z, channel, group, image), a tile after the other. `finish` makes an output of the sum of
/// a channel and group.
template <class Tensor>
void define_stores(GemmFuncs &f, Tensor &output, const GemmTile &tile, const Geometry &g,
                   const std::function<Expr(const Expr &sum, const Expr &channel, const Expr &group)> &finish) {
    using namespace Halide;
    const int rank = static_cast<int>(g.cells.size());
    const auto extent = [&](int d) { return Expr(output.dim(d).extent()); };
    const Expr computed = g.computed_channels(extent(rank));
    // What simplifiers leave as it is can be found to be equal.
    const Expr phase_count = product(g.phases);
    const Expr channel_blocks = unsafe_promise_clamped(rounded_up(computed, tile.channels), 1, 1 << 30);
    const Expr position_blocks = rounded_up(g.positions(), tile.positions);
    std::vector<Range> ranges;
    for (const GemmStoreLoop &loop : tile.loops) ranges.emplace_back(0, loop.extent);
    const std::size_t block = ranges.size();
    ranges.emplace_back(0, phase_count * channel_blocks * position_blocks);
    ranges.emplace_back(0, extent(rank + 1));
    f.stored.domain = RDom(ranges, "stored");
    RDom &r = f.stored.domain;
    f.stored.block = r[block], f.stored.group = r[block + 1];
    // Phases meet in sectors of the output: their blocks are near each other, so that the second cache has both.
    const Expr faster = tile.phases_innermost ? phase_count : channel_blocks;
    const Expr slower = tile.phases_innermost ? channel_blocks : phase_count;
    // Of a remainder Halide knows no closer bounds than those of all blocks.
    const Expr rest = r[block] / faster, fast = r[block] - rest * faster;
    const Expr position_block = rest / slower, slow = rest - position_block * slower;
    const Expr phase = tile.phases_innermost ? fast : slow, channel_block = tile.phases_innermost ? slow : fast;
    // Channels are counted in sets of neighbours.
    Expr position = position_block * tile.positions, set = channel_block * (tile.channels / tile.neighbours), neighbour = 0;
    for (std::size_t i = 0; i < tile.loops.size(); i++) {
        const GemmStoreLoop &loop = tile.loops[i];
        f.stored.loops.push_back(r[i]);
        if (loop.positions) position = position + r[i] * loop.positions;
        if (loop.channels % tile.neighbours != 0) neighbour = r[i];
        else if (loop.channels) set = set + r[i] * (loop.channels / tile.neighbours);
    }
    const Expr channel = set * tile.neighbours + neighbour;
    const PerAxis cell = tile.has_units ? g.cell(position - r[0], r[0]) : g.cell(position);
    PerAxis of_phase = phase_digits(phase, g.phases);
    Expr output_channel = channel, is_channel = channel < extent(rank);
    if (!g.channel_phases.empty()) {
        PerAxis counted = g.channel_phases;
        if (f.channels_last_output) counted.insert(counted.begin(), extent(rank)), counted.pop_back();
        counted[0] = simplify(counted[0] / tile.neighbours);
        PerAxis at = digits(set, counted);
        at[0] = at[0] * tile.neighbours + neighbour;
        is_channel = at.back() < (f.channels_last_output ? g.channel_phases.back() : extent(rank));
        output_channel = f.channels_last_output ? at.front() : at.back();
        for (std::size_t d = 0; d < g.early.size(); d++) of_phase[d] = at[d + (f.channels_last_output ? 1 : 0)];
    }
    const auto promised = [&](const Expr &at, int d) { return unsafe_promise_clamped(at, 0, extent(d) - 1); };
    std::vector<Expr> index;
    Expr inside = cell.back() < extent(rank + 2), in_picture = Internal::const_true(), whole_cells = in_picture;
    for (int d = 0; d < rank; d++) {
        const Expr at = cell[d] * g.strides[d] + of_phase[d];
        Expr &there = f.spares_conditions ? in_picture : inside;
        there = at < extent(d) && there;
        whole_cells = whole_cells && extent(d) == g.cells[d] * g.strides[d];
        if (d < static_cast<int>(g.early.size()) && !Internal::is_const_zero(g.early[d]))
            there = at >= g.early[d] && there, whole_cells = whole_cells && g.early[d] == 0;
        index.push_back(promised(at, d));
    }
    if (g.position_run > 0) whole_cells = whole_cells && g.runs_are_whole();
    r.where(inside);
    if (f.spares_conditions) r.where(whole_cells || in_picture);
    r.where(is_channel);
    index.insert(index.end(), {promised(output_channel, rank), r[block + 1], promised(cell.back(), rank + 2)});
    const std::vector<Var> any(rank + 3);
    output(any) = undef(halide_type(f.computed));
    const Expr there = promised(f.loads_whole_tiles ? min(output_channel, extent(rank) - 1) : output_channel, rank);
    const Expr value = finish(f.sum(position, channel, phase, r[block + 1]), there, r[block + 1]);
    // The instruction that stores a tile converts it (compiler/passes/tile_store.h).
    output(index) = f.format.on_tensor_cores() ? cast(halide_type(f.computed), value) : store(value, f.computed);
    f.output = output;
}

/// Neighbours of a dimension begin at multiples of 16 bytes, of so many values.
template <class Tensor>
void declare_aligned(Tensor &tensor, int contiguous, int values) {
    for (int d = 0; d < tensor.dimensions(); d++) {
        if (d == contiguous) tensor.dim(d).set_stride(1);
        else tensor.dim(d).set_stride(tensor.dim(d).stride() / values * values);
    }
    tensor.set_host_alignment(16);
}

/// What the runtime promises of a picture's place, so that rows of 16 bytes are loaded, or stored, at once.
template <class Tensor>
void declare_rows(Tensor &picture, PictureLayout layout, int rank, int values) {
    if (layout == PictureLayout::channels_first) return;
    const bool in_rows = layout == PictureLayout::channel_rows;
    const auto multiple = [&](const Expr &e) { return e / values * values; };
    if (in_rows) picture.dim(0).set_bounds(multiple(picture.dim(0).min()), multiple(picture.dim(0).extent()));
    declare_aligned(picture, in_rows ? 0 : rank, values);
}

/// Channels of packed weights begin at multiples of 16 bytes: vectors of them are copied asynchronously.
template <class Tensor>
void declare_packed_weight(Tensor &weight, int values) {
    weight.set_host_alignment(16);
    for (int d = 0; d < weight.dimensions(); d++) {
        weight.dim(d).set_min(0);
        if (d > 0) weight.dim(d).set_stride(weight.dim(d).stride() / values * values);
    }
}

}  // namespace conv_transpose::implicit_gemm

#endif

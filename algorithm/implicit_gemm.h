// The forward operation and the input gradient as a matrix product without the matrices, every attribute a run-time
// value, of any rank, element format and layout, on CUDA cores and on tensor cores.
//
// Rows or columns of the product are the positions of a phase, counted through all images, so that small and narrow
// pictures fill tiles; the others are channels. The sum runs in steps, each one live tap of a chunk of channels. What a
// step multiplies are two matrices that a schedule stages, and only their elements know taps, strides and pictures
// (implicit_gemm_geometry.h, implicit_gemm_picture.h, implicit_gemm_weights.h). Here are the sum and the stores.
#ifndef CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_H

#include <cstddef>
#include <functional>
#include <vector>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/implicit_gemm_geometry.h"

namespace conv_transpose::implicit_gemm {

inline Expr product_of_elements(const Expr &picture, const Expr &weight) { return load(picture) * load(weight); }

/// The sum of operands over the steps of a phase, from `initial` on.
inline void define_sum(GemmFuncs &f, const Geometry &g, const Expr &initial,
                       const std::function<Expr(const Expr &picture, const Expr &weight)> &multiply = product_of_elements) {
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
    const Expr picture =
        run > 0         ? f.picture(v.position % run, v.position / run, k, piece.first, r[3], v.phase, v.group)
        : f.window == 1 ? f.picture(r[0], v.position, r[1], piece.first, r[3], v.phase, v.group)
                        : f.picture(r[0], v.position + (f.window - 1) - r[1] % f.window, r[1] / f.window, piece.first,
                                    r[3], v.phase, v.group);
    const Expr weight = f.weights(value, channel, k_group, piece.second, r[3], v.phase, v.group);
    f.sum(v.position, v.channel, v.phase, v.group) += multiply(picture, weight);
}

/// Whether cells begin before the output along the width, by as much as the launch says.
inline bool may_begin_early(const GemmFuncs &f, const Geometry &g) {
    return !f.channels_last_output && !g.early.empty() && !Halide::Internal::is_const_zero(g.early[0]);
}

/// Whether elements of a line, so many of each position or channel, are stored so many at once (GemmFuncs::runs), or `late` ones
/// (late_runs), where cells begin half as many before the output: the last phases of one and the first of the next.
template <class Tensor>
Expr stores_runs(const GemmFuncs &f, const Geometry &g, const Tensor &output, int values, int neighbours, bool late = false) {
    const int innermost = f.channels_last_output ? static_cast<int>(g.cells.size()) : 0;
    const Expr extent = output.dim(innermost).extent(), early = may_begin_early(f, g) ? g.early[0] : Expr(0);
    Expr all = (extent - early) % values == 0;
    for (int d = 0; d < output.dimensions(); d++)
        if (d != innermost) all = all && output.dim(d).stride() % values == 0;
    if (f.channels_last_output) return all;
    if (may_begin_early(f, g)) all = all && early % values == (late ? values / 2 : 0);
    if (g.run_margin > 0) all = all && g.run_lead % values == 0;
    if (late || values > neighbours) all = all && g.strides[0] == neighbours;
    return values > neighbours ? all && g.cells[0] % (values / neighbours) == 0 : all;
}

/// What an iteration of the stores is of: a position and a channel of a phase. Channels are counted in sets of neighbours.
struct StoredPlace {
    Expr position, set, neighbour, phase;
    Expr block_channel;  ///< the block's first
    Expr unit = Expr();  ///< where the position's unit begins, where a tile has units
};

/// The loops of the stores of output(x, y, z, channel, group, image), a tile after the other.
template <class Tensor>
StoredPlace define_stored_loops(GemmFuncs &f, const Tensor &output, const GemmTile &tile, const Geometry &g) {
    using namespace Halide;
    const int rank = static_cast<int>(g.cells.size());
    const Expr computed = g.computed_channels(output.dim(rank).extent());
    // What simplifiers leave as it is can be found to be equal.
    const Expr phase_count = product(g.phases);
    const Expr channel_blocks = unsafe_promise_clamped(rounded_up(computed, tile.channels), 1, 1 << 30);
    const Expr position_blocks = rounded_up(g.positions(), tile.positions);
    const bool apart = f.longest_phases_first && !Internal::is_const_one(simplify(phase_count));
    std::vector<Range> ranges;
    for (const GemmStoreLoop &loop : tile.loops) ranges.emplace_back(0, loop.extent);
    const std::size_t block = ranges.size();
    ranges.emplace_back(0, apart ? channel_blocks * position_blocks : phase_count * channel_blocks * position_blocks);
    ranges.emplace_back(0, Expr(output.dim(rank + 1).extent()));
    if (apart) ranges.emplace_back(0, phase_count);
    f.stored.domain = RDom(ranges, "stored");
    const RDom &r = f.stored.domain;
    f.stored.block = r[block], f.stored.group = r[block + 1];
    if (apart) f.stored.phase = r[block + 2];
    // Otherwise phases meet in sectors of the output: their blocks are near each other, so that the second cache has both.
    const Expr phases_of_block = apart ? Expr(1) : phase_count;
    const Expr faster = tile.phases_innermost ? phases_of_block : channel_blocks;
    const Expr slower = tile.phases_innermost ? channel_blocks : phases_of_block;
    // Halide knows no closer bounds of a remainder than those of all blocks.
    const Expr rest = r[block] / faster, fast = r[block] - rest * faster;
    const Expr position_block = rest / slower, slow = rest - position_block * slower;
    const Expr channel_block = tile.phases_innermost ? slow : fast;
    StoredPlace at{position_block * tile.positions, channel_block * (tile.channels / tile.neighbours), 0,
                   apart ? Expr(r[block + 2]) : tile.phases_innermost ? fast : slow, channel_block * tile.channels};
    at.unit = at.position;
    for (std::size_t i = 0; i < tile.loops.size(); i++) {
        const GemmStoreLoop &loop = tile.loops[i];
        f.stored.loops.push_back(r[i]);
        if (loop.positions) at.position = at.position + r[i] * loop.positions;
        if (loop.positions && i > 0) at.unit = at.unit + r[i] * loop.positions;
        if (loop.channels % tile.neighbours != 0) at.neighbour = r[i];
        else if (loop.channels) at.set = at.set + r[i] * (loop.channels / tile.neighbours);
    }
    return at;
}

/// The sum of a stored position. Where taps are rows of the product, each has its own, the first at this position, the next a
/// position before, and so on.
inline Expr stored_sum(const GemmFuncs &f, const StoredPlace &at, const Expr &channel, const Expr &within) {
    const auto of_tap = [&](const Expr &position, const Expr &channel) {
        return f.sum(position, channel, at.phase, f.stored.group);
    };
    if (f.row_taps == 1) return of_tap(at.position, channel);
    const Expr first = channel + at.block_channel * (f.row_taps - 1);
    Expr sum;
    for (int tap = f.row_taps - 1; tap >= 0; tap--) {
        // Those before the run's first are of positions that are not stored.
        const Expr before = Halide::unsafe_promise_clamped(within - tap, 0, f.position_run - 1);
        const Expr mine = of_tap(at.unit + before, first + tap * f.row_channels);
        sum = sum.defined() ? mine + sum : mine;
    }
    return sum;
}

/// Where an element is that is stored, in the product and in the output.
struct StoredElement {
    Expr position;
    PerAxis cell, phase;  ///< of the output
    Expr image, channel, group;
    Expr is_channel;
    Expr whole_cells;     ///< whether the output is made of nothing else; the same for all elements
};

/// Which channel of the output is stored, whether there is such a one, and of which phase.
struct StoredChannel {
    Expr product, output, exists;  ///< `product` counts those of the product, whose channels may be phases, too
    PerAxis phase;
};

template <class Tensor>
StoredChannel stored_channel(const GemmFuncs &f, const Tensor &output, const GemmTile &tile, const Geometry &g,
                             const StoredPlace &place) {
    const int rank = static_cast<int>(g.cells.size());
    const Expr channels = output.dim(rank).extent(), channel = place.set * tile.neighbours + place.neighbour;
    StoredChannel stored{channel, channel, channel < channels, phase_digits(place.phase, g.phases, g.first_phases)};
    if (g.channel_phases.empty()) return stored;
    PerAxis counted = g.channel_phases;
    if (f.channels_last_output) counted.insert(counted.begin(), channels), counted.pop_back();
    counted[0] = simplify(counted[0] / tile.neighbours);
    PerAxis at = digits(place.set, counted);
    at[0] = at[0] * tile.neighbours + place.neighbour;
    stored.exists = at.back() < (f.channels_last_output ? g.channel_phases.back() : channels);
    stored.output = f.channels_last_output ? at.front() : at.back();
    for (std::size_t d = 0; d < g.early.size(); d++) stored.phase[d] = at[d + (f.channels_last_output ? 1 : 0)];
    return stored;
}

/// Whether there is an output at a cell's phase: in all that is stored, and in the picture, where that is asked apart; and whether
/// the output is made of whole cells alone.
struct StoredConditions {
    Expr inside, in_picture, whole_cells;
};

template <class Tensor>
StoredConditions stored_conditions(const GemmFuncs &f, const Tensor &output, const Geometry &g, const PerAxis &cell,
                                   const PerAxis &phase, const Halide::RVar &of_run) {
    using namespace Halide;
    const int rank = static_cast<int>(g.cells.size());
    StoredConditions c{cell.back() < output.dim(rank + 2).extent(), Internal::const_true(), Internal::const_true()};
    for (int d = 0; d < rank; d++) {
        const Expr at = cell[d] * g.strides[d] + phase[d], extent = output.dim(d).extent();
        Expr &there = f.spares_conditions ? c.in_picture : c.inside;
        // Where inputs are cells, kernels are as large as strides: one condition is all phases'.
        there = (g.in_one_row ? cell[d] < g.cells[d] : at < extent) && there;
        if (!g.in_one_row) c.whole_cells = c.whole_cells && extent == g.cells[d] * g.strides[d];
        if (d < static_cast<int>(g.early.size()) && !Internal::is_const_zero(g.early[d]))
            there = at >= g.early[d] && there, c.whole_cells = c.whole_cells && g.early[d] == 0;
    }
    if (g.position_run > 0) c.whole_cells = c.whole_cells && g.runs_are_whole();
    // No loop is to be shortened by these.
    const auto not_before = [](const Expr &e, const Expr &first) { return cast<uint32_t>(e - first) < Expr(1u << 31); };
    if (g.run_margin > 0)
        c.inside = not_before(of_run, g.run_begin) && not_before(g.run_begin + g.stored_of_run() - 1, of_run) &&
                   not_before(cell[0], 0) && c.inside;
    return c;
}

/// The stores. `finish` makes an output of the sum of a channel and group; `stored` may add how it is stored.
template <class Tensor>
void define_stores(GemmFuncs &f, Tensor &output, const GemmTile &tile, const Geometry &g,
                   const std::function<Expr(const Expr &sum, const Expr &channel, const Expr &group)> &finish,
                   const std::function<Expr(const Expr &value, const StoredElement &)> &stored) {
    using namespace Halide;
    const int rank = static_cast<int>(g.cells.size());
    const StoredPlace place = define_stored_loops(f, output, tile, g);
    RDom &r = f.stored.domain;
    const StoredChannel channel = stored_channel(f, output, tile, g, place);
    const PerAxis cell = g.run_margin > 0  ? g.cell(place.unit, r[0])
                         : tile.has_units  ? g.cell(place.position - r[0], r[0])
                                           : g.cell(place.position);
    const StoredConditions conditions = stored_conditions(f, output, g, cell, channel.phase, r[0]);
    r.where(conditions.inside);
    if (f.spares_conditions) r.where(conditions.whole_cells || conditions.in_picture);
    r.where(channel.exists);
    const auto promised = [&](const Expr &at, int d) {
        return unsafe_promise_clamped(at, 0, Expr(output.dim(d).extent()) - 1);
    };
    std::vector<Expr> index;
    for (int d = 0; d < rank; d++) index.push_back(promised(cell[d] * g.strides[d] + channel.phase[d], d));
    index.insert(index.end(), {promised(channel.output, rank), f.stored.group, promised(cell.back(), rank + 2)});
    const std::vector<Var> any(rank + 3);
    output(any) = undef(halide_type(f.computed));
    const Expr last = Expr(output.dim(rank).extent()) - 1;
    const Expr there = promised(f.loads_whole_tiles ? min(channel.output, last) : channel.output, rank);
    const Expr value = finish(stored_sum(f, place, channel.product, r[0]), there, f.stored.group);
    // The instruction that stores a tile converts it (compiler/passes/tile_store.h).
    const Expr converted = f.format.on_tensor_cores() ? cast(halide_type(f.computed), value) : store(value, f.computed);
    output(index) = stored(converted, {place.position, cell, channel.phase, cell.back(), channel.output, f.stored.group,
                                       channel.exists, conditions.whole_cells});
    f.output = output;
    if (!f.format.on_tensor_cores()) return;
    for (int values : {2, 4}) {
        // Outputs of a row, and its cells, which are as many and those that windows see beyond them: one is no multiple then.
        const bool never = !f.channels_last_output && tile.neighbours == 1 && (f.window - 1) % values != 0;
        if (!never) f.runs.emplace_back(values, stores_runs(f, g, output, values, tile.neighbours));
        if (may_begin_early(f, g) && values <= tile.neighbours)
            f.late_runs.emplace_back(values, stores_runs(f, g, output, values, tile.neighbours, true));
    }
}

}  // namespace conv_transpose::implicit_gemm

#endif

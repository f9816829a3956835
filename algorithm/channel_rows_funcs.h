// The Funcs of channel_rows.h, by name, as schedules see them.
#ifndef CONV_TRANSPOSE_ALGORITHM_CHANNEL_ROWS_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_CHANNEL_ROWS_FUNCS_H

#include <string>
#include <vector>

#include "Halide.h"

namespace conv_transpose::channel_rows {

/// Channels of a panel, in vectors; what those leave has vectors of its own, of which the last begins early.
struct PanelSizes {
    int lanes = 0, vector = 0, narrow = 0;

    int lanes_of(bool is_narrow) const { return is_narrow ? narrow : lanes; }
    int vector_of(bool is_narrow) const { return is_narrow ? narrow : vector; }
    Halide::Expr count(bool is_narrow, const Halide::Expr &channels) const {
        return is_narrow ? (channels % lanes + narrow - 1) / narrow : channels / lanes;
    }
    Halide::Expr channel(bool is_narrow, const Halide::Expr &panel, const Halide::Expr &lane, const Halide::Expr &channels) const {
        const Halide::Expr first = is_narrow ? min(channels / lanes * lanes + panel * narrow, channels - narrow) : panel * lanes;
        return Halide::unsafe_promise_clamped(first + lane, 0, channels - 1);
    }
};

/// Tiles, or single cells at the edges, of panels of groups, or of what those leave. A task has so
/// many of a row.
struct Sums {
    bool is_edge, is_narrow;
    /// Tables: (task) -> the first tile, y, z, image. (phase, tile, task) -> the first cell (-1: there is no such tile), what its
    /// first tap sees along x, which that is, and how many there are. (tap, task) -> of y and z, what a tap of both sees, and
    /// which that is; (task) -> how many those are.
    Halide::Func task{}, columns{}, rows{}, row_count{};
    /// Tiles have (tap, phase, task) -> where a tap of all axes reads the picture, from a cell on, and the weights. `columns` tells
    /// how many taps there are.
    Halide::Func list{};
    /// (lane, place, panel, phase, tile, task), float32; its RDom counts taps: of edges those of x, and of y and z.
    Halide::Func sum{};
    Halide::RDom taps{};
    /// lane, place, panel, phase, tile, task of the result's update.
    Halide::RDom stored{};

    std::string name() const { return std::string(is_edge ? "_of_edges" : "") + (is_narrow ? "_of_rest" : ""); }
};

struct Funcs {
    Halide::Var lane{"lane"}, place{"place"}, panel{"panel"}, phase{"phase"}, tile{"tile"}, task{"task"};
    Halide::Var position{"position"}, tap{"tap"};
    PanelSizes panels;
    /// Cells of a tile; as many sums are fewer where a panel has one vector.
    int places = 0;
    int places_of(const Sums &s) const { return s.is_narrow ? 2 * places : places; }

    /// Tables. (phase) -> first kernel position, shift, taps, the first of the cells that have tiles, and behind the last.
    Halide::Func phases{"phases"};
    /// One for y, one for z: (position) -> what its first tap sees, which tap that is, and how many there are.
    std::vector<Halide::Func> seen;
    std::vector<Sums> sums{{false, false}, {false, true}, {true, false}, {true, true}};
    /// Whether sums are stored as they are.
    Halide::Expr is_plain = Halide::Internal::const_true();
    /// Stores in an update for each of `sums`.
    Halide::Func result;
};

/// Sums of so many neighbouring taps of a row of the kernel, of panels of channels, or of what those leave.
struct TapSums {
    int taps;
    bool is_narrow;
    /// (block, segment) -> positions of the segment at which all taps see the picture: the first, and behind the last; the first
    /// at which some do, how many of those are before, and how many behind them: a table.
    Halide::Func span{};
    /// (lane, place, block, row_tap, panel, segment, row), float32; `place` is one of the taps.
    Halide::Func sum{};
    Halide::RDom inside{}, edges{};
    /// lane, place, block, row_tap, panel of an update of the row's sums.
    Halide::RDom stored{};

    std::string name() const { return "_of_" + std::to_string(taps) + (is_narrow ? "_of_rest" : ""); }
};

/// `row` counts the input's of all images, `segment` its parts, `block` some taps of a row of the kernel, `row_tap` such rows.
struct WeightFuncs {
    Halide::Var lane{"lane"}, place{"place"}, block{"block"}, row_tap{"row_tap"}, panel{"panel"}, segment{"segment"}, row{"row"};
    Halide::Var channel{"channel"}, entry{"entry"}, group{"group"}, part{"part"}, position{"position"}, tap{"tap"};
    PanelSizes panels;
    int taps = 0;  ///< that are summed together

    /// Tables. (tap) -> of x, the first position from which it sees the picture, and behind the last. Of y, then z: as in Funcs.
    Halide::Func columns{"columns"};
    std::vector<Halide::Func> seen;
    /// (row) -> y, z, image. (tap, row) -> of y and z, what a tap of both sees, and which that is; (row) -> how many those are.
    Halide::Func rows{"rows"}, row_taps{"row_taps"}, tap_count{"tap_count"};
    std::vector<TapSums> sums;
    /// (channel, entry, segment, row), with an update for each of `sums`, and (channel, entry, part), which adds those of a part.
    Halide::Func row_sum{"row_sum"}, part_sum{"part_sum"};
    Halide::RDom summed;  ///< segment, row
    Halide::Func partial;
};

}  // namespace conv_transpose::channel_rows

#endif

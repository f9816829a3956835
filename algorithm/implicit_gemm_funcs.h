// What a schedule of an implicit matrix product sees (algorithm/implicit_gemm.h): the named Funcs and their dimensions.
#ifndef CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_IMPLICIT_GEMM_FUNCS_H

#include <optional>
#include <utility>
#include <vector>

#include "Halide.h"
#include "algorithm/element_format.h"

namespace conv_transpose {

/// How the picture that is summed over lies in memory.
enum class PictureLayout {
    channels_first,  ///< (x, y, z, channel, group, image)
    channels_last,   ///< the same coordinates; neighbouring channels are neighbours
    /// (channel % values + values * x, y, z, channel / values, group, image): rows of 16 bytes, as pack_channels packs
    channel_rows,
};

/// `position` counts through the cells of one phase of all images, x fastest, and `phase` through the phases, likewise.
/// A step is a tap of a chunk of channels; `k_group` counts the 16 bytes of an operand in it and `value` the channels in
/// 16 bytes; `piece` is one of an operand's (ElementFormat::pieces()). On CUDA cores a value is a group of its own.
struct GemmVars {
    Halide::Var value{"value"}, position{"position"}, channel{"channel"}, k_group{"k_group"}, piece{"piece"};
    Halide::Var step{"step"}, phase{"phase"}, group{"group"};
};

/// The sum's update has `value`, `k_group` and `step` as above, and the terms of a product (ElementFormat::terms).
struct GemmReduction {
    Halide::RDom domain;
    Halide::RVar value, k_group, term, step;
};

/// A loop over elements of a tile as they are stored: neighbours lie so many positions or channels apart.
struct GemmStoreLoop {
    int extent, positions, channels;
};

/// What a block computes. Loops are given the innermost first, as Halide keeps the order of stores.
struct GemmTile {
    int positions, channels;
    std::vector<GemmStoreLoop> loops;
    /// Among the blocks phases change faster than blocks of channels.
    bool phases_innermost;
    /// So many neighbouring channels, the loop over which is one of its own, are neighbours in the output.
    int neighbours = 1;
    /// The first loop is over the positions of a unit (GemmFuncs::position_unit), and the next over units.
    bool has_units = false;
};

/// The output's update has the loops of a tile, blocks, groups; phases, if blocks of a phase come one after the other.
struct GemmStores {
    Halide::RDom domain;
    std::vector<Halide::RVar> loops;
    Halide::RVar block, group;
    std::optional<Halide::RVar> phase;
};

struct GemmFuncs {
    GemmVars v;
    GemmReduction r;
    GemmStores stored;
    ElementFormat format;
    PictureLayout input_layout = PictureLayout::channels_first;
    bool channels_last_output = false;  ///< neighbouring channels are neighbours
    Storage computed = Storage::f32;    ///< of the output: the format's, or float32 for parts of a sum
    /// Rows of a tile are computed whole, and stored as far as there are channels.
    bool computes_whole_rows = false;
    /// What depends on a channel is loaded for all of a tile.
    bool loads_whole_tiles = false;
    /// Neighbouring taps along x that one step has, of one row of positions. More than one only at a stride of 1, where taps
    /// are a multiple of it and see neighbouring positions. `k_group` of the weights counts through them, too, the fastest.
    int window = 1;
    /// Weights are read as they are given, in channels_last.
    bool maps_weights = false;
    /// The same by threads, where kernel positions are summed over like channels: so many channels of one position are copied at
    /// once, of the picture too. 0: weights are packed.
    int given_channels = 0;
    /// The same in channels_first, on CUDA cores: what is summed are neighbours in memory, where kernel positions are summed like
    /// channels, or, with the second, kernel positions, of which phases that are channels have their own.
    bool weights_as_given = false, computes_neighbours = false;
    /// Blocks of phases with more taps begin earlier: were phases innermost among blocks, a multiprocessor would have blocks of
    /// the same few, and the longest would be begun last.
    bool longest_phases_first = false;
    /// Where the neighbours of maps are channels that are computed, these come in runs of so many; `value` of the
    /// weights counts through a run, `channel` through the runs and `k_group` through the summed channels of a step. 0:
    /// neighbours are summed.
    int weight_run = 0;
    /// A picture in channels_first that a tensor map reads as it lies: positions of a channel come in runs of so many, of a
    /// row of cells, which runs fill up. `value` of the picture counts through a run, `position` through the runs and
    /// `k_group` through the summed channels of a step. 0: channels are neighbours.
    int position_run = 0;
    /// Taps along the width that are rows of the product, beside `row_channels` channels that a block computes: channels of the
    /// sum are those of a block for its first tap, then for the next. A tap sees the run of positions that all taps see, and adds
    /// to what lies so many positions further on, from 0. What lies `centre` positions further on than what is seen of a run is
    /// stored, but for `run_margin` positions at either end, which neighbouring runs have.
    int row_taps = 1, row_channels = 0, run_margin = 0;
    Halide::Expr centre;
    int position_unit = 1;  ///< of them are known to be neighbours in a row of cells; a run, or as many as 16 bytes are stored of
    /// Operands of 16 bits are words of two, of which the picture's are neighbours along the width that one position sees:
    /// `value`, and `k_group` of such a run, count words. The kernel is as large as its stride, and two along the width.
    bool in_pairs = false;
    /// Where the output is made of whole cells, one condition for all of it spares those of its elements.
    bool spares_conditions = false;
    /// What a block computes may be stored by boxes of a tensor, which have so many channels of each position; 0: it may not. A
    /// warpgroup has shared memory for so many elements of them.
    int stored_channels = 0, stored_elements = 0;
    /// So many elements of a line of a tile, positions of a channel, the neighbours of positions or channels of a position,
    /// from multiples on, are neighbours in the output, all inside or none, where a condition holds; the fewest first.
    std::vector<std::pair<int, Halide::Expr>> runs;
    /// Likewise those that begin half as many elements behind multiples.
    std::vector<std::pair<int, Halide::Expr>> late_runs;
    /// Neighbours of an operand in memory, as it is copied.
    int copied_values() const { return given_channels > 0 ? given_channels : values(); }
    int values() const { return format.on_tensor_cores() ? format.values_of_16_bytes() / (in_pairs ? 2 : 1) : 1; }

    /// Operands; zero outside of the picture, and in channels beyond the last.
    Halide::Func picture{"picture"};  ///< (value, position, k_group, piece, step, phase, group)
    Halide::Func weights{"weights"};  ///< (value, channel, k_group, piece, step, phase, group)
    Halide::Func sum{"sum"};          ///< (position, channel, phase, group), float32
    /// Stores in its update, by blocks of whole tiles; what lies outside of the output is guarded.
    Halide::Func output;
};

}  // namespace conv_transpose

#endif

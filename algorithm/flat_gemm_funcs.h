// What a schedule of a flat matrix product sees (algorithm/flat_gemm.h): the named Funcs and their dimensions.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_FUNCS_H

#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// `place` counts the cells of a tile, with the gaps between rows; of what is staged, those that taps see. A panel is a
/// number of channels that lie together; `lane` is one of them. A tile is of so many rows of cells; `segment` is its part of
/// them. `element` counts the results of a row.
struct FlatGemmVars {
    Halide::Var place{"place"}, summed{"summed"}, plane{"plane"}, lane{"lane"}, panel{"panel"}, phase{"phase"};
    Halide::Var tap{"tap"}, segment{"segment"}, tile{"tile"}, group{"group"};
    Halide::Var entry{"entry"}, term{"term"}, chunk{"chunk"}, register_tile{"register_tile"}, lane_vector{"lane_vector"};
    Halide::Var out_block{"out_block"}, part{"part"}, segment_part{"segment_part"};
    Halide::Var element{"element"}, vector{"vector"}, row{"row"}, pair{"pair"};
    Halide::Var phase_x{"phase_x"}, phase_y{"phase_y"}, phase_z{"phase_z"};
};

/// Sizes that the algorithm is told. A tile has whole register tiles of `positions`. `vector` counts places along x, or
/// channels, where those are in vectors; if they are `turned`, pictures have them apart, and are turned as they are copied and
/// stored; `turns_copies` are of any layout, and turned only as they are copied, where channels lie apart. In a depthwise problem
/// groups are the channels, which are in vectors, and a channel sees itself alone.
struct FlatGemmSizes {
    int vector, positions, channels;
    bool channels_in_vectors = false, turned = false, depthwise = false, turns_copies = false;
    /// Places are in vectors, and pictures of any layout: where channels lie side by side, vectors of them are turned as they are
    /// copied.
    bool places_of_any_layout = false;
    /// A register tile of the product of each position with all taps of all channels has so many; 0 where there is none. Of those,
    /// and of joined terms, at most so many are summed at once.
    int entries = 0, chunk = 0;
    /// A register tile of the sums of all phases of some channels has so many lanes, each a phase of a channel; 0 where phases are
    /// summed one after the other.
    int phase_lanes = 0;
    int read_tiles = 0;  ///< the register tiles of positions in a block, which are read together
    /// What is staged is no more than cells of a tile see: no rows between those of planes that taps reach, and zeros in gaps
    /// alone.
    bool only_seen = false;
    /// Channels and taps are summed as one dimension, of problems of one phase, so that sums over few channels have one loop. What
    /// is staged lies as places, a plane for each channel; in any layout, and of pairs, a spot's channels lie side by side.
    bool joined_terms = false;
    /// A register tile is of cells alone, wherever they are: a table tells their places. For channels in vectors.
    bool only_cells = false;
    /// Of those a register tile's sums are stored from registers, a vector of channels at a place, where a table tells: what is
    /// written has channels innermost.
    bool stores_sums = false;
    /// Two neighbouring summed channels, of which there is an even number, are multiplied as one, in bfloat16: what
    /// is staged keeps the type of the picture. For channels in vectors.
    bool pairs = false;
    /// So many of such pairs are multiplied as one, into tiles of 16 x 16 sums; 0 where vectors are.
    int tile_pairs = 0;
    /// Summed channels, and what a panel has of them, are filled up with zeros to whole such pairs; else they are a multiple.
    bool fills_tiles = false;
    /// The same of two neighbouring cells in a weight gradient, whose rows are filled up to an even number of them.
    bool pairs_of_cells = false;

    /// Channels and the taps of a row of the kernel are one dimension, of spots, by matrix instructions: what an input
    /// gradient sums, or a weight gradient's columns.
    bool joins_rows() const { return joined_terms && tile_pairs > 0; }
    /// What is staged is bfloat16.
    bool keeps_type() const { return pairs || pairs_of_cells || tile_pairs > 0; }
    /// Rows of cells are filled up to a multiple of so many.
    int cells_together() const { return pairs_of_cells ? 2 : 1; }
    bool channels_of_any_layout() const { return channels_in_vectors && !turned; }
    bool any_layout() const { return places_of_any_layout || channels_of_any_layout(); }
    /// Results of a register tile are stored before the next one's are computed; of few places what that takes a tile would be
    /// most of the time (vectors of channels, 12 or 16 places: 1.1 to 2.8 times as long; Sapphire Rapids, 2026-11-29).
    bool stores_register_tiles() const { return channels_of_any_layout() && tile_pairs > 0; }
    /// Joined terms go through taps, then channels, as weights in channels_first lie, or the other way round.
    bool taps_inside() const { return joined_terms && !channels_of_any_layout() && !pairs; }
    /// Taps that see only zeros of a register tile's cells are left out.
    bool skips_zeros() const { return only_cells && !joined_terms; }
    /// Vectors of the last panel that no channel has are left out, where half of the registers hold the sums: with more, sums of
    /// some vectors and of all would go from register to register (12 places x 2 vectors with AVX-512: 1.5 times as long).
    bool leaves_out_vectors() const {
        return channels_in_vectors && !depthwise && !stores_sums && channels > vector &&
               positions * channels <= vector * vector;
    }
    int places_in_vector() const { return channels_of_any_layout() ? 1 : vector; }
};

struct FlatGemmFuncs {
    FlatGemmVars v;
    FlatGemmSizes size;

    /// (tap, phase) -> where it reads, from a cell on; plane; kernel position: tables.
    Halide::Func taps{"taps"}, live_taps{"live_taps"};
    /// (term) -> where it reads of what is staged, which has so many channels (of spots: one, of all their channels) and planes: a
    /// table.
    Halide::Func terms{"terms"};
    Halide::Expr staged_channels, staged_planes;
    /// Tables of a tile. (row, plane, segment, tile) -> of a row that taps see, coordinates in the picture behind x, the last of
    /// them the image, and how many vectors of each width (channels in vectors: cells; turned: vectors, or else cells) are
    /// copied. (plane, segment) -> the cells that are copied: the first, and behind the last; the cell at place 0. (row,
    /// phase_y, phase_z, tile) -> coordinates in the result behind x, and whether there is such a row.
    Halide::Func seen_rows{"seen_rows"}, span{"span"}, stored_rows{"stored_rows"};
    /// (place, summed, plane, segment, tile, group), float32, or bfloat16 for pairs: zeros, and in the updates the rows that
    /// there are, in vectors of
    /// several widths: (lane, vector, row); channels in vectors: (cell, row).
    Halide::Func staged{"staged"};
    /// (place, tile) -> the place of a cell, which are counted without gaps: a table.
    Halide::Func cell_places{"cell_places"};
    Halide::RDom placed;  ///< element, vector, row
    /// (row, tile) -> coordinates of a row of cells, and the number of its first one, or -1 where there is no such row: a table.
    Halide::Func cell_rows{"cell_rows"};
    /// (register_tile, tile) -> the first and the last coordinate of its cells, on each axis: a table.
    Halide::Func cell_boxes{"cell_boxes"};
    Halide::RDom boxed;  ///< cell, row
    /// All phases at once (flat_phases.h), tables: (phase) and (panel) -> the first and the last shift that it sees, on each axis;
    /// (lane, tap, panel) -> a kernel position, or -1. What is filled in a panel is (lane, term, panel, block, group), and `products`
    /// are (place, lane, panel, block, segment, tile, group).
    Halide::Func phase_windows{"phase_windows"}, windows{"windows"}, kernel_positions{"kernel_positions"};
    Halide::RDom window_lanes;
    /// (tap, register_tile, phase, segment, tile) -> so much is summed.
    Halide::Func seen_terms{"seen_terms"};
    /// (tile) -> how many those are.
    Halide::Func cell_count{"cell_count"};
    struct Copy {
        int width, update;
        Halide::RDom domain;
    };
    std::vector<Copy> copies;
    /// Zeros in gaps alone: a table (row, plane, segment, tile) -> first and behind the last place of the gap in front of a row,
    /// and (lane, vector, row) of an update before those.
    Halide::Func gaps{"gaps"};
    Halide::RDom zeroed;
    /// Channels that are turned: (element, summed, vector, row, plane, segment, tile, group), a vector of cells of a row, or, for
    /// places, (element, lane, block of channels, vector, row, plane, segment, tile, group); and
    /// (element, lane, vector, row, panel, phase, segment, tile, group) of results.
    Halide::Func turned_cells{"turned_cells"}, turned_results{"turned_results"};
    /// Channels in vectors: of what is read and what is written they lie side by side.
    Halide::Expr reads_vectors, writes_vectors;
    /// Places in vectors: of what is read and what is written elements of a row lie side by side.
    Halide::Expr reads_rows, writes_rows;
    /// (place, lane, panel, phase, chunk, segment, tile, group), float32; and the same of all chunks.
    Halide::Func sum{"sum"}, result{"result"};
    /// What is stored of it, where register tiles are stored at once; and (phase along x, segment) -> the first and the last cell
    /// of a row that have such a result: a table.
    Halide::Func finished{"finished"}, stored_cells{"stored_cells"};
    /// Sums that are stored from registers: (place, phase, segment, tile) -> where the result of a cell lies, or -1: a table.
    Halide::Func cell_results{"cell_results"};
    Halide::RDom resulting;  ///< element, vector, row, phase of each axis
    /// A panel as it is packed, with zeros behind its pairs: (lane and pair, number of the pair, kernel position, panel); or its
    /// rows of the kernel, whose taps follow each other: (lane and pair, number of the pair, row, panel).
    Halide::Func filled_panel{"filled_panel"};
    struct {
        Halide::RDom domain;
        Halide::RVar pair, summed, tap;  ///< `summed` counts pairs where those are multiplied
    } reduced;
    /// Entries (flat_entries.h). (place, plane, segment, tile) -> where a position is in the picture; (vector, segment, tile) ->
    /// whether those of a vector are neighbours there; (block, segment, tile) -> how many of its register tiles are, from the first
    /// on; (segment, tile) -> how many positions there are: tables. (lane, summed, element, block, segment, tile, group), float32:
    /// positions of its register tiles. (place, lane, panel, segment, tile, group), float32: what a position gives to each entry,
    /// and the same, of a chunk behind the panel, as a register tile sums it.
    Halide::Func offsets{"offsets"}, runs{"runs"}, one_run{"one_run"}, position_count{"position_count"};
    Halide::Func inputs{"inputs"}, products{"products"}, product{"product"};
    Halide::RDom positions, summed_entries, chunks;  ///< cell, row; of a chunk; chunk (of joined terms behind the first)
    Halide::RDom tiles_of_block;                     ///< register tile
    std::vector<Halide::RDom> reads;
    Halide::Expr room_of_positions;
    /// (element, row, phase_y, phase_z, lane, panel, segment, tile, group): the phases of a row side by side.
    Halide::Func interleaved{"interleaved"};
    Halide::RDom interleaving;  ///< cell of a vector, phase, vector
    /// Of results that are turned, a table: (element of a run) -> its place, from the run's first one on, and its phase, if a run
    /// has several.
    Halide::Func run_results{"run_results"};
    Halide::RDom results_of_run;  ///< phase and cell of each axis
    Halide::Expr stride_x, read_stride;  ///< of the result along x, and of the picture
    /// Stores in its update; its rows may have whole vectors.
    Halide::Expr whole_vectors;
    Halide::Func output;
    /// Where rows may have no taps: (channel, group) -> what is stored of them.
    Halide::Func empty;
    /// `lane` is a channel of a panel, and `vector` counts along a row; channels in vectors: `element` is one of a vector of
    /// channels, `vector` counts those of a panel, and `cell` and `phase_x` along a row; turned: `row` and `vector` count runs of
    /// rows and along a run, and `lane` is a channel of a vector; stored at once: `cell` counts places of a register tile, and
    /// `row` the rows that it has some of.
    struct {
        Halide::RDom domain;
        Halide::RVar element, vector, cell, phase_x, row, phase_y, phase_z, lane, lane_vector, panel, block, segment, tile;
        Halide::RVar register_tile, group;
    } stored;
};

/// In the weight gradient (algorithm/flat_weight_gradient.h) a panel is of input channels, an `out_block` of output
/// channels; `taps`, `span`, `seen_rows` and `staged` are of the output gradient.
struct FlatWeightGradientFuncs : FlatGemmFuncs {
    int lanes = 0, outputs = 0;  ///< channels of a panel, entries of a register tile

    /// Of a task's entry: where its tap reads, plane, output channel of the task.
    Halide::Func entries{"entries"};
    /// Tables of a tile. (row, segment, tile) -> coordinates in the input, how many vectors of cells are turned, cells copied,
    /// cells of the row, and of the run of rows that is copied from it on; cells of the rows before. (cell, segment, tile) -> its
    /// place in the output gradient.
    Halide::Func input_rows{"input_rows"}, cells_before{"cells_before"};
    Halide::RDom counted_rows;  ///< row
    /// (cell, lane, panel, segment, tile, group), float32; and (element, lane, vector, row, panel, segment, tile, group), a vector
    /// of cells of a row.
    Halide::Func staged_input{"staged_input"}, turned_input{"turned_input"};
    Halide::RDom input_zeros, input_turn, input_copy;  ///< lane, cell; element, vector, row; cell, lane, row
    Halide::RDom input_ends;                           ///< of pairs: lane, row
    /// Pairs of cells side by side: (pair, lane, number of the pair, panel, segment, tile, group); and (element, summed, plane,
    /// segment, tile, group), two elements a place: what a tap sees of a cell there and of its neighbour. Tables of places count
    /// those elements: addresses that a loop had to double took half of its instructions.
    Halide::Func input_pairs{"input_pairs"}, seen_pairs{"seen_pairs"};
    Halide::Expr reads_input_vectors, input_rows_are_dense, output_rows_are_dense;
    /// (lane, entry, panel, out_block, segment, tile, group): over the places of a tile. With parts in place of segment and tile:
    /// over those of the part.
    Halide::Func tile_sum{"tile_sum"}, part_sum{"part_sum"};
    /// Vectors of entries, of few cells: (entry, cell, register_tile, out_block, segment, tile, group), what the tap of an entry
    /// of a register tile sees; and (lane, entry, register_tile, panel, ...) are the sums of a tile, which is a part.
    bool entries_in_vectors = false;
    Halide::Func seen{"seen"}, entry_pairs{"entry_pairs"};  ///< (pair, entry, number of the pair, register_tile, ...)
    /// Matrix instructions (flat_gradient_tiles.h): (place, entry, number of as many places as are summed at once, out_block, ...),
    /// what the tap of an entry sees.
    Halide::Func seen_runs{"seen_runs"};
    /// Columns (flat_gradient_columns.h): (pair, entry, number of the pair, number of as many cells as are summed at once, tap,
    /// ...), what cells see of a row of the kernel; and (place, lane, number of as many, panel, ...), cells of an input channel
    /// side by side. Columns are stored as they are, if they lie so in the weights.
    Halide::Func seen_columns{"seen_columns"}, input_runs{"input_runs"};
    Halide::Expr columns_are_entries;
    Halide::RDom seen_cells;
    /// Vectors of cells (flat_gradient_cells.h): sums have an element in front of the others, whose lanes lane_sum adds up, without
    /// it; the input is copied as rows, (element, vector, row), with zeros in gaps as those of `staged` have.
    /// cell_count tells how many vectors a tile's places are.
    bool cells_in_vectors = false;
    /// Rows of the input have gaps, as those of the output gradient have, with zeros in them: neighbouring cells see neighbours.
    bool taps_see_runs() const { return cells_in_vectors || (size.tile_pairs > 0 && !size.joins_rows()); }
    Halide::Func lane_sum{"lane_sum"};
    Halide::RDom added_lanes;
    std::vector<Copy> input_copies;
    /// (element, lane, lane_vector, vector, panel, out_block, segment_part, part, group): a vector of entries of a vector of
    /// channels.
    Halide::Func turned_sums{"turned_sums"};
    Halide::RDom summed_cells, tiles;  ///< cell (pairs: number, pair); segment, tile
    /// Stores in its update.
    Halide::Func partial;
    struct {
        Halide::RDom domain;
        Halide::RVar element, lane, lane_vector, vector, row, panel, chunk, in_block, out_block, group, segment_part, part;
    } stored;
};

}  // namespace conv_transpose

#endif

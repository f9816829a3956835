// Stores of a warpgroup's tile. The tile leaves the registers 8 rows of a warp at a time: through shared
// memory that the operands no longer need, so that neighbouring lanes then hold neighbouring elements of the
// output. From there on it is plain code: the nest's own guards, value and index, with the accumulator
// replaced by its copy in shared memory.
#ifndef CONV_TRANSPOSE_COMPILER_TILE_STORE_H
#define CONV_TRANSPOSE_COMPILER_TILE_STORE_H

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tensor_boxes.h"
#include "compiler/passes/tensor_core_options.h"
#include "compiler/passes/tile_parts.h"
#include "compiler/passes/warp_tile.h"

namespace conv_transpose {

class TileStore {
  public:
    /// `shared` is the allocation to turn the tile in. `tiles` must outlive this. `cluster` is the loop of the blocks that add
    /// their tiles (TensorCoreOptions::adds_in_clusters), or null.
    TileStore(const Nest &nest, const WarpTiles &tiles, std::string shared, int warpgroups,
              const TensorCoreOptions &options, const Halide::Internal::For *cluster);

    /// The statement in the place of the nest.
    Halide::Internal::Stmt lowered() const;

    /// What all warps of a block need of shared memory at once.
    int scratch_floats() const;

    /// The kernel with what its stores in runs ask of the output (TensorCoreOptions::runs, centre), found before the launch.
    static Halide::Internal::Stmt with_runs(const Halide::Internal::Stmt &kernel, const std::string &output,
                                            OperandFormat format, const TensorCoreOptions &options);

  private:
    /// How the elements of a store are computed.
    struct Version {
        Halide::Expr value;
        bool unrolled = true;
        bool whole = false;  // the tile lies inside of the output: no guards
    };
    struct Element {
        Halide::Expr guard, value, index;
    };

    // By rows: tile_rows.cpp.
    class Rows;
    Halide::Internal::Stmt rows(const Version &version) const;
    Halide::Expr is_inside(int values, const std::vector<Halide::Expr> &conditions) const;
    Halide::Expr index_of_piece(int values) const;
    Halide::Expr row_of_tile(const Halide::Expr &row) const;
    std::map<std::string, Halide::Expr> first_of_piece(int values) const;
    std::map<std::string, Halide::Expr> element_of_piece(int values, int row, int column) const;
    void check_rows() const;
    int pitch_of_rows() const;
    bool moves_sums(const Version &version) const;
    void take_spared_conditions();
    // By boxes: tile_boxes.cpp.
    class Boxes;
    Halide::Internal::Stmt boxes(const Version &version) const;
    void check_boxes() const;
    StoredBoxes stored_boxes() const { return {tile_->rows, line(), bytes_of(format_)}; }
    // In runs: tile_runs.cpp.
    class Runs;
    Halide::Internal::Stmt runs(const Version &version) const;
    Halide::Expr runs_of(int values, bool late) const;
    static std::string name_of_runs(const std::string &output, int values, bool late);
    static std::string name_of_centre(const std::string &output) { return output + ".centre_of_taps"; }
    /// Columns further on than a tile's own lies what it has (shifted_sums.h).
    Halide::Expr centre() const;
    /// Neighbouring rows that alternate in the output.
    int rows_of_line() const { return along_rows_ ? inner_rows_ : 1; }
    bool fills_lanes(int values) const;
    void check_runs() const;
    int rows_of_warp() const { return tile_->rows / warps_of_warpgroup; }
    /// How many a warp has in shared memory at a time.
    int rows_at_a_time() const { return further_tiles_ || !(by_rows_ || cluster_) ? rows_per_turn : rows_of_warp(); }

    // What blocks of a cluster add: tile_of_cluster.cpp.
    Halide::Expr first_own() const;
    Halide::Expr end_of_own() const;
    Halide::Internal::Stmt of_cluster(const Halide::Internal::Stmt &stores) const;

    // By pairs: tile_pairs.cpp.
    Halide::Internal::Stmt in_pairs(const Halide::Expr &value, bool unrolled) const;
    Halide::Internal::Stmt turns(const Version &version) const;
    Halide::Internal::Stmt turn(const Version &version, int row_tile, int repeat, int half) const;
    Halide::Internal::Stmt stores_of_pair(const Element &first, const Element &second) const;
    Halide::Internal::Stmt store_single(const Element &element) const;
    Element element(const Version &version, const Halide::Expr &row, const Halide::Expr &place, int repeat,
                    const Halide::Expr &copy) const;
    PlaceholderCall turn_call(int row_tile, int repeat, int half) const;
    std::map<std::string, int> format_fields() const;
    Halide::Expr target_of(const Halide::Expr &index) const;
    Halide::Expr place_of_copy(const Halide::Expr &place) const;
    Halide::Expr is_whole() const;
    std::pair<Halide::Expr, Halide::Expr> position(const Halide::Expr &lane, const Halide::Expr &line, int step, int i) const;
    int places() const;
    int lines() const;
    int pairs_a_line() const;
    int units_side_by_side() const;
    // How the nest runs over the tile: tile_loops.cpp.
    void find_accumulator();
    void check_covers(const Halide::Internal::Load *load);
    int inner_extent(const Affine &from, const std::string &role, int element_stride, int all) const;
    void add_loops_of_one_step();
    int full_extent(const std::string &role) const;
    void find_neighbours();
    bool neighbours_along(const std::string &role) const;
    std::map<std::string, Halide::Expr> coordinates(const Halide::Expr &row, const Halide::Expr &place, int repeat) const;
    int line() const { return tile_->columns * interleaved_; }

    Halide::Internal::Stmt versions(const Halide::Expr &value, int to_unroll) const;
    bool is_uniform(const Halide::Expr &condition) const;
    Halide::Expr value_at(const Version &version, const std::map<std::string, Halide::Expr> &at, const Halide::Expr &sum) const;
    Halide::Expr load_of_copy(const Halide::Expr &copy) const;
    /// Where a row of a warp lies in shared memory; the warp has so many rows.
    Halide::Expr place_of_row(const Halide::Expr &row, int rows, int pitch) const;
    /// Numbers of 32 bits that wait there for who needs them.
    Halide::Internal::Stmt left_at(const Halide::Expr &place, const Halide::Expr &number) const;
    Halide::Expr number_at(const Halide::Expr &place, Halide::Type type) const;

    Nest nest_;
    const WarpTiles &tiles_;
    std::string shared_;
    int warpgroups_;
    Halide::Expr value_, index_;
    std::vector<Halide::Expr> conditions_;  // of every element; the trimmed ends of loops among them
    // Stores by rows have these where a block has further tiles: a condition that is the same for all elements, and
    // those of `conditions_` that are left where it holds. They are told by conditions "it, or else".
    Halide::Expr spared_if_;
    std::vector<Halide::Expr> conditions_left_;
    std::optional<StoredBox> box_;  // how the copy engine stores it, if it does
    OperandFormat format_ = OperandFormat::float32;  // of the output
    std::string accumulator_;
    const WarpTile *tile_ = nullptr;
    int interleaved_ = 1;  // tiles of 64 rows whose elements alternate in the output
    // Rows are split: mma_m, then mma_m_outer, then mma_m_outermost. Those beyond the last whole set are not stored.
    int inner_rows_ = 0;   // of mma_m
    int middle_rows_ = 0;  // of mma_m and mma_m_outer
    int stored_rows_ = 0;  // of 64
    bool splits_columns_ = false;  // mma_n_outer counts sets of columns, as the tile has no repeats
    int inner_columns_ = 0;        // of mma_n then
    int column_sets_ = 0;          // whose elements alternate in the output; 0 where they do not
    int pitch_ = 0;
    bool along_rows_ = false;  // neighbours in the output are rows of a column
    bool adjacent_ = false;    // so are the two elements that a lane stores at once
    const bool by_rows_, in_runs_, further_tiles_;  // see TensorCoreOptions
    const std::vector<std::pair<int, Halide::Expr>> runs_, late_runs_;
    const Halide::Internal::For *const cluster_;
};

}  // namespace conv_transpose

#endif

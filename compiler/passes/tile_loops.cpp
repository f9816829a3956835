// How the loops of a nest that stores a tile (TileStore) run over the accumulator, and over the output.
#include "compiler/passes/tile_expressions.h"
#include "compiler/passes/tile_store.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// A line's distance in shared memory. Lanes write pairs of columns of 4 rows at once, or two such pairs of 2
/// rows: rows must lie 8, or 16, banks apart.
int pitch_of(int line, int interleaved) {
    const int apart = 8 * interleaved;
    return line % (2 * apart) == apart ? line : line + apart;
}

/// Where a lane has neighbouring columns of two neighbouring rows, four pairs of rows and 32 bytes of each lie in all banks.
int pitch_of_positions(int line) { return line + 12; }

}  // namespace

void TileStore::find_accumulator() {
    const std::vector<const Load *> loads = loads_of_tiles(value_, tiles_);
    if (loads.size() != 1 || !tiles_.at(loads[0]->name).known())
        refuse_tile(nest_.name,
                    "a store out of a warp tile reads one element of one accumulator, not " + text(value_));
    accumulator_ = loads[0]->name;
    tile_ = &tiles_.at(accumulator_);
    interleaved_ = nest_.find("mma_m_tile") ? tile_->rows / rows_of_instruction : 1;
    check_covers(loads[0]);
}

/// A store's loops must run over the tile as the accumulator is laid out. Finds how rows and columns are
/// split.
void TileStore::check_covers(const Load *load) {
    const Affine from = affine_index(nest_, load->index);
    const auto covers = [&](const std::string &role, int stride) {
        return !nest_.find(role) || constant_stride(nest_, from, role, "the accumulator") == stride;
    };
    if (interleaved_ > 2)
        refuse_tile(nest_.name, "mma_m_tile runs over " + std::to_string(tile_->rows) +
                                    " rows of a tile; the rule is 128");
    const int rows = tile_->rows / interleaved_;
    middle_rows_ = inner_extent(from, "mma_m_outermost", tile_->row_stride, rows);
    inner_rows_ = inner_extent(from, "mma_m_outer", tile_->row_stride, middle_rows_);
    if (middle_rows_ < rows && middle_rows_ % inner_rows_ != 0)
        refuse_tile(nest_.name, "mma_m_outer steps over " + std::to_string(inner_rows_) +
                                    " rows; the rule is a divisor of mma_m_outermost's " +
                                    std::to_string(middle_rows_));
    stored_rows_ = rows / middle_rows_ * (middle_rows_ / inner_rows_ * inner_rows_);
    splits_columns_ = tile_->repeats == 1 && tile_->groups == 1 && nest_.find("mma_n_outer");
    inner_columns_ = splits_columns_ ? inner_extent(from, "mma_n_outer", tile_->column_stride, tile_->columns)
                                     : tile_->run();
    if (!covers("mma_m", tile_->row_stride) || !covers("mma_n", tile_->column_stride) ||
        !covers("mma_n_group", tile_->group_stride) ||
        !(splits_columns_ || covers("mma_n_outer", tile_->repeat_stride)) ||
        !covers("mma_m_tile", rows_of_instruction * tile_->row_stride) ||
        !are_equal(from.base, tile_->base))
        refuse_tile(nest_.name, "the store does not run over the tile as the accumulator is laid out");
}

/// How many rows or columns one step of the loop over their slower part covers: all of them without such a
/// loop.
int TileStore::inner_extent(const Affine &from, const std::string &role, int element_stride, int all) const {
    if (!nest_.find(role)) return all;
    const int stride = constant_stride(nest_, from, role, "the accumulator");
    const int inner = element_stride == 0 ? 0 : stride / element_stride;
    if (inner <= 0 || inner * element_stride != stride)
        refuse_tile(nest_.name, role + " steps over " + std::to_string(stride) +
                                    " accumulators; the rule is whole rows or columns");
    return inner;
}

/// Where one step of a loop covers the whole output, Halide leaves the loop away. The tile may still have more
/// than that, which must not be stored.
void TileStore::add_loops_of_one_step() {
    for (const char *role : {"mma_m", "mma_n", "mma_n_group", "mma_n_outer"}) {
        if (!nest_.find(role) && full_extent(role) > 1) nest_.loops.push_back({role, nest_.name + "." + role, 1});
    }
}

/// The extent of a store's loop in a tile that lies inside of the output.
int TileStore::full_extent(const std::string &role) const {
    const int column_sets = (tile_->run() + inner_columns_ - 1) / inner_columns_;
    return role == "mma_n"             ? inner_columns_
           : role == "mma_n_group"     ? tile_->groups
           : role == "mma_n_outer"     ? (splits_columns_ ? column_sets : tile_->repeats)
           : role == "mma_m_tile"      ? interleaved_
           : role == "mma_m_outermost" ? tile_->rows / interleaved_ / middle_rows_
           : role == "mma_m_outer"     ? middle_rows_ / inner_rows_
                                       : inner_rows_;
}

/// Which elements of a tile are neighbours in the output, and how far apart its lines lie in shared memory.
void TileStore::find_neighbours() {
    pitch_ = tile_->taps > 1 ? pitch_of_positions(line()) : pitch_of(line(), interleaved_);
    const std::string along = interleaved_ > 1 ? "mma_m_tile" : "mma_n";
    along_rows_ = neighbours_along("mma_m") && !neighbours_along(along);
    adjacent_ = along_rows_ ? inner_rows_ % 2 == 0 : neighbours_along(along);
    // Column 0 of all sets, then column 1 of all, if those are neighbours in the output.
    if (splits_columns_ && !adjacent_ && neighbours_along("mma_n_outer")) {
        column_sets_ = nest_.constant_extent("mma_n_outer");
        adjacent_ = column_sets_ % 2 == 0;
    }
}

bool TileStore::neighbours_along(const std::string &role) const {
    const TileLoop *loop = nest_.find(role);
    if (!loop) return false;
    const Expr next = substitute(loop->name, Variable::make(Int(32), loop->name) + 1, index_);
    return is_const_one(simplify(next - index_));
}

/// The nest's loop variables at a place of a line.
std::map<std::string, Expr> TileStore::coordinates(const Expr &row, const Expr &place, int repeat) const {
    const Expr column = place_of_copy(place) / interleaved_;
    const Expr column_set = column_sets_ > 1  ? place % column_sets_
                            : splits_columns_ ? column / inner_columns_
                                              : Expr(repeat);
    const Expr column_of_set = column_sets_ > 1 ? place / column_sets_ : column % inner_columns_;
    const bool three_levels = middle_rows_ < tile_->rows / interleaved_;
    const Expr row_of_middle = three_levels ? row % middle_rows_ : row;
    std::map<std::string, Expr> at;
    for (const TileLoop &loop : nest_.loops) {
        at[loop.name] = loop.role == "mma_n"         ? column_of_set
                        : loop.role == "mma_n_group" ? column / tile_->run()
                        : loop.role == "mma_n_outer" ? column_set
                        : loop.role == "mma_m_tile"  ? place % interleaved_
                        : loop.role == "mma_m_outermost" ? row / middle_rows_
                        : loop.role == "mma_m_outer" ? row_of_middle / inner_rows_
                                                     : row_of_middle % inner_rows_;
        if (loop.role == "mma_n" && tile_->groups == 1 && !splits_columns_) at[loop.name] = column;
    }
    return at;
}

}  // namespace conv_transpose

// Stores of a tile (TileStore) by pairs: the way that asks nothing of the output.
//
// A *line* is what one row of the tile gives to the output: its columns, or, where two tiles of 64 rows alternate (mma_m_tile),
// column 0 of both, column 1 of both, and so on. A *turn* brings 8 lines of every warp to shared memory; then each lane stores
// pairs of elements that are neighbours in the output, if there are such. Where neighbours lie in the rows of a column,
// neighbouring lanes take neighbouring rows first.
#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_store.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

Stmt TileStore::in_pairs(const Expr &value, bool unrolled) const {
    const Expr whole = unrolled ? is_whole() : const_false();
    const Stmt with_guards = is_const_one(whole) ? Evaluate::make(0) : turns({value, unrolled, false});
    if (is_const_zero(whole)) return with_guards;
    const Stmt without = turns({value, unrolled, true});
    return is_const_one(whole) ? without : IfThenElse::make(whole, without, with_guards);
}

/// A condition that is enough for every element's conditions to hold.
Expr TileStore::is_whole() const {
    Scope<Interval> everywhere;
    for (const TileLoop &loop : nest_.loops) everywhere.push(loop.name, Interval(0, full_extent(loop.role) - 1));
    Expr whole = const_true();
    for (const Expr &condition : conditions_) {
        const Interval bounds = bounds_of_expr_in_scope(condition, everywhere);
        whole = whole && (bounds.has_lower_bound() ? bounds.min : const_false());
    }
    return simplify(whole);
}

Stmt TileStore::turns(const Version &version) const {
    std::vector<Stmt> all;
    for (int row_tile = 0; row_tile < tile_->rows / interleaved_ / rows_of_instruction; row_tile++) {
        for (int repeat = 0; repeat < tile_->repeats; repeat++) {
            for (int half = 0; half < 2; half++) all.push_back(turn(version, row_tile, repeat, half));
        }
    }
    return Block::make(all);
}

PlaceholderCall TileStore::turn_call(int row_tile, int repeat, int half) const {
    PlaceholderCall turn{"turn",
                         {{"tile", tile_->id}, {"m", tile_->rows * tile_->taps}, {"n", tile_->columns}, {"r", tile_->repeats},
                          {"row", row_tile}, {"rep", repeat}, {"half", half}, {"pitch", pitch_}, {"tiles", interleaved_}}};
    if (tile_->taps > 1) turn.fields["taps"] = tile_->taps;
    return turn;
}

/// A warp's rows 64 row_tile + 16 warp + 8 half + 0..7 of the tile.
Stmt TileStore::turn(const Version &version, int row_tile, int repeat, int half) const {
    const Expr lane = Variable::make(Int(32), ".thread_id_x"), warp = Variable::make(Int(32), ".thread_id_y");
    const Expr warpgroup = warpgroups_ > 1 ? Variable::make(Int(32), ".thread_id_z") : Expr(0);
    const Expr first_row = row_tile * rows_of_instruction + warp * rows_of_warp_and_set + half * rows_per_turn;
    const Expr scratch = (warpgroup * warps_of_warpgroup + warp) * (rows_per_turn * pitch_);
    const int steps = (pairs_a_line() + lanes_of_warp - 1) / lanes_of_warp;

    std::vector<Stmt> all = {placeholder(turn_call(row_tile, repeat, half))};
    const auto store = [&](const Expr &line, int step) {
        Element elements[2];
        for (int i = 0; i < 2; i++) {
            const auto [row, place] = position(lane, line, step, i);
            elements[i] = element(version, first_row + row, place, repeat,
                                  scratch + row * pitch_ + place_of_copy(place));
        }
        const Stmt stores = stores_of_pair(elements[0], elements[1]);
        const bool all_lanes = (step + 1) * lanes_of_warp <= pairs_a_line();
        return all_lanes ? stores : IfThenElse::make(lane + step * lanes_of_warp < pairs_a_line(), stores);
    };
    const auto whole_line = [&](const Expr &line) {
        std::vector<Stmt> stores;
        for (int step = 0; step < steps; step++) stores.push_back(store(line, step));
        return Block::make(stores);
    };
    if (version.unrolled) {
        for (int i = 0; i < lines(); i++) all.push_back(whole_line(i));
    } else {
        const std::string name = nest_.name + ".line";
        all.push_back(For::make(name, 0, lines(), ForType::Serial, Partition::Never, DeviceAPI::None,
                                whole_line(Variable::make(Int(32), name))));
    }
    all.push_back(placeholder({"turn_end", {}}));
    return Block::make(all);
}

int TileStore::places() const { return column_sets_ > 1 ? column_sets_ * inner_columns_ : line(); }

/// Rows, or pairs of them, that lie side by side in the output, as far as a turn has them: neighbouring lanes take
/// them before they go to the next column.
int TileStore::units_side_by_side() const {
    if (!along_rows_) return 1;
    if (!adjacent_) return rows_per_turn;
    return rows_per_turn % inner_rows_ == 0 ? inner_rows_ / 2 : rows_per_turn / 2;
}

/// In how many parts a turn is stored.
int TileStore::lines() const {
    const int units = along_rows_ && adjacent_ ? rows_per_turn / 2 : rows_per_turn;
    return units / units_side_by_side();
}

int TileStore::pairs_a_line() const { return (places() * rows_per_turn / lines() + 1) / 2; }

/// The row of a turn and the place in its line of one of the two elements that a lane stores in a step.
std::pair<Expr, Expr> TileStore::position(const Expr &lane, const Expr &line, int step, int i) const {
    const Expr pair = lane + step * lanes_of_warp;
    const int units = units_side_by_side();
    if (!along_rows_) {
        return {line, pair * 2 + i};
    }
    if (adjacent_) {
        return {(line * units + pair % units) * 2 + i, pair / units};
    }
    const Expr single = lane + (step * 2 + i) * lanes_of_warp;
    return {single % units, single / units};
}

/// Where the turn has put the element at a place of a line.
Expr TileStore::place_of_copy(const Expr &place) const {
    return column_sets_ > 1 ? place % column_sets_ * inner_columns_ + place / column_sets_ : place;
}

/// One element of the store: the nest's expressions there, with `copy` the place of the value in shared
/// memory.
TileStore::Element TileStore::element(const Version &version, const Expr &row, const Expr &place, int repeat,
                                      const Expr &copy) const {
    const auto at = coordinates(row, place, repeat);
    Expr guard = stored_rows_ * interleaved_ == tile_->rows ? const_true() : row < stored_rows_;
    if (!version.whole) {
        for (const Expr &condition : conditions_) guard = guard && substitute(at, condition);
    }
    return {simplify(guard), value_at(version, at, load_of_copy(copy)), simplify(substitute(at, index_))};
}

Stmt TileStore::stores_of_pair(const Element &first, const Element &second) const {
    if (!adjacent_) return Block::make(store_single(first), store_single(second));
    const Stmt both = placeholder({"store_pair", format_fields()}, {target_of(first.index), first.value, second.value});
    const Expr inside = simplify(first.guard && second.guard);
    return is_const_one(inside) ? both
                                : IfThenElse::make(inside, both, Block::make(store_single(first), store_single(second)));
}

std::map<std::string, int> TileStore::format_fields() const {
    if (format_ == OperandFormat::float32) return {};
    return {{format_field, static_cast<int>(format_)}};
}

/// What the address is taken of is never loaded.
Expr TileStore::target_of(const Expr &index) const {
    const Store *store = nest_.store;
    return Load::make(format_ == OperandFormat::float32 ? Float(32) : Float(16), store->name, index, Buffer<>(), store->param,
                      const_true(), ModulusRemainder());
}

Stmt TileStore::store_single(const Element &e) const {
    const Store *store = nest_.store;
    const Stmt alone =
        format_ == OperandFormat::float32
            ? Store::make(store->name, e.value, e.index, store->param, const_true(), ModulusRemainder())
            : placeholder({"store_single", format_fields()}, {target_of(e.index), e.value});
    return is_const_one(e.guard) ? alone : IfThenElse::make(e.guard, alone);
}

}  // namespace conv_transpose

// Stores of a tile in runs (TileStore, TensorCoreOptions::run_stores), where neighbouring columns of the tile are as a rule
// neighbours in the output, as positions of a channel are in channels_first, but not where rows or pictures end.
//
// Eight rows of a warp at a time are turned through shared memory, as in tile_store.cpp. Then each lane has four columns of
// every 128: it finds once for all rows where they lie and whether they are inside, and stores those of a row at once if
// they are neighbours, else one by one. The instruction looks how they are aligned: rows of the output may begin anywhere.
#include "compiler/passes/tile_store.h"

#include <functional>

#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int columns_of_run = 4, columns_of_warp = columns_of_run * lanes_of_warp;

Expr all_of(const std::vector<Expr> &conditions) {
    Expr all = const_true();
    for (const Expr &condition : conditions) all = all && condition;
    return all;
}

}  // namespace

void TileStore::check_runs() const {
    const bool plain = interleaved_ == 1 && tile_->groups == 1 && tile_->repeats == 1 && !splits_columns_ &&
                       middle_rows_ == tile_->rows && inner_rows_ == tile_->rows;
    if (!plain || along_rows_ || tile_->columns % columns_of_warp != 0) {
        refuse_tile(nest_.name, "runs are stored of tiles whose columns are one run, a multiple of 128");
    }
}

/// Of the warpgroup's tile: its first two columns are neighbours. Where they are not, few will be.
Expr TileStore::begins_with_run() const {
    const auto index = [&](int column) { return substitute(coordinates(0, column, 0), index_); };
    return simplify(index(1) - index(0)) == 1;
}

/// Conditions at a place that tell columns apart, or those that tell rows apart.
Expr TileStore::inside(const Expr &row, const Expr &place, bool of_rows) const {
    const auto depends = [&](const Expr &condition, const Expr &other_row, const Expr &other_place) {
        return !equal(simplify(substitute(coordinates(row, place, 0), condition)),
                      simplify(substitute(coordinates(other_row, other_place, 0), condition)));
    };
    std::vector<Expr> chosen;
    for (const Expr &condition : parts_of(conditions_)) {
        const bool row_matters = depends(condition, row + 1, place);
        if (row_matters && depends(condition, row, place + 1)) {
            refuse_tile(nest_.name, "runs cannot be stored under the condition " + text(condition).substr(0, 300));
        }
        if (row_matters == of_rows) chosen.push_back(substitute(coordinates(row, place, 0), condition));
    }
    return simplify(all_of(chosen));
}

Stmt TileStore::runs(const Version &version) const {
    std::vector<Stmt> all;
    for (int row_tile = 0; row_tile < tile_->rows / rows_of_instruction; row_tile++) {
        for (int half = 0; half < 2; half++) all.push_back(turn_of_runs(version, row_tile, half));
    }
    return Block::make(all);
}

Stmt TileStore::turn_of_runs(const Version &version, int row_tile, int half) const {
    const Expr lane = Variable::make(Int(32), ".thread_id_x"), warp = Variable::make(Int(32), ".thread_id_y");
    const Expr warpgroup = warpgroups_ > 1 ? Variable::make(Int(32), ".thread_id_z") : Expr(0);
    const Expr first_row = row_tile * rows_of_instruction + warp * rows_of_warp_and_set + half * rows_per_turn;
    const Expr scratch = (warpgroup * warps_of_warpgroup + warp) * (rows_per_turn * pitch_);
    std::vector<Stmt> all = {placeholder(turn_call(row_tile, 0, half))};
    for (int column = 0; column < tile_->columns; column += columns_of_warp) {
        all.push_back(runs_of_lane(version, first_row, column + lane * columns_of_run, scratch));
    }
    all.push_back(placeholder({"turn_end", {}}));
    return Block::make(all);
}

Stmt TileStore::runs_of_lane(const Version &version, const Expr &first_row, const Expr &place, const Expr &scratch) const {
    const auto of_rows = [&](bool unrolled, const std::function<Stmt(const Expr &line)> &store) -> Stmt {
        const auto inside_of = [&](const Expr &line) {
            const Expr condition = inside(first_row + line, place, true);
            return is_const_one(condition) ? store(line) : IfThenElse::make(condition, store(line));
        };
        if (!unrolled) {
            const std::string name = nest_.name + ".line";
            return For::make(name, 0, rows_per_turn, ForType::Serial, Partition::Never, DeviceAPI::None,
                             inside_of(Variable::make(Int(32), name)));
        }
        std::vector<Stmt> all;
        for (int line = 0; line < rows_per_turn; line++) all.push_back(inside_of(line));
        return Block::make(all);
    };
    const auto index = [&](int i) { return substitute(coordinates(first_row, place + i, 0), index_); };
    Expr is_run = inside(first_row, place, false);
    for (int i = 1; i < columns_of_run; i++) {
        is_run = is_run && inside(first_row, place + i, false) && simplify(index(i) - index(0)) == i;
    }
    const Stmt at_once = of_rows(version.unrolled, [&](const Expr &line) {
        return store_run(version, first_row + line, place, scratch + line * pitch_ + place);
    });
    const std::string column = nest_.name + ".column";
    const Expr single = place + Variable::make(Int(32), column);
    const Stmt one_by_one =
        For::make(column, 0, columns_of_run, ForType::Serial, Partition::Never, DeviceAPI::None,
                  IfThenElse::make(inside(first_row, single, false), of_rows(false, [&](const Expr &line) {
                      return store_single(element(version, first_row + line, single, 0, scratch + line * pitch_ + single));
                  })));
    return IfThenElse::make(is_run, at_once, one_by_one);
}

/// Four values of a row, which are read at once.
Stmt TileStore::store_run(const Version &version, const Expr &row, const Expr &place, const Expr &copy) const {
    const std::string name = nest_.name + ".run";
    const Expr four = Variable::make(Float(32, columns_of_run), name);
    std::vector<Expr> arguments{target_of(substitute(coordinates(row, place, 0), index_))};
    for (int i = 0; i < columns_of_run; i++) {
        arguments.push_back(value_at(version, row, place + i, Shuffle::make_extract_element(four, i)));
    }
    const Expr load = Load::make(four.type(), shared_, Ramp::make(simplify(copy), 1, columns_of_run), Buffer<>(), Parameter(),
                                 const_true(columns_of_run), ModulusRemainder(columns_of_run, 0));
    return LetStmt::make(name, load, placeholder({"store_run", format_fields()}, arguments));
}

}  // namespace conv_transpose

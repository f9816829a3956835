// Stores of a tile in runs (TileStore, TensorCoreOptions::run_stores): four elements at once that are neighbours in the
// output as a rule, but not where rows or pictures end: columns, as positions of a channel are in channels_first, or rows of
// neighbouring columns, where phases of a stride are channels.
//
// Eight rows of a warp at a time are turned through shared memory, as in tile_store.cpp. Then each lane has four columns of
// every 128, or fewer of as many rows. It finds out which fours are neighbours and inside, and stores those at once, what is
// left one by one. The instruction looks how they are aligned: rows of the output may begin anywhere.
#include "compiler/passes/tile_store.h"

#include <algorithm>

#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int values_of_run = 4;

}  // namespace

int TileStore::rows_of_run() const { return along_rows_ ? std::min(inner_rows_, values_of_run) : 1; }
int TileStore::columns_of_run() const { return values_of_run / rows_of_run(); }

void TileStore::check_runs() const {
    const bool plain = interleaved_ == 1 && tile_->groups == 1 && tile_->repeats == 1 && !splits_columns_ &&
                       middle_rows_ == tile_->rows && stored_rows_ == tile_->rows;
    const int rows = rows_of_run(), columns = columns_of_run() * lanes_of_warp;
    if (!plain || values_of_run % rows != 0 || (along_rows_ && inner_rows_ % rows != 0) || tile_->columns % columns != 0) {
        refuse_tile(nest_.name, "runs are stored of tiles whose columns are one run, a multiple of " + std::to_string(columns) +
                                    ", and of 1, 2 or 4 neighbouring rows");
    }
}

/// Of the warpgroup's tile. Where the first four are no neighbours few others will be.
Expr TileStore::begins_with_run() const {
    const int rows = rows_of_run();
    const auto index = [&](int i) { return substitute(coordinates(i % rows, i / rows, 0), index_); };
    return rows == values_of_run ? const_true() : simplify(index(rows) - index(rows - 1)) == 1;
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
    const Expr row = row_tile * rows_of_instruction + warp * rows_of_warp_and_set + half * rows_per_turn;
    const Expr scratch = (warpgroup * warps_of_warpgroup + warp) * (rows_per_turn * pitch_);
    std::vector<Stmt> all = {placeholder(turn_call(row_tile, 0, half))};
    for (int column = 0; column < tile_->columns; column += columns_of_run() * lanes_of_warp) {
        all.push_back(runs_of_lane({version, row, column + lane * columns_of_run(), scratch}));
    }
    all.push_back(placeholder({"turn_end", {}}));
    return Block::make(all);
}

/// Those at a lane's columns, of all rows of a turn.
Stmt TileStore::runs_of_lane(const RunsOfLane &at) const {
    const int lines = rows_per_turn / rows_of_run();
    std::vector<Stmt> all;
    Expr is_left = const_false();
    for (int line = 0; line < lines; line++) {
        is_left = is_left || (!is_run(at, line) && begins_inside(at, line));
        if (at.version.unrolled) all.push_back(store_run(at, line));
    }
    const std::string name = nest_.name + ".line", value = nest_.name + ".value";
    const Expr line = Variable::make(Int(32), name), i = Variable::make(Int(32), value);
    const auto loop = [](const std::string &variable, int extent, const Stmt &body) {
        return For::make(variable, 0, extent, ForType::Serial, Partition::Never, DeviceAPI::None, body);
    };
    if (!at.version.unrolled) all.push_back(loop(name, lines, store_run(at, line)));
    const Stmt singles = loop(value, values_of_run, store_single(element_of_run(at, line, i)));
    all.push_back(IfThenElse::make(is_left, loop(name, lines, IfThenElse::make(!is_run(at, line), singles))));
    return Block::make(all);
}

/// Element i of the run that a lane has in a line.
TileStore::Element TileStore::element_of_run(const RunsOfLane &at, const Expr &line, const Expr &i) const {
    const Expr row = line * rows_of_run() + i % rows_of_run(), place = at.place + i / rows_of_run();
    return element(at.version, at.row + row, place, 0, at.scratch + row * pitch_ + place);
}

Expr TileStore::is_run(const RunsOfLane &at, const Expr &line) const {
    const Element first = element_of_run(at, line, 0);
    Expr all = first.guard;
    for (int i = 1; i < values_of_run; i++) {
        const Element next = element_of_run(at, line, i);
        all = all && next.guard && simplify(next.index - first.index) == i;
    }
    return all;
}

/// Conditions of rows alone hold for the first row of a line, as they do for others: neighbours are of one channel.
Expr TileStore::begins_inside(const RunsOfLane &at, const Expr &line) const {
    const Expr row = at.row + line * rows_of_run();
    Expr inside = const_true();
    for (const Expr &condition : parts_of(conditions_)) {
        const Expr here = simplify(substitute(coordinates(row, at.place, 0), condition));
        const Expr there = simplify(substitute(coordinates(row, at.place + 1, 0), condition));
        if (equal(here, there)) inside = inside && here;
    }
    return inside;
}

Stmt TileStore::store_run(const RunsOfLane &at, const Expr &line) const {
    const int rows = rows_of_run(), columns = columns_of_run();
    std::vector<std::pair<std::string, Expr>> copies;  // of a row's columns, which are read at once
    for (int row = 0; row < rows; row++) {
        const Expr copy = simplify(at.scratch + (line * rows + row) * pitch_ + at.place);
        copies.emplace_back(nest_.name + ".run" + std::to_string(row),
                            columns == 1 ? load_of_copy(copy)
                                         : Load::make(Float(32, columns), shared_, Ramp::make(copy, 1, columns), Buffer<>(), Parameter(),
                                                      const_true(columns), ModulusRemainder(columns, 0)));
    }
    const Element first = element_of_run(at, line, 0);
    std::vector<Expr> arguments{target_of(first.index)};
    for (int i = 0; i < values_of_run; i++) {
        const auto &[name, load] = copies[i % rows];
        const Expr copy = Variable::make(load.type(), name);
        arguments.push_back(value_at(at.version, coordinates(at.row + line * rows + i % rows, at.place + i / rows, 0),
                                     columns == 1 ? copy : Shuffle::make_extract_element(copy, i / rows)));
    }
    Stmt store = placeholder({"store_run", format_fields()}, arguments);
    for (const auto &[name, load] : copies) store = LetStmt::make(name, load, store);
    return IfThenElse::make(is_run(at, line), store);
}

}  // namespace conv_transpose

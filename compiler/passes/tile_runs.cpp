// Stores of a tile in runs (TileStore, TensorCoreOptions::run_stores): four elements at once that are neighbours in the
// output as a rule, but not where rows or pictures end: columns, as positions of a channel are in channels_first, or rows of
// neighbouring columns, where phases of a stride are channels.
//
// Eight rows of a warp at a time are turned through shared memory, as in tile_store.cpp. Then each lane has four columns of
// every 128, or fewer of as many rows. It finds out which fours are neighbours and inside, and stores those at once, others
// one by one. The instruction looks how they are aligned: rows of the output may begin anywhere.
#include "compiler/passes/tile_store.h"

#include <algorithm>

#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_parts.h"

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
        refuse_tile(nest_.name, "runs are stored of tiles whose columns are one run, a multiple of " +
                                    std::to_string(columns) + ", and of 1, 2 or 4 neighbouring rows");
    }
}

/// The first four of the warpgroup's tile tell it: where they are no neighbours few others will be.
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
    RowsAndPieces parts(nest_.name);
    const Expr row = integer(row_name), place = integer(piece_name);
    const auto here = coordinates(at.row + row, place, 0);
    // A let would hide what its variable depends on.
    const auto taken_apart = [&](const Expr &e) {
        return parts.mutate(substitute_in_all_lets(simplify(substitute(here, e))));
    };
    Expr inside = const_true();
    for (const Expr &condition : parts_of(conditions_)) inside = inside && taken_apart(condition);
    const Expr value = value_at(at.version, here, Variable::make(Float(32), sum_name));
    const Element element{inside, taken_apart(value), taken_apart(index_)};

    const auto of_line = [&](const Expr &line) {
        Stmt store = store_run(at, element, parts, line);
        for (int row = 0; row < rows_of_run(); row++)
            store = with_parts(parts.of_rows, row_name, line * rows_of_run() + row, row, store);
        return store;
    };
    const int lines = rows_per_turn / rows_of_run();
    Stmt all;
    if (at.version.unrolled) {
        std::vector<Stmt> stores;
        for (int line = 0; line < lines; line++) stores.push_back(of_line(line));
        all = Block::make(stores);
    } else {
        const std::string name = nest_.name + ".line";
        all = For::make(name, 0, lines, ForType::Serial, Partition::Never, DeviceAPI::None, of_line(integer(name)));
    }
    for (int column = 0; column < columns_of_run(); column++)
        all = with_parts(parts.of_pieces, piece_name, at.place + column, column, all);
    return all;
}

/// The parts of a row or a piece, which is the `number`th of a run.
Stmt TileStore::with_parts(const RowsAndPieces::Parts &parts, const std::string &name, const Expr &which,
                           int number, Stmt body) const {
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        body = LetStmt::make(part->first + "." + std::to_string(number), substitute(name, which, part->second), body);
    }
    return body;
}

/// It stores the run of a line, at once if all are inside and neighbours.
Stmt TileStore::store_run(const RunsOfLane &at, const Element &element, const RowsAndPieces &parts, const Expr &line) const {
    const int rows = rows_of_run(), columns = columns_of_run();
    // Element i of the run has the parts of its row and its column.
    const auto of = [&](const Expr &e, int i) {
        std::map<std::string, Expr> values{{row_name, line * rows + i % rows}, {piece_name, at.place + i / rows}};
        const auto add = [&](const RowsAndPieces::Parts &all, int number) {
            for (const auto &[name, value] : all)
                values[name] = Variable::make(value.type(), name + "." + std::to_string(number));
        };
        add(parts.of_rows, i % rows), add(parts.of_pieces, i / rows);
        return substitute(values, e);
    };
    std::vector<Expr> copies(values_of_run), arguments{target_of(of(element.index, 0))};
    std::vector<std::pair<std::string, Expr>> loads;
    for (int row = 0; row < rows; row++) {  // whose columns are read at once
        const Expr copy = simplify(at.scratch + (line * rows + row) * pitch_ + at.place);
        loads.emplace_back(
            nest_.name + ".run" + std::to_string(row),
            columns == 1 ? load_of_copy(copy)
                         : Load::make(Float(32, columns), shared_, Ramp::make(copy, 1, columns), Buffer<>(),
                                      Parameter(), const_true(columns), ModulusRemainder(columns, 0)));
        const Expr all = Variable::make(loads.back().second.type(), loads.back().first);
        for (int column = 0; column < columns; column++)
            copies[column * rows + row] = columns == 1 ? all : Shuffle::make_extract_element(all, column);
    }
    Expr is_run = of(element.guard, 0);
    std::vector<Stmt> singles;
    for (int i = 0; i < values_of_run; i++) {
        const Expr value = substitute(sum_name, copies[i], of(element.value, i));
        if (i > 0) is_run = is_run && of(element.guard, i) && simplify(of(element.index, i) - of(element.index, 0)) == i;
        arguments.push_back(value);
        singles.push_back(store_single({of(element.guard, i), value, of(element.index, i)}));
    }
    Stmt store = IfThenElse::make(is_run, placeholder({"store_run", format_fields()}, arguments), Block::make(singles));
    for (const auto &[name, load] : loads) store = LetStmt::make(name, load, store);
    return store;
}

}  // namespace conv_transpose

// Stores of a tile by rows (TileStore, TensorCoreOptions::row_stores), where 16 bytes of a row of the tile are neighbours in
// the output: channels of a position, in channels_last.
//
// A warp brings all of its rows to shared memory, or, where a block has further tiles, 8 at a time. Then neighbouring lanes store neighbouring 16 bytes of a row, each lane
// always the same columns, until all rows are stored. What an address or a condition takes from the row alone, as where a
// position lies in the output, one lane works out for each row and leaves behind the row in shared memory; what comes from
// the columns alone, as a bias, each lane works out once. (One copy by the copy engine for each row took longer: about 45
// cycles a row of 256 bytes, H200, 2026-11-22.)
#include "compiler/passes/tile_store.h"

#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_parts.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int columns_behind_row = 8;  // free in shared memory; they keep rows in different banks, too

/// An index in which strides that the pipeline promises to be multiples of `values` are seen to be.
Expr with_known_strides(Expr index, const Store *store, int values) {
    for (int d = 0; d < store->param.dimensions(); d++) {
        const Expr promised = store->param.stride_constraint(d);
        if (!promised.defined()) continue;
        const ModulusRemainder known = modulus_remainder(promised);
        if (known.modulus % values != 0 || known.remainder % values != 0) continue;
        const std::string name = store->name + ".stride." + std::to_string(d);
        index = substitute(name, Variable::make(Int(32), name + ".multiple") * values, index);
    }
    return index;
}

}  // namespace

void TileStore::check_rows() const {
    const int values = bytes_of_row / bytes_of(format_), pieces = line() / values;
    const bool plain = interleaved_ == 1 && tile_->groups == 1 && tile_->repeats == 1 && inner_columns_ % values == 0 &&
                       middle_rows_ == tile_->rows && inner_rows_ == tile_->rows;
    const int rows = rows_of_warp();
    if (!plain || along_rows_ || !adjacent_ || column_sets_ > 0 || (rows != lanes_of_warp && rows != lanes_of_warp / 2) ||
        (pieces % lanes_of_warp != 0 && lanes_of_warp % pieces != 0)) {
        refuse_tile(nest_.name, "row stores are of tiles of 64 or 128 rows, whose columns are neighbours in the output, at "
                                "least 16 bytes of them, and fill a power of two of 16 bytes");
    }
    if (further_tiles_ && pieces > lanes_of_warp) {
        refuse_tile(nest_.name, "while a block's further tiles are on their way, row stores are of at most 32 times 16 bytes, "
                                "not " + std::to_string(pieces));
    }
}

int TileStore::pitch_of_rows() const { return line() + columns_behind_row; }

/// "it, or else" is a condition of its own, and the rest.
void TileStore::take_spared_conditions() {
    std::vector<Expr> all, left;
    for (const Expr &condition : parts_of(conditions_)) {
        const Or *either = condition.as<Or>();
        const bool first = either && is_uniform(either->a), spares = first || (either && is_uniform(either->b));
        const Expr spared_if = !spares ? Expr() : first ? either->a : either->b;
        if (!spares || (spared_if_.defined() && !equal(spared_if_, spared_if))) {
            all.push_back(condition), left.push_back(condition);
            continue;
        }
        spared_if_ = spared_if;
        all.push_back(first ? either->b : either->a);
    }
    conditions_ = all, conditions_left_ = left;
}

/// Whether 16 bytes lie inside; they do with the first of them.
Expr TileStore::is_inside(int values, const std::vector<Expr> &conditions) const {
    const Expr row = row_of_tile(integer(row_name)), piece = integer(piece_name) * values;
    const auto first = coordinates(row, piece, 0), second = coordinates(row, piece + 1, 0);
    Expr inside = const_true();
    for (const Expr &condition : parts_of(conditions)) {
        const Expr here = simplify(substitute(first, condition));
        const LT *less = condition.as<LT>();
        const bool same = equal(here, simplify(substitute(second, condition)));
        const bool ends = less && is_const_one(simplify(substitute(second, less->a) - substitute(first, less->a))) &&
                          is_const_zero(simplify(substitute(second, less->b) - substitute(first, less->b)));
        if (!same && !ends) {
            refuse_tile(nest_.name, "a row store cannot leave out columns by the condition " +
                                        text(condition).substr(0, 300));
        }
        inside = inside && here;
    }
    return inside;
}

/// Whether sums are converted to 16 bits as they come to shared memory, and no more than moved from there.
bool TileStore::moves_sums(const Version &version) const {
    const Load *load = version.value.as<Load>();
    return further_tiles_ && format_ != OperandFormat::float32 && line() >= 64 && load && load->name == accumulator_;
}

/// The index of the first of 16 bytes, which the output's strides are promised to keep aligned.
Expr TileStore::index_of_piece(int values) const {
    const Expr index = simplify(
        substitute(coordinates(row_of_tile(integer(row_name)), integer(piece_name) * values, 0), index_));
    const ModulusRemainder known = modulus_remainder(with_known_strides(index, nest_.store, values));
    if (known.modulus % values != 0 || known.remainder % values != 0 || nest_.store->param.host_alignment() < bytes_of_row) {
        refuse_tile(nest_.name, "a row store to " + text(index).substr(0, 300) + " of " + nest_.store->name +
                                    "; the rule is 16 aligned bytes");
    }
    return index;
}

/// Of a row of the warp.
Expr TileStore::row_of_tile(const Expr &row) const {
    const Expr warp = Variable::make(Int(32), ".thread_id_y");
    return row / rows_of_warp_and_set * rows_of_instruction + warp * rows_of_warp_and_set + row % rows_of_warp_and_set;
}

Stmt TileStore::rows(const Version &version) const {
    const Expr lane = integer(".thread_id_x"), warp = integer(".thread_id_y");
    const Expr warpgroup = warpgroups_ > 1 ? integer(".thread_id_z") : Expr(0);
    const int rows = rows_at_a_time(), values = bytes_of_row / bytes_of(format_), pieces = line() / values;
    const int pieces_at_once = std::min(pieces, lanes_of_warp), rows_at_once = lanes_of_warp / pieces_at_once;
    const bool moves = moves_sums(version), swapped = !moves && values > bytes_of_row / 4;
    // Sums of 32 bits, or halves: the rows that lanes write together lie in different banks.
    const int words = moves ? line() / 2 : line(), pitch = moves ? words + lanes_of_warp + 4 : pitch_;
    const Expr row = integer(row_name), piece = integer(piece_name);
    // Of the rows that are in shared memory, which begin with this one of the warp's.
    const std::string first_name = nest_.name + ".first_row";
    const Expr first_row = integer(first_name);
    const auto scratch = [&](const Expr &of_row) {
        return ((warpgroup * warps_of_warpgroup + warp) * rows + of_row) * pitch;
    };

    RowsAndPieces parts(nest_.name, further_tiles_);
    const Expr inside = parts.mutate(is_inside(values, version.whole ? conditions_left_ : conditions_)), index = parts.mutate(index_of_piece(values));
    std::vector<Expr> elements;
    for (int i = 0; moves && i < 4; i++) elements.push_back(load_of_copy(scratch(row - first_row) + piece * 4 + i));
    for (int i = 0; !moves && i < values; i++) {
        const auto at = coordinates(row_of_tile(row), piece * values + i, 0);
        const Expr value = parts.mutate(simplify(value_at(version, at, Variable::make(Float(32), sum_name))));
        // Eight lanes read together: 16 of each's 32 bytes, so that they meet all banks once.
        const Expr half = swapped ? (i / 4 + piece / 4) % 2 : Expr(i / 4);
        elements.push_back(
            substitute(sum_name, load_of_copy(scratch(row - first_row) + piece * values + half * 4 + i % 4), value));
    }
    if (static_cast<int>(parts.of_rows.size()) > columns_behind_row) {
        refuse_tile(nest_.name, "a row store takes " + std::to_string(parts.of_rows.size()) +
                                    " numbers from a row alone; the "
                                    "rule is at most " +
                                    std::to_string(columns_behind_row));
    }

    const auto turned = [&](int row_tile, int half) {
        PlaceholderCall call = turn_call(row_tile, 0, half);
        call.fields["rows"] = rows;
        if (swapped) call.fields["swapped"] = 1;
        if (moves) call.fields[format_field] = static_cast<int>(format_), call.fields["pitch"] = pitch;
        return placeholder(call);
    };
    // Behind 8 rows that are turned together there is room for what is known of further ones.
    int numbers = further_tiles_ ? 1 : columns_behind_row;
    while (numbers < static_cast<int>(parts.of_rows.size())) numbers *= 2;
    const int turns_with_places = columns_behind_row / numbers;
    const auto place_of = [&](const Expr &of_row, int number) {
        const Expr turn = of_row / rows_per_turn % turns_with_places;
        return further_tiles_ ? scratch(of_row % rows_per_turn) + words + turn * numbers + number
                              : scratch(of_row) + words + number;
    };
    const auto find_places = [&](int rows) {
        std::vector<Stmt> all;
        for (std::size_t i = 0; rows > 0 && i < parts.of_rows.size(); i++) {
            const Expr value = substitute(row_name, first_row + lane, parts.of_rows[i].second);
            const Expr place = simplify(place_of(further_tiles_ ? first_row + lane : lane, static_cast<int>(i)));
            const Stmt store =
                Store::make(shared_, value.type() == Float(32) ? value : reinterpret(Float(32), value), place,
                            Parameter(), const_true(), ModulusRemainder());
            all.push_back(rows == lanes_of_warp ? store : IfThenElse::make(lane < rows, store));
        }
        return all;
    };
    const bool is_float = format_ == OperandFormat::float32;
    const Expr target = Load::make(is_float ? Float(32) : Float(16), nest_.store->name, index, Buffer<>(), nest_.store->param,
                                   const_true(), ModulusRemainder());
    std::vector<Expr> arguments{target, select(inside, 1, 0)};
    arguments.insert(arguments.end(), elements.begin(), elements.end());
    const auto format = static_cast<int>(moves ? OperandFormat::float32 : format_);
    Stmt store = placeholder({"row_store", {{format_field, format}}}, arguments);
    for (std::size_t i = 0; i < parts.of_rows.size(); i++) {
        const auto &[name, value] = parts.of_rows[i];
        const Expr left = load_of_copy(place_of(further_tiles_ ? row : row - first_row, static_cast<int>(i)));
        store = LetStmt::make(name, value.type() == Float(32) ? left : reinterpret(value.type(), left), store);
    }
    const auto rows_of = [&](const Expr &step) {
        return LetStmt::make(row_name, first_row + step * rows_at_once + lane / pieces_at_once, store);
    };
    const auto all_rows = [&] {
        std::vector<Stmt> steps;
        if (version.unrolled) {
            for (int step = 0; step < rows / rows_at_once; step++) steps.push_back(rows_of(step));
        } else {
            const std::string name = nest_.name + ".rows";
            steps.push_back(For::make(name, 0, rows / rows_at_once, ForType::Serial, Partition::Never, DeviceAPI::None,
                                      rows_of(integer(name))));
        }
        return Block::make(steps);
    };
    const auto of_pieces = [&](int first, Stmt statement) {
        for (auto part = parts.of_pieces.rbegin(); part != parts.of_pieces.rend(); ++part) {
            statement = LetStmt::make(part->first, part->second, statement);
        }
        return LetStmt::make(piece_name, lane % pieces_at_once + first, statement);
    };

    std::vector<Stmt> all;
    if (!further_tiles_) {
        all = find_places(rows);
        for (int turn = 0; turn < rows / rows_per_turn; turn++) all.push_back(turned(turn / 2, turn % 2));
        for (int first = 0; first < pieces; first += pieces_at_once) all.push_back(of_pieces(first, all_rows()));
        return substitute(first_name, 0, Block::make(all));
    }
    // Turn by turn, each by lanes that keep their columns.
    const int turns = rows_of_warp() / rows_per_turn;
    const auto a_turn = [&](const Expr &number, const Stmt &turn, int rows_with_places) {
        std::vector<Stmt> steps = find_places(rows_with_places);
        steps.push_back(turn);
        steps.push_back(all_rows());
        steps.push_back(placeholder({"turn_end", {}}));
        return substitute(first_name, number * rows_per_turn, Block::make(steps));
    };
    if (version.unrolled) {
        for (int turn = 0; turn < turns; turn++) {
            const int with_places = turn % turns_with_places == 0 ? std::min(turns_with_places, turns - turn) : 0;
            all.push_back(a_turn(turn, turned(turn / 2, turn % 2), std::min(with_places * rows_per_turn, lanes_of_warp)));
        }
    } else {
        const std::string name = nest_.name + ".turn";
        Stmt one = turned((turns - 1) / 2, (turns - 1) % 2);
        for (int turn = turns - 2; turn >= 0; turn--) {
            one = IfThenElse::make(integer(name) == turn, turned(turn / 2, turn % 2), one);
        }
        all.push_back(For::make(name, 0, turns, ForType::Serial, Partition::Never, DeviceAPI::None,
                                a_turn(integer(name), one, rows_per_turn)));
    }
    return of_pieces(0, Block::make(all));
}

}  // namespace conv_transpose

// Stores of a tile by rows (TileStore, TensorCoreOptions::row_stores), where 16 bytes of a row of the tile are neighbours in
// the output: channels of a position, in channels_last.
//
// A warp brings all of its rows to shared memory. Then neighbouring lanes store neighbouring 16 bytes of a row, each lane
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
}

int TileStore::pitch_of_rows() const { return line() + columns_behind_row; }

/// Whether 16 bytes lie inside; they do with the first of them.
Expr TileStore::is_inside(int values) const {
    const Expr row = row_of_tile(integer(row_name)), piece = integer(piece_name) * values;
    const auto first = coordinates(row, piece, 0), second = coordinates(row, piece + 1, 0);
    Expr inside = const_true();
    for (const Expr &condition : parts_of(conditions_)) {
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
    const int rows = rows_of_warp(), values = bytes_of_row / bytes_of(format_), pieces = line() / values;
    const int pieces_at_once = std::min(pieces, lanes_of_warp), rows_at_once = lanes_of_warp / pieces_at_once;
    const bool swapped = values > bytes_of_row / 4;
    const Expr row = integer(row_name), piece = integer(piece_name);
    const auto scratch = [&](const Expr &of_row) {
        return ((warpgroup * warps_of_warpgroup + warp) * rows + of_row) * pitch_;
    };

    RowsAndPieces parts(nest_.name);
    const Expr inside = parts.mutate(is_inside(values)), index = parts.mutate(index_of_piece(values));
    std::vector<Expr> elements;
    for (int i = 0; i < values; i++) {
        const auto at = coordinates(row_of_tile(row), piece * values + i, 0);
        const Expr value = parts.mutate(simplify(value_at(version, at, Variable::make(Float(32), sum_name))));
        // Eight lanes read together: 16 of each's 32 bytes, so that they meet all banks once.
        const Expr half = swapped ? (i / 4 + piece / 4) % 2 : Expr(i / 4);
        elements.push_back(substitute(sum_name, load_of_copy(scratch(row) + piece * values + half * 4 + i % 4), value));
    }
    if (static_cast<int>(parts.of_rows.size()) > columns_behind_row) {
        refuse_tile(nest_.name, "a row store takes " + std::to_string(parts.of_rows.size()) +
                                    " numbers from a row alone; the "
                                    "rule is at most " +
                                    std::to_string(columns_behind_row));
    }

    std::vector<Stmt> all;
    for (std::size_t i = 0; i < parts.of_rows.size(); i++) {
        const Expr value = substitute(row_name, lane, parts.of_rows[i].second);
        const Expr place = simplify(scratch(lane) + line() + static_cast<int>(i));
        const Stmt store =
            Store::make(shared_, value.type() == Float(32) ? value : reinterpret(Float(32), value), place,
                        Parameter(), const_true(), ModulusRemainder());
        all.push_back(rows == lanes_of_warp ? store : IfThenElse::make(lane < rows, store));
    }
    for (int row_tile = 0; row_tile < tile_->rows / rows_of_instruction; row_tile++) {
        for (int half = 0; half < 2; half++) {
            PlaceholderCall call = turn_call(row_tile, 0, half);
            call.fields["rows"] = rows;
            if (swapped) call.fields["swapped"] = 1;
            all.push_back(placeholder(call));
        }
    }
    const bool is_float = format_ == OperandFormat::float32;
    const Expr target = Load::make(is_float ? Float(32) : Float(16), nest_.store->name, index, Buffer<>(), nest_.store->param,
                                   const_true(), ModulusRemainder());
    std::vector<Expr> arguments{target, select(inside, 1, 0)};
    arguments.insert(arguments.end(), elements.begin(), elements.end());
    Stmt store = placeholder({"row_store", {{format_field, static_cast<int>(format_)}}}, arguments);
    for (std::size_t i = 0; i < parts.of_rows.size(); i++) {
        const auto &[name, value] = parts.of_rows[i];
        const Expr left = load_of_copy(scratch(row) + line() + static_cast<int>(i));
        store = LetStmt::make(name, value.type() == Float(32) ? left : reinterpret(value.type(), left), store);
    }
    const auto rows_of = [&](const Expr &step) {
        return LetStmt::make(row_name, step * rows_at_once + lane / pieces_at_once, store);
    };
    for (int first = 0; first < pieces; first += pieces_at_once) {
        std::vector<Stmt> steps;
        if (version.unrolled) {
            for (int step = 0; step < rows / rows_at_once; step++) steps.push_back(rows_of(step));
        } else {
            const std::string name = nest_.name + ".rows";
            steps.push_back(For::make(name, 0, rows / rows_at_once, ForType::Serial, Partition::Never, DeviceAPI::None,
                                      rows_of(integer(name))));
        }
        Stmt of_pieces = Block::make(steps);
        for (auto part = parts.of_pieces.rbegin(); part != parts.of_pieces.rend(); ++part) {
            of_pieces = LetStmt::make(part->first, part->second, of_pieces);
        }
        all.push_back(LetStmt::make(piece_name, lane % pieces_at_once + first, of_pieces));
    }
    return Block::make(all);
}

}  // namespace conv_transpose

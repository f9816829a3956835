// Stores of a tile by the copy engine (TileStore, TensorCoreOptions::bulk_stores), where a row of the tile is a run of
// neighbours in the output: channels of a position, in channels_last.
//
// A warp brings all of its rows to shared memory. Then each lane has a row to itself, or, of 16 rows, half of one: it finds
// once where that lies in the output, and whether it is inside; computes its elements; puts them, in the output's format,
// where it read them from; and starts one copy. So no lane works out the address of every pair.
#include "compiler/passes/tile_store.h"

#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

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
    const bool plain = interleaved_ == 1 && tile_->groups == 1 && tile_->repeats == 1 && !splits_columns_ &&
                       middle_rows_ == tile_->rows && inner_rows_ == tile_->rows;
    const int rows = rows_of_warp();
    if (!plain || along_rows_ || !adjacent_ || (rows != lanes_of_warp && rows != lanes_of_warp / 2)) {
        refuse_tile(nest_.name, "bulk stores are of tiles of 64 or 128 rows, whose columns are neighbours in the output");
    }
}

Stmt TileStore::rows(const Version &version) const {
    const Expr lane = Variable::make(Int(32), ".thread_id_x"), warp = Variable::make(Int(32), ".thread_id_y");
    const Expr warpgroup = warpgroups_ > 1 ? Variable::make(Int(32), ".thread_id_z") : Expr(0);
    const int rows = rows_of_warp(), columns = tile_->columns * rows / lanes_of_warp;  // of a lane
    const int row_bytes = bytes_of_row, values = row_bytes / bytes_of(format_);
    std::vector<Stmt> all;
    for (int row_tile = 0; row_tile < tile_->rows / rows_of_instruction; row_tile++) {
        for (int half = 0; half < 2; half++) {
            PlaceholderCall call = turn_call(row_tile, 0, half);
            call.fields["rows"] = rows;
            all.push_back(placeholder(call));
        }
    }
    const Expr mine = lane % rows, first_column = lane / rows * columns;
    const Expr row = mine / rows_of_warp_and_set * rows_of_instruction + warp * rows_of_warp_and_set + mine % rows_of_warp_and_set;
    const Expr scratch = ((warpgroup * warps_of_warpgroup + warp) * rows + mine) * pitch_ + first_column;
    const auto sixteen_bytes = [&](const Expr &group) {
        const Expr column = group * values;
        std::vector<Expr> arguments{simplify(scratch * 4 + group * row_bytes)};
        for (int i = 0; i < values; i++) {
            arguments.push_back(element(version, row, first_column + column + i, 0, scratch + column + i).value);
        }
        return placeholder({"row_values", {{format_field, static_cast<int>(format_)}}}, arguments);
    };
    if (version.unrolled) {
        for (int group = 0; group < columns / values; group++) {
            all.push_back(sixteen_bytes(group));
        }
    } else {
        const std::string name = nest_.name + ".row_values";
        all.push_back(For::make(name, 0, columns / values, ForType::Serial, Partition::Never, DeviceAPI::None,
                                sixteen_bytes(Variable::make(Int(32), name))));
    }
    all.push_back(bulk_store(row, first_column, columns, simplify(scratch * 4)));
    all.push_back(placeholder({"row_store_end", {}}));
    return Block::make(all);
}

/// Of a lane's columns, as many as lie inside.
Stmt TileStore::bulk_store(const Expr &row, const Expr &first_column, int columns, const Expr &from) const {
    const auto first = coordinates(row, first_column, 0), second = coordinates(row, first_column + 1, 0);
    Expr inside = const_true(), count = columns;
    for (const Expr &condition : parts_of(conditions_)) {
        if (equal(simplify(substitute(first, condition)), simplify(substitute(second, condition)))) {
            inside = inside && substitute(first, condition);
            continue;
        }
        const LT *less = condition.as<LT>();
        if (!less || !is_const_one(simplify(substitute(second, less->a) - substitute(first, less->a))) ||
            !is_const_zero(simplify(substitute(second, less->b) - substitute(first, less->b)))) {
            refuse_tile(nest_.name, "a bulk store cannot leave out columns by the condition " + text(condition).substr(0, 300));
        }
        count = min(count, substitute(first, less->b - less->a));
    }
    const Store *store = nest_.store;
    const Expr index = simplify(substitute(first, index_));
    const int values = bytes_of_row / bytes_of(format_);
    const ModulusRemainder known = modulus_remainder(with_known_strides(index, store, values));
    if (known.modulus % values != 0 || known.remainder % values != 0 || store->param.host_alignment() < bytes_of_row) {
        refuse_tile(nest_.name, "a bulk store to " + text(index).substr(0, 300) + " of " + store->name +
                                    "; the rule is 16 aligned bytes");
    }
    const Expr bytes = count * bytes_of(format_);
    return IfThenElse::make(simplify(inside && count > 0), placeholder({"row_store", {}}, {target_of(index), from, simplify(bytes)}));
}

}  // namespace conv_transpose

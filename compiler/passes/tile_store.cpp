#include "compiler/passes/tile_store.h"

#include <algorithm>

#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_expressions.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

TileStore::TileStore(const Nest &nest, const WarpTiles &tiles, std::string shared, int warpgroups,
                     const TensorCoreOptions &options, const For *cluster)
    : nest_(nest), tiles_(tiles), shared_(std::move(shared)), warpgroups_(warpgroups),
      value_(at_lane_zero(substitute_in_all_lets(resolve(nest.store->value, nest.lets)))),
      index_(at_lane_zero(resolve(nest.store->index, nest.lets))), conditions_(nest.guards),
      by_rows_(options.row_stores), in_runs_(options.run_stores), further_tiles_(options.further_tiles),
      runs_(options.runs), late_runs_(options.late_runs), cluster_(cluster) {
    if (cluster_ && (!(by_rows_ || in_runs_) || further_tiles_))
        refuse_tile(nest.name, "blocks of a cluster add tiles that are stored by rows or in runs, one tile each");
    const auto format = operand_format(nest.store->value.type());
    if (!format)
        refuse_tile(nest.name, "a tile is stored as " + names_of_operand_formats() + ", not as " + text(nest.store->value));
    format_ = *format;
    if ((box_ = stored_box_of(value_))) value_ = box_->element;
    value_ = as_float(value_);
    if (nest.store->name == shared_) refuse_tile(nest.name, "the tile is stored to shared memory; store it to the output");
    find_accumulator();
    for (Expr &condition : conditions_) condition = as_signed_comparison(condition);
    add_loops_of_one_step();
    for (const TileLoop &loop : nest_.loops) {
        if (!can_prove(loop.extent >= full_extent(loop.role)))
            conditions_.push_back(Variable::make(Int(32), loop.name) < loop.extent);
    }
    find_neighbours();
    if (by_rows_) {
        check_rows();
        pitch_ = pitch_of_rows();
        if (further_tiles_) take_spared_conditions();
    }
    if (in_runs_) check_runs();
    if (box_) check_boxes();
}

int TileStore::scratch_floats() const {
    const int of_rows = warps_of_warpgroup * rows_at_a_time() * pitch_;
    return warpgroups_ * std::max(of_rows, box_ ? stored_boxes().elements() / 2 : 0);
}

Stmt TileStore::lowered() const {
    const Stmt stores = versions(value_, tile_->taps > 1 ? 2 : 1);  // the first of them has no bias
    if (tile_->taps == 1) return stores;
    if (!in_runs_) refuse_tile(nest_.name, "sums of taps that are rows are stored in runs");
    return Block::make(placeholder({"add_shifted", turn_call(0, 0, 0).fields}, {centre()}), stores);
}

/// A value that is a choice by a condition which is the same for all elements becomes two versions of the
/// store. Only the first is unrolled, once with guards and once without: it is the one that was written
/// first, and code has a price, too. (And two more behind one that only moves sums: without an activation, and with one that
/// is piecewise linear, which took 0.483 ms rolled and 0.415 unrolled, of 64 channels at 1080p.)
Stmt TileStore::versions(const Expr &value, int to_unroll) const {
    const bool unrolled = to_unroll > 0;
    if (const Call *choice = value.as<Call>(); choice && choice->is_intrinsic(Call::if_then_else) &&
                                               choice->args.size() == 3 && is_uniform(choice->args[0])) {
        const int then_to_unroll = unrolled && moves_sums({choice->args[1]}) ? 2 : to_unroll - 1;
        return IfThenElse::make(choice->args[0], versions(choice->args[1], to_unroll),
                                versions(choice->args[2], then_to_unroll));
    }
    if (box_ && unrolled) {
        const Stmt otherwise = is_const_one(box_->stored_if) ? Evaluate::make(0) : rows({value, unrolled, false});
        return IfThenElse::make(box_->stored_if, boxes({value}), otherwise);
    }
    if (by_rows_ && spared_if_.defined())
        return IfThenElse::make(spared_if_, rows({value, unrolled, true}), rows({value, false, false}));
    if (by_rows_) return rows({value, unrolled, false});
    if (in_runs_) return runs({value, unrolled, false});
    return in_pairs(value, unrolled);
}

bool TileStore::is_uniform(const Expr &condition) const {
    return loads_of_tiles(condition, tiles_).empty() &&
           std::none_of(nest_.loops.begin(), nest_.loops.end(),
                        [&](const TileLoop &loop) { return expr_uses_var(condition, loop.name); });
}

/// The nest's value, of a sum.
Expr TileStore::value_at(const Version &version, const std::map<std::string, Expr> &at, const Expr &sum) const {
    return substitute(at, with_loads_replaced(version.value, accumulator_, sum));
}

Expr TileStore::load_of_copy(const Expr &copy) const {
    return Load::make(Float(32), shared_, simplify(copy), Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

Expr TileStore::place_of_row(const Expr &row, int rows, int pitch) const {
    const Expr warpgroup = warpgroups_ > 1 ? Variable::make(Int(32), ".thread_id_z") : Expr(0);
    return ((warpgroup * warps_of_warpgroup + Variable::make(Int(32), ".thread_id_y")) * rows + row) * pitch;
}

Stmt TileStore::left_at(const Expr &place, const Expr &number) const {
    return Store::make(shared_, number.type() == Float(32) ? number : reinterpret(Float(32), number), place, Parameter(),
                       const_true(), ModulusRemainder());
}

Expr TileStore::number_at(const Expr &place, Type type) const {
    const Expr number = load_of_copy(place);
    return type == Float(32) ? number : reinterpret(type, number);
}

}  // namespace conv_transpose

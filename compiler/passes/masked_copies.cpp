// Copies by masked vectors: see masked_copies.h.
#include "compiler/passes/masked_copies.h"

#include <string>
#include <vector>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int lanes = 16;

/// Neighbours of it are neighbours in memory.
bool goes_through_neighbours(const Expr &index, const std::string &loop) {
    const Expr next = substitute(loop, Variable::make(Int(32), loop) + 1, index);
    return index.type() == Int(32) && can_prove(next - index == 1);
}

Expr neighbours(const Expr &index, const std::string &loop, const Expr &first) {
    return Ramp::make(substitute(loop, first, index), 1, lanes);
}

}  // namespace

Stmt MaskedCopies::visit(const For *op) {
    std::vector<Expr> conditions;
    Stmt body = op->body;
    while (const IfThenElse *choice = body.as<IfThenElse>()) {
        if (choice->else_case.defined() || expr_uses_var(choice->condition, op->name)) break;
        conditions.push_back(choice->condition);
        body = choice->then_case;
    }
    const Store *store = body.as<Store>();
    const Load *load = store ? store->value.as<Load>() : nullptr;
    const bool copies = load && load->name != store->name && is_const_one(store->predicate) && is_const_one(load->predicate);
    if (op->for_type != ForType::Serial || !is_const_zero(op->min) || !copies ||
        !goes_through_neighbours(store->index, op->name) || !goes_through_neighbours(load->index, op->name))
        return IRMutator::visit(op);
    const Expr first = Variable::make(Int(32), op->name) * lanes;
    const Expr mask = Ramp::make(first, 1, lanes) < Broadcast::make(op->extent, lanes);
    const Expr loaded = Load::make(load->type.with_lanes(lanes), load->name, neighbours(load->index, op->name, first), load->image,
                                   load->param, mask, ModulusRemainder());
    body = Store::make(store->name, loaded, neighbours(store->index, op->name, first), store->param, mask, ModulusRemainder());
    for (auto condition = conditions.rbegin(); condition != conditions.rend(); ++condition)
        body = IfThenElse::make(*condition, body);
    return For::make(op->name, 0, simplify((op->extent + lanes - 1) / lanes), ForType::Serial, op->partition_policy, op->device_api,
                     body);
}

}  // namespace conv_transpose

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

/// What a loop computes of neighbours, as a vector of them.
class OfNeighbours : public IRMutator {
  public:
    OfNeighbours(const std::string &loop, const Expr &first, const Expr &mask) : loop_(loop), first_(first), mask_(mask) {
        differing_.push(loop);
    }

    using IRMutator::mutate;
    Expr mutate(const Expr &e) override { return is_uniform(e) ? Broadcast::make(e, lanes) : IRMutator::mutate(e); }
    bool is_uniform(const Expr &e) const { return !expr_uses_vars(e, differing_); }
    /// The value of a name, from here on, is one for all of them or a vector.
    Expr named(const std::string &name, const Expr &value) {
        if (is_uniform(value)) return value;
        const Expr all = value.type().is_scalar() ? mutate(value) : refuse(value);
        differing_.push(name), names_.push(name);
        return all;
    }
    bool are_neighbours(const Expr &index) const {
        return !expr_uses_vars(index, names_) && goes_through_neighbours(index, loop_);
    }
    bool is_refused() const { return is_refused_; }
    bool reads(const std::string &buffer) const { return read_.contains(buffer); }

  protected:
    using IRMutator::visit;
    Expr visit(const Variable *op) override {
        return op->name == loop_ ? Ramp::make(first_, 1, lanes) : Variable::make(op->type.with_lanes(lanes), op->name);
    }
    Expr visit(const Load *op) override {
        if (!is_const_one(op->predicate) || !are_neighbours(op->index)) return refuse(op);
        read_.push(op->name);
        return Load::make(op->type.with_lanes(lanes), op->name, neighbours(op->index, loop_, first_), op->image, op->param, mask_,
                          ModulusRemainder());
    }
    Expr visit(const Cast *op) override { return Cast::make(op->type.with_lanes(lanes), mutate(op->value)); }
    Expr visit(const Reinterpret *op) override { return Reinterpret::make(op->type.with_lanes(lanes), mutate(op->value)); }
    Expr visit(const Call *op) override {
        return op->is_pure() ? Call::make(op->type.with_lanes(lanes), op->name, mutate(op->args), op->call_type) : refuse(op);
    }
    Expr visit(const Let *op) override { return refuse(op); }

  private:
    const std::string loop_;
    const Expr first_, mask_;
    Scope<> differing_, names_, read_;
    bool is_refused_ = false;

    // A vector takes its place in what is not used then.
    Expr refuse(const Expr &e) {
        is_refused_ = true;
        return Broadcast::make(e, lanes);
    }
};

}  // namespace

Stmt MaskedCopies::visit(const For *op) {
    if (op->for_type != ForType::Serial || !is_const_zero(op->min)) return IRMutator::visit(op);
    const Expr first = Variable::make(Int(32), op->name) * lanes;
    const Expr mask = Ramp::make(first, 1, lanes) < Broadcast::make(op->extent, lanes);
    OfNeighbours vectors(op->name, first, mask);
    std::vector<Stmt> around;  // conditions and names, the outermost first
    Stmt body = op->body;
    while (true) {
        const auto *choice = body.as<IfThenElse>();
        const auto *let = body.as<LetStmt>();
        if (choice && !choice->else_case.defined() && vectors.is_uniform(choice->condition)) {
            around.push_back(body), body = choice->then_case;
        } else if (let) {
            around.push_back(LetStmt::make(let->name, vectors.named(let->name, let->value), let->body)), body = let->body;
        } else {
            break;
        }
    }
    const Store *store = body.as<Store>();
    if (!store || !store->value.type().is_scalar() || !is_const_one(store->predicate) || vectors.is_uniform(store->value) ||
        !vectors.are_neighbours(store->index))
        return IRMutator::visit(op);
    const Expr value = vectors.mutate(store->value);
    if (vectors.is_refused() || vectors.reads(store->name)) return IRMutator::visit(op);
    body = Store::make(store->name, value, neighbours(store->index, op->name, first), store->param, mask, ModulusRemainder());
    for (auto outer = around.rbegin(); outer != around.rend(); ++outer) {
        const auto *let = outer->as<LetStmt>();
        body = let ? LetStmt::make(let->name, let->value, body) : IfThenElse::make(outer->as<IfThenElse>()->condition, body);
    }
    return For::make(op->name, 0, simplify((op->extent + lanes - 1) / lanes), ForType::Serial, op->partition_policy, op->device_api,
                     body);
}

}  // namespace conv_transpose

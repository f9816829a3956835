// What is the same for all threads: see kernel_constants.h.
#include "compiler/passes/kernel_constants.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/dependence.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Functions may be the GPU's own.
class DependenceOrCall : public Dependence {
  public:
    using Dependence::Dependence;

  private:
    using Dependence::visit;
    void visit(const Call *) override { any = true; }
};

class TakeConstants : public IRMutator {
  public:
    std::vector<std::pair<std::string, Expr>> taken;

  private:
    using IRMutator::visit;

    std::set<std::string> bound_;
    std::map<std::string, Expr> constants_;

    bool is_constant(const Expr &e) const {
        if (!e.type().is_scalar() || !e.type().is_int_or_uint() || e.type().bits() != 32) return false;
        DependenceOrCall dependence(bound_);
        e.accept(&dependence);
        return !dependence.any;
    }
    Expr take(const Expr &e) {
        if (is_const(e) || e.as<Variable>()) return e;
        for (const auto &[name, value] : taken)
            if (equal(value, e)) return Variable::make(e.type(), name);
        taken.emplace_back(unique_name("constant"), e);
        return Variable::make(e.type(), taken.back().first);
    }
    template <class Op>
    auto visit_let(const Op *op) {
        const Expr value = mutate(op->value);
        const auto shadowed = constants_.find(op->name) != constants_.end() ? constants_[op->name] : Expr();
        const bool constant = is_constant(value), was_bound = bound_.count(op->name) > 0;
        constants_.erase(op->name);
        if (constant) constants_[op->name] = take(value);
        else bound_.insert(op->name);
        auto body = mutate(op->body);
        constants_.erase(op->name);
        if (shadowed.defined()) constants_[op->name] = shadowed;
        if (!was_bound) bound_.erase(op->name);
        return constant ? body : Op::make(op->name, value, body);
    }
    Expr visit(const Let *op) override { return visit_let(op); }
    Stmt visit(const LetStmt *op) override { return visit_let(op); }
    Expr visit(const Variable *op) override {
        const auto constant = constants_.find(op->name);
        return constant == constants_.end() ? Expr(op) : constant->second;
    }
    Stmt visit(const For *op) override {
        bound_.insert(op->name);
        return IRMutator::visit(op);
    }
    Expr visit(const Div *op) override { return quotient(IRMutator::visit(op)); }
    Expr visit(const Mod *op) override { return quotient(IRMutator::visit(op)); }
    Expr quotient(const Expr &e) { return is_constant(e) ? take(e) : e; }
};

}  // namespace

Stmt KernelConstants::visit(const For *op) {
    if (op->for_type != ForType::GPUBlock) return IRMutator::visit(op);
    TakeConstants constants;
    Stmt result = constants.mutate(Stmt(op));
    for (auto constant = constants.taken.rbegin(); constant != constants.taken.rend(); ++constant)
        result = LetStmt::make(constant->first, constant->second, result);
    return result;
}

}  // namespace conv_transpose

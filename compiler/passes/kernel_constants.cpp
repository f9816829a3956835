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

Expr upper_half(const Expr &a, const Expr &b) {
    return Call::make(UInt(32), "llvm.nvvm.mulhi.ui", {a, b}, Call::PureExtern);
}

class TakeConstants : public IRMutator {
  public:
    std::vector<std::pair<std::string, Expr>> taken;

  private:
    using IRMutator::visit;

    std::set<std::string> bound_;
    std::map<std::string, Expr> constants_;
    Scope<Interval> intervals_;

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
        ScopedBinding<Interval> interval(is_from_zero_on(value), intervals_, op->name, from_zero_on());
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
        ScopedBinding<Interval> interval(is_from_zero_on(op->min), intervals_, op->name, from_zero_on());
        return IRMutator::visit(op);
    }
    Expr visit(const Div *op) override { return divided(IRMutator::visit(op)); }
    Expr visit(const Mod *op) override { return divided(IRMutator::visit(op)); }
    Expr divided(const Expr &e) {
        if (is_constant(e)) return take(e);
        const auto *quotient = e.as<Div>();
        const auto *rest = e.as<Mod>();
        if (!quotient && !rest) return e;
        const Expr number = quotient ? quotient->a : rest->a, by = quotient ? quotient->b : rest->b;
        if (is_const(by) || !is_constant(by)) return e;
        const Expr n = number.as<Variable>() ? number : Variable::make(number.type(), unique_name("dividend")), d = take(by);
        const Expr divided = rounded_down(n, d, is_from_zero_on(number));
        const Expr result = quotient ? divided : n - divided * d;
        return number.as<Variable>() ? result : Let::make(n.as<Variable>()->name, number, result);
    }
    static Interval from_zero_on() { return {0, Interval::pos_inf()}; }
    bool is_from_zero_on(const Expr &number) const {
        if (number.type() != Int(32)) return false;
        const Interval interval = bounds_of_expr_in_scope(number, intervals_);
        return interval.has_lower_bound() && is_const_one(simplify(interval.min >= 0));
    }

    // Of n by a number d from 1 on, of which the host makes a multiplier and a shift (T. Granlund and P. Montgomery, Division by
    // invariant integers using multiplication, 1994). By 0 the quotient of numbers from 0 on is 0.
    Expr rounded_down(const Expr &n, const Expr &d, bool is_from_zero_on) {
        if (n.type().is_uint()) return wide_quotient(n, d);
        if (is_from_zero_on) return narrow_quotient(n, d);
        const Expr below_zero = n >> 31;
        return narrow_quotient(n ^ below_zero, d) ^ below_zero;
    }

    // Of numbers below 2^31, with b = ceil(log2 d): the multiplier is ceil(2^(31 + b) / d).
    Expr narrow_quotient(const Expr &n, const Expr &d) {
        const Expr bits = bits_of(d), wide = cast<uint64_t>(d);
        const Expr multiplier = unless_zero((make_one(UInt(64)) << (31 + cast<uint64_t>(bits))) + wide - 1, d);
        return cast<int>(upper_half(cast<uint32_t>(n) << 1, multiplier) >> bits);
    }

    // Of numbers of 32 bits: floor(2^32 (2^b - d) / d) + 1.
    Expr wide_quotient(const Expr &n, const Expr &d) {
        const Expr bits = bits_of(d), wide = cast<uint64_t>(d), least = make_one(UInt(32));
        const Expr multiplier = unless_zero((((make_one(UInt(64)) << cast<uint64_t>(bits)) - wide) << 32) + wide, d);
        const Expr least_shift = take(min(bits, least)), rest_of_shift = take(max(bits, least) - least);
        const Expr half = upper_half(n, multiplier);
        return (half + ((n - half) >> least_shift)) >> rest_of_shift;
    }

    Expr bits_of(const Expr &d) {
        return take(cast<uint32_t>(32 - count_leading_zeros(cast<uint32_t>(max(d, make_one(d.type())) - 1))));
    }

    // The number over d.
    Expr unless_zero(const Expr &number, const Expr &d) {
        return take(select(d > 0, cast<uint32_t>(number / max(cast<uint64_t>(d), make_one(UInt(64)))), make_zero(UInt(32))));
    }
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

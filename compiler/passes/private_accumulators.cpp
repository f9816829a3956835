// Accumulators in registers: see private_accumulators.h.
#include "compiler/passes/private_accumulators.h"

#include <map>
#include <sstream>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_thread_number(const std::string &name) { return name.find(".thread_id_") != std::string::npos; }

// Gives every access to one allocation the place that it has within its thread. In two passes, because places
// are numbered densely: the first only collects them.
class Privatize : public IRMutator {
  public:
    explicit Privatize(std::string name) : name_(std::move(name)) {}

    Stmt rewrite(const Stmt &body) {
        mutate(body);
        int next = 0;
        for (auto &[place, number] : numbers_) number = next++;
        numbered_ = true;
        return mutate(body);
    }

    int size() const { return static_cast<int>(numbers_.size()); }

  protected:
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(lets_, op->name, substitute_all(op->value));
        return LetStmt::make(op->name, value, mutate(op->body));
    }

    Expr visit(const Let *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(lets_, op->name, substitute_all(op->value));
        return Let::make(op->name, value, mutate(op->body));
    }

    Expr visit(const Load *op) override {
        if (op->name != name_) return IRMutator::visit(op);
        return Load::make(op->type, op->name, place(op->index), op->image, op->param, op->predicate,
                          ModulusRemainder());
    }

    Stmt visit(const Store *op) override {
        if (op->name != name_) return IRMutator::visit(op);
        return Store::make(op->name, mutate(op->value), place(op->index), op->param, op->predicate,
                           ModulusRemainder());
    }

  private:
    const std::string name_;
    Scope<Expr> lets_;
    std::map<int64_t, int> numbers_;
    bool numbered_ = false;

    // With lets put in place and thread numbers set to zero.
    Expr substitute_all(const Expr &e) {
        class Substitute : public IRMutator {
          public:
            explicit Substitute(const Scope<Expr> &lets) : lets_(lets) {}

          private:
            const Scope<Expr> &lets_;
            using IRMutator::visit;
            Expr visit(const Variable *op) override {
                if (is_thread_number(op->name)) return make_zero(op->type);
                return lets_.contains(op->name) ? lets_.get(op->name) : Expr(op);
            }
        };
        return Substitute(lets_).mutate(e);
    }

    Expr place(const Expr &index) {
        if (const Ramp *ramp = index.as<Ramp>()) {
            const auto stride = as_const_int(ramp->stride);
            if (!stride || *stride != 1)
                throw CompileError("accumulator " + name_ + " is accessed with gaps");
            for (int lane = 1; lane < ramp->lanes; lane++) scalar_place(ramp->base + lane);
            return Ramp::make(scalar_place(ramp->base), 1, ramp->lanes);
        }
        return scalar_place(index);
    }

    Expr scalar_place(const Expr &index) {
        const Expr constant = simplify(substitute_in_all_lets(substitute_all(index)));
        const auto value = as_const_int(constant);
        if (!value) {
            std::ostringstream message;
            message << "accumulator " << name_ << " is indexed by " << constant
                    << ": unroll the loops within a thread";
            throw CompileError(message.str());
        }
        return numbered_ ? numbers_.at(*value) : numbers_[*value];
    }
};

}  // namespace

Stmt PrivateAccumulators::visit(const For *op) {
    ScopedValue<bool> inside(in_threads_, in_threads_ || op->for_type == ForType::GPUThread);
    return IRMutator::visit(op);
}

Stmt PrivateAccumulators::visit(const Allocate *op) {
    if (op->memory_type != MemoryType::Register || in_threads_) return IRMutator::visit(op);
    Privatize privatize(op->name);
    const Stmt body = privatize.rewrite(op->body);
    return Allocate::make(op->name, op->type, op->memory_type, {privatize.size()}, op->condition,
                          mutate(body));
}

}  // namespace conv_transpose

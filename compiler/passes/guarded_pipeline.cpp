// Loops that end with their guard: see guarded_pipeline.h.
#include "compiler/passes/guarded_pipeline.h"

#include "compiler/passes/lowered_ir.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Takes away the guards "loop < end" of one loop's body, where `end` does not change in there and is the same
/// for all threads.
class TakeGuards : public LetMutator {
  public:
    TakeGuards(const std::string &loop, const Scope<void> &threads) : loop_(loop), threads_(threads) {
        inside_.push(loop);
    }
    Expr end;

  private:
    using LetMutator::visit;

    Stmt visit(const For *inner) override {
        ScopedBinding<void> bind(inside_, inner->name);
        return IRMutator::visit(inner);
    }

    Stmt visit(const IfThenElse *guard) override {
        const Expr condition = substitute_in_all_lets(resolve(guard->condition, lets_));
        const LT *less = condition.as<LT>();
        const Variable *variable = less ? less->a.as<Variable>() : nullptr;
        const bool found = variable && variable->name == loop_ && !expr_uses_vars(less->b, inside_) &&
                           !expr_uses_vars(less->b, threads_);
        if (!found || guard->else_case.defined() || (end.defined() && !equal(less->b, end))) return IRMutator::visit(guard);
        end = less->b;
        return mutate(guard->then_case);
    }

    const std::string loop_;
    const Scope<void> &threads_;
    Scope<void> inside_;  // names of loops: this one and those within the body
};

}  // namespace

Stmt GuardedPipelinePass::visit(const For *loop) {
    if (last_name(loop->name) != "pipeline") {
        ScopedBinding<void> bind_if(loop->for_type == ForType::GPUThread, threads_, loop->name);
        return IRMutator::visit(loop);
    }
    TakeGuards guards(loop->name, threads_);
    const Stmt body = guards.mutate(loop->body);
    if (!guards.end.defined()) return loop;
    const std::string steps = loop->name + ".steps";
    const Expr count = Variable::make(Int(32), steps);
    const Stmt shorter = For::make(loop->name, loop->min, count, loop->for_type, loop->partition_policy,
                                   loop->device_api, body);
    // The pipeline stages the first step before it looks for the end.
    return LetStmt::make(steps, min(loop->extent, guards.end - loop->min),
                         IfThenElse::make(count > 0, shorter));
}

}  // namespace conv_transpose

// Removing assertions and the barriers around them: see device_assertions.h.
#include "compiler/passes/device_assertions.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_barrier(const Stmt &stmt) {
    const auto *evaluate = stmt.as<Evaluate>();
    const auto *call = evaluate ? evaluate->value.as<Call>() : nullptr;
    return call && call->is_intrinsic(Call::gpu_thread_barrier);
}

// Which memories the barrier orders: a bit mask.
int64_t fences(const Stmt &barrier) {
    return *as_const_int(barrier.as<Evaluate>()->value.as<Call>()->args[0]);
}

Stmt stronger(const Stmt &a, const Stmt &b) {
    const Expr mask = make_const(Int(32), fences(a) | fences(b));
    return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {mask}, Call::Intrinsic));
}

// Barriers stand between the stages of a block. With an assertion's stage goes the barrier that followed it,
// unless there was none before it.
void flatten(const Stmt &stmt, std::vector<Stmt> &leaves, bool &after_assertion) {
    if (const Block *block = stmt.as<Block>()) {
        flatten(block->first, leaves, after_assertion);
        flatten(block->rest, leaves, after_assertion);
    } else if (is_no_op(stmt)) {
        after_assertion = leaves.empty() || is_barrier(leaves.back());
    } else if (is_barrier(stmt) && !leaves.empty() && is_barrier(leaves.back())) {
        leaves.back() = stronger(leaves.back(), stmt);
    } else if (!is_barrier(stmt) || !after_assertion) {
        after_assertion = false;
        leaves.push_back(stmt);
    }
}

}  // namespace

Stmt RemoveDeviceAssertions::visit(const For *op) {
    ScopedValue<bool> on_device(on_device_, on_device_ || is_gpu(op->for_type));
    return IRMutator::visit(op);
}

Stmt RemoveDeviceAssertions::visit(const AssertStmt *op) { return on_device_ ? Evaluate::make(0) : Stmt(op); }

Stmt RemoveDeviceAssertions::visit(const IfThenElse *op) {
    const Stmt mutated = IRMutator::visit(op);
    const auto *branch = mutated.as<IfThenElse>();
    const bool empty = branch && is_no_op(branch->then_case) && !branch->else_case.defined();
    return on_device_ && empty ? Evaluate::make(0) : mutated;
}

Stmt RemoveDeviceAssertions::visit(const Block *op) {
    if (!on_device_) return IRMutator::visit(op);
    std::vector<Stmt> leaves;
    bool after_assertion = false;
    flatten(IRMutator::visit(op), leaves, after_assertion);
    return leaves.empty() ? Evaluate::make(0) : Block::make(leaves);
}

}  // namespace conv_transpose

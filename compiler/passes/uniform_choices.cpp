// A loop for each outcome of a choice: see uniform_choices.h.
#include "compiler/passes/uniform_choices.h"

#include <set>

#include "compiler/passes/dependence.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Names that a statement binds.
class Bindings : public IRVisitor {
  public:
    std::set<std::string> names;
    bool any_barrier = false;

  private:
    using IRVisitor::visit;
    void visit(const For *op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const LetStmt *op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Let *op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        any_barrier |= op->is_intrinsic(Call::gpu_thread_barrier);
        IRVisitor::visit(op);
    }
};

// The condition of the first choice that is the same for all of a loop.
class FindChoice : public IRVisitor {
  public:
    explicit FindChoice(const std::set<std::string> &bound) : bound_(bound) {}
    Expr condition;

  private:
    using IRVisitor::visit;
    void visit(const Call *op) override {
        if (condition.defined()) return;
        if (op->is_intrinsic(Call::if_then_else) && op->args.size() == 3 && !is_const(op->args[0])) {
            Dependence dependence(bound_);
            op->args[0].accept(&dependence);
            if (!dependence.any) {
                condition = op->args[0];
                return;
            }
        }
        IRVisitor::visit(op);
    }

    const std::set<std::string> &bound_;
};

class Decide : public IRMutator {
  public:
    Decide(Expr condition, bool outcome) : condition_(std::move(condition)), outcome_(outcome) {}

  private:
    using IRMutator::visit;
    Expr visit(const Call *op) override {
        if (op->is_intrinsic(Call::if_then_else) && op->args.size() == 3 && equal(op->args[0], condition_))
            return mutate(op->args[outcome_ ? 1 : 2]);
        return IRMutator::visit(op);
    }

    const Expr condition_;
    const bool outcome_;
};

Stmt versions(const Stmt &loop, const std::set<std::string> &bound) {
    FindChoice choice(bound);
    loop.accept(&choice);
    if (!choice.condition.defined()) return loop;
    const auto version = [&](bool outcome) { return Decide(choice.condition, outcome).mutate(loop); };
    return IfThenElse::make(choice.condition, versions(version(true), bound), version(false));
}

}  // namespace

Stmt UniformChoices::visit(const For *op) {
    ScopedValue<bool> in_threads(in_threads_, in_threads_ || op->for_type == ForType::GPUThread);
    if (!in_threads_ || op->for_type == ForType::GPUThread) return IRMutator::visit(op);
    Bindings inside;
    Stmt(op).accept(&inside);
    return inside.any_barrier ? IRMutator::visit(op) : versions(op, inside.names);
}

}  // namespace conv_transpose

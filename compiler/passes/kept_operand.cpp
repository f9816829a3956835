// Finding the operand that a block keeps: see kept_operand.h.
#include "compiler/passes/kept_operand.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/passes/bulk_copies.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/pipeline_options.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Finds the store that stages the operand, and its place where all loops around it begin.
class StoresOfOperand : public LetMutator {
  public:
    explicit StoresOfOperand(std::string allocation) : allocation_(std::move(allocation)) {}
    KeptOperand operand;

  private:
    using LetMutator::visit;

    Stmt visit(const For *loop) override {
        if (!is_called(loop, bulk_loops)) return LetMutator::visit(loop);
        loops_.push_back(loop);
        const Stmt same = LetMutator::visit(loop);
        loops_.pop_back();
        return same;
    }

    Stmt visit(const Store *store) override {
        const bool kept = std::any_of(loops_.begin(), loops_.end(), is_of_kept_operand);
        if (!kept || store->name != allocation_) return store;
        Expr first = store->index.as<Ramp>() ? store->index.as<Ramp>()->base : store->index;
        first = resolve(first, lets_);
        int64_t elements = store->value.type().lanes();
        for (const For *loop : loops_) {
            first = substitute(loop->name, 0, first);
            elements *= as_const_int(simplify(loop->extent)).value_or(0);
        }
        const auto place = as_const_int(simplify(first));
        if (!place || elements == 0 || operand.floats > 0)
            refuse_pipeline("pipeline", "the operand that loops named " + std::string(kept_loops) +
                                            " stage must be one, at a constant place of the stage");
        const int bytes = store->value.type().element_of().bytes();
        operand = {static_cast<int>(*place * bytes / 4), static_cast<int>(elements * bytes / 4)};
        return store;
    }

    const std::string allocation_;
    std::vector<const For *> loops_;
};

}  // namespace

bool is_of_kept_operand(const For *loop) { return is_called(loop, kept_loops); }

KeptOperand kept_operand(const Stmt &statement, const std::string &allocation) {
    StoresOfOperand stores(allocation);
    stores.mutate(statement);
    return stores.operand;
}

}  // namespace conv_transpose

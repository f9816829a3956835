// Finding the operand that a block keeps: see kept_operand.h.
#include "compiler/passes/kept_operand.h"

#include <utility>
#include <vector>

#include "compiler/passes/pipeline_options.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_kept(const For *loop) { return loop->name.find(std::string(".") + kept_loops) != std::string::npos; }
bool is_in_bulk(const For *loop) { return loop->name.find(".bulk_") != std::string::npos; }

/// Stores in bulk loops of which one is of the operand; the tensor-core pass has left no others.
class StoresOfOperand : public LetMutator {
  public:
    explicit StoresOfOperand(std::string allocation) : allocation_(std::move(allocation)) {}
    KeptOperand operand;

  private:
    using LetMutator::visit;

    Stmt visit(const For *loop) override {
        if (!is_in_bulk(loop)) return LetMutator::visit(loop);
        loops_.push_back(loop);
        const Stmt same = LetMutator::visit(loop);
        loops_.pop_back();
        return same;
    }

    Stmt visit(const Store *store) override {
        bool kept = false;
        for (const For *loop : loops_) kept = kept || is_kept(loop);
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

KeptOperand kept_operand(const Stmt &statement, const std::string &allocation) {
    StoresOfOperand stores(allocation);
    stores.mutate(statement);
    return stores.operand;
}

}  // namespace conv_transpose

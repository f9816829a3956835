// Finding and moving accesses to shared memory: see shared_memory.h.
#include "compiler/passes/shared_memory.h"

#include <utility>
#include <vector>

#include "compiler/passes/pipeline_options.h"
#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int sizeof_float = 4;

/// An expression where all that varies is 0.
class AtZero : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Variable *variable) override { return make_zero(variable->type); }
};

class Shift : public IRMutator {
  public:
    Shift(std::string allocation, SharedMemoryShift shift, bool constants_last)
        : allocation_(std::move(allocation)), shift_(std::move(shift)), constants_last_(constants_last) {}

  private:
    using IRMutator::visit;
    /// The distance in elements of a type.
    Expr distance(const Expr &index, const Type &type) const {
        const int bytes = type.bytes();
        const Expr &floats = shift_.of(index, bytes);
        return bytes == sizeof_float  ? floats
               : bytes < sizeof_float ? floats * (sizeof_float / bytes)
                                      : floats / (bytes / sizeof_float);
    }
    Expr sum(const Expr &index, const Expr &distance) const {
        if (!constants_last_) return index + distance;
        const Expr simplified = simplify(index);
        const Add *add = simplified.as<Add>();
        return add && is_const(add->b) ? (add->a + distance) + add->b : simplified + distance;
    }
    Expr shifted(const Expr &index, const Type &type) const {
        const Type element = type.element_of();
        if (const Ramp *ramp = index.as<Ramp>())
            return Ramp::make(sum(ramp->base, distance(ramp->base, element)), ramp->stride, ramp->lanes);
        const Expr by = distance(index, element);
        return index.type().is_scalar() ? sum(index, by) : index + Broadcast::make(by, index.type().lanes());
    }
    Expr visit(const Load *load) override {
        if (load->name != allocation_) return IRMutator::visit(load);
        return Load::make(load->type, load->name, shifted(mutate(load->index), load->type), load->image, load->param,
                          load->predicate, ModulusRemainder());
    }
    Stmt visit(const Store *store) override {
        if (store->name != allocation_) return IRMutator::visit(store);
        return Store::make(store->name, mutate(store->value), shifted(mutate(store->index), store->value.type()),
                           store->param, store->predicate, store->alignment);
    }
    Expr visit(const Call *call) override {
        if (!starts_with(call->name, std::string(placeholder_prefix))) return IRMutator::visit(call);
        // The first arguments of some calls are addresses in shared memory: two operands, in rows of 16
        // bytes, or the target of a copy, in bytes.
        const std::string kind = PlaceholderCall::parse(call->name).kind;
        const int addresses = kind == "multiply" ? 2 : kind == "copy" || kind == "bulk_copy" || kind == "tensor_copy" ? 1 : 0;
        std::vector<Expr> arguments = call->args;
        for (int i = 0; i < addresses; i++) {
            const bool in_rows = kind == "multiply";
            const Expr &floats = shift_.of(arguments[i], in_rows ? 4 * sizeof_float : 1);
            arguments[i] = simplify(arguments[i] + (in_rows ? floats / 4 : floats * sizeof_float));
        }
        return Call::make(call->type, call->name, arguments, call->call_type);
    }
    std::string allocation_;
    SharedMemoryShift shift_;
    bool constants_last_;
};

}  // namespace

const Expr &SharedMemoryShift::of(const Expr &index, int bytes) const {
    if (begin == end) return floats;
    const auto first = index.type().is_scalar() ? as_const_int(simplify(AtZero().mutate(index))) : std::nullopt;
    if (!first) refuse_pipeline("pipeline", "where one operand is kept, every access must count up from a constant");
    const int64_t place = *first * bytes / sizeof_float;
    return place >= begin && place < end ? others : floats;
}

std::optional<int> shared_floats(const Allocate *allocate) {
    const auto size =
        allocate->extents.size() == 1 ? as_const_int(simplify(allocate->extents[0])) : std::nullopt;
    if (!size) return std::nullopt;
    return static_cast<int>((*size * allocate->type.bytes() + sizeof_float - 1) / sizeof_float);
}

Stmt shifted_in_shared_memory(const Stmt &statement, const std::string &allocation, const SharedMemoryShift &shift,
                              bool constants_last) {
    return Shift(allocation, shift, constants_last).mutate(statement);
}

Stmt shared_memory_barrier() {
    constexpr int fence_of_shared_memory = 2;  // what Halide's back end understands
    return Evaluate::make(
        Call::make(Int(32), Call::gpu_thread_barrier, {Expr(fence_of_shared_memory)}, Call::Intrinsic));
}

}  // namespace conv_transpose

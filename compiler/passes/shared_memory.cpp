// Finding and moving accesses to shared memory: see shared_memory.h.
#include "compiler/passes/shared_memory.h"

#include <utility>
#include <vector>

#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int sizeof_float = 4;

class Shift : public IRMutator {
  public:
    Shift(std::string allocation, Expr floats, bool constants_last)
        : allocation_(std::move(allocation)), floats_(std::move(floats)), constants_last_(constants_last) {}

  private:
    using IRMutator::visit;
    /// The distance in elements of a type.
    Expr distance(const Type &type) const {
        const int bytes = type.bytes();
        return bytes == sizeof_float  ? floats_
               : bytes < sizeof_float ? floats_ * (sizeof_float / bytes)
                                      : floats_ / (bytes / sizeof_float);
    }
    Expr sum(const Expr &index, const Expr &distance) const {
        if (!constants_last_) return index + distance;
        const Expr simplified = simplify(index);
        const Add *add = simplified.as<Add>();
        return add && is_const(add->b) ? (add->a + distance) + add->b : simplified + distance;
    }
    Expr shifted(const Expr &index, const Type &type) const {
        const Expr by = distance(type);
        if (const Ramp *ramp = index.as<Ramp>()) return Ramp::make(sum(ramp->base, by), ramp->stride, ramp->lanes);
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
        for (int i = 0; i < addresses; i++)
            arguments[i] = simplify(arguments[i] + (kind == "multiply" ? floats_ / 4 : floats_ * 4));
        return Call::make(call->type, call->name, arguments, call->call_type);
    }
    std::string allocation_;
    Expr floats_;
    bool constants_last_;
};

}  // namespace

std::optional<int> shared_floats(const Allocate *allocate) {
    const auto size =
        allocate->extents.size() == 1 ? as_const_int(simplify(allocate->extents[0])) : std::nullopt;
    if (!size) return std::nullopt;
    return static_cast<int>((*size * allocate->type.bytes() + sizeof_float - 1) / sizeof_float);
}

Stmt shifted_in_shared_memory(const Stmt &statement, const std::string &allocation, const Expr &floats,
                              bool constants_last) {
    return Shift(allocation, floats, constants_last).mutate(statement);
}

Stmt shared_memory_barrier() {
    constexpr int fence_of_shared_memory = 2;  // what Halide's back end understands
    return Evaluate::make(
        Call::make(Int(32), Call::gpu_thread_barrier, {Expr(fence_of_shared_memory)}, Call::Intrinsic));
}

}  // namespace conv_transpose

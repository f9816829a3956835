// Recognising stores that are copies: see async_copies.h.
#include "compiler/passes/async_copies.h"

#include <algorithm>

#include "compiler/passes/lowered_ir.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int most_bytes = 16;  // of a copy; 4 and 8 are others

class CopyAsync : public IRMutator {
  public:
    explicit CopyAsync(const CopyOptions &options) : options_(options) {}
    bool all_copied = true;

  private:
    using IRMutator::visit;

    /// What a store moves: all bytes of a load, or none where a boundary condition is false.
    struct Source {
        const Load *load = nullptr;  // null where the store does more than move them
        Expr bytes_read;
    };

    static Source source_of(const Expr &value) {
        const int lanes = value.type().lanes(), bytes = lanes * value.type().bytes();
        const Select *select = value.as<Select>();
        if (!select) {
            return {value.as<Load>(), bytes};
        }
        const Broadcast *condition = select->condition.as<Broadcast>();
        const bool zero_first = is_const_zero(select->true_value);
        if ((!condition && lanes > 1) || (!zero_first && !is_const_zero(select->false_value))) return {};
        return {(zero_first ? select->false_value : select->true_value).as<Load>(),
                Select::make(condition ? condition->value : select->condition, zero_first ? 0 : bytes,
                             zero_first ? bytes : 0)};
    }

    /// The first index of a dense access.
    static Expr dense_base(const Expr &index) {
        if (index.type().is_scalar()) return index;
        const Ramp *ramp = index.as<Ramp>();
        return ramp && is_const_one(ramp->stride) ? ramp->base : Expr();
    }

    static bool is_aligned(const Load *load, const Expr &base, int lanes) {
        const auto aligned = [&](const ModulusRemainder &known) {
            return known.modulus % lanes == 0 && known.remainder % lanes == 0;
        };
        // Halide may have known more before lets were taken out of the loop.
        return (aligned(load->alignment) || aligned(modulus_remainder(base))) &&
               (!load->param.defined() || load->param.host_alignment() >= lanes * load->type.bytes());
    }

    Stmt visit(const Store *store) override {
        const Type type = store->value.type();
        const int lanes = type.lanes(), bytes = lanes * type.bytes();
        const Source source = source_of(store->value);
        const Load *load = source.load;
        const Expr from = load ? dense_base(load->index) : Expr(), to = dense_base(store->index);
        const bool is_small = options_.single_floats && (bytes == 4 || bytes == 8);
        if (!(bytes == most_bytes || is_small) || !from.defined() ||
            !to.defined() || load->type != type || !operand_format(type) || !is_const_one(load->predicate) ||
            !is_const_one(store->predicate) || !is_aligned(load, from, lanes)) {
            all_copied = false;
            return store;
        }
        PlaceholderCall call{"copy", {{"bytes", bytes}}};
        if (options_.through_first_cache) call.fields["cached"] = 1;
        return placeholder(call, {simplify(to * type.bytes()), address_of(load, from), source.bytes_read});
    }

    const CopyOptions options_;
};

}  // namespace

std::optional<Stmt> async_copies(const Stmt &staging, const CopyOptions &options) {
    CopyAsync copies(options);
    const Stmt copied = copies.mutate(staging);
    return copies.all_copied ? std::optional(copied) : std::nullopt;
}

Stmt AsyncCopyPass::visit(const Allocate *allocate) {
    if (allocate->memory_type == MemoryType::Register || allocate->memory_type == MemoryType::Stack) {
        own_.insert(allocate->name);
        return IRMutator::visit(allocate);
    }
    ScopedValue<std::string> shared(shared_, allocate->name);
    return IRMutator::visit(allocate);
}

Stmt AsyncCopyPass::visit(const ProducerConsumer *part) {
    // A stage only writes shared memory; a Func that is computed from what is staged reads it, too.
    const Access access = access_of(part->body, shared_);
    if (!part->is_producer || shared_.empty() || !access.writes || access.reads || access.barrier) return IRMutator::visit(part);
    const bool from_own = std::any_of(own_.begin(), own_.end(), [&](const std::string &name) {
        return access_of(part->body, name).reads;
    });
    const auto copies = from_own ? std::nullopt : async_copies(without_lets(part->body), {.single_floats = true});
    if (!copies) return part;
    return ProducerConsumer::make(part->name, true, Block::make({*copies, placeholder({"copy_commit", {}}),
                                                                 placeholder({"copy_wait", {{"pending", 0}}})}));
}

}  // namespace conv_transpose

// Stores as wide as their address allows: see adaptive_stores.h.
#include "compiler/passes/adaptive_stores.h"

#include <set>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A Store to the buffer has one if it stores a dense vector of 2 or 4.
const Ramp *stored_vector(const Store *op, const std::string &buffer) {
    const Ramp *ramp = op->index.as<Ramp>();
    const bool dense = ramp && is_const_one(ramp->stride) && (ramp->lanes == 2 || ramp->lanes == 4);
    return op->name == buffer && dense && is_const_one(op->predicate) ? ramp : nullptr;
}

bool index_is_aligned(const Store *op, int lanes) {
    return op->alignment.modulus % lanes == 0 && op->alignment.remainder % lanes == 0;
}

class StoreFinder : public IRVisitor {
  public:
    explicit StoreFinder(std::string buffer) : buffer_(std::move(buffer)) {}
    bool any_aligned = false, any_other = false, any_barrier = false, frees_outer = false;

  private:
    using IRVisitor::visit;
    void visit(const Store *op) override {
        if (const Ramp *ramp = stored_vector(op, buffer_))
            (index_is_aligned(op, ramp->lanes) ? any_aligned : any_other) = true;
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        any_barrier |= op->is_intrinsic(Call::gpu_thread_barrier);
        IRVisitor::visit(op);
    }
    void visit(const Allocate *op) override {
        allocated_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Free *op) override { frees_outer |= !allocated_.count(op->name); }

    const std::string buffer_;
    std::set<std::string> allocated_;
};

}  // namespace

// Two versions of a barrier would be two barriers; nor may memory be freed twice.
bool AdaptiveStores::depends_on_pointer_alone(const Stmt &stmt) const {
    StoreFinder stores(buffer_);
    stmt.accept(&stores);
    return stores.any_aligned && !stores.any_other && !stores.any_barrier && !stores.frees_outer;
}

Stmt AdaptiveStores::visit(const For *op) {
    ScopedValue<bool> in_threads(in_threads_, in_threads_ || op->for_type == ForType::GPUThread);
    return IRMutator::visit(op);
}

// The test of the caller's pointer is made once, on the host, and captured by the kernel.
Expr AdaptiveStores::base_is_aligned() const { return Variable::make(Bool(), buffer_ + ".aligned"); }

Stmt AdaptiveStores::mutate(const Stmt &stmt) {
    if (stmt.defined() && in_threads_ && !known_ && depends_on_pointer_alone(stmt)) {
        ScopedValue<bool> known(known_, true);
        const auto version = [&](bool aligned) {
            ScopedValue<bool> known_aligned(known_aligned_, aligned);
            return IRMutator::mutate(stmt);
        };
        return IfThenElse::make(base_is_aligned(), version(true), version(false));
    }
    if (inside_) return IRMutator::mutate(stmt);
    ScopedValue<bool> inside(inside_, true);
    const Stmt body = IRMutator::mutate(stmt);
    if (!stmt_uses_var(body, buffer_ + ".aligned")) return body;
    constexpr int vector_bytes = 16;
    const Expr buffer = Variable::make(type_of<struct halide_buffer_t *>(), buffer_ + ".buffer");
    const Expr address = Call::make(UInt(64), Call::buffer_get_device, {buffer}, Call::Extern);
    const Expr aligned = address % make_const(UInt(64), vector_bytes) == make_zero(UInt(64));
    return LetStmt::make(buffer_ + ".aligned", aligned, body);
}

Stmt AdaptiveStores::visit(const Store *op) {
    const Ramp *ramp = stored_vector(op, buffer_);
    if (!ramp) return IRMutator::visit(op);
    const std::string value = unique_name("stored"), base = unique_name("stored_at");
    const bool aligned = index_is_aligned(op, ramp->lanes);
    const Expr stored = Variable::make(op->value.type(), value), at = Variable::make(ramp->base.type(), base);
    const Stmt stores = narrower(stored, at, op->param, ramp->lanes, aligned);
    return LetStmt::make(value, op->value, LetStmt::make(base, ramp->base, stores));
}

// The vector in one store where its index allows, else in halves.
Stmt AdaptiveStores::narrower(const Expr &value, const Expr &base, const Parameter &param, int lanes,
                              bool index_aligned) const {
    if (lanes == 1) return Store::make(buffer_, value, base, param, const_true(), ModulusRemainder());
    const Expr one = make_one(base.type()), width = make_const(base.type(), lanes);
    const Stmt whole = Store::make(buffer_, value, Ramp::make(base, one, lanes), param, const_true(lanes),
                                   ModulusRemainder(lanes, 0));
    const auto half = [&](int first) {
        const Expr part = lanes == 2 ? Shuffle::make_extract_element(value, first)
                                     : Shuffle::make_slice(value, first, 1, lanes / 2);
        return narrower(part, base + make_const(base.type(), first), param, lanes / 2, index_aligned);
    };
    const Expr index_fits = index_aligned ? const_true() : base % width == make_zero(base.type());
    const Expr pointer_fits = known_ ? make_bool(known_aligned_) : base_is_aligned();
    const Expr fits = simplify(pointer_fits && index_fits);
    if (is_const_one(fits)) return whole;
    const Stmt halves = Block::make(half(0), half(lanes / 2));
    return is_const_zero(fits) ? halves : IfThenElse::make(fits, whole, halves);
}

}  // namespace conv_transpose

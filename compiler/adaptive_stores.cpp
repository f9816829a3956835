// Stores as wide as their address allows: see adaptive_stores.h.
#include "compiler/adaptive_stores.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

// The test of the caller's pointer is made once, on the host, and captured by the kernel.
Expr AdaptiveStores::base_is_aligned() const { return Variable::make(Bool(), buffer_ + ".aligned"); }

Stmt AdaptiveStores::mutate(const Stmt &stmt) {
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
    const Ramp *ramp = op->index.as<Ramp>();
    const bool dense = ramp && is_const_one(ramp->stride) && (ramp->lanes == 2 || ramp->lanes == 4);
    if (op->name != buffer_ || !dense || !is_const_one(op->predicate)) return IRMutator::visit(op);
    const std::string value = unique_name("stored"), base = unique_name("stored_at");
    const bool aligned = op->alignment.modulus % ramp->lanes == 0 && op->alignment.remainder % ramp->lanes == 0;
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
    return IfThenElse::make(base_is_aligned() && index_fits, whole, Block::make(half(0), half(lanes / 2)));
}

}  // namespace conv_transpose

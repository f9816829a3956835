// Vectors of elements of 16 bits as words: see word_accesses.h.
#include "compiler/passes/word_accesses.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

Stmt WordAccesses::visit(const Allocate *op) {
    allocated_.insert(op->name);
    return IRMutator::visit(op);
}

// The words of such a vector, or nothing where they are no vector's. Halide knows by what it was promised, where it has made the
// access, what an index is a multiple of.
template <class Access>
Expr WordAccesses::words(const Access *op, const Type &type) const {
    const Ramp *ramp = op->index.template as<Ramp>();
    const int lanes = type.lanes();
    const bool dense = ramp && is_const_one(ramp->stride) && is_const_one(op->predicate) && !allocated_.count(op->name);
    const bool of_words = type.bits() == 16 && (lanes == 4 || lanes == 8);
    if (!dense || !of_words || op->alignment.modulus % lanes != 0 || op->alignment.remainder % lanes != 0) return {};
    return Ramp::make(ramp->base / 2, 1, lanes / 2);
}

Expr WordAccesses::visit(const Load *op) {
    const Expr index = words(op, op->type);
    if (!index.defined()) return IRMutator::visit(op);
    const int lanes = op->type.lanes() / 2;
    return reinterpret(op->type, Load::make(UInt(32, lanes), op->name, index, op->image, op->param, const_true(lanes),
                                            ModulusRemainder(lanes, 0)));
}

Stmt WordAccesses::visit(const Store *op) {
    const Expr index = words(op, op->value.type());
    if (!index.defined()) return IRMutator::visit(op);
    const int lanes = op->value.type().lanes() / 2;
    return Store::make(op->name, reinterpret(UInt(32, lanes), mutate(op->value)), index, op->param, const_true(lanes),
                       ModulusRemainder(lanes, 0));
}

}  // namespace conv_transpose

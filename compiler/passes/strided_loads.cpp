// Vectors of elements that lie apart: see strided_loads.h.
#include "compiler/passes/strided_loads.h"

#include <algorithm>
#include <vector>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

Expr StridedLoads::visit(const Load *op) {
    const Ramp *ramp = op->index.as<Ramp>();
    const auto stride = ramp && ramp->base.type().is_scalar() ? as_const_int(ramp->stride) : std::nullopt;
    const bool reads_input = op->param.defined() && is_const_one(op->predicate);
    if (!stride || *stride < 2 || *stride > 4 || !reads_input) return IRMutator::visit(op);
    const int lanes = ramp->lanes, apart = static_cast<int>(*stride);
    // The last vector ends with the last element.
    const auto begin = [&](int vector) { return std::min(vector * lanes, (apart - 1) * (lanes - 1)); };
    const Expr base = mutate(ramp->base);
    std::vector<Expr> vectors;
    for (int i = 0; i < apart; i++)
        vectors.push_back(Load::make(op->type, op->name, Ramp::make(base + begin(i), 1, lanes), op->image, op->param,
                                     const_true(lanes), ModulusRemainder()));
    std::vector<int> indices;
    for (int i = 0; i < lanes; i++) {
        const int vector = std::min(i * apart / lanes, apart - 1);
        indices.push_back(vector * lanes + i * apart - begin(vector));
    }
    return Shuffle::make(vectors, indices);
}

}  // namespace conv_transpose

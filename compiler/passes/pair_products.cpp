// Products of pairs are calls of a function that nobody defines: see pair_products.h.
#include "compiler/passes/pair_products.h"

#include <string>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const std::string name_of_call = "conv_product_of_pairs";

}  // namespace

Expr product_of_pairs(const PairProduct &product) {
    return Call::make(Float(32), name_of_call, {product.a, product.b, static_cast<int>(product.format)}, Call::PureExtern);
}

std::optional<PairProduct> pair_product(const Expr &e) {
    const Call *call = e.as<Call>();
    if (!call || call->name != name_of_call) return std::nullopt;
    return PairProduct{call->args[0], call->args[1], static_cast<OperandFormat>(*as_const_int(call->args[2]))};
}

}  // namespace conv_transpose

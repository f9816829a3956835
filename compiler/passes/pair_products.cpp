// Products of pairs are calls of a function that nobody defines: see pair_products.h.
#include "compiler/passes/pair_products.h"

#include <string>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const std::string name_of_pairs = "conv_product_of_pairs", name_of_half = "conv_product_of_half";

const Call *call_of(const std::string &name, const Expr &e) {
    const Call *call = e.as<Call>();
    return call && call->name == name ? call : nullptr;
}

OperandFormat format_of(const Call *call) { return static_cast<OperandFormat>(*as_const_int(call->args.back())); }

}  // namespace

Expr product_of_pairs(const PairProduct &product) {
    return Call::make(Float(32), name_of_pairs, {product.a, product.b, static_cast<int>(product.format)}, Call::PureExtern);
}

std::optional<PairProduct> pair_product(const Expr &e) {
    const Call *call = call_of(name_of_pairs, e);
    if (!call) return std::nullopt;
    return PairProduct{call->args[0], call->args[1], format_of(call)};
}

Expr product_of_half(const HalfProduct &product) {
    return Call::make(Float(32), name_of_half, {product.word, product.value, product.half, static_cast<int>(product.format)},
                      Call::PureExtern);
}

std::optional<HalfProduct> half_product(const Expr &e) {
    const Call *call = call_of(name_of_half, e);
    if (!call) return std::nullopt;
    return HalfProduct{call->args[0], call->args[1], call->args[2], format_of(call)};
}

}  // namespace conv_transpose

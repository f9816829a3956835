// Vectors rounded to bfloat16: see bfloat16_rounding.h.
#include "compiler/passes/bfloat16_rounding.h"

#include <string>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

const std::string name_of_call = "round_to_bfloat16";

}  // namespace

Expr rounded_by_instruction(const Expr &value, const Expr &otherwise) {
    return Call::make(BFloat(16), name_of_call, {value, otherwise}, Call::PureExtern);
}

Expr Bfloat16Rounding::visit(const Call *op) {
    if (op->name != name_of_call) return IRMutator::visit(op);
    const int lanes = op->type.lanes();
    if (lanes != 16) return mutate(op->args[1]);
    // A function of Halide's own, of two registers; the second half is not used.
    const std::string value_name = unique_name("rounded");
    const Expr value = Variable::make(op->args[0].type(), value_name);
    const Expr twice = Shuffle::make_concat({value, value});
    const Expr rounded = Call::make(UInt(16, 2 * lanes), "vcvtne2ps2bf16", {twice}, Call::PureExtern);
    return Let::make(value_name, mutate(op->args[0]), reinterpret(op->type, Shuffle::make_slice(rounded, 0, 1, lanes)));
}

}  // namespace conv_transpose

// A lowering pass that rounds vectors to bfloat16 by a processor's instruction for it (AVX-512 BF16).
//
// Halide has that instruction, but lowers conversions to six operations on bits before it looks for it.
#ifndef CONV_TRANSPOSE_COMPILER_BFLOAT16_ROUNDING_H
#define CONV_TRANSPOSE_COMPILER_BFLOAT16_ROUNDING_H

#include "Halide.h"

namespace conv_transpose {

/// A float32 that the pass rounds by an instruction where vectors are whole registers; `otherwise` is its rounding elsewhere. The
/// instruction takes numbers below the least normal one to be zero, as those that multiply bfloat16 do.
Halide::Expr rounded_by_instruction(const Halide::Expr &value, const Halide::Expr &otherwise);

/// For add_custom_lowering_pass(), wherever rounded_by_instruction() is.
class Bfloat16Rounding : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Expr visit(const Halide::Internal::Call *op) override;
};

}  // namespace conv_transpose

#endif

// The tensors of a run by their names: those of Arguments, and regions of a plan's workspace behind them.
#ifndef CONV_TRANSPOSE_RUNTIME_OPERAND_H
#define CONV_TRANSPOSE_RUNTIME_OPERAND_H

namespace conv_transpose {

enum class Operand : int {
    input,
    output_gradient,
    weight,
    bias,
    output,
    input_gradient,
    weight_gradient,
    bias_gradient,
    packed_weight,
    first_region,  ///< of the workspace; others follow
};

}  // namespace conv_transpose

#endif

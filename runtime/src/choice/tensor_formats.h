// The formats of an operation's tensors: what is asked for, and what a kernel is made for.
#ifndef CONV_TRANSPOSE_RUNTIME_TENSOR_FORMATS_H
#define CONV_TRANSPOSE_RUNTIME_TENSOR_FORMATS_H

#include <span>
#include <string>

#include "choice/kernel_traits.h"

namespace conv_transpose {

struct TensorOfOperation {
    const char *name;
    TensorFormat PlanOptions::*asked;
    TensorFormat KernelTraits::*made_for;

    /// A forward kernel that computes an input gradient reads the output's gradient as its input.
    TensorFormat format_of(const KernelTraits &k, Operation operation) const {
        if (k.operation == operation) return k.*made_for;
        if (made_for == &KernelTraits::input) return k.output;
        return made_for == &KernelTraits::output ? k.input : k.*made_for;
    }
};

/// Those whose format matters to the operation.
inline std::span<const TensorOfOperation> tensors_of(Operation operation) {
    static constexpr TensorOfOperation all[] = {{"output", &PlanOptions::output, &KernelTraits::output},
                                                {"weight", &PlanOptions::weight, &KernelTraits::weight},
                                                {"input", &PlanOptions::input, &KernelTraits::input}};
    return std::span(all).first(operation == Operation::bias_gradient ? 2 : 3);
}

/// As in "float16 with channels_last".
inline std::string str(TensorFormat format) {
    static constexpr const char *types[] = {"float32", "float16", "bfloat16"};
    static constexpr const char *layouts[] = {"channels_first", "channels_last"};
    return std::string(types[int(format.type)]) + " with " + layouts[int(format.layout)];
}

}  // namespace conv_transpose

#endif

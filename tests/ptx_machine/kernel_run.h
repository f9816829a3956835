// One problem by one kernel, against the oracle: a line of shapes.txt.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_KERNEL_RUN_H
#define CONV_TRANSPOSE_PTX_MACHINE_KERNEL_RUN_H

#include <optional>
#include <string>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose::testing {

struct KernelRun {
    std::string kernel;
    Problem problem;
    Epilogue epilogue;
    TensorFormat input{}, weight{}, output{};
    int offset = 0;       ///< elements, from an aligned address
    std::string shifted;  ///< the tensor whose address that is; "": all of them
    std::optional<Operation>
        computes;  ///< where it is not what the kernel is for: input gradients by kernels of the forward operation
    int grid = 0;         ///< the most blocks along an axis, so that each goes through more of a sum; 0: as many as GPUs have
    int elements = 0;     ///< the most of a tensor that a launch spans, so that there are several; 0: as many as 32 bits count

    /// KERNEL PROBLEM [input_gradient] [bias] [ACTIVATION] [TENSOR=FORMAT...] [grid=BLOCKS] [elements=NUMBER] [+OFFSET[:TENSOR]],
    /// where TENSOR is input, weight or output, and FORMAT is f32, f16 or bf16, with _last where channels are innermost. Throws
    /// std::invalid_argument.
    static KernelRun parse(const std::string &line);
    std::string str() const;
    TensorFormat &tensor(const std::string &name);
    Operation operation() const;
    int offset_of(const std::string &tensor) const { return shifted.empty() || shifted == tensor ? offset : 0; }

    /// What went wrong; "" for nothing. Throws Unsupported where the kernel does not accept the problem.
    std::string error() const;
};

/// The row of the registry. Throws std::invalid_argument where there is none.
KernelInfo kernel_named(const std::string &name);

}  // namespace conv_transpose::testing

#endif

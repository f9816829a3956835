// The epilogue as kernels take it.
#ifndef CONV_TRANSPOSE_RUNTIME_EPILOGUE_ARGUMENTS_H
#define CONV_TRANSPOSE_RUNTIME_EPILOGUE_ARGUMENTS_H

#include "algorithm/kernel_interface.h"
#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Made without an Epilogue, one that changes nothing.
struct EpilogueArguments {
    bool has_bias = false;
    int64_t activation = static_cast<int64_t>(EpilogueKind::piecewise_linear);
    float slope = 1;

    EpilogueArguments() = default;
    explicit EpilogueArguments(const Epilogue &epilogue) : has_bias(epilogue.bias) {
        switch (epilogue.activation) {
            case Activation::none: break;
            case Activation::relu: slope = 0; break;
            case Activation::leaky_relu: slope = epilogue.negative_slope; break;
            case Activation::tanh: activation = static_cast<int64_t>(EpilogueKind::tanh); break;
            case Activation::sigmoid: activation = static_cast<int64_t>(EpilogueKind::sigmoid); break;
        }
    }
};

}  // namespace conv_transpose

#endif

// The epilogue as kernels take it.
#ifndef CONV_TRANSPOSE_RUNTIME_EPILOGUE_ARGUMENTS_H
#define CONV_TRANSPOSE_RUNTIME_EPILOGUE_ARGUMENTS_H

#include "algorithm/kernel_interface.h"
#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// Made without an Epilogue, one that changes nothing.
struct EpilogueArguments {
    BiasKind bias = BiasKind::none;
    int64_t activation = static_cast<int64_t>(EpilogueKind::piecewise_linear);
    float slope = 1;

    EpilogueArguments() = default;
    explicit EpilogueArguments(const Epilogue &epilogue) {
        if (epilogue.bias) bias = BiasKind::biases;
        switch (epilogue.activation) {
            case Activation::none: break;
            case Activation::relu: slope = 0; break;
            case Activation::leaky_relu: slope = epilogue.negative_slope; break;
            case Activation::tanh: activation = static_cast<int64_t>(EpilogueKind::tanh); break;
            case Activation::sigmoid: activation = static_cast<int64_t>(EpilogueKind::sigmoid); break;
            case Activation::prelu: bias = BiasKind::biases_and_slopes, slope = 0; break;  // this slope is not read
        }
    }

    bool has_bias() const { return bias != BiasKind::none; }
    /// The kernel's argument of that name.
    int64_t bias_kind() const { return static_cast<int64_t>(bias); }
    /// Elements that the caller's bias has for so many channels.
    int64_t bias_elements(int64_t channels) const { return (bias == BiasKind::biases_and_slopes ? 2 : 1) * channels; }
};

}  // namespace conv_transpose

#endif

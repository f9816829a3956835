// The epilogue as kernels take it.
#ifndef CONV_TRANSPOSE_RUNTIME_EPILOGUE_ARGUMENTS_H
#define CONV_TRANSPOSE_RUNTIME_EPILOGUE_ARGUMENTS_H

#include "algorithm/kernel_interface.h"
#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

struct NamedActivation {
    const char *name;
    bool smooth;
};
/// By their numbers.
inline constexpr NamedActivation activations[] = {
#define CONV_TRANSPOSE_ROW(name, c_name, is_smooth) {#name, is_smooth != 0},
    CONV_TRANSPOSE_ACTIVATIONS(CONV_TRANSPOSE_ROW)
#undef CONV_TRANSPOSE_ROW
};

/// Made without an Epilogue, one that changes nothing.
struct EpilogueArguments {
    BiasKind bias = BiasKind::none;
    int64_t activation = static_cast<int64_t>(EpilogueKind::piecewise_linear);
    float slope = 1;

    EpilogueArguments() = default;
    explicit EpilogueArguments(const Epilogue &epilogue) {
        const bool has_slopes = epilogue.activation == Activation::prelu;
        if (epilogue.bias) bias = has_slopes ? BiasKind::biases_and_slopes : BiasKind::biases;
        if (activations[static_cast<int>(epilogue.activation)].smooth) activation = static_cast<int64_t>(epilogue.activation);
        // That of PReLU is not read.
        if (epilogue.activation == Activation::relu || has_slopes) slope = 0;
        if (epilogue.activation == Activation::leaky_relu) slope = epilogue.negative_slope;
    }

    bool has_bias() const { return bias != BiasKind::none; }
    /// The kernel's argument of that name.
    int64_t bias_kind() const { return static_cast<int64_t>(bias); }
    /// Elements that the caller's bias has for so many channels.
    int64_t bias_elements(int64_t channels) const { return (bias == BiasKind::biases_and_slopes ? 2 : 1) * channels; }
};

}  // namespace conv_transpose

#endif

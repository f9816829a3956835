// The attributes of every axis as inputs of a generator, the innermost axis first, as signatures list them
// (algorithm/signature.h).
#ifndef CONV_TRANSPOSE_GENERATORS_AXIS_INPUTS_H
#define CONV_TRANSPOSE_GENERATORS_AXIS_INPUTS_H

#include <array>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/gather.h"
#include "algorithm/signature.h"
#include "algorithm/strided_axis.h"

namespace conv_transpose {

using AxisInputs = std::vector<Halide::GeneratorInput<int> *>;

/// The forward operation has the former, and what reads an output gradient with the stride the latter.
inline constexpr std::array gather_attributes{"stride_", "dilation_", "padding_phase_", "gcd_", "inverse_", "kernel_"};
inline constexpr std::array strided_attributes{"kernel_", "stride_", "dilation_"};

template <class Generator, class Attributes>
AxisInputs add_axis_inputs(Generator &generator, int rank, const Attributes &attributes) {
    AxisInputs inputs;
    for (int d = 0; d < rank; d++)
        for (const char *attribute : attributes)
            inputs.push_back(generator.template add_input<int>(attribute + std::string(axis_names[d])));
    return inputs;
}

/// The attributes of axis d, of inputs of either kind.
inline AxisArguments gather_arguments(const AxisInputs &inputs, int d) {
    const auto a = [&](int i) -> Halide::Expr { return *inputs[gather_attributes.size() * d + i]; };
    return {.kernel = a(5), .stride = a(0), .dilation = a(1), .padding_phase = a(2), .gcd = a(3), .inverse = a(4)};
}
inline StridedAxis strided_arguments(const AxisInputs &inputs, int d) {
    const auto a = [&](int i) -> Halide::Expr { return *inputs[strided_attributes.size() * d + i]; };
    return {.kernel = a(0), .stride = a(1), .dilation = a(2)};
}

}  // namespace conv_transpose

#endif

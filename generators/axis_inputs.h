// The attributes of every axis as inputs of a generator, the innermost axis first, as signatures list them
// (algorithm/signature.h).
#ifndef CONV_TRANSPOSE_GENERATORS_AXIS_INPUTS_H
#define CONV_TRANSPOSE_GENERATORS_AXIS_INPUTS_H

#include <array>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/signature.h"

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

}  // namespace conv_transpose

#endif

// The arguments of every weight packing kernel, in the order in which runtime/src/plan/weight_packing.cpp passes
// them, and what it tells the registry: a base of generators.
#ifndef CONV_TRANSPOSE_GENERATORS_PACKING_ARGUMENTS_H
#define CONV_TRANSPOSE_GENERATORS_PACKING_ARGUMENTS_H

#include "Halide.h"
#include "algorithm/element_format.h"
#include "algorithm/weight_layouts.h"
#include "generators/format_text.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// Tensors have the dimensions of the layouts (kernel_interface.h).
struct WeightToPack {
    Halide::GeneratorInput<Halide::Buffer<float>> weight{"weight", 5};
};
/// Weights of 16 bits.
struct HalfWeightToPack {
    Halide::GeneratorParam<Storage> given{"given", Storage::f16, storage_names()};
    Halide::GeneratorInput<Halide::Buffer<>> weight{"weight"};
};
/// The attributes are those of the kernel that reads what is packed; where a stride is not 1, its dilation is.
struct WeightToPackByPhases : WeightToPack {
    Halide::GeneratorInput<int> stride_w{"stride_width"}, padding_phase_w{"padding_phase_width"};
    Halide::GeneratorInput<int> stride_h{"stride_height"}, padding_phase_h{"padding_phase_height"};
};

template <class Inputs, Family family>
struct PackingArgumentsOf : DescribedGenerator, Inputs {
    Halide::GeneratorOutput<Halide::Buffer<float>> packed{"packed", 5};

    /// Weights come in any order and direction: their strides are the caller's, so that gradients exchange
    /// the channels and turn the kernels round.
    void declare_packing() {
        this->weight.dim(0).set_stride(Halide::Expr());
        for (int d = 0; d < 5; d++) this->weight.dim(d).set_min(0), packed.dim(d).set_min(0);
    }

    static void describe_packing(WeightLayout layout, const Halide::Target &target,
                                 KernelDescription &description) {
        describe_helper(description, family, target, "weight_packing");
        description.set("weight_layout", enumerator(layout));
    }
};

using PackingArguments = PackingArgumentsOf<WeightToPack, Family::weight_packing>;
using HalfPackingArguments = PackingArgumentsOf<HalfWeightToPack, Family::weight_packing>;
using TensorCorePackingArguments = PackingArgumentsOf<WeightToPackByPhases, Family::tensor_core_weight_packing>;

}  // namespace conv_transpose

#endif

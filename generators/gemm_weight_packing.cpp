// Weight packing for implicit matrix products on tensor cores, of any rank and element format: the order is
// layouts::tensor_core_weights, and values are converted to what tensor cores multiply.
#include <array>
#include <stdexcept>
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/tensor_layout.h"
#include "algorithm/weight_layouts.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/kernel_description.h"

namespace conv_transpose {

/// (kx, ky, kz, channel, summed channel, group) becomes one array. What lies outside of the weights is zero.
class PackGemmWeights : public Halide::Generator<PackGemmWeights>, public DescribedGenerator {
  public:
    GeneratorParam<int> rank{"rank", 2};
    GeneratorParam<std::string> format{"format", "f16"};
    /// What the weights are given in: mixed precision has float32 weights for operands of 16 bits.
    GeneratorParam<Storage> given{"given", Storage::f32, {{"f32", Storage::f32}, {"f16", Storage::f16},
                                                           {"bf16", Storage::bf16}}};

    Input<Halide::Buffer<>> weight{"weight"};

    void configure() {
        const auto named = format_named(format.value());
        if (!named || !named->on_tensor_cores())
            throw std::invalid_argument("format is '" + format.value() + "'; the rule is one that tensor cores multiply");
        format_ = *named;
        weight.set_type(halide_type(given)), weight.set_dimensions(rank + 3);
        // Kernels for any stride have no phases of their own: these arguments are those of their family.
        static const std::array<std::string, 3> names{"width", "height", "depth"};
        for (int d = 0; d < rank; d++) add_input<int>("stride_" + names[d]), add_input<int>("padding_phase_" + names[d]);
        packed_ = add_output<Halide::Buffer<>>("packed", halide_type(format_.operand()), 5);
    }

    void generate() {
        using namespace Halide;
        using enum Dimension;
        const int values = format_.values_of_16_bytes();
        const TensorLayout layout = layouts::tensor_core_weights(values);
        constexpr Dimension axes[] = {x, y, z};
        const Expr groups = weight.dim(rank + 2).extent();
        PerDimension<Expr> extents(1, {{channel, weight.dim(rank).extent()}, {piece, format_.pieces()}, {group, groups},
                                       {summed, values}});
        for (int d = 0; d < rank; d++) extents[axes[d]] = weight.dim(d).extent();
        // The runtime fills summed channels up to whole chunks of the kernel.
        extents[summed] = packed_->dim(0).extent() / layout.elements<Expr>(extents) * values;
        const PerDimension<Expr> at = layout.coordinates<Expr>(i, extents);
        std::vector<Expr> index;
        Region inside;
        for (int d = 0; d < rank; d++) index.push_back(at[axes[d]]);
        // The clamp tells bounds inference what the quotients cannot.
        index.insert(index.end(), {at[channel], at[summed], clamp(at[group], 0, groups - 1)});
        for (int d = 0; d < rank + 3; d++)
            inside.emplace_back(d < rank + 2 ? Expr(0) : Expr(), d < rank + 2 ? Expr(weight.dim(d).extent()) : Expr());
        const Func zero_outside = BoundaryConditions::constant_exterior(
            weight, Internal::make_zero(weight.type()), inside);
        (*packed_)(i, one, two, three, four) = operand_piece(format_, zero_outside(index), at[piece], get_target());
    }

    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        weight.dim(0).set_stride(Expr());
        for (int d = 0; d < rank + 3; d++) weight.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) packed_->dim(d).set_min(0);
        // A thread finds the place of a row of 16 bytes once: that costs more than to move it.
        const int values = format_.values_of_16_bytes();
        packed_->dim(0).set_extent(packed_->dim(0).extent() / (64 * values) * (64 * values));
        packed_->set_host_alignment(16);
        Var block{"block"}, thread{"thread"}, value{"value"};
        Func all(*packed_);
        all.split(i, i, value, values).vectorize(value).split(i, block, thread, 64);
        if (get_target().has_gpu_feature()) all.gpu_blocks(block).gpu_threads(thread);
        else all.parallel(block);
    }

    void describe(KernelDescription &description) override {
        static const char *const types[] = {"float32", "float16", "bfloat16"};
        description.set_family(Family::tensor_core_weight_packing);
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(gemm_weight_layout(format_)));
        description.set("weight", std::string("{ElementType::") + types[static_cast<int>(given.value())] + "}");
        description.set("rank", rank);
        describe_target(get_target(), description);
    }

  private:
    Var i{"i"}, one{"one"}, two{"two"}, three{"three"}, four{"four"};  // one array: the others have extent 1
    ElementFormat format_;
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackGemmWeights, pack_gemm_weights)

// Weight packing for implicit matrix products, of any rank and element format. For tensor cores the order is
// layouts::tensor_core_weights, and values are converted to what those multiply; for CUDA cores channels are innermost.
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
///
/// Phases may be channels of the product, of those that are computed (channel_phases a dimension) or of those that are
/// summed over (summed_phases): tap t of phase r is kernel position t * phases + r, and phases run faster than the
/// channels, x first.
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
        if (!named) throw std::invalid_argument("format is '" + format.value() + "', which is no name of a format");
        format_ = *named;
        weight.set_type(halide_type(given)), weight.set_dimensions(rank + 3);
        static const std::array<std::string, 3> names{"width", "height", "depth"};
        for (int d = 0; d < rank; d++) {
            channel_phases_.push_back(add_input<int>("channel_phases_" + names[d]));
            summed_phases_.push_back(add_input<int>("summed_phases_" + names[d]));
        }
        packed_ = add_output<Halide::Buffer<>>("packed", halide_type(format_.operand()), 5);
    }

    void generate() {
        using namespace Halide;
        using enum Dimension;
        const bool for_tensor_cores = format_.on_tensor_cores();
        const int values = format_.values_of_16_bytes();
        const TensorLayout layout = for_tensor_cores ? layouts::tensor_core_weights(values) : layouts::channels_innermost;
        constexpr Dimension axes[] = {x, y, z};
        const Expr groups = weight.dim(rank + 2).extent();
        Expr channels = weight.dim(rank).extent(), summed_channels = weight.dim(rank + 1).extent();
        std::vector<Expr> channel_phases, summed_phases;
        for (const GeneratorInput<int> *n : channel_phases_) channel_phases.push_back(*n);
        for (const GeneratorInput<int> *n : summed_phases_) summed_phases.push_back(*n);
        PerDimension<Expr> extents(1, {{piece, format_.pieces()}, {group, groups}});
        for (int d = 0; d < rank; d++) {
            const Expr phases = channel_phases[d] * summed_phases[d];
            extents[axes[d]] = (weight.dim(d).extent() + phases - 1) / phases;
            channels = channels * channel_phases[d], summed_channels = summed_channels * summed_phases[d];
        }
        // The runtime fills channels up to whole tiles of the kernel, of tensor cores summed ones to whole chunks.
        const Expr elements = packed_->dim(0).extent();
        extents[channel] = for_tensor_cores ? channels : 1;
        extents[summed] = for_tensor_cores ? Expr(values) : summed_channels;
        const Expr filled_up = elements / layout.elements<Expr>(extents);
        if (for_tensor_cores) extents[summed] = filled_up * values;
        else extents[channel] = filled_up;

        const PerDimension<Expr> at = layout.coordinates<Expr>(i, extents);
        const auto take_phases = [](Expr &number, const std::vector<Expr> &phases) {
            std::vector<Expr> all;
            for (const Expr &count : phases) all.push_back(number % count), number = number / count;
            return all;
        };
        Expr of_channel = at[channel], of_summed = at[summed];
        const std::vector<Expr> channel_phase = take_phases(of_channel, channel_phases),
                                summed_phase = take_phases(of_summed, summed_phases);
        std::vector<Expr> index;
        Region inside;
        for (int d = 0; d < rank; d++)
            index.push_back(at[axes[d]] * channel_phases[d] * summed_phases[d] + channel_phase[d] + summed_phase[d]);
        // The clamp tells bounds inference what the quotients cannot.
        index.insert(index.end(), {of_channel, of_summed, clamp(at[group], 0, groups - 1)});
        for (int d = 0; d < rank + 3; d++)
            inside.emplace_back(d < rank + 2 ? Expr(weight.dim(d).min()) : Expr(), d < rank + 2 ? Expr(weight.dim(d).extent()) : Expr());
        const Func zero_outside = BoundaryConditions::constant_exterior(
            weight, Internal::make_zero(weight.type()), inside);
        const Expr element = zero_outside(index);
        (*packed_)(i, one, two, three, four) =
            for_tensor_cores ? operand_piece(format_, element, at[piece], get_target()) : element;
    }

    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        weight.dim(0).set_stride(Expr());
        for (int d = rank; d < rank + 3; d++) weight.dim(d).set_min(0);
        for (int d = 0; d < 5; d++) packed_->dim(d).set_min(0);
        // A thread finds the place of a row of 16 bytes once: that costs more than to move it.
        const int values = format_.values_of_16_bytes();
        packed_->dim(0).set_extent(packed_->dim(0).extent() / values * values);
        packed_->set_host_alignment(16);
        Var block{"block"}, thread{"thread"}, value{"value"};
        Func all(*packed_);
        all.split(i, i, value, values).vectorize(value).split(i, block, thread, 64, TailStrategy::GuardWithIf);
        if (get_target().has_gpu_feature()) all.gpu_blocks(block).gpu_threads(thread).never_partition_all();
        else all.parallel(block);
    }

    void describe(KernelDescription &description) override {
        static const char *const types[] = {"float32", "float16", "bfloat16"};
        description.set_family(Family::gemm_weight_packing);
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(format_.on_tensor_cores() ? gemm_weight_layout(format_)
                                                                              : WeightLayout::channels_innermost));
        description.set("weight", std::string("{ElementType::") + types[static_cast<int>(given.value())] + "}");
        description.set("rank", rank);
        describe_target(get_target(), description);
    }

  private:
    Var i{"i"}, one{"one"}, two{"two"}, three{"three"}, four{"four"};  // one array: the others have extent 1
    ElementFormat format_;
    std::vector<Halide::GeneratorInput<int> *> channel_phases_, summed_phases_;
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackGemmWeights, pack_gemm_weights)

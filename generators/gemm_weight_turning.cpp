// Weight packing for implicit matrix products on tensor cores, of weights in channels_first: the same array as
// pack_gemm_weights makes (gemm_weight_packing.cpp), where nothing but the order changes.
#include <stdexcept>
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/fast_division.h"
#include "algorithm/weight_layouts.h"
#include "compiler/passes/device_assertions.h"
#include "generators/format_text.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// (kernel position + positions * channel, 1, 1, summed channel, group) becomes (16 bytes of 64 channels, kernel position, the
/// rest), layouts::tensor_core_weights. What lies outside of the weights is zero.
///
/// What a block packs are runs of neighbours in the weights, one for each of 16 bytes of summed channels, and rows of 32
/// neighbouring bytes in what is packed, so they are turned in shared memory: lanes read neighbours and write neighbours. NVIDIA
/// H200, 2026-11-22: 9.4 million of 16 taps in 24 us, 2.4 million of 9 in 7.2.
class TurnGemmWeights : public Halide::Generator<TurnGemmWeights>, public DescribedGenerator {
  public:
    GeneratorParam<std::string> format{"format", "f16"};

    Input<Halide::Buffer<>> weight{"weight"};

    void configure() {
        const auto named = format_named(format.value());
        if (!named || !named->on_tensor_cores() || named->pieces() > 1)
            throw std::invalid_argument("format is '" + format.value() + "'; the rule is one of tensor cores, of one piece a value");
        format_ = *named;
        weight.set_type(halide_type(format_.storage)), weight.set_dimensions(5);
        packed_ = add_output<Halide::Buffer<>>("packed", halide_type(format_.operand()), 5);
    }

    void generate() {
        using namespace Halide;
        const int values = format_.values_of_16_bytes();
        const Expr taps = packed_->dim(1).extent(), all = weight.dim(0).extent(), summed = weight.dim(3).extent(),
                   groups = weight.dim(4).extent();
        const FastNumber tiles((all / taps + 63) / 64), eights(packed_->dim(2).extent() / (tiles.value * groups));
        const FastNumber of_tile = FastNumber(rest) / eights;
        const Expr eight = (FastNumber(rest) % eights).value, group = (of_tile / tiles).value;
        const Expr at = (of_tile % tiles).value * 64 * taps + place, channel = eight * values + value;
        const auto promised = [](const Expr &e, const Expr &extent) { return unsafe_promise_clamped(e, 0, extent - 1); };
        const Expr given = weight(promised(min(at, all - 1), all), 0, 0, promised(min(channel, summed - 1), summed),
                                  promised(group, groups));
        const Expr element = select(at < all && channel < summed, given, Internal::make_zero(given.type()));
        const bool is_float = format_.storage == Storage::f32;
        // In words of shared memory, each of which one thread writes.
        const Type bits = given.type().with_code(Type::UInt);
        if (is_float) staged_(place, value, rest) = element;
        else staged_(place, value, rest) = cast<uint32_t>(reinterpret(bits, element));
        const Expr word = staged_(i / values * taps + tap, i % values, rest);
        const Expr turned = is_float ? word : reinterpret(given.type(), cast(bits, word));
        (*packed_)(i, tap, rest, three, four) = operand_piece(format_, turned, 0, get_target());
    }

    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        const int values = format_.values_of_16_bytes();
        constexpr auto guard = TailStrategy::GuardWithIf;
        for (int d = 0; d < 5; d++) weight.dim(d).set_min(0), packed_->dim(d).set_min(0);
        packed_->dim(0).set_bounds(0, 64 * values);
        packed_->dim(1).set_stride(64 * values);
        for (int d = 2; d < 5; d++) packed_->dim(d).set_stride(packed_->dim(d).stride() / values * values);
        packed_->set_host_alignment(16);
        Var block{"block"}, lane{"lane"}, warp{"warp"}, channel{"channel"}, value_of_row{"value_of_row"}, round{"round"},
            neighbour{"neighbour"};
        Func packed(*packed_);
        packed.bound(i, 0, 64 * values).split(i, channel, value_of_row, values).vectorize(value_of_row)
            .split(channel, block, channel, 2 * values).split(channel, warp, channel, 2).split(tap, round, tap, 16, guard)
            .fuse(channel, tap, lane).fuse(block, rest, block).reorder(value_of_row, round, lane, warp, block, three, four)
            .gpu_blocks(block).gpu_threads(lane, warp).never_partition_all();
        staged_.compute_at(packed, block).store_in(MemoryType::GPUShared).bound(value, 0, values).bound_extent(rest, 1)
            .split(place, round, lane, 32, guard).split(round, round, neighbour, 4, guard)
            .reorder(neighbour, round, lane, value).unroll(neighbour).gpu_threads(lane, value).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::weight_packing);
        description.set("role", "KernelRole::weight_packing");
        description.set("weight_layout", enumerator(gemm_weight_layout(format_)));
        description.set("weight", format_text(format_.storage));
        description.set("output", format_text(format_.operand()));
        description.set("turns_channels", "true");
        describe_target(get_target(), description);
    }

  private:
    Halide::Var i{"i"}, tap{"tap"}, rest{"rest"}, three{"three"}, four{"four"};  // the last have extent 1
    Halide::Var place{"place"}, value{"value"};
    ElementFormat format_;
    Halide::Func staged_{"staged"};
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::TurnGemmWeights, turn_gemm_weights)

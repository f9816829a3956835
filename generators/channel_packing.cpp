// Packing of pictures for implicit matrix products: neighbouring channels side by side, 16 bytes of them, which are a row
// of an operand of tensor cores, converted to what those multiply. Kernels then copy 16 bytes asynchronously, whatever
// the tap. Pictures come in any layout: their strides are the caller's.
#include <stdexcept>
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "generators/format_text.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// (position, channel, group, image) becomes (channel % values + values * position, channel / values, group, image).
/// Channels that fill up the last chunk of a kernel are zero.
class PackChannels : public Halide::Generator<PackChannels>, public DescribedGenerator {
  public:
    GeneratorParam<std::string> format{"format", "tf32"};

    Input<Halide::Buffer<>> picture{"picture"};

    void configure() {
        const auto named = format_named(format.value());
        if (!named || !named->on_tensor_cores() || named->terms > 1)
            throw std::invalid_argument("format is '" + format.value() +
                                        "'; the rule is one that tensor cores multiply, of one piece");
        format_ = *named;
        picture.set_type(halide_type(format_.storage)), picture.set_dimensions(4);
        packed_ = add_output<Halide::Buffer<>>("packed", halide_type(format_.operand()), 4);
    }

    void generate() {
        using namespace Halide;
        const int values = format_.values_of_16_bytes();
        const Expr channel = plane * values + element % values, channels = picture.dim(1).extent();
        const Expr value = picture(element / values, min(channel, channels - 1), group, image);
        (*packed_)(element, plane, group, image) = operand_piece(
            format_, select(channel < channels, value, Internal::make_zero(value.type())), 0, get_target());
    }

    // Lanes count through positions, then through fours of channels: planes may be smaller than a warp.
    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        const int values = format_.values_of_16_bytes();
        const auto multiple = [&](const Expr &e) { return e / values * values; };
        picture.dim(0).set_stride(Expr());
        for (int d = 0; d < 4; d++) picture.dim(d).set_min(0), packed_->dim(d).set_min(0);
        packed_->dim(0).set_extent(multiple(packed_->dim(0).extent()));
        for (int d = 1; d < 4; d++) packed_->dim(d).set_stride(multiple(packed_->dim(d).stride()));
        packed_->set_host_alignment(16);
        Var value{"value"}, block{"block"}, thread{"thread"};
        Func(*packed_).split(element, element, value, values).reorder(value, element, plane, group, image).vectorize(value)
            .fuse(element, plane, element).split(element, block, thread, 256, TailStrategy::GuardWithIf)
            .gpu_blocks(block, group, image).gpu_threads(thread).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::channel_packing, get_target());
        if (format_.storage != Storage::f32) {
            description.set("input", format_text(format_.storage));
            description.set("output", format_text(format_.storage));
        }
    }

  private:
    ElementFormat format_;
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;
    Halide::Var element{"element"}, plane{"plane"}, group{"group"}, image{"image"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannels, pack_channels)

// Packing of pictures for implicit matrix products that sum over phases as over channels: with them the input gradient of
// any stride is a convolution of stride 1. As pack_channels: rows of 16 bytes, converted to what tensor cores multiply.
#include <array>
#include <stdexcept>
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/fast_division.h"
#include "generators/format_text.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// (x, y, z, channel, group, image) becomes (row % values + values * cell x, cell y, cell z, row / values, group, image),
/// where rows are phases of channels, phases running faster, x first. A cell has the positions from stride * cell on, the
/// last one as phase 0: kernels are turned round as well (WeightView::mirrored). What is outside of the picture is zero,
/// and so are rows that fill up the last chunk of a kernel.
class PackPhases : public Halide::Generator<PackPhases>, public DescribedGenerator {
  public:
    GeneratorParam<std::string> format{"format", "tf32"};

    Input<Halide::Buffer<>> picture{"picture"};

    void configure() {
        const auto named = format_named(format.value());
        if (!named || !named->on_tensor_cores() || named->terms > 1)
            throw std::invalid_argument("format is '" + format.value() +
                                        "'; the rule is one that tensor cores multiply, of one piece");
        format_ = *named;
        picture.set_type(halide_type(format_.storage)), picture.set_dimensions(rank + 3);
        static const std::array<std::string, 3> names{"width", "height", "depth"};
        for (const std::string &name : names) strides_.push_back(add_input<int>("stride_" + name));
        packed_ = add_output<Halide::Buffer<>>("packed", halide_type(format_.operand()), rank + 3);
    }

    void generate() {
        using namespace Halide;
        const int values = format_.values_of_16_bytes();
        const Expr cells[] = {element / values, y, z};
        Expr channel = plane * values + element % values, inside = Internal::const_true();
        std::vector<Expr> index;
        for (int d = 0; d < rank; d++) {
            const Expr stride = *strides_[d], min = picture.dim(d).min(), extent = picture.dim(d).extent();
            const Division phase = divide(channel, stride);
            channel = phase.quotient;
            const Expr at = cells[d] * stride + (stride - 1 - phase.rest);
            inside = inside && is_inside(at, min, extent);
            index.push_back(clamp(at, min, min + extent - 1));
        }
        const Expr channels = picture.dim(rank).extent();
        index.insert(index.end(), {clamp(channel, 0, channels - 1), group, image});
        const Expr value = picture(index);
        (*packed_)(element, y, z, plane, group, image) = operand_piece(
            format_, select(inside && channel < channels, value, Internal::make_zero(value.type())), 0, get_target());
    }

    // A thread has the same row of some cells: which phases and channels those are is more to find out than to move. On an
    // H200, where each found it anew, 52 MB took 40 us.
    void schedule() {
        using namespace Halide;
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        const int values = format_.values_of_16_bytes();
        const auto multiple = [&](const Expr &e) { return e / values * values; };
        picture.dim(0).set_stride(Expr());
        for (int d = rank; d < rank + 3; d++) picture.dim(d).set_min(0);
        for (int d = 0; d < rank + 3; d++) packed_->dim(d).set_min(0);
        packed_->dim(0).set_extent(multiple(packed_->dim(0).extent()));
        for (int d = 1; d < rank + 3; d++) packed_->dim(d).set_stride(multiple(packed_->dim(d).stride()));
        packed_->set_host_alignment(16);
        constexpr int threads = 64, own_cells = 4;
        Var value{"value"}, block{"block"}, thread{"thread"}, own{"own"};
        Func(*packed_).split(element, element, value, values).vectorize(value)
            .fuse(element, y, element).fuse(element, z, element)
            .split(element, block, element, threads * own_cells, TailStrategy::GuardWithIf)
            .split(element, own, thread, threads).fuse(group, image, image)
            .reorder(value, own, thread, plane, block, image).unroll(own).fuse(plane, block, block)
            .gpu_blocks(block, image).gpu_threads(thread).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::phase_packing, get_target());
        description.set("input", format_text(format_.storage));
        description.set("output", format_text(format_.storage));
        description.set("rank", rank);
    }

  private:
    static constexpr int rank = 3;  // fewer axes are those of one position

    ElementFormat format_;
    std::vector<Halide::GeneratorInput<int> *> strides_;
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;
    Halide::Var element{"element"}, y{"y"}, z{"z"}, plane{"plane"}, group{"group"}, image{"image"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackPhases, pack_phases)

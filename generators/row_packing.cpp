// Packing of pictures for implicit matrix products: neighbouring channels side by side, 16 bytes of them, which are a row
// of an operand of tensor cores, converted to what those multiply. Kernels then copy 16 bytes asynchronously, whatever
// the tap. Pictures come in any layout: their strides are the caller's.
#include <stdexcept>
#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/fast_division.h"
#include "generators/format_text.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

using namespace Halide;

/// What the two share. Rows that fill up the last chunk of a kernel are zero.
class RowPacking : public DescribedGenerator {
  public:
    GeneratorParam<std::string> format{"format", "tf32"};

    GeneratorInput<Buffer<>> picture{"picture"};

  protected:
    ElementFormat format_;
    GeneratorOutput<Buffer<>> *packed_ = nullptr;
    Var element{"element"}, plane{"plane"}, group{"group"}, image{"image"};

    int values() const { return format_.values_of_16_bytes(); }
    Expr row() const { return plane * values() + element % values(); }

    template <class Generator>
    void configure_format(Generator &generator, int dimensions) {
        const auto named = format_named(format.value());
        if (!named || !named->on_tensor_cores() || named->terms > 1)
            throw std::invalid_argument("format is '" + format.value() +
                                        "'; the rule is one that tensor cores multiply, of one piece");
        format_ = *named;
        picture.set_type(halide_type(format_.storage)), picture.set_dimensions(dimensions);
        packed_ = generator.template add_output<Buffer<>>("packed", halide_type(format_.operand()), dimensions);
    }

    Expr operand_or_zero(const Expr &exists, const Expr &value, const Target &target) const {
        return operand_piece(format_, select(exists, value, Internal::make_zero(value.type())), 0, target);
    }

    /// The picture's coordinates begin at 0 from dimension `from_zero` on.
    void declare(Pipeline pipeline, int from_zero) {
        add_passes_of_any_kernel(pipeline);
        const auto multiple = [&](const Expr &e) { return e / values() * values(); };
        const int dimensions = packed_->dimensions();
        picture.dim(0).set_stride(Expr());
        for (int d = from_zero; d < dimensions; d++) picture.dim(d).set_min(0);
        for (int d = 0; d < dimensions; d++) packed_->dim(d).set_min(0);
        packed_->dim(0).set_extent(multiple(packed_->dim(0).extent()));
        for (int d = 1; d < dimensions; d++) packed_->dim(d).set_stride(multiple(packed_->dim(d).stride()));
        packed_->set_host_alignment(16);
    }

    void describe_rows(Family family, const Target &target, KernelDescription &description) const {
        describe_helper(description, family, target);
        for (const char *tensor : {"input", "output"}) description.set(tensor, format_text(format_.storage));
    }
};

/// (position, channel, group, image) becomes (channel % values + values * position, channel / values, group, image).
class PackChannels : public Generator<PackChannels>, public RowPacking {
  public:
    void configure() { configure_format(*this, 4); }

    void generate() {
        const Expr channels = picture.dim(1).extent();
        const Expr value = picture(element / values(), min(row(), channels - 1), group, image);
        (*packed_)(element, plane, group, image) = operand_or_zero(row() < channels, value, get_target());
    }

    // Lanes count through positions, then through fours of channels: planes may be smaller than a warp.
    void schedule() {
        declare(get_pipeline(), 0);
        Var value{"value"}, block{"block"}, thread{"thread"};
        Func(*packed_).split(element, element, value, values()).reorder(value, element, plane, group, image).vectorize(value)
            .fuse(element, plane, element).split(element, block, thread, 256, TailStrategy::GuardWithIf)
            .gpu_blocks(block, group, image).gpu_threads(thread).never_partition_all();
    }

    void describe(KernelDescription &description) override { describe_rows(Family::channel_packing, get_target(), description); }
};

/// (x, y, z, channel, group, image) becomes (row % values + values * cell x, cell y, cell z, row / values, group, image),
/// where rows are phases of channels, phases running faster, x first: a product sums over them as over channels, so that the
/// input gradient of any stride is a convolution of stride 1. A cell has the positions from stride * cell on, the
/// last one as phase 0: kernels are turned round as well (WeightView::mirrored). What is outside of the picture is zero.
class PackPhases : public Generator<PackPhases>, public RowPacking {
  public:
    void configure() {
        for (const char *axis : {"width", "height", "depth"}) strides_.push_back(add_input<int>(std::string("stride_") + axis));
        configure_format(*this, rank + 3);
    }

    void generate() {
        const Expr cells[] = {element / values(), y, z};
        Expr channel = row(), inside = Internal::const_true();
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
        (*packed_)(element, y, z, plane, group, image) =
            operand_or_zero(inside && channel < channels, picture(index), get_target());
    }

    // A thread has the same row of some cells: which phases and channels those are is more to find out than to move. On an
    // H200, where each found it anew, 52 MB took 40 us.
    void schedule() {
        declare(get_pipeline(), rank);
        constexpr int threads = 64, own_cells = 4;
        Var value{"value"}, block{"block"}, thread{"thread"}, own{"own"};
        Func(*packed_).split(element, element, value, values()).vectorize(value)
            .fuse(element, y, element).fuse(element, z, element)
            .split(element, block, element, threads * own_cells, TailStrategy::GuardWithIf)
            .split(element, own, thread, threads).fuse(group, image, image)
            .reorder(value, own, thread, plane, block, image).unroll(own).fuse(plane, block, block)
            .gpu_blocks(block, image).gpu_threads(thread).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        describe_rows(Family::phase_packing, get_target(), description);
        description.set("rank", rank);
    }

  private:
    static constexpr int rank = 3;  // fewer axes are those of one position

    std::vector<GeneratorInput<int> *> strides_;
    Var y{"y"}, z{"z"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannels, pack_channels)
HALIDE_REGISTER_GENERATOR(conv_transpose::PackPhases, pack_phases)

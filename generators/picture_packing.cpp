// Packing of pictures for weight gradients that are matrix products (weight_gradient_product.h): the same
// position of four pictures side by side, then all channels, then the next position. The pictures of such a
// four are images, or strips of rows of them where there are too few images. What lies outside of a picture
// is zero, so that whoever reads them needs no test of the edges, and a kernel position is only another place
// to begin.
#include "Halide.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/kernel_description.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"

namespace conv_transpose {

/// packed(value, channel, place, part) of picture first_picture + 4 * four + value, at a position of it:
/// places count the `positions` of a picture, which are rows of `columns`, then fours. An image is cut into
/// 2^strip_bits strips, the first rows of which are strip_rows apart. Coordinates of the images begin at
/// their padding.
class PackPictures : public Halide::Generator<PackPictures>, public DescribedGenerator {
  public:
    GeneratorParam<int> parts{"parts", 0};  ///< 0: floats as they are, 1: tf32, 2: tf32x3
    Input<Halide::Buffer<float>> images{"images", 4};  // (x, y, channel, image)
    Input<int> positions{"positions"}, columns{"columns"}, first_picture{"first_picture"};
    Input<int> strip_bits{"strip_bits"}, strip_rows{"strip_rows"};
    Output<Halide::Buffer<float>> packed{"packed", 4};

    void generate() {
        using namespace Halide;
        const auto x = images.dim(0), y = images.dim(1);
        const Expr four = quotient(place, positions), position = place - four * positions;
        const Expr row = quotient(position, columns), column = position - row * columns;
        const Expr picture = first_picture + four * 4 + value, image = picture >> strip_bits;
        const Expr row_of_image = row + (picture - (image << strip_bits)) * strip_rows;
        const Expr inside = column >= x.min() && column <= x.max() && row_of_image >= y.min() &&
                            row_of_image <= y.max() && image < images.dim(3).extent();
        staged(value, channel, place) =
            select(inside, images(clamp(column, x.min(), x.max()), clamp(row_of_image, y.min(), y.max()),
                                  clamp(channel, 0, images.dim(2).extent() - 1),
                                  clamp(image, 0, images.dim(3).extent() - 1)),
                   0.f);
        const Expr float32 = staged(value, channel, place);
        packed(value, channel, place, part) = parts == 0 ? float32 : tf32_part(float32, part, get_target());
    }

    // Lanes read neighbouring positions, and write neighbouring channels. A thread has 16 loads under way.
    void schedule() {
        using namespace Halide;
        constexpr auto guard = TailStrategy::GuardWithIf;
        constexpr int lanes = 32, warps = 8;
        for (int d = 2; d < 4; d++) images.dim(d).set_min(0);
        packed.dim(0).set_bounds(0, 4).set_stride(1);
        packed.dim(1).set_min(0).set_stride(4);
        packed.dim(2).set_min(0).set_stride(4 * packed.dim(1).extent());
        packed.dim(3).set_bounds(0, planes()).set_stride(4 * packed.dim(1).extent() * packed.dim(2).extent());
        packed.set_host_alignment(16);
        Var place_block{"place_block"}, channel_block{"channel_block"}, lane{"lane"}, warp{"warp"}, round{"round"};
        Func(packed).bound(value, 0, 4).bound(part, 0, planes())
            .split(place, place_block, place, lanes, guard).split(channel, channel_block, lane, lanes, guard)
            .split(place, round, warp, warps)
            .reorder(value, part, round, lane, warp, place_block, channel_block)
            .vectorize(value).unroll(part).unroll(round)
            .gpu_blocks(place_block, channel_block).gpu_threads(lane, warp).never_partition_all();
        staged.compute_at(packed, place_block).store_in(MemoryType::GPUShared)
            .bound(value, 0, 4).bound_extent(channel, lanes).bound_extent(place, lanes)
            .reorder_storage(value, channel, place).align_storage(channel, lanes + 1)
            .split(channel, round, warp, warps).split(place, place, lane, lanes)
            .reorder(value, place, round, lane, warp).vectorize(value).unroll(round)
            .gpu_threads(lane, warp).never_partition_all();
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    void describe(KernelDescription &description) override {
        description.set_family(Family::picture_packing);
        description.set("role", "KernelRole::picture_packing");
        description.set("precision", parts == 0 ? "Precision::float32" : tensor_core_precision(parts));
        describe_target(get_target(), description);
    }

  private:
    Halide::Var value{"value"}, channel{"channel"}, place{"place"}, part{"part"};
    Halide::Func staged{"staged"};

    int planes() const { return parts == 2 ? 2 : 1; }

    // Without a sign, which a GPU's division handles apart.
    static Halide::Expr quotient(const Halide::Expr &number, const Halide::Expr &divisor) {
        return Halide::cast<int>(Halide::cast<uint32_t>(number) / Halide::cast<uint32_t>(divisor));
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackPictures, pack_pictures)

// Packing of pictures for weight gradients that are matrix products (weight_gradient_product.h): the same
// position of four pictures side by side, then all channels, then the next position. The pictures of such a
// four are images, or strips of planes of them where there are too few images. What lies outside of a picture
// is zero, so that whoever reads them needs no test of the edges, and a kernel position is only another place
// to begin. Which axes are x, y and z is the runtime's choice, and so is their order in memory.
#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// packed(value, channel, place, part) of picture first_picture + 4 * four + value, at a position of it:
/// places count the `positions` of a picture, which are planes of `rows` of `columns`, then fours. An image is cut into
/// 2^strip_bits strips, the first planes of which are strip_planes apart. Coordinates of the images begin at
/// their padding.
class PackPictures : public Halide::Generator<PackPictures>, public DescribedGenerator {
  public:
    GeneratorParam<int> parts{"parts", 0};  ///< 0: floats as they are, 1: tf32, 2: tf32x3
    /// Neighbouring lanes read neighbouring positions and write neighbouring channels, through shared memory. Otherwise they
    /// do both along the channels, as is best where these are innermost, or few.
    GeneratorParam<bool> turned{"turned", true};
    Input<Halide::Buffer<float>> images{"images", 5};  // (x, y, z, channel, image)
    Input<int> positions{"positions"}, columns{"columns"}, rows{"rows"}, first_picture{"first_picture"};
    Input<int> strip_bits{"strip_bits"}, strip_planes{"strip_planes"};
    Output<Halide::Buffer<float>> packed{"packed", 4};

    void generate() {
        using namespace Halide;
        const auto x = images.dim(0), y = images.dim(1), z = images.dim(2);
        const auto is_inside = [](const Expr &at, const auto &d) { return at >= d.min() && at <= d.max(); };
        const auto inside_of = [](const Expr &at, const auto &d) { return clamp(at, d.min(), d.max()); };
        const Expr four = unsigned_quotient(place, positions), position = place - four * positions;
        const Expr line = unsigned_quotient(position, columns), column = position - line * columns;
        const Expr plane = unsigned_quotient(line, rows), row = line - plane * rows;
        const Expr picture = first_picture + four * 4 + value, image = picture >> strip_bits;
        const Expr plane_of_image = plane + (picture - (image << strip_bits)) * strip_planes;
        const Expr inside = is_inside(column, x) && is_inside(row, y) && is_inside(plane_of_image, z) &&
                            image < images.dim(4).extent();
        staged(value, channel, place) =
            select(inside, images(inside_of(column, x), inside_of(row, y), inside_of(plane_of_image, z),
                                  clamp(channel, 0, images.dim(3).extent() - 1),
                                  clamp(image, 0, images.dim(4).extent() - 1)),
                   0.f);
        const Expr float32 = staged(value, channel, place);
        packed(value, channel, place, part) = parts == 0 ? float32 : tf32_part(float32, part, get_target());
    }

    void schedule() {
        using namespace Halide;
        images.dim(0).set_stride(Expr());
        for (int d = 3; d < 5; d++) images.dim(d).set_min(0);
        packed.dim(0).set_bounds(0, 4).set_stride(1);
        packed.dim(1).set_min(0).set_stride(4);
        packed.dim(2).set_min(0).set_stride(4 * packed.dim(1).extent());
        packed.dim(3).set_bounds(0, planes()).set_stride(4 * packed.dim(1).extent() * packed.dim(2).extent());
        packed.set_host_alignment(16);
        turned ? schedule_turned() : schedule_along_channels();
        add_passes_of_any_kernel(get_pipeline());
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::picture_packing, get_target());
        description.set("precision", parts == 0 ? "Precision::float32" : tensor_core_precision(parts));
        if (!turned) description.set("packs_along_channels", "true");
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    static constexpr int lanes = 32, warps = 8;
    Halide::Var value{"value"}, channel{"channel"}, place{"place"}, part{"part"};
    Halide::Func staged{"staged"};

    int planes() const { return parts == 2 ? 2 : 1; }

    // A thread has 16 loads under way.
    void schedule_turned() {
        using namespace Halide;
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
    }

    void schedule_along_channels() {
        using namespace Halide;
        Var block{"block"}, thread{"thread"};
        Func(packed).bound(value, 0, 4).bound(part, 0, planes()).fuse(channel, place, channel)
            .split(channel, block, thread, 256, guard)
            .reorder(value, part, thread, block).vectorize(value).unroll(part)
            .gpu_blocks(block).gpu_threads(thread).never_partition_all();
        staged.compute_at(packed, thread).store_in(MemoryType::Register).bound_extent(value, 4).bound_extent(channel, 1)
            .bound_extent(place, 1).vectorize(value).never_partition_all();
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackPictures, pack_pictures)

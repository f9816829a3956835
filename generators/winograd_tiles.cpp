// The first pass of Winograd's algorithm on GPUs (algorithm/winograd.h): tiles of a picture, or of weights, become six or eight
// points an axis. The same point of all tiles and channels is a matrix, so that what follows is a product of matrices for each point.
#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/winograd.h"
#include "compiler/passes/device_assertions.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// points(tile, channel, point across + points across * point down) of a tile of any image. Tiles are so many steps apart, from coordinate 0
/// on. What lies outside of the picture is zero, and so are channels and tiles beyond the last.
class WinogradTiles : public Halide::Generator<WinogradTiles>, public DescribedGenerator {
  public:
    GeneratorParam<int> points_h{"points_h", 6}, points_w{"points_w", 6};
    /// Tiles have so many taps, which are transformed as weights are; 0: as many inputs as points.
    GeneratorParam<int> taps_h{"taps_h", 0}, taps_w{"taps_w", 0};

    Input<Halide::Buffer<float>> picture{"picture", 4};  // x, y, channel, image
    Input<int> tiles_w{"tiles_width"}, step_w{"step_width"}, tiles_h{"tiles_height"}, step_h{"step_height"};
    Output<Halide::Buffer<float>> points{"points", 3};

    void generate() {
        using namespace Halide;
        using winograd::transformed;
        const auto x = picture.dim(0), y = picture.dim(1);
        const Expr line = unsigned_quotient(tile, tiles_w), image = unsigned_quotient(line, tiles_h);
        const Expr first_x = (tile - line * tiles_w) * step_w, first_y = (line - image * tiles_h) * step_h;
        const Expr exists = channel < picture.dim(2).extent() && image < picture.dim(3).extent();
        const auto is_inside = [](const Expr &at, const auto &d) { return at >= d.min() && at <= d.max(); };
        const auto inside_of = [](const Expr &at, const auto &d) { return clamp(at, d.min(), d.max()); };
        const auto existing = [&](const Expr &at, int d) { return clamp(at, 0, picture.dim(d).extent() - 1); };
        const Expr column = first_x + i, row = first_y + j;
        // All are read, so that none waits for another.
        element(i, j, tile, channel) =
            select(exists && is_inside(column, x) && is_inside(row, y),
                   picture(inside_of(column, x), inside_of(row, y), existing(channel, 2), existing(image, 3)), 0.f);
        across(i, j, tile, channel) =
            transformed(matrix(taps_w, points_w, points_h), i, [&](int k) { return element(k, j, tile, channel); });
        points(tile, channel, point) = transformed(matrix(taps_h, points_h, points_w), point / points_w,
                                                   [&](int k) { return across(point % points_w, k, tile, channel); });
    }

    // A thread has a tile, and stores each point beside its neighbours'.
    void schedule() {
        using namespace Halide;
        picture.dim(0).set_stride(Expr());
        for (int d = 2; d < 4; d++) picture.dim(d).set_min(0);
        points.dim(0).set_min(0), points.dim(1).set_min(0), points.dim(2).set_bounds(0, count());
        Var block{"block"}, thread{"thread"};
        Func(points).bound(point, 0, count()).split(tile, block, thread, 128, TailStrategy::GuardWithIf)
            .reorder(point, thread, block, channel).unroll(point)
            .gpu_blocks(block, channel).gpu_threads(thread).never_partition_all();
        for (Func *f : {&element, &across})
            f->compute_at(points, thread).store_in(MemoryType::Register)
                .bound_extent(tile, 1).bound_extent(channel, 1).unroll(i).unroll(j).never_partition_all();
        element.bound(i, 0, extent(taps_w, points_w)).bound(j, 0, extent(taps_h, points_h));
        across.bound(i, 0, points_w).bound(j, 0, extent(taps_h, points_h));
        get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::winograd_tiles, get_target());
        description.set("kernel", taps_h, taps_w);
        description.set("winograd_points", points_h, points_w);
    }

  private:
    Halide::Var tile{"tile"}, channel{"channel"}, point{"point"}, i{"i"}, j{"j"};
    Halide::Func element{"element"}, across{"across"};

    int count() const { return points_h * points_w.value(); }
    static winograd::Matrix matrix(int taps, int points, int beside) {
        const winograd::Transform transform = winograd::of_points(points, beside, taps > 0 ? taps : 3);
        return taps > 0 ? transform.weight : transform.input;
    }
    static int extent(int taps, int points) { return taps > 0 ? taps : points; }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WinogradTiles, winograd_tiles)

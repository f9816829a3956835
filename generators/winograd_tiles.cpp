// The first pass of Winograd's algorithm on GPUs (algorithm/winograd.h): tiles of a picture, or of weights, become points. The same
// point of all tiles and channels is a matrix, so that what follows is a product of matrices for each point.
#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/winograd.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// points(tile, (channel, phase), point across + points across * point down) of a tile of any image. Position i of a tile is
///     picture(tile * step + phase + stride * i).
/// What lies outside of the picture is zero, and so are channels and tiles beyond the last.
class WinogradTiles : public Halide::Generator<WinogradTiles>, public DescribedGenerator {
  public:
    GeneratorParam<int> points_h{"points_h", 6}, points_w{"points_w", 6};
    /// Tiles are so many taps, any number, which are transformed as weights are; else as many inputs as points.
    GeneratorParam<bool> of_taps{"of_taps", false};

    Input<Halide::Buffer<float>> picture{"picture", 4};  // x, y, channel, image
    Input<int> tiles_w{"tiles_width"}, step_w{"step_width"}, phases_w{"phases_width"}, stride_w{"stride_width"},
        taps_w{"taps_width"};
    Input<int> tiles_h{"tiles_height"}, step_h{"step_height"}, phases_h{"phases_height"}, stride_h{"stride_height"},
        taps_h{"taps_height"};
    Output<Halide::Buffer<float>> points{"points", 3};

    void generate() {
        using namespace Halide;
        const auto x = picture.dim(0), y = picture.dim(1);
        // Lanes are phases along a row, whose inputs are neighbours, of all tiles.
        const auto tile_of = [&](const Expr &lane) { return unsigned_quotient(lane, phases_w); };
        const auto phase_of = [&](const Expr &lane) { return lane - tile_of(lane) * phases_w; };
        const Expr tile = tile_of(lane), line = unsigned_quotient(tile, tiles_w), of_image = unsigned_quotient(line, tiles_h);
        const Expr of_channel = unsigned_quotient(row_of_phases, phases_h);
        const Expr at_x = (tile - line * tiles_w) * step_w + phase_of(lane) + i * stride_w;
        const Expr at_y = (line - of_image * tiles_h) * step_h + row_of_phases - of_channel * phases_h + j * stride_h;
        const auto existing = [&](const Expr &at, int d) { return clamp(at, 0, picture.dim(d).extent() - 1); };
        const auto inside_of = [](const Expr &at, const auto &d) { return clamp(at, d.min(), d.max()); };
        Expr exists = of_channel < picture.dim(2).extent() && of_image < picture.dim(3).extent() &&
                      is_inside(at_x, x.min(), x.extent()) && is_inside(at_y, y.min(), y.extent());
        if (of_taps) exists = exists && i < taps_w && j < taps_h;
        // All are read, so that none waits for another.
        element(i, j, lane, row_of_phases) =
            select(exists, picture(inside_of(at_x, x), inside_of(at_y, y), existing(of_channel, 2), existing(of_image, 3)), 0.f);
        across(i, j, lane, row_of_phases) =
            transformed(points_w, points_h, taps_w, i, [&](int k) { return element(k, j, lane, row_of_phases); });
        down(point, lane, row_of_phases) = transformed(points_h, points_w, taps_h, point / points_w,
                                                       [&](int k) { return across(point % points_w, k, lane, row_of_phases); });
        const Expr lanes = points.dim(0).extent() * phases_w, rows = points.dim(1).extent();
        stored =
            RDom({{0, count()}, {0, (lanes + threads - 1) / threads * threads}, {0, (rows + phases_w - 1) / phases_w}},
                 "stored");
        const Expr row = stored.z * phases_w + phase_of(stored.y);
        stored.where(tile_of(stored.y) < points.dim(0).extent() && row < rows);
        points(t, r, point) = undef<float>();
        points(unsafe_promise_clamped(tile_of(stored.y), 0, points.dim(0).max()),
               unsafe_promise_clamped(row, 0, rows - 1), stored.x) = down(stored.x, stored.y, stored.z);
    }

    // A thread has a tile of a phase, and stores each point beside its neighbours'.
    void schedule() {
        using namespace Halide;
        picture.dim(0).set_stride(Expr());
        for (int d = 2; d < 4; d++) picture.dim(d).set_min(0);
        points.dim(0).set_min(0), points.dim(1).set_min(0), points.dim(2).set_bounds(0, count());
        Func(points).gpu_single_thread();  // defines nothing, but must not seem to be on the host
        RVar block{"block"}, thread{"thread"};
        Func(points).update().allow_race_conditions().split(stored.y, block, thread, threads)
            .reorder({stored.x, thread, block, stored.z}).unroll(stored.x)
            .gpu_blocks(block, stored.z).gpu_threads(thread).never_partition_all().specialize(phases_w == 1);
        for (Func *f : {&element, &across, &down})
            f->compute_at(points, thread).store_in(MemoryType::Register)
                .bound_extent(lane, 1).bound_extent(row_of_phases, 1).never_partition_all();
        element.bound(i, 0, extent(points_w)).bound(j, 0, extent(points_h)).unroll(i).unroll(j);
        across.bound(i, 0, points_w).bound(j, 0, extent(points_h)).unroll(i).unroll(j);
        down.bound(point, 0, count()).unroll(point);
        add_passes_of_any_kernel(get_pipeline());
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::winograd_tiles, get_target(), of_taps ? "winograd_taps" : "winograd_tiles");
        description.set("winograd_points", points_h, points_w);
    }

  private:
    static constexpr int threads = 128;
    Halide::RDom stored;
    Halide::Var t{"tile"}, r{"row"}, lane{"lane"}, row_of_phases{"row_of_phases"}, point{"point"}, i{"i"}, j{"j"};
    Halide::Func element{"element"}, across{"across"}, down{"down"};

    int count() const { return points_h * points_w.value(); }
    int extent(int points) const { return of_taps ? winograd::most_taps(points) : points; }

    template <class Element>
    Halide::Expr transformed(int points, int beside, const Halide::Expr &taps, const Halide::Expr &point, Element element) const {
        const winograd::Transform transform = winograd::of_points(points, beside, winograd::most_taps(points));
        return of_taps ? winograd::transformed_taps(transform, taps, point, element)
                       : winograd::transformed(transform.input, point, element);
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WinogradTiles, winograd_tiles)

// Winograd's algorithm (winograd.h) for strided problems on CPUs: with o + padding = stride * cell + phase and kernel position =
// stride * tap + phase, an output sees the inputs cell - tap, whatever its phase is. So a transposed convolution is one of stride 1
// over cells, whose channels are the phases of all channels, and a tile of inputs is transformed once for all of them.
//
// The input gradient turns this round: it is the sum over phases of correlations of stride 1, each of the output gradient's
// positions with one remainder, a plane. So planes are summed like channels, and results are transformed back once for all of them.
//
// Cells are numbered as flat_places.h tells, rows and what lies between rows being multiples of a tile: so tiles are neighbours
// along a row of tiles, and from the last of a row to the first of the next. Phases may lack their last tap, for which a point of
// the transform is zero: its product is left out.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_WINOGRAD_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_WINOGRAD_H

#include <functional>

#include "Halide.h"
#include "algorithm/flat_places.h"
#include "algorithm/flat_staging.h"
#include "algorithm/winograd_funcs.h"

namespace conv_transpose::flat_gemm {

/// This is an axis of the forward operation in such cells, of as many taps as the transform has.
inline FlatAxis winograd_axis(const winograd::Transform &transform, const AxisArguments &a, const Expr &input_min,
                              const Expr &input_extent, const Expr &outputs) {
    return {.cells = rounded_up(outputs + a.padding_phase, a.stride), .phases = a.stride, .stride = a.stride,
            .low = 1 - transform.taps(), .high = 0, .read_stride = 1, .planes = 1, .remainder_step = 0, .min = input_min,
            .extent = input_extent, .skipped = a.padding_phase, .tile = transform.outputs()};
}

/// This is an axis of the input gradient: a plane for each remainder of the output gradient's positions is correlated with a phase
/// of the kernel, as many taps as the transform has.
inline FlatAxis winograd_gradient_axis(const winograd::Transform &transform, const Expr &kernel, const Expr &stride,
                                       const Expr &output_min, const Expr &output_extent, const Expr &inputs) {
    FlatAxis axis = strided_axis(kernel, stride, 1, output_min, output_extent, inputs, false);
    axis.high = transform.taps() - 1, axis.tile = transform.outputs();
    return axis;
}

/// What is staged of a channel is transformed, down the columns and along rows.
inline void define_transforms(WinogradFuncs &f, const Places &places) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const winograd::Transform &across = f.across, &down = f.down;
    const int vector = f.size.vector;
    Func seen = f.staged;
    if (!down.is_identity()) {
        const Expr rows = places.tile_rows(v.tile), pitch = places.pitch();
        const Expr most_rows = places.transformed_rows(places.most_register_tiles());
        f.down_rows = RDom({{0, vector}, {0, rounded_up(pitch, vector)}, {0, most_rows}}, "down_rows");
        RDom &r = f.down_rows;
        r.where(r[2] < places.transformed_rows(places.register_tiles(v.tile)));
        const Expr at = r[1] * vector + r[0];
        f.transformed_down(v.place, f.point_y, v.summed, v.plane, v.segment, v.tile, v.group) = undef<float>();
        const Expr place_down = promised(r[2] * pitch + at, places.transformed_places());
        f.transformed_down(place_down, f.point_y, v.summed, v.plane, v.segment, v.tile, v.group) =
            winograd::transformed(down.input, f.point_y, [&](int i) -> Expr {
                const Expr place = (min(r[2], rows - 1) * down.outputs() + i) * pitch + at;
                return f.staged(promised(place, places.window()), v.summed, v.plane, v.segment, v.tile, v.group);
            });
    }
    f.transformed(v.place, v.summed, v.plane, v.register_tile, f.point_x, f.point_y, v.segment, v.tile, v.group) =
        winograd::transformed(across.input, f.point_x, [&](int i) -> Expr {
            const Expr cell = (v.register_tile * f.size.positions + v.place) * across.outputs() + i;
            if (down.is_identity()) return f.staged(cell, v.summed, v.plane, v.segment, v.tile, v.group);
            return f.transformed_down(cell, f.point_y, v.summed, v.plane, v.segment, v.tile, v.group);
        });
}

/// So many products of a tile, of phases of channels, are computed at once.
constexpr int most_chunk = 192;

/// Kernel size and stride of an axis.
struct WinogradTaps {
    Expr kernel, stride;
};

/// Point by point a matrix product; its results are transformed back. `weight` is (lane, summed, point and phase of x, of y,
/// panel + panels * group). Phases are of results, or planes of what is summed.
template <class Tensor>
void define_products(WinogradFuncs &f, const Places &places, const Tensor &weight, const std::vector<WinogradTaps> &taps,
                     const Expr &summed, const Expr &channels,
                     const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const winograd::Transform &across = f.across, &down = f.down;
    const FlatAxis &x = places.axes()[0], &y = places.axes()[1];
    f.summed = RDom({{0, summed}, {0, x.planes}, {0, y.planes}}, "summed_channels");
    const Expr plane = f.summed[1] + x.planes * f.summed[2];
    const Expr phase_x = v.phase % x.phases + f.summed[1], phase_y = v.phase / x.phases + f.summed[2];
    // The point at 0 has what the last tap gives alone.
    const auto has_product = [](const winograd::Transform &t, const Var &point, const WinogradTaps &a, const Expr &phase) -> Expr {
        return t.is_identity() ? Internal::const_true() : point != 0 || (t.taps() - 1) * a.stride + phase < a.kernel;
    };
    const Expr panels = rounded_up(channels, f.size.channels);
    f.summed.where(v.panel < panels && has_product(across, f.point_x, taps[0], phase_x) &&
                   has_product(down, f.point_y, taps[1], phase_y));
    const Expr panel = v.panel + panels * v.group;
    f.summed_extent = summed, f.most_register_tiles = places.most_register_tiles();
    f.chunk_panels = share_of(places.block_panels(), max(most_chunk / (f.size.channels * x.phases * y.phases), 1));
    f.product(v.place, v.lane, v.register_tile, f.point_x, f.point_y, v.panel, v.phase, v.segment, v.tile, v.group) = 0.f;
    f.product(v.place, v.lane, v.register_tile, f.point_x, f.point_y, v.panel, v.phase, v.segment, v.tile, v.group) +=
        f.transformed(v.place, f.summed[0], plane, v.register_tile, f.point_x, f.point_y, v.segment, v.tile, v.group) *
        weight(v.lane, f.summed[0], promised(f.point_x + across.points() * phase_x, weight.dim(2).extent()),
               promised(f.point_y + down.points() * phase_y, weight.dim(3).extent()), promised(panel, weight.dim(4).extent()));
    f.products(v.place, v.lane, v.register_tile, f.point_x, f.point_y, v.panel, v.phase, v.segment, v.tile, v.group) =
        f.product(v.place, v.lane, v.register_tile, f.point_x, f.point_y, v.panel, v.phase, v.segment, v.tile, v.group);

    const int vector = f.size.vector, outputs = across.outputs();
    f.restored = RDom({{0, vector}, {0, outputs}, {0, down.outputs()}, {0, f.size.positions / vector},
                       {0, places.most_register_tiles()}}, "restored");
    RDom &r = f.restored;
    r.where(r[4] < places.register_tiles(v.tile));
    const Expr tile = r[3] * vector + r[0];
    const Expr first = initial(promised(min(v.panel * f.size.channels + v.lane, channels - 1), channels), v.group);
    f.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) = undef<float>();
    const Expr cell = (r[4] * f.size.positions + tile) * outputs + r[1];
    const Expr place = promised(r[2] * places.places_of_tile_rows() + cell, places.places(v.tile)),
               register_tile = promised(r[4], places.register_tiles(v.tile));
    f.result(place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
        winograd::transformed(down.output, r[2], [&](int j) -> Expr {
            return winograd::transformed(across.output, r[1], [&](int i) -> Expr {
                return f.products(tile, v.lane, register_tile, i, j, v.panel, v.phase, v.segment, v.tile, v.group);
            });
        }) + first;
}

}  // namespace conv_transpose::flat_gemm

#endif

// Which problems kernels take whose blocks stage what they see: see staged_columns.h.
#include "choice/staged_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "problem/counting.h"
#include "problem/layouts.h"

namespace conv_transpose {

namespace {

const std::string too_large = "what a block would stage is more than it has room for",
                  few_products = "what is staged has too few products", more_taps = "a column has more taps than its window";

// Channels side by side lie too far apart for the others: weight gradients in channels_last took 1.5 to 3.3 times as long as by
// vectors of groups (four layers, H200, 2026-11-24).
std::string layout_rejection(const StagedShape &shape, const Computation &c) {
    const bool by_planes = shape.planes > 1;
    if (channels_innermost(c.read_format) == by_planes && channels_innermost(c.written_format) == by_planes) return {};
    return by_planes ? "its channels are not innermost" : "its channels are innermost";
}

StagedTile<int64_t> forward_tile(const StagedShape &shape, const Problem &p) {
    const auto axis = [](const Axis &a) {
        return StagedOutputAxis<int64_t>{std::max<int64_t>(a.output(), 1), a.kernel, a.stride, a.dilation, a.padding % a.stride};
    };
    return {shape, axis(p.width()), axis(p.height()), axis(p.depth()), std::max<int64_t>(p.batch * p.groups, 1)};
}

bool is_small(const StagedShape &shape, const Problem &p) {
    const auto has_room = [&](const Axis &a) { return std::max({a.kernel, a.stride, a.dilation}) <= shape.elements; };
    return std::all_of(p.axes.begin(), p.axes.end(), has_room) && double(taps(p)) <= shape.elements;
}

// Products of an image and group to each element that is staged for them, by how full windows of taps are.
template <class Tile>
double products_an_element(const Tile &tile, double staged, double taps_of_windows) {
    const auto &[x, y, z] = std::tie(tile.x_axis, tile.y_axis, tile.z_axis);
    const double positions = double(x.extent) * double(y.extent) * double(z.extent);
    const double taps = double(x.kernel) * double(y.kernel) * double(z.kernel);
    return positions * taps / staged * (double(y.kernel) / taps_of_windows);
}

// Lanes go through the taps of the position that has most.
double full_lanes(const StagedOutputAxis<int64_t> &x) { return double(x.kernel) / double(x.taps() * x.stride); }

// In these units kernels for any attributes (schedules/cuda_gather.h) took as long at 2 to 4.1, up to 5.7 times as long from 4.7
// on, and less below 2: 46 layers of float16 and float32 (H200, 2026-11-23).
constexpr double worth_staging = 4.1;
// Forward with groups side by side: kernels that read vectors of them take 0.88 to 2.7 times as long (ten layers, H200,
// 2026-11-24), but 0.3 to 0.7 times where a column has fewer taps.
constexpr double worth_staging_groups = 8;
constexpr int64_t few_taps = 3;

double forward_products(const StagedShape &shape, const StagedTile<int64_t> &tile) {
    const StagedOutputAxis<int64_t> &y = tile.y_axis;
    const double staged = double(tile.tiles()) * double(tile.columns()) * double(tile.piece) * double(y.dilation);
    const double strides = double(tile.x_axis.stride * y.stride * tile.z_axis.stride);
    const double taps_of_windows = double(tile.windows * shape.window * y.stride);
    return products_an_element(tile, staged / double(tile.all_planes) * strides, taps_of_windows) * full_lanes(tile.x_axis);
}

std::string forward_rejection(const StagedShape &shape, const Computation &c) {
    const Problem &p = c.problem;
    const auto all_live = [](const Axis &a) { return std::gcd(a.stride, a.dilation) == 1; };
    if (!std::all_of(p.axes.begin(), p.axes.end(), all_live)) return "its stride and dilation have a common divisor";
    const bool by_planes = shape.planes > 1;
    const StagedTile<int64_t> tile = forward_tile(shape, p);
    if (!tile.fits()) return too_large;
    const StagedOutputAxis<int64_t> &y = tile.y_axis;
    if (by_planes && y.taps() < few_taps) return "positions see less than three taps of a column";
    if (tile.windows > 1 && shape.has_one_window()) return more_taps;
    if (forward_products(shape, tile) < (by_planes ? worth_staging_groups : worth_staging)) return few_products;
    return {};
}

// Where channels are innermost, kernels that read vectors of groups are faster. Of short rows most threads have no position.
std::string input_gradient_rejection(const StagedShape &shape, const Computation &c) {
    constexpr int64_t short_row = 64;
    if (channels_innermost(c.read_format) || channels_innermost(c.written_format)) return "its channels are innermost";
    if (c.problem.width().input < short_row) return "its rows leave most threads idle";
    return staged_row(shape, c.problem).fits() ? std::string() : too_large;
}

std::string weight_gradient_rejection(const StagedShape &shape, const Problem &p) {
    const StagedWeightTile<int64_t> tile = staged_weight_tile(shape, p);
    if (!tile.fits()) return too_large;
    if (tile.windows > 1 && shape.has_one_window()) return more_taps;
    const StagedAxis<int64_t> &y = tile.y_axis;
    // Longer runs make addresses once for more products: of 14 to 128 rows times are 0.86 to 0.93 of those with runs of eight, of 7
    // rows twice those (H200, 2026-11-23).
    constexpr double longer = 1.2;
    if (double(y.runs(shape.parts) * shape.parts) > longer * double(y.runs(StagedShape::run) * StagedShape::run))
        return "its runs of positions are longer than columns";
    const double seen = double(tile.box_x * tile.box_z * tile.piece) * double(y.dilation * tile.first_taps);
    const double staged = seen + double(tile.x * tile.z * tile.input_piece * y.dilation);
    const double taps_of_windows = double(tile.windows * shape.window * tile.first_taps);
    if (products_an_element(tile, staged * double(tile.tiles() * tile.task_tiles()), taps_of_windows) < worth_staging)
        return few_products;
    return {};
}

}  // namespace

StagedWeightTile<int64_t> staged_weight_tile(const StagedShape &shape, const Problem &p) {
    const auto axis = [](const Axis &a) {
        return StagedAxis<int64_t>{std::max<int64_t>(a.input, 1), a.kernel, a.stride, a.dilation};
    };
    return {shape, axis(p.width()), axis(p.height()), axis(p.depth())};
}

StagedRow<int64_t> staged_row(const StagedShape &shape, const Problem &p) {
    const Axis &x = p.width();
    return {shape, {std::max<int64_t>(x.input, 1), x.kernel, x.stride, x.dilation}};
}

bool staging_pays(const KernelTraits &k, const Computation &c) {
    if (!stages_columns(k) || k.operation != Operation::forward) return true;
    // Columns as high as kernels demand whose threads have sixteen neighbours of one: k3 at stride 1 took 1.3 to 1.5 times as long
    // as by these, at 6.5, and k4 0.69 to 1.04 times, at 8.9 to 11.3 (98 layers, H200, 2026-11-27).
    constexpr double of_high_columns = 8;
    constexpr int64_t high_column = 24;
    const StagedShape &shape = k.staged_shape;
    const StagedTile<int64_t> tile = forward_tile(shape, c.problem);
    const double products = forward_products(shape, tile);
    if (shape.planes == 1) {
        const bool is_high = tile.y_axis.extent >= high_column;
        return products >= (is_high ? of_high_columns : worth_staging);
    }
    // Most threads of a block have no position where it is full of few groups' columns: 40 to 64 of 256 took 1.5 to 2.8 times as
    // long as vectors of groups, at 12 to 18 (the same layers). Beside vectors with windows 0.93 to 1.03 times as long at 12 to 23,
    // 2.1 times at 10 (four layers of float16, H200, 2026-11-27).
    constexpr double beside_windows = 12;
    const double busy = double(tile.positions() * tile.planes) / double(shape.threads);
    return products * std::sqrt(busy) >= beside_windows;
}

std::string staged_columns_rejection(const KernelTraits &k, const Computation &c) {
    if (!is_small(k.staged_shape, c.problem)) return too_large;
    if (k.operation == Operation::input_gradient) return input_gradient_rejection(k.staged_shape, c);
    if (std::string reason = layout_rejection(k.staged_shape, c); !reason.empty()) return reason;
    if (k.operation == Operation::weight_gradient) return weight_gradient_rejection(k.staged_shape, c.problem);
    return forward_rejection(k.staged_shape, c);
}

}  // namespace conv_transpose

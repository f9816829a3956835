// Tiles and matrices of Winograd's algorithm: see winograd_sizes.h.
#include "choice/winograd_sizes.h"

#include <algorithm>
#include <cmath>

#include "algorithm/machine_facts.h"
#include "choice/launch_limits.h"
#include "choice/registry.h"
#include "choice/waves.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// The matrices of a launch's tiles have at most so many, so that the workspace stays small.
int64_t most_elements() { return std::min(int64_t{64} << 20, max_elements_32bit()); }

bool is_forward(const KernelTraits &k) { return k.operation == Operation::forward; }

double elements_of_launch(const WinogradSizes &s) {
    return double(s.points) * (double(s.left_rows) * double(s.terms) + double(s.right_rows) * double(s.terms) +
                               double(s.left_rows) * double(s.right_rows));
}

// An axis of so many points gives this many outputs; none where it is not transformed so, as for one output of as many taps as
// points. Eight have larger errors than six: for taps that leave those few.
int64_t outputs_of(int64_t points, int64_t taps) {
    const bool fits = points == 1 ? taps == 1 : taps > (points > 6 ? 4 : 1) && taps < points;
    return fits ? points + 1 - taps : 0;
}

// Eight points leave few bits to the other axis, whose taps are few, and to sums, which are over channels: those over positions
// are longer. Otherwise sums of small integers are rounded.
bool may_have_eight_points(const KernelTraits &k, const Problem &cells) { return is_forward(k) && cells.height().kernel <= 3; }

// The points of the build's kernels that take least products; none where they are for other kernels.
Size2 best_points(const KernelTraits &k, const Problem &cells) {
    Size2 best;
    double least = 0;
    for (const KernelTraits &helper : registry()) {
        const Size2 points = helper.winograd_points;
        if (helper.role != KernelRole::winograd_tiles || helper.device != k.device) continue;
        if (points.width > 6 && !may_have_eight_points(k, cells)) continue;
        const Size2 outputs{outputs_of(points.height, cells.height().kernel), outputs_of(points.width, cells.width().kernel)};
        if (std::min(outputs.height, outputs.width) <= 0) continue;
        const double products = double(area(points)) / double(area(outputs));
        if (area(best) == 0 || products < least) best = points, least = products;
    }
    return best;
}

}  // namespace

Problem over_cells(const Problem &p) {
    Problem cells = p;
    for (Axis &axis : cells.axes) {
        const Axis given = axis;
        cells.out_channels *= given.stride;
        axis.kernel = ceil_divide(given.kernel, given.stride), axis.stride = 1;
        axis.padding = given.padding / given.stride;
        axis.output_padding = 0;
        axis.output_padding = (given.output() - 1 + given.padding) / given.stride + 1 - axis.padding - axis.output();
    }
    return cells;
}

WinogradSizes::WinogradSizes(const KernelTraits &k, const Problem &p) : kernel_(&k) {
    const Problem cells = over_cells(p);
    in_channels_ = cells.in_channels, out_channels_ = cells.out_channels;
    points_of_axes = best_points(k, cells);
    points = area(points_of_axes);
    if (points == 0) throw Unsupported("no kernel of this build transforms tiles for kernels of that size");
    const Size2 kernel = plane_of(cells, &Axis::kernel);
    step = {outputs_of(points_of_axes.height, kernel.height), outputs_of(points_of_axes.width, kernel.width)};
    taps = is_forward(k) ? kernel : step;
    outputs = is_forward(k) ? step : kernel;
    const Size2 positions = is_forward(k) ? output_plane(cells) : plane_of(cells, &Axis::input);
    tiles = {ceil_divide(positions.height, step.height), ceil_divide(positions.width, step.width)};
    set_images(1);
    const double of_image = double(points * area(tiles)) * double(is_forward(k) ? terms + right_rows : left_rows + right_rows);
    const double most = std::floor(std::max(double(most_elements()) / std::max(of_image, 1.0), 1.0));
    const int64_t launches = static_cast<int64_t>(std::ceil(double(p.batch) / most));
    set_images(ceil_divide(p.batch, launches));
}

WinogradSizes WinogradSizes::of_images(int64_t count) const {
    WinogradSizes sizes = *this;
    sizes.set_images(count);
    return sizes;
}

void WinogradSizes::set_images(int64_t count) {
    images = count;
    const int64_t all = tiles.height * tiles.width * count, left_tile = kernel_->block_positions.width,
                  chunk = kernel_->weight_in_channel_multiple;
    left_rows = round_up(is_forward(*kernel_) ? all : out_channels_, left_tile);
    right_rows = round_up(is_forward(*kernel_) ? out_channels_ : in_channels_, kernel_->block_channels);
    terms = round_up(is_forward(*kernel_) ? in_channels_ : all, chunk);
}

std::string winograd_rejection(const KernelTraits &k, const Problem &p) {
    if (p.groups != 1) return "there are groups";
    if (p.batch == 0) return "batch is 0";
    const double phases = double(p.height().stride) * double(p.width().stride);
    if (std::max(double(p.in_channels), double(p.out_channels) * phases) > double(max_grid() - k.block_positions.width))
        return "there are more than 65408 channels, with phases";
    const Problem cells = over_cells(p);
    if (taps(cells) == 1) return "each output sees one tap";
    if (best_points(k, cells) == Size2{}) return "no kernel of this build transforms tiles for kernels of that size";
    const WinogradSizes sizes(k, p);
    if (elements_of_launch(sizes) > double(max_elements_32bit()))
        return "its tiles take too much memory";
    const double image = std::max(double(p.in_channels) * double(input_positions(p)),
                                  double(p.out_channels) * double(output_positions(p)));
    if (image * double(sizes.images) > double(max_elements_32bit())) return "a launch would span more than 2^31 - 1 elements";
    return {};
}

// Transforms wait for memory; of products, blocks that are left over count as in product_time.cpp. Products are written, and read
// where the second-level cache holds them no more. Outputs by phases are stored apart, and so are tiles that are read by phases.
// (Fitted to 270 times of 97 layers, H200, 2026-11-23: 9 % of a time at the mean square, for which there is a margin.)
double winograd_time(const KernelTraits &k, const Computation &c, const Machine &machine) {
    using machines::H200;
    constexpr double launch = 2.5e-6, block_overhead = 2e-6, alone = 0.1, product_passes = 1.5, margin = 1.05;
    const Problem &p = c.problem, &given = c.by_phases ? *c.by_phases : p;
    const bool writes_phases = is_forward(k) && product_of_axes(p, [](const Axis &a) { return a.stride; }) > 1;
    const double output_passes = writes_phases ? 3 : 1,
                 tile_passes = is_forward(k) && !c.by_phases ? 1 : std::max(double(given.width().stride) / 2, 1.0);
    const WinogradSizes sizes(k, p);
    const double launches = double(ceil_divide(p.batch, sizes.images));
    const double blocks = double(sizes.points) * double(sizes.left_rows / k.block_positions.width) *
                          double(sizes.right_rows / k.block_channels);
    const Waves whole(blocks, k, machine);
    const double waves =
        whole.full + (whole.rest > 0 ? partial_wave(most_blocks(whole.rest, machine), alone, k) : 0);
    const double wave_flop = 2.0 * H200::multiprocessors * double(k.blocks_per_multiprocessor) *
                              double(k.block_positions.width) * double(k.block_channels) * double(sizes.terms);
    const double product = waves * (wave_flop / (k.h200_tflops * 1e12) + block_overhead);
    const double passed =
        double(p.input_elements()) + double(p.weight_elements()) + output_passes * double(p.output_elements()) +
        launches * (tile_passes * double(sizes.left_elements()) + product_passes * double(sizes.product_elements())) +
        (is_forward(k) ? 1 : launches) * double(sizes.right_elements());
    return margin * (launches * product + sizeof(float) * passed / H200::memory_bytes_per_second / share_of_h200(machine) +
                     (3 * launches + 1) * launch);
}

}  // namespace conv_transpose

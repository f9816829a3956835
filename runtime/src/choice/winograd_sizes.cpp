// Tiles and matrices of Winograd's algorithm: see winograd_sizes.h.
#include "choice/winograd_sizes.h"

#include <algorithm>
#include <cmath>

#include "algorithm/machine_facts.h"
#include "choice/launch_limits.h"
#include "choice/registry.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// The matrices of a launch have at most so many, so that the workspace stays small.
int64_t most_elements() { return std::min(int64_t{64} << 20, max_elements_32bit()); }

int64_t points_of(const Axis &a) { return a.kernel == 5 ? 8 : 6; }

bool is_forward(const KernelTraits &k) { return k.operation == Operation::forward; }

double elements_of_launch(const WinogradSizes &s) {
    return double(s.points) * (double(s.left_rows) * double(s.terms) + double(s.right_rows) * double(s.terms) +
                               double(s.left_rows) * double(s.right_rows));
}

}  // namespace

WinogradSizes::WinogradSizes(const KernelTraits &k, const Problem &p) : kernel_(&k), problem_(&p) {
    const auto of_axes = [&](auto of_axis) { return Size2{of_axis(p.height()), of_axis(p.width())}; };
    points_of_axes = of_axes(points_of);
    points = area(points_of_axes);
    step = of_axes([](const Axis &a) { return points_of(a) + 1 - a.kernel; });
    taps = is_forward(k) ? of_axes([](const Axis &a) { return a.kernel; }) : step;
    tiles = of_axes([&](const Axis &a) {
        return ceil_divide(is_forward(k) ? a.output() : a.input, points_of(a) + 1 - a.kernel);
    });
    if (is_forward(k)) {
        set_images(1);
        const double of_image = double(points * area(tiles)) * double(terms + right_rows);
        const double most = double(most_elements()) / std::max(of_image, 1.0);
        set_images(std::max<int64_t>(most < double(p.batch) ? static_cast<int64_t>(most) : p.batch, 1));
    } else {
        set_images(p.batch);  // the sum is over all
    }
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
    const int64_t in = problem_->in_channels, out = problem_->out_channels;
    left_rows = round_up(is_forward(*kernel_) ? all : out, left_tile);
    right_rows = round_up(is_forward(*kernel_) ? out : in, kernel_->block_channels);
    terms = round_up(is_forward(*kernel_) ? in : all, chunk);
}

std::string winograd_rejection(const KernelTraits &k, const Problem &p) {
    if (p.groups != 1) return "there are groups";
    if (p.batch == 0) return "batch is 0";
    if (round_up(std::max(p.in_channels, p.out_channels), k.block_positions.width) > max_grid())
        return "there are more than 65408 channels";
    const Size2 kernel = plane_of(p, &Axis::kernel);
    if (std::max(kernel.height, kernel.width) > 5) return "the kernel is larger than tiles are made for";
    const WinogradSizes sizes(k, p);
    const auto has = [&](KernelRole role, Size2 taps) {
        return any_kernel([&](const KernelTraits &helper) {
            return helper.role == role && helper.device == k.device && helper.kernel == taps &&
                   helper.winograd_points == sizes.points_of_axes;
        });
    };
    if (!has(KernelRole::winograd_tiles, sizes.taps) || !has(KernelRole::winograd_outputs, sizes.taps))
        return "no kernel of this build transforms tiles for kernels of that size";
    if (elements_of_launch(sizes) > double(is_forward(k) ? max_elements_32bit() : most_elements()))
        return "its tiles take too much memory";
    const double image = std::max(double(p.in_channels) * double(input_positions(p)),
                                  double(p.out_channels) * double(output_positions(p)));
    if (image * double(sizes.images) > double(max_elements_32bit())) return "a launch would span more than 2^31 - 1 elements";
    return {};
}

// Transforms wait for memory; of products, blocks that are left over count as in product_time.cpp.
double winograd_time(const KernelTraits &k, const Problem &p, const Machine &machine) {
    using machines::H200;
    constexpr double launch = 2.5e-6, block_overhead = 2e-6;
    const WinogradSizes sizes(k, p);
    const double launches = double(ceil_divide(p.batch, sizes.images));
    const int64_t multiprocessors = std::max(machine.multiprocessors, 1);
    const double blocks = double(sizes.points) * double(sizes.left_rows / k.block_positions.width) *
                          double(sizes.right_rows / k.block_channels);
    const double slots = double(multiprocessors * k.blocks_per_multiprocessor);
    double rounds = std::floor(blocks / slots);
    if (const double rest = blocks - rounds * slots; rest > 0)
        rounds += 0.4 + 0.6 * std::ceil(rest / double(multiprocessors)) / double(k.blocks_per_multiprocessor);
    const double round_flop = 2.0 * H200::multiprocessors * double(k.blocks_per_multiprocessor) *
                              double(k.block_positions.width) * double(k.block_channels) * double(sizes.terms);
    const double product = rounds * (round_flop / (k.h200_tflops * 1e12) + block_overhead);
    const double passed = double(p.input_elements()) + double(p.output_elements()) + double(p.weight_elements()) +
                          launches * (double(sizes.left_elements()) + double(sizes.product_elements())) +
                          double(sizes.right_elements());
    const double size = double(multiprocessors) / H200::multiprocessors;
    return launches * product + sizeof(float) * passed / H200::memory_bytes_per_second / size + (3 * launches + 1) * launch;
}

}  // namespace conv_transpose

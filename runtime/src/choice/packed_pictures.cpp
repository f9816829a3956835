// Sizes of packed pictures: see packed_pictures.h.
#include "choice/packed_pictures.h"

#include <algorithm>

#include "choice/launch_ranges.h"

namespace conv_transpose {

namespace {

int64_t parts(const KernelTraits &kernel) {
    return kernel.precision == Precision::tf32x3 ? 2 : 1;
}

// More than an int64_t holds are many in any case.
double floats(int64_t channels, const Extent &size) { return double(channels) * size.x * size.y * size.z; }

// The others keep their order, innermost first, so that neighbours stay neighbours.
std::array<int, 3> order_of_axes(const Problem &p) {
    constexpr int64_t enough = 4;
    const auto first = std::find_if(p.axes.begin(), p.axes.end(), [](const Axis &a) { return a.input >= enough; });
    const auto longest = std::max_element(p.axes.begin(), p.axes.end(),
                                          [](const Axis &a, const Axis &b) { return a.input < b.input; });
    const int z = int((first == p.axes.end() ? longest : first) - p.axes.begin());
    return {z == 2 ? 1 : 2, z == 0 ? 1 : 0, z};
}

// All fours have so many with 2^strip_bits strips an image; some of their pictures may lie beyond the last.
int64_t planes_in_all(const Problem &p, int64_t planes, int strip_bits) {
    const int64_t strips = int64_t{1} << strip_bits;
    return ceil_divide(p.batch * strips, 4) * ceil_divide(planes, strips);
}

int strip_bits_with_fewest_planes(const Problem &p, int64_t planes) {
    return std::min({0, 1, 2},
                    [&](int a, int b) { return planes_in_all(p, planes, a) < planes_in_all(p, planes, b); });
}

int64_t reached(const Axis &a, int64_t input) { return (input - 1) * a.stride + (a.kernel - 1) * a.dilation + 1; }

}  // namespace

PackedPictures::PackedPictures(const Problem &p)
    : axes(order_of_axes(p)), strip_bits(strip_bits_with_fewest_planes(p, axis(p, 2).input)) {
    const auto cut = [&] {
        input = {axis(p, 0).input, axis(p, 1).input, ceil_divide(axis(p, 2).input, strips())};
        output = {reached(axis(p, 0), input.x), reached(axis(p, 1), input.y), reached(axis(p, 2), input.z)};
    };
    constexpr int64_t max_four = int64_t{64} << 20;
    const auto too_large = [&] {
        return 4 * (floats(p.in_channels, input) + floats(p.out_channels, output)) > max_four;
    };
    for (cut(); input.z > 1 && too_large(); cut()) strip_bits++;
    fours = ceil_divide(p.batch * strips(), 4);
}

int64_t PackedPictures::input_elements(const Problem &p, const KernelTraits &k) const {
    return 4 * p.in_channels * input.positions() * parts(k);
}

int64_t PackedPictures::output_elements(const Problem &p, const KernelTraits &k) const {
    return 4 * p.out_channels * output.positions() * parts(k);
}

int64_t PackedPictures::images(int64_t fours) const {
    const bool whole_images = strips() <= 4;
    return whole_images ? fours * (4 / strips()) : ceil_divide(4 * fours, strips()) + 1;
}

int64_t PackedPictures::fours_of(int64_t images) const {
    return strips() <= 4 ? images / (4 / strips()) : (images - 1) * strips() / 4;
}

std::string packed_pictures_rejection(const KernelTraits &k, const Problem &p) {
    if (p.batch == 0) return "batch is 0";
    constexpr int64_t max_channels = 1 << 20;
    if (std::max(p.in_channels, p.out_channels) > max_channels) return "there are more than 2^20 channels";
    if (p.groups > max_grid()) return "there are more than 65535 groups";
    const PackedPictures packed(p);
    constexpr int64_t max_size = 1 << 30;
    if (std::max({packed.output.z * packed.strips(), packed.output.y, packed.output.x}) > max_size)
        return "the output with its padding has more than 2^30 planes, rows or columns";
    const double most = std::max({4 * floats(p.in_channels, packed.input) * parts(k),
                                  4 * floats(p.out_channels, packed.output) * parts(k),
                                  packed.images(1) * double(p.in_channels) * input_positions(p),
                                  packed.images(1) * double(p.out_channels) * output_positions(p),
                                  2.0 * p.weight_elements()});
    if (most > max_elements_32bit()) return "four pictures or the weights have more elements than 32 bits count";
    return {};
}

}  // namespace conv_transpose

// Sizes of packed pictures: see packed_pictures.h.
#include "choice/packed_pictures.h"

#include <algorithm>

#include "choice/launch_ranges.h"
#include "choice/weight_gradient_parts.h"

namespace conv_transpose {

namespace {

int64_t parts(const KernelTraits &kernel) {
    return kernel.precision == Precision::tf32x3 ? 2 : 1;
}

// More than an int64_t holds are many in any case.
double floats(int64_t channels, Size2 size) {
    return double(channels) * size.height * size.width;
}

// Of fours with as many strips an image, some of whose pictures may lie beyond the last.
int64_t rows_in_all(const Problem &p, int strip_bits) {
    const int64_t strips = int64_t{1} << strip_bits;
    return ceil_divide(p.batch * strips, 4) * ceil_divide(p.height().input, strips);
}

int strip_bits_with_fewest_rows(const Problem &p) {
    return std::min({0, 1, 2}, [&](int a, int b) { return rows_in_all(p, a) < rows_in_all(p, b); });
}

}  // namespace

PackedPictures::PackedPictures(const Problem &p) : strip_bits(strip_bits_with_fewest_rows(p)) {
    const auto cut = [&] {
        input = {ceil_divide(p.height().input, strips()), p.width().input};
        output = {(input.height - 1) * p.height().stride + (p.height().kernel - 1) * p.height().dilation + 1,
                  (input.width - 1) * p.width().stride + (p.width().kernel - 1) * p.width().dilation + 1};
    };
    constexpr int64_t max_four = int64_t{64} << 20;
    const auto too_large = [&] {
        return 4 * (floats(p.in_channels, input) + floats(p.out_channels, output)) > max_four;
    };
    for (cut(); input.height > 1 && too_large(); cut()) strip_bits++;
    fours = ceil_divide(p.batch * strips(), 4);
}

int64_t PackedPictures::input_elements(const Problem &p, const KernelTraits &k) const {
    return 4 * p.in_channels * area(input) * parts(k);
}

int64_t PackedPictures::output_elements(const Problem &p, const KernelTraits &k) const {
    return 4 * p.out_channels * area(output) * parts(k);
}

int64_t PackedPictures::images(int64_t fours) const {
    const bool whole_images = strips() <= 4;
    return whole_images ? fours * (4 / strips()) : ceil_divide(4 * fours, strips()) + 1;
}

std::string packed_pictures_rejection(const KernelTraits &k, const Problem &p) {
    if (p.batch == 0) return "batch is 0";
    constexpr int64_t max_channels = 1 << 20;
    if (std::max(p.in_channels, p.out_channels) > max_channels) return "there are more than 2^20 channels";
    if (p.groups > max_grid()) return "there are more than 65535 groups";
    const PackedPictures packed(p);
    constexpr int64_t max_size = 1 << 30;
    if (std::max(packed.output.height * packed.strips(), packed.output.width) > max_size)
        return "the output with its padding has more than 2^30 rows or columns";
    const double most = std::max({4 * floats(p.in_channels, packed.input) * parts(k),
                                  4 * floats(p.out_channels, packed.output) * parts(k),
                                  packed.images(1) * floats(p.in_channels, plane_of(p, &Axis::input)),
                                  packed.images(1) * floats(p.out_channels, output_plane(p)),
                                  2.0 * p.weight_elements()});
    if (most > max_elements_32bit()) return "four pictures or the weights have more elements than 32 bits count";
    if (packed_part_elements(p, k) > max_elements_32bit() / PackedPictureParts(p, k, packed).slices)
        return "the parts of the sum have more elements than 32 bits count";
    return {};
}

}  // namespace conv_transpose

#include "filters.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace upsample {
namespace {

double box(double x) {
    return x >= -0.5 && x < 0.5 ? 1 : 0;
}

double triangle(double x) {
    return std::max(0.0, 1 - std::abs(x));
}

double catmull_rom(double x) {
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

double sinc(double x) {
    return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

double lanczos3(double x) {
    return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
}

/// Samples of the kernel centred on the input. With an even scale outputs lie between the input's grid lines,
/// with an odd one the middle output lies on the input, and the zero at the end of the support is left out.
FilterTaps sampled(const FilterKernel &kernel, int scale) {
    const int half = static_cast<int>(kernel.support) * scale;
    const bool even = scale % 2 == 0;
    const int count = even ? 2 * half : 2 * half - 1;
    FilterTaps result;
    result.padding = even ? half - scale / 2 : half - 1 - (scale - 1) / 2;
    result.reach = static_cast<int>(kernel.support);
    for (int k = 0; k < count; ++k) {
        const double distance = even ? k + 0.5 - half : k + 1.0 - half;
        result.taps.push_back(static_cast<float>(kernel.value(distance / scale)));
    }
    return result;
}

/// Makes the taps of every phase sum to one. The sum is taken of the rounded taps, for it is these that are
/// used.
void normalise_phases(std::vector<float> &taps, int scale) {
    for (int phase = 0; phase < scale; ++phase) {
        double sum = 0;
        for (std::size_t k = phase; k < taps.size(); k += scale) sum += taps[k];
        for (std::size_t k = phase; k < taps.size(); k += scale) taps[k] = static_cast<float>(taps[k] / sum);
    }
}

}  // namespace

FilterKernel filter_kernel(Filter filter) {
    switch (filter) {
        case Filter::nearest:
            return {0.5, box};
        case Filter::bilinear:
            return {1, triangle};
        case Filter::bicubic:
            return {2, catmull_rom};
        case Filter::lanczos:
            break;
    }
    return {3, lanczos3};
}

FilterTaps filter_taps(Filter filter, int scale) {
    if (filter == Filter::nearest) return {std::vector<float>(scale, 1.0f), 0, 0};
    FilterTaps result = sampled(filter_kernel(filter), scale);
    normalise_phases(result.taps, scale);
    return result;
}

}  // namespace upsample

// Resampling filters as taps of a transposed convolution: enlarging a row s times gives output o the sum over
// inputs i of in[i] * taps[o + padding - i * s], where taps are the filter's samples at the spacing of the
// output.
#ifndef UPSAMPLE_FILTERS_H
#define UPSAMPLE_FILTERS_H

#include <string_view>
#include <vector>

namespace upsample {

enum class Filter { nearest, bilinear, bicubic, lanczos };

inline constexpr std::string_view filter_names[] = {"nearest", "bilinear", "bicubic", "lanczos"};

/// The filter as a function, of a distance in inputs.
struct FilterKernel {
    double support;
    double (*value)(double);
};
FilterKernel filter_kernel(Filter filter);

struct FilterTaps {
    std::vector<float> taps;
    int padding = 0;
    int reach = 0;  ///< inputs on each side of an output's own input that may contribute
};

/// Taps for an integer scale; those of every phase sum to one. Bicubic has a = -0.5 (Catmull-Rom) and Lanczos
/// three lobes, both as Pillow has them.
FilterTaps filter_taps(Filter filter, int scale);

}  // namespace upsample

#endif

// Where the samples of a bicubic interpolation along an axis come from: ncnn's, with a = -0.75.
#ifndef UPSAMPLE_CUBIC_H
#define UPSAMPLE_CUBIC_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace upsample {

/// One output.
struct Cubic {
    int64_t from[4];
    float weight[4];
    Cubic(int64_t output, double ratio, int64_t length) {
        const double at = (static_cast<double>(output) + 0.5) / ratio - 0.5, below = std::floor(at);
        for (int k = 0; k < 4; ++k) {
            const int64_t position = static_cast<int64_t>(below) + k - 1;
            from[k] = std::clamp<int64_t>(position, 0, length - 1);
            weight[k] = value(static_cast<float>(std::abs(at - static_cast<double>(position))));
        }
    }
    static float value(float x) {
        constexpr float a = -0.75f;
        return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    }
};

}  // namespace upsample

#endif

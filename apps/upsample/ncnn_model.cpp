// Parsing of .param and .bin files: see ncnn_model.h.
#include "ncnn_model.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "picture.h"

namespace upsample {
namespace {

using conv_transpose::Activation;

constexpr const char *magic = "7767517";
constexpr uint32_t half_tag = 0x01306B47;
constexpr int64_t largest_number = 1 << 20;  // of a count or size in a .param; real ones are in the thousands

/// The numbered parameters of one layer: "0=16" and "-23310=1,0.1" (an array, here number 10).
class Parameters {
  public:
    Parameters(std::istream &words, const std::string &where) : where_(where) {
        for (std::string word; words >> word;) {
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos)
                throw PictureError(where + ": \"" + word + "\" is not KEY=VALUE");
            int key = key_of(word.substr(0, equals));
            std::vector<double> values;
            std::istringstream list(word.substr(equals + 1));
            for (std::string item; std::getline(list, item, ',');) values.push_back(number(item));
            if (key <= array_offset) {
                key = array_offset - key;
                if (values.empty() || values.front() != static_cast<double>(values.size() - 1)) {
                    throw PictureError(where + ": \"" + word + "\" does not have as many items as it says");
                }
                values.erase(values.begin());
            }
            values_[key] = values;
        }
    }

    std::vector<double> array(int key) const { return has(key) ? values_.at(key) : std::vector<double>(); }

    bool has(int key) const { return values_.count(key) && !values_.at(key).empty(); }

    double real(int key, double otherwise) const { return has(key) ? values_.at(key).front() : otherwise; }

    int64_t integer(int key, int64_t otherwise, int64_t least, int64_t most = largest_number) const {
        const double value = real(key, static_cast<double>(otherwise));
        if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) ||
            value != static_cast<double>(static_cast<int64_t>(value))) {
            throw PictureError(where_ + ": parameter " + std::to_string(key) + " is " +
                               std::to_string(value) + "; it must be a whole number from " +
                               std::to_string(least) + " to " + std::to_string(most));
        }
        return static_cast<int64_t>(value);
    }

    /// Refuses values of a parameter that would change what the layer does in a way that is not supported.
    void expect(int key, double value, const char *what) const {
        if (real(key, value) != value) {
            throw PictureError(where_ + ": " + what + " (parameter " + std::to_string(key) +
                               ") is not supported");
        }
    }

    const std::string &where() const { return where_; }

  private:
    static constexpr int array_offset = -23300;

    int key_of(const std::string &text) const {
        int key = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
        if (error != std::errc() || end != text.data() + text.size() || key > 1000 || key < array_offset - 1000)
            throw PictureError(where_ + ": \"" + text + "\" is no key of a parameter");
        return key;
    }

    double number(const std::string &text) const {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size()) {
            throw PictureError(where_ + ": \"" + text + "\" is not a number");
        }
        return value;
    }

    std::string where_;
    std::map<int, std::vector<double>> values_;
};

float half_to_float(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31, mantissa = half & 1023;
    if (exponent == 0) {  // zero and subnormal numbers: mantissa * 2^-24
        const float value = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | (mantissa << 13));
}

/// The .bin: weights of the layers one after another.
class WeightFile {
  public:
    explicit WeightFile(const std::string &path) : path_(path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw PictureError(path + ": cannot be read");
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
    }

    /// Weights that say in four bytes how they are stored.
    std::vector<float> tagged(int64_t count) {
        uint32_t tag = 0;
        std::memcpy(&tag, take(4), 4);
        if (tag == 0) return plain(count);
        if (tag != half_tag) throw PictureError(path_ + ": weights are neither float32 nor float16");
        const char *from = take((count * 2 + 3) / 4 * 4);
        std::vector<float> values(count);
        for (int64_t i = 0; i < count; ++i) {
            uint16_t half = 0;
            std::memcpy(&half, from + i * 2, 2);
            values[i] = half_to_float(half);
        }
        return values;
    }

    std::vector<float> plain(int64_t count) {
        const char *from = take(count * 4);
        std::vector<float> values(count);
        std::memcpy(values.data(), from, count * 4);
        return values;
    }

    void expect_end() const {
        if (position_ != bytes_.size())
            throw PictureError(path_ + ": has more weights than the .param asks for");
    }

  private:
    const char *take(std::size_t count) {
        if (count > bytes_.size() - position_) {
            throw PictureError(path_ + ": has fewer weights than the .param asks for");
        }
        position_ += count;
        return bytes_.data() + position_ - count;
    }

    std::string path_;
    std::vector<char> bytes_;
    std::size_t position_ = 0;
};

void read_activation(const Parameters &p, Layer &layer) {
    switch (p.integer(9, 0, 0)) {
        case 0:
            layer.activation = Activation::none;
            return;
        case 1:
            layer.activation = Activation::relu;
            return;
        case 2:
            layer.activation = Activation::leaky_relu;
            layer.negative_slope = static_cast<float>(p.real(10, 0));
            return;
        case 4:
            layer.activation = Activation::sigmoid;
            return;
        default:
            throw PictureError(p.where() + ": this fused activation (parameter 9) is not supported");
    }
}

void read_weights(const Parameters &p, int bias_key, int size_key, WeightFile &weights, Layer &layer) {
    layer.out_channels = p.integer(0, 0, 1);
    const int64_t per_channel = layer.out_channels * layer.kernel.height * layer.kernel.width;
    const int64_t size = p.integer(size_key, 0, 1, int64_t{1} << 30);
    if (size % per_channel != 0) {
        throw PictureError(p.where() + ": the number of weights (parameter " + std::to_string(size_key) +
                           ") is " + std::to_string(size) +
                           ", which is no multiple of outputs times kernel, " + std::to_string(per_channel));
    }
    layer.weight = weights.tagged(size);
    if (p.integer(bias_key, 0, 0, 1)) layer.bias = weights.plain(layer.out_channels);
}

void read_convolution(const Parameters &p, WeightFile &weights, Layer &layer) {
    layer.kernel.width = p.integer(1, 0, 1);
    layer.kernel.height = p.integer(11, layer.kernel.width, 1);
    layer.dilation.width = p.integer(2, 1, 1);
    layer.dilation.height = p.integer(12, layer.dilation.width, 1);
    layer.stride.width = p.integer(3, 1, 1);
    layer.stride.height = p.integer(13, layer.stride.width, 1);
    layer.padding.width = p.integer(4, 0, 0);
    layer.padding.height = p.integer(14, layer.padding.width, 0);
    p.expect(15, static_cast<double>(layer.padding.width), "padding that differs from left to right");
    p.expect(16, static_cast<double>(layer.padding.height), "padding that differs from top to bottom");
    read_activation(p, layer);
    if (layer.kind == LayerKind::convolution) {
        p.expect(8, 0, "int8 weights");
        if (layer.padding.width || layer.padding.height) p.expect(18, 0, "padding with a value other than 0");
        p.expect(19, 0, "weights computed by the network");
    } else {
        layer.output_padding.width = p.integer(18, 0, 0);
        layer.output_padding.height = p.integer(19, layer.output_padding.width, 0);
        p.expect(20, 0, "a fixed output width");
        p.expect(21, 0, "a fixed output height");
        p.expect(28, 0, "weights computed by the network");
    }
    read_weights(p, 5, 6, weights, layer);
}

void read_interpolation(const Parameters &p, Layer &layer) {
    const double height = p.real(1, 1), width = p.real(2, 1);
    p.expect(3, 0, "a fixed output height");
    p.expect(4, 0, "a fixed output width");
    const bool nearest = p.integer(0, 0, 0) == 1, bicubic = p.integer(0, 0, 0) == 3;
    if (nearest && height == width && height == std::floor(height) && height >= 1 && height <= 16) {
        layer.kind = LayerKind::nearest;
        layer.factor = static_cast<int64_t>(height);
    } else if (bicubic && height == width && height > 0.1 && height <= 16 && p.real(6, 0) == 0) {
        layer.kind = LayerKind::bicubic;
        layer.ratio = height;
    } else {
        throw PictureError(p.where() + ": only nearest interpolation by whole factors and bicubic are supported");
    }
}

/// From a place, to the size of another blob; or so many rows and columns off each end.
void read_crop(const Parameters &p, Layer &layer) {
    const std::vector<double> starts = p.array(9), ends = p.array(10), axes = p.array(11);
    if (starts.empty()) {
        layer.crop_left = p.integer(0, 0, 0);
        layer.crop_top = p.integer(1, 0, 0);
        return p.expect(2, 0, "cropping of channels");
    }
    const bool rows_and_columns = axes == std::vector<double>{-2, -1} || axes == std::vector<double>{1, 2};
    const auto is_size = [](double value) { return value >= 0 && value <= largest_number && value == std::floor(value); };
    if (!rows_and_columns || starts.size() != 2 || ends.size() != 2 || !is_size(starts[0]) || !is_size(starts[1]) ||
        !is_size(-ends[0]) || !is_size(-ends[1]))
        throw PictureError(p.where() + ": only cropping of so many rows and columns off each end is supported");
    layer.crop_top = static_cast<int64_t>(starts[0]), layer.crop_bottom = static_cast<int64_t>(-ends[0]);
    layer.crop_left = static_cast<int64_t>(starts[1]), layer.crop_right = static_cast<int64_t>(-ends[1]);
}

void expect_inputs(const Layer &layer, std::size_t count, const std::string &where) {
    if (layer.inputs.size() != count) {
        throw PictureError(where + ": must have " + std::to_string(count) + " inputs but has " +
                           std::to_string(layer.inputs.size()));
    }
}

void read_inner_product(const Parameters &p, WeightFile &weights, Layer &layer) {
    p.expect(8, 0, "int8 weights");
    read_activation(p, layer);
    read_weights(p, 1, 2, weights, layer);
}

/// Two blobs, element by element: ncnn's Eltwise, whose sums may have coefficients.
void read_eltwise(const Parameters &p, Layer &layer) {
    constexpr EltwiseOperation operations[] = {EltwiseOperation::product, EltwiseOperation::sum, EltwiseOperation::maximum};
    layer.operation = operations[p.integer(0, 0, 0, 2)];
    for (const double value : p.array(1)) layer.coefficients.push_back(static_cast<float>(value));
    if (!layer.coefficients.empty() && (layer.coefficients.size() != 2 || layer.operation != EltwiseOperation::sum))
        throw PictureError(p.where() + ": coefficients (parameter 1) are for the two inputs of a sum");
}

/// The same, as ncnn's BinaryOp numbers them.
void read_binary_operation(const Parameters &p, Layer &layer) {
    constexpr EltwiseOperation operations[] = {EltwiseOperation::sum, EltwiseOperation::difference,
                                               EltwiseOperation::product, EltwiseOperation::product,
                                               EltwiseOperation::maximum, EltwiseOperation::minimum};
    const int64_t operation = p.integer(0, 0, 0, 5);
    if (operation == 3) throw PictureError(p.where() + ": a division is not supported");
    layer.operation = operations[operation];
    p.expect(1, 0, "an operation with a number");
}

void check_pooling(const Parameters &p) {
    if (p.integer(0, 0, 0) != 1 || p.integer(4, 0, 0) != 1)
        throw PictureError(p.where() + ": only global average pooling is supported");
}

void check_scale(const Parameters &p) {
    if (p.real(0, 0) != -233) throw PictureError(p.where() + ": only scaling by another blob is supported");
    p.expect(1, 0, "a bias");
}

/// Fills in the layer, with its weights; they lie in the .bin in the order of the layers.
void read_layer(const std::string &type, const Parameters &p, WeightFile &weights, Layer &layer) {
    std::size_t inputs = 1;
    if (type == "Convolution" || type == "Deconvolution") {
        layer.kind = type == "Convolution" ? LayerKind::convolution : LayerKind::deconvolution;
        read_convolution(p, weights, layer);
    } else if (type == "InnerProduct") {
        layer.kind = LayerKind::inner_product;
        read_inner_product(p, weights, layer);
    } else if (type == "ReLU") {
        layer.kind = LayerKind::relu;
        layer.negative_slope = static_cast<float>(p.real(0, 0));
    } else if (type == "PReLU") {
        layer.kind = LayerKind::prelu;
        layer.weight = weights.plain(p.integer(0, 0, 1));
    } else if (type == "PixelShuffle") {
        layer.kind = LayerKind::pixel_shuffle;
        layer.factor = p.integer(0, 1, 1, 16);
        p.expect(1, 0, "this order of channels");
    } else if (type == "Interp") {
        read_interpolation(p, layer);
    } else if (type == "Concat") {
        layer.kind = LayerKind::concat;
        inputs = std::max<std::size_t>(1, layer.inputs.size());
        p.expect(0, 0, "joining along another axis than channels");
    } else if (type == "Crop") {
        layer.kind = LayerKind::crop;
        inputs = p.has(9) ? 1 : 2;
        read_crop(p, layer);
    } else if (type == "Eltwise" || type == "BinaryOp") {
        layer.kind = LayerKind::eltwise;
        inputs = 2;
        type == "Eltwise" ? read_eltwise(p, layer) : read_binary_operation(p, layer);
    } else if (type == "Pooling") {
        layer.kind = LayerKind::pooling;
        check_pooling(p);
    } else if (type == "Scale") {
        layer.kind = LayerKind::scale;
        inputs = 2;
        check_scale(p);
    } else {
        throw PictureError(p.where() + ": layers of type " + type + " are not supported");
    }
    expect_inputs(layer, inputs, p.where());
}

/// Gives blobs numbers; a Split's outputs get the number of what they are copies of.
class BlobNumbers {
  public:
    int add(const std::string &name, const std::string &where) {
        if (!numbers_.emplace(name, count_).second)
            throw PictureError(where + ": blob " + name + " exists already");
        return count_++;
    }
    void alias(const std::string &name, int number, const std::string &where) {
        if (!numbers_.emplace(name, number).second)
            throw PictureError(where + ": blob " + name + " exists already");
    }
    int find(const std::string &name, const std::string &where) const {
        const auto found = numbers_.find(name);
        if (found == numbers_.end()) throw PictureError(where + ": no layer before it makes blob " + name);
        return found->second;
    }
    int count() const { return count_; }

  private:
    std::map<std::string, int> numbers_;
    int count_ = 0;
};

/// The blob that nothing reads; there must be just one.
int find_output(const NcnnModel &model, const std::string &param_file) {
    std::vector<bool> read(model.blobs, false);
    for (const Layer &layer : model.layers) {
        for (const int blob : layer.inputs) read[blob] = true;
    }
    int output = -1;
    for (const Layer &layer : model.layers) {
        if (read[layer.output]) continue;
        if (output >= 0) throw PictureError(param_file + ": the network has more than one output");
        output = layer.output;
    }
    if (output < 0) throw PictureError(param_file + ": the network has no output");
    return output;
}

std::string bin_beside(const std::string &param_file) {
    const std::size_t dot = param_file.rfind(".param");
    if (dot == std::string::npos || dot + 6 != param_file.size()) {
        throw PictureError(param_file + ": a model is named by its .param file");
    }
    return param_file.substr(0, dot) + ".bin";
}

/// How a line begins; parameters follow.
struct LayerLine {
    std::string type, name, where;  ///< `where` for errors
    std::vector<std::string> inputs, outputs;
};

/// Nothing of an empty line.
std::optional<LayerLine> read_line(std::istream &words, const std::string &param_file) {
    LayerLine line;
    if (!(words >> line.type)) return {};
    const std::string type_and_file = param_file + ": layer " + line.type;
    int input_count = 0, output_count = 0;
    if (!(words >> line.name >> input_count >> output_count) || input_count < 0 || output_count < 0)
        throw PictureError(type_and_file + ": the line does not begin with type, name and two counts");
    line.where = type_and_file + " \"" + line.name + "\"";
    std::string blob;
    for (int i = 0; i < input_count && words >> blob; ++i) line.inputs.push_back(blob);
    for (int i = 0; i < output_count && words >> blob; ++i) line.outputs.push_back(blob);
    if (!words) throw PictureError(line.where + ": lists fewer blobs than it says");
    return line;
}

}  // namespace

void refuse_layer(const Layer &layer, const std::string &why) {
    throw PictureError("layer \"" + layer.name + "\": " + why);
}

NcnnModel read_ncnn_model(const std::string &param_file) {
    WeightFile weights(bin_beside(param_file));
    std::ifstream file(param_file);
    if (!file) throw PictureError(param_file + ": cannot be read");
    std::string line;
    if (!std::getline(file, line) || line.substr(0, line.find_first_of(" \r")) != magic) {
        throw PictureError(param_file + ": is not an ncnn .param file (its first line is not " + magic + ")");
    }
    std::getline(file, line);  // numbers of layers and blobs, which the lines themselves tell

    NcnnModel model;
    BlobNumbers blobs;
    bool has_input = false;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        const std::optional<LayerLine> read = read_line(words, param_file);
        if (!read) continue;
        const auto &[type, name, where, inputs, outputs] = *read;
        if (type == "Input") {
            if (has_input || outputs.size() != 1) throw PictureError(where + ": there must be one input");
            has_input = true;
            model.input = blobs.add(outputs[0], where);
        } else if (type == "Split") {
            if (inputs.size() != 1) throw PictureError(where + ": must have 1 input");
            for (const std::string &copy : outputs) blobs.alias(copy, blobs.find(inputs[0], where), where);
        } else {
            Layer layer;
            layer.name = name;
            for (const std::string &input : inputs) layer.inputs.push_back(blobs.find(input, where));
            read_layer(type, Parameters(words, where), weights, layer);
            if (outputs.size() != 1) throw PictureError(where + ": must have 1 output");
            layer.output = blobs.add(outputs[0], where);
            model.layers.push_back(std::move(layer));
        }
    }
    if (!has_input) throw PictureError(param_file + ": the network has no input");
    weights.expect_end();
    model.blobs = blobs.count();
    model.output = find_output(model, param_file);
    return model;
}

}  // namespace upsample

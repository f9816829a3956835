#include "ncnn_model.h"

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "ncnn_layers.h"
#include "picture.h"

namespace upsample {

namespace {

constexpr const char *magic = "7767517";

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
    if (dot == std::string::npos || dot + 6 != param_file.size())
        throw PictureError(param_file + ": a model is named by its .param file");
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
    NcnnWeights weights(bin_beside(param_file));
    std::ifstream file(param_file);
    if (!file) throw PictureError(param_file + ": cannot be read");
    std::string line;
    if (!std::getline(file, line) || line.substr(0, line.find_first_of(" \r")) != magic)
        throw PictureError(param_file + ": is not an ncnn .param file (its first line is not " + magic + ")");
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
            read_layer(type, NcnnParameters(words, where), weights, layer);
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

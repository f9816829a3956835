// Conventions of waifu2x's, Real-ESRGAN's and Real-CUGAN's own programs: see convention.h.
#include "convention.h"

#include <algorithm>
#include <filesystem>

namespace upsample {

namespace {

bool has_padding(const NcnnModel &model) {
    return std::any_of(model.layers.begin(), model.layers.end(), [](const Layer &layer) {
        return layer.kind == LayerKind::convolution && layer.padding.height > 0;
    });
}

/// "up2x-no-denoise.param", of Real-CUGAN's package.
int scale_of_real_cugan(const std::string &param_file) {
    const std::string name = std::filesystem::path(param_file).filename().string();
    const bool is_one = name.size() > 5 && name.compare(0, 2, "up") == 0 && name.compare(3, 2, "x-") == 0;
    return is_one && name[2] >= '1' && name[2] <= '8' ? name[2] - '0' : 0;
}

/// Adds the input, its pixels repeated, to the middle of which the output belongs.
void add_repeated_input(int factor, int64_t border, NcnnModel &model) {
    Layer repeated, cropped, sum;
    repeated.kind = LayerKind::nearest;
    repeated.name = "repeated input";
    repeated.factor = factor;
    repeated.inputs = {model.input};
    repeated.output = model.blobs++;
    cropped.kind = LayerKind::crop;
    cropped.name = "middle of the repeated input";
    cropped.crop_top = cropped.crop_left = cropped.crop_bottom = cropped.crop_right = factor * border;
    cropped.inputs = {repeated.output};
    cropped.output = model.blobs++;
    sum.kind = LayerKind::eltwise;
    sum.name = "output and repeated input";
    sum.inputs = {model.output, cropped.output};
    sum.output = model.blobs++;
    model.output = sum.output;
    model.layers.insert(model.layers.end(), {repeated, cropped, sum});
}

}  // namespace

void follow_convention(const std::string &param_file, NcnnModel &model) {
    const int scale = scale_of_real_cugan(param_file);
    model.mirrors_edges = scale > 0 || has_padding(model);
    constexpr int64_t border_of_up4x = 19;
    if (scale == 4) add_repeated_input(scale, border_of_up4x, model);
}

}  // namespace upsample

// Finds models by name in the folders where they are kept.
#ifndef UPSAMPLE_MODELS_H
#define UPSAMPLE_MODELS_H

#include <optional>
#include <string>
#include <vector>

namespace upsample {

/// A .param file, and what its name tells in the way of waifu2x's and Real-ESRGAN's packages.
struct ModelFile {
    std::string path;
    std::string name;    ///< relative to its folder, without ".param"
    std::string family;  ///< what its members for other scales and levels of noise share
    int scale = 2;       ///< 1 of a model that only denoises
    int noise = -1;      ///< level of denoising; -1 where it does not
};

/// All under the folders; where none are given under $UPSAMPLE_MODELS (several are parted by colons), where
/// this program is installed, and where pip puts the packages that have some.
std::vector<ModelFile> list_models(const std::vector<std::string> &folders);

/// The .param file that is meant: a path as it stands, the name of a file, or that of a family, of which the
/// member is taken that denoises as asked (by default not, or least) and enlarges as asked, or by the next
/// larger scale, or else by the largest. Throws PictureError.
std::string find_model(const std::string &name, const std::vector<std::string> &folders, std::optional<int> noise,
                       std::optional<double> scale);

/// One line a family: its name, scales, levels of noise, folder.
std::string describe_models(const std::vector<ModelFile> &models);

/// Where models can be had from.
std::string where_to_get_models();

}  // namespace upsample

#endif

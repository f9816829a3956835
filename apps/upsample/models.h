// Finds models by name in the folders where they are kept.
#ifndef UPSAMPLE_MODELS_H
#define UPSAMPLE_MODELS_H

#include <string>
#include <vector>

namespace upsample {

/// Names of the .param files under the folders, or under $UPSAMPLE_MODELS where none are given; relative to
/// the folder and without ".param".
std::vector<std::string> list_models(const std::vector<std::string> &folders);

/// The .param file that is meant: a path as it stands, or a name that list_models() gives. Throws
/// PictureError.
std::string find_model(const std::string &name, const std::vector<std::string> &folders);

}  // namespace upsample

#endif

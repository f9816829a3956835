#include "models.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "picture.h"

namespace upsample {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders_or_default(const std::vector<std::string> &folders) {
    if (!folders.empty()) return folders;
    const char *variable = std::getenv("UPSAMPLE_MODELS");
    return variable ? std::vector<std::string>{variable} : std::vector<std::string>{};
}

}  // namespace

std::vector<std::string> list_models(const std::vector<std::string> &folders) {
    std::vector<std::string> names;
    for (const std::string &folder : folders_or_default(folders)) {
        if (!fs::is_directory(folder)) throw PictureError(folder + ": is no folder of models");
        for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder)) {
            if (entry.path().extension() != ".param") continue;
            names.push_back(fs::relative(entry.path(), folder).replace_extension().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::string find_model(const std::string &name, const std::vector<std::string> &folders) {
    if (fs::is_regular_file(name)) return name;
    for (const std::string &folder : folders_or_default(folders)) {
        for (const char *suffix : {"", ".param"}) {
            const fs::path path = fs::path(folder) / (name + suffix);
            if (fs::is_regular_file(path)) return path.string();
        }
    }
    throw PictureError("there is no model " + name +
                       "; give the path of its .param file, or a name from --list-models");
}

}  // namespace upsample

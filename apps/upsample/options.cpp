#include "options.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>

#include "formats.h"
#include "printable.h"
#include "raw_io.h"

namespace upsample {
namespace {

using conv_transpose::Device;
using conv_transpose::Precision;

const std::map<std::string, Filter> filters = {{"nearest", Filter::nearest},
                                               {"bilinear", Filter::bilinear},
                                               {"bicubic", Filter::bicubic},
                                               {"lanczos", Filter::lanczos}};
const std::map<std::string, NetworkPrecision> precisions = {{"float32", {Precision::float32}},
                                                            {"tf32", {Precision::tf32}},
                                                            {"tf32x3", {Precision::tf32x3}},
                                                            {"float16", {Precision::float32, true}}};
const std::map<std::string, Format> formats = {
    {"png", Format::png}, {"jpg", Format::jpeg}, {"jpeg", Format::jpeg}, {"webp", Format::webp}};

/// What is wrong with a number of bytes; CLI11 takes a negative one for a huge one.
std::string not_a_size(std::string &text) {
    uint64_t number = 0;
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    // Behind nothing, each is 1024 times the one before.
    const size_t unit =
        rest == end
            ? 0
            : std::string_view("\0kmgtpe", 7).find(static_cast<char>(std::tolower(static_cast<unsigned char>(*rest))));
    if (error == std::errc() && unit != std::string_view::npos && number <= uint64_t{1} << 62 >> 10 * unit) return "";
    return "must be a number of bytes, such as 512M or 4G, up to 4E, not " + text;
}

constexpr const char *footer = R"(
Examples:
  upsample -i photo.jpg -o large.png                     twice as wide and high, by Lanczos-3
  upsample -i photo.png -o large.webp -s 4 -f bicubic    four times, by Catmull-Rom
  upsample -i photo.png -o large.png --size 3840x2160    as large as fits into that
  upsample --list-models                                 networks that are installed, and where to get others
  upsample -i photo.png -o large.png -m cunet -n 1       by waifu2x's cunet, which also removes some noise
  upsample -i anime.png -o large.png -m realesr-animevideov3 -s 3
  upsample -i pictures/ -o large/ --skip-existing        every picture of a folder
  curl ... | upsample -i - -o - | display                through pipes

Exit codes:
  0  every picture was enlarged or skipped    2  the command line is wrong
  1  a picture failed; the others were done   3  the device or the model cannot be used)";

template <typename Value, typename Place>
std::function<void(const std::string &)> choice(const std::map<std::string, Value> &names, Place &value) {
    return [&names, &value](const std::string &name) { value = names.at(name); };
}

template <typename Value>
CLI::Validator one_of(const std::map<std::string, Value> &names) {
    std::vector<std::string> keys;
    for (const auto &[key, ignored] : names) keys.push_back(key);
    return CLI::IsMember(keys).description("");
}

/// A number from `least` to `most`, in words.
template <typename Value>
CLI::Validator between(Value least, Value most) {
    return CLI::Validator(
        [least, most](const std::string &text) {
            Value value{};
            const bool is_number = CLI::detail::lexical_cast(text, value);
            std::ostringstream what;
            what << "must be " << (std::is_integral_v<Value> ? "a whole number" : "a number") << " from " << least << " to "
                 << most << ", not " << printable(text);
            return is_number && value >= least && value <= most ? std::string() : what.str();
        },
        "");
}

void set_device(Options &o, const std::string &name) {
    int number = 0;
    const char *end = name.data() + name.size();
    const auto [after, error] = std::from_chars(name.data(), end, number);
    if (name == "auto") {
        o.device = Device::automatic;
    } else if (name == "cpu" || name == "-1") {
        o.device = Device::cpu;
    } else if (name == "cuda") {
        o.device = Device::cuda;
    } else if (error == std::errc() && after == end && number >= 0) {
        o.device = Device::cuda;
        o.gpu = number;
    } else {
        throw CLI::ValidationError(
            "--device", "must be auto, cpu (or -1), cuda, or the number of a GPU, not " + printable(name));
    }
}

void set_size(Options &o, const std::string &text) {
    const std::size_t cross = text.find('x');
    const auto number = [&](const std::string &part, int64_t &value) {
        if (part.empty()) return true;
        const auto [after, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        return error == std::errc() && after == part.data() + part.size() && value >= 1 && value <= 1'000'000;
    };
    const bool good = cross != std::string::npos && text.size() > 1 && number(text.substr(0, cross), o.width) &&
                      number(text.substr(cross + 1), o.height);
    if (!good) throw CLI::ValidationError("--size", "must be WIDTHxHEIGHT, WIDTHx or xHEIGHT, not " + printable(text));
}

void add_picture_options(CLI::App &app, Options &o) {
    app.add_option("-i,--input", o.input, "picture (PNG, JPEG or WebP), folder of pictures, or - for standard input");
    app.add_option("-o,--output", o.output, "file, folder (made if need be; NAME/ is one), or - for standard output");
    auto *scale = app.add_option("-s,--scale", o.scale, "from 1 to 16, also fractional (default 2, or a model's own)")
                      ->check(between(1.0, 16.0));
    app.add_option_function<std::string>("--size", [&o](const std::string &text) { set_size(o, text); },
                                         "enlarge or reduce to what fits into WIDTHxHEIGHT, WIDTHx or xHEIGHT")
        ->excludes(scale);
    app.add_option_function<std::string>("-f,--filter", choice(filters, o.filter),
                                         "nearest, bilinear, bicubic or lanczos (default lanczos); after a model, what\n"
                                         "brings its result to the size")
        ->check(one_of(filters));
    app.add_flag("--linear", o.linear_light, "filter in linear light, through the picture's profile");
    app.add_flag("--strip", o.strip, "leave out metadata: profiles, text, Exif, resolution, time");
    auto *overwrite = app.add_flag("--overwrite", o.overwrite, "replace files that exist");
    app.add_flag("--skip-existing", o.skip_existing, "pass over pictures whose output exists")->excludes(overwrite);
    app.add_option_function<std::string>("--format", choice(formats, o.format),
                                         "png, jpg or webp (default: by the output's name, else as the input)")
        ->check(one_of(formats));
    app.add_option("--compression", o.compression,
                   "of PNG, 0 to 9: 1 is fastest, 2 (default) chooses a fast way that suits, above are zlib's levels")
        ->check(between(0, 9));
    app.add_option("--quality", o.quality, "of JPEG and WebP, 0 to 100 (default 90)")->check(between(0, 100));
    app.add_flag("--lossless", o.lossless, "of WebP");
    app.add_option("--raw", o.raw, "plain frames, as ffmpeg's rawvideo: WIDTHxHEIGHT or WIDTHxHEIGHT:LAYOUT (rgb24)");
}

void add_model_options(CLI::App &app, Options &o) {
    auto *model = app.add_option("-m,--model", o.model,
                                 "enlarge by a network: an ncnn .param file, or a name from --list-models");
    app.add_option("--model-folder", o.model_folders, "where models are looked for (default: see --list-models)");
    app.add_flag("--list-models", o.list_models, "list the models found, tell where to get others, and stop");
    app.add_option("-n,--noise", o.noise, "level of denoising of a model that has them, -1 (none) to 3")
        ->check(between(-1, 3))
        ->needs(model);
    app.add_flag("-x,--tta", o.tta, "run the model eight times, turned and mirrored, and take the mean")->needs(model);
    app.add_option("-t,--tile", o.tile, "side of a network's tiles in pixels, at least 32 (default 0: chosen from memory)")
        ->check(between<int64_t>(0, 65536));
    app.add_option_function<std::string>("--precision", choice(precisions, o.precision),
                                         "of a network on a GPU: float32, tf32, tf32x3 or float16 (default float16)")
        ->check(one_of(precisions));
    app.get_option("--linear")->excludes(model);
}

void add_machine_options(CLI::App &app, Options &o) {
    app.add_option_function<std::string>("-g,--device", [&o](const std::string &name) { set_device(o, name); },
                                         "auto, cpu (or -1), cuda, or the number of a GPU (default auto)");
    app.add_option("-j,--threads", o.threads, "threads that compute (default 0: one a core)")->check(between(0, 1024));
    app.add_option("--memory", o.limits.memory, "most memory for pictures, in bytes or as 512M or 4G (default 4G)")
        ->transform(CLI::AsSizeValue(false).description(""))
        ->transform(CLI::Validator(not_a_size, ""));  // is asked first
    app.add_option("--max-pixels", o.limits.pixels, "largest picture to read (default 178956970)")
        ->check(between(int64_t{1}, int64_t{1} << 62));
    app.add_option("--max-chunks", o.limits.chunks, "most text and other chunks to keep (default 1000)");
    app.add_option("--max-chunk-bytes", o.limits.chunk_bytes, "largest chunk to keep (default 8000000)")
        ->check(between(uint64_t{1}, uint64_t{1} << 31));
    app.add_option("--max-text-bytes", o.limits.text_bytes, "most text of a picture altogether (default 64000000)");
    auto *quiet = app.add_flag("-q,--quiet", o.quiet, "print errors only");
    app.add_flag("-v,--verbose", o.verbose, "tell what was done, and the decoder's warnings")->excludes(quiet);
    app.add_flag("--json", o.json, "a line of JSON for every picture, on standard output");
    app.set_version_flag("--version", std::string(conv_transpose::version()));
}

/// What CLI11's own checks cannot tell.
void check_together(Options &o) {
    namespace fs = std::filesystem;
    if (o.list_models) return;
    if (o.input.empty()) throw CLI::RequiredError("--input");
    if (o.output.empty()) throw CLI::RequiredError("--output");
    std::error_code ignored;
    const bool to_stdout = o.output == "-" || o.output == "/dev/stdout";
    if (o.json && to_stdout) throw CLI::ValidationError("--json", "standard output is the picture already");
    if (to_stdout && fs::is_directory(o.input, ignored))
        throw CLI::ValidationError("--output", "a folder of pictures needs a folder, not standard output");
    if (!o.raw.empty()) {
        try {
            parse_raw_format(o.raw);
        } catch (const PictureError &error) {
            throw CLI::ValidationError("--raw", error.what());
        }
        if (o.format) throw CLI::ValidationError("--format", "with --raw frames are written as they are read");
        return;
    }
    const bool names_file = !fs::is_directory(o.input, ignored) && !to_stdout && o.output.back() != '/' &&
                            !fs::is_directory(o.output, ignored);
    const std::string extension = fs::path(o.output).extension().string();
    if (!o.format && names_file && !extension.empty() && !format_of_name(o.output) && o.output.compare(0, 5, "/dev/") != 0)
        throw CLI::ValidationError("--output", "pictures are written as .png, .jpg or .webp, not " + printable(extension) +
                                                   "; --format chooses for any name");
}

}  // namespace

bool parse_command_line(int argc, char **argv, Options &options, int &exit_code) {
    CLI::App app("Enlarges pictures by resampling filters or a neural network, on CPU or GPU.", "upsample");
    app.footer(footer);
    app.get_formatter()->column_width(28);
    add_picture_options(app, options);
    add_model_options(app, options);
    add_machine_options(app, options);
    try {
        app.parse(argc, argv);
        check_together(options);
        return true;
    } catch (const CLI::Success &request) {  // help or version
        exit_code = app.exit(request);
    } catch (const CLI::ParseError &error) {
        std::cerr << "upsample: " << printable(error.what()) << "\nupsample --help tells the options.\n";
        exit_code = wrong_command_line;
    }
    return false;
}

}  // namespace upsample

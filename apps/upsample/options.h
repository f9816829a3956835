// The command line of upsample.
#ifndef UPSAMPLE_OPTIONS_H
#define UPSAMPLE_OPTIONS_H

#include <optional>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "filters.h"
#include "picture_file.h"

namespace upsample {

/// A network on a GPU is computed in this precision.
struct NetworkPrecision {
    conv_transpose::Precision products = conv_transpose::Precision::float32;
    bool half = false;  ///< float16 throughout, with sums of float32
};

struct Options {
    std::string input, output;
    std::optional<double> scale;        ///< else 2, or the model's own
    int64_t width = 0, height = 0;      ///< to fit into; 0 for any
    Filter filter = Filter::lanczos;
    std::string model;                  ///< empty for a filter
    std::vector<std::string> model_folders;
    bool list_models = false;
    std::optional<int> noise;           ///< level of denoising, -1 to 3
    bool tta = false;
    int64_t tile = 0;
    conv_transpose::Device device = conv_transpose::Device::automatic;
    int gpu = -1;                       ///< which one; -1 leaves it to CUDA
    NetworkPrecision precision{conv_transpose::Precision::float32, true};
    int threads = 0;
    bool overwrite = false, skip_existing = false;
    bool linear_light = false, strip = false;
    bool quiet = false, verbose = false, json = false;
    std::optional<Format> format;       ///< else by the output's name
    int compression = 2, quality = 90;
    bool lossless = false;
    std::string raw;                    ///< of frames through pipes; empty for pictures
    Limits limits;
};

/// Exit codes, as the help and the manual tell them.
enum ExitCode { success = 0, picture_failed = 1, wrong_command_line = 2, not_available = 3 };

/// Returns true with the options filled in, or false with the code to exit with, after printing help or what
/// is wrong.
bool parse_command_line(int argc, char **argv, Options &options, int &exit_code);

}  // namespace upsample

#endif

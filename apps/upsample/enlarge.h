// Enlarges one picture: decoding, the chosen method and encoding, joined so that rows flow from file to file.
#ifndef UPSAMPLE_ENLARGE_H
#define UPSAMPLE_ENLARGE_H

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "filters.h"
#include "network.h"
#include "png_io.h"

namespace upsample {

struct Method {
    int scale = 2;
    Filter filter = Filter::lanczos;
    const Network *network = nullptr;  ///< replaces the filter
    bool linear_light = false;         ///< of the filter
    int64_t tile = 0;                  ///< side of a network's tiles, rows of a filter's bands; 0 chooses
    conv_transpose::Device device = conv_transpose::Device::cpu;
    conv_transpose::Precision precision = conv_transpose::Precision::float32;
};

struct Report {
    PngHeader input;
    Shape output;
    std::vector<std::string> warnings;
    double seconds = 0;            ///< from file to file
    double decoding_seconds = 0;   ///< part of them
    double enlarging_seconds = 0;  ///< part of them; compressing runs beside
};

/// How often a network must run to enlarge `scale` times; 0 when no number of runs does.
int repetitions(const Network &network, int scale);

/// Called with the output's height once it is known, then with numbers of rows that are done.
struct ProgressCalls {
    std::function<void(int64_t)> start, advance;
};

/// Throws PictureError, std::bad_alloc, or what planning throws; then `output` holds part of a picture.
Report enlarge(std::FILE *input, std::FILE *output, const Method &method, const PngLimits &limits,
               const PngWriterOptions &writing, const ProgressCalls &progress);

}  // namespace upsample

#endif

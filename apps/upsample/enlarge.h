// Enlarges one picture: decoding, the chosen method and encoding, joined so that rows flow from file to file.
#ifndef UPSAMPLE_ENLARGE_H
#define UPSAMPLE_ENLARGE_H

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "filters.h"
#include "memory_budget.h"
#include "network.h"
#include "network_run.h"
#include "picture_file.h"

namespace upsample {

struct Method {
    double scale = 2;
    int64_t width = 0, height = 0;     ///< to fit into, instead of the scale; 0 for any
    Filter filter = Filter::lanczos;
    const Network *network = nullptr;  ///< replaces the filter; that one only fits its result to the size
    NetworkRuns *runs = nullptr;       ///< keeps a network's run for the next picture; may be null
    bool tta = false;                  ///< of the network: the mean of eight turned and mirrored runs
    bool linear_light = false;         ///< of the filter
    int64_t tile = 0;                  ///< side of a network's tiles, rows of a filter's bands; 0 chooses
    conv_transpose::Device device = conv_transpose::Device::cpu;
    conv_transpose::Precision precision = conv_transpose::Precision::float32;
    bool half = false;                 ///< of a network on a GPU: in float16
    int threads = 1;                   ///< for one picture, beside those of the library's kernels
    int kernel_threads = 1;            ///< of the library, which keep scratch memory: this picture's share, and the caller's
};

struct Report {
    Header input;
    Header output;
    std::vector<std::string> warnings;  ///< of the decoder
    std::vector<std::string> losses;    ///< what the enlarged picture lacks
    double seconds = 0;                 ///< from file to file
    double decoding_seconds = 0;        ///< most of them beside the others
    double enlarging_seconds = 0;       ///< part of them; compressing runs beside
};

/// How often a network must run to enlarge at least `scale` times.
int repetitions(const Network &network, double scale);

/// Called with the output's height once it is known, then with numbers of rows that are done.
struct ProgressCalls {
    std::function<void(int64_t)> start, advance;
};

/// Throws PictureError, std::bad_alloc, or what planning throws; then `output` holds part of a picture. Waits
/// for the memory that it needs in the budget.
Report enlarge(PictureReader &reader, std::FILE *output, const Method &method, MemoryBudget &budget,
               const WritingOptions &writing, const ProgressCalls &progress);

/// Reads the picture from a stream, with a budget of its own.
Report enlarge(std::FILE *input, std::FILE *output, const Method &method, const Limits &limits,
               const WritingOptions &writing, const ProgressCalls &progress);

}  // namespace upsample

#endif

#include "enlarge.h"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "linear_light.h"
#include "network_picture.h"
#include "resample.h"
#include "samples.h"
#include "stopwatch.h"

namespace upsample {
namespace {

using conv_transpose::Device;

// A band of a filter's output should stay in the cache between the passes; a GPU wants more work at a time.
constexpr int64_t cpu_band_bytes = int64_t{4} << 20;
constexpr int64_t cuda_band_bytes = int64_t{128} << 20;

// Of a network: its largest blobs, and a row of tiles of the output, are kept below these.
constexpr std::size_t cpu_tile_bytes = std::size_t{64} << 20;
constexpr std::size_t cuda_tile_bytes = std::size_t{2} << 30;
constexpr int64_t tile_row_bytes = int64_t{256} << 20;
constexpr std::size_t whole_picture_bytes = std::size_t{8} << 30;

constexpr int64_t decoded_rows = 16;

int64_t band_rows(const Shape &shape, const Method &method) {
    if (method.tile > 0) return method.tile;
    const int64_t row_bytes = shape.width * shape.channels * method.scale * method.scale * sizeof(float);
    return std::clamp<int64_t>((method.device == Device::cuda ? cuda_band_bytes : cpu_band_bytes) / row_bytes,
                               4, 1024);
}

/// The largest tile whose blobs fit into what is meant for them.
int64_t automatic_tile(const Shape &shape, const Method &method) {
    const Network &network = *method.network;
    const std::size_t budget = method.device == Device::cuda ? cuda_tile_bytes : cpu_tile_bytes;
    const int64_t output_row =
        shape.width * shape.channels * network.scale() * network.scale() * sizeof(float);
    const int64_t most = std::clamp<int64_t>(tile_row_bytes / output_row, 32, 1024);
    int64_t tile = 32;
    const auto bytes = [&](int64_t side) {
        return activation_bytes(network, network.input_side(side), network.input_side(side));
    };
    while (tile + 16 <= most && bytes(tile + 16) <= budget) tile += 16;
    return tile;
}

void expect_memory_for_whole_picture(const Shape &shape, const Network &network) {
    if (!network.sees_whole_picture()) return;
    const std::size_t bytes =
        activation_bytes(network, network.input_side(shape.height), network.input_side(shape.width));
    if (bytes > whole_picture_bytes) {
        throw PictureError(
            "this model averages over the whole picture, so it cannot work in tiles, and a picture of " +
            std::to_string(shape.width) + " x " + std::to_string(shape.height) + " would take " +
            std::to_string(bytes >> 20) + " MiB; use an upconv_7 model or a filter");
    }
}

/// The steps from the decoded picture to the enlarged one; each reads the one before it.
class Steps {
  public:
    template <typename Step, typename... Arguments>
    const Step &add(Arguments &&...arguments) {
        auto step = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
        const Step &result = *step;
        steps_.push_back(std::move(step));
        return result;
    }
    RowSource &last() { return *steps_.back(); }

  private:
    std::vector<std::unique_ptr<RowSource>> steps_;
};

void add_network(Steps &steps, const Method &method) {
    const Network &network = *method.network;
    if (steps.last().shape().has_alpha()) steps.add<BledPicture>(steps.last(), decoded_rows);
    const int count = repetitions(network, method.scale);
    if (count == 0)
        throw PictureError("the model does not enlarge " + std::to_string(method.scale) + " times");
    for (int i = 0; i < count; ++i) {
        const Shape shape = steps.last().shape();
        expect_memory_for_whole_picture(shape, network);
        const int64_t side = method.tile > 0 ? method.tile : automatic_tile(shape, method);
        steps.add<NetworkPicture>(steps.last(), network, choose_tiles(shape, side, network), method.device,
                                  method.precision);
    }
}

}  // namespace

int repetitions(const Network &network, int scale) {
    int count = 1;
    for (int64_t reached = network.scale(); reached < scale && network.scale() > 1; ++count)
        reached *= network.scale();
    int64_t reached = 1;
    for (int i = 0; i < count; ++i) reached *= network.scale();
    return reached == scale ? count : 0;
}

Report enlarge(std::FILE *input, std::FILE *output, const Method &method, const PngLimits &limits,
               const PngWriterOptions &writing, const ProgressCalls &progress) {
    const Stopwatch whole;
    Report report;
    PngReader reader(input, limits);
    const PngHeader &header = reader.header();
    const Colors colors = method.network ? Colors::straight : Colors::premultiplied;
    std::optional<LinearLight> light;
    if (method.linear_light) light.emplace(reader);
    const LinearLight *light_or_null = light ? &*light : nullptr;

    Steps steps;
    const DecodedPicture &decoded = steps.add<DecodedPicture>(reader, colors, light_or_null, decoded_rows);
    if (method.network) {
        add_network(steps, method);
    } else {
        steps.add<ResampledPicture>(steps.last(), method.filter, method.scale, method.device,
                                    band_rows(header.shape, method));
    }

    const PngHeader enlarged{steps.last().shape(), header.bits};
    progress.start(enlarged.shape.height);
    PngWriter writer(output, enlarged, reader, method.scale, writing);
    Encoder encoder(enlarged, colors, light_or_null);
    std::future<void> compressing;  // of the band before, while the next one is computed
    while (true) {
        const Stopwatch stopwatch;
        const Rows rows = steps.last().next();
        report.enlarging_seconds += stopwatch.seconds();
        if (rows.count == 0) break;
        std::vector<uint8_t> bytes = encoder.encode(rows);
        if (compressing.valid()) compressing.get();
        progress.advance(rows.count);
        compressing = std::async(std::launch::async, [&writer, bytes = std::move(bytes), count = rows.count] {
            writer.write(bytes.data(), count);
        });
    }
    if (compressing.valid()) compressing.get();
    reader.finish();
    writer.finish();
    report.input = header;
    report.output = enlarged.shape;
    report.warnings = reader.warnings();
    report.decoding_seconds = decoded.seconds();
    report.enlarging_seconds -= report.decoding_seconds;
    report.seconds = whole.seconds();
    return report;
}

}  // namespace upsample

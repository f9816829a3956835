#include "enlarge.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "exif.h"
#include "fitted_picture.h"
#include "formats.h"
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
constexpr int64_t least_band_rows = 4;

// A network's blobs are kept below these, unless tiles would then be so small that their borders cost
// more than this share of the work.
constexpr std::size_t cpu_tile_bytes = std::size_t{64} << 20;
constexpr std::size_t cuda_tile_bytes = std::size_t{2} << 30;
constexpr double most_border_work = 0.25;

constexpr int64_t decoded_bytes = int64_t{2} << 20;  // rows at a time
constexpr int64_t most_decoded_rows = 64;

/// What an enlarged picture is to be.
struct Target {
    int64_t width = 0, height = 0;
    double scale = 1;  // the larger of both sides'
};

Target target_of(const Shape &shape, const Method &method) {
    Target target;
    if (method.width == 0 && method.height == 0) {
        target.width = std::llround(static_cast<double>(shape.width) * method.scale);
        target.height = std::llround(static_cast<double>(shape.height) * method.scale);
    } else {  // as large as fits
        const double wide = static_cast<double>(method.width) / static_cast<double>(shape.width);
        const double high = static_cast<double>(method.height) / static_cast<double>(shape.height);
        const double scale = method.width == 0 ? high : method.height == 0 ? wide : std::min(wide, high);
        target.width = std::llround(static_cast<double>(shape.width) * scale);
        target.height = std::llround(static_cast<double>(shape.height) * scale);
    }
    target.width = std::max<int64_t>(1, target.width);
    target.height = std::max<int64_t>(1, target.height);
    target.scale = std::max(static_cast<double>(target.width) / static_cast<double>(shape.width),
                            static_cast<double>(target.height) / static_cast<double>(shape.height));
    return target;
}

int64_t decoded_rows(const Shape &shape) {
    return std::clamp<int64_t>(decoded_bytes / (shape.width * shape.channels * static_cast<int64_t>(sizeof(float))), 1,
                               most_decoded_rows);
}

/// Bands are as wide as the picture unless the least number of rows is too much for that.
BandSize band_size(const Shape &shape, int64_t scale, const Method &method) {
    const int64_t pixel_bytes = shape.channels * scale * scale * static_cast<int64_t>(sizeof(float));
    const int64_t bytes = method.device == Device::cuda ? cuda_band_bytes : cpu_band_bytes;
    const int64_t rows = method.tile > 0 ? method.tile
                                         : std::clamp<int64_t>(bytes / (shape.width * pixel_bytes), least_band_rows, 1024);
    constexpr int64_t slack = 16;  // a picture's width matters less than cutting it
    const int64_t most = std::max<int64_t>(64, slack * bytes / (pixel_bytes * rows) / 64 * 64);
    return {rows, shape.width <= most ? shape.width : most};
}

RunOptions run_options(const Method &method) {
    return {method.device, method.precision, method.threads, method.half && method.device == Device::cuda};
}

/// The largest tile whose blobs fit into what is meant for them.
int64_t automatic_tile(const Method &method, uint64_t memory) {
    const Network &network = *method.network;
    const bool cuda = method.device == Device::cuda;
    const std::size_t most = cuda ? conv_transpose::free_memory(Device::cuda) / 2 : memory / 4;
    const std::size_t wanted = std::min(most, cuda ? cuda_tile_bytes : cpu_tile_bytes);
    int64_t tile = 32;
    while (tile + 16 <= 1024) {
        const int64_t side = network.input_side(tile + 16);
        const std::size_t bytes = activation_bytes(network, side, side, run_options(method));
        const double input = static_cast<double>(network.input_side(tile)), output = static_cast<double>(tile);
        const bool wasteful = input * input > (1 + most_border_work) * output * output;
        if (bytes > (wasteful ? most : wanted)) break;
        tile += 16;
    }
    return tile;
}

TileSize tile_of(const Shape &shape, const Method &method, uint64_t memory) {
    const Network &network = *method.network;
    const int64_t side = method.tile > 0 || network.sees_whole_picture() ? method.tile : automatic_tile(method, memory);
    return choose_tiles(shape, side, network);
}

/// The steps from the decoded picture to the enlarged one; each reads the one before it.
class Steps {
  public:
    Steps() = default;
    ~Steps() {
        while (!rows_.empty()) rows_.pop_back();  // the last first: it may still be reading from the others
    }
    Steps(const Steps &) = delete;
    Steps &operator=(const Steps &) = delete;

    template <typename Step, typename... Arguments>
    Step &add(Arguments &&...arguments) {
        auto step = std::make_unique<Step>(std::forward<Arguments>(arguments)...);
        Step &result = *step;
        if constexpr (std::is_base_of_v<RowSource, Step>) {
            rows_.push_back(std::move(step));
        } else {
            pieces_.push_back(std::move(step));
        }
        return result;
    }

  private:
    std::vector<std::unique_ptr<RowSource>> rows_;
    std::vector<std::unique_ptr<PieceSource>> pieces_;
};

/// Multiplies colours by alpha, for a filter that follows a network.
class MultipliedPicture : public RowSource {
  public:
    explicit MultipliedPicture(RowSource &source) : source_(source) {}
    const Shape &shape() const override { return source_.shape(); }
    Rows next() override {
        const Rows rows = source_.next();
        const Shape &shape = source_.shape();
        const int64_t count = rows.count * shape.width;
        planes_.resize(count * shape.channels);
        const float *alpha = rows.data + (shape.channels - 1) * rows.plane_stride;
        for (int c = 0; c < shape.channels; ++c) {
            const float *from = rows.data + c * rows.plane_stride;
            float *to = planes_.data() + c * count;
            if (c == shape.channels - 1) {
                std::copy_n(from, count, to);
            } else {
                for (int64_t i = 0; i < count; ++i) to[i] = from[i] * alpha[i];
            }
        }
        return {planes_.data(), count, rows.count};
    }

  private:
    RowSource &source_;
    std::vector<float> planes_;
};

/// The way to one picture's result, and the memory that it takes, which is told before any is taken.
class Way {
  public:
    Way(const PictureReader &reader, const Method &method, const WritingOptions &writing, uint64_t memory)
        : method_(method), header_(reader.header()), target_(target_of(header_.shape, method)) {
        const Shape &shape = header_.shape;
        if (method.network) {
            const int64_t count = repetitions(*method.network, target_.scale);
            Shape enlarged = shape;
            for (int64_t i = 0; i < count; ++i) {
                tiles_.push_back(tile_of(enlarged, method, memory));
                enlarged.width *= method.network->scale();
                enlarged.height *= method.network->scale();
            }
            fits_ = enlarged.width != target_.width || enlarged.height != target_.height;
        } else {
            whole_scale_ = static_cast<int>(std::llround(target_.scale));
            fits_ = whole_scale_ < 1 || whole_scale_ > 8 || whole_scale_ * shape.width != target_.width ||
                    whole_scale_ * shape.height != target_.height;
        }
        written_ = written_header(writing.format, {{target_.width, target_.height, shape.channels}, header_.bits});
        needed_ = reader.bytes_needed() + writer_bytes_needed(writing.format, written_) + bytes_of_steps(writing);
    }

    const Header &written() const { return written_; }
    uint64_t bytes_needed() const { return needed_; }

    /// A network was trained on straight colours, and nearest neighbours are not mixed; other filters mix.
    Colors decoded_colors() const {
        return method_.network || method_.filter == Filter::nearest ? Colors::straight : Colors::premultiplied;
    }
    Colors encoded_colors() const {
        return method_.network && fits_ && header_.shape.has_alpha() ? Colors::premultiplied : decoded_colors();
    }

    PieceSource &build(Steps &steps, RowSource &decoded, NetworkRuns &runs) const {
        if (!method_.network) return build_filter(steps, decoded);
        const RunOptions options = run_options(method_);
        RowSource *rows = &decoded;
        PieceSource *pieces = nullptr;
        if (decoded.shape().has_alpha()) rows = &steps.add<BledPicture>(decoded, decoded_rows(decoded.shape()));
        for (const TileSize &tile : tiles_) {
            if (pieces) rows = &steps.add<WholeRows>(*pieces);
            pieces = &steps.add<NetworkPicture>(*rows, *method_.network, runs, tile, options, method_.tta);
        }
        if (!fits_) return *pieces;
        rows = &steps.add<WholeRows>(*pieces);
        if (rows->shape().has_alpha()) rows = &steps.add<MultipliedPicture>(*rows);
        return fitted(steps, *rows);
    }

  private:
    PieceSource &build_filter(Steps &steps, RowSource &decoded) const {
        if (fits_) return fitted(steps, decoded);
        return steps.add<ResampledPicture>(decoded, method_.filter, whole_scale_, method_.device,
                                           band_size(decoded.shape(), whole_scale_, method_));
    }

    PieceSource &fitted(Steps &steps, RowSource &rows) const {
        return steps.add<FittedPicture>(rows, method_.filter, target_.width, target_.height, fitted_rows(),
                                        method_.threads);
    }

    int64_t fitted_rows() const {
        return std::clamp<int64_t>(4 * cpu_band_bytes / (target_.width * header_.shape.channels * 4), 1, 1024);
    }

    uint64_t bytes_of_steps(const WritingOptions &writing) const {
        const Shape &shape = header_.shape;
        const uint64_t row = shape.width * shape.channels * sizeof(float);
        uint64_t bytes = decoded_rows(shape) * (header_.row_bytes() + 3 * row);
        uint64_t rows_written = 0;
        Shape source = shape;
        if (method_.network) {
            const uint64_t scale = method_.network->scale();
            if (method_.device == Device::cpu) bytes += method_.kernel_threads * conv_transpose::kept_scratch_bytes;
            if (shape.has_alpha()) bytes += (decoded_rows(shape) + 14) * 3 * row;
            for (std::size_t i = 0; i < tiles_.size(); ++i) {
                const TileSize &tile = tiles_[i];
                const int64_t border = method_.network->border(), input_height = method_.network->input_side(tile.height),
                              input_width = method_.network->input_side(tile.width);
                if (method_.device == Device::cpu)
                    bytes += (method_.tta ? 2 : 1) *
                             run_bytes(*method_.network, input_height, input_width, run_options(method_));
                bytes += 2 * (std::min(tile.height, source.height) + 2 * border) * source.width *
                         shape.channels * sizeof(float);
                bytes += input_height * input_width * 3 * sizeof(float);
                bytes += tile.height * tile.width * scale * scale *
                         (shape.channels + (shape.colors() == 1 ? 3 : 0)) * sizeof(float);
                rows_written = tile.height * scale;
                source.width *= static_cast<int64_t>(scale);
                source.height *= static_cast<int64_t>(scale);
                if (i + 1 < tiles_.size() || fits_) bytes += rows_written * source.width * shape.channels * sizeof(float);
            }
        } else if (!fits_) {
            const BandSize band = band_size(shape, whole_scale_, method_);
            const uint64_t reach = filter_taps(method_.filter, whole_scale_).reach, scale = whole_scale_;
            const uint64_t rows = std::min<uint64_t>(band.rows, shape.height), columns = band.columns;
            bytes += 2 * (rows + 2 * reach) * row;
            bytes += (rows + reach) * (columns + 2 * reach) * shape.channels * sizeof(float) * (scale * scale + scale + 1);
            bytes += (shape.width + shape.height) * scale * sizeof(float);
            rows_written = rows * scale;
        }
        if (fits_) {
            rows_written = std::min(fitted_rows(), target_.height);
            const double ratio = static_cast<double>(source.height) / static_cast<double>(target_.height);
            const double support = filter_kernel(method_.filter).support * std::max(1.0, ratio);
            const double window = static_cast<double>(rows_written) * ratio + 2 * support + 2;
            bytes += static_cast<uint64_t>(2 * window * static_cast<double>(source.width * shape.channels) * sizeof(float));
            bytes += (rows_written * target_.width * shape.channels + method_.threads * source.width) * sizeof(float);
            bytes += (target_.width + target_.height) * (static_cast<uint64_t>(2 * support + 4) * sizeof(float) + 64);
        }
        // Rows that are complete, those that are compressed meanwhile, and blocks of a PNG in several threads.
        const uint64_t picture = written_.row_bytes() * written_.shape.height;
        const uint64_t blocks = (writing.threads + 1) * std::max<uint64_t>(written_.row_bytes(), 1 << 20);
        bytes += 3 * rows_written * written_.row_bytes() + 4 * std::min(picture, blocks);
        return bytes;
    }

    const Method &method_;
    Header header_, written_;
    Target target_;
    std::vector<TileSize> tiles_;  // of a network's runs
    int whole_scale_ = 0;          // of a filter
    bool fits_ = false;            // whether a last step brings the picture to its size
    uint64_t needed_ = 0;
};

/// What the output's format has no place for.
void tell_losses(const PictureReader &reader, const WritingOptions &writing, std::vector<std::string> &losses) {
    const Metadata &metadata = reader.metadata();
    if (!writing.keep_metadata || writing.format == Format::png) return;
    if (!metadata.chunks.empty() || !metadata.late_chunks.empty())
        losses.emplace_back("text and other chunks of PNG are left out: the output's format has no place for them");
}

Metadata enlarged_metadata(Metadata metadata, const Shape &from, const Shape &to) {
    set_exif_size(metadata.exif, to.width, to.height);
    for (std::vector<Chunk> *chunks : {&metadata.chunks, &metadata.late_chunks}) {
        for (Chunk &chunk : *chunks)
            if (chunk.name == std::array<char, 5>{'e', 'X', 'I', 'f'}) set_exif_size(chunk.data, to.width, to.height);
    }
    if (metadata.density_is_per_metre) {  // the printed size stays
        constexpr double most = 2147483647;
        const double x = static_cast<double>(metadata.x_density) * static_cast<double>(to.width) /
                         static_cast<double>(from.width);
        const double y = static_cast<double>(metadata.y_density) * static_cast<double>(to.height) /
                         static_cast<double>(from.height);
        const bool fits = x <= most && y <= most;
        metadata.x_density = fits ? static_cast<uint32_t>(x + 0.5) : 0;
        metadata.y_density = fits ? static_cast<uint32_t>(y + 0.5) : 0;
    }
    return metadata;
}

}  // namespace

int repetitions(const Network &network, double scale) {
    int count = 1;
    for (double reached = network.scale(); reached < scale && network.scale() > 1; ++count) reached *= network.scale();
    return count;
}

Report enlarge(PictureReader &reader, std::FILE *output, const Method &method, MemoryBudget &budget,
               const WritingOptions &writing, const ProgressCalls &progress) {
    const Stopwatch whole;
    Report report;
    const Shape &shape = reader.header().shape;
    const Way way(reader, method, writing, budget.total());
    const MemoryBudget::Share share(budget, way.bytes_needed());
    std::optional<LinearLight> light;
    if (method.linear_light) light.emplace(reader.header(), reader.metadata());
    const LinearLight *light_or_null = light ? &*light : nullptr;

    NetworkRuns own_runs;
    Steps steps;
    DecodedPicture &decoded = steps.add<DecodedPicture>(reader, way.decoded_colors(), light_or_null, decoded_rows(shape));
    RowSource &ahead = method.threads > 1 ? static_cast<RowSource &>(steps.add<ReadAhead>(decoded)) : decoded;
    PieceSource &result = way.build(steps, ahead, method.runs ? *method.runs : own_runs);

    progress.start(way.written().shape.height);
    Metadata metadata = enlarged_metadata(reader.metadata(), shape, way.written().shape);
    const std::unique_ptr<PictureWriter> writer = make_writer(output, way.written(), metadata, writing);
    Encoder encoder(result.shape(), way.written(), way.encoded_colors(), light_or_null);
    std::future<void> compressing;  // of the rows before, while the next ones are computed
    while (true) {
        const Stopwatch stopwatch;
        const Piece piece = result.next();
        report.enlarging_seconds += stopwatch.seconds();
        if (piece.count == 0) break;
        if (!encoder.add(piece)) continue;
        if (compressing.valid()) compressing.get();
        progress.advance(piece.count);
        compressing = std::async(std::launch::async, [&writer, rows = encoder.take(), count = piece.count]() mutable {
            writer->write(std::move(rows), count);
        });
    }
    if (compressing.valid()) compressing.get();
    while (ahead.next().count > 0) {  // rows that were needed for nothing
    }
    reader.finish();
    metadata.late_chunks = enlarged_metadata(reader.metadata(), shape, way.written().shape).late_chunks;
    writer->finish();
    report.input = reader.header();
    report.output = way.written();
    report.warnings = reader.warnings();
    report.losses = reader.losses();
    tell_losses(reader, writing, report.losses);
    report.decoding_seconds = decoded.seconds();
    report.seconds = whole.seconds();
    return report;
}

Report enlarge(std::FILE *input, std::FILE *output, const Method &method, const Limits &limits,
               const WritingOptions &writing, const ProgressCalls &progress) {
    MemoryBudget budget(limits.memory);
    const std::unique_ptr<PictureReader> reader = open_picture(input, limits);
    return enlarge(*reader, output, method, budget, writing, progress);
}

}  // namespace upsample

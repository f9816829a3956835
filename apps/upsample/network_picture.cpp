#include "network_picture.h"

#include <algorithm>
#include <bit>
#include <new>

namespace upsample {

BledPicture::BledPicture(RowSource &source, int64_t band_rows)
    : source_(source), window_(source), band_rows_(band_rows) {}

namespace {

constexpr int64_t bleed_radius = 7;  // as far as the border of the networks that are meant

/// The mean of a plane around a pixel, weighted by alpha; rows are counted from the window's first.
float visible_mean(const float *plane, const float *alpha, int64_t width, int64_t rows, int64_t y,
                   int64_t x) {
    double sum = 0, weight = 0;
    for (int64_t v = std::max<int64_t>(0, y - bleed_radius); v < std::min(rows, y + bleed_radius + 1); ++v) {
        for (int64_t u = std::max<int64_t>(0, x - bleed_radius); u < std::min(width, x + bleed_radius + 1);
             ++u) {
            sum += static_cast<double>(plane[v * width + u]) * alpha[v * width + u];
            weight += alpha[v * width + u];
        }
    }
    return weight > 0 ? static_cast<float>(sum / weight) : 0;
}

}  // namespace

Rows BledPicture::next() {
    const auto [width, height, channels] = source_.shape();
    const int64_t first = row_, last = std::min(height, row_ + band_rows_);
    if (first == last) return {};
    const int64_t begin = std::max<int64_t>(0, first - bleed_radius),
                  end = std::min(height, last + bleed_radius);
    const int64_t rows = end - begin, count = (last - first) * width, skipped = (first - begin) * width;
    const float *window = window_.move_to(begin, end);
    const float *alpha = window + (channels - 1) * rows * width;
    planes_.resize(count * channels);
    for (int c = 0; c < channels; ++c) {
        const float *plane = window + c * rows * width;
        float *output = planes_.data() + c * count;
        std::copy_n(plane + skipped, count, output);
        if (c == channels - 1) break;
        for (int64_t i = 0; i < count; ++i) {
            if (alpha[skipped + i] > 0) continue;
            output[i] = visible_mean(plane, alpha, width, rows, first - begin + i / width, i % width);
        }
    }
    row_ = last;
    return {planes_.data(), count, last - first};
}

namespace {

/// The library's kernels may take other sums where a tile begins in the middle of a pair of outputs, or is so
/// small that they would not be chosen for the whole picture; from this size on, with even tiles, every sum
/// is the same.
constexpr int64_t smallest_tile = 32;

/// Sides of tiles, nearly equal and even.
int64_t tile_side(int64_t length, int64_t most) {
    most = std::max(most / 2 * 2, smallest_tile);
    if (length <= most) return length;
    const int64_t parts = (length + most - 1) / most;
    return std::max((length + 2 * parts - 1) / (2 * parts) * 2, smallest_tile);
}

}  // namespace

TileSize choose_tiles(const Shape &shape, int64_t side, const Network &network) {
    if (network.sees_whole_picture()) return {shape.height, shape.width};
    return {tile_side(shape.height, side), tile_side(shape.width, side)};
}

NetworkPicture::NetworkPicture(RowSource &source, const Network &network, NetworkRuns &runs, TileSize tile,
                               const RunOptions &options, bool tta)
    : source_(source),
      network_(network),
      runs_(runs),
      options_(options),
      tta_(tta),
      shape_{source.shape().width * network.scale(), source.shape().height * network.scale(),
             source.shape().channels},
      tile_(tile),
      window_(source) {
    if (shape_.has_alpha()) {
        Shape alpha_shape = source.shape();
        alpha_shape.channels = 1;
        alpha_.emplace(Filter::bicubic, network.scale(), alpha_shape, options.device);
    }
}

NetworkPicture::~NetworkPicture() {
    wait_for_all();
    if (run_) runs_.give_back(std::move(run_));
}

/// The memory of tiles under way belongs to the run.
void NetworkPicture::wait_for_all() noexcept {
    for (; run_ && given_ < begun_; ++given_) {
        try {
            run_->wait(lane_of(given_));
        } catch (const std::exception &) {  // whoever stopped us has told why
            run_.reset();
        }
    }
}

/// Takes memory once the first row is there, or all that a network needs that sees them all: what a damaged
/// file only claims to hold costs nothing.
void NetworkPicture::prepare() {
    const Shape &shape = source_.shape();
    const bool whole = tile_.height >= shape.height && tile_.width >= shape.width && network_.sees_whole_picture();
    window_.move_to(0, whole ? shape.height : 1);
    while (true) {
        try {
            return allocate();
        } catch (const std::bad_alloc &) {
            tiles_.clear();
            run_.reset();
            turned_run_.reset();
            const int64_t side = std::max(tile_.height, tile_.width);
            const TileSize smaller = choose_tiles(shape, side / 2, network_);
            if (whole || std::max(smaller.height, smaller.width) >= side) throw;
            tile_ = smaller;
        }
    }
}

void NetworkPicture::allocate() {
    input_height_ = network_.input_side(tile_.height);
    input_width_ = network_.input_side(tile_.width);
    run_ = runs_.take(network_, input_height_, input_width_, options_);
    tiles_.resize(tta_ ? 1 : run_->lanes());
    for (std::size_t lane = 0; lane < tiles_.size(); ++lane) {
        LaneMemory &memory = run_->memory(static_cast<int>(lane));
        reserve(memory.input, options_.device, 3 * input_height_ * input_width_ * sizeof(float));
        reserve(memory.output, options_.device, shape_.channels * piece_plane() * sizeof(float));
        if (shape_.colors() == 1) reserve(memory.colors, options_.device, 3 * piece_plane() * sizeof(float));
    }
    if (!tta_) return;
    if (input_height_ != input_width_) turned_run_ = make_network_run(network_, input_width_, input_height_, options_);
    turned_.reserve(3 * input_height_ * input_width_);
}

Piece NetworkPicture::next() {
    const int64_t height = source_.shape().height;
    if (row_ < height && !run_) prepare();
    while (row_ < height && begun_ - given_ < static_cast<int64_t>(tiles_.size())) begin_tile();
    if (given_ == begun_) return {};
    const int lane = lane_of(given_);
    wait_for_tile(lane);
    ++given_;
    if (shape_.colors() == 1) mean_color(lane);
    const Tile &tile = tiles_[lane];
    return {run_->memory(lane).output.floats(), piece_plane(), piece_width(), tile.rows, tile.left, tile.columns};
}

void NetworkPicture::begin_tile() {
    const auto [width, height, channels] = source_.shape();
    const int lane = lane_of(begun_);
    const int64_t reach = std::max<int64_t>(network_.border(), alpha_ ? alpha_->reach() : 0);
    const Span rows = span_around(row_, std::min(height, row_ + tile_.height), reach, height);
    const int64_t left = left_, right = std::min(width, left_ + tile_.width), s = network_.scale();
    const float *window = window_.move_to(rows.begin, rows.end);
    gather_tile(run_->memory(lane).input.floats(), window, rows, left);
    tiles_[lane] = {left * s, (rows.last - rows.first) * s, (right - left) * s};
    run_tile(lane);
    ++begun_;
    left_ = right == width ? 0 : right;
    if (right == width) row_ = rows.last;
    if (alpha_) enlarge_alpha(lane, window, rows, left, right);
}

void NetworkPicture::run_tile(int lane) {
    try {
        if (tta_) return run_turned(lane);
        run_->begin(lane, run_->memory(lane).input.floats(), part_of(lane));
    } catch (...) {
        run_.reset();  // which waits for what it has begun
        throw;
    }
}

namespace {

bool is_finite(const OutputPart &part) {
    constexpr uint32_t exponent = 0x7f800000;  // of infinity and NaN
    uint32_t found = 0;
    for (int64_t c = 0; c < 3; ++c) {
        for (int64_t y = 0; y < part.rows; ++y) {
            const float *row = part.target + c * part.plane + y * part.pitch;
            for (int64_t x = 0; x < part.columns; ++x)
                found |= (std::bit_cast<uint32_t>(row[x]) & exponent) == exponent ? 1 : 0;
        }
    }
    return found == 0;
}

}  // namespace

void NetworkPicture::wait_for_tile(int lane) {
    if (!tta_) run_->wait(lane);
    if (!options_.half || is_finite(part_of(lane))) return;
    start_again_in_float32();
    if (!tta_) run_->wait(lane);
}

/// All tiles that are under way, from their inputs.
void NetworkPicture::start_again_in_float32() {
    for (int64_t tile = given_ + 1; tile < begun_ && !tta_; ++tile) run_->wait(lane_of(tile));
    options_.half = false;
    const std::unique_ptr<NetworkRun> before = std::move(run_);
    turned_run_.reset();
    allocate();
    for (int lane = 0; lane < static_cast<int>(tiles_.size()); ++lane) std::swap(run_->memory(lane), before->memory(lane));
    for (int64_t tile = given_; tile < begun_; ++tile) run_tile(lane_of(tile));
}

namespace {

/// Which sample stands for one that may lie beyond the ends.
int64_t inside(int64_t position, int64_t length, bool mirror) {
    if (mirror && position < 0) position = -position;
    if (mirror && position >= length) position = 2 * (length - 1) - position;
    return std::clamp<int64_t>(position, 0, length - 1);
}

}  // namespace

/// Copies a tile and its border, and makes gray RGB.
void NetworkPicture::gather_tile(float *input, const float *window, const Span &rows, int64_t left) const {
    const auto [width, height, channels] = source_.shape();
    const bool mirror = network_.model().mirrors_edges;
    const int64_t border = network_.border(), given = rows.end - rows.begin;
    const int64_t x0 = left - border, begin = std::max<int64_t>(0, -x0), end = std::min(input_width_, width - x0);
    for (int c = 0; c < 3; ++c) {
        const int from = source_.shape().colors() == 1 ? 0 : c;
        for (int64_t y = 0; y < input_height_; ++y) {
            const int64_t row = std::clamp(inside(rows.first - border + y, height, mirror), rows.begin, rows.end - 1);
            const float *samples = window + (from * given + row - rows.begin) * width;
            float *to = input + (c * input_height_ + y) * input_width_;
            for (int64_t x = 0; x < begin; ++x) to[x] = samples[inside(x0 + x, width, mirror)];
            std::copy_n(samples + x0 + begin, end - begin, to + begin);
            for (int64_t x = end; x < input_width_; ++x) to[x] = samples[inside(x0 + x, width, mirror)];
        }
    }
}

/// What belongs to the picture of the tile's output, and where that goes.
OutputPart NetworkPicture::part_of(int lane) {
    const int64_t border = run_->output_border();
    LaneMemory &memory = run_->memory(lane);
    float *to = shape_.colors() == 1 ? memory.colors.floats() : memory.output.floats();
    return {border, border, tiles_[lane].rows, tiles_[lane].columns, to, piece_plane(), piece_width()};
}

namespace {

/// One of the eight ways to turn and mirror a rectangle.
struct Turn {
    bool transpose, mirror_rows, mirror_columns;

    /// Where sample (y, x) of a plane of this size goes in the turned plane.
    int64_t place(int64_t y, int64_t x, int64_t height, int64_t width) const {
        const int64_t v = mirror_rows ? height - 1 - y : y, u = mirror_columns ? width - 1 - x : x;
        return transpose ? u * height + v : v * width + u;
    }
};

}  // namespace

void NetworkPicture::run_turned(int lane) {
    const OutputPart part = part_of(lane);
    const int64_t plane = input_height_ * input_width_, s = network_.scale();
    // A tile's output may be larger than the tile where its input was aligned.
    const int64_t out_height = s * (input_height_ - 2 * network_.border());
    const int64_t out_width = s * (input_width_ - 2 * network_.border()), out_plane = out_height * out_width;
    turned_output_.reserve(3 * out_plane);
    for (int way = 0; way < 8; ++way) {
        const Turn turn = {(way & 1) != 0, (way & 2) != 0, (way & 4) != 0};
        for (int c = 0; c < 3; ++c) {
            const float *from = run_->memory(lane).input.floats() + c * plane;
            for (int64_t y = 0; y < input_height_; ++y)
                for (int64_t x = 0; x < input_width_; ++x)
                    turned_.data()[c * plane + turn.place(y, x, input_height_, input_width_)] =
                        from[y * input_width_ + x];
        }
        NetworkRun &run = turn.transpose && turned_run_ ? *turned_run_ : *run_;
        const int64_t rows = turn.transpose ? out_width : out_height, columns = turn.transpose ? out_height : out_width;
        run.run(turned_.data(),
                {run.output_border(), run.output_border(), rows, columns, turned_output_.data(), out_plane, columns});
        for (int c = 0; c < 3; ++c) {
            for (int64_t y = 0; y < part.rows; ++y) {
                float *row = part.target + c * part.plane + y * part.pitch;
                for (int64_t x = 0; x < part.columns; ++x) {
                    const float share = turned_output_.data()[c * out_plane + turn.place(y, x, out_height, out_width)] / 8;
                    row[x] = way == 0 ? share : row[x] + share;
                }
            }
        }
    }
}

/// Gray is the mean of the network's three colours.
void NetworkPicture::mean_color(int lane) {
    const OutputPart colors = part_of(lane);
    for (int64_t y = 0; y < colors.rows; ++y) {
        const float *color = colors.target + y * colors.pitch;
        float *to = run_->memory(lane).output.floats() + y * piece_width();
        for (int64_t x = 0; x < colors.columns; ++x)
            to[x] = (color[x] + color[colors.plane + x] + color[2 * colors.plane + x]) / 3;
    }
}

void NetworkPicture::enlarge_alpha(int lane, const float *window, const Span &given, int64_t left, int64_t right) {
    const auto [width, height, channels] = source_.shape();
    const float *plane = window + (channels - 1) * (given.end - given.begin) * width;
    const Span rows = span_around(given.first, given.last, alpha_->reach(), height);
    const Span columns = span_around(left, right, alpha_->reach(), width);
    const int64_t count = columns.end - columns.begin;
    alpha_rectangle_.reserve((rows.end - rows.begin) * count);
    for (int64_t y = rows.begin; y < rows.end; ++y)
        std::copy_n(plane + (y - given.begin) * width + columns.begin, count,
                    alpha_rectangle_.data() + (y - rows.begin) * count);
    const Piece alpha = alpha_->run(alpha_rectangle_.data(), rows, columns);
    float *to = run_->memory(lane).output.floats() + (channels - 1) * piece_plane();
    for (int64_t y = 0; y < alpha.count; ++y)
        std::copy_n(alpha.data + y * alpha.row_stride, alpha.columns, to + y * piece_width());
}

}  // namespace upsample

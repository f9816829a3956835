#include "network_picture.h"

#include <algorithm>

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

NetworkPicture::NetworkPicture(RowSource &source, const Network &network, TileSize tile,
                               conv_transpose::Device device, conv_transpose::Precision precision)
    : source_(source),
      network_(network),
      shape_{source.shape().width * network.scale(), source.shape().height * network.scale(),
             source.shape().channels},
      tile_(tile),
      window_(source),
      run_(network, network.input_side(tile.height), network.input_side(tile.width), device, precision),
      input_height_(network.input_side(tile.height)),
      input_width_(network.input_side(tile.width)) {
    if (shape_.has_alpha()) {
        Shape alpha_shape = source.shape();
        alpha_shape.channels = 1;
        alpha_.emplace(Filter::bicubic, network.scale(), alpha_shape, device);
    }
    tile_input_ = conv_transpose::HostMemory(device, 3 * input_height_ * input_width_ * sizeof(float));
    band_ = conv_transpose::HostMemory(device, shape_.channels * band_plane() * sizeof(float));
    if (shape_.colors() == 1) {
        const int64_t s = network.scale();
        colors_ = conv_transpose::HostMemory(device, 3 * s * tile.height * s * tile.width * sizeof(float));
    }
}

Rows NetworkPicture::next() {
    const auto [width, height, channels] = source_.shape();
    const int64_t first = row_, last = std::min(height, row_ + tile_.height);
    if (first == last) return {};
    const int64_t reach = std::max<int64_t>(network_.border(), alpha_ ? alpha_->reach() : 0);
    const int64_t begin = std::max<int64_t>(0, first - reach), end = std::min(height, last + reach);
    const float *window = window_.move_to(begin, end);
    for (int64_t left = 0; left < width; left += tile_.width) {
        gather_tile(window, begin, end, first, left);
        run_.run(tile_input_.floats());
        copy_tile(last - first, left);
    }
    if (alpha_) enlarge_alpha(window, begin, end, first, last);
    row_ = last;
    return {band_.floats(), band_plane(), (last - first) * network_.scale()};
}

/// Copies a tile and its border; beyond the picture its nearest pixel is repeated, and gray is made RGB.
void NetworkPicture::gather_tile(const float *window, int64_t begin, int64_t end, int64_t top, int64_t left) {
    const int64_t width = source_.shape().width, border = network_.border();
    const int64_t x0 = left - border, before = std::max<int64_t>(0, -x0);
    const int64_t inside = std::min(input_width_, width - x0) - before;
    for (int c = 0; c < 3; ++c) {
        const int from = source_.shape().colors() == 1 ? 0 : c;
        for (int64_t y = 0; y < input_height_; ++y) {
            const int64_t row = std::clamp(top - border + y, begin, end - 1) - begin;
            const float *samples = window + (from * (end - begin) + row) * width;
            float *to = tile_input_.floats() + (c * input_height_ + y) * input_width_;
            std::fill_n(to, before, samples[0]);
            std::copy_n(samples + x0 + before, inside, to + before);
            std::fill(to + before + inside, to + input_width_, samples[width - 1]);
        }
    }
}

/// Copies what belongs to the picture out of the network's output.
void NetworkPicture::copy_tile(int64_t rows, int64_t left) {
    const int64_t s = network_.scale(), columns = std::min(s * tile_.width, shape_.width - s * left);
    float *to = band_.floats() + s * left;
    if (shape_.colors() == 1) return copy_mean_color(s * rows, columns, to);
    for (int c = 0; c < 3; ++c) run_.copy_output(c, s * rows, columns, to + c * band_plane(), shape_.width);
}

/// Gray is the mean of the network's three colours.
void NetworkPicture::copy_mean_color(int64_t rows, int64_t columns, float *to) {
    const int64_t plane = rows * columns;
    const float *color = colors_.floats();
    for (int c = 0; c < 3; ++c) run_.copy_output(c, rows, columns, colors_.floats() + c * plane, columns);
    for (int64_t y = 0; y < rows; ++y, to += shape_.width) {
        for (int64_t x = 0; x < columns; ++x, ++color)
            to[x] = (color[0] + color[plane] + color[2 * plane]) / 3;
    }
}

void NetworkPicture::enlarge_alpha(const float *window, int64_t begin, int64_t end, int64_t first,
                                   int64_t last) {
    const int alpha = shape_.channels - 1;
    const float *plane = window + alpha * (end - begin) * source_.shape().width;
    const int64_t reach = alpha_->reach();
    const int64_t above = std::max(begin, first - reach), below = std::min(end, last + reach);
    const Rows rows = alpha_->run(plane + (above - begin) * source_.shape().width, above, below, first, last);
    std::copy_n(rows.data, rows.count * shape_.width,
                band_.floats() + alpha * band_plane());
}

}  // namespace upsample

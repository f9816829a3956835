#include "samples.h"

#include <algorithm>

#include "stopwatch.h"

namespace upsample {
namespace {

template <typename Sample>
void deinterleave(const Sample *samples, int channels, int64_t count, float *planes) {
    constexpr float scale = 1.0f / static_cast<Sample>(-1);
    for (int c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < count; ++i) planes[c * count + i] = samples[i * channels + c] * scale;
    }
}

/// A row of one channel, `stride` samples from pixel to pixel. Also clips; what is not a number becomes 0.
template <typename Sample>
void interleave(const float *plane, int64_t count, int stride, Sample *samples) {
    constexpr float scale = static_cast<Sample>(-1);
    for (int64_t i = 0; i < count; ++i) {
        const float clipped = plane[i] > 0 ? (plane[i] < 1 ? plane[i] : 1.0f) : 0.0f;
        samples[i * stride] = static_cast<Sample>(static_cast<int>(clipped * scale + 0.5f));
    }
}

void multiply_by_alpha(float *planes, int colors, int64_t count) {
    const float *alpha = planes + colors * count;
    for (int c = 0; c < colors; ++c) {
        for (int64_t i = 0; i < count; ++i) planes[c * count + i] *= alpha[i];
    }
}

/// A pixel that is not seen at all becomes black.
void divide_by_alpha(float *planes, int colors, int64_t count) {
    const float *alpha = planes + colors * count;
    for (int c = 0; c < colors; ++c) {
        float *plane = planes + c * count;
        for (int64_t i = 0; i < count; ++i) plane[i] = alpha[i] > 0 ? plane[i] / alpha[i] : 0.0f;
    }
}

}  // namespace

DecodedPicture::DecodedPicture(PictureReader &reader, Colors colors, const LinearLight *light, int64_t band_rows)
    : reader_(reader), shape_(reader.header().shape), colors_(colors), light_(light), band_rows_(band_rows) {}

Rows DecodedPicture::next() {
    const int64_t rows = std::min(band_rows_, shape_.height - row_);
    if (rows == 0) return {};
    const Stopwatch stopwatch;
    const int64_t count = rows * shape_.width;
    bytes_.resize(reader_.header().row_bytes() * rows);
    planes_.resize(count * shape_.channels);
    reader_.read(bytes_.data(), rows);
    row_ += rows;
    if (reader_.header().bits == 8) {
        deinterleave(bytes_.data(), shape_.channels, count, planes_.data());
    } else {
        deinterleave(reinterpret_cast<const uint16_t *>(bytes_.data()), shape_.channels, count,
                     planes_.data());
    }
    if (light_) light_->decode(planes_.data(), count, count);
    if (shape_.has_alpha() && colors_ == Colors::premultiplied) multiply_by_alpha(planes_.data(), shape_.colors(), count);
    seconds_ += stopwatch.seconds();
    return {planes_.data(), count, rows};
}

ReadAhead::~ReadAhead() {
    if (fetching_.valid()) fetching_.wait();
}

int64_t ReadAhead::fetch() {
    const Rows rows = source_.next();
    const Shape &shape = source_.shape();
    const int64_t count = rows.count * shape.width;
    coming_.resize(count * shape.channels);
    for (int c = 0; c < shape.channels; ++c)
        std::copy_n(rows.data + c * rows.plane_stride, count, coming_.data() + c * count);
    return rows.count;
}

Rows ReadAhead::next() {
    const int64_t count = fetching_.valid() ? fetching_.get() : fetch();
    if (count == 0) return {};
    std::swap(coming_, current_);
    fetching_ = std::async(std::launch::async, [this] { return fetch(); });
    return {current_.data(), count * source_.shape().width, count};
}

Encoder::Encoder(const Shape &picture, const Header &written, Colors colors, const LinearLight *light)
    : picture_(picture), written_(written), colors_(colors), light_(light) {}

bool Encoder::add(const Piece &piece) {
    const bool divide = picture_.has_alpha() && colors_ == Colors::premultiplied;
    const int channels = written_.shape.channels;
    bytes_.resize(written_.row_bytes() * piece.count);
    planes_.resize(divide || light_ ? piece.columns * picture_.channels : 0);
    for (int64_t y = 0; y < piece.count; ++y) {
        const float *row = piece.data + y * piece.row_stride;
        int64_t stride = piece.plane_stride;
        if (divide || light_) {
            for (int c = 0; c < picture_.channels; ++c)
                std::copy_n(row + c * stride, piece.columns, planes_.data() + c * piece.columns);
            row = planes_.data();
            stride = piece.columns;
            if (divide) divide_by_alpha(planes_.data(), picture_.colors(), piece.columns);
            if (light_) light_->encode(planes_.data(), stride, piece.columns);
        }
        const int64_t at = (y * written_.shape.width + piece.column) * channels;
        for (int c = 0; c < channels; ++c) {
            const bool is_alpha = written_.shape.has_alpha() && c == channels - 1;
            const int from = is_alpha ? picture_.channels - 1 : std::min(c, picture_.colors() - 1);
            if (written_.bits == 8) {
                interleave(row + from * stride, piece.columns, channels, bytes_.data() + at + c);
            } else {
                interleave(row + from * stride, piece.columns, channels,
                           reinterpret_cast<uint16_t *>(bytes_.data()) + at + c);
            }
        }
    }
    return piece.column + piece.columns == written_.shape.width;
}

}  // namespace upsample

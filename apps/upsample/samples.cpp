#include "samples.h"

#include <algorithm>
#include <cstring>

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

/// Also clips; what is not a number becomes 0.
template <typename Sample>
void interleave(const float *planes, int64_t plane_stride, int channels, int64_t count, Sample *samples) {
    constexpr float scale = static_cast<Sample>(-1);
    for (int c = 0; c < channels; ++c) {
        const float *plane = planes + c * plane_stride;
        for (int64_t i = 0; i < count; ++i) {
            const float clipped = plane[i] > 0 ? (plane[i] < 1 ? plane[i] : 1.0f) : 0.0f;
            samples[i * channels + c] = static_cast<Sample>(static_cast<int>(clipped * scale + 0.5f));
        }
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

DecodedPicture::DecodedPicture(PngReader &reader, Colors colors, const LinearLight *light, int64_t band_rows)
    : reader_(reader), shape_(reader.header().shape), colors_(colors), light_(light), band_rows_(band_rows) {}

Rows DecodedPicture::next() {
    const int64_t rows = std::min(band_rows_, shape_.height - row_);
    if (rows == 0) return {};
    const Stopwatch stopwatch;
    const int64_t count = rows * shape_.width;
    bytes_.resize(reader_.row_bytes() * rows);
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
    if (shape_.has_alpha() && colors_ == Colors::premultiplied) {
        multiply_by_alpha(planes_.data(), shape_.colors(), count);
    }
    seconds_ += stopwatch.seconds();
    return {planes_.data(), count, rows};
}

Encoder::Encoder(const PngHeader &header, Colors colors, const LinearLight *light)
    : header_(header), colors_(colors), light_(light) {}

std::vector<uint8_t> Encoder::encode(const Rows &rows) {
    const Shape &shape = header_.shape;
    const int64_t count = rows.count * shape.width;
    const bool divide = shape.has_alpha() && colors_ == Colors::premultiplied;
    const float *planes = rows.data;
    int64_t plane_stride = rows.plane_stride;
    if (divide || light_) {
        planes_.resize(count * shape.channels);
        for (int c = 0; c < shape.channels; ++c) {
            std::copy_n(rows.data + c * rows.plane_stride, count, planes_.data() + c * count);
        }
        if (divide) divide_by_alpha(planes_.data(), shape.colors(), count);
        if (light_) light_->encode(planes_.data(), count, count);
        planes = planes_.data();
        plane_stride = count;
    }
    std::vector<uint8_t> bytes(count * shape.channels * (header_.bits / 8));
    if (header_.bits == 8) {
        interleave(planes, plane_stride, shape.channels, count, bytes.data());
    } else {
        interleave(planes, plane_stride, shape.channels, count, reinterpret_cast<uint16_t *>(bytes.data()));
    }
    return bytes;
}

}  // namespace upsample

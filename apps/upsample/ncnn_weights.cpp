#include "ncnn_weights.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>

#include "picture.h"

namespace upsample {

namespace {

constexpr uint32_t half_tag = 0x01306B47;

float half_to_float(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31, mantissa = half & 1023;
    if (exponent == 0) {  // zero and subnormal numbers: mantissa * 2^-24
        const float value = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | (mantissa << 13));
}

}  // namespace

NcnnWeights::NcnnWeights(const std::string &path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw PictureError(path + ": cannot be read");
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
}

std::vector<float> NcnnWeights::tagged(int64_t count) {
    uint32_t tag = 0;
    std::memcpy(&tag, take(4), 4);
    if (tag == 0) return plain(count);
    if (tag != half_tag) throw PictureError(path_ + ": weights are neither float32 nor float16");
    const char *from = take((count * 2 + 3) / 4 * 4);
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i) {
        uint16_t half = 0;
        std::memcpy(&half, from + i * 2, 2);
        values[i] = half_to_float(half);
    }
    return values;
}

std::vector<float> NcnnWeights::plain(int64_t count) {
    const char *from = take(count * 4);
    std::vector<float> values(count);
    std::memcpy(values.data(), from, count * 4);
    return values;
}

void NcnnWeights::expect_end() const {
    if (position_ != bytes_.size()) throw PictureError(path_ + ": has more weights than the .param asks for");
}

const char *NcnnWeights::take(std::size_t count) {
    if (count > bytes_.size() - position_) throw PictureError(path_ + ": has fewer weights than the .param asks for");
    position_ += count;
    return bytes_.data() + position_ - count;
}

}  // namespace upsample

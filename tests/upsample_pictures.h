// Pictures for the tests of upsample: made and read with libpng by a few direct calls, apart from the
// program's own.
#ifndef UPSAMPLE_TESTS_PICTURES_H
#define UPSAMPLE_TESTS_PICTURES_H

#include <gtest/gtest.h>
#include <png.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "picture.h"

namespace upsample::testing {

inline std::vector<conv_transpose::Device> usable_devices() {
    std::vector<conv_transpose::Device> devices = {conv_transpose::Device::cpu};
    if (conv_transpose::cuda_available()) devices.push_back(conv_transpose::Device::cuda);
    return devices;
}

struct FileCloser {
    void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

inline File temporary_file() {
    return File(std::tmpfile());
}

inline File file_of(const std::vector<uint8_t> &bytes) {
    File file = temporary_file();
    if (!bytes.empty()) std::fwrite(bytes.data(), 1, bytes.size(), file.get());
    std::rewind(file.get());
    return file;
}

inline std::vector<uint8_t> bytes_of(std::FILE *file) {
    std::vector<uint8_t> bytes;
    std::rewind(file);
    for (int byte = std::fgetc(file); byte != EOF; byte = std::fgetc(file))
        bytes.push_back(static_cast<uint8_t>(byte));
    return bytes;
}

struct RawFormat {
    int width = 0, height = 0, colour_type = PNG_COLOR_TYPE_GRAY, depth = 8;
    bool interlaced = false;
};

/// A PNG whose rows are `rows` as they stand, packed as the format says. `add_chunks` may set what comes
/// before the picture, `add_late_chunks` what comes after it. libpng's own error handling ends a test that
/// misuses it.
inline std::vector<uint8_t> make_png(
    const RawFormat &format, std::vector<std::vector<uint8_t>> rows,
    const std::function<void(png_structp, png_infop)> &add_chunks = {},
    const std::function<void(png_structp, png_infop)> &add_late_chunks = {}) {
    const File file = temporary_file();
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png), late = png_create_info_struct(png);
    png_init_io(png, file.get());
    png_set_IHDR(png, info, format.width, format.height, format.depth, format.colour_type,
                 format.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (add_chunks) add_chunks(png, info);
    png_write_info(png, info);
    std::vector<png_bytep> pointers;
    for (auto &row : rows) pointers.push_back(row.data());
    png_write_image(png, pointers.data());
    if (add_late_chunks) add_late_chunks(png, late);
    png_write_end(png, late);
    png_destroy_info_struct(png, &late);
    png_destroy_write_struct(&png, &info);
    return bytes_of(file.get());
}

/// 8-bit samples, interleaved.
inline std::vector<uint8_t> make_png8(
    int width, int height, int channels, const std::vector<uint8_t> &samples,
    const std::function<void(png_structp, png_infop)> &add_chunks = {},
    const std::function<void(png_structp, png_infop)> &add_late_chunks = {}) {
    constexpr int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
    std::vector<std::vector<uint8_t>> rows;
    for (int y = 0; y < height; ++y) {
        rows.emplace_back(samples.begin() + y * width * channels,
                          samples.begin() + (y + 1) * width * channels);
    }
    return make_png({width, height, types[channels - 1], 8, false}, rows, add_chunks, add_late_chunks);
}

inline std::vector<uint8_t> random_bytes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<uint8_t> bytes(count);
    for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
}

inline std::vector<float> random_planes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(0, 1);
    std::vector<float> values(count);
    for (float &value : values) value = uniform(random);
    return values;
}

/// Kilobytes of memory that this process had at its highest.
inline long peak_kilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") return status >> word, std::stol(word);
    return 0;
}

/// A picture in memory, handed out some rows at a time.
class MemoryPicture : public RowSource {
  public:
    MemoryPicture(Shape shape, std::vector<float> planes, int64_t rows_at_a_time)
        : shape_(shape), planes_(std::move(planes)), rows_at_a_time_(rows_at_a_time) {}
    const Shape &shape() const override { return shape_; }
    Rows next() override {
        const int64_t rows = std::min(rows_at_a_time_, shape_.height - row_);
        const Rows result = {planes_.data() + row_ * shape_.width, shape_.height * shape_.width, rows};
        row_ += rows;
        return result;
    }

  private:
    Shape shape_;
    std::vector<float> planes_;
    int64_t rows_at_a_time_, row_ = 0;
};

/// All of a source, as planes.
inline std::vector<float> read_all(RowSource &source) {
    const Shape shape = source.shape();
    const int64_t plane = shape.width * shape.height;
    std::vector<float> planes(plane * shape.channels, -1000.0f);
    int64_t row = 0;
    for (Rows rows = source.next(); rows.count > 0; rows = source.next()) {
        for (int c = 0; c < shape.channels; ++c) {
            std::copy_n(rows.data + c * rows.plane_stride, rows.count * shape.width,
                        planes.data() + c * plane + row * shape.width);
        }
        row += rows.count;
    }
    EXPECT_EQ(row, shape.height);
    return planes;
}

inline std::vector<float> read_all(PieceSource &source) {
    WholeRows rows(source);
    return read_all(rows);
}

}  // namespace upsample::testing

#endif

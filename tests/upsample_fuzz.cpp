// One input of arbitrary bytes through the whole program: a picture, a raw frame or a model. libFuzzer's entry, and
// upsample_fuzz_test.cpp's.
#include "upsample_fuzz.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "enlarge.h"
#include "formats.h"
#include "raw_io.h"

namespace upsample::testing {
namespace {

Limits small_limits() {
    Limits limits;
    limits.pixels = 1 << 13;
    limits.chunk_bytes = 1 << 16;
    limits.memory = 256 << 20;
    return limits;
}

const ProgressCalls no_progress = {[](int64_t) {}, [](int64_t) {}};

/// Its bits choose filter, scale, format and light.
Method method_of(uint8_t choice) {
    Method method;
    method.filter = static_cast<Filter>(choice % 4);
    method.scale = 2 + choice / 4 % 2;
    method.linear_light = choice & 128;
    if (choice & 64) method.scale = 1.25;
    return method;
}

Format format_of(uint8_t choice) {
    constexpr Format formats[] = {Format::png, Format::jpeg, Format::webp, Format::png};
    return formats[choice / 16 % 4];
}

void enlarge_picture(std::FILE *input, std::FILE *output, uint8_t choice) {
    WritingOptions writing;
    writing.format = format_of(choice);
    writing.compression = 1;
    enlarge(input, output, method_of(choice), small_limits(), writing, no_progress);
}

/// The frame's format is what stands before the first zero.
void enlarge_frame(const uint8_t *data, std::size_t size, std::FILE *output, uint8_t choice) {
    const std::string all(reinterpret_cast<const char *>(data), size), format = all.substr(0, all.find('\0'));
    const Header header = parse_raw_format(format);
    const Limits limits = small_limits();
    if (header.shape.width > limits.pixels / header.shape.height || format.size() + 1 >= size) return;
    std::FILE *frames = fmemopen(const_cast<uint8_t *>(data) + format.size() + 1, size - format.size() - 1, "rb");
    if (!frames) return;
    MemoryBudget budget(limits.memory);
    WritingOptions writing;
    writing.format = Format::raw;
    try {
        while (RawReader::has_more(frames)) {
            RawReader reader(frames, header);
            enlarge(reader, output, method_of(choice & 127), budget, writing, no_progress);
        }
    } catch (...) {
        std::fclose(frames);
        throw;
    }
    std::fclose(frames);
}

/// The .param is what stands before the first zero, the .bin what follows. A network that is read enlarges a picture.
void enlarge_by_model(const uint8_t *data, std::size_t size, std::FILE *output, uint8_t choice) {
    static const std::string stem =
        (std::filesystem::temp_directory_path() / ("upsample_fuzz." + std::to_string(getpid()))).string();
    const std::string all(reinterpret_cast<const char *>(data), size), param = all.substr(0, all.find('\0'));
    std::ofstream(stem + ".param", std::ios::binary) << param;
    std::ofstream(stem + ".bin", std::ios::binary) << all.substr(std::min(param.size() + 1, size));
    struct Remover {
        ~Remover() { std::remove((stem + ".param").c_str()), std::remove((stem + ".bin").c_str()); }
    } remover;
    const Network network(stem + ".param");
    constexpr char frame[] = "P6-like samples: any bytes will do for a picture of five by four.";
    std::FILE *frames = fmemopen(const_cast<char *>(frame), sizeof frame, "rb");
    if (!frames) return;
    MemoryBudget budget(small_limits().memory);
    Method method = method_of(choice & 63);
    method.network = &network;
    method.scale = network.scale();
    WritingOptions writing;
    writing.format = Format::raw;
    try {
        RawReader reader(frames, parse_raw_format("5x4"));
        enlarge(reader, output, method, budget, writing, no_progress);
    } catch (...) {
        std::fclose(frames);
        throw;
    }
    std::fclose(frames);
}

}  // namespace

bool fuzz_one(const uint8_t *data, std::size_t size) {
    if (size < 3) return false;
    const uint8_t choice = data[size - 1];
    const auto kind = static_cast<FuzzedKind>(data[size - 2] % 3);
    size -= 2;
    std::FILE *output = std::fopen("/dev/null", "wb");
    if (!output) return false;
    std::FILE *input = kind == FuzzedKind::picture ? fmemopen(const_cast<uint8_t *>(data), size, "rb") : nullptr;
    bool enlarged = false;
    try {
        if (kind == FuzzedKind::frame) enlarge_frame(data, size, output, choice);
        if (kind == FuzzedKind::model) enlarge_by_model(data, size, output, choice);
        if (input) enlarge_picture(input, output, choice);
        enlarged = true;
    } catch (const PictureError &) {  // what a file that is not right should give, and nothing else
    }
    if (input) std::fclose(input);
    std::fclose(output);
    return enlarged;
}

}  // namespace upsample::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
    upsample::testing::fuzz_one(data, size);
    return 0;
}

// One picture of arbitrary bytes through the whole program; libFuzzer's entry, and upsample_fuzz_test.cpp's.
#include <cstdint>
#include <cstdio>

#include "enlarge.h"

/// The last byte chooses the method, the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
    using namespace upsample;
    if (size < 2) return 0;
    std::FILE *input = fmemopen(const_cast<uint8_t *>(data), size - 1, "rb");
    std::FILE *output = std::fopen("/dev/null", "wb");
    if (input && output) {
        Method method;
        method.filter = static_cast<Filter>(data[size - 1] % 4);
        method.scale = 2 + data[size - 1] / 4 % 2;
        method.linear_light = data[size - 1] & 128;
        if (data[size - 1] & 64) method.scale = 1.25;
        constexpr Format formats[] = {Format::png, Format::jpeg, Format::webp, Format::png};
        WritingOptions writing;
        writing.format = formats[data[size - 1] / 16 % 4];
        writing.compression = 1;
        Limits limits;
        limits.pixels = 1 << 14;
        limits.chunk_bytes = 1 << 16;
        limits.memory = 256 << 20;
        try {
            enlarge(input, output, method, limits, writing, {[](int64_t) {}, [](int64_t) {}});
        } catch (const PictureError &) {  // what a file that is not a picture should give, and nothing else
        }
    }
    if (input) std::fclose(input);
    if (output) std::fclose(output);
    return 0;
}

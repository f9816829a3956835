// A bounded run of the fuzzer's entry, with every compiler: seeded changes of good pictures. For longer ones
// there is the target upsample_fuzz, see docs/upsample.md.
#include <zlib.h>

#include "upsample_pictures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size);

namespace upsample::testing {
namespace {

std::vector<std::vector<uint8_t>> good_pictures() {
    const auto chunks = [](png_structp png, png_infop info) {
        png_set_gAMA(png, info, 0.45);
        png_set_pHYs(png, info, 1000, 1000, PNG_RESOLUTION_METER);
        png_text text{};
        text.key = const_cast<char *>("Comment");
        text.text = const_cast<char *>("some text");
        text.compression = PNG_TEXT_COMPRESSION_zTXt;
        png_set_text(png, info, &text, 1);
    };
    std::vector<std::vector<uint8_t>> pictures;
    for (int channels = 1; channels <= 4; ++channels) {
        pictures.push_back(make_png8(9, 7, channels, random_bytes(9 * 7 * channels, channels), chunks));
    }
    const std::vector<std::vector<uint8_t>> rows(8, random_bytes(16, 6));
    pictures.push_back(make_png({8, 8, PNG_COLOR_TYPE_GRAY, 16, true}, rows));
    pictures.push_back(make_png({13, 8, PNG_COLOR_TYPE_GRAY, 2, true}, rows));
    return pictures;
}

uint32_t big_endian(const uint8_t *bytes) {
    return bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/// Makes the checksums of all chunks right again, so that a change gets past them.
void mend_checksums(std::vector<uint8_t> &png) {
    for (std::size_t at = 8; at + 12 <= png.size();) {
        const std::size_t length = big_endian(&png[at]);
        if (length > png.size() - at - 12) return;
        const uint32_t sum = crc32(0, &png[at + 4], length + 4);
        for (int i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

TEST(Fuzz, ChangedPicturesGiveErrorsOrPictures) {
    std::mt19937 random(1);
    const std::vector<std::vector<uint8_t>> pictures = good_pictures();
    for (int round = 0; round < 4000; ++round) {
        std::vector<uint8_t> png = pictures[random() % pictures.size()];
        for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
            const std::size_t at = 8 + random() % (png.size() - 8);
            switch (random() % 4) {
                case 0:
                    png[at] ^= 1 << random() % 8;
                    break;
                case 1:
                    png[at] = static_cast<uint8_t>(random());
                    break;
                case 2:
                    png.erase(png.begin() + at);
                    break;
                case 3:
                    png.insert(png.begin() + at, static_cast<uint8_t>(random()));
                    break;
            }
        }
        if (round % 2 == 0) mend_checksums(png);
        png.push_back(static_cast<uint8_t>(random()));
        ASSERT_NO_THROW(LLVMFuzzerTestOneInput(png.data(), png.size())) << "round " << round;
    }
}

}  // namespace
}  // namespace upsample::testing

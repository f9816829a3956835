// A bounded run of the fuzzer's entry, with every compiler: seeded changes of good pictures, frames and models.
// UPSAMPLE_FUZZED_INPUTS sets how many, UPSAMPLE_FUZZ_SEED which; for runs that are guided by coverage there is the target
// upsample_fuzz, see docs/upsample.md.
#include "upsample_fuzz.h"

#include <cstdlib>
#include <sstream>

#include "upsample_models.h"
#include "upsample_png_files.h"

namespace upsample::testing {
namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> good_pngs() {
    const auto chunks = [](png_structp png, png_infop info) {
        png_set_gAMA(png, info, 0.45);
        png_set_pHYs(png, info, 1000, 1000, PNG_RESOLUTION_METER);
        png_text text{};
        text.key = const_cast<char *>("Comment");
        text.text = const_cast<char *>("some text");
        text.compression = PNG_TEXT_COMPRESSION_zTXt;
        png_set_text(png, info, &text, 1);
    };
    std::vector<Bytes> pictures;
    for (int channels = 1; channels <= 4; ++channels) {
        pictures.push_back(make_png8(9, 7, channels, random_bytes(9 * 7 * channels, channels), chunks));
    }
    const std::vector<Bytes> rows(8, random_bytes(16, 6));
    pictures.push_back(make_png({8, 8, PNG_COLOR_TYPE_GRAY, 16, true}, rows));
    pictures.push_back(make_png({13, 8, PNG_COLOR_TYPE_GRAY, 2, true}, rows));
    return pictures;
}

/// As this program writes them, with Exif.
std::vector<Bytes> good_pictures_of(Format format) {
    const auto with_exif = [](png_structp png, png_infop info) {
        png_byte exif[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0};
        png_set_eXIf_1(png, info, sizeof exif, exif);
    };
    std::vector<Bytes> pictures;
    for (const int channels : {1, 3, 4}) {
        if (channels == 4 && format == Format::jpeg) continue;
        WritingOptions options;
        options.format = format;
        for (const bool lossless : {false, true}) {
            options.lossless = lossless;
            options.quality = lossless ? 100 : 60;
            const Bytes png = make_png8(9, 7, channels, random_bytes(9 * 7 * channels, channels), with_exif);
            pictures.push_back(enlarge_bytes(png, filtering(Filter::bilinear, 2), options));
        }
    }
    return pictures;
}

std::vector<Bytes> good_frames() {
    std::vector<Bytes> frames;
    for (const char *layout : {"4x3", "3x4:gray", "2x2:rgba", "3x2:gray16le", "2x3:rgba64le"}) {
        Bytes frame(layout, layout + std::char_traits<char>::length(layout) + 1);
        const Bytes samples = random_bytes(96, 5);
        frame.insert(frame.end(), samples.begin(), samples.end());
        frames.push_back(frame);
    }
    return frames;
}

std::vector<Bytes> good_models() {
    const TemporaryFolder folder;
    std::vector<Bytes> models;
    for (const auto &make : {small_upconv, small_cunet, small_esrgan, small_cugan, write_two_layers}) {
        const std::string param = make(folder), stem = param.substr(0, param.rfind('.'));
        std::stringstream text, weights;
        text << std::ifstream(param).rdbuf();
        weights << std::ifstream(stem + ".bin", std::ios::binary).rdbuf();
        const std::string all = text.str() + '\0' + weights.str();
        models.emplace_back(all.begin(), all.end());
    }
    return models;
}

uint32_t big_endian(const uint8_t *bytes) {
    return bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/// Makes the checksums of all chunks right again, so that a change gets past them.
void mend_checksums(Bytes &png) {
    for (std::size_t at = 8; at + 12 <= png.size();) {
        const std::size_t length = big_endian(&png[at]);
        if (length > png.size() - at - 12) return;
        const uint32_t sum = crc32(0, &png[at + 4], length + 4);
        for (int i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

/// Up to four bytes flipped, replaced, taken out or put in; of a text rather by what such texts are made of.
void change(Bytes &file, std::mt19937 &random, std::size_t first, std::size_t text_bytes) {
    for (unsigned changes = 1 + random() % 4; changes > 0 && file.size() > first; --changes) {
        const bool in_text = text_bytes > first && random() % 8 != 0;
        const std::size_t at = first + random() % ((in_text ? std::min(text_bytes, file.size()) : file.size()) - first);
        const auto value = static_cast<uint8_t>(in_text ? "0123456789 =-,x\n"[random() % 16] : random());
        switch (random() % 4) {
            case 0: file[at] ^= in_text ? 1 : 1 << random() % 8; break;
            case 1: file[at] = value; break;
            case 2: file.erase(file.begin() + at); break;
            case 3: file.insert(file.begin() + at, value); break;
        }
    }
}

long number_asked_for(const char *variable, long otherwise) {
    const char *asked = std::getenv(variable);
    return asked ? std::atol(asked) : otherwise;
}

/// Changes one of the files, and again another, each from the same seed.
void fuzz(const std::vector<Bytes> &files, FuzzedKind kind, std::size_t first, bool is_png = false) {
    std::mt19937 random(static_cast<unsigned>(number_asked_for("UPSAMPLE_FUZZ_SEED", 1)));
    long enlarged = 0;
    const long inputs = number_asked_for("UPSAMPLE_FUZZED_INPUTS", 5000) / 5, peak_before = peak_kilobytes();
    for (long round = 0; round < inputs; ++round) {
        Bytes file = files[random() % files.size()];
        const std::size_t text_bytes =
            kind == FuzzedKind::picture ? 0 : std::find(file.begin(), file.end(), uint8_t{0}) - file.begin();
        change(file, random, first, text_bytes);
        if (is_png && round % 2 == 0) mend_checksums(file);
        file.push_back(static_cast<uint8_t>(kind));
        file.push_back(static_cast<uint8_t>(random()));
        ASSERT_NO_THROW(enlarged += fuzz_one(file.data(), file.size())) << "round " << round;
    }
    std::printf("%ld inputs, %ld of them enlarged, peak of memory %ld KiB higher\n", inputs, enlarged,
                peak_kilobytes() - peak_before);
    EXPECT_GT(enlarged, inputs / 100);  // else only the first check of a decoder is tried
    EXPECT_LT(enlarged, inputs);
    EXPECT_LT(peak_kilobytes() - peak_before, 512 << 10) << "KiB";
}

TEST(Fuzz, ChangedPngsGiveErrorsOrPictures) { fuzz(good_pngs(), FuzzedKind::picture, 8, true); }
TEST(Fuzz, ChangedJpegsGiveErrorsOrPictures) { fuzz(good_pictures_of(Format::jpeg), FuzzedKind::picture, 2); }
TEST(Fuzz, ChangedWebpsGiveErrorsOrPictures) { fuzz(good_pictures_of(Format::webp), FuzzedKind::picture, 4); }
TEST(Fuzz, ChangedFramesGiveErrorsOrPictures) { fuzz(good_frames(), FuzzedKind::frame, 0); }
TEST(Fuzz, ChangedModelsGiveErrorsOrPictures) { fuzz(good_models(), FuzzedKind::model, 8); }

}  // namespace
}  // namespace upsample::testing

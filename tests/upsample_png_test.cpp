// PNG in and out: every kind of picture, metadata, limits and damaged files.
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

#include "enlarge.h"
#include "png_io.h"
#include "upsample_pictures.h"

namespace upsample::testing {
namespace {

struct Decoded {
    Header header;
    std::vector<int> samples;  // interleaved
};

Decoded decode(const std::vector<uint8_t> &png, const Limits &limits = {}) {
    const File file = file_of(png);
    PngReader reader(file.get(), limits);
    Decoded result{reader.header(), {}};
    std::vector<uint8_t> bytes(reader.header().row_bytes() * result.header.shape.height);
    reader.read(bytes.data(), result.header.shape.height);
    reader.finish();
    for (std::size_t i = 0; i < bytes.size(); i += result.header.bits / 8) {
        uint16_t wide = 0;
        std::memcpy(&wide, &bytes[i], result.header.bits == 16 ? 2 : 0);
        result.samples.push_back(result.header.bits == 16 ? wide : bytes[i]);
    }
    return result;
}

std::vector<uint8_t> enlarge_bytes(const std::vector<uint8_t> &png, const Method &method,
                                   const WritingOptions &options = {}, const Limits &limits = {}) {
    const File input = file_of(png), output = temporary_file();
    enlarge(input.get(), output.get(), method, limits, options, {[](int64_t) {}, [](int64_t) {}});
    return bytes_of(output.get());
}

WritingOptions stripped() {
    WritingOptions options;
    options.keep_metadata = false;
    return options;
}

Method filtering(Filter filter, int scale) {
    Method method;
    method.filter = filter;
    method.scale = scale;
    return method;
}

// ---- every kind of picture

struct Kind {
    int colour_type, depth;
    bool interlaced, transparent;
};

class EveryKind : public ::testing::TestWithParam<Kind> {};

int channels_in_file(int colour_type) {
    switch (colour_type) {
        case PNG_COLOR_TYPE_RGB:
            return 3;
        case PNG_COLOR_TYPE_GRAY_ALPHA:
            return 2;
        case PNG_COLOR_TYPE_RGB_ALPHA:
            return 4;
        default:
            return 1;
    }
}

/// What the raw values of a pixel mean, by the words of the PNG specification.
std::vector<int> meaning(const Kind &kind, const std::vector<int> &raw, const std::vector<png_color> &palette,
                         const std::vector<int> &key) {
    if (kind.colour_type == PNG_COLOR_TYPE_PALETTE) {
        const png_color colour = palette[raw[0]];
        std::vector<int> pixel = {colour.red, colour.green, colour.blue};
        if (kind.transparent) pixel.push_back(raw[0] == 0 ? 17 : raw[0] == 1 ? 200 : 255);
        return pixel;
    }
    std::vector<int> pixel = raw;
    if (kind.depth < 8) pixel[0] = raw[0] * 255 / ((1 << kind.depth) - 1);
    if (kind.transparent) pixel.push_back(raw == key ? 0 : kind.depth == 16 ? 65535 : 255);
    return pixel;
}

TEST_P(EveryKind, IsDecodedAsThePngSpecificationSays) {
    const Kind kind = GetParam();
    const int width = 13, height = 9, channels = channels_in_file(kind.colour_type);
    std::mt19937 random(kind.colour_type * 100 + kind.depth);
    std::vector<png_color> palette(1 << std::min(kind.depth, 8));
    for (png_color &c : palette) c = {png_byte(random()), png_byte(random()), png_byte(random())};
    std::vector<int> key;

    std::vector<std::vector<uint8_t>> rows;
    std::vector<std::vector<int>> raw_pixels;
    for (int y = 0; y < height; ++y) {
        std::vector<uint8_t> row((width * channels * kind.depth + 7) / 8);
        for (int x = 0; x < width; ++x) {
            std::vector<int> pixel;
            for (int c = 0; c < channels; ++c) {
                const int value = random() % (1 << kind.depth), at = x * channels + c;
                pixel.push_back(value);
                if (kind.depth == 16) {
                    row[at * 2] = value >> 8;
                    row[at * 2 + 1] = value & 255;
                } else {
                    row[at * kind.depth / 8] |= value << (8 - kind.depth - at * kind.depth % 8);
                }
            }
            if (key.empty()) key = pixel;
            raw_pixels.push_back(pixel);
        }
        rows.push_back(row);
    }
    const auto add_chunks = [&](png_structp png, png_infop info) {
        if (kind.colour_type == PNG_COLOR_TYPE_PALETTE)
            png_set_PLTE(png, info, palette.data(), palette.size());
        if (!kind.transparent) return;
        png_byte alphas[] = {17, 200};
        png_color_16 colour{};
        colour.gray = key[0];
        if (channels == 3) {
            colour.red = key[0];
            colour.green = key[1];
            colour.blue = key[2];
        }
        const bool is_palette = kind.colour_type == PNG_COLOR_TYPE_PALETTE;
        png_set_tRNS(png, info, is_palette ? alphas : nullptr, is_palette ? 2 : 1,
                     is_palette ? nullptr : &colour);
    };
    const std::vector<uint8_t> png =
        make_png({width, height, kind.colour_type, kind.depth, kind.interlaced}, rows, add_chunks);

    std::vector<int> expected;
    for (const auto &raw : raw_pixels) {
        for (const int sample : meaning(kind, raw, palette, key)) expected.push_back(sample);
    }
    const Decoded decoded = decode(png);
    EXPECT_EQ(decoded.header.bits, kind.depth == 16 ? 16 : 8);
    EXPECT_EQ(decoded.samples, expected);

    // Through the whole program, nothing is lost: each sample becomes four, those of invisible pixels too.
    const Decoded enlarged = decode(enlarge_bytes(png, filtering(Filter::nearest, 2)));
    const int out = decoded.header.shape.channels;
    ASSERT_EQ(enlarged.header.shape.channels, out);
    EXPECT_EQ(enlarged.header.bits, decoded.header.bits);
    for (int y = 0; y < height * 2; ++y) {
        for (int x = 0; x < width * 2; ++x) {
            const int *from = &expected[(y / 2 * width + x / 2) * out],
                      *to = &enlarged.samples[(y * width * 2 + x) * out];
            for (int c = 0; c < out; ++c)
                ASSERT_EQ(to[c], from[c]) << x << ", " << y << ", " << c;
        }
    }
}

std::vector<Kind> every_kind() {
    std::vector<Kind> kinds;
    for (const bool interlaced : {false, true}) {
        for (const bool transparent : {false, true}) {
            for (const int depth : {1, 2, 4, 8, 16})
                kinds.push_back({PNG_COLOR_TYPE_GRAY, depth, interlaced, transparent});
            for (const int depth : {1, 2, 4, 8})
                kinds.push_back({PNG_COLOR_TYPE_PALETTE, depth, interlaced, transparent});
            for (const int depth : {8, 16})
                kinds.push_back({PNG_COLOR_TYPE_RGB, depth, interlaced, transparent});
        }
        for (const int depth : {8, 16}) {
            kinds.push_back({PNG_COLOR_TYPE_GRAY_ALPHA, depth, interlaced, false});
            kinds.push_back({PNG_COLOR_TYPE_RGB_ALPHA, depth, interlaced, false});
        }
    }
    return kinds;
}

std::string kind_name(const ::testing::TestParamInfo<Kind> &info) {
    const char *names[] = {"Gray", "", "Rgb", "Palette", "GrayAlpha", "", "RgbAlpha"};
    return names[info.param.colour_type] + std::to_string(info.param.depth) +
           (info.param.transparent ? "Transparent" : "") + (info.param.interlaced ? "Interlaced" : "");
}

INSTANTIATE_TEST_SUITE_P(Png, EveryKind, ::testing::ValuesIn(every_kind()), kind_name);

// ---- alpha

TEST(Alpha, ColoursOfInvisiblePixelsDoNotBleed) {
    // Left half opaque green, right half invisible red: no red may appear.
    const int width = 16, height = 8;
    std::vector<uint8_t> samples;
    for (int i = 0; i < width * height; ++i) {
        const bool visible = i % width < width / 2;
        samples.insert(samples.end(), {uint8_t(visible ? 0 : 255), uint8_t(visible ? 255 : 0), 0,
                                       uint8_t(visible ? 255 : 0)});
    }
    for (const Filter filter : {Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
        const Decoded result =
            decode(enlarge_bytes(make_png8(width, height, 4, samples), filtering(filter, 3)));
        for (std::size_t i = 0; i < result.samples.size(); i += 4) {
            ASSERT_EQ(result.samples[i], 0);
            ASSERT_TRUE(result.samples[i + 3] == 0 || result.samples[i + 1] == 255);
        }
    }
}

TEST(Alpha, OpaquePicturesStayOpaque) {
    std::vector<uint8_t> samples = random_bytes(20 * 20 * 4, 3);
    for (std::size_t i = 3; i < samples.size(); i += 4) samples[i] = 255;
    const Decoded result =
        decode(enlarge_bytes(make_png8(20, 20, 4, samples), filtering(Filter::lanczos, 5)));
    for (std::size_t i = 3; i < result.samples.size(); i += 4) ASSERT_EQ(result.samples[i], 255);
}

// ---- linear light

TEST(LinearLight, KeepsEvenColoursAndMixesLightNotCodes) {
    std::vector<uint8_t> samples;
    for (int i = 0; i < 32 * 8; ++i) samples.push_back(i % 32 < 16 ? 0 : 255);
    Method method = filtering(Filter::bilinear, 2);
    method.linear_light = true;
    for (const int channels : {1, 3}) {
        std::vector<uint8_t> pixels;
        for (const uint8_t sample : samples) pixels.insert(pixels.end(), channels, sample);
        const Decoded result = decode(enlarge_bytes(make_png8(32, 8, channels, pixels), method));
        EXPECT_EQ(result.samples[0], 0);
        EXPECT_EQ(result.samples[63 * channels], 255);
        // A quarter of the light is sRGB's code 137, three quarters are 225.
        EXPECT_NEAR(result.samples[31 * channels], 137, 1);
        EXPECT_NEAR(result.samples[32 * channels], 225, 1);
    }
}

TEST(LinearLight, UsesThePicturesGamma) {
    std::vector<uint8_t> samples;
    for (int i = 0; i < 32 * 8; ++i) samples.push_back(i % 32 < 16 ? 0 : 255);
    Method method = filtering(Filter::bilinear, 2);
    method.linear_light = true;
    const auto gamma = [](png_structp png, png_infop info) { png_set_gAMA(png, info, 0.5); };
    const Decoded result = decode(enlarge_bytes(make_png8(32, 8, 1, samples, gamma), method));
    EXPECT_NEAR(result.samples[31], 127.5, 1);  // the square root of a quarter
}

TEST(LinearLight, RefusesAProfileWithoutCurves) {
    // Good enough for libpng, which looks at the header and at the table of tags.
    const auto damaged = [](png_structp png, png_infop info) {
        std::vector<png_byte> profile =
            random_bytes(352, 1);  // much shorter when compressed is too short for libpng
        std::fill_n(profile.begin(), 144, 0);
        profile[2] = 1;
        profile[3] = 96;  // its own length
        std::memcpy(&profile[12], "mntrGRAYXYZ ", 12);
        std::memcpy(&profile[36], "acsp", 4);
        std::memcpy(&profile[68], "\0\0\xF6\xD6\0\1\0\0\0\0\xD3\x2D", 12);  // D50
        profile[131] = 1;                                                   // tag, at 144
        std::memcpy(&profile[132], "cprt\0\0\0\x90\0\0\0\xD0", 12);
        std::memcpy(&profile[144], "text", 4);
        png_set_iCCP(png, info, "gray", PNG_COMPRESSION_TYPE_BASE, profile.data(), profile.size());
    };
    Method method = filtering(Filter::bilinear, 2);
    method.linear_light = true;
    const std::vector<uint8_t> png = make_png8(4, 4, 1, std::vector<uint8_t>(16), damaged);
    const File file = file_of(png);
    ASSERT_EQ(PngReader(file.get(), {}).metadata().icc.size(), 352u);
    EXPECT_THROW(enlarge_bytes(png, method), PictureError);
}

// ---- metadata

void add_everything(png_structp png, png_infop info) {
    png_set_gAMA_fixed(png, info, 45455);
    png_set_cHRM_fixed(png, info, 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_SATURATION);
    png_set_pHYs(png, info, 2835, 1417, PNG_RESOLUTION_METER);
    png_text texts[3] = {};
    texts[0].key = const_cast<char *>("Title");
    texts[0].text = const_cast<char *>("plain");
    texts[0].compression = PNG_TEXT_COMPRESSION_NONE;
    texts[1].key = const_cast<char *>("Comment");
    texts[1].text = const_cast<char *>("compressed");
    texts[1].compression = PNG_TEXT_COMPRESSION_zTXt;
    texts[2].key = const_cast<char *>("Author");
    texts[2].text = const_cast<char *>("\xC3\x85ngstr\xC3\xB6m");
    texts[2].lang = const_cast<char *>("sv");
    texts[2].lang_key = const_cast<char *>("F\xC3\xB6rfattare");
    texts[2].compression = PNG_ITXT_COMPRESSION_zTXt;
    png_set_text(png, info, texts, 3);
    png_byte exif[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0};
    png_set_eXIf_1(png, info, sizeof exif, exif);
    const png_time time = {2026, 11, 21, 4, 5, 6};
    png_set_tIME(png, info, &time);
}

void add_late_text(png_structp png, png_infop info) {
    png_text text{};
    text.key = const_cast<char *>("Description");
    text.text = const_cast<char *>("after the picture");
    text.compression = PNG_TEXT_COMPRESSION_NONE;
    png_set_text(png, info, &text, 1);
}

/// Opens a PNG with libpng alone and lets the test look at it.
void inspect(const std::vector<uint8_t> &bytes,
             const std::function<void(png_structp, png_infop, png_infop)> &look) {
    const File file = file_of(bytes);
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png), end = png_create_info_struct(png);
    png_init_io(png, file.get());
    png_read_info(png, info);
    const std::size_t row_bytes = png_get_rowbytes(png, info);
    std::vector<std::vector<png_byte>> rows(png_get_image_height(png, info),
                                            std::vector<png_byte>(row_bytes));
    for (auto &row : rows) png_read_row(png, row.data(), nullptr);
    png_read_end(png, end);
    look(png, info, end);
    png_destroy_read_struct(&png, &info, &end);
}

std::vector<std::string> texts_of(png_structp png, png_infop info) {
    png_textp texts = nullptr;
    int count = 0;
    png_get_text(png, info, &texts, &count);
    std::vector<std::string> result;
    for (int i = 0; i < count; ++i) {
        const bool international = texts[i].compression >= PNG_ITXT_COMPRESSION_NONE;
        result.push_back(std::to_string(texts[i].compression) + " " + texts[i].key + ": " + texts[i].text +
                         (international ? std::string(" ") + texts[i].lang + " " + texts[i].lang_key : ""));
    }
    return result;
}

TEST(Metadata, TravelsWithThePicture) {
    const std::vector<uint8_t> png = make_png8(5, 4, 3, random_bytes(60, 1), add_everything, add_late_text);
    inspect(enlarge_bytes(png, filtering(Filter::bicubic, 3)), [](png_structp png, png_infop info,
                                                                  png_infop end) {
        png_fixed_point gamma = 0, c[8] = {};
        EXPECT_TRUE(png_get_gAMA_fixed(png, info, &gamma));
        EXPECT_EQ(gamma, 45455);
        EXPECT_TRUE(png_get_cHRM_fixed(png, info, &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7]));
        EXPECT_EQ(c[2], 64000);
        int intent = 0;
        EXPECT_TRUE(png_get_sRGB(png, info, &intent));
        EXPECT_EQ(intent, PNG_sRGB_INTENT_SATURATION);
        png_uint_32 x = 0, y = 0;
        int unit = 0;
        EXPECT_TRUE(png_get_pHYs(png, info, &x, &y, &unit));
        EXPECT_EQ(x, 3u * 2835);  // three times as many pixels a metre: the printed size stays
        EXPECT_EQ(y, 3u * 1417);
        png_uint_32 exif_bytes = 0;
        png_bytep exif = nullptr;
        EXPECT_TRUE(png_get_eXIf_1(png, info, &exif_bytes, &exif));
        EXPECT_EQ(exif_bytes, 14u);
        png_timep time = nullptr;
        ASSERT_TRUE(png_get_tIME(png, info, &time) || png_get_tIME(png, end, &time));
        EXPECT_EQ(time->second, 6);
        const std::vector<std::string> expected = {"-1 Title: plain", "0 Comment: compressed",
                                                   "2 Author: \xC3\x85ngstr\xC3\xB6m sv F\xC3\xB6rfattare"};
        EXPECT_EQ(texts_of(png, info), expected);
        EXPECT_EQ(texts_of(png, end), std::vector<std::string>{"-1 Description: after the picture"});
    });
}

TEST(Metadata, CanBeStripped) {
    const std::vector<uint8_t> png = make_png8(5, 4, 3, random_bytes(60, 1), add_everything, add_late_text);
    const std::vector<uint8_t> result = enlarge_bytes(png, filtering(Filter::bicubic, 2), stripped());
    inspect(result, [](png_structp png, png_infop info, png_infop end) {
        constexpr png_uint_32 all =
            PNG_INFO_gAMA | PNG_INFO_cHRM | PNG_INFO_sRGB | PNG_INFO_pHYs | PNG_INFO_tIME | PNG_INFO_eXIf;
        EXPECT_EQ(png_get_valid(png, info, all), 0u);
        EXPECT_TRUE(texts_of(png, info).empty());
        EXPECT_TRUE(texts_of(png, end).empty());
    });
}

// ---- limits and damage

TEST(Limits, RefuseAChunkThatClaimsAGigabyte) {
    std::vector<uint8_t> png = make_png8(4, 4, 1, std::vector<uint8_t>(16));
    const uint8_t chunk[] = {0x3f, 0xff, 0xff, 0xff, 'z', 'T', 'X', 't', 'k', 'e', 'y', 0};
    png.insert(png.begin() + 33, std::begin(chunk), std::end(chunk));  // after the header
    try {
        decode(png);
        ADD_FAILURE() << "was accepted";
    } catch (const PictureError &error) {
        EXPECT_NE(std::string(error.what()).find("--max-chunk-bytes"), std::string::npos) << error.what();
    }
}

TEST(Limits, RefuseTooManyPixels) {
    const std::vector<uint8_t> png = make_png8(100, 10, 1, std::vector<uint8_t>(1000));
    Limits limits;
    limits.pixels = 999;
    EXPECT_THROW(decode(png, limits), PictureError);
    limits.pixels = 1000;
    EXPECT_EQ(decode(png, limits).samples.size(), 1000u);
}

/// A chunk with its length and checksum.
std::vector<uint8_t> chunk_bytes(const std::string &name, const std::string &content) {
    std::vector<uint8_t> bytes;
    const auto number = [&](uint32_t value) {
        for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(value >> shift));
    };
    number(static_cast<uint32_t>(content.size()));
    const std::string text = name + content;
    bytes.insert(bytes.end(), text.begin(), text.end());
    number(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef *>(text.data()), static_cast<uInt>(text.size()))));
    return bytes;
}

/// A small picture with chunks behind its header.
std::vector<uint8_t> with_chunks(const std::vector<std::pair<std::string, std::string>> &chunks) {
    std::vector<uint8_t> png = make_png8(4, 4, 1, std::vector<uint8_t>(16));
    std::vector<uint8_t> added;
    for (const auto &[name, content] : chunks) {
        const std::vector<uint8_t> bytes = chunk_bytes(name, content);
        added.insert(added.end(), bytes.begin(), bytes.end());
    }
    png.insert(png.begin() + 33, added.begin(), added.end());
    return png;
}

std::string as_text(const std::vector<uint8_t> &bytes) {
    return {bytes.begin(), bytes.end()};
}

Report report_of(const std::vector<uint8_t> &png, std::vector<uint8_t> &result, const Limits &limits = {}) {
    const File input = file_of(png), output = temporary_file();
    const Report report = enlarge(input.get(), output.get(), filtering(Filter::bicubic, 2), limits, {},
                                  {[](int64_t) {}, [](int64_t) {}});
    result = bytes_of(output.get());
    return report;
}

TEST(Limits, CarryCompressedTextWithoutUnpackingIt) {
    // Two megabytes of compressed zeros would be two gigabytes of text.
    std::string bomb("Comment\0\0", 9);
    bomb += std::string(2'000'000, 'z');
    std::vector<uint8_t> result;
    EXPECT_TRUE(report_of(with_chunks({{"zTXt", bomb}}), result).losses.empty());
    EXPECT_NE(as_text(result).find(bomb), std::string::npos);
}

TEST(Limits, BoundTextAndChunksAltogether) {
    std::vector<std::pair<std::string, std::string>> chunks;
    for (int i = 0; i < 10; ++i) chunks.emplace_back("tEXt", std::string("Comment\0", 8) + std::string(1000, 'a' + i));
    Limits limits;
    limits.text_bytes = 4 * 1008;
    std::vector<uint8_t> result;
    Report report = report_of(with_chunks(chunks), result, limits);
    EXPECT_EQ(report.losses.size(), 6u);
    EXPECT_NE(as_text(result).find("dddd"), std::string::npos);
    EXPECT_EQ(as_text(result).find("eeee"), std::string::npos);
    limits = {};
    for (const uint32_t most : {0u, 1u, 3u}) {
        limits.chunks = most;
        report = report_of(with_chunks(chunks), result, limits);
        EXPECT_EQ(report.losses.size(), 10 - most);
        EXPECT_EQ(as_text(result).find(std::string(4, static_cast<char>('a' + most))), std::string::npos);
        EXPECT_EQ(as_text(result).find("aaaa") != std::string::npos, most > 0);
    }
}

TEST(Metadata, KeywordsThatAreNoneAreLeftOutAndTold) {
    for (const std::string &keyword : {std::string(), std::string("a\x1b[31m"), std::string(80, 'k')}) {
        for (const char *name : {"tEXt", "zTXt", "iTXt"}) {
            std::vector<uint8_t> result;
            const Report report = report_of(with_chunks({{name, keyword + std::string("\0\0\0\0\0text", 9)}}), result);
            ASSERT_EQ(report.losses.size(), 1u) << name << keyword;
            EXPECT_NE(report.losses[0].find("keyword"), std::string::npos) << report.losses[0];
            EXPECT_EQ(as_text(result).find(name), std::string::npos);
        }
    }
}

TEST(Metadata, ColoursOfTheThirdEditionAreKept) {
    const std::string cicp("\x09\x10\x00\x01", 4), mdcv(24, 'm'), clli(8, 'c');
    std::vector<uint8_t> result;
    EXPECT_TRUE(report_of(with_chunks({{"cICP", cicp}, {"mDCV", mdcv}, {"cLLI", clli}}), result).losses.empty());
    const std::string text = as_text(result);
    for (const std::string &chunk : {"cICP" + cicp, "mDCV" + mdcv, "cLLI" + clli}) {
        EXPECT_NE(text.find(chunk), std::string::npos);
        EXPECT_LT(text.find(chunk), text.find("IDAT"));
    }
}

TEST(Metadata, FramesOfAnAnimationAreToldToBeLost) {
    std::vector<uint8_t> result;
    const Report report = report_of(with_chunks({{"acTL", std::string("\0\0\0\2\0\0\0\0", 8)}}), result);
    ASSERT_EQ(report.losses.size(), 1u);
    EXPECT_NE(report.losses[0].find("animated"), std::string::npos);
}

TEST(Metadata, SizesInExifGrow) {
    // A directory with ImageWidth as a short, one with PixelYDimension as a long that Exif's own pointer leads to.
    const std::string exif("MM\0*\0\0\0\x08"
                           "\0\x02" "\x01\0\0\x03\0\0\0\x01\0\x04\0\0" "\x87\x69\0\x04\0\0\0\x01\0\0\0\x26" "\0\0\0\0"
                           "\0\x01" "\xA0\x03\0\x04\0\0\0\x01\0\0\0\x04" "\0\0\0\0", 56);
    std::vector<uint8_t> result;
    report_of(with_chunks({{"eXIf", exif}}), result);
    std::string expected = exif;
    expected.replace(12, 10, std::string("\0\x04\0\0\0\x01\0\0\0\x08", 10));
    expected[51] = 8;
    EXPECT_NE(as_text(result).find("eXIf" + expected), std::string::npos);
}

/// Bytes of this process that are not shared with files, at their highest.
long peak_kilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") return status >> word, std::stol(word);
    return 0;
}

TEST(Memory, IsToldAndBoundBeforeItIsTaken) {
    Limits limits;
    limits.memory = 8 << 20;
    const std::vector<uint8_t> interlaced = make_png({2048, 2048, PNG_COLOR_TYPE_RGB, 8, true},
                                                     std::vector<std::vector<uint8_t>>(2048, std::vector<uint8_t>(6144)));
    try {
        enlarge_bytes(interlaced, filtering(Filter::bilinear, 2), {}, limits);
        ADD_FAILURE() << "was accepted";
    } catch (const PictureError &error) {
        EXPECT_NE(std::string(error.what()).find("--memory"), std::string::npos) << error.what();
    }
    limits.memory = 128 << 20;
    EXPECT_EQ(decode(enlarge_bytes(interlaced, filtering(Filter::bilinear, 2), {}, limits)).header.shape.width, 4096);
}

TEST(Memory, IsNotTakenForPixelsThatDoNotCome) {
    for (const bool interlaced : {false, true}) {
        std::vector<uint8_t> png = make_png({16, 16, PNG_COLOR_TYPE_RGB_ALPHA, 16, interlaced},
                                            std::vector<std::vector<uint8_t>>(16, std::vector<uint8_t>(128)));
        png.resize(33);
        png[18] = png[22] = 48;  // 12304 x 12304
        png[17] = png[21] = 0;
        const std::vector<uint8_t> header = chunk_bytes("IHDR", std::string(png.begin() + 16, png.begin() + 29));
        std::copy(header.begin(), header.end(), png.begin() + 8);
        const long before = peak_kilobytes();
        EXPECT_THROW(enlarge_bytes(png, filtering(Filter::lanczos, 2)), PictureError);
        EXPECT_LT(peak_kilobytes() - before, 100'000) << "KiB more";
    }
}

TEST(Memory, IsBoundForLongRows) {
    // A row of the result is 13 MB in floats, eight rows and what a filter sees above and below much more.
    const int width = 100'000;
    const std::vector<uint8_t> png = make_png8(width, 5, 4, std::vector<uint8_t>(width * 5 * 4, 77));
    const long before = peak_kilobytes();
    const std::vector<uint8_t> result = enlarge_bytes(png, filtering(Filter::lanczos, 8));
    EXPECT_LT(peak_kilobytes() - before, 400'000) << "KiB more";  // where 1.4 GB were taken once
    EXPECT_GT(result.size(), 1000u);
}

TEST(Damage, EveryTruncationIsAnError) {
    const std::vector<uint8_t> png = make_png8(8, 8, 3, random_bytes(192, 5), add_everything, add_late_text);
    for (std::size_t length = 0; length < png.size(); ++length) {
        const std::vector<uint8_t> part(png.begin(), png.begin() + length);
        EXPECT_THROW(enlarge_bytes(part, filtering(Filter::bilinear, 2)), PictureError) << length << " bytes";
    }
}

TEST(Damage, AChangedByteIsAnErrorOrHarmless) {
    const std::vector<uint8_t> png = make_png8(8, 8, 3, random_bytes(192, 5), add_everything);
    int refused = 0;
    for (std::size_t at = 0; at < png.size(); ++at) {
        std::vector<uint8_t> changed = png;
        changed[at] ^= 0x55;
        try {
            const Decoded result = decode(enlarge_bytes(changed, filtering(Filter::bilinear, 2)));
            EXPECT_EQ(result.header.shape.width, 16) << "byte " << at;
        } catch (const PictureError &) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 200);  // signature, header and picture data at least
}

TEST(Damage, SomethingElseThanAPngIsRefused) {
    EXPECT_THROW(decode({'G', 'I', 'F', '8', '9', 'a', 0, 0, 0, 0}), PictureError);
    EXPECT_THROW(decode({}), PictureError);
}

TEST(Writing, AFullDeviceIsAnError) {
    const File full(std::fopen("/dev/full", "wb"));
    if (!full) GTEST_SKIP() << "/dev/full is not there";
    const File input = file_of(make_png8(64, 64, 3, random_bytes(64 * 64 * 3, 2)));
    EXPECT_THROW(enlarge(input.get(), full.get(), filtering(Filter::lanczos, 4), {}, {},
                         {[](int64_t) {}, [](int64_t) {}}),
                 PictureError);
}

}  // namespace
}  // namespace upsample::testing

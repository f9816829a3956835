// What a PNG says beside its pixels: carried along, made new, or told to be lost.
#include "upsample_png_files.h"

namespace upsample::testing {
namespace {

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

}  // namespace
}  // namespace upsample::testing

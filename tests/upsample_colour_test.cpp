// What mixes: colours under alpha, and light.
#include "upsample_png_files.h"

namespace upsample::testing {
namespace {

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
    ASSERT_EQ(read_png(file.get(), {})->metadata().icc.size(), 352u);
    EXPECT_THROW(enlarge_bytes(png, method), PictureError);
}

}  // namespace
}  // namespace upsample::testing

// Limits on what a file may ask of this machine.
#include "upsample_png_files.h"

namespace upsample::testing {
namespace {

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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer keeps several bytes for each that is used";
#endif
    // A row of the result is 13 MB in floats, eight rows and what a filter sees above and below much more.
    const int width = 100'000;
    const std::vector<uint8_t> png = make_png8(width, 5, 4, std::vector<uint8_t>(width * 5 * 4, 77));
    const long before = peak_kilobytes();
    const std::vector<uint8_t> result = enlarge_bytes(png, filtering(Filter::lanczos, 8));
    EXPECT_LT(peak_kilobytes() - before, 400'000) << "KiB more";  // where 1.4 GB were taken once
    EXPECT_GT(result.size(), 1000u);
}

}  // namespace
}  // namespace upsample::testing

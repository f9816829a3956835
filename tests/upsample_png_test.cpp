// PNG: every kind of picture against the words of the specification, damaged files, full disks.
#include "upsample_png_files.h"

namespace upsample::testing {
namespace {

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

constexpr int width = 13, height = 9;

/// Random pixels: a file of them, and what they mean.
class RandomPicture {
  public:
    explicit RandomPicture(const Kind &kind) : kind_(kind) {
        std::mt19937 random(kind.colour_type * 100 + kind.depth);
        for (png_color &c : palette_) c = {png_byte(random()), png_byte(random()), png_byte(random())};
        for (std::vector<int> &pixel : pixels_)
            for (int c = 0; c < channels_; ++c) pixel.push_back(random() % (1 << kind.depth));
    }

    std::vector<uint8_t> png() const {
        return make_png({width, height, kind_.colour_type, kind_.depth, kind_.interlaced}, rows(),
                        [&](png_structp png, png_infop info) { add_chunks(png, info); });
    }

    std::vector<int> samples() const {
        std::vector<int> all;
        for (const std::vector<int> &pixel : pixels_)
            for (const int sample : meaning(kind_, pixel, palette_, key())) all.push_back(sample);
        return all;
    }

  private:
    const Kind kind_;
    const int channels_ = channels_in_file(kind_.colour_type);
    std::vector<png_color> palette_ = std::vector<png_color>(1 << std::min(kind_.depth, 8));
    std::vector<std::vector<int>> pixels_ = std::vector<std::vector<int>>(width * height);

    /// The values that are transparent, where some are.
    const std::vector<int> &key() const { return pixels_[0]; }

    std::vector<std::vector<uint8_t>> rows() const {
        const int values = width * channels_, depth = kind_.depth;
        std::vector<std::vector<uint8_t>> rows(height, std::vector<uint8_t>((values * depth + 7) / 8));
        for (int i = 0; i < values * height; ++i) {
            const int at = i % values, value = pixels_[i / channels_][i % channels_];
            std::vector<uint8_t> &row = rows[i / values];
            if (depth == 16) row[at * 2] = value >> 8, row[at * 2 + 1] = value & 255;
            else row[at * depth / 8] |= value << (8 - depth - at * depth % 8);
        }
        return rows;
    }

    void add_chunks(png_structp png, png_infop info) const {
        const bool is_palette = kind_.colour_type == PNG_COLOR_TYPE_PALETTE;
        if (is_palette) png_set_PLTE(png, info, palette_.data(), palette_.size());
        if (!kind_.transparent) return;
        png_byte alphas[] = {17, 200};
        png_color_16 colour{};
        colour.gray = key()[0];
        if (channels_ == 3) colour.red = key()[0], colour.green = key()[1], colour.blue = key()[2];
        png_set_tRNS(png, info, is_palette ? alphas : nullptr, is_palette ? 2 : 1, is_palette ? nullptr : &colour);
    }
};

TEST_P(EveryKind, IsDecodedAsThePngSpecificationSays) {
    const Kind kind = GetParam();
    const RandomPicture picture(kind);
    const std::vector<uint8_t> png = picture.png();
    const std::vector<int> expected = picture.samples();
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

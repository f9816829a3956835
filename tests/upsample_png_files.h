// PNG files for tests: read and enlarged in memory, and made with metadata and with chunks of any content.
#ifndef UPSAMPLE_TESTS_PNG_FILES_H
#define UPSAMPLE_TESTS_PNG_FILES_H

#include <zlib.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "enlarge.h"
#include "picture_codecs.h"
#include "upsample_pictures.h"

namespace upsample::testing {

struct Decoded {
    Header header;
    std::vector<int> samples;  // interleaved
};

inline Decoded decode(const std::vector<uint8_t> &png, const Limits &limits = {}) {
    const File file = file_of(png);
    const std::unique_ptr<PictureReader> reader = read_png(file.get(), limits);
    Decoded result{reader->header(), {}};
    std::vector<uint8_t> bytes(reader->header().row_bytes() * result.header.shape.height);
    reader->read(bytes.data(), result.header.shape.height);
    reader->finish();
    for (std::size_t i = 0; i < bytes.size(); i += result.header.bits / 8) {
        uint16_t wide = 0;
        std::memcpy(&wide, &bytes[i], result.header.bits == 16 ? 2 : 0);
        result.samples.push_back(result.header.bits == 16 ? wide : bytes[i]);
    }
    return result;
}

inline std::vector<uint8_t> enlarge_bytes(const std::vector<uint8_t> &png, const Method &method,
                                   const WritingOptions &options = {}, const Limits &limits = {}) {
    const File input = file_of(png), output = temporary_file();
    enlarge(input.get(), output.get(), method, limits, options, {[](int64_t) {}, [](int64_t) {}});
    return bytes_of(output.get());
}

inline WritingOptions stripped() {
    WritingOptions options;
    options.keep_metadata = false;
    return options;
}

inline Method filtering(Filter filter, int scale) {
    Method method;
    method.filter = filter;
    method.scale = scale;
    return method;
}

inline void add_everything(png_structp png, png_infop info) {
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

inline void add_late_text(png_structp png, png_infop info) {
    png_text text{};
    text.key = const_cast<char *>("Description");
    text.text = const_cast<char *>("after the picture");
    text.compression = PNG_TEXT_COMPRESSION_NONE;
    png_set_text(png, info, &text, 1);
}

/// A chunk with its length and checksum.
inline std::vector<uint8_t> chunk_bytes(const std::string &name, const std::string &content) {
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
inline std::vector<uint8_t> with_chunks(const std::vector<std::pair<std::string, std::string>> &chunks) {
    std::vector<uint8_t> png = make_png8(4, 4, 1, std::vector<uint8_t>(16));
    std::vector<uint8_t> added;
    for (const auto &[name, content] : chunks) {
        const std::vector<uint8_t> bytes = chunk_bytes(name, content);
        added.insert(added.end(), bytes.begin(), bytes.end());
    }
    png.insert(png.begin() + 33, added.begin(), added.end());
    return png;
}

inline std::string as_text(const std::vector<uint8_t> &bytes) {
    return {bytes.begin(), bytes.end()};
}

inline Report report_of(const std::vector<uint8_t> &png, std::vector<uint8_t> &result, const Limits &limits = {}) {
    const File input = file_of(png), output = temporary_file();
    const Report report = enlarge(input.get(), output.get(), filtering(Filter::bicubic, 2), limits, {},
                                  {[](int64_t) {}, [](int64_t) {}});
    result = bytes_of(output.get());
    return report;
}

}  // namespace upsample::testing

#endif

#include "raw_io.h"

#include <cerrno>
#include <charconv>
#include <cstring>

namespace upsample {
namespace {

struct Layout {
    const char *name;
    int channels, bits;
};

constexpr Layout layouts[] = {{"rgb24", 3, 8},     {"gray", 1, 8},     {"ya8", 2, 8},      {"rgba", 4, 8},
                              {"gray16le", 1, 16}, {"rgb48le", 3, 16}, {"rgba64le", 4, 16}};

/// Takes a number off the text's front; 0 where there is none.
int64_t take_number(const char *&at, const char *end) {
    int64_t value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    at = after;
    return error == std::errc() && value > 0 && value <= 1'000'000 ? value : 0;
}

}  // namespace

Header parse_raw_format(const std::string &text) {
    const char *at = text.data(), *end = at + text.size();
    Header header;
    header.shape.width = take_number(at, end);
    if (at < end && *at == 'x') header.shape.height = take_number(++at, end);
    const std::string layout = at < end && *at == ':' ? std::string(at + 1, end) : at == end ? "rgb24" : "";
    if (header.shape.width > 0 && header.shape.height > 0) {
        for (const Layout &known : layouts) {
            if (layout != known.name) continue;
            header.shape.channels = known.channels;
            header.bits = known.bits;
            return header;
        }
    }
    std::string names;
    for (const Layout &known : layouts) names += std::string(names.empty() ? "" : ", ") + known.name;
    throw PictureError("\"" + text + "\" is not WIDTHxHEIGHT or WIDTHxHEIGHT:LAYOUT with a layout of " + names);
}

void RawReader::read(uint8_t *data, int64_t rows) {
    const std::size_t bytes = header_.row_bytes() * rows;
    if (std::fread(data, 1, bytes, stream_) != bytes)
        throw PictureError(std::ferror(stream_) ? std::strerror(errno) : "the last frame is not complete");
}

bool RawReader::has_more(std::FILE *stream) {
    const int next = std::fgetc(stream);
    if (next == EOF) return false;
    std::ungetc(next, stream);
    return true;
}

void RawWriter::write(Bytes rows, int64_t) {
    if (std::fwrite(rows.data(), 1, rows.size(), stream_) != rows.size()) throw PictureError(std::strerror(errno));
}

}  // namespace upsample

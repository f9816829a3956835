#include "formats.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "picture_codecs.h"
#include "raw_io.h"

namespace upsample {

std::optional<Format> format_of_name(const std::string &name) {
    const std::size_t dot = name.find_last_of("./");
    if (dot == std::string::npos || name[dot] != '.') return {};
    std::string extension = name.substr(dot + 1);
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (extension == "png") return Format::png;
    if (extension == "jpg" || extension == "jpeg") return Format::jpeg;
    if (extension == "webp") return Format::webp;
    return {};
}

std::unique_ptr<PictureReader> open_picture(std::FILE *stream, const Limits &limits) {
    const int first = std::fgetc(stream);
    if (first == EOF) throw PictureError(std::ferror(stream) ? std::strerror(errno) : "the file is empty");
    std::ungetc(first, stream);
    if (first == 0x89) return read_png(stream, limits);
    if (first == 0xFF) return read_jpeg(stream, limits);
    if (first == 'R') return read_webp(stream, limits);
    throw PictureError("the file is neither a PNG, a JPEG nor a WebP picture");
}

Header written_header(Format format, Header header) {
    if (format == Format::png || format == Format::raw) return header;
    if (format == Format::jpeg && header.shape.has_alpha())
        throw PictureError("JPEG has no alpha, which the picture has; PNG and WebP have (--format)");
    header.bits = 8;
    if (format == Format::webp) header.shape.channels = header.shape.has_alpha() ? 4 : 3;
    return header;
}

std::size_t writer_bytes_needed(Format format, const Header &header) {
    return format == Format::webp ? webp_bytes_needed(header) : 0;
}

std::unique_ptr<PictureWriter> make_writer(std::FILE *stream, const Header &header, const Metadata &metadata,
                                           const WritingOptions &options) {
    switch (options.format) {
        case Format::jpeg:
            return write_jpeg(stream, header, metadata, options);
        case Format::webp:
            return write_webp(stream, header, metadata, options);
        case Format::raw:
            return std::make_unique<RawWriter>(stream);
        case Format::png:
            break;
    }
    return write_png(stream, header, metadata, options);
}

}  // namespace upsample

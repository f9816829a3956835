// Which format a picture has, and what can be written in each.
#ifndef UPSAMPLE_FORMATS_H
#define UPSAMPLE_FORMATS_H

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "picture_file.h"

namespace upsample {

/// By the name's extension: png, jpg, jpeg or webp in any case.
std::optional<Format> format_of_name(const std::string &name);

/// By the first byte, which is enough to tell the three. Throws PictureError.
std::unique_ptr<PictureReader> open_picture(std::FILE *stream, const Limits &limits);

/// The samples that the format can hold of such a picture. Throws PictureError where it has no alpha.
Header written_header(Format format, Header header);

/// Memory that the format's writer takes beyond some rows.
std::size_t writer_bytes_needed(Format format, const Header &header);

/// `header` is what written_header() gave; metadata must outlive the writer, and may get late chunks.
std::unique_ptr<PictureWriter> make_writer(std::FILE *stream, const Header &header, const Metadata &metadata,
                                           const WritingOptions &options);

}  // namespace upsample

#endif

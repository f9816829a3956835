// Formats of picture files, by libraries of their own. Errors are PictureErrors with the library's own words; streams are not
// closed.
#ifndef UPSAMPLE_PICTURE_CODECS_H
#define UPSAMPLE_PICTURE_CODECS_H

#include <cstdio>
#include <memory>

#include "picture_file.h"

namespace upsample {

/// PNG: libpng reads every colour type, depth and interlacing and writes what stands before the pixels; those are filtered and
/// compressed here, in blocks, by several threads. Rows are streamed; metadata travels with the picture. The stream must be
/// positioned at the signature. The metadata are of the picture that is written; what comes late may be added to them until
/// finish().
std::unique_ptr<PictureReader> read_png(std::FILE *stream, const Limits &limits);
std::unique_ptr<PictureWriter> write_png(std::FILE *stream, const Header &header, const Metadata &metadata,
                                         const WritingOptions &options);

/// JPEG through libjpeg-turbo: gray and colour of 8 bits, baseline and progressive, with ICC profile, Exif, XMP and density. What
/// is written has 1 or 3 channels.
std::unique_ptr<PictureReader> read_jpeg(std::FILE *stream, const Limits &limits);
std::unique_ptr<PictureWriter> write_jpeg(std::FILE *stream, const Header &header, const Metadata &metadata,
                                          const WritingOptions &options);

/// WebP through libwebp, with ICC profile, Exif and XMP. The format knows no rows: pictures are held whole. What is written has 3
/// or 4 channels of 8 bits, and writing takes so many bytes. Metadata are read when the picture is finished.
std::unique_ptr<PictureReader> read_webp(std::FILE *stream, const Limits &limits);
std::unique_ptr<PictureWriter> write_webp(std::FILE *stream, const Header &header, const Metadata &metadata,
                                          const WritingOptions &options);
std::size_t webp_bytes_needed(const Header &header);

}  // namespace upsample

#endif

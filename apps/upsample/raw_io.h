// Frames of plain samples, as ffmpeg writes and reads them with -f rawvideo: no header, no metadata.
#ifndef UPSAMPLE_RAW_IO_H
#define UPSAMPLE_RAW_IO_H

#include <cstdio>
#include <string>

#include "picture_file.h"

namespace upsample {

/// Reads "WIDTHxHEIGHT" or "WIDTHxHEIGHT:LAYOUT" with a layout of ffmpeg's: gray, ya8, rgb24 (the default),
/// rgba, gray16le, rgb48le, rgba64le. Throws PictureError.
Header parse_raw_format(const std::string &text);

class RawReader : public PictureReader {
  public:
    RawReader(std::FILE *stream, const Header &header) : stream_(stream), header_(header) {}
    const Header &header() const override { return header_; }
    const char *format() const override { return "raw"; }
    void read(uint8_t *data, int64_t rows) override;

    /// Whether another frame begins.
    static bool has_more(std::FILE *stream);

  private:
    std::FILE *stream_;
    Header header_;
};

class RawWriter : public PictureWriter {
  public:
    explicit RawWriter(std::FILE *stream) : stream_(stream) {}
    void write(Bytes rows, int64_t count) override;
    void finish() override {}

  private:
    std::FILE *stream_;
};

}  // namespace upsample

#endif

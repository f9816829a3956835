// WebP in and out through libwebp, with ICC profile, Exif and XMP. The format knows no rows: pictures are
// held whole.
#ifndef UPSAMPLE_WEBP_IO_H
#define UPSAMPLE_WEBP_IO_H

#include <cstdio>

#include "buffer.h"
#include "picture_file.h"

namespace upsample {

class WebpReader : public PictureReader {
  public:
    WebpReader(std::FILE *stream, const Limits &limits);
    const Header &header() const override { return header_; }
    const char *format() const override { return "WebP"; }
    std::size_t bytes_needed() const override;
    void read(uint8_t *data, int64_t rows) override;

  private:
    Bytes file_;
    Header header_;
    Buffer<uint8_t> pixels_;
    int64_t rows_read_ = 0;
};

class WebpWriter : public PictureWriter {
  public:
    /// The header has 3 or 4 channels of 8 bits. Metadata are read when the picture is finished.
    WebpWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options);
    void write(Bytes rows, int64_t count) override;
    void finish() override;

    static std::size_t bytes_needed(const Header &header);

  private:
    std::FILE *stream_;
    Header header_;
    const Metadata &metadata_;
    WritingOptions options_;
    Bytes pixels_;
};

}  // namespace upsample

#endif

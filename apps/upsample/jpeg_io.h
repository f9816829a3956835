// JPEG in and out through libjpeg-turbo: gray and colour of 8 bits, baseline and progressive, with ICC
// profile, Exif, XMP and density.
#ifndef UPSAMPLE_JPEG_IO_H
#define UPSAMPLE_JPEG_IO_H

#include <cstdio>
#include <memory>

#include "picture_file.h"

namespace upsample {

class JpegReader : public PictureReader {
  public:
    JpegReader(std::FILE *stream, const Limits &limits);
    ~JpegReader() override;
    const Header &header() const override;
    const char *format() const override { return "JPEG"; }
    std::size_t bytes_needed() const override;
    void read(uint8_t *data, int64_t rows) override;
    void finish() override;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

class JpegWriter : public PictureWriter {
  public:
    /// The header has 1 or 3 channels of 8 bits.
    JpegWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options);
    ~JpegWriter() override;
    void write(Bytes rows, int64_t count) override;
    void finish() override;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace upsample

#endif

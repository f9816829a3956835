// PNG in and out: libpng reads every colour type, depth and interlacing and writes what stands before the
// pixels; those are filtered and compressed here, in blocks, by several threads. Rows are streamed; metadata
// travels with the picture. Errors are PictureErrors with libpng's own words.
#ifndef UPSAMPLE_PNG_IO_H
#define UPSAMPLE_PNG_IO_H

#include <cstdio>
#include <memory>

#include "picture_file.h"

namespace upsample {

class PngReader : public PictureReader {
  public:
    /// The stream must be positioned at the signature; it is not closed.
    PngReader(std::FILE *stream, const Limits &limits);
    ~PngReader() override;

    const Header &header() const override;
    const char *format() const override { return "PNG"; }
    std::size_t bytes_needed() const override;
    void read(uint8_t *data, int64_t rows) override;
    void finish() override;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

class PngWriter : public PictureWriter {
  public:
    /// The metadata are of this picture; what comes late may be added to them until finish(). The stream is
    /// not closed.
    PngWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options);
    ~PngWriter() override;

    void write(Bytes rows, int64_t count) override;
    void finish() override;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace upsample

#endif

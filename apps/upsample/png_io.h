// PNG in and out through libpng: every colour type, depth and interlacing is read; rows are streamed;
// metadata travels with the picture. Errors are PictureErrors with libpng's own words.
#ifndef UPSAMPLE_PNG_IO_H
#define UPSAMPLE_PNG_IO_H

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "picture.h"

namespace upsample {

/// What a picture may ask of this machine. The pixels are twice Pillow's MAX_IMAGE_PIXELS, where Pillow
/// refuses too; the others are libpng's defaults.
struct PngLimits {
    int64_t pixels = 178'956'970;
    uint32_t side = 1'000'000;
    uint32_t chunks = 1'000;
    uint64_t chunk_bytes = 8'000'000;
};

/// A picture's samples as the file has them, after palettes, transparent colours and depths below 8 are
/// expanded: interleaved, 8 bits or 16 bits in the machine's byte order.
struct PngHeader {
    Shape shape;
    int bits = 8;
};

class PngReader {
  public:
    /// The stream must be positioned at the signature; it is not closed.
    PngReader(std::FILE *stream, const PngLimits &limits);
    ~PngReader();

    const PngHeader &header() const;

    /// The bytes of one row. Interlaced pictures are held in memory whole.
    std::size_t row_bytes() const;

    /// Fills `rows` rows. Throws PictureError for damaged data.
    void read(uint8_t *data, int64_t rows);

    /// Reads what follows the picture (text may stand there) and checks that the file ends as it should.
    void finish();

    /// The embedded ICC profile; empty where there is none.
    std::vector<uint8_t> icc_profile() const;

    /// gAMA's value and the eight cHRM values (white, red, green, blue; x and y); 0 where the picture has
    /// none.
    double gamma() const;
    bool chromaticities(double values[8]) const;

    /// What libpng warned about while reading, for people who ask.
    const std::vector<std::string> &warnings() const;

    struct State;

  private:
    friend class PngWriter;
    std::unique_ptr<State> state_;
};

struct PngWriterOptions {
    int compression = 6;        ///< zlib's level, 0 to 9
    bool keep_metadata = true;  ///< copy the reader's metadata, pHYs multiplied by the scale
};

class PngWriter {
  public:
    /// The metadata come from the picture that is being enlarged `scale` times; the stream is not closed.
    PngWriter(std::FILE *stream, const PngHeader &header, PngReader &source, int scale,
              const PngWriterOptions &options);
    ~PngWriter();

    void write(const uint8_t *data, int64_t rows);

    /// Writes what comes after the picture. Call it after the reader's finish().
    void finish();

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace upsample

#endif

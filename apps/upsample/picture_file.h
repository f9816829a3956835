// What files of pictures have in common, whatever their format: the samples' shape, what is said about the
// picture beside its pixels, and the limits on what is read.
#ifndef UPSAMPLE_PICTURE_FILE_H
#define UPSAMPLE_PICTURE_FILE_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "picture.h"

namespace upsample {

using Bytes = std::vector<uint8_t>;

/// What a picture may ask of this machine. The pixels are twice Pillow's MAX_IMAGE_PIXELS, where Pillow
/// refuses too; chunks are limited as libpng does it.
struct Limits {
    int64_t pixels = 178'956'970;
    uint32_t side = 1'000'000;
    uint32_t chunks = 1'000;
    uint64_t chunk_bytes = 8'000'000;
    uint64_t text_bytes = 64'000'000;  ///< of all text and other notes together
    uint64_t memory = uint64_t{4} << 30;
};

/// A picture's samples as the file has them, after palettes, transparent colours and depths below 8 are
/// expanded: interleaved, 8 bits or 16 bits in the machine's byte order.
struct Header {
    Shape shape;
    int bits = 8;
    std::size_t row_bytes() const { return shape.width * shape.channels * (bits / 8); }
};

/// A PNG chunk that is passed on as it stands.
struct Chunk {
    std::array<char, 5> name{};
    Bytes data;
};

/// What a file says about its picture. Every format takes from it what it can hold.
struct Metadata {
    Bytes icc, exif, xmp;
    std::string icc_name = "ICC profile";
    int32_t gamma = 0;                ///< gAMA times 100000; 0 where there is none
    std::vector<int32_t> primaries;   ///< cHRM: x and y of white, red, green, blue, times 100000; or empty
    int srgb_intent = -1;             ///< sRGB; -1 where there is none
    uint32_t x_density = 0, y_density = 0;
    bool density_is_per_metre = false;  ///< else it is only an aspect ratio
    std::vector<Chunk> chunks, late_chunks;
};

class PictureReader {
  public:
    virtual ~PictureReader() = default;
    virtual const Header &header() const = 0;
    virtual const char *format() const = 0;

    /// Memory that reading takes beyond some rows: all of a picture that cannot be read row by row.
    virtual std::size_t bytes_needed() const { return 0; }

    /// Fills `rows` rows of header().row_bytes() each. Throws PictureError for damaged data.
    virtual void read(uint8_t *data, int64_t rows) = 0;

    /// Reads what follows the picture and checks that the file ends as it should.
    virtual void finish() {}

    /// Late chunks are there after finish().
    const Metadata &metadata() const { return metadata_; }

    /// What the decoder's library warned about, for people who ask.
    const std::vector<std::string> &warnings() const { return warnings_; }

    /// What of the file the enlarged picture will lack, for everybody.
    const std::vector<std::string> &losses() const { return losses_; }

  protected:
    Metadata metadata_;
    std::vector<std::string> warnings_, losses_;
};

class PictureWriter {
  public:
    virtual ~PictureWriter() = default;

    /// Rows as the header says, in order; they are moved from.
    virtual void write(Bytes rows, int64_t count) = 0;

    /// Writes what comes after the picture, some of it out of the metadata given before, which may have grown.
    virtual void finish() = 0;
};

enum class Format { png, jpeg, webp, raw };

struct WritingOptions {
    Format format = Format::png;
    int compression = 2;        ///< of PNG, 0 to 9: see deflate.h
    int quality = 90;           ///< of JPEG and WebP, 0 to 100
    bool lossless = false;      ///< of WebP
    bool keep_metadata = true;
    int threads = 1;            ///< that compress
};

}  // namespace upsample

#endif

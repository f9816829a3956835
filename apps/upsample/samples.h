// Between the bytes of a file and planes of floats, and what the floats mean: light as encoded or linear,
// colours straight or multiplied by alpha.
#ifndef UPSAMPLE_SAMPLES_H
#define UPSAMPLE_SAMPLES_H

#include <future>
#include <vector>

#include "buffer.h"
#include "linear_light.h"
#include "picture.h"
#include "picture_file.h"

namespace upsample {

/// How colours are given to the enlarging step. Filters mix neighbours, so they need colours multiplied by
/// alpha; a network was trained on straight colours.
enum class Colors { straight, premultiplied };

/// The picture in a file, as floats.
class DecodedPicture : public RowSource {
  public:
    /// `light` may be null: then samples stay as they are encoded.
    DecodedPicture(PictureReader &reader, Colors colors, const LinearLight *light, int64_t band_rows);
    const Shape &shape() const override { return shape_; }
    Rows next() override;

    /// What next() took so far.
    double seconds() const { return seconds_; }

  private:
    PictureReader &reader_;
    Shape shape_;
    Colors colors_;
    const LinearLight *light_;
    int64_t band_rows_;
    int64_t row_ = 0;
    double seconds_ = 0;
    std::vector<uint8_t> bytes_;
    std::vector<float> planes_;
};

/// Reads the next rows of a source on another thread while those before are used. The source is used by this
/// alone.
class ReadAhead : public RowSource {
  public:
    explicit ReadAhead(RowSource &source) : source_(source) {}
    ~ReadAhead() override;
    const Shape &shape() const override { return source_.shape(); }
    Rows next() override;

  private:
    /// Copies the source's next rows, which are valid until it is asked again.
    int64_t fetch();

    RowSource &source_;
    std::vector<float> coming_, current_;
    std::future<int64_t> fetching_;
};

/// Turns pieces of floats back into a file's rows of samples: out of linear light, divided by alpha, clipped
/// to [0, 1] and rounded.
class Encoder {
  public:
    /// `written` may have fewer bits than the picture, and colours where that is gray.
    Encoder(const Shape &picture, const Header &written, Colors colors, const LinearLight *light);

    /// Takes the next piece; whether it completes its rows.
    bool add(const Piece &piece);

    /// The rows that are complete.
    Bytes take() { return std::move(bytes_); }

  private:
    Shape picture_;
    Header written_;
    Colors colors_;
    const LinearLight *light_;
    std::vector<float> planes_;
    Bytes bytes_;
};

}  // namespace upsample

#endif

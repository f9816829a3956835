// Between the bytes of a PNG and planes of floats, and what the floats mean: light as encoded or linear,
// colours straight or multiplied by alpha.
#ifndef UPSAMPLE_SAMPLES_H
#define UPSAMPLE_SAMPLES_H

#include <vector>

#include "linear_light.h"
#include "picture.h"
#include "png_io.h"

namespace upsample {

/// How colours are given to the enlarging step. Filters mix neighbours, so they need colours multiplied by
/// alpha; a network was trained on straight colours.
enum class Colors { straight, premultiplied };

/// The picture in a PNG, as floats.
class DecodedPicture : public RowSource {
  public:
    /// `light` may be null: then samples stay as they are encoded.
    DecodedPicture(PngReader &reader, Colors colors, const LinearLight *light, int64_t band_rows);
    const Shape &shape() const override { return shape_; }
    Rows next() override;

    /// What next() took so far.
    double seconds() const { return seconds_; }

  private:
    PngReader &reader_;
    Shape shape_;
    Colors colors_;
    const LinearLight *light_;
    int64_t band_rows_;
    int64_t row_ = 0;
    double seconds_ = 0;
    std::vector<uint8_t> bytes_;
    std::vector<float> planes_;
};

/// Turns floats back into a PNG's bytes: out of linear light, divided by alpha, clipped to [0, 1] and
/// rounded.
class Encoder {
  public:
    Encoder(const PngHeader &header, Colors colors, const LinearLight *light);

    std::vector<uint8_t> encode(const Rows &rows);

  private:
    PngHeader header_;
    Colors colors_;
    const LinearLight *light_;
    std::vector<float> planes_;
};

}  // namespace upsample

#endif

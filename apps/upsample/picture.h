// The picture model: pictures flow through the program as bands of rows of planar float32 samples in [0, 1],
// so that memory does not grow with the height of the picture.
#ifndef UPSAMPLE_PICTURE_H
#define UPSAMPLE_PICTURE_H

#include <cstdint>
#include <stdexcept>

namespace upsample {

/// What can go wrong with one picture: the file, its content, or the memory for it.
class PictureError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Channels are gray, gray + alpha, RGB or RGB + alpha.
struct Shape {
    int64_t width = 0, height = 0;
    int channels = 0;
    bool has_alpha() const { return channels == 2 || channels == 4; }
    int colors() const { return has_alpha() ? channels - 1 : channels; }
};

/// Some rows: sample (channel, row, x) is at data[channel * plane_stride + row * width + x].
struct Rows {
    const float *data = nullptr;
    int64_t plane_stride = 0;
    int64_t count = 0;
};

/// A picture that is read from top to bottom. Every step of the program reads one of these and is another.
class RowSource {
  public:
    virtual ~RowSource() = default;
    virtual const Shape &shape() const = 0;

    /// The next rows, as many as suit the source, valid until the next call; none after the last row.
    virtual Rows next() = 0;
};

}  // namespace upsample

#endif

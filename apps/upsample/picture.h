// The picture model: pictures flow through the program as bands of rows of planar float32 samples in [0, 1],
// so that memory does not grow with the height of the picture, and results as pieces of such bands, so that
// it does not grow with the width either.
#ifndef UPSAMPLE_PICTURE_H
#define UPSAMPLE_PICTURE_H

#include <cstdint>
#include <stdexcept>
#include <vector>

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

/// A picture that is read from top to bottom. Every step of the program reads one of these.
class RowSource {
  public:
    virtual ~RowSource() = default;
    virtual const Shape &shape() const = 0;

    /// The next rows, as many as suit the source, valid until the next call; none after the last row.
    virtual Rows next() = 0;
};

/// Columns [column, column + columns) of some rows; a row begins `row_stride` samples after the one before.
struct Piece {
    const float *data = nullptr;
    int64_t plane_stride = 0, row_stride = 0;
    int64_t count = 0;  ///< rows
    int64_t column = 0, columns = 0;
};

/// A picture that is made from top to bottom, its rows from left to right in pieces of equal height.
class PieceSource {
  public:
    virtual ~PieceSource() = default;
    virtual const Shape &shape() const = 0;

    /// The next piece, valid until the next call; one without rows after the last.
    virtual Piece next() = 0;
};

/// A range of rows or columns that are to be made, among those that are given to make them from.
struct Span {
    int64_t begin = 0, end = 0;   ///< given
    int64_t first = 0, last = 0;  ///< to be made
};

/// [first, last) and what lies within reach, inside of `length`.
Span span_around(int64_t first, int64_t last, int64_t reach, int64_t length);

/// Joins pieces to rows, for a step that follows.
class WholeRows : public RowSource {
  public:
    explicit WholeRows(PieceSource &source) : source_(source) {}
    const Shape &shape() const override { return source_.shape(); }
    Rows next() override;

  private:
    PieceSource &source_;
    std::vector<float> planes_;
};

}  // namespace upsample

#endif

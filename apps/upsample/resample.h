// Enlarging by a resampling filter: two depthwise transposed convolutions, down the columns and along the
// rows.
#ifndef UPSAMPLE_RESAMPLE_H
#define UPSAMPLE_RESAMPLE_H

#include <compare>
#include <map>
#include <vector>

#include "buffer.h"
#include "conv_transpose/conv_transpose.h"
#include "device.h"
#include "filters.h"
#include "picture.h"
#include "row_window.h"
#include "size2.h"

namespace upsample {

/// Enlarges rectangles of a picture.
class Resampler {
  public:
    Resampler(Filter filter, int scale, const Shape &picture, conv_transpose::Device device);

    /// Rows and columns of the picture around an output that it may depend on.
    int64_t reach() const { return taps_.reach; }

    /// `planes` hold the given rows and columns, densely: (channels, rows, columns). All that are within reach
    /// of those to be made must be given. The result is valid until the next call.
    Piece run(const float *planes, const Span &rows, const Span &columns);

  private:
    /// Columns first: what the second pass reads is then still in the cache, and rows that neighbouring bands
    /// share are enlarged along the row only once.
    struct Passes {
        conv_transpose::Plan columns, rows;
    };
    /// A rectangle has the given size, of which that much is cropped on both ends.
    struct Rectangle {
        int64_t rows = 0, columns = 0, cropped_rows = 0, cropped_columns = 0;
        auto operator<=>(const Rectangle &) const = default;
    };
    const Passes &passes(const Rectangle &rectangle);
    void renormalise_edges(float *planes, const Size2 &size, int64_t first_row,
                           int64_t first_column) const;

    FilterTaps taps_;
    int scale_;
    int channels_;
    int64_t width_, height_;
    conv_transpose::Device device_;
    std::vector<float> row_correction_, column_correction_;  // 1 / coverage, along a row and a column
    conv_transpose::DeviceMemory weights_, input_, columns_, output_, workspace_;
    Buffer<float> result_;
    std::map<Rectangle, Passes> passes_;
};

/// How a filter goes through a picture: this many of its rows and columns at a time.
struct BandSize {
    int64_t rows = 0, columns = 0;
};

/// The step of the program that resamples a picture.
class ResampledPicture : public PieceSource {
  public:
    ResampledPicture(RowSource &source, Filter filter, int scale, conv_transpose::Device device, BandSize band);
    const Shape &shape() const override { return shape_; }
    Piece next() override;

  private:
    RowSource &source_;
    Shape shape_;
    RowWindow window_;
    Resampler resampler_;
    BandSize band_;
    int64_t row_ = 0, column_ = 0;
    Buffer<float> rectangle_;
};

}  // namespace upsample

#endif

// Enlarging by a resampling filter: two depthwise transposed convolutions, down the columns and along the
// rows.
#ifndef UPSAMPLE_RESAMPLE_H
#define UPSAMPLE_RESAMPLE_H

#include <map>
#include <utility>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "device.h"
#include "filters.h"
#include "picture.h"
#include "row_window.h"

namespace upsample {

/// Enlarges rows of a picture, given as dense planes (channels, rows, width).
class Resampler {
  public:
    Resampler(Filter filter, int scale, const Shape &picture, conv_transpose::Device device);

    /// Rows of the picture above and below that an output row may depend on.
    int64_t reach() const { return taps_.reach; }

    /// `planes` holds rows [begin, end) of the picture, out of which rows [first, last) are enlarged; all
    /// that are within reach of those must be given. The result is valid until the next call.
    Rows run(const float *planes, int64_t begin, int64_t end, int64_t first, int64_t last);

  private:
    /// Columns first: what the second pass reads is then still in the cache, and rows that neighbouring bands
    /// share are enlarged along the row only once.
    struct Passes {
        conv_transpose::Plan columns, rows;
    };
    const Passes &passes(int64_t rows, int64_t cropped);
    void renormalise_edges(float *planes, int64_t rows, int64_t first_row) const;

    FilterTaps taps_;
    int scale_;
    int channels_;
    int64_t width_;
    conv_transpose::Device device_;
    std::vector<float> row_correction_, column_correction_;  // 1 / coverage, along a row and a column
    conv_transpose::DeviceMemory weights_, input_, columns_, output_, workspace_;
    std::vector<float> result_;
    std::map<std::pair<int64_t, int64_t>, Passes> passes_;
};

/// The step of the program that resamples a picture.
class ResampledPicture : public RowSource {
  public:
    ResampledPicture(RowSource &source, Filter filter, int scale, conv_transpose::Device device,
                     int64_t band_rows);
    const Shape &shape() const override { return shape_; }
    Rows next() override;

  private:
    RowSource &source_;
    Shape shape_;
    RowWindow window_;
    Resampler resampler_;
    int64_t band_rows_;
    int64_t row_ = 0;
};

}  // namespace upsample

#endif

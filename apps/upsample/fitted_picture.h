// Resampling to any size, for scales that are no whole numbers: each output is the sum of the inputs around its
// place, with the filter's weights there. Phases of a rational scale p / q are p, each of them as many weights;
// as a transposed convolution it would compute q times as much as is wanted, and a size has any p and q. So it
// is a table of weights and two plain loops, as in Pillow.
#ifndef UPSAMPLE_FITTED_PICTURE_H
#define UPSAMPLE_FITTED_PICTURE_H

#include <vector>

#include "buffer.h"
#include "filters.h"
#include "picture.h"
#include "row_window.h"

namespace upsample {

/// The inputs that an output is made of, and their weights, which sum to one.
struct WeightedInputs {
    int64_t first = 0;
    std::vector<float> weights;
};

/// For every output of a row; the filter is widened where the row becomes shorter, as Pillow does.
std::vector<WeightedInputs> weighted_inputs(Filter filter, int64_t inputs, int64_t outputs);

class FittedPicture : public PieceSource {
  public:
    FittedPicture(RowSource &source, Filter filter, int64_t width, int64_t height, int64_t band_rows, int threads);
    const Shape &shape() const override { return shape_; }
    Piece next() override;

  private:
    void make_row(const float *plane, int64_t begin, int64_t row, std::vector<float> &mixed, float *output) const;

    RowSource &source_;
    Shape shape_;
    RowWindow window_;
    std::vector<WeightedInputs> columns_, rows_;
    int64_t band_rows_;
    int threads_;
    int64_t row_ = 0, window_end_ = 0;
    Buffer<float> band_;
};

}  // namespace upsample

#endif

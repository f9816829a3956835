#include "fitted_picture.h"

#include <algorithm>
#include <cmath>

#include "parallel.h"

namespace upsample {

std::vector<WeightedInputs> weighted_inputs(Filter filter, int64_t inputs, int64_t outputs) {
    const double ratio = static_cast<double>(inputs) / static_cast<double>(outputs), stretch = std::max(1.0, ratio);
    const FilterKernel kernel = filter_kernel(filter);
    const double support = kernel.support * stretch;
    std::vector<WeightedInputs> result(outputs);
    for (int64_t o = 0; o < outputs; ++o) {
        const double centre = (static_cast<double>(o) + 0.5) * ratio;
        const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(centre - support + 0.5)));
        const int64_t last = std::min(inputs, static_cast<int64_t>(std::floor(centre + support + 0.5)));
        std::vector<double> weights;
        double sum = 0;
        for (int64_t i = first; i < last; ++i) {
            weights.push_back(kernel.value((static_cast<double>(i) + 0.5 - centre) / stretch));
            sum += weights.back();
        }
        if (filter == Filter::nearest || sum == 0) {
            result[o] = {std::min(inputs - 1, static_cast<int64_t>(centre)), {1.0f}};
            continue;
        }
        result[o].first = first;
        for (const double weight : weights) result[o].weights.push_back(static_cast<float>(weight / sum));
    }
    return result;
}

FittedPicture::FittedPicture(RowSource &source, Filter filter, int64_t width, int64_t height, int64_t band_rows,
                             int threads)
    : source_(source),
      shape_{width, height, source.shape().channels},
      window_(source),
      columns_(weighted_inputs(filter, source.shape().width, width)),
      rows_(weighted_inputs(filter, source.shape().height, height)),
      band_rows_(band_rows),
      threads_(threads) {}

Piece FittedPicture::next() {
    const int64_t first = row_, last = std::min(shape_.height, row_ + band_rows_), count = last - first;
    if (count == 0) return {};
    const int64_t begin = rows_[first].first;
    int64_t end = begin;
    for (int64_t y = first; y < last; ++y)
        end = std::max(end, rows_[y].first + static_cast<int64_t>(rows_[y].weights.size()));
    window_end_ = std::max(window_end_, end);
    const float *window = window_.move_to(std::min(begin, window_end_), window_end_);
    band_.reserve(shape_.channels * count * shape_.width);
    parallel_parts(shape_.channels * count, threads_, [&](int64_t from, int64_t to) {
        std::vector<float> mixed(source_.shape().width);
        for (int64_t i = from; i < to; ++i) {
            const float *plane = window + i / count * (window_end_ - begin) * source_.shape().width;
            make_row(plane, begin, first + i % count, mixed, band_.data() + i * shape_.width);
        }
    });
    row_ = last;
    return {band_.data(), count * shape_.width, shape_.width, count, 0, shape_.width};
}

/// Down the columns first, which goes along memory, then along the row.
void FittedPicture::make_row(const float *plane, int64_t begin, int64_t row, std::vector<float> &mixed,
                             float *output) const {
    const int64_t width = source_.shape().width;
    const WeightedInputs &rows = rows_[row];
    std::fill(mixed.begin(), mixed.end(), 0.0f);
    for (std::size_t k = 0; k < rows.weights.size(); ++k) {
        const float *from = plane + (rows.first - begin + static_cast<int64_t>(k)) * width;
        for (int64_t x = 0; x < width; ++x) mixed[x] += rows.weights[k] * from[x];
    }
    for (const WeightedInputs &inputs : columns_) {
        float sum = 0;
        for (std::size_t k = 0; k < inputs.weights.size(); ++k) sum += inputs.weights[k] * mixed[inputs.first + k];
        *output++ = sum;
    }
}

}  // namespace upsample

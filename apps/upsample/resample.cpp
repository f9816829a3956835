#include "resample.h"

#include <algorithm>

namespace upsample {

using conv_transpose::Arguments;
using conv_transpose::Device;
using conv_transpose::DeviceMemory;
using conv_transpose::Plan;
using conv_transpose::PlanOptions;
using conv_transpose::Problem;

namespace {

PlanOptions on(Device device) {
    PlanOptions options;
    options.device = device;
    return options;
}

/// How much of the filter meets the picture, for every output of a row of `inputs` samples: 1 inside, less
/// near the ends. It is the same transposed convolution, of ones.
std::vector<float> coverage(const FilterTaps &taps, int scale, int64_t inputs) {
    Problem problem;
    problem.in_channels = problem.out_channels = 1;
    problem.rank = 1;
    problem.width() = {inputs, static_cast<int64_t>(taps.taps.size()), scale, taps.padding};
    const Plan plan(problem, on(Device::cpu));
    const std::vector<float> ones(inputs, 1.0f);
    std::vector<float> result(problem.output_elements());
    const DeviceMemory workspace(Device::cpu, plan.workspace_bytes());
    Arguments arguments;
    arguments.input = ones.data();
    arguments.weight = taps.taps.data();
    arguments.output = result.data();
    check(plan.run(arguments, {workspace.data(), workspace.bytes()}));
    return result;
}

/// What an output within `reach` of an end is multiplied by; exactly 1 elsewhere.
std::vector<float> edge_correction(const FilterTaps &taps, int scale, int64_t inputs) {
    std::vector<float> correction(inputs * scale, 1.0f);
    const int64_t near = std::min<int64_t>(inputs, 2 * taps.reach);
    if (near == 0) return correction;
    // The ends see nothing of the middle, so a row that is just long enough tells both.
    const std::vector<float> covered = coverage(taps, scale, near);
    const int64_t edge = std::min<int64_t>(inputs, taps.reach) * scale;
    for (int64_t i = 0; i < edge; ++i) {
        correction[i] = 1 / covered[i];
        correction[correction.size() - 1 - i] = 1 / covered[covered.size() - 1 - i];
    }
    return correction;
}

}  // namespace

Resampler::Resampler(Filter filter, int scale, const Shape &picture, Device device)
    : taps_(filter_taps(filter, scale)),
      scale_(scale),
      channels_(picture.channels),
      width_(picture.width),
      height_(picture.height),
      device_(device),
      row_correction_(edge_correction(taps_, scale, picture.width)),
      column_correction_(edge_correction(taps_, scale, picture.height)) {
    std::vector<float> weights;
    for (int c = 0; c < channels_; ++c) weights.insert(weights.end(), taps_.taps.begin(), taps_.taps.end());
    weights_ = copy_to_device(device, weights.data(), weights.size() * sizeof(float));
}

const Resampler::Passes &Resampler::passes(const Rectangle &rectangle) {
    const auto found = passes_.find(rectangle);
    if (found != passes_.end()) return found->second;
    const int64_t taps = static_cast<int64_t>(taps_.taps.size());
    Problem columns;
    columns.in_channels = columns.out_channels = columns.groups = channels_;
    columns.height() = {rectangle.rows, taps, scale_, taps_.padding + rectangle.cropped_rows * scale_};
    columns.width().input = rectangle.columns;
    Problem along_rows;
    along_rows.in_channels = along_rows.out_channels = along_rows.groups = channels_;
    along_rows.height().input = columns.height().output();
    along_rows.width() = {rectangle.columns, taps, scale_, taps_.padding + rectangle.cropped_columns * scale_};
    Passes passes{Plan(columns, on(device_)), Plan(along_rows, on(device_))};
    return passes_.emplace(rectangle, std::move(passes)).first->second;
}

Piece Resampler::run(const float *planes, const Span &rows, const Span &columns) {
    // What is only there to be looked at is cropped from both ends by the padding, as much as both have; the
    // picture's own ends have less, and what is too much there is left out of the result.
    const int64_t cropped_rows = std::min(rows.first - rows.begin, rows.end - rows.last);
    const int64_t cropped_columns = std::min(columns.first - columns.begin, columns.end - columns.last);
    const Passes &pass = passes({rows.end - rows.begin, columns.end - columns.begin, cropped_rows, cropped_columns});
    const std::size_t input_bytes = pass.columns.problem().input_elements() * sizeof(float);
    const std::size_t output_bytes = pass.rows.problem().output_elements() * sizeof(float);
    reserve(columns_, device_, pass.columns.problem().output_elements() * sizeof(float));
    reserve(workspace_, device_, std::max(pass.columns.workspace_bytes(), pass.rows.workspace_bytes()));
    result_.reserve(pass.rows.problem().output_elements());
    if (device_ == Device::cuda) {
        reserve(input_, device_, input_bytes);
        input_.copy_from_host(planes, input_bytes);
        reserve(output_, device_, output_bytes);
    }

    Arguments arguments;
    arguments.weight = weights_.floats();
    arguments.input = device_ == Device::cuda ? input_.floats() : planes;
    arguments.output = columns_.floats();
    check(pass.columns.run(arguments, {workspace_.data(), workspace_.bytes()}));
    arguments.input = columns_.floats();
    arguments.output = device_ == Device::cuda ? output_.floats() : result_.data();
    check(pass.rows.run(arguments, {workspace_.data(), workspace_.bytes()}));
    if (device_ == Device::cuda) output_.copy_to_host(result_.data(), output_bytes);

    const Problem &enlarged = pass.rows.problem();
    const Size2 size{enlarged.height().output(), enlarged.width().output()};
    renormalise_edges(result_.data(), size, (rows.begin + cropped_rows) * scale_,
                      (columns.begin + cropped_columns) * scale_);
    const int64_t above = (rows.first - rows.begin - cropped_rows) * scale_;
    const int64_t before = (columns.first - columns.begin - cropped_columns) * scale_;
    Piece piece;
    piece.data = result_.data() + above * size.width + before;
    piece.plane_stride = size.height * size.width;
    piece.row_stride = size.width;
    piece.count = (rows.last - rows.first) * scale_;
    piece.column = columns.first * scale_;
    piece.columns = (columns.last - columns.first) * scale_;
    return piece;
}

void Resampler::renormalise_edges(float *planes, const Size2 &size, int64_t first_row,
                                  int64_t first_column) const {
    const int64_t width = width_ * scale_, edge = std::min(width, reach() * scale_);
    const int64_t left = std::clamp<int64_t>(edge - first_column, 0, size.width);
    const int64_t right = std::clamp<int64_t>(std::max(edge, width - edge) - first_column, left, size.width);
    const float *correction = row_correction_.data() + first_column;
    for (int64_t plane_row = 0; plane_row < size.height * channels_; ++plane_row) {
        float *row = planes + plane_row * size.width;
        for (int64_t x = 0; x < left; ++x) row[x] *= correction[x];
        for (int64_t x = right; x < size.width; ++x) row[x] *= correction[x];
        const float factor = column_correction_[first_row + plane_row % size.height];
        if (factor != 1) std::transform(row, row + size.width, row, [=](float value) { return value * factor; });
    }
}

ResampledPicture::ResampledPicture(RowSource &source, Filter filter, int scale, Device device, BandSize band)
    : source_(source),
      shape_{source.shape().width * scale, source.shape().height * scale, source.shape().channels},
      window_(source),
      resampler_(filter, scale, source.shape(), device),
      band_(band) {}

Piece ResampledPicture::next() {
    const auto [width, height, channels] = source_.shape();
    if (row_ == height) return {};
    const Span rows = span_around(row_, std::min(height, row_ + band_.rows), resampler_.reach(), height);
    const Span columns = span_around(column_, std::min(width, column_ + band_.columns), resampler_.reach(), width);
    const float *planes = window_.move_to(rows.begin, rows.end);
    if (columns.end - columns.begin < width) {
        const int64_t count = columns.end - columns.begin, plane_rows = (rows.end - rows.begin) * channels;
        rectangle_.reserve(plane_rows * count);
        for (int64_t y = 0; y < plane_rows; ++y)
            std::copy_n(planes + y * width + columns.begin, count, rectangle_.data() + y * count);
        planes = rectangle_.data();
    }
    column_ = columns.last;
    if (column_ == width) {
        column_ = 0;
        row_ = rows.last;
    }
    return resampler_.run(planes, rows, columns);
}

}  // namespace upsample

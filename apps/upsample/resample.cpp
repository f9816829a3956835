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
      device_(device),
      row_correction_(edge_correction(taps_, scale, picture.width)),
      column_correction_(edge_correction(taps_, scale, picture.height)) {
    std::vector<float> weights;
    for (int c = 0; c < channels_; ++c) weights.insert(weights.end(), taps_.taps.begin(), taps_.taps.end());
    weights_ = copy_to_device(device, weights.data(), weights.size() * sizeof(float));
}

const Resampler::Passes &Resampler::passes(int64_t rows, int64_t cropped) {
    const auto found = passes_.find({rows, cropped});
    if (found != passes_.end()) return found->second;
    const int64_t taps = static_cast<int64_t>(taps_.taps.size());
    Problem columns;
    columns.in_channels = columns.out_channels = columns.groups = channels_;
    columns.height() = {rows, taps, scale_, taps_.padding + cropped * scale_};
    columns.width().input = width_;
    Problem along_rows;
    along_rows.in_channels = along_rows.out_channels = along_rows.groups = channels_;
    along_rows.height().input = columns.height().output();
    along_rows.width() = {width_, taps, scale_, taps_.padding};
    Passes passes{Plan(columns, on(device_)), Plan(along_rows, on(device_))};
    return passes_.emplace(std::pair(rows, cropped), std::move(passes)).first->second;
}

Rows Resampler::run(const float *planes, int64_t begin, int64_t end, int64_t first, int64_t last) {
    // Rows above and below that are only there to be looked at are cropped from both ends by the padding, as
    // many as both have; the picture's own ends have fewer, and what is too much there is left out of the
    // result.
    const int64_t cropped = std::min(first - begin, end - last);
    const Passes &pass = passes(end - begin, cropped);
    const std::size_t input_bytes = pass.columns.problem().input_elements() * sizeof(float);
    const std::size_t output_bytes = pass.rows.problem().output_elements() * sizeof(float);
    reserve(columns_, device_, pass.columns.problem().output_elements() * sizeof(float));
    reserve(workspace_, device_, std::max(pass.columns.workspace_bytes(), pass.rows.workspace_bytes()));
    result_.resize(pass.rows.problem().output_elements());
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

    const int64_t enlarged_rows = pass.rows.problem().height().output();
    renormalise_edges(result_.data(), enlarged_rows, (begin + cropped) * scale_);
    const int64_t skipped = (first - begin - cropped) * scale_;
    return {result_.data() + skipped * width_ * scale_, enlarged_rows * width_ * scale_,
            (last - first) * scale_};
}

void Resampler::renormalise_edges(float *planes, int64_t rows, int64_t first_row) const {
    const int64_t width = width_ * scale_;
    const int64_t edge = std::min(width, reach() * scale_);
    for (int64_t plane_row = 0; plane_row < rows * channels_; ++plane_row) {
        float *row = planes + plane_row * width;
        for (int64_t x = 0; x < edge; ++x) row[x] *= row_correction_[x];
        for (int64_t x = std::max(edge, width - edge); x < width; ++x) row[x] *= row_correction_[x];
        const float factor = column_correction_[first_row + plane_row % rows];
        if (factor != 1) std::transform(row, row + width, row, [=](float value) { return value * factor; });
    }
}

ResampledPicture::ResampledPicture(RowSource &source, Filter filter, int scale, Device device,
                                   int64_t band_rows)
    : source_(source),
      shape_{source.shape().width * scale, source.shape().height * scale, source.shape().channels},
      window_(source),
      resampler_(filter, scale, source.shape(), device),
      band_rows_(band_rows) {}

Rows ResampledPicture::next() {
    const int64_t height = source_.shape().height;
    const int64_t first = row_, last = std::min(height, row_ + band_rows_);
    if (first == last) return {};
    const int64_t begin = std::max<int64_t>(0, first - resampler_.reach());
    const int64_t end = std::min(height, last + resampler_.reach());
    row_ = last;
    return resampler_.run(window_.move_to(begin, end), begin, end, first, last);
}

}  // namespace upsample

// Binds the arguments of upsample's kernels, chooses those that move vectors where they may, and launches: see
// layer_kernels.h.
#include "layer_kernels.h"

#include <algorithm>
#include <limits>

#include "HalideRuntime.h"
#include "HalideRuntimeCuda.h"
#include "device/cuda_driver.h"
#include "device/run_context.h"

extern "C" {
int upsample_copy_f32_argv(void **);
int upsample_copy_f16_argv(void **);
int upsample_copy_f16_pairs_argv(void **);
int upsample_copy_f32_f16_argv(void **);
int upsample_copy_f16_f32_argv(void **);
int upsample_rectify_f32_argv(void **);
int upsample_rectify_f16_argv(void **);
int upsample_rectify_f16_pairs_argv(void **);
int upsample_combine_f32_argv(void **);
int upsample_combine_f16_argv(void **);
int upsample_combine_f16_pairs_argv(void **);
int upsample_interpolate_f32_argv(void **);
int upsample_interpolate_f16_argv(void **);
}

namespace upsample {

using conv_transpose::ElementType;
using conv_transpose::Status;
using conv_transpose::Stream;

namespace {

using Kernel = int (*)(void **);

bool is_half(const DeviceView &view) { return view.type == ElementType::float16; }

/// A view as Halide has it, in pairs of 16 bits where that is asked for. Not copyable: the buffer points into the object.
class Bound {
  public:
    Bound(const DeviceView &view, int count, bool pairs = false)
        : Bound(view.data, is_half(view) && !pairs ? 16 : 32, pairs ? halide_type_uint : halide_type_float) {
        buffer_.dimensions = count;
        for (int d = 0; d < count; ++d) {
            const auto [extent, stride] = view.dimensions[d];
            dimensions_[d] = {0, static_cast<int32_t>(pairs && d == 0 ? extent / 2 : extent),
                              static_cast<int32_t>(pairs && d > 0 ? stride / 2 : stride), 0};
        }
    }
    /// (4, count), dense.
    Bound(const void *table, int64_t count, halide_type_code_t code) : Bound(const_cast<void *>(table), 32, code) {
        buffer_.dimensions = 2;
        dimensions_[0] = {0, 4, 1, 0};
        dimensions_[1] = {0, static_cast<int32_t>(count), 4, 0};
    }
    Bound(const Bound &) = delete;
    Bound &operator=(const Bound &) = delete;
    halide_buffer_t *get() { return &buffer_; }

  private:
    Bound(void *data, int bits, halide_type_code_t code) {
        buffer_.dim = dimensions_;
        buffer_.type = {code, static_cast<uint8_t>(bits), 1};
        buffer_.device = reinterpret_cast<uint64_t>(data);
        buffer_.device_interface = halide_cuda_device_interface();
    }
    halide_buffer_t buffer_{};
    halide_dimension_t dimensions_[5]{};
};

/// Whether eight elements of 16 bits may be moved at a time.
bool may_be_pairs(const DeviceView &view, int count) {
    bool fits = is_half(view) && reinterpret_cast<uint64_t>(view.data) % 16 == 0 && view.dimensions[0].stride == 1 &&
                view.dimensions[0].extent % 8 == 0;
    for (int d = 1; d < count; ++d) fits = fits && view.dimensions[d].stride % 8 == 0;
    return fits;
}

bool may_be_pairs(const DeviceView &a, const DeviceView &b, int count) {
    return may_be_pairs(a, count) && may_be_pairs(b, count) && a.dimensions[0].extent == b.dimensions[0].extent;
}

/// How far the view reaches, in elements.
int64_t reach(const DeviceView &view) {
    int64_t last = 0;
    for (const auto &[extent, stride] : view.dimensions) last += (extent - 1) * stride;
    return last + 1;
}

DeviceView part_of(DeviceView view, int dimension, int64_t first, int64_t count) {
    auto &[extent, stride] = view.dimensions[dimension];
    view.data = static_cast<char *>(view.data) + first * stride * (is_half(view) ? 2 : 4);
    extent = count;
    return view;
}

/// Calls launch(views...) for parts in which every view reaches less far than the 2^31 elements that kernels count to: cut
/// along the outermost dimension that all views have as much of. The last view is what is written.
template <class Launch, class... Views>
Status in_parts(const Launch &launch, const Views &...views) {
    const int64_t farthest = std::max({reach(views)...});
    if (farthest <= std::numeric_limits<int32_t>::max()) return launch(views...);
    for (int d = 4; d >= 0; --d) {
        const int64_t extent = std::min({views.dimensions[d].extent...});
        if (extent < 2 || extent != std::max({views.dimensions[d].extent...})) continue;
        const Status status = in_parts(launch, part_of(views, d, 0, extent / 2)...);
        return status.ok() ? in_parts(launch, part_of(views, d, extent / 2, extent - extent / 2)...) : status;
    }
    return {Status::Code::invalid_argument, "a layer's row has 2^31 elements, and at most 2^31 - 1 are supported"};
}

bool is_dense(const DeviceView &view) {
    int64_t next = 1;
    for (const auto &[extent, stride] : view.dimensions) {
        if (extent > 1 && stride != next) return false;
        next *= extent;
    }
    return true;
}

/// As one row, which may then be moved in pairs whatever the number of channels.
DeviceView joined(DeviceView view) {
    const int64_t elements = reach(view);
    view.dimensions = {};
    view.dimensions[0] = {elements, 1};
    return view;
}

template <class... Arguments>
Status call(Kernel kernel, Stream stream, Arguments... arguments) {
    const conv_transpose::ScopedCudaContext scope(stream.handle);
    conv_transpose::RunContext context;
    context.stream = stream.handle;
    void *user_context = &context;
    void *all[] = {&user_context, arguments...};
    if (kernel(all) == 0) return {};
    return {Status::Code::kernel_error, context.message[0] ? context.message : "a layer's kernel failed"};
}

}  // namespace

Status copy_on_device(const DeviceView &whole_from, float factor, const DeviceView &whole_to, Stream stream) {
    const auto launch = [&](const DeviceView &from, const DeviceView &to) {
        const bool pairs = factor == 1 && may_be_pairs(from, to, 5);
        Bound source(from, 5, pairs), target(to, 5, pairs);
        Kernel kernel = is_half(from) ? upsample_copy_f16_f32_argv : upsample_copy_f32_f16_argv;
        if (is_half(from) == is_half(to))
            kernel = pairs ? upsample_copy_f16_pairs_argv : is_half(from) ? upsample_copy_f16_argv : upsample_copy_f32_argv;
        return call(kernel, stream, source.get(), &factor, target.get());
    };
    return in_parts(launch, whole_from, whole_to);
}

Status rectify_on_device(const DeviceView &whole_from, const DeviceView &whole_slope,
                         const DeviceView &whole_to, Stream stream) {
    const auto launch = [&](const DeviceView &from, const DeviceView &slope, const DeviceView &to) {
        const bool pairs = may_be_pairs(from, to, 3);
        Bound source(from, 3, pairs), slopes(slope, 3), target(to, 3, pairs);
        const Kernel kernel = pairs           ? upsample_rectify_f16_pairs_argv
                              : is_half(from) ? upsample_rectify_f16_argv
                                              : upsample_rectify_f32_argv;
        return call(kernel, stream, source.get(), slopes.get(), target.get());
    };
    return in_parts(launch, whole_from, whole_slope, whole_to);
}

Status combine_on_device(Combination combination, const DeviceView &whole_a, float factor_of_a, const DeviceView &whole_b,
                         float factor_of_b, const DeviceView &whole_to, Stream stream) {
    auto operation = static_cast<int32_t>(combination);
    const auto launch = [&](DeviceView a, DeviceView b, DeviceView to) {
        if (is_dense(a) && is_dense(b) && is_dense(to) && reach(a) == reach(to) && reach(b) == reach(to))
            a = joined(a), b = joined(b), to = joined(to);
        const bool pairs = may_be_pairs(a, to, 3) && may_be_pairs(b, to, 3);
        Bound first(a, 3, pairs), second(b, 3, pairs), target(to, 3, pairs);
        const Kernel kernel = pairs        ? upsample_combine_f16_pairs_argv
                              : is_half(a) ? upsample_combine_f16_argv
                                           : upsample_combine_f32_argv;
        return call(kernel, stream, first.get(), second.get(), &operation, &factor_of_a, &factor_of_b, target.get());
    };
    return in_parts(launch, whole_a, whole_b, whole_to);
}

Status interpolate_on_device(const DeviceView &from, const InterpolationTable &columns, const InterpolationTable &rows,
                             const DeviceView &to, Stream stream) {
    Bound source(from, 3), target(to, 3);
    const int64_t width = to.dimensions[0].extent, height = to.dimensions[1].extent;
    Bound column_places(columns.places, width, halide_type_int), row_places(rows.places, height, halide_type_int);
    Bound column_weights(columns.weights, width, halide_type_float), row_weights(rows.weights, height, halide_type_float);
    return call(is_half(from) ? upsample_interpolate_f16_argv : upsample_interpolate_f32_argv, stream, source.get(),
                column_places.get(), row_places.get(), column_weights.get(), row_weights.get(), target.get());
}

}  // namespace upsample

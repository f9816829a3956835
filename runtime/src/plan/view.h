// A tensor as a kernel sees it, before its address is known: dimensions over one of the tensors of a run.
#ifndef CONV_TRANSPOSE_RUNTIME_VIEW_H
#define CONV_TRANSPOSE_RUNTIME_VIEW_H

#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "choice/launch_ranges.h"
#include "choice/tensor_formats.h"
#include "conv_transpose/conv_transpose.h"
#include "device/tensor_map.h"
#include "problem/layouts.h"
#include "problem/operand.h"

namespace conv_transpose {

using Extents = std::vector<int64_t>;

inline int64_t product(const Extents &extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

/// One value an axis of the problem, innermost first.
template <class OfAxis>
Extents innermost_first(const Problem &p, int rank, OfAxis of_axis) {
    Extents values;
    for (int i = 0; i < rank; i++) values.push_back(of_axis(p.axes[2 - i]));
    return values;
}

/// Dimensions innermost first.
class View {
  public:
    struct Dimension {
        int64_t min, extent, stride;
    };

    /// Dense, from element `offset` of the operand on.
    View(Operand operand, int64_t offset, const Extents &extents, ElementType type = ElementType::float32)
        : operand_(operand), type_(type), offset_(offset) {
        int64_t stride = 1;
        for (int64_t extent : extents) {
            dimensions_.push_back({0, extent, stride});
            stride *= extent;
        }
    }

    /// The first coordinate of dimension d, 0 unless set.
    View &set_min(int d, int64_t min) { return dimensions_[d].min = min, *this; }
    /// As elements of another type of that size.
    View &set_type(ElementType type) { return type_ = type, *this; }
    View &set_stride(int d, int64_t stride) { return dimensions_[d].stride = stride, *this; }
    /// The first `axes` dimensions are positions of a picture or a kernel, the next one its channels, of so many that lie there.
    View &set_layout(Layout layout, int64_t channels, int axes = 1) {
        int64_t positions = 1;
        for (int i = 0; i < axes; i++) positions *= dimensions_[i].extent;
        const LayoutStrides strides(layout, channels, positions);
        for (int64_t i = 0, stride = strides.position; i < axes; stride *= dimensions_[i++].extent) set_stride(i, stride);
        return set_stride(axes, strides.channel);
    }
    /// A dimension of one element as one that has it so many times.
    View &repeat(int d, int64_t times) { return dimensions_[d].extent = times, set_stride(d, 0); }
    View &exchange(int d, int e) { return std::swap(dimensions_[d], dimensions_[e]), *this; }

    /// Puts n positions before the first of dimension d. Other dimensions keep their strides.
    View &begin_early(int d, int64_t n) {
        dimensions_[d].extent += n;
        offset_ -= n * dimensions_[d].stride;
        return *this;
    }

    Operand operand() const { return operand_; }
    ElementType type() const { return type_; }
    int64_t offset() const { return offset_; }
    const std::vector<Dimension> &dimensions() const { return dimensions_; }

  private:
    Operand operand_;
    ElementType type_;
    int64_t offset_;
    std::vector<Dimension> dimensions_;
};

/// The images and groups of a launch in a dense tensor of pictures: (axes..., channel in group, group, image), of so many
/// channels a group and a pixel.
View pictures(Operand operand, const Extents &axes, int64_t of_group, int64_t pixel, const LaunchRange &range, TensorFormat format);

/// A view of a problem's pictures. A batch of 0 is viewed as one image, which nobody reads.
template <class OfAxis>
View pictures(Operand operand, const Problem &p, int rank, int64_t channels, OfAxis extent, LaunchRange range,
              TensorFormat format = {}, int64_t wide_pixel = 0) {
    range.images = std::max<int64_t>(range.images, 1);
    return pictures(operand, innermost_first(p, rank, extent), channels / p.groups, wide_pixel > 0 ? wide_pixel : channels, range,
                    format);
}

inline View input_pictures(Operand operand, const Problem &p, int rank, const LaunchRange &range,
                           TensorFormat format = {}, int64_t wide_pixel = 0) {
    return pictures(operand, p, rank, p.in_channels, [](const Axis &a) { return a.input; }, range, format, wide_pixel);
}

inline View output_pictures(Operand operand, const Problem &p, int rank, const LaunchRange &range,
                            TensorFormat format = {}, int64_t wide_pixel = 0) {
    return pictures(operand, p, rank, p.out_channels, [](const Axis &a) { return a.output(); }, range, format, wide_pixel);
}

/// The map of such a picture in channels_last, for a kernel that reads its boxes.
PictureMap picture_map(const KernelTraits &kernel, const Problem &p, const View &picture);

/// The map of what such a kernel stores, as ImplicitGemmBoxes::stored() has its coordinates.
PictureMap stored_map(const KernelTraits &kernel, const Problem &p, const View &picture);

/// The maps that a weight gradient reads, of pictures as (channel, x, y, z, group, image).
PictureMap input_map(const KernelTraits &kernel, const View &input);
PictureMap output_gradient_map(const KernelTraits &kernel, const Problem &p, const View &output_gradient);

/// That of weights in channels_last, as (x, y, (z), channel of the output, of the input, group), for a kernel that maps_weights().
PictureMap weight_map(const KernelTraits &kernel, const View &weight);

}  // namespace conv_transpose

#endif

// What the gradients' operations share: the views of input and output gradient for a launch, and the axes'
// arguments.
#ifndef CONV_TRANSPOSE_RUNTIME_GRADIENT_VIEWS_H
#define CONV_TRANSPOSE_RUNTIME_GRADIENT_VIEWS_H

#include "plan/launch_chunks.h"
#include "plan/tensor_view.h"

namespace conv_transpose {

/// Run-time attributes of one axis.
struct StridedAxisArguments {
    int32_t kernel, stride, dilation;
};

/// Tensors as (x, y, channel in group, group, batch). A batch of 0 is viewed as one image, which nobody
/// reads.
class GradientViews {
  public:
    GradientViews(const Problem &p, Device device, const LaunchSlice &s, const float *input,
                  const float *output)
        : input_(at(input, p, s, p.in_channels, plane_of(p, &Axis::input)), device, extents(p, s, p.in_channels, plane_of(p, &Axis::input))),
          output_(at(output, p, s, p.out_channels, output_plane(p)), device,
                  extents(p, s, p.out_channels, output_plane(p))) {
        output_.set_min(0, p.width().padding);
        output_.set_min(1, p.height().padding);
        // A launch of some of the groups leaves the others' planes between its images.
        if (s.images <= 1) return;
        input_.set_stride(4, p.in_channels * input_positions(p));
        output_.set_stride(4, p.out_channels * output_positions(p));
    }

    halide_buffer_t *input() { return input_.buffer(); }
    /// Its coordinates begin at the padding.
    halide_buffer_t *output() { return output_.buffer(); }

  private:
    TensorView<5> input_, output_;

    static const float *at(const float *tensor, const Problem &p, const LaunchSlice &s, int64_t channels,
                           Size2 size) {
        return tensor +
               (s.first_image * channels + s.first_group * (channels / p.groups)) * size.height * size.width;
    }
    static std::array<int64_t, 5> extents(const Problem &p, const LaunchSlice &s, int64_t channels,
                                          Size2 size) {
        return {size.width, size.height, channels / p.groups, s.groups, std::max<int64_t>(s.images, 1)};
    }
};

}  // namespace conv_transpose

#endif

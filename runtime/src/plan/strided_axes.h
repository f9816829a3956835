// The axes' arguments of kernels that compute gradients.
#ifndef CONV_TRANSPOSE_RUNTIME_STRIDED_AXES_H
#define CONV_TRANSPOSE_RUNTIME_STRIDED_AXES_H

#include "plan/step.h"

namespace conv_transpose {

template <Family family>
Launch<family> launch_with_axes(const KernelTraits &kernel, const Problem &p) {
    Launch<family> launch(kernel);
    launch.set_axes("kernel", p, [](const Axis &a) { return a.kernel; });
    launch.set_axes("stride", p, [](const Axis &a) { return a.stride; });
    launch.set_axes("dilation", p, [](const Axis &a) { return a.dilation; });
    return launch;
}

/// An output gradient's coordinates begin at the padding.
inline void begin_at_padding(View &output_gradient, const Problem &p, int rank) {
    for (int i = 0; i < rank; i++) output_gradient.set_min(i, p.axes[2 - i].padding);
}

inline View padded_output_pictures(Operand operand, const Problem &p, int rank, const LaunchRange &range,
                                   TensorFormat format = {}) {
    View view = output_pictures(operand, p, rank, range, format);
    begin_at_padding(view, p, rank);
    return view;
}

}  // namespace conv_transpose

#endif

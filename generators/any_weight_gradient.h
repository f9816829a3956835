// What generators of weight gradients declare whose tensors are of any rank, format and layout (any_tensors.h), every attribute a
// run-time value. Arguments as in weight_gradient.h.
#ifndef CONV_TRANSPOSE_GENERATORS_ANY_WEIGHT_GRADIENT_H
#define CONV_TRANSPOSE_GENERATORS_ANY_WEIGHT_GRADIENT_H

#include "Halide.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"

namespace conv_transpose {

/// A base of generators; `Pictures` is what they share with others of the same pictures.
template <class Pictures>
struct AnyWeightGradient : Pictures {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    /// The sum has one part, and the kernel rounds it itself: a second launch would take as long as the first of few positions.
    Halide::GeneratorParam<bool> writes_result{"writes_result", false};

    /// The output gradient's coordinates begin at the padding. `batch` may be 0, where tensors have one image that is
    /// never read.
    Input<Halide::Buffer<>> input{"input"}, output_gradient{"output_gradient"};
    Input<int> batch{"batch"}, band_rows{"band_rows"}, part_images{"part_images"};

  protected:
    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<>> *partial_ = nullptr;

    template <class Generator>
    void add_arguments(Generator &generator) {
        this->set_format(input);
        this->set_format(output_gradient);
        attributes_ = add_axis_inputs(generator, this->rank, strided_attributes);
        // kx, ky, kz, output channel, input channel, group, band, images
        const Halide::Type stored = writes_result ? halide_type(this->storage) : Halide::Float(32);
        partial_ = generator.template add_output<Halide::Buffer<>>("partial", stored, this->dimensions + 2);
    }
    void declare_arguments() {
        this->declare_strides(input, true);
        this->declare_strides(output_gradient, false);
        for (int d = 0; d < this->dimensions + 2; d++) partial_->dim(d).set_min(0);
        partial_->dim(0).set_stride(Halide::Expr());
    }
    void describe_result(bool channels_last, KernelDescription &description) {
        if (writes_result) {
            description.set("writes_result", "true");
            description.set("weight", format_text(this->storage, channels_last));
        } else {
            description.set("any_result", "true");
        }
    }
    Halide::Expr extent(int d) const { return partial_->dim(d).extent(); }
};

}  // namespace conv_transpose

#endif

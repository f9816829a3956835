// What may be asked of a plan: see plan_requests.h.
#include "plan/plan_requests.h"

#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>

#include "algorithm/listed.h"
#include "choice/tensor_formats.h"
#include "plan/epilogue_arguments.h"
#include "problem/enumerators.h"

namespace conv_transpose {

namespace {

void require_format(const std::string &tensor, const TensorFormat &format) {
    constexpr auto last = static_cast<ElementType>(std::size(storages) - 1);
    require_enumerator(tensor + ".type", format.type, last, names_of_element_types(" and "));
    require_enumerator(tensor + ".layout", format.layout, static_cast<Layout>(std::size(named_layouts) - 1),
                       listed(named_layouts, &NamedLayout::name, " and "));
}

}  // namespace

void require_valid(const PlanOptions &options) {
    const Epilogue &e = options.epilogue;
    require_enumerator("operation", options.operation, Operation::bias_gradient,
                       "forward, input_gradient, weight_gradient and bias_gradient");
    require_device(options.device);
    require_enumerator("precision", options.precision, Precision::tf32x3, "float32, tf32 and tf32x3");
    require_enumerator("epilogue.activation", e.activation, static_cast<Activation>(std::size(activations) - 1),
                       listed(activations, &NamedActivation::name, " and "));
    require_format("input", options.input);
    require_format("weight", options.weight);
    require_format("output", options.output);
    const bool plain = !e.bias && e.activation == Activation::none;
    if (options.operation != Operation::forward && !plain)
        throw InvalidProblem("epilogue",
                             "epilogue has a bias or an activation, but only the forward operation has one");
    if (e.activation == Activation::prelu && !e.bias)
        throw InvalidProblem("epilogue.activation",
                             "epilogue.activation is prelu, whose slopes stand behind the biases: epilogue.bias must be true");
    if (e.activation == Activation::leaky_relu && std::isnan(e.negative_slope))
        throw InvalidProblem("epilogue.negative_slope", "epilogue.negative_slope is NaN, but it must be a number");
}

namespace {

void require_pixel_stride(const std::string &tensor, int64_t stride, int64_t channels, TensorFormat format,
                          Operation operation) {
    if (stride == 0) return;
    const std::string field = tensor + "_pixel_stride", is = field + " is " + std::to_string(stride);
    if (operation != Operation::forward || !channels_innermost(format))
        throw InvalidProblem(
            field, is + ", but only pictures of the forward operation in channels_last have one; leave it 0");
    const int64_t multiple = 16 / bytes_of(format.type);
    if (stride < channels || stride % multiple != 0)
        throw InvalidProblem(field, is + ", but it must be at least the " + std::to_string(channels) +
                                        " channels of the " + tensor + ", and a multiple of " + std::to_string(multiple));
}

}  // namespace

void require_valid_pixels(const Problem &p, const PlanOptions &o) {
    require_pixel_stride("input", o.input_pixel_stride, p.in_channels, o.input, o.operation);
    require_pixel_stride("output", o.output_pixel_stride, p.out_channels, o.output, o.operation);
}

void require_addressable(const char *what, double bytes) {
    constexpr double addresses = double(int64_t{1} << 47);  // of a program on x86-64
    if (bytes <= addresses) return;
    char number[32];
    std::snprintf(number, sizeof number, "%.3g", bytes);
    throw Unsupported(std::string(what) + " would have " + number + " bytes, but a program has addresses for 2^47");
}

void require_addressable(const Problem &p) {
    constexpr double float_bytes = sizeof(float);
    require_addressable("the input", float_bytes * double(p.input_elements()));
    require_addressable("the weight", float_bytes * double(p.weight_elements()));
    require_addressable("the output", float_bytes * double(p.output_elements()));
}

}  // namespace conv_transpose

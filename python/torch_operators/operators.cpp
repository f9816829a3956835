// The operators torch.ops.conv_transpose.* without Python: for programs in C++ that load TorchScript or AOTInductor
// packages of models whose layers are this library's. Loading this library (dlopen(), torch.ops.load_library()) defines
// them; the Python package defines the same ones, so a process takes one of the two.
//
// PyTorch's stable ABI: one binary for PyTorch 2.10 and later. It has no way to register a derivative, so these operators
// have none; gradients are operators of their own.
#include <array>
#include <string>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include "call.h"

namespace conv_transpose::torch_operators {
namespace {

using torch::headeronly::MemoryFormat;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using Sizes = std::vector<int64_t>;

// Attributes of an operator, in the order of its schema.
struct Attributes {
    const Sizes &stride, &padding, &output_padding;
    int64_t groups;
    const Sizes &dilation;
    const std::string &precision;
};

bool lies_channels_last(const Tensor &tensor) {
    const int64_t axes = tensor.dim();
    if (axes < 4 || tensor.is_contiguous()) return false;
    int64_t step = 1;
    for (int64_t i = 0; i < axes; i++) {
        const int64_t axis = i == 0 ? 1 : i == axes - 1 ? 0 : axes - i;  // channels, then from the width outwards
        if (tensor.size(axis) > 1 && tensor.stride(axis) != step) return false;
        step *= tensor.size(axis);
    }
    return true;
}

MemoryFormat channels_last(int64_t dimensions) {
    return dimensions == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast;
}

conv_transpose_element_type element_type(ScalarType type) {
    switch (type) {
        case ScalarType::Float: return CONV_TRANSPOSE_ELEMENT_FLOAT32;
        case ScalarType::Half: return CONV_TRANSPOSE_ELEMENT_FLOAT16;
        case ScalarType::BFloat16: return CONV_TRANSPOSE_ELEMENT_BFLOAT16;
        default: break;
    }
    STD_TORCH_CHECK(false, "conv_transpose: an operand has elements of another type than float32, float16 and bfloat16");
}

// A tensor as the library reads it: dense, in that layout, and at a multiple of 16 bytes.
Tensor as_read(const Tensor &tensor, bool last) {
    const Tensor dense =
        torch::stable::contiguous(tensor, last ? channels_last(tensor.dim()) : MemoryFormat::Contiguous);
    return reinterpret_cast<uintptr_t>(dense.data_ptr()) % 16 == 0 ? dense : torch::stable::clone(dense);
}

// One call: its operands and the result have one device and layout, and, but for parameters in float32, one type.
class Operation {
  public:
    // `weight`: the type of the weight, or of its gradient.
    Operation(conv_transpose_operation operation, const Tensor &first, const Tensor &second, ScalarType weight)
        : rank_(first.dim() - 2), last_(lies_channels_last(first) || lies_channels_last(second)),
          result_type_(is_of_parameter(operation) ? weight : first.scalar_type()), like_(first), operands_{first, second} {
        STD_TORCH_CHECK(rank_ >= 1 && rank_ <= 3, "conv_transpose: a picture has ", first.dim(),
                        " dimensions, but it must have batch, channels and one to three axes");
        STD_TORCH_CHECK(second.dim() == first.dim(), "conv_transpose: operands have ", first.dim(), " and ", second.dim(),
                        " dimensions, but they must have the same number");
        const ScalarType picture = first.scalar_type();
        const ScalarType of_second = is_of_parameter(operation) ? picture : weight;
        STD_TORCH_CHECK(second.scalar_type() == of_second && second.device() == first.device(),
                        "conv_transpose: pictures must be of one type, and operands on one device");
        STD_TORCH_CHECK(weight == picture || weight == ScalarType::Float,
                        "conv_transpose: parameters must be float32, or of the picture's type");
        call_.problem.rank = rank_;
        call_.options.operation = operation;
        call_.options.device = first.is_cuda() ? CONV_TRANSPOSE_CUDA : CONV_TRANSPOSE_CPU;
        const conv_transpose_layout layout = last_ ? CONV_TRANSPOSE_CHANNELS_LAST : CONV_TRANSPOSE_CHANNELS_FIRST;
        call_.options.input = call_.options.output = {element_type(picture), layout};
        call_.options.weight = {element_type(weight), layout};
    }

    conv_transpose_axis &axis(int64_t i) {
        const std::array<conv_transpose_axis *, 3> axes{&call_.problem.depth, &call_.problem.height, &call_.problem.width};
        return *axes[3 - rank_ + i];
    }

    // Everything but the sizes of input and kernel, which operations find in different tensors.
    void take(const Attributes &a, int64_t batch, int64_t in_channels, int64_t out_channels) {
        STD_TORCH_CHECK(a.groups > 0, "conv_transpose: groups is ", a.groups, ", but it must be positive");
        call_.problem.batch = batch, call_.problem.in_channels = in_channels;
        call_.problem.out_channels = out_channels, call_.problem.groups = a.groups;
        for (const Sizes *sizes : {&a.stride, &a.padding, &a.output_padding, &a.dilation})
            STD_TORCH_CHECK(int64_t(sizes->size()) == rank_, "conv_transpose: an attribute has ", sizes->size(),
                            " values, but there are ", rank_, " axes");
        for (int64_t i = 0; i < rank_; i++) {
            conv_transpose_axis &to = axis(i);
            to.stride = a.stride[i], to.padding = a.padding[i], to.output_padding = a.output_padding[i];
            to.dilation = a.dilation[i];
        }
        call_.take_precision(a.precision);
    }

    // `slot`: the argument that the result is.
    Tensor run(const Sizes &shape, void *conv_transpose_arguments::*slot, const void *conv_transpose_arguments::*first,
               const void *conv_transpose_arguments::*second, const Tensor *bias = nullptr) {
        std::optional<torch::stable::accelerator::DeviceGuard> on_device;
        if (like_.is_cuda()) on_device.emplace(like_.get_device_index());
        for (int64_t size : shape)
            STD_TORCH_CHECK(size >= 0, "conv_transpose: operands have sizes that do not belong together");
        const bool has_last = last_ && shape.size() > 1;
        const Tensor result = torch::stable::empty(shape, result_type_, std::nullopt, like_.device(), std::nullopt,
                                                   has_last ? channels_last(rank_ + 2) : MemoryFormat::Contiguous);
        const Tensor a = as_read(operands_[0], last_), b = as_read(operands_[1], last_);
        call_.options.bias = bias != nullptr;
        conv_transpose_arguments arguments{};
        arguments.*slot = result.data_ptr(), arguments.*first = a.data_ptr();
        if (second) arguments.*second = b.data_ptr();
        Tensor read_bias = bias ? as_read(*bias, false) : a;
        if (bias) arguments.bias = read_bias.data_ptr();
        const std::string failure = call_.run(arguments, like_.is_cuda() ? like_.get_device_index() : -1, [&](size_t bytes) {
            // PyTorch's allocator hands it out again in the order of the stream.
            return torch::stable::empty({int64_t(bytes)}, ScalarType::Byte, std::nullopt, like_.device());
        });
        STD_TORCH_CHECK(failure.empty(), "conv_transpose: ", failure);
        return result;
    }

  private:
    static bool is_of_parameter(conv_transpose_operation operation) {
        return operation == CONV_TRANSPOSE_WEIGHT_GRADIENT || operation == CONV_TRANSPOSE_BIAS_GRADIENT;
    }

    Call call_{};
    int64_t rank_;
    bool last_;
    ScalarType result_type_;
    Tensor like_;
    std::array<Tensor, 2> operands_;
};

Tensor forward(const Tensor &input, const Tensor &weight, const std::optional<Tensor> &bias, Sizes stride, Sizes padding,
               Sizes output_padding, int64_t groups, Sizes dilation, std::string precision) {
    Operation operation(CONV_TRANSPOSE_FORWARD, input, weight, weight.scalar_type());
    const Attributes a{stride, padding, output_padding, groups, dilation, precision};
    STD_TORCH_CHECK(weight.size(0) == input.size(1), "conv_transpose: weight has ", weight.size(0),
                    " input channels, but input has ", input.size(1));
    const int64_t out_channels = weight.size(1) * groups;
    operation.take(a, input.size(0), input.size(1), out_channels);
    if (bias)
        STD_TORCH_CHECK(bias->dim() == 1 && bias->size(0) == out_channels && bias->scalar_type() == weight.scalar_type(),
                        "conv_transpose: bias must have ", out_channels, " elements of the weight's type");
    Sizes shape{input.size(0), out_channels};
    for (int64_t i = 0; i < input.dim() - 2; i++) {
        conv_transpose_axis &axis = operation.axis(i);
        axis.input = input.size(i + 2), axis.kernel = weight.size(i + 2);
        shape.push_back((axis.input - 1) * axis.stride - 2 * axis.padding + axis.dilation * (axis.kernel - 1) +
                        axis.output_padding + 1);
    }
    return operation.run(shape, &conv_transpose_arguments::output, &conv_transpose_arguments::input,
                         &conv_transpose_arguments::weight, bias ? &*bias : nullptr);
}

// The gradient of the input that has an output of this shape.
Tensor input_gradient(const Tensor &gradient, const Tensor &weight, Sizes stride, Sizes padding, Sizes output_padding,
                      int64_t groups, Sizes dilation, std::string precision) {
    Operation operation(CONV_TRANSPOSE_INPUT_GRADIENT, gradient, weight, weight.scalar_type());
    operation.take({stride, padding, output_padding, groups, dilation, precision}, gradient.size(0), weight.size(0),
                   weight.size(1) * groups);
    STD_TORCH_CHECK(gradient.size(1) == weight.size(1) * groups, "conv_transpose: the output gradient has ",
                    gradient.size(1), " channels, but weight and groups make ", weight.size(1) * groups);
    Sizes shape{gradient.size(0), weight.size(0)};
    for (int64_t i = 0; i < gradient.dim() - 2; i++) {
        conv_transpose_axis &axis = operation.axis(i);
        STD_TORCH_CHECK(axis.stride > 0, "conv_transpose: stride is ", axis.stride, ", but it must be positive");
        axis.kernel = weight.size(i + 2);
        axis.input = (gradient.size(i + 2) - 1 - axis.output_padding + 2 * axis.padding - axis.dilation * (axis.kernel - 1)) /
                         axis.stride + 1;
        shape.push_back(axis.input);
    }
    return operation.run(shape, &conv_transpose_arguments::input_gradient, &conv_transpose_arguments::output_gradient,
                         &conv_transpose_arguments::weight);
}

// The gradient of the weight with which this input has an output of this shape.
Tensor weight_gradient(const Tensor &gradient, const Tensor &input, Sizes stride, Sizes padding, Sizes output_padding,
                       int64_t groups, Sizes dilation, std::string precision, std::optional<ScalarType> dtype) {
    Operation operation(CONV_TRANSPOSE_WEIGHT_GRADIENT, gradient, input, dtype.value_or(gradient.scalar_type()));
    operation.take({stride, padding, output_padding, groups, dilation, precision}, input.size(0), input.size(1),
                   gradient.size(1));
    Sizes shape{input.size(1), gradient.size(1) / groups};
    for (int64_t i = 0; i < input.dim() - 2; i++) {
        conv_transpose_axis &axis = operation.axis(i);
        STD_TORCH_CHECK(axis.dilation > 0, "conv_transpose: dilation is ", axis.dilation, ", but it must be positive");
        axis.input = input.size(i + 2);
        axis.kernel = (gradient.size(i + 2) - 1 - axis.output_padding + 2 * axis.padding - (axis.input - 1) * axis.stride) /
                          axis.dilation + 1;
        shape.push_back(axis.kernel);
    }
    return operation.run(shape, &conv_transpose_arguments::weight_gradient, &conv_transpose_arguments::output_gradient,
                         &conv_transpose_arguments::input);
}

// The bias is that of a problem with a kernel of one element, whose output is the gradient that is given.
Tensor bias_gradient(const Tensor &gradient, std::optional<ScalarType> dtype) {
    Operation operation(CONV_TRANSPOSE_BIAS_GRADIENT, gradient, gradient, dtype.value_or(gradient.scalar_type()));
    const Sizes ones(gradient.dim() - 2, 1), zeros(gradient.dim() - 2, 0);
    operation.take({ones, zeros, zeros, 1, ones, "float32"}, gradient.size(0), 1, gradient.size(1));
    for (int64_t i = 0; i < gradient.dim() - 2; i++) operation.axis(i).input = gradient.size(i + 2), operation.axis(i).kernel = 1;
    return operation.run({gradient.size(1)}, &conv_transpose_arguments::bias_gradient,
                         &conv_transpose_arguments::output_gradient, nullptr);
}

void implement(torch::stable::detail::StableLibrary &library) {
    library.impl("conv_transpose2d", TORCH_BOX(&forward));
    library.impl("input_gradient", TORCH_BOX(&input_gradient));
    library.impl("weight_gradient", TORCH_BOX(&weight_gradient));
    library.impl("bias_gradient", TORCH_BOX(&bias_gradient));
}

}  // namespace

// As python/conv_transpose/torch/_operators.py has them.
#define CONV_TRANSPOSE_ATTRIBUTES \
    "SymInt[] stride, SymInt[] padding, SymInt[] output_padding, SymInt groups, SymInt[] dilation, str precision"

STABLE_TORCH_LIBRARY(conv_transpose, library) {
    library.def("conv_transpose2d(Tensor input, Tensor weight, Tensor? bias, " CONV_TRANSPOSE_ATTRIBUTES ") -> Tensor");
    library.def("input_gradient(Tensor output_gradient, Tensor weight, " CONV_TRANSPOSE_ATTRIBUTES ") -> Tensor");
    library.def("weight_gradient(Tensor output_gradient, Tensor input, " CONV_TRANSPOSE_ATTRIBUTES
                ", ScalarType? dtype=None) -> Tensor");
    library.def("bias_gradient(Tensor output_gradient, ScalarType? dtype=None) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(conv_transpose, CPU, library) { implement(library); }
STABLE_TORCH_LIBRARY_IMPL(conv_transpose, CUDA, library) { implement(library); }

}  // namespace conv_transpose::torch_operators

// Tensors and their data: see operands.h.
#include "operands.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "conv_transpose/device_timer.h"
#include "element_bits.h"

namespace conv_transpose::benchmark {

namespace {

constexpr int64_t period = 1000003;

}  // namespace

Pattern Pattern::integers(unsigned seed) {
    std::mt19937 random(seed);
    Pattern pattern;
    pattern.values_.resize(period);
    for (float &v : pattern.values_) v = static_cast<float>(static_cast<int>(random() % 9) - 4);
    return pattern;
}

Pattern Pattern::reals(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Pattern pattern;
    pattern.values_.resize(period);
    for (float &v : pattern.values_) v = uniform(random);
    return pattern;
}

Pattern Pattern::constant(float value) {
    Pattern pattern;
    pattern.values_.assign(period, value);
    return pattern;
}

void Pattern::fill(DeviceMemory &tensor, ElementType type) const {
    const void *one_period = values_.data();
    if (type != ElementType::float32) {
        std::vector<uint16_t> &halves = halves_[type];
        if (halves.empty())
            for (const float v : values_) halves.push_back(bits_of(v, type));
        one_period = halves.data();
    }
    size_t filled = std::min(values_.size() * bytes_of(type), tensor.bytes());
    tensor.copy_from_host(one_period, filled);
    // Whole periods: what is there already is what comes next.
    while (filled < tensor.bytes()) {
        const size_t bytes = std::min(filled, tensor.bytes() - filled);
        if (tensor.device() == Device::cpu) {
            std::memcpy(static_cast<char *>(tensor.data()) + filled, tensor.data(), bytes);
        } else if (const Status status = copy_on_device(tensor, filled, tensor, bytes, {}); !status.ok()) {
            throw std::runtime_error(status.message());
        }
        filled += bytes;
    }
    synchronize(tensor.device());
}

Extents::Extents(const Problem &problem, const PlanOptions &options) {
    const int of_weight = bytes_of(options.weight.type);
    output = bytes_of(options.output.type) * problem.output_elements();
    if (options.operation == Operation::bias_gradient || options.epilogue.bias) bias = of_weight * problem.out_channels;
    if (options.operation == Operation::bias_gradient) return;
    input = bytes_of(options.input.type) * problem.input_elements();
    weight = of_weight * problem.weight_elements();
}

Operands::Operands(const Plan &plan) : options_(plan.options()) {
    const Extents extents(plan.problem(), plan.options());
    const Device device = plan.device();
    input_ = DeviceMemory(device, extents.input);
    weight_ = DeviceMemory(device, extents.weight);
    bias_ = DeviceMemory(device, extents.bias);
    output_ = DeviceMemory(device, extents.output);
    workspace_ = DeviceMemory(device, plan.workspace_bytes());
    switch (options_.operation) {
        case Operation::forward:
            side_of_result_ = &output_;
            break;
        case Operation::input_gradient:
            side_of_result_ = &input_;
            break;
        case Operation::weight_gradient:
            side_of_result_ = &weight_;
            break;
        case Operation::bias_gradient:
            side_of_result_ = &bias_;
            break;
    }
}

void Operands::fill(const Data &data) {
    static const Pattern unwritten = Pattern::constant(std::nanf(""));
    const auto fill_side = [&](DeviceMemory &side, const Pattern &pattern, const TensorFormat &format) {
        (&side == side_of_result_ ? unwritten : pattern).fill(side, format.type);
    };
    fill_side(input_, data.input, options_.input);
    fill_side(weight_, data.weight, options_.weight);
    fill_side(bias_, data.bias, options_.weight);
    fill_side(output_, data.output, options_.output);
}

Arguments Operands::arguments() const {
    Arguments a;
    a.input = input_.data();
    a.weight = weight_.data();
    a.bias = bias_.data();
    a.output = output_.data();
    a.output_gradient = output_.data();
    a.input_gradient = input_.data();
    a.weight_gradient = weight_.data();
    a.bias_gradient = bias_.data();
    a.packed_weight = packed_weight_.data();
    return a;
}

void Operands::pack_weight(const Plan &plan) {
    if (plan.packed_weight_bytes() == 0) return;
    packed_weight_ = DeviceMemory(plan.device(), plan.packed_weight_bytes());
    const Status status = plan.pack_weight(weight_.data(), packed_weight_.data());
    if (!status.ok()) throw std::runtime_error(status.message());
    synchronize(plan.device());
}

}  // namespace conv_transpose::benchmark

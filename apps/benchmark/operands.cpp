// Tensors and their data: see operands.h.
#include "operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "conv_transpose/device_timer.h"

namespace conv_transpose::benchmark {

namespace {

constexpr int64_t period = 1000003;

DeviceMemory floats(Device device, int64_t count) {
    return DeviceMemory(device, sizeof(float) * count);
}

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

void Pattern::fill(DeviceMemory &tensor) const {
    size_t filled = std::min(values_.size() * sizeof(float), tensor.bytes());
    tensor.copy_from_host(values_.data(), filled);
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
    output = problem.output_elements();
    if (options.operation == Operation::bias_gradient || options.epilogue.bias) bias = problem.out_channels;
    if (options.operation == Operation::bias_gradient) return;
    input = problem.input_elements();
    weight = problem.weight_elements();
}

Operands::Operands(const Plan &plan) : operation_(plan.options().operation) {
    const Extents extents(plan.problem(), plan.options());
    const Device device = plan.device();
    input_ = floats(device, extents.input);
    weight_ = floats(device, extents.weight);
    bias_ = floats(device, extents.bias);
    output_ = floats(device, extents.output);
    workspace_ = DeviceMemory(device, plan.workspace_bytes());
    switch (operation_) {
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
    const auto fill_side = [&](DeviceMemory &side, const Pattern &pattern) {
        (&side == side_of_result_ ? unwritten : pattern).fill(side);
    };
    fill_side(input_, data.input);
    fill_side(weight_, data.weight);
    fill_side(bias_, data.bias);
    fill_side(output_, data.output);
}

Arguments Operands::arguments() const {
    Arguments a;
    a.input = input_.floats();
    a.weight = weight_.floats();
    a.bias = bias_.floats();
    a.output = output_.floats();
    a.output_gradient = output_.floats();
    a.input_gradient = input_.floats();
    a.weight_gradient = weight_.floats();
    a.bias_gradient = bias_.floats();
    a.packed_weight = packed_weight_.data();
    return a;
}

void Operands::pack_weight(const Plan &plan) {
    if (plan.packed_weight_bytes() == 0) return;
    packed_weight_ = DeviceMemory(plan.device(), plan.packed_weight_bytes());
    const Status status = plan.pack_weight(weight_.floats(), packed_weight_.data());
    if (!status.ok()) throw std::runtime_error(status.message());
    synchronize(plan.device());
}

}  // namespace conv_transpose::benchmark

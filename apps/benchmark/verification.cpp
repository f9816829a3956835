// The definition, one element at a time: see verification.h.
#include "verification.h"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

namespace conv_transpose::benchmark {

namespace {

// A position in a tensor (outer, channel, y, x) of dense layout.
struct Position {
    int64_t outer, channel, y, x;
    Position(int64_t i, int64_t channels, Size2 size)
        : outer(i / (channels * size.height * size.width)),
          channel(i / (size.height * size.width) % channels),
          y(i / size.width % size.height),
          x(i % size.width) {}
};

int64_t index(int64_t outer, int64_t channel, int64_t y, int64_t x, int64_t channels, Size2 size) {
    return ((outer * channels + channel) * size.height + y) * size.width + x;
}

// Where input position `in` meets kernel position `k` in the output; -1 where that is cropped.
int64_t output_position(int64_t in, int64_t k, int64_t stride, int64_t dilation, int64_t padding,
                        int64_t extent) {
    const int64_t o = in * stride + k * dilation - padding;
    return o >= 0 && o < extent ? o : -1;
}

// Where output position `o` reads the input through kernel position `k`; -1 where it does not.
int64_t input_position(int64_t o, int64_t k, int64_t stride, int64_t dilation, int64_t padding,
                       int64_t extent) {
    const int64_t t = o + padding - k * dilation;
    return t >= 0 && t % stride == 0 && t / stride < extent ? t / stride : -1;
}

double activated(double sum, const Epilogue &epilogue) {
    switch (epilogue.activation) {
        case Activation::none:
            return sum;
        case Activation::relu:
            return std::max(sum, 0.0);
        case Activation::leaky_relu:
            return sum < 0 ? static_cast<float>(sum) * epilogue.negative_slope : sum;
        case Activation::tanh:
        case Activation::sigmoid:
            break;
    }
    throw std::runtime_error("the benchmark verifies exactly, which tanh and sigmoid do not allow");
}

double forward_element(const Problem &p, const Epilogue &epilogue, const Data &data, int64_t i) {
    const Position o(i, p.out_channels, p.output());
    const int64_t in_group = p.in_channels / p.groups, out_group = p.out_channels / p.groups;
    const int64_t group = o.channel / out_group;
    double sum = epilogue.bias ? data.bias[o.channel] : 0;
    for (int64_t ky = 0; ky < p.kernel.height; ky++) {
        const int64_t y =
            input_position(o.y, ky, p.stride.height, p.dilation.height, p.padding.height, p.input.height);
        for (int64_t kx = 0; y >= 0 && kx < p.kernel.width; kx++) {
            const int64_t x =
                input_position(o.x, kx, p.stride.width, p.dilation.width, p.padding.width, p.input.width);
            for (int64_t c = group * in_group; x >= 0 && c < (group + 1) * in_group; c++)
                sum += double(data.input[index(o.outer, c, y, x, p.in_channels, p.input)]) *
                       data.weight[index(c, o.channel % out_group, ky, kx, out_group, p.kernel)];
        }
    }
    return activated(sum, epilogue);
}

double input_gradient_element(const Problem &p, const Data &data, int64_t i) {
    const Size2 out = p.output();
    const Position in(i, p.in_channels, p.input);
    const int64_t out_group = p.out_channels / p.groups, group = in.channel / (p.in_channels / p.groups);
    double sum = 0;
    for (int64_t ky = 0; ky < p.kernel.height; ky++) {
        const int64_t y =
            output_position(in.y, ky, p.stride.height, p.dilation.height, p.padding.height, out.height);
        for (int64_t kx = 0; y >= 0 && kx < p.kernel.width; kx++) {
            const int64_t x =
                output_position(in.x, kx, p.stride.width, p.dilation.width, p.padding.width, out.width);
            for (int64_t c = 0; x >= 0 && c < out_group; c++)
                sum +=
                    double(data.output[index(in.outer, group * out_group + c, y, x, p.out_channels, out)]) *
                    data.weight[index(in.channel, c, ky, kx, out_group, p.kernel)];
        }
    }
    return sum;
}

double weight_gradient_element(const Problem &p, const Data &data, int64_t i) {
    const Size2 out = p.output();
    const int64_t out_group = p.out_channels / p.groups;
    const Position w(i, out_group, p.kernel);
    const int64_t out_channel = w.outer / (p.in_channels / p.groups) * out_group + w.channel;
    double sum = 0;
    for (int64_t n = 0; n < p.batch; n++)
        for (int64_t iy = 0; iy < p.input.height; iy++) {
            const int64_t y =
                output_position(iy, w.y, p.stride.height, p.dilation.height, p.padding.height, out.height);
            for (int64_t ix = 0; y >= 0 && ix < p.input.width; ix++) {
                const int64_t x =
                    output_position(ix, w.x, p.stride.width, p.dilation.width, p.padding.width, out.width);
                if (x >= 0)
                    sum += double(data.input[index(n, w.outer, iy, ix, p.in_channels, p.input)]) *
                           data.output[index(n, out_channel, y, x, p.out_channels, out)];
            }
        }
    return sum;
}

double bias_gradient_element(const Problem &p, const Data &data, int64_t channel) {
    const Size2 out = p.output();
    double sum = 0;
    for (int64_t n = 0; n < p.batch; n++)
        for (int64_t j = 0; j < out.height * out.width; j++)
            sum += data.output[(n * p.out_channels + channel) * out.height * out.width + j];
    return sum;
}

// Products that make one element.
double products(const Problem &p, Operation operation) {
    const double taps = double(p.kernel.height) * p.kernel.width;
    switch (operation) {
        case Operation::forward:
            return taps * p.in_channels / p.groups;
        case Operation::input_gradient:
            return taps * p.out_channels / p.groups;
        case Operation::weight_gradient:
            return double(p.batch) * p.input.height * p.input.width;
        case Operation::bias_gradient:
            break;
    }
    return double(p.batch) * p.output().height * p.output().width;
}

// Elements to compare: first and last, the edges of some planes, and random ones; fewer where each is much
// work.
std::vector<int64_t> sampled_elements(const Plan &plan, int64_t elements) {
    const Operation operation = plan.options().operation;
    constexpr double products_in_all = 2e7;
    const auto count =
        static_cast<int64_t>(std::clamp(products_in_all / products(plan.problem(), operation), 8.0, 4096.0));
    std::mt19937_64 random(7);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    std::vector<int64_t> samples = {0, elements - 1};
    if (operation == Operation::forward || operation == Operation::input_gradient) {
        const Size2 size = operation == Operation::forward ? plan.problem().output() : plan.problem().input;
        const int64_t plane = size.height * size.width;
        while (static_cast<int64_t>(samples.size()) < count / 2) {
            const int64_t first = below(elements / plane) * plane, y = below(size.height),
                          x = below(size.width);
            for (int64_t edge :
                 {x, (size.height - 1) * size.width + x, y * size.width, y * size.width + size.width - 1})
                samples.push_back(first + edge);
        }
    }
    while (static_cast<int64_t>(samples.size()) < count) samples.push_back(below(elements));
    return samples;
}

// The definition's values, 65 ms of work where a sum is long.
struct Expected {
    std::vector<int64_t> elements;
    std::vector<float> values;

    Expected() = default;
    Expected(const Plan &plan, const Data &data, int64_t count)
        : elements(sampled_elements(plan, count)), problem_(plan.problem().str()), operation_(plan.options().operation),
          epilogue_(plan.options().epilogue) {
        for (int64_t i : elements)
            values.push_back(static_cast<float>(expected_element(plan.problem(), plan.options(), data, i)));
    }

    bool serves(const Plan &plan) const {
        const Epilogue &epilogue = plan.options().epilogue;
        return problem_ == plan.problem().str() && operation_ == plan.options().operation &&
               epilogue_.bias == epilogue.bias && epilogue_.activation == epilogue.activation &&
               epilogue_.negative_slope == epilogue.negative_slope;
    }

  private:
    std::string problem_;
    Operation operation_{};
    Epilogue epilogue_;
};

}  // namespace

double expected_element(const Problem &problem, const PlanOptions &options, const Data &data, int64_t i) {
    switch (options.operation) {
        case Operation::forward:
            return forward_element(problem, options.epilogue, data, i);
        case Operation::input_gradient:
            return input_gradient_element(problem, data, i);
        case Operation::weight_gradient:
            return weight_gradient_element(problem, data, i);
        case Operation::bias_gradient:
            break;
    }
    return bias_gradient_element(problem, data, i);
}

std::string verify(const Plan &plan, Operands &operands) {
    static const Data data = Data::integers();
    static Expected expected;  // of the last plan: kernels of one problem follow each other
    operands.fill(data);
    const Status status = plan.run(operands.arguments(), operands.workspace());
    if (!status.ok()) return status.message();
    synchronize(plan.device());

    if (!expected.serves(plan)) expected = Expected(plan, data, operands.result().bytes() / sizeof(float));
    for (size_t n = 0; n < expected.elements.size(); n++) {
        const int64_t i = expected.elements[n];
        float actual = 0;
        operands.result().copy_to_host(&actual, sizeof actual, i * sizeof actual);
        if (!(actual == expected.values[n]))
            return "wrong result: element " + std::to_string(i) + " is " + std::to_string(actual) + " instead of " +
                   std::to_string(expected.values[n]);
    }
    return {};
}

}  // namespace conv_transpose::benchmark

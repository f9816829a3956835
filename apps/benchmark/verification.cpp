// The definition, one element at a time: see verification.h.
#include "verification.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "element_bits.h"

namespace conv_transpose::benchmark {

namespace {

using Sizes = std::array<int64_t, 3>;

template <class Extent>
Sizes sizes_of(const Problem &p, Extent extent) {
    return {extent(p.depth()), extent(p.height()), extent(p.width())};
}
Sizes input_sizes(const Problem &p) { return sizes_of(p, [](const Axis &a) { return a.input; }); }
Sizes kernel_sizes(const Problem &p) { return sizes_of(p, [](const Axis &a) { return a.kernel; }); }
Sizes output_sizes(const Problem &p) { return sizes_of(p, [](const Axis &a) { return a.output(); }); }

int64_t positions(const Sizes &sizes) { return sizes[0] * sizes[1] * sizes[2]; }

struct Element {
    int64_t outer, channel;
    Sizes at;
};

// A dense tensor (outer, channel, depth, height, width): which of its elements lies where.
struct Shape {
    int64_t channels;
    Sizes sizes;
    Layout layout;

    int64_t index(int64_t outer, int64_t channel, int64_t position) const {
        if (layout == Layout::channels_last) return (outer * positions(sizes) + position) * channels + channel;
        return (outer * channels + channel) * positions(sizes) + position;
    }
    Element element(int64_t i) const {
        const bool last = layout == Layout::channels_last;
        const int64_t position = last ? i / channels % positions(sizes) : i % positions(sizes);
        return {i / (channels * positions(sizes)), last ? i % channels : i / positions(sizes) % channels,
                {position / (sizes[1] * sizes[2]), position / sizes[2] % sizes[1], position % sizes[2]}};
    }
};

Shape input_shape(const Problem &p, const PlanOptions &o) { return {p.in_channels, input_sizes(p), o.input.layout}; }
Shape output_shape(const Problem &p, const PlanOptions &o) { return {p.out_channels, output_sizes(p), o.output.layout}; }
Shape weight_shape(const Problem &p, const PlanOptions &o) {
    return {p.out_channels / p.groups, kernel_sizes(p), o.weight.layout};
}

// Two positions of other tensors that an element meets on one axis.
struct Meeting {
    int64_t first, second;
};
using Meetings = std::vector<Meeting>;

// Positions of input and kernel that make position `o` of the output.
Meetings of_output(const Axis &a, int64_t o) {
    Meetings meetings;
    for (int64_t k = 0; k < a.kernel; k++)
        if (const int64_t t = o + a.padding - k * a.dilation; t >= 0 && t % a.stride == 0 && t / a.stride < a.input)
            meetings.push_back({t / a.stride, k});
    return meetings;
}

bool inside(const Axis &a, int64_t o) { return o >= 0 && o < a.output(); }

// Positions of output and kernel that position `i` of the input reaches.
Meetings of_input(const Axis &a, int64_t i) {
    Meetings meetings;
    for (int64_t k = 0; k < a.kernel; k++)
        if (const int64_t o = i * a.stride + k * a.dilation - a.padding; inside(a, o)) meetings.push_back({o, k});
    return meetings;
}

// Positions of input and output that meet through position `k` of the kernel.
Meetings of_kernel(const Axis &a, int64_t k) {
    Meetings meetings;
    for (int64_t i = 0; i < a.input; i++)
        if (const int64_t o = i * a.stride + k * a.dilation - a.padding; inside(a, o)) meetings.push_back({i, o});
    return meetings;
}

// Calls visit(position, position) for all positions of two tensors of these sizes that an element meets.
template <class Visit>
void for_each_meeting(const Problem &p, const Sizes &at, Meetings (*of)(const Axis &, int64_t), const Sizes &first,
                      const Sizes &second, Visit visit) {
    const Meetings depth = of(p.depth(), at[0]), height = of(p.height(), at[1]), width = of(p.width(), at[2]);
    for (const Meeting &z : depth)
        for (const Meeting &y : height)
            for (const Meeting &x : width)
                visit((z.first * first[1] + y.first) * first[2] + x.first,
                      (z.second * second[1] + y.second) * second[2] + x.second);
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
        case Activation::prelu:
            break;
    }
    throw std::runtime_error("the benchmark verifies exactly, which tanh and sigmoid do not allow, and has no slopes of channels");
}

double forward_element(const Problem &p, const PlanOptions &options, const Data &data, int64_t i) {
    const Shape in = input_shape(p, options), weight = weight_shape(p, options);
    const Element o = output_shape(p, options).element(i);
    const int64_t in_group = p.in_channels / p.groups, group = o.channel / weight.channels;
    double sum = options.epilogue.bias ? data.bias[o.channel] : 0;
    for_each_meeting(p, o.at, of_output, in.sizes, weight.sizes, [&](int64_t position, int64_t tap) {
        for (int64_t c = group * in_group; c < (group + 1) * in_group; c++)
            sum += double(data.input[in.index(o.outer, c, position)]) *
                   data.weight[weight.index(c, o.channel % weight.channels, tap)];
    });
    return activated(sum, options.epilogue);
}

double input_gradient_element(const Problem &p, const PlanOptions &options, const Data &data, int64_t i) {
    const Shape out = output_shape(p, options), weight = weight_shape(p, options);
    const Element in = input_shape(p, options).element(i);
    const int64_t group = in.channel / (p.in_channels / p.groups);
    double sum = 0;
    for_each_meeting(p, in.at, of_input, out.sizes, weight.sizes, [&](int64_t position, int64_t tap) {
        for (int64_t c = 0; c < weight.channels; c++)
            sum += double(data.output[out.index(in.outer, group * weight.channels + c, position)]) *
                   data.weight[weight.index(in.channel, c, tap)];
    });
    return sum;
}

double weight_gradient_element(const Problem &p, const PlanOptions &options, const Data &data, int64_t i) {
    const Shape in = input_shape(p, options), out = output_shape(p, options), weight = weight_shape(p, options);
    const Element w = weight.element(i);
    const int64_t out_channel = w.outer / (p.in_channels / p.groups) * weight.channels + w.channel;
    double sum = 0;
    for (int64_t n = 0; n < p.batch; n++)
        for_each_meeting(p, w.at, of_kernel, in.sizes, out.sizes, [&](int64_t from, int64_t to) {
            sum += double(data.input[in.index(n, w.outer, from)]) * data.output[out.index(n, out_channel, to)];
        });
    return sum;
}

double bias_gradient_element(const Problem &p, const PlanOptions &options, const Data &data, int64_t channel) {
    const Shape out = output_shape(p, options);
    double sum = 0;
    for (int64_t n = 0; n < p.batch; n++)
        for (int64_t j = 0; j < positions(out.sizes); j++) sum += data.output[out.index(n, channel, j)];
    return sum;
}

// Products that make one element.
double products(const Problem &p, Operation operation) {
    const auto taps = double(positions(kernel_sizes(p)));
    switch (operation) {
        case Operation::forward:
            return taps * p.in_channels / p.groups;
        case Operation::input_gradient:
            return taps * p.out_channels / p.groups;
        case Operation::weight_gradient:
            return double(p.batch) * positions(input_sizes(p));
        case Operation::bias_gradient:
            break;
    }
    return double(p.batch) * positions(output_sizes(p));
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
        const Shape shape = operation == Operation::forward ? output_shape(plan.problem(), plan.options())
                                                            : input_shape(plan.problem(), plan.options());
        const int64_t height = shape.sizes[1], width = shape.sizes[2];
        while (static_cast<int64_t>(samples.size()) < count / 2) {
            const Element e = shape.element(below(elements));
            const int64_t plane = e.at[0] * height * width, y = e.at[1], x = e.at[2];
            for (int64_t edge : {x, (height - 1) * width + x, y * width, y * width + width - 1})
                samples.push_back(shape.index(e.outer, e.channel, plane + edge));
        }
    }
    while (static_cast<int64_t>(samples.size()) < count) samples.push_back(below(elements));
    return samples;
}

ElementType type_of_result(const PlanOptions &options) {
    switch (options.operation) {
        case Operation::forward:
            return options.output.type;
        case Operation::input_gradient:
            return options.input.type;
        case Operation::weight_gradient:
        case Operation::bias_gradient:
            break;
    }
    return options.weight.type;
}

bool same_formats(const PlanOptions &a, const PlanOptions &b) {
    return a.input == b.input && a.weight == b.weight && a.output == b.output;
}

bool same_epilogue(const Epilogue &a, const Epilogue &b) {
    return a.bias == b.bias && a.activation == b.activation && a.negative_slope == b.negative_slope;
}

// The definition's values, 65 ms of work where a sum is long.
struct Expected {
    std::vector<int64_t> elements;
    std::vector<float> values;

    Expected() = default;
    Expected(const Plan &plan, const Data &data, int64_t count)
        : elements(sampled_elements(plan, count)), problem_(plan.problem().str()), options_(plan.options()) {
        const ElementType type = type_of_result(options_);
        for (int64_t i : elements)
            values.push_back(
                rounded_to(type, static_cast<float>(expected_element(plan.problem(), options_, data, i))));
    }

    bool serves(const Plan &plan) const {
        const PlanOptions &options = plan.options();
        return problem_ == plan.problem().str() && options_.operation == options.operation &&
               same_formats(options_, options) && same_epilogue(options_.epilogue, options.epilogue);
    }

  private:
    std::string problem_;
    PlanOptions options_;
};

float element_of(const DeviceMemory &tensor, ElementType type, int64_t i) {
    if (type == ElementType::float32) {
        float value = 0;
        tensor.copy_to_host(&value, sizeof value, i * sizeof value);
        return value;
    }
    uint16_t bits = 0;
    tensor.copy_to_host(&bits, sizeof bits, i * sizeof bits);
    return value_of(bits, type);
}

}  // namespace

double expected_element(const Problem &problem, const PlanOptions &options, const Data &data, int64_t i) {
    switch (options.operation) {
        case Operation::forward:
            return forward_element(problem, options, data, i);
        case Operation::input_gradient:
            return input_gradient_element(problem, options, data, i);
        case Operation::weight_gradient:
            return weight_gradient_element(problem, options, data, i);
        case Operation::bias_gradient:
            break;
    }
    return bias_gradient_element(problem, options, data, i);
}

// Results are integers, so that a product too many or too few is a whole number. Winograd's transforms, and they alone, round sums
// of 100,000 products and more (k3, 12 to 12 channels of 384x384: 3280.0024 for 3280).
float allowed_rounding(const Plan &plan) { return plan.kernel().find("winograd") == std::string_view::npos ? 0 : 1.f / 64; }

std::string verify(const Plan &plan, Operands &operands) {
    static const Data data = Data::integers();
    static Expected expected;  // of the last plan: kernels of one problem follow each other
    operands.fill(data);
    const Status status = plan.run(operands.arguments(), operands.workspace());
    if (!status.ok()) return status.message();
    synchronize(plan.device());

    const ElementType type = type_of_result(plan.options());
    const float rounding = allowed_rounding(plan);
    if (!expected.serves(plan)) expected = Expected(plan, data, operands.result().bytes() / bytes_of(type));
    for (size_t n = 0; n < expected.elements.size(); n++) {
        const int64_t i = expected.elements[n];
        const float actual = element_of(operands.result(), type, i);
        if (actual != expected.values[n] && !(std::abs(actual - expected.values[n]) <= rounding))
            return "wrong result: element " + std::to_string(i) + " is " + std::to_string(actual) + " instead of " +
                   std::to_string(expected.values[n]);
    }
    return {};
}

}  // namespace conv_transpose::benchmark

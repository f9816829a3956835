// The definition, one element at a time: see verification.h.
#include "verification.h"

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <vector>

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

// Which element of a dense tensor (outer, channel, depth, height, width) the i-th is.
struct Element {
    int64_t outer, channel;
    Sizes at;
    Element(int64_t i, int64_t channels, const Sizes &sizes)
        : outer(i / (channels * positions(sizes))), channel(i / positions(sizes) % channels),
          at{i / (sizes[1] * sizes[2]) % sizes[0], i / sizes[2] % sizes[1], i % sizes[2]} {}
};

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
            break;
    }
    throw std::runtime_error("the benchmark verifies exactly, which tanh and sigmoid do not allow");
}

double forward_element(const Problem &p, const Epilogue &epilogue, const Data &data, int64_t i) {
    const Sizes in = input_sizes(p), kernel = kernel_sizes(p);
    const Element o(i, p.out_channels, output_sizes(p));
    const int64_t in_group = p.in_channels / p.groups, out_group = p.out_channels / p.groups;
    const int64_t group = o.channel / out_group;
    double sum = epilogue.bias ? data.bias[o.channel] : 0;
    for_each_meeting(p, o.at, of_output, in, kernel, [&](int64_t position, int64_t tap) {
        for (int64_t c = group * in_group; c < (group + 1) * in_group; c++)
            sum += double(data.input[(o.outer * p.in_channels + c) * positions(in) + position]) *
                   data.weight[(c * out_group + o.channel % out_group) * positions(kernel) + tap];
    });
    return activated(sum, epilogue);
}

double input_gradient_element(const Problem &p, const Data &data, int64_t i) {
    const Sizes out = output_sizes(p), kernel = kernel_sizes(p);
    const Element in(i, p.in_channels, input_sizes(p));
    const int64_t out_group = p.out_channels / p.groups, group = in.channel / (p.in_channels / p.groups);
    double sum = 0;
    for_each_meeting(p, in.at, of_input, out, kernel, [&](int64_t position, int64_t tap) {
        for (int64_t c = 0; c < out_group; c++)
            sum += double(data.output[(in.outer * p.out_channels + group * out_group + c) * positions(out) + position]) *
                   data.weight[(in.channel * out_group + c) * positions(kernel) + tap];
    });
    return sum;
}

double weight_gradient_element(const Problem &p, const Data &data, int64_t i) {
    const Sizes in = input_sizes(p), out = output_sizes(p);
    const int64_t out_group = p.out_channels / p.groups;
    const Element w(i, out_group, kernel_sizes(p));
    const int64_t out_channel = w.outer / (p.in_channels / p.groups) * out_group + w.channel;
    double sum = 0;
    for (int64_t n = 0; n < p.batch; n++)
        for_each_meeting(p, w.at, of_kernel, in, out, [&](int64_t from, int64_t to) {
            sum += double(data.input[(n * p.in_channels + w.outer) * positions(in) + from]) *
                   data.output[(n * p.out_channels + out_channel) * positions(out) + to];
        });
    return sum;
}

double bias_gradient_element(const Problem &p, const Data &data, int64_t channel) {
    const int64_t plane = positions(output_sizes(p));
    double sum = 0;
    for (int64_t n = 0; n < p.batch; n++)
        for (int64_t j = 0; j < plane; j++) sum += data.output[(n * p.out_channels + channel) * plane + j];
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
        const Problem &p = plan.problem();
        const Sizes size = operation == Operation::forward ? output_sizes(p) : input_sizes(p);
        const int64_t height = size[1], width = size[2], plane = height * width;
        while (static_cast<int64_t>(samples.size()) < count / 2) {
            const int64_t first = below(elements / plane) * plane, y = below(height), x = below(width);
            for (int64_t edge : {x, (height - 1) * width + x, y * width, y * width + width - 1})
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

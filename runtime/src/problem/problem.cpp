// Problem: the output size, which problems are valid, and problem strings.
#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <utility>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

namespace {

// The keys of a problem string, in order, and the field that each stands for.
struct Field {
    const char *key;
    const char *name;
    int64_t Problem::*scalar;
    Size2 Problem::*pair = nullptr;
    int64_t Size2::*axis = nullptr;

    int64_t &in(Problem &p) const { return pair ? p.*pair.*axis : p.*scalar; }
};

constexpr int64_t Size2::*height = &Size2::height;
constexpr int64_t Size2::*width = &Size2::width;

constexpr std::array<Field, 16> fields = {{
    {"n", "batch", &Problem::batch},
    {"g", "groups", &Problem::groups},
    {"ic", "in_channels", &Problem::in_channels},
    {"oc", "out_channels", &Problem::out_channels},
    {"ih", "input.height", nullptr, &Problem::input, height},
    {"iw", "input.width", nullptr, &Problem::input, width},
    {"kh", "kernel.height", nullptr, &Problem::kernel, height},
    {"kw", "kernel.width", nullptr, &Problem::kernel, width},
    {"sh", "stride.height", nullptr, &Problem::stride, height},
    {"sw", "stride.width", nullptr, &Problem::stride, width},
    {"ph", "padding.height", nullptr, &Problem::padding, height},
    {"pw", "padding.width", nullptr, &Problem::padding, width},
    {"dh", "dilation.height", nullptr, &Problem::dilation, height},
    {"dw", "dilation.width", nullptr, &Problem::dilation, width},
    {"oph", "output_padding.height", nullptr, &Problem::output_padding, height},
    {"opw", "output_padding.width", nullptr, &Problem::output_padding, width},
}};

[[noreturn]] void reject(const std::string &field, int64_t value, const std::string &rule) {
    throw InvalidProblem(field, field + " is " + std::to_string(value) + ", but " + rule);
}

void require_at_least(int64_t minimum, const std::string &field, int64_t value) {
    if (value < minimum)
        reject(field, value, "it must be at least " + std::to_string(minimum));
}

void require_at_least(int64_t minimum, const std::string &field, const Size2 &value) {
    require_at_least(minimum, field + ".height", value.height);
    require_at_least(minimum, field + ".width", value.width);
}

// Positions are computed in 32 bits; counts of elements and of bytes in 64.
constexpr int64_t max_extent = int64_t{1} << 30;
constexpr int64_t max_elements = int64_t{1} << 60;

void require_extent(const std::string &field, int64_t value) {
    if (value > max_extent) reject(field, value, "it must be at most " + std::to_string(max_extent));
}

// The most images, or else channels, for which one tensor can be counted. `rest` is at most 2^60.
void require_count(const std::string &field, int64_t value, int64_t rest) {
    const int64_t most = max_elements / std::max<int64_t>(rest, 1);
    if (value > most)
        reject(field, value, "with these sizes it must be at most " + std::to_string(most) +
                                 ", so that a tensor has at most 2^60 elements");
}

void require_axis(const char *axis, int64_t input, int64_t kernel, int64_t stride, int64_t padding,
                  int64_t output_padding, int64_t dilation) {
    const auto field = [&](const char *name) { return std::string(name) + "." + axis; };
    for (const auto &[name, value] : {std::pair{"input", input},
                                      {"kernel", kernel},
                                      {"stride", stride},
                                      {"padding", padding},
                                      {"output_padding", output_padding},
                                      {"dilation", dilation}})
        require_extent(field(name), value);
    if (output_padding >= stride && output_padding >= dilation)
        reject(field("output_padding"), output_padding,
               "it must be smaller than either stride or dilation, which are " + std::to_string(stride) + " and " +
                   std::to_string(dilation));
    const int64_t span = (input - 1) * stride + dilation * (kernel - 1) + output_padding;
    if (span + 1 - 2 * padding < 1)
        reject(field("padding"), padding, "it must be at most " + std::to_string(span / 2) +
                                              ", so that the output's size is at least 1");
    if (span + 1 > max_extent)
        reject(field("input"), input,
               "with this kernel, stride and dilation it reaches over " + std::to_string(span + 1) +
                   " positions; that must be at most " + std::to_string(max_extent));
}

}  // namespace

Size2 Problem::output() const {
    const auto axis = [](int64_t i, int64_t k, int64_t s, int64_t p, int64_t op, int64_t d) {
        return (i - 1) * s - 2 * p + d * (k - 1) + op + 1;
    };
    return {axis(input.height, kernel.height, stride.height, padding.height, output_padding.height, dilation.height),
            axis(input.width, kernel.width, stride.width, padding.width, output_padding.width, dilation.width)};
}

void Problem::validate() const {
    require_at_least(0, "batch", batch);
    require_at_least(1, "groups", groups);
    require_at_least(1, "in_channels", in_channels);
    require_at_least(1, "out_channels", out_channels);
    const auto divisible = [&](const char *field, int64_t channels) {
        if (channels % groups != 0)
            reject(field, channels, "it must be divisible by groups, which is " + std::to_string(groups));
    };
    divisible("in_channels", in_channels);
    divisible("out_channels", out_channels);
    require_extent("in_channels", in_channels);
    require_extent("out_channels", out_channels);
    require_at_least(1, "input", input);
    require_at_least(1, "kernel", kernel);
    require_at_least(1, "stride", stride);
    require_at_least(1, "dilation", dilation);
    require_at_least(0, "padding", padding);
    require_at_least(0, "output_padding", output_padding);
    require_axis("height", input.height, kernel.height, stride.height, padding.height, output_padding.height,
                 dilation.height);
    require_axis("width", input.width, kernel.width, stride.width, padding.width, output_padding.width,
                 dilation.width);
    // Products of two extents are at most 2^60, so each product below is checked before it is made.
    require_count("in_channels", in_channels, input.height * input.width);
    require_count("batch", batch, in_channels * input.height * input.width);
    const Size2 o = output();
    require_count("out_channels", out_channels, o.height * o.width);
    require_count("batch", batch, out_channels * o.height * o.width);
    const int64_t taps = kernel.height * kernel.width;
    require_count("in_channels", in_channels, taps);
    require_count("out_channels", out_channels, in_channels / groups * taps);
}

Problem Problem::parse(std::string_view text) {
    const auto malformed = [&](size_t position) {
        throw InvalidProblem("problem string", "problem string '" + std::string(text) + "' is malformed at '" +
                                                   std::string(text.substr(position)) +
                                                   "'; write it as in n1g1ic3oc8ih32iw32kh4kw4sh2sw2ph1pw1dh1dw1oph0opw0");
    };
    Problem problem;
    std::bitset<fields.size()> seen;
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        while (i < text.size() && text[i] >= 'a' && text[i] <= 'z') i++;
        const std::string_view key = text.substr(start, i - start);
        const Field *field = nullptr;
        for (const Field &f : fields)
            if (key == f.key) field = &f;
        if (!field || seen[field - fields.data()]) malformed(start);
        seen.set(field - fields.data());
        const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), field->in(problem));
        if (error != std::errc()) malformed(start);
        i = end - text.data();
    }
    return problem;
}

std::string Problem::str() const {
    std::string text;
    for (const Field &f : fields) text += f.key + std::to_string(f.in(const_cast<Problem &>(*this)));
    return text;
}

int64_t Problem::input_elements() const { return batch * in_channels * input.height * input.width; }

int64_t Problem::weight_elements() const {
    return in_channels * (out_channels / groups) * kernel.height * kernel.width;
}

int64_t Problem::output_elements() const {
    const Size2 o = output();
    return batch * out_channels * o.height * o.width;
}

}  // namespace conv_transpose

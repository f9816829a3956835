// Problem: which problems are valid, and problem strings.
#include <algorithm>
#include <charconv>
#include <set>

#include "problem/counting.h"

namespace conv_transpose {

namespace {

constexpr const char *axis_names[] = {"depth", "height", "width"};

// For an error: a field of an axis, or a count that has none. No string is made of it before there is one.
struct Field {
    const char *name, *axis;

    Field(const char *of, const char *along = nullptr) : name(of), axis(along) {}
    std::string str() const { return axis ? std::string(name) + "." + axis : name; }
};

// An attribute of an axis; its key in a problem string is followed by the axis's letter.
struct Attribute {
    const char *key;
    const char *name;
    int64_t Axis::*value;
    int64_t minimum;

    Field field(size_t axis) const { return {name, axis_names[axis]}; }
};

constexpr Attribute attributes[] = {{"i", "input", &Axis::input, 1},
                                    {"k", "kernel", &Axis::kernel, 1},
                                    {"s", "stride", &Axis::stride, 1},
                                    {"p", "padding", &Axis::padding, 0},
                                    {"d", "dilation", &Axis::dilation, 1},
                                    {"op", "output_padding", &Axis::output_padding, 0}};

// Calls visit(key, value, axis) for every field of a problem string, in order; `axis` is none of the three for counts
// that have none.
template <class AnyProblem, class Visit>
void for_each_field(AnyProblem &p, Visit visit) {
    constexpr size_t none = 3;
    visit(std::string("n"), p.batch, none);
    visit(std::string("g"), p.groups, none);
    visit(std::string("ic"), p.in_channels, none);
    visit(std::string("oc"), p.out_channels, none);
    for (const Attribute &attribute : attributes)
        for (size_t axis = 0; axis < none; axis++)
            visit(std::string(attribute.key) + axis_names[axis][0], p.axes[axis].*attribute.value, axis);
}

[[noreturn]] void reject(Field field, int64_t value, const std::string &rule) {
    throw InvalidProblem(field.str(), field.str() + " is " + std::to_string(value) + ", but " + rule);
}

void require_at_least(int64_t minimum, Field field, int64_t value) {
    if (value < minimum)
        reject(field, value, "it must be at least " + std::to_string(minimum));
}

// Positions are computed in 32 bits; counts of elements and of bytes in 64.
constexpr int64_t max_extent = int64_t{1} << 30;
constexpr int64_t max_elements = int64_t{1} << 60;

void require_extent(Field field, int64_t value) {
    if (value > max_extent) reject(field, value, "it must be at most " + std::to_string(max_extent));
}

// The most images, or else channels, for which one tensor can be counted. `rest` is at most 2^60.
void require_count(Field field, int64_t value, int64_t rest) {
    const int64_t most = max_elements / std::max<int64_t>(rest, 1);
    if (value > most)
        reject(field, value, "with these sizes it must be at most " + std::to_string(most) +
                                 ", so that a tensor has at most 2^60 elements");
}

void require_axis(const Axis &axis, const char *name) {
    if (axis.output_padding >= axis.stride && axis.output_padding >= axis.dilation)
        reject({"output_padding", name}, axis.output_padding,
               "it must be smaller than either stride or dilation, which are " + std::to_string(axis.stride) +
                   " and " + std::to_string(axis.dilation));
    const int64_t span = axis.output() - 1 + 2 * axis.padding;
    if (axis.output() < 1)
        reject({"padding", name}, axis.padding, "it must be at most " + std::to_string(span / 2) +
                                                    ", so that the output's size is at least 1");
    if (span + 1 > max_extent)
        reject({"input", name}, axis.input,
               "with this kernel, stride and dilation it reaches over " + std::to_string(span + 1) +
                   " positions; that must be at most " + std::to_string(max_extent));
}

// Positions of a picture or a kernel; `field` is the attribute to blame where there are too many.
template <class Extent>
int64_t counted_positions(const Problem &p, const char *field, int64_t Axis::*value, Extent extent) {
    int64_t positions = 1;
    for (size_t i = 0; i < 3; i++) {
        if (extent(p.axes[i]) > max_elements / positions)
            reject({field, axis_names[i]}, p.axes[i].*value,
                   "with the other axes that makes more than 2^60 positions");
        positions *= extent(p.axes[i]);
    }
    return positions;
}

}  // namespace

void Problem::validate() const {
    if (rank < 1 || rank > 3) reject("rank", rank, "it must be 1, 2 or 3");
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
    const size_t first = 3 - rank;
    for (const Attribute &a : attributes)
        for (size_t i = 0; i < 3; i++) {
            const int64_t value = axes[i].*a.value;
            if (i < first && value != Axis().*a.value)
                reject(a.field(i), value, "a problem of rank " + std::to_string(rank) + " has no " + axis_names[i] +
                                              ", so it must be left " + std::to_string(Axis().*a.value));
            require_at_least(a.minimum, a.field(i), value);
            require_extent(a.field(i), value);
        }
    for (size_t i = first; i < 3; i++) require_axis(axes[i], axis_names[i]);
    // Each product below is checked before it is made.
    const int64_t inputs = counted_positions(*this, "input", &Axis::input, [](const Axis &a) { return a.input; });
    require_count("in_channels", in_channels, inputs);
    require_count("batch", batch, in_channels * inputs);
    const int64_t outputs = counted_positions(*this, "input", &Axis::input, [](const Axis &a) { return a.output(); });
    require_count("out_channels", out_channels, outputs);
    require_count("batch", batch, out_channels * outputs);
    const int64_t taps = counted_positions(*this, "kernel", &Axis::kernel, [](const Axis &a) { return a.kernel; });
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
    for (Axis &axis : problem.axes) axis.input = axis.kernel = 0;  // to be told
    size_t outermost = 3;  // axis that the text names
    std::set<std::string_view> seen;
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        while (i < text.size() && text[i] >= 'a' && text[i] <= 'z') i++;
        const std::string_view key = text.substr(start, i - start);
        int64_t *value = nullptr;
        for_each_field(problem, [&](const std::string &name, int64_t &field, size_t axis) {
            if (key == name) value = &field, outermost = std::min(outermost, axis);
        });
        if (!value || !seen.insert(key).second) malformed(start);
        const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), *value);
        if (error != std::errc()) malformed(start);
        i = end - text.data();
    }
    if (outermost < 3) problem.rank = 3 - static_cast<int>(outermost);
    for (int i = 0; i < 3 - problem.rank; i++) problem.axes[i] = {};
    return problem;
}

std::string Problem::str() const {
    std::string text;
    for_each_field(*this, [&](const std::string &key, int64_t value, size_t axis) {
        if (static_cast<int>(axis) >= 3 - rank) text += key + std::to_string(value);
    });
    return text;
}

int64_t Problem::input_elements() const { return batch * in_channels * input_positions(*this); }

int64_t Problem::weight_elements() const { return in_channels * (out_channels / groups) * taps(*this); }

int64_t Problem::output_elements() const { return batch * out_channels * output_positions(*this); }

}  // namespace conv_transpose

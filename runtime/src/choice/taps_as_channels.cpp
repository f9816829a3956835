#include "choice/taps_as_channels.h"

#include <algorithm>
#include <numeric>

#include "choice/launch_limits.h"
#include "choice/simpler_problems.h"
#include "choice/tensor_formats.h"
#include "problem/counting.h"

namespace conv_transpose {

std::optional<Computation> with_packed_taps(const Computation &given, int first) {
    Computation folded = given;
    Problem &p = folded.problem, seen = given.problem;
    int64_t folded_taps = 1;
    double channels = double(p.out_channels);
    for (int i = 0; i < max_rank; i++) {
        if (i < first) {
            seen.axes[i] = {.input = p.axes[i].output()};
            continue;
        }
        channels *= double(p.axes[i].kernel);
        if (channels > max_elements_32bit()) return {};
        folded_taps *= p.axes[i].kernel;
        p.axes[i] = {.input = p.axes[i].input};
    }
    if (first > 0 && (folded_taps == 1 || taps(p) == 1)) return {};
    p.out_channels *= folded_taps;
    if (first == 0) {  // positions of a kernel of one count through all axes
        const int64_t positions = input_positions(p);
        p.rank = 2, p.axes = {};
        p.width().input = positions;
    }
    folded.packed_rows = true, folded.by_taps = seen;
    return folded;
}

std::optional<Computation> with_strides_as_taps(const Computation &given) {
    Computation folded = given;
    Problem &p = folded.problem, seen = given.problem;
    const auto outermost = std::find_if(p.axes.begin(), p.axes.end(), [](const Axis &a) { return a.kernel > 1; });
    if (p.groups != 1 || p.batch == 0 || p.out_channels > max_grid() || outermost == p.axes.end()) return {};
    const int64_t stride = outermost->stride;
    if (stride == 1 || outermost->kernel < stride || outermost->dilation > 1) return {};
    double channels = double(p.out_channels);
    for (Axis &a : p.axes) {
        const bool by_strides = &a == &*outermost;
        const int64_t in_row = by_strides ? stride : a.kernel;
        channels *= double(in_row);
        if (channels > max_elements_32bit()) return {};
        p.out_channels *= in_row;
        a = {.input = a.input, .kernel = by_strides ? ceil_divide(a.kernel, stride) : 1};
        Axis &cells = seen.axes[&a - p.axes.data()];
        if (!by_strides) continue;
        const int64_t output = cells.output();
        cells = {.input = a.output(), .kernel = stride, .stride = stride, .padding = cells.padding};
        cells.output_padding = output - cells.output();
    }
    folded.packed_rows = true, folded.by_taps = seen, folded.kernel_positions = taps(given.problem);
    return folded;
}

std::optional<Computation> with_taps_as_rows(const Computation &given) {
    const Problem &p = given.problem;
    const bool of_floats = given.read_format.type == ElementType::float32 && given.written_format.type == ElementType::float32;
    if (p.groups != 1 || p.batch == 0 || taps(p) == 1 || !of_floats) return {};
    std::optional<Computation> folded = with_packed_taps(given, 0);
    if (folded) folded->kernel_positions = taps(p);
    return folded;
}

namespace {

// Whether a second pass over the products of all taps may pay: of few output channels it costs little, and of others where outputs
// see no fewer products, those with what lies outside of the input included.
bool has_few_products_of_taps(const Problem &p) {
    constexpr int64_t most_channels = 16;
    const auto seen = [](const Axis &a) { return a.output() * ceil_divide(a.kernel, a.stride / std::gcd(a.stride, a.dilation)); };
    const double products = double(input_positions(p)) * double(taps(p));
    return p.out_channels <= most_channels || products <= double(product_of_axes(p, seen));
}

}  // namespace

std::optional<Computation> with_products_of_taps(const Computation &given) {
    const Problem &p = given.problem;
    const auto is_float = [](TensorFormat format) { return format.type == ElementType::float32; };
    const bool of_floats = is_float(given.read_format) && is_float(given.written_format) && is_float(given.weight_format);
    if (!of_floats || given.operation != Operation::forward || given.weight_operand != Operand::weight || p.groups != 1 ||
        p.batch == 0 || p.batch > max_grid() || taps(p) == 1 || !has_few_products_of_taps(p) || given.written_turned ||
        given.has_wide_pixels())
        return {};
    const double products = double(p.batch) * double(input_positions(p)) * double(p.out_channels) * double(taps(p));
    if (std::max(products, double(p.output_elements())) > max_elements_32bit()) return {};
    Computation of_taps = given;
    of_taps.of_taps = ProductsOfTaps{p, given.written_format.layout};
    of_taps.problem = {.batch = p.batch, .in_channels = p.in_channels, .out_channels = p.out_channels * taps(p)};
    of_taps.problem.width().input = input_positions(p);
    of_taps.written_format.layout = Layout::channels_first;
    return of_taps;
}

std::optional<Computation> with_taps_side_by_side(const Computation &given, const PlanOptions &options) {
    const bool channels_last = given.read_format == given.written_format && channels_innermost(given.read_format) &&
                               bytes_of(given.read_format.type) == 2;
    if (!channels_last) return {};
    Computation joined = given;
    joined.problem = with_outermost_inputs_as_images(with_row_taps_as_channels(given.problem, options));
    if (joined.problem.axes == given.problem.axes) return {};
    return joined;
}

std::optional<Computation> with_lines_as_channels(const Computation &given) {
    const auto lies_so = [](TensorFormat format) { return !channels_innermost(format) && bytes_of(format.type) == 2; };
    const Problem &p = given.problem;
    if (!lies_so(given.read_format) || !lies_so(given.written_format) || channels_innermost(given.weight_format) ||
        p.width().kernel != 2 || !std::all_of(p.axes.begin(), p.axes.end(), is_side_by_side) ||
        double(p.out_channels) * double(taps(p)) > max_elements_32bit())
        return {};
    Computation lines = given;
    for (Axis *a : {&lines.problem.depth(), &lines.problem.height()}) {
        lines.problem.out_channels *= a->kernel;
        *a = {.input = a->input};
    }
    lines.by_lines = p;
    return lines;
}

}  // namespace conv_transpose

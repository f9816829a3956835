// Whether a kernel may serve: see rejection.h.
#include "choice/rejection.h"

#include <algorithm>

#include "choice/estimated_time.h"
#include "choice/flat_tiles.h"
#include "choice/kernel_properties.h"
#include "choice/launch_limits.h"
#include "choice/picture_frame.h"
#include "choice/problem_rejection.h"
#include "choice/product_blocks.h"
#include "choice/registry.h"
#include "choice/staged_columns.h"
#include "choice/views_of_rows.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

bool precision_allows(Precision allowed, Precision kernel) {
    return kernel == allowed || kernel == Precision::float32;
}

std::string machine_rejection(const MachineNeeds &k, const Machine &machine) {
    if (k.device == Device::cpu)
        return k.cpu_level > machine.cpu_level ? "the processor lacks its instructions" : "";
    const bool fits = machine.compute_capability >= k.min_compute_capability &&
                      machine.compute_capability <= k.max_compute_capability;
    if (!fits) return "compute capability is " + std::to_string(machine.compute_capability);
    if (k.shared_bytes > machine.shared_bytes)
        return "a block needs " + std::to_string(k.shared_bytes) + " bytes of shared memory";
    return {};
}

// What a kernel does not read as it is given may come in every format that can be packed for it.
bool packs(const KernelTraits &k, const TensorOfOperation &tensor, Operation operation, TensorFormat given) {
    if (tensor.asked == &PlanOptions::weight && k.weight_layout != WeightLayout::as_given) {
        // Taps lie inside of channels as packed for CUDA cores; tiles of tensor cores have them in the weight's order.
        if (k.taps_as_channels && channels_innermost(given) && k.weight_layout != WeightLayout::channels_innermost) return false;
        return registry().any_helper([&](const KernelTraits &helper) { return packs_weights(helper, k, given.type); });
    }
    if (tensor.asked == &PlanOptions::weight && k.family == Family::winograd_product) return k.weight.type == given.type;
    // Products of weight gradients read and write every layout, and their sums are rounded by the last pass.
    if (k.packed_pictures || k.family == Family::weight_gradient_implicit_gemm) {
        const bool has_type = tensor.format_of(k, operation).type == given.type;
        if (tensor.asked != &PlanOptions::weight) return has_type;
        return (!k.writes_result || has_type) && registry().any_helper([&](const KernelTraits &helper) {
            return helper.device == k.device &&
                   (k.writes_result ? helper.role == KernelRole::channels_first_packing && moves_elements_of(helper, given.type)
                                    : helper.role == KernelRole::weight_gradient_sum && helper.weight.type == given.type);
        });
    }
    const auto read = operation == Operation::forward ? &PlanOptions::input : &PlanOptions::output;
    if (copies_packed_taps(k) && (tensor.asked == read || tensor.asked == &PlanOptions::weight))
        return tensor.format_of(k, operation).type == given.type;
    return (k.packed_channels || (k.box_positions > 0 && !reads_as_it_lies(k))) && tensor.asked == read &&
           tensor.format_of(k, operation).type == given.type;
}

// A weight of one position lies the same in both layouts, and so do rows of phases, of channels_first.
std::string format_rejection(const KernelTraits &k, const Computation &c, const PlanOptions &options) {
    for (const TensorOfOperation &tensor : tensors_of(options.operation)) {
        const TensorFormat is = tensor.format_of(k, options.operation);
        TensorFormat wanted = options.*tensor.asked;
        const bool reads_input = c.read == Operand::input;
        const bool read = tensor.asked == (reads_input ? &PlanOptions::input : &PlanOptions::output),
                   written = tensor.asked == (reads_input ? &PlanOptions::output : &PlanOptions::input);
        if (read && c.read_turned) wanted = c.read_format;
        if (written && (c.written_turned || c.of_taps)) wanted = c.written_format;
        if (tensor.asked == &PlanOptions::weight && maps_weights(k)) {
            const bool has_rows = maps_weights_of_phases(k) && !channels_innermost(wanted);
            const bool are_packed = packs_weight_rows(k, c) || turns_weights(k, c);
            if (taps(c.problem) == 1 || has_rows || are_packed) wanted.layout = is.layout;
            else if (maps_weights_of_phases(k)) wanted.layout = Layout::channels_first;
        }
        if (tensor.asked == &PlanOptions::weight && reads_weights(options.operation) && converts_weights(k, wanted.type)) {
            if (c.problem.weight_elements() > max_elements_32bit()) return "a launch cannot convert so many weights";
            wanted.type = k.output.type;
        }
        // A picture of one position may be read as a row of channels, by kernels that take one.
        if (!takes_format(k, tensor, options.operation, wanted) ||
            (read && !takes_format(k, tensor, options.operation, c.read_format)))
            return std::string(tensor.name) + " is " + str(options.*tensor.asked) + ", the kernel is for " + str(is);
    }
    return {};
}

// Strides of maps are run-time values, and of what their kernels store.
std::string pixel_rejection(const KernelTraits &kernel, const Computation &c) {
    if (!c.has_wide_pixels()) return {};
    if (kernel.box_positions == 0 || c.packed_rows) return "it takes no pixels that are wider than their channels";
    const Problem &p = c.problem;
    const auto elements = [&](int64_t pixel, int64_t channels, auto extent) {
        return double(p.batch) * double(product_of_axes(p, extent)) * double(std::max(pixel, channels));
    };
    const double most = double(max_elements_32bit());
    if (elements(c.read_pixel, p.in_channels, [](const Axis &a) { return a.input; }) > most ||
        elements(c.written_pixel, p.out_channels, [](const Axis &a) { return a.output(); }) > most)
        return "its pictures with pixels that wide would have more than 2^31 - 1 elements";
    return {};
}

// Its helpers pack the weights of joined positions (input_cells.h), or groups.
bool multiplies_joined(const KernelTraits &kernel) {
    return kernel.box_positions > 0 && kernel.rank == max_rank && kernel.weight_layout != WeightLayout::as_given;
}
bool multiplies_joined_positions(const KernelTraits &kernel) {
    return multiplies_joined(kernel) && channels_innermost(kernel.input) && channels_innermost(kernel.output);
}

// What is asked for, of the tensors that play the roles of what is computed.
PlanOptions as_computed(const PlanOptions &options, const Computation &c) {
    if (c.weight_operand == Operand::weight) return options;
    PlanOptions roles = options;
    roles.operation = c.operation;
    roles.input = c.read_format, roles.weight = c.weight_format, roles.output = c.written_format;
    return roles;
}

bool adds_taps() {
    return registry().any_helper([](const KernelTraits &helper) { return helper.role == KernelRole::sum_of_taps; });
}

// Why a kernel does not take the tensors as a computation sees them: channels, positions or taps joined, weights mirrored.
std::string view_rejection(const KernelTraits &kernel, const Computation &computation) {
    const bool multiplies_groups =
        kernel.operation == Operation::weight_gradient
            ? (kernel.family == Family::weight_gradient_implicit_gemm || kernel.packed_pictures) &&
                  !kernel.writes_result
            : multiplies_joined(kernel);
    if (computation.joined_groups > 1 && !multiplies_groups) return "it computes single groups";
    const bool adds_parts = kernel.family == Family::weight_gradient_implicit_gemm && !kernel.writes_result;
    if (computation.joined_positions > 1 && (!adds_parts || kernel.tile_taps > 1 || sums_as_it_lies(kernel)))
        return "it computes the weights of single positions";
    // Where rows of positions are multiplied, one tap of the problem has all of the kernel's.
    const bool reads_rows = adds_parts && (!sums_as_it_lies(kernel) || taps(computation.problem) == 1);
    if (computation.by_taps && computation.operation == Operation::weight_gradient && !reads_rows)
        return "it computes weights in their own order";
    if (computation.by_lines.has_value() != reads_pairs_of(kernel, Operation::weight_gradient))
        return computation.by_lines ? "it computes whole kernels"
                                    : "it computes lines of kernels as large as their strides, two along the width";
    const bool has_joined_positions = computation.cells && computation.cells->joins_outputs();
    if (has_joined_positions && !multiplies_joined_positions(kernel)) return "it computes positions one by one";
    const bool turns_read = computation.read_turned.has_value(), turns_written = computation.written_turned.has_value();
    if ((turns_read || turns_written) && (kernel.device == Device::cpu || !has_estimate(kernel) || kernel.packed_pictures))
        return "no pictures are turned for it";
    // Kernels of channels_first see the same rows of taps, and take 0.94 of the time (108 layers, float16; H200, 2026-11-28).
    const bool turns_parts =
        kernel.makes_parts && channels_innermost(kernel.input) && !channels_innermost(computation.written_format);
    if (computation.by_taps && turns_parts) return "the sums of its parts would be turned";
    if (computation.of_taps && (kernel.device == Device::cpu || !has_estimate(kernel) || kernel.parts > 0 || !adds_taps()))
        return "no products of taps are added for it";
    if (turns_written && channels_innermost(computation.written_format) && kernel.box_positions == 0)
        return "its result is not turned";
    const bool is_mirrored = computation.weight == WeightView::mirrored;
    if (maps_rows_of_gradient(kernel) && !(is_mirrored && taps(computation.problem) == 1))
        return "it computes input gradients, of kernels of one position";
    // The general ones are left to those that are made for gradients.
    const bool packs_mirrored = kernel.weight_layout != WeightLayout::as_given &&
                                (kernel.stride == Size2{1, 1} || (kernel.packs_groups && kernel.device == Device::cpu) ||
                                 (!kernel.phases_as_channels && (kernel.window > 1 || reads_as_it_lies(kernel))));
    const bool reads_phases = (kernel.packed_channels && kernel.counts_through_images) || kernel.family == Family::winograd_product;
    const bool reads_mirrored = computation.by_phases
                                    ? reads_phases
                                    : packs_mirrored || computation.cells || maps_rows_of_gradient(kernel) ||
                                          stages_columns(kernel) || kernel.winograd_cells != Size2{};
    if (is_mirrored && !reads_mirrored) return "it computes another operation";
    return {};
}

// Whether weights are filled up with zeros, where an Inf would become a NaN.
bool multiplies_zeros(const KernelTraits &kernel, const Computation &computation) {
    const Problem &p = computation.problem;
    const auto fills_up = [&](const Axis &a) {
        return a.kernel % (channel_phases(kernel, p, a) * window_of_steps(kernel, p, a)) != 0;
    };
    const auto has_unequal_phases = [](const Axis &a) { return a.kernel % a.stride != 0; };
    const auto any_axis = [](const Problem &of, const auto &is) { return std::any_of(of.axes.begin(), of.axes.end(), is); };
    return computation.cells || computation.joined_groups > 1 || any_axis(p, fills_up) ||
           (computation.by_phases && any_axis(*computation.by_phases, has_unequal_phases));
}

}  // namespace

std::string rejection(const KernelTraits &kernel, const Computation &computation, const PlanOptions &asked, Device device,
                      const Machine &machine) {
    if (kernel.role != KernelRole::compute) return "it computes no operation";
    if (kernel.device != device) return "it runs on another device";
    if (!precision_allows(asked.precision, kernel.precision)) return "its precision is not allowed";
    if (const std::string reason = machine_rejection(kernel, machine); !reason.empty()) return reason;
    // Flat products of a CPU's weight gradients sum over images as they are.
    const bool in_other_roles = computation.weight_operand != Operand::weight;
    if (kernel.operation != computation.operation || (in_other_roles && device == Device::cpu))
        return "it computes another operation";
    const PlanOptions options = as_computed(asked, computation);
    if (options.epilogue.activation == Activation::prelu && !kernel.channel_slopes)
        return "epilogue.activation is prelu, but it has one slope for all channels";
    if (options.epilogue.activation == Activation::prelu && computation.joined_groups > 1)
        return "epilogue.activation is prelu, but slopes of joined groups do not stand behind the biases of all";
    if (const std::string reason = format_rejection(kernel, computation, options); !reason.empty()) return reason;
    if (const std::string reason = view_rejection(kernel, computation); !reason.empty()) return reason;
    if (const std::string reason = problem_rejection(kernel, computation); !reason.empty()) return reason;
    if (const std::string reason = span_rejection(kernel, computation); !reason.empty()) return reason;
    if (const std::string reason = pixel_rejection(kernel, computation); !reason.empty()) return reason;
    if (options.strict_propagation && (!kernel.strict_propagation || multiplies_zeros(kernel, computation)))
        return "it lets an Inf or NaN reach further than strict_propagation allows";
    if (kernel.cpu_level == CpuLevel::amx && !may_use_tile_registers()) return "Linux keeps no tile registers for this process";
    return {};
}

bool takes_format(const KernelTraits &k, const TensorOfOperation &tensor, Operation operation, TensorFormat wanted) {
    const TensorFormat is = tensor.format_of(k, operation);
    const bool is_read = reads_weights(operation);
    if (!is_read && tensor.asked == &PlanOptions::weight && k.any_result) return true;
    // What is packed must have a helper of its type, whatever the kernel's own is.
    if (is_read && tensor.asked == &PlanOptions::weight && k.weight_layout != WeightLayout::as_given)
        return packs(k, tensor, operation, wanted);
    // What adds parts writes every layout; input gradients from channels_last.
    const bool forward = operation == Operation::forward;
    const bool is_added = k.makes_parts && k.splits_steps && k.operation == operation &&
                          tensor.made_for == (forward ? &KernelTraits::output : &KernelTraits::input) &&
                          (forward || (operation == Operation::input_gradient && channels_innermost(k.input)));
    return is == wanted || ((k.any_layout || is_added) && is.type == wanted.type) || packs(k, tensor, operation, wanted);
}

}  // namespace conv_transpose

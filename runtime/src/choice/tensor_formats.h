// The formats of an operation's tensors: what is asked for, and what a kernel is made for.
#ifndef CONV_TRANSPOSE_RUNTIME_TENSOR_FORMATS_H
#define CONV_TRANSPOSE_RUNTIME_TENSOR_FORMATS_H

#include <span>
#include <string>

#include "algorithm/element_format.h"
#include "choice/kernel_traits.h"
#include "problem/layouts.h"

namespace conv_transpose {

struct TensorOfOperation {
    const char *name;
    TensorFormat PlanOptions::*asked;
    TensorFormat KernelTraits::*made_for;

    /// A forward kernel that computes an input gradient reads the output's gradient as its input.
    TensorFormat format_of(const KernelTraits &k, Operation operation) const {
        if (k.operation == operation) return k.*made_for;
        if (made_for == &KernelTraits::input) return k.output;
        return made_for == &KernelTraits::output ? k.input : k.*made_for;
    }
};

/// Those whose format matters to the operation.
inline std::span<const TensorOfOperation> tensors_of(Operation operation) {
    static constexpr TensorOfOperation all[] = {{"output", &PlanOptions::output, &KernelTraits::output},
                                                {"weight", &PlanOptions::weight, &KernelTraits::weight},
                                                {"input", &PlanOptions::input, &KernelTraits::input}};
    return std::span(all).first(operation == Operation::bias_gradient ? 2 : 3);
}

/// Whether it sums over channels with weights; the others sum over positions.
constexpr bool reads_weights(Operation operation) {
    return operation == Operation::forward || operation == Operation::input_gradient;
}

/// The public type by its other name: both have one order.
constexpr Storage storage_of(ElementType type) { return static_cast<Storage>(type); }

/// One element takes so many.
constexpr int64_t bytes_of(ElementType type) { return bytes_of(storage_of(type)); }

/// Whether a kernel puts elements of its type into another order, and no more.
inline bool moves_elements(const KernelTraits &k) {
    const bool packs_weights = k.role == KernelRole::weight_packing;
    const bool packs = packs_weights || k.role == KernelRole::channel_packing || k.role == KernelRole::phase_packing ||
                       k.role == KernelRole::tap_packing || k.role == KernelRole::channels_last_packing ||
                       k.role == KernelRole::channels_first_packing || k.role == KernelRole::picture_turning;
    return packs && (packs_weights ? k.weight : k.input).type == k.output.type;
}

/// Whether it moves elements of a type: those of 16 bits alike.
inline bool moves_elements_of(const KernelTraits &k, ElementType type) {
    return moves_elements(k) && (k.output.type == type || bytes_of(k.output.type) + bytes_of(type) == 4);
}

inline TensorFormat in_other_layout(TensorFormat format) {
    format.layout = channels_innermost(format) ? Layout::channels_first : Layout::channels_last;
    return format;
}

/// As in "float16 with channels_last".
inline std::string str(TensorFormat format) {
    return std::string(named(storage_of(format.type)).element_type) + " with " + named_layouts[int(format.layout)].name;
}

}  // namespace conv_transpose

#endif

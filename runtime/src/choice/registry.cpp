// The registry: see registry.h. Its rows are written by the generators when the kernels are built.
#include "choice/registry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "choice/kernel_rows.h"
#include "choice/tensor_formats.h"

#define CONV_TRANSPOSE_KERNEL CONV_TRANSPOSE_DECLARE_KERNEL
#include "kernels.inc"
#undef CONV_TRANSPOSE_KERNEL

namespace conv_transpose {

namespace {

constexpr KernelTraits built_in_rows[] = {
#define CONV_TRANSPOSE_KERNEL CONV_TRANSPOSE_KERNEL_ROW
#include "kernels.inc"
#undef CONV_TRANSPOSE_KERNEL
};

constexpr bool is_helper(const KernelTraits &k) { return k.role != KernelRole::compute; }

constexpr auto built_in_helpers = [] {
    std::array<const KernelTraits *, std::count_if(std::begin(built_in_rows), std::end(built_in_rows), is_helper)> all{};
    auto next = all.begin();
    for (const KernelTraits &k : built_in_rows)
        if (is_helper(k)) *next++ = &k;
    return all;
}();

constexpr KernelTable built_in{built_in_rows, built_in_helpers, nullptr};

std::atomic<const KernelTable *> first_table{&built_in};

struct AddedTable {
    KernelTable table;
    std::vector<const KernelTraits *> helpers;
};

// What a helper does, as in "this build has no kernel that ...".
const char *purpose(KernelRole role) {
    switch (role) {
        case KernelRole::compute: return "computes";
        case KernelRole::weight_packing: return "packs weights so";
        case KernelRole::channel_packing: return "packs channels";
        case KernelRole::phase_packing: return "packs phases";
        case KernelRole::tap_packing: return "packs what taps see";
        case KernelRole::picture_packing: return "packs pictures";
        case KernelRole::channels_last_packing: return "puts channels innermost";
        case KernelRole::channels_first_packing: return "puts kernel positions innermost";
        case KernelRole::picture_turning: return "puts positions of pictures innermost";
        case KernelRole::sum_of_parts: return "adds the parts of a gradient";
        case KernelRole::sum_of_output_parts: return "adds the parts of an output";
        case KernelRole::sum_of_taps: return "adds the products of taps";
        case KernelRole::weight_gradient_sum: return "adds the parts of a weight gradient";
        case KernelRole::winograd_tiles: return "transforms tiles for Winograd's algorithm";
        case KernelRole::winograd_taps: return "transforms taps for Winograd's algorithm";
        case KernelRole::winograd_outputs: return "transforms the products of Winograd's algorithm";
    }
    return "does this";
}

}  // namespace

Registry registry() { return Registry(first_table.load(std::memory_order_acquire)); }

void add_to_registry(std::span<const KernelTraits> rows) {
    auto added = std::make_unique<AddedTable>();
    for (const KernelTraits &k : rows)
        if (is_helper(k)) added->helpers.push_back(&k);
    added->table = {rows, added->helpers, first_table.load()};
    while (!first_table.compare_exchange_weak(added->table.next, &added->table, std::memory_order_acq_rel)) {
    }
    added.release();  // kept for good, as its rows are
}

const KernelTraits &helper_kernel(KernelRole role, Device device,
                                  const std::function<bool(const KernelTraits &)> &fits) {
    for (const KernelTable *table = first_table.load(std::memory_order_acquire); table; table = table->next)
        for (const KernelTraits *k : table->helpers)
            if (k->role == role && k->device == device && (!fits || fits(*k))) return *k;
    throw Unsupported(std::string("this build has no kernel that ") + purpose(role));
}

ElementType packed_weight_type(const KernelTraits &kernel) {
    const bool in_float32 = kernel.weight_layout == WeightLayout::channels_innermost ||
                            (kernel.weight_layout == WeightLayout::channel_panels && !kernel.sums_pairs);
    return in_float32 ? ElementType::float32 : kernel.output.type;
}

bool packs_weights(const KernelTraits &helper, const KernelTraits &kernel, ElementType given) {
    // Where channels become innermost, kernel positions are one dimension.
    const bool of_any_rank = helper.family == Family::weight_packing &&
                             (helper.weight_layout == WeightLayout::channels_innermost ||
                              helper.weight_layout == WeightLayout::channel_panels);
    // Where the kernel runs, a helper of its instructions does.
    return helper.role == KernelRole::weight_packing && helper.device == kernel.device && helper.cpu_level <= kernel.cpu_level &&
           helper.weight_layout == kernel.weight_layout && (helper.rank == kernel.rank || of_any_rank) &&
           ((given == packed_weight_type(kernel) && moves_elements_of(helper, given)) ||
            (helper.weight.type == given && helper.output.type == packed_weight_type(kernel))) &&
           helper.phases_outermost == kernel.phases_outermost && helper.sums_pairs == kernel.sums_pairs &&
           helper.winograd_points == kernel.winograd_points;
}

bool rounds_to(const KernelTraits &helper, ElementType made) {
    return helper.role == KernelRole::channel_packing && helper.input.type == ElementType::float32 && helper.output.type == made;
}

bool converts_weights(const KernelTraits &kernel, ElementType given) {
    const ElementType made = kernel.output.type;
    if (given != ElementType::float32 || bytes_of(made) != 2) return false;
    const auto any = [](auto is) { return registry().any_helper(is); };
    const bool reads_it = kernel.weight_layout == WeightLayout::as_given
                              ? kernel.weight.type == given
                              : any([&](const KernelTraits &k) { return packs_weights(k, kernel, given); });
    return !reads_it && any([&](const KernelTraits &k) { return k.device == kernel.device && rounds_to(k, made); });
}

}  // namespace conv_transpose

// Sums in parts: see reduction_parts.h.
#include "plan/reduction_parts.h"

#include <algorithm>
#include <string>

#include "plan/launch_chunks.h"
#include "choice/product_blocks.h"
#include "choice/registry.h"

namespace conv_transpose {

namespace {

// A part of fewer steps of its kernel's loop costs more than it gains: its sums are stored and read once more.
constexpr int64_t least_steps = 16;

}  // namespace

ReductionParts::ReductionParts(const KernelTraits &kernel, const Problem &p)
    : kernel_(kernel), count_(parts(kernel, p)), images_(p.batch) {
    const bool forward = kernel.operation == Operation::forward;
    const Size2 size = forward ? p.output() : p.input;
    plane_ = size.height * size.width;
    channels_ = forward ? p.out_channels : p.in_channels;
    if (count_ == 1) return;
    sum_ = kernel_of_role(KernelRole::sum_of_output_parts, kernel.device);
    if (!sum_) throw Unsupported("this build has no kernel that adds the parts of " + std::string(kernel.name));
}

int64_t ReductionParts::parts(const KernelTraits &k, const Problem &p) {
    if (k.split_target_blocks == 0 || p.groups != 1 || p.batch == 0) return 1;
    // Pixels so far apart fill L1 with the window of one block: HiFi-GAN's first layer (stride 8) took 0.250
    // ms in two parts, 0.153 in one (H200).
    if (k.operation == Operation::input_gradient && p.stride.width >= 8) return 1;
    const ProductBlocks work(k, p);
    const int64_t summed = k.operation == Operation::forward ? p.in_channels : p.out_channels;
    if (summed % k.weight_in_channel_multiple != 0 || work.blocks > k.split_target_blocks) return 1;
    int64_t parts = std::min(
        {k.split_target_blocks / std::max<int64_t>(work.blocks, 1), work.steps / least_steps, work.chunks});
    while (parts > 1 && work.chunks % parts != 0) parts--;
    const double elements = double(k.operation == Operation::forward ? p.output_elements() : p.input_elements());
    return elements * parts > max_elements_32bit || p.batch > max_grid ? 1 : std::max<int64_t>(parts, 1);
}

Problem ReductionParts::with_groups(Problem p) const noexcept {
    p.groups *= count_;
    (kernel_.operation == Operation::forward ? p.out_channels : p.in_channels) *= count_;
    return p;
}

Status ReductionParts::add(const float *parts, const float *bias, int32_t activation, float slope, float *result,
                           RunContext &context) const noexcept {
    TensorView<4> from(parts, kernel_.device, {plane_, channels_, images_, count_});
    // Without a bias the kernel discards what it reads there; a part has at least as many elements.
    TensorView<1> b(bias ? bias : parts, kernel_.device, {channels_});
    TensorView<3> to(result, kernel_.device, {plane_, channels_, images_});
    const int32_t has_bias = bias != nullptr;
    void *user_context = &context;
    void *args[] = {&user_context, from.buffer(), b.buffer(), argument(has_bias), argument(activation), argument(slope),
                    to.buffer()};
    return call(*sum_, args, context);
}

}  // namespace conv_transpose

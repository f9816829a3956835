// Packing of pictures: see channel_packing.h.
#include "plan/channel_packing.h"

#include <string>

namespace conv_transpose {

ChannelPacking::ChannelPacking(const KernelTraits &kernel, Size2 size, int64_t channels)
    : kernel_(kernel), size_(size), channels_(channels) {
    if (!kernel.packed_channels) return;
    packing_ = kernel_of_role(KernelRole::channel_packing, kernel.device);
    if (!packing_) throw Unsupported("this build has no kernel that packs pictures for " + std::string(kernel.name));
    planes_ = packed_planes(kernel, channels);
}

Status ChannelPacking::pack(const float *picture, float *packed, const LaunchSlice &slice,
                            RunContext &context) const noexcept {
    const int64_t plane = size_.height * size_.width;
    TensorView<4> from(picture, kernel_.device, {plane, channels_, slice.groups, slice.images});
    TensorView<4> to(packed, kernel_.device, {4 * plane, planes_, slice.groups, slice.images});
    void *user_context = &context;
    void *args[] = {&user_context, from.buffer(), to.buffer()};
    return call(*packing_, args, context);
}

}  // namespace conv_transpose

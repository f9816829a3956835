// The picture of an operation with four channels side by side, for kernels that read it so: packed by a
// kernel of its own into the workspace, at every launch.
#ifndef CONV_TRANSPOSE_RUNTIME_CHANNEL_PACKING_H
#define CONV_TRANSPOSE_RUNTIME_CHANNEL_PACKING_H

#include "plan/launch_chunks.h"
#include "plan/planned_operation.h"
#include "choice/registry.h"
#include "plan/tensor_view.h"

namespace conv_transpose {

class ChannelPacking {
  public:
    /// `channels` are those of one group. Throws Unsupported if this build cannot pack for the kernel.
    ChannelPacking(const KernelTraits &kernel, Size2 size, int64_t channels);

    bool needed() const noexcept { return packing_ != nullptr; }
    /// Of one group of an image, packed.
    int64_t elements() const noexcept { return planes_ * 4 * size_.height * size_.width; }

    /// A dense slice of images and groups.
    Status pack(const float *picture, float *packed, const LaunchSlice &slice, RunContext &context) const noexcept;

    /// As (channel % 4 + 4 * x, y, plane, group, image).
    std::array<int64_t, 5> extents(const LaunchSlice &slice) const noexcept {
        return {4 * size_.width, size_.height, planes_, slice.groups, slice.images};
    }

  private:
    const KernelTraits &kernel_;
    const KernelTraits *packing_ = nullptr;
    const Size2 size_;
    const int64_t channels_;
    int64_t planes_ = 0;  // of a group: fours of channels
};

}  // namespace conv_transpose

#endif

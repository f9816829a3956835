// The step that brings channels innermost (generators/channels_last_packing.cpp): which kernels do it.
#ifndef CONV_TRANSPOSE_RUNTIME_ROW_PACKING_H
#define CONV_TRANSPOSE_RUNTIME_ROW_PACKING_H

#include "choice/registry.h"
#include "choice/tensor_formats.h"
#include "plan/recipe.h"

namespace conv_transpose {

/// What packs pictures whose channels and positions lie in fours, given with positions innermost.
inline const KernelTraits &aligned_packing(Device device, ElementType type) {
    return helper_kernel(KernelRole::channels_last_packing, device,
                         [&](const KernelTraits &k) { return moves_elements_of(k, type) && k.aligned_positions > 0; });
}

class RowPacking {
  public:
    /// For a picture of such a format, with so many channels of a group once they are packed.
    RowPacking(Device device, TensorFormat format, int64_t channels, int64_t positions)
        : packing_(helper_kernel(KernelRole::channels_last_packing, device, [&](const KernelTraits &k) {
              return moves_elements_of(k, format.type) && k.aligned_positions == 0 &&
                     k.packs_along_channels == channels_innermost(format) &&
                     (k.max_out_channels == 0 || channels <= k.max_out_channels);
          })) {
        if (channels_innermost(format)) return;
        const KernelTraits &aligned = aligned_packing(device, format.type);
        if (positions % aligned.aligned_positions == 0) where_aligned_ = &aligned;
    }

    /// Its pictures are (position, channel, group, image).
    Step step(const View &picture, const View &packed) const {
        Launch<Family::channel_packing> launch(packing_);
        if (where_aligned_) launch.set_where_aligned(*where_aligned_);
        return launch.set("picture", picture).set("packed", packed).step();
    }

  private:
    const KernelTraits &packing_, *where_aligned_ = nullptr;
};

}  // namespace conv_transpose

#endif

// The second pass of a two-pass reduction: see sum_of_parts.h.
#include "plan/sum_of_parts.h"

#include "plan/launch_chunks.h"
#include "plan/plan_requests.h"
#include "choice/registry.h"
#include "plan/tensor_view.h"

namespace conv_transpose {

SumOfParts::SumOfParts(Device device, int64_t elements, int64_t parts)
    : kernel_(kernel_of_role(KernelRole::sum_of_parts, device)), elements_(elements), parts_(parts) {
    if (!kernel_) throw Unsupported("this build has no kernel that adds the parts of a gradient");
    require_addressable("the parts of a gradient", double(sizeof(float)) * double(elements) * double(parts));
}

Status SumOfParts::run(const float *parts, float *sum, RunContext &context) const noexcept {
    const int64_t chunk = slices_a_launch(elements_, parts_);
    for (int64_t e = 0; e < elements_; e += chunk) {
        const int64_t elements = std::min(chunk, elements_ - e);
        // Nothing is read of an empty batch, but a view needs an address.
        TensorView<2> from(parts ? parts + e : sum, kernel_->device, {elements, parts_});
        from.set_stride(1, elements_);
        TensorView<1> to(sum + e, kernel_->device, {elements});
        void *user_context = &context;
        void *args[] = {&user_context, from.buffer(), to.buffer()};
        if (Status s = call(*kernel_, args, context); !s.ok() || context.rehearsal) return s;
    }
    return {};
}

}  // namespace conv_transpose

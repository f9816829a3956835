// Status, and the translation of what compiled kernels return.
#include <cstdio>

#include "HalideRuntime.h"
#include "plan/planned_operation.h"

namespace conv_transpose {

Status::Status(Code code, const char *message) noexcept : code_(code) {
    std::snprintf(message_, sizeof message_, "%s", message);
}

Status call(const KernelTraits &kernel, void **args, RunContext &context) noexcept {
    const int error = kernel.function(args);
    if (error == 0) return {};
    Status::Code code = Status::Code::kernel_error;
    if (error == halide_error_code_out_of_memory) code = Status::Code::out_of_memory;
    if (error == halide_error_code_gpu_device_error) code = Status::Code::device_error;
    char message[400];
    std::snprintf(message, sizeof message, "%.*s: %s", static_cast<int>(kernel.name.size()), kernel.name.data(),
                  context.message[0] ? context.message : "the kernel failed");
    return {code, message};
}

Status PlannedOperation::pack_weight(const void *, void *, RunContext &) const noexcept { return {}; }

}  // namespace conv_transpose

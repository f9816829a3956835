// A call of the compiled library by its C interface; plans are kept. Nothing of PyTorch's tensors here.
#ifndef CONV_TRANSPOSE_PYTHON_TORCH_OPERATORS_CALL_H
#define CONV_TRANSPOSE_PYTHON_TORCH_OPERATORS_CALL_H

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose_c.h"

namespace conv_transpose::torch_operators {

using Plan = std::shared_ptr<conv_transpose_plan>;

/// All that plans differ by, in an order.
inline std::vector<int64_t> key_of(const conv_transpose_problem &p, const conv_transpose_plan_options &o, int device) {
    std::vector<int64_t> key{p.batch, p.in_channels, p.out_channels, p.groups, p.rank};
    for (const conv_transpose_axis &a : {p.depth, p.height, p.width})
        key.insert(key.end(), {a.input, a.kernel, a.stride, a.padding, a.output_padding, a.dilation});
    key.insert(key.end(), {o.operation, o.device, o.precision, o.bias, o.input.type, o.input.layout, o.weight.type,
                           o.strict_propagation, device});
    return key;
}

struct Call {
    conv_transpose_problem problem;
    conv_transpose_plan_options options;
    std::string failure;

    /// As the Python package's: "auto" is what PyTorch does unless it was told otherwise, TF32 on CUDA; "+strict" may follow.
    void take_precision(std::string name) {
        const std::string strict = "+strict";
        if (name.size() > strict.size() && name.compare(name.size() - strict.size(), strict.size(), strict) == 0) {
            options.strict_propagation = 1;
            name.resize(name.size() - strict.size());
        }
        const bool on_cuda = options.device == CONV_TRANSPOSE_CUDA;
        if (name == "tf32" || (name == "auto" && on_cuda)) options.precision = CONV_TRANSPOSE_TF32;
        else if (name == "tf32x3") options.precision = CONV_TRANSPOSE_TF32X3;
        else if (name == "float32" || name == "auto") options.precision = CONV_TRANSPOSE_FLOAT32;
        else failure = "precision is '" + name + "', but it must be auto, float32, tf32 or tf32x3";
    }

    /// `allocate(bytes)` gives a tensor that lives until the end of the call. Empty, or what went wrong.
    template <class Allocate>
    std::string run(conv_transpose_arguments &arguments, int device, Allocate allocate) {
        if (!failure.empty()) return failure;
        char message[1024] = "";
        const Plan plan = plan_for(device, message, sizeof message);
        if (!plan) return message;
        const size_t bytes = conv_transpose_plan_workspace_bytes(plan.get(), 0);
        const auto workspace = allocate(bytes);
        void *stream = nullptr;
        if (device >= 0 && !current_stream(device, &stream)) return "this PyTorch has no CUDA";
        conv_transpose_plan_run(plan.get(), &arguments, workspace.data_ptr(), bytes, stream, message, sizeof message);
        return message;
    }

  private:
    // A plan of CUDA is for the device that is current.
    Plan plan_for(int device, char *message, size_t size) {
        static std::mutex mutex;
        static std::map<std::vector<int64_t>, Plan> plans;
        constexpr size_t most = 4096;
        const std::vector<int64_t> key = key_of(problem, options, device);
        const std::lock_guard<std::mutex> lock(mutex);
        if (const auto known = plans.find(key); known != plans.end()) return known->second;
        conv_transpose_plan *made = nullptr;
        if (conv_transpose_plan_create(&problem, &options, &made, message, size) != CONV_TRANSPOSE_OK) return nullptr;
        if (plans.size() >= most) plans.clear();
        return plans[key] = Plan(made, conv_transpose_plan_destroy);
    }

    // It is in the part of PyTorch that is there with CUDA only, and loaded by whoever has tensors there.
    static bool current_stream(int device, void **stream) {
        using Function = int (*)(int32_t, void **);
        static const auto function = [] {
            void *library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
            return library ? reinterpret_cast<Function>(dlsym(library, "aoti_torch_get_current_cuda_stream")) : nullptr;
        }();
        return function && function(device, stream) == 0;
    }
};

}  // namespace conv_transpose::torch_operators

#endif

// What a generator tells the runtime's registry about the kernel that it makes: which problems the kernel accepts.
// The generator driver writes it beside the object file, as one row that runtime/src/choice/registry.cpp includes.
#ifndef CONV_TRANSPOSE_SCHEDULES_SHARED_KERNEL_DESCRIPTION_H
#define CONV_TRANSPOSE_SCHEDULES_SHARED_KERNEL_DESCRIPTION_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "algorithm/machine_facts.h"
#include "algorithm/signature.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

/// Fields of KernelTraits (runtime/src/choice/kernel_traits.h) with their values as C++ text.
class KernelDescription {
  public:
    void set(const std::string &field, const std::string &value) { fields_.emplace_back(field, value); }
    void set(const std::string &field, int value) { set(field, std::to_string(value)); }
    void set(const std::string &field, int height, int width) {
        set(field, "{" + std::to_string(height) + ", " + std::to_string(width) + "}");
    }

    /// Which arguments the kernel takes; `generate` checks that it does.
    void set_family(Family family) {
        family_ = family;
        set("family", "Family::" + std::string(signature(family).family));
    }
    std::optional<Family> family() const { return family_; }

    /// What a field was set to last; empty if it was not.
    std::string get(const std::string &field) const {
        std::string value;
        for (const auto &[name, text] : fields_)
            if (name == field) value = text;
        return value;
    }

    /// The row of the registry.
    std::string row(const std::string &kernel_name) const {
        std::string text = "CONV_TRANSPOSE_KERNEL(" + kernel_name;
        for (const auto &[field, value] : fields_) text += ", traits." + field + " = " + value;
        return text + ")\n";
    }

  private:
    std::vector<std::pair<std::string, std::string>> fields_;
    std::optional<Family> family_;
};

/// Which numbers of axes a generator's kernels may have: up to two, as many as its parameter `rank` says, or any.
enum class Ranks { two, parameter, any };

/// What is known of a generator that computes an operation before it makes anything.
struct GeneratorFacts {
    Family operation;
    const char *family;
    bool on_gpu, on_tensor_cores;
    /// The parameter of a generator for tensor cores that says in which format they multiply: `format` takes its name,
    /// `parts` is 1 for tf32 and 2 for tf32x3.
    const char *format_parameter;
    Ranks ranks;
};

/// A generator whose kernels appear in the registry.
class DescribedGenerator {
  public:
    virtual ~DescribedGenerator() = default;
    /// Called after build_module(). Every generator tells its family.
    virtual void describe(KernelDescription &description) = 0;
    /// Nothing for a generator that computes no operation, or whose schedule another program makes.
    virtual std::optional<GeneratorFacts> facts() const { return {}; }
    /// What the autotuner may vary; nothing, for schedules that do not say. Called before build_module().
    virtual void search_space(SearchSpace &) const {}
};

template <class Schedule>
std::optional<GeneratorFacts> facts_of(Family operation, Ranks ranks = Ranks::two, const char *format_parameter = "parts") {
    if (Schedule::autoscheduled) return {};
    return GeneratorFacts{operation, Schedule::family, Schedule::on_gpu, Schedule::on_tensor_cores, format_parameter, ranks};
}

/// Which GPUs have a kernel's instructions, or registers enough: all of them, or Hopper alone.
inline void describe_gpus(KernelDescription &description, bool hopper_alone = false) {
    using namespace machines;
    description.set("min_compute_capability", hopper_alone ? hopper_compute_capability : least_compute_capability);
    if (hopper_alone) description.set("max_compute_capability", hopper_compute_capability);
}

/// Facts that follow from the target alone.
inline void describe_target(const Halide::Target &target, KernelDescription &description) {
    using Halide::Target;
    description.set("device", target.has_feature(Target::CUDA) ? "Device::cuda" : "Device::cpu");
    description.set("large_buffers", target.has_feature(Target::LargeBuffers) ? "true" : "false");
    if (target.has_feature(Target::CUDA)) return;
    const bool avx512 = target.has_feature(Target::AVX512_Skylake), avx2 = target.has_feature(Target::AVX2);
    const bool avx512_bf16 = target.has_feature(Target::AVX512_Zen4);
    description.set("cpu_level", target.has_feature(Target::AVX512_SapphireRapids) ? "CpuLevel::amx"
                                 : avx512_bf16 ? "CpuLevel::avx512_bf16"
                                 : avx512    ? "CpuLevel::avx512"
                                 : avx2      ? "CpuLevel::avx2"
                                             : "CpuLevel::baseline");
}

/// A kernel that prepares operands or adds parts of sums has its family's name as its role where no other is given.
inline void describe_helper(KernelDescription &description, Family family, const Halide::Target &target,
                            const std::string &role = {}) {
    description.set_family(family);
    description.set("role", "KernelRole::" + (role.empty() ? std::string(signature(family).family) : role));
    describe_target(target, description);
}

}  // namespace conv_transpose

#endif

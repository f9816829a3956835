// What a plan does when it runs: steps, one after the other, on the caller's tensors and on regions of the workspace.
#ifndef CONV_TRANSPOSE_RUNTIME_RECIPE_H
#define CONV_TRANSPOSE_RUNTIME_RECIPE_H

#include <vector>

#include "plan/step.h"

namespace conv_transpose {

class Recipe {
  public:
    explicit Recipe(Device device) : device_(device) {}

    /// Room in the workspace, aligned, for the steps; it holds nothing before the run and after it.
    Operand add_region(const char *name, int64_t bytes);

    /// A step that `repeats` what an earlier one does, on other data, is left out of a rehearsal.
    void add(Step step, bool repeats = false) { steps_.push_back({std::move(step), repeats}); }

    /// The step that packs the weight into Operand::packed_weight, which has so many bytes. It is left out where the
    /// caller has packed before; else the packed weight is a region of the workspace, too.
    void add_weight_packing(Step step, int64_t bytes);

    std::size_t workspace_bytes(bool with_packed_weight) const noexcept;
    std::size_t packed_weight_bytes() const noexcept { return packed_weight_bytes_; }

    /// The name of a tensor that the steps need and that is null; null if all are there.
    const char *missing_argument(const Arguments &arguments) const noexcept;

    /// `arguments` are checked by missing_argument() before; the workspace is large enough.
    Status run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept;
    Status pack_weight(const void *weight, void *packed, RunContext &context) const noexcept;

    struct Region {
        const char *name;
        int64_t offset, bytes;
    };
    const std::vector<Region> &regions() const noexcept { return regions_; }
    std::size_t steps() const noexcept { return steps_.size() + packing_.size(); }

  private:
    struct Planned {
        Step step;
        bool repeats;
    };
    Device device_;
    std::vector<Region> regions_;
    std::vector<Planned> steps_;
    std::vector<Step> packing_;  // none or one
    int64_t packed_weight_bytes_ = 0;

    int64_t end_of_regions() const noexcept;
    int64_t aligned(int64_t bytes) const noexcept;
};

}  // namespace conv_transpose

#endif

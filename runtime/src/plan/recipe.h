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
    void add(Step step, bool repeats = false) { passes_.push_back({{{std::move(step), {}, {}}}, {1, 1}, repeats}); }

    /// Launches for all images and groups, or whatever `outer` and `inner` count. make(range) returns the steps of one
    /// launch, as a vector; from one range to the next of the same size only the places of tensors may differ, by as
    /// much every time. So a recipe stays small, however many launches there are.
    template <class Make>
    void add_launches(Cut outer, Cut inner, Make make) {
        bool repeats = false;
        const auto add_block = [&](LaunchRange first, int64_t outers, int64_t inners) {
            if (outers == 0 || inners == 0 || first.images == 0 || first.groups == 0) return;
            LaunchRange next_outer = first, next_inner = first;
            next_outer.first_image += first.images, next_inner.first_group += first.groups;
            add_pass(make(first), outers > 1 ? make(next_outer) : std::vector<Step>(),
                     inners > 1 ? make(next_inner) : std::vector<Step>(), {outers, inners}, repeats);
            repeats = true;
        };
        const int64_t image = outer.full() * outer.most, group = inner.full() * inner.most;
        add_block({0, outer.most, 0, inner.most}, outer.full(), inner.full());
        add_block({0, outer.most, group, inner.rest()}, outer.full(), 1);
        add_block({image, outer.rest(), 0, inner.most}, 1, inner.full());
        add_block({image, outer.rest(), group, inner.rest()}, 1, 1);
    }

    /// The steps that pack the weight into Operand::packed_weight, which has so many bytes. They are left out where the
    /// caller has packed before; else the packed weight is a region of the workspace, too.
    void add_weight_packing(std::vector<Step> steps, int64_t bytes);

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

  private:
    struct MovingStep {
        Step step;
        Step::Moves outer, inner;  ///< from one launch to the next
    };
    struct Pass {
        std::vector<MovingStep> steps;
        std::array<int64_t, 2> launches;
        bool repeats;
    };
    Device device_;
    std::vector<Region> regions_;
    std::vector<Pass> passes_;
    std::vector<Step> packing_;
    int64_t packed_weight_bytes_ = 0;

    void add_pass(std::vector<Step> steps, const std::vector<Step> &next_outer, const std::vector<Step> &next_inner,
                  std::array<int64_t, 2> launches, bool repeats);
    Status run(const Pass &pass, const Addresses &addresses, RunContext &context) const noexcept;
    Status run_packing(const Addresses &addresses, RunContext &context) const noexcept;
    int64_t end_of_regions() const noexcept;
    int64_t aligned(int64_t bytes) const noexcept;
};

}  // namespace conv_transpose

#endif

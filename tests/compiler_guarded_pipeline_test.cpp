// Loops that end where their guard does.
#include <gtest/gtest.h>

#include "compiler/passes/guarded_pipeline.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/software_pipeline.h"

namespace conv_transpose::testing {
namespace {

using namespace Halide;
using namespace Halide::Internal;

/// What is left of the loop: its extent, and whether a condition inside of it depends on it.
class FindLoop : public IRMutator {
  public:
    explicit FindLoop(std::string *extent, bool *guarded) : extent_(extent), guarded_(guarded) {}

  private:
    using IRMutator::visit;

    Stmt visit(const For *loop) override {
        if (last_name(loop->name) == "pipeline") {
            std::ostringstream text;
            text << loop->extent;
            *extent_ = text.str();
            pipeline_ = loop->name;
        }
        return IRMutator::visit(loop);
    }
    Stmt visit(const IfThenElse *branch) override {
        *guarded_ |= !pipeline_.empty() && expr_uses_var(branch->condition, pipeline_);
        return IRMutator::visit(branch);
    }

    std::string *extent_, pipeline_;
    bool *guarded_;
};

/// Sums of rows, of which every block has one more than the one before.
void lower_triangle(bool pass, std::string *extent, bool *guarded, bool by_lane = false) {
    Var x{"x"}, y{"y"}, lane{"lane"};
    RVar pipeline{"pipeline"};
    ImageParam picture(Float(32), 2, "picture");
    Func staged{"staged"}, sum{"sum"}, result{"result"};
    RDom r(0, 64, "r");
    r.where(r < (by_lane ? x : y) + 1);
    staged(x, y) = picture(x, y);
    sum(x, y) = 0.f;
    sum(x, y) += staged(x, r);
    result(x, y) = sum(x, y);
    result.split(x, x, lane, 32, TailStrategy::RoundUp).gpu_blocks(x, y).gpu_threads(lane).never_partition_all();
    sum.compute_at(result, x).store_in(MemoryType::Register).bound_extent(x, 32).bound_extent(y, 1).gpu_threads(x);
    sum.update().rename(r, pipeline).reorder(x, pipeline).gpu_threads(x).never_partition_all();
    staged.compute_at(sum, pipeline).store_in(MemoryType::GPUShared).bound_extent(x, 32).bound_extent(y, 1).gpu_threads(x)
        .never_partition_all();
    Pipeline p(result);
    if (pass) p.add_custom_lowering_pass(new GuardedPipelinePass);
    p.add_custom_lowering_pass(new FindLoop(extent, guarded));
    p.compile_to_module({picture}, "triangle", Target("x86-64-linux-cuda-cuda_capability_80-no_runtime"));
}

TEST(GuardedPipeline, EndsWhereTheGuardDoes) {
    std::string extent;
    bool guarded = false;
    lower_triangle(false, &extent, &guarded);
    EXPECT_EQ(extent, "64");
    EXPECT_TRUE(guarded);
    guarded = false;
    lower_triangle(true, &extent, &guarded);
    EXPECT_NE(extent.find(".steps"), std::string::npos) << extent;
    EXPECT_FALSE(guarded);
}

TEST(GuardedPipeline, LeavesAGuardThatThreadsDisagreeAbout) {
    std::string extent;
    bool guarded = false;
    lower_triangle(true, &extent, &guarded, true);
    EXPECT_EQ(extent, "64");
    EXPECT_TRUE(guarded);
}

}  // namespace
}  // namespace conv_transpose::testing

// Asynchronous copies: which stores become copies, and which stay.
#include <gtest/gtest.h>

#include "compiler/passes/async_copies.h"
#include "compiler/passes/private_accumulators.h"
#include "compiler/ptx/ptx_expansion.h"
#include "compiler_test_pipelines.h"

namespace conv_transpose::testing {
namespace {

/// Sums of two neighbours of `scale` times a picture with a zero border, staged in shared memory.
std::string neighbours(float scale, bool pass) {
    using namespace Halide;
    Var x{"x"}, block{"block"}, lane{"lane"}, round{"round"};
    ImageParam picture(Float(32), 1, "picture");
    Func bordered = BoundaryConditions::constant_exterior(picture, 0.f), staged{"staged"}, sum{"sum"};
    staged(x) = scale == 1.f ? bordered(x) : bordered(x) * scale;
    sum(x) = staged(x) + staged(x + 1);
    sum.split(x, block, lane, 32, TailStrategy::GuardWithIf).gpu_blocks(block).gpu_threads(lane).never_partition_all();
    staged.compute_at(sum, block).store_in(MemoryType::GPUShared).bound_extent(x, 33);
    staged.split(x, round, lane, 32, TailStrategy::GuardWithIf).gpu_threads(lane).never_partition_all();
    Pipeline p(sum);
    if (pass) p.add_custom_lowering_pass(new AsyncCopyPass);
    return device_ptx(p.compile_to_module({picture}, "neighbours",
                                          Target("x86-64-linux-cuda-cuda_capability_80-no_runtime")));
}

TEST(AsyncCopies, MovesSingleFloatsPastTheRegisters) {
    const std::string ptx = neighbours(1.f, true);
    EXPECT_GT(calls(ptx, "copy__bytes4, "), 0);
    EXPECT_EQ(calls(ptx, "copy_wait_"), 1);
    EXPECT_EQ(count(ptx, "st.shared"), 0);
    EXPECT_GT(count(neighbours(1.f, false), "st.shared"), 0);
    // Only copies of 16 bytes may pass by the first-level cache.
    const std::string expanded = expand_tensor_core_calls(ptx, Architecture("sm_80"));
    EXPECT_EQ(count(expanded, "cp.async.ca.shared.global"), calls(ptx, "copy__bytes4, "));
    EXPECT_EQ(count(expanded, "cp.async.cg"), 0);
}

TEST(AsyncCopies, LeavesWhatIsChangedOnTheWay) {
    const std::string ptx = neighbours(3.f, true);
    EXPECT_EQ(count(ptx, "conv_tc_"), 0);
    EXPECT_GT(count(ptx, "st.shared"), 0);
}

// Threads' results in shared memory, where others read them.
TEST(AsyncCopies, LeavesWhatComesFromAThreadsRegisters) {
    using namespace Halide;
    Var x{"x"}, block{"block"}, lane{"lane"};
    ImageParam picture(Float(32), 1, "picture");
    Func own{"own"}, sum{"sum"};
    own(x) = picture(x) * 3.f;
    sum(x) = own(x) + own(x / 32 * 32 + 31 - x % 32);
    sum.split(x, block, lane, 32, TailStrategy::RoundUp).gpu_blocks(block).gpu_threads(lane);
    own.compute_at(sum, block).store_in(MemoryType::Register).bound_extent(x, 32).gpu_threads(x);
    own.in(sum).compute_at(sum, block).store_in(MemoryType::GPUShared).bound_extent(x, 32).gpu_threads(x);
    Pipeline p(sum);
    p.add_custom_lowering_pass(new PrivateAccumulators);
    p.add_custom_lowering_pass(new AsyncCopyPass);
    const std::string ptx = device_ptx(p.compile_to_module(
        {picture}, "mirrored", Target("x86-64-linux-cuda-cuda_capability_80-no_runtime")));
    EXPECT_EQ(count(ptx, "conv_tc_"), 0);
    EXPECT_GT(count(ptx, "st.shared"), 0);
}

// One stage's results in shared memory, of which another stage moves some: no copy, as that would read shared memory.
TEST(AsyncCopies, LeavesWhatComesFromSharedMemory) {
    using namespace Halide;
    Var x{"x"}, block{"block"}, lane{"lane"}, round{"round"};
    ImageParam picture(Float(32), 1, "picture");
    Func staged{"staged"}, moved{"moved"}, sum{"sum"};
    staged(x) = picture(x);
    moved(x) = staged(x + 1);
    sum(x) = moved(x) + moved(x + 1);
    sum.split(x, block, lane, 32, TailStrategy::RoundUp).gpu_blocks(block).gpu_threads(lane);
    for (Func f : {staged, moved}) {
        f.compute_at(sum, block).store_in(MemoryType::GPUShared).bound_extent(x, 64);
        f.split(x, round, lane, 32, TailStrategy::RoundUp).gpu_threads(lane);
    }
    Pipeline p(sum);
    p.add_custom_lowering_pass(new AsyncCopyPass);
    const std::string ptx = device_ptx(
        p.compile_to_module({picture}, "moved", Target("x86-64-linux-cuda-cuda_capability_80-no_runtime")));
    EXPECT_EQ(calls(ptx, "copy_wait_"), 1);
    EXPECT_GT(count(ptx, "st.shared"), 0);
}

/// What a copy reads in place of a store that selects, where the condition is true; -1 where there is no copy.
int bytes_read(const Halide::Expr &selected) {
    using namespace Halide::Internal;
    const Halide::Expr to = selected.type().is_vector() ? Ramp::make(0, 1, selected.type().lanes()) : Halide::Expr(0);
    const Stmt store = Store::make("staged", selected, to, Halide::Parameter(), const_true(selected.type().lanes()),
                                   ModulusRemainder());
    const std::optional<Stmt> copies = async_copies(store, {.single_floats = true});
    if (!copies) return -1;
    const Evaluate *copy = copies->as<Evaluate>();
    const Call *call = copy ? copy->value.as<Call>() : nullptr;
    if (!call) return -1;
    const auto bytes = as_const_int(simplify(substitute("inside", const_true(), call->args.back())));
    return bytes ? static_cast<int>(*bytes) : -1;
}

TEST(AsyncCopies, FillsWithZerosWhatLiesOutside) {
    using namespace Halide::Internal;
    const auto load = [](int lanes, int stride) {
        const Halide::Expr at = lanes > 1 ? Ramp::make(0, stride, lanes) : Halide::Expr(0);
        return Load::make(Halide::Float(32, lanes), "picture", at, Halide::Buffer<>(), Halide::Parameter(), const_true(lanes),
                          ModulusRemainder(4, 0));
    };
    const Halide::Expr inside = Variable::make(Halide::Bool(), "inside"), zero = make_zero(Halide::Float(32));
    EXPECT_EQ(bytes_read(load(1, 1)), 4);
    EXPECT_EQ(bytes_read(Select::make(inside, load(1, 1), zero)), 4);
    EXPECT_EQ(bytes_read(Select::make(inside, zero, load(1, 1))), 0);
    EXPECT_EQ(bytes_read(Select::make(Broadcast::make(inside, 4), load(4, 1), make_zero(Halide::Float(32, 4)))), 16);
    EXPECT_EQ(bytes_read(load(4, 1)), 16);
    EXPECT_EQ(bytes_read(load(4, 2)), -1);  // every second number is no run of bytes
}

}  // namespace
}  // namespace conv_transpose::testing

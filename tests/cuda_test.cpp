// What an application with CUDA of its own relies on: its contexts, its streams, and CUDA graphs.
#include <gtest/gtest.h>

#include "conv_transpose/device_timer.h"
#include "cuda_for_tests.h"
#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

class Cuda : public ::testing::Test {
  protected:
    const Problem problem_ = Problem::parse("n2ic16oc32ih20iw36kh3kw3ph1pw1");
    std::vector<float> input_, weight_;
    std::vector<double> expected_;

    void SetUp() override {
        if (const char *reason = missing(Device::cuda)) GTEST_SKIP() << reason;
        RandomProblems random(31);
        input_ = random.integers(problem_.input_elements());
        weight_ = random.integers(problem_.weight_elements());
        expected_ = forward(problem_, input_, weight_, {});
    }

    /// A plan for each kernel that accepts the problem.
    std::vector<Plan> plans() const {
        PlanOptions options;
        options.device = Device::cuda;
        std::vector<Plan> all;
        for (const PlanOptions &forced : for_every_kernel(problem_, options)) all.emplace_back(problem_, forced);
        return all;
    }
};

// Capturing fails on anything but enqueueing: allocation, synchronisation, loading code, copies to the host.
TEST_F(Cuda, RunCanBeCapturedInAGraph) {
    use_primary_context();
    const CudaStream stream;
    for (const Plan &plan : plans()) {
        const Trace trace(plan.kernel());
        const ForwardCall call(plan, input_, weight_);
        void *graph = nullptr, *executable = nullptr;
        constexpr int mode_global = 0;
        cuda("cuStreamBeginCapture_v2", stream.handle(), mode_global);
        const Status status = call.run({stream.handle()});
        cuda("cuStreamEndCapture", stream.handle(), &graph);
        ASSERT_TRUE(status.ok()) << status.message();
        cuda("cuGraphInstantiateWithFlags", &executable, graph, uint64_t{0});
        for (int i = 0; i < 3; i++) cuda("cuGraphLaunch", executable, stream.handle());
        stream.wait();
        expect_equal(call.output(), expected_);
        cuda("cuGraphExecDestroy", executable);
        cuda("cuGraphDestroy", graph);
    }
}

TEST_F(Cuda, TimedWorkIsRecordedOnceOrCalledEachTime) {
    constexpr int bytes = 1 << 20, runs = 3;
    const DeviceMemory from(Device::cuda, bytes);
    DeviceMemory to(Device::cuda, bytes);
    for (const auto submission : {TimedWork::Submission::graph, TimedWork::Submission::calls}) {
        int calls = 0;
        TimedWork work(
            Device::cuda, [&](Stream stream) { return calls++, copy_on_device(to, 0, from, bytes, stream); },
            submission);
        for (int i = 0; i < runs; i++) EXPECT_GT(work.run(), 0);
        EXPECT_EQ(calls, submission == TimedWork::Submission::graph ? 1 : runs);
    }
}

// The caller's current context is what it was, whether or not the library had to use another.
TEST_F(Cuda, LeavesTheCurrentContextAlone) {
    const auto current = [] {
        void *context = nullptr;
        cuda("cuCtxGetCurrent", &context);
        return context;
    };
    cuda("cuCtxSetCurrent", static_cast<void *>(nullptr));
    for (const Plan &plan : plans()) {
        expect_equal(run_forward(plan, input_, weight_, {}), expected_);
        EXPECT_EQ(current(), nullptr);
    }
    use_primary_context();
    void *const primary = current();
    for (const Plan &plan : plans()) {
        expect_equal(run_forward(plan, input_, weight_, {}), expected_);
        EXPECT_EQ(current(), primary);
    }
}

// Memory and stream of a context that is not the primary one: the work follows the stream.
TEST_F(Cuda, WorksInTheContextOfTheStream) {
    const auto all = plans();
    void *own = nullptr;
    try {
        cuda("cuCtxCreate_v2", &own, 0u, 0);
    } catch (const std::runtime_error &error) {
        GTEST_SKIP() << error.what();
    }
    {
        const CudaStream stream;
        for (const Plan &plan : all) {
            const Trace trace(plan.kernel());
            const ForwardCall call(plan, input_, weight_);  // in the context that is current
            void *popped = nullptr;
            cuda("cuCtxPopCurrent_v2", &popped);
            const Status status = call.run({stream.handle()});  // with none current
            cuda("cuCtxPushCurrent_v2", popped);
            EXPECT_TRUE(status.ok()) << status.message();
            stream.wait();
            expect_equal(call.output(), expected_);
        }
    }
    cuda("cuCtxDestroy_v2", own);
}

// The legacy default stream by null and by its constant, and the per-thread one.
TEST_F(Cuda, DefaultStreamsByTheirConstants) {
    use_primary_context();
    const Plan plan = plans().front();
    const ForwardCall call(plan, input_, weight_);
    for (uintptr_t constant : {0, 1, 2}) {
        void *const stream = reinterpret_cast<void *>(constant);
        const Status status = call.run({stream});
        EXPECT_TRUE(status.ok()) << status.message();
        cuda("cuStreamSynchronize", stream);
        expect_equal(call.output(), expected_);
    }
}

}  // namespace
}  // namespace conv_transpose::testing

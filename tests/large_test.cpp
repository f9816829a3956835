// Large problems, checked at sampled outputs: KernelBench's, and tensors beyond 2^31 elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"
#include "sampled.h"

namespace conv_transpose::testing {
namespace {

struct KernelBenchProblem {
    int number;
    const char *text;
};

void PrintTo(const KernelBenchProblem &problem, std::ostream *out) { *out << problem.text; }

constexpr KernelBenchProblem kernelbench[] = {
    {57, "n8g1ic64oc64ih1024iw1024kh3kw3"},
    {65, "n8g1ic64oc64ih512iw512kh3kw7"},
    {69, "n64g1ic64oc128ih128iw256kh3kw5"},
    {71, "n8g1ic32oc32ih512iw1024kh3kw3"},
    {75, "n16g4ic32oc64ih128iw256kh3kw5sh2sw3ph1pw2dh2dw1"},
    {78, "n8g1ic32oc32ih512iw1024kh3kw7ph1pw3"},
    {81, "n16g1ic32oc64ih64iw128kh3kw3sh5sw5ph1pw1dh2dw2"},
};

/// Every kernel of a device that accepts the problem, with the bias that expect_exact_samples() gives.
std::vector<PlanOptions> every_kernel(const Problem &problem, Device device) {
    PlanOptions options;
    options.device = device;
    options.epilogue.bias = true;
    return for_every_kernel(problem, options);
}

class KernelBench : public ::testing::TestWithParam<KernelBenchProblem> {};

TEST_P(KernelBench, AtFullSizeOnTheGpu) {
    if (const char *reason = missing(Device::cuda)) GTEST_SKIP() << reason;
    const Problem problem = Problem::parse(GetParam().text);
    expect_exact_samples(problem, every_kernel(problem, Device::cuda), 500);
}

// The same attributes and channels, so the same kernels, on smaller pictures.
TEST_P(KernelBench, CutDownOnTheCpu) {
    Problem problem = Problem::parse(GetParam().text);
    problem.batch = 2;
    problem.height().input = std::min<int64_t>(problem.height().input / 4, 24) + 3;
    problem.width().input = std::min<int64_t>(problem.width().input / 4, 64) + 5;
    expect_exact_samples(problem, every_kernel(problem, Device::cpu), 1000);
}

INSTANTIATE_TEST_SUITE_P(, KernelBench, ::testing::ValuesIn(kernelbench),
                         [](const auto &info) { return "Problem" + std::to_string(info.param.number); });

// Halide's bounds of how many cells a tile has must not be beyond an int: they are products of a quotient, whose bound is the
// number that is divided, and all rows of a picture.
TEST(TallPicture, OnTheCpu) {
    const std::pair<const char *, Operation> problems[] = {{"n1ic1oc1ih50000iw2kh2kw2", Operation::forward},
                                                           {"n1ic1oc1ih60000iw2kh2kw2sh2sw2", Operation::input_gradient},
                                                           {"n1ic1oc1ih2200000iw1kh2kw1sh2", Operation::input_gradient}};
    RandomProblems random(1);
    for (const auto &[text, operation] : problems) {
        const Problem p = Problem::parse(text);
        const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements()),
                   output_gradient = random.integers(p.output_elements());
        const bool is_forward = operation == Operation::forward;
        const auto expected = is_forward ? forward(p, input, weight, {}) : input_gradient(p, weight, output_gradient);
        PlanOptions options;
        options.device = Device::cpu, options.operation = operation;
        for (const PlanOptions &forced : for_every_kernel(p, options)) {
            if (forced.kernel.find("implicit_gemm") == std::string::npos) continue;  // as others have no such tiles
            const Trace trace(std::string(text) + " by " + forced.kernel);
            const Plan plan(p, forced);
            expect_equal(is_forward ? run_forward(plan, input, weight, {}) : run_gradient(plan, input, weight, output_gradient),
                         expected);
            if (HasFailure()) return;
        }
    }
}

struct HugeProblem {
    const char *name, *text;
};

void PrintTo(const HugeProblem &problem, std::ostream *out) { *out << problem.text; }

class Huge : public ::testing::TestWithParam<HugeProblem> {};

TEST_P(Huge, OnTheGpu) {
    if (const char *reason = missing(Device::cuda)) GTEST_SKIP() << reason;
    const Problem problem = Problem::parse(GetParam().text);
    ASSERT_GT(std::max(problem.input_elements(), problem.output_elements()), (int64_t{1} << 31) - (int64_t{1} << 26));
    // Filling and reading takes seconds a kernel: those that plans take, and the one of last resort, 64-bit or cut.
    std::vector<PlanOptions> chosen;
    const auto all = every_kernel(problem, Device::cuda);
    for (Precision precision : {Precision::float32, Precision::tf32})
        for (const PlanOptions &options : all)
            if (options.precision == precision) {
                chosen.push_back(options);
                break;
            }
    const auto last = std::find_if(all.rbegin(), all.rend(),
                                   [](const auto &o) { return o.precision == Precision::float32; });
    if (last->kernel != chosen.front().kernel) chosen.push_back(*last);
    expect_exact_samples(problem, chosen, 500);
}

INSTANTIATE_TEST_SUITE_P(
    , Huge,
    ::testing::Values(HugeProblem{"OutputOfManyImages", "n2200ic1oc1ih512iw512kh4kw4sh2sw2ph1pw1"},
                      HugeProblem{"OutputOfOneImageOfOneGroup", "n1ic3oc2200ih512iw512kh4kw4sh2sw2ph1pw1"},
                      HugeProblem{"OutputOfOneImageOfManyGroups", "n1g2200ic2200oc2200ih512iw512kh4kw4sh2sw2ph1pw1"},
                      HugeProblem{"OutputOfOneImageStride1", "n1ic16oc2080ih1024iw1024kh3kw3ph1pw1"},
                      HugeProblem{"InputOfManyImages", "n70ic32oc3ih1024iw1024kh3kw3ph1pw1"},
                      HugeProblem{"InputOfOneImageOfOneGroup", "n1ic2200oc1ih1024iw1024kh3kw3ph1pw1"},
                      HugeProblem{"OnePlaneJustBelow", "n1ic1oc1ih23100iw23100kh2kw2sh2sw2"}),
    [](const auto &info) { return info.param.name; });

// 2^31 positions in a plane are more than a kernel can index; the message says so.
TEST(HugePlane, Beyond32BitsIsUnsupported) {
    PlanOptions options;
    options.device = Device::cpu;
    try {
        Plan(Problem::parse("n1ic1oc1ih40000iw40000kh2kw2sh2sw2"), options);
        FAIL() << "a plan was made";
    } catch (const Unsupported &error) {
        EXPECT_NE(std::string(error.what()).find("a plane has more than 2^31 - 1 elements"),
                  std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace conv_transpose::testing

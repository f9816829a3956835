// Plan: which kernel is chosen, what is refused while planning and while running, packed weights, batch 0.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

// Kernels that pack weights accept it on both devices.
const Problem small_problem = Problem::parse("n2g2ic4oc6ih5iw7kh4kw4sh2sw2ph1pw3opw1");

/// Whether an exception of this type is thrown, with this text in its message.
template <class Exception, class Function>
::testing::AssertionResult throws(const std::string &text, Function function) {
    try {
        function();
    } catch (const Exception &error) {
        if (std::string(error.what()).find(text) != std::string::npos) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << "the message is: " << error.what();
    }
    return ::testing::AssertionFailure() << "nothing was thrown";
}

class PlanTest : public DeviceTest {
  protected:
    RandomProblems random_{3};
    std::vector<float> input_ = random_.integers(small_problem.input_elements());
    std::vector<float> weight_ = random_.integers(small_problem.weight_elements());
    std::vector<float> bias_ = random_.integers(small_problem.out_channels);

    /// A plan of `small_problem` for each kernel that accepts it.
    std::vector<Plan> plans(const PlanOptions &with) const {
        std::vector<Plan> all;
        for (const PlanOptions &forced : for_every_kernel(small_problem, with)) all.emplace_back(small_problem, forced);
        return all;
    }
};

TEST_P(PlanTest, ChoosesTheFirstKernelThatAccepts) {
    const Plan plan(small_problem, options());
    const auto accepting = kernels_for(small_problem, options());
    ASSERT_FALSE(accepting.empty());
    EXPECT_EQ(plan.kernel(), accepting.front());
    EXPECT_EQ(plan.device(), GetParam());
    EXPECT_EQ(plan.problem().str(), small_problem.str());
}

// A tile for wide pictures would mostly lie outside of small ones.
TEST_P(PlanTest, SmallAndLargePicturesTakeDifferentTensorCoreKernels) {
    PlanOptions tensor_cores = options();
    tensor_cores.precision = Precision::tf32;
    if (GetParam() == Device::cpu) GTEST_SKIP() << "tensor cores are a GPU's";
    for (const auto &[attributes, small, large] : {std::tuple{"ic512oc256kh2kw2sh2sw2", "n8ih14iw14", "n8ih256iw256"},
                                                   {"ic512oc256kh4kw4sh2sw2ph1pw1", "n128ih8iw8", "n8ih128iw128"}}) {
        const auto kernel = [&](const std::string &sizes) {
            return Plan(Problem::parse(sizes + attributes), tensor_cores).kernel();
        };
        EXPECT_NE(kernel(small), kernel(large)) << attributes;
    }
}

// KernelBench 75 and 81: a float32 family was made for them, and tensor cores' kernels are for any attributes.
TEST_P(PlanTest, WhereMemoryLimitsFloat32IsEnough) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "tensor cores are a GPU's";
    PlanOptions tensor_cores = options();
    tensor_cores.precision = Precision::tf32;
    for (const char *text : {"n16g4ic32oc64ih128iw256kh3kw5sh2sw3ph1pw2dh2dw1", "n16g1ic32oc64ih64iw128kh3kw3sh5sw5ph1pw1dh2dw2"}) {
        const Problem p = Problem::parse(text);
        EXPECT_EQ(Plan(p, tensor_cores).kernel(), Plan(p, options()).kernel()) << text;
    }
    // A sum of 64 channels is worth them.
    const Problem dense = Problem::parse("n16ic64oc64ih128iw128kh3kw3sh2sw2ph1pw1");
    EXPECT_NE(Plan(dense, tensor_cores).kernel(), Plan(dense, options()).kernel());
}

// A linear layer's is a product that the forward kernels compute; groups of four channels fill a tile together; boxes of 24
// channels take the copy engine longer than threads that copy.
TEST_P(PlanTest, WeightGradientsTakeKernelsByClass) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "a CPU's are flat products";
    PlanOptions gradient = options();
    gradient.operation = Operation::weight_gradient;
    const auto taken = [&](const char *text, std::string_view part) {
        return Plan(Problem::parse(text), gradient).kernel().find(part) != std::string_view::npos;
    };
    for (const Precision precision : {Precision::float32, Precision::tf32}) {
        gradient.precision = precision;
        EXPECT_TRUE(taken("n128ic100oc512ih1iw1kh4kw4", "forward_"));
    }
    EXPECT_TRUE(taken("n8g32ic128oc128ih56iw56kh4kw4sh2sw2ph1pw1", "_product_"));
    gradient.input = gradient.weight = gradient.output = {ElementType::float16, Layout::channels_last};
    EXPECT_FALSE(taken("n4ic21oc21ih66iw66kh16kw16sh8sw8", "_maps_"));
}

// A kernel for any tensors accepts every valid problem, so that none is ever unserved.
TEST_P(PlanTest, EveryValidProblemHasAKernel) {
    RandomProblems random(5);
    for (int i = 0; i < 500; i++) {
        const Problem problem = random.next();
        EXPECT_FALSE(kernels_for(problem, options()).empty()) << problem.str();
    }
}

TEST_P(PlanTest, ForcedKernelIsUsed) {
    for (const Plan &plan : plans(options())) EXPECT_EQ(plan.kernel(), plan.options().kernel);
}

TEST_P(PlanTest, ForcedKernelThatCannotServeTellsWhy) {
    const auto accepting = kernels_for(small_problem, options());
    int refused = 0;
    for (const KernelInfo &kernel : kernels()) {
        if (std::find(accepting.begin(), accepting.end(), kernel.name) != accepting.end()) continue;
        PlanOptions forced = options();
        forced.kernel = kernel.name;
        EXPECT_TRUE(throws<Unsupported>("it cannot serve " + small_problem.str() + ": ", [&] {
            Plan(small_problem, forced);
        })) << kernel.name;
        refused++;
    }
    if (refused == 0) GTEST_SKIP() << "every kernel of this build accepts the problem";
}

TEST_P(PlanTest, ForcedKernelThatDoesNotExist) {
    PlanOptions forced = options();
    forced.kernel = "f32_abacus_general";
    EXPECT_TRUE(throws<Unsupported>("no kernel of that name", [&] { Plan(small_problem, forced); }));
}

// By a cast, or by a program that was compiled with a newer header.
TEST_P(PlanTest, EnumeratorsThatDoNotExistAreRefused) {
    const auto refused = [&](const char *text, auto change) {
        PlanOptions wrong = options();
        change(wrong);
        EXPECT_TRUE(throws<InvalidProblem>(text, [&] { Plan(small_problem, wrong); }));
        EXPECT_TRUE(throws<InvalidProblem>(text, [&] { kernels_for(small_problem, wrong); }));
    };
    refused("operation is 4, but", [](PlanOptions &o) { o.operation = static_cast<Operation>(4); });
    refused("device is -1, but", [](PlanOptions &o) { o.device = static_cast<Device>(-1); });
    refused("precision is 9, but", [](PlanOptions &o) { o.precision = static_cast<Precision>(9); });
    refused("epilogue.activation is 9, but", [](PlanOptions &o) { o.epilogue.activation = static_cast<Activation>(9); });
    refused("input.type is 9, but", [](PlanOptions &o) { o.input.type = static_cast<ElementType>(9); });
    refused("weight.layout is 9, but", [](PlanOptions &o) { o.weight.layout = static_cast<Layout>(9); });
    refused("output.type is -1, but", [](PlanOptions &o) { o.output.type = static_cast<ElementType>(-1); });
}

TEST_P(PlanTest, TensorsThatNoMachineHoldsAreRefused) {
    for (const char *text : {"n1ic1oc1ih1073741824iw1048576kh1kw1", "n1048576ic1048576oc1ih64iw1kh1kw1",
                             "n1ic16777216oc33554432ih1iw1kh1kw1"})
        EXPECT_TRUE(throws<Unsupported>("bytes", [&] { Plan(Problem::parse(text), options()); })) << text;
}

// Moving from a plan leaves it as it was.
TEST_P(PlanTest, APlanThatWasMovedFromStillRuns) {
    Plan first(small_problem, options());
    const Plan second(std::move(first));
    const auto expected = forward(small_problem, input_, weight_, {});
    for (const Plan &plan : {first, second}) expect_equal(run_forward(plan, input_, weight_, {}), expected);
    EXPECT_EQ(first.kernel(), second.kernel());
    EXPECT_EQ(first.workspace_bytes(), second.workspace_bytes());
    Plan third(Problem::parse("n1ic1oc1ih2iw2kh1kw1"), options());
    third = std::move(first);
    for (const Plan &plan : {first, third}) expect_equal(run_forward(plan, input_, weight_, {}), expected);
}

// A kernel would read what it has written.
TEST_P(PlanTest, OverlappingTensorsAreRefused) {
    PlanOptions with_bias = options();
    with_bias.epilogue.bias = true;
    const DeviceMemory memory(GetParam(), 16384 * sizeof(float));
    Arguments apart;
    apart.input = memory.floats() + 2048, apart.weight = memory.floats() + 6144;
    apart.bias = memory.floats() + 10240, apart.output = memory.floats() + 12288;
    const auto element = [](const void *tensor, int64_t i) { return static_cast<const float *>(tensor) + i; };
    for (const Plan &plan : plans(with_bias)) {
        const DeviceMemory workspace(GetParam(), plan.workspace_bytes());
        const auto run = [&](const Arguments &arguments) {
            return plan.run(arguments, {workspace.data(), workspace.bytes()});
        };
        const auto expect_refused = [&](const void *output, const char *text) {
            Arguments overlapping = apart;
            overlapping.output = const_cast<void *>(output);
            const Status status = run(overlapping);
            EXPECT_EQ(status.code(), Status::Code::invalid_argument) << plan.kernel();
            EXPECT_EQ(std::string(status.message()), std::string(text) + ", but output is written and must lie apart");
        };
        expect_refused(apart.input, "output overlaps input");
        expect_refused(element(apart.input, input_.size() - 1), "output overlaps input");
        expect_refused(element(apart.weight, 1 - small_problem.output_elements()), "output overlaps weight");
        expect_refused(element(apart.bias, 1), "output overlaps bias");
        if (workspace.bytes() > 0) {
            expect_refused(workspace.floats(), "output overlaps workspace");
            Arguments inside = apart;
            inside.input = workspace.floats();
            EXPECT_EQ(std::string(run(inside).message()), "input overlaps workspace, but workspace is written and must lie apart");
        }
        Arguments neighbours = apart;
        neighbours.output = const_cast<float *>(element(apart.weight, -small_problem.output_elements()));
        EXPECT_TRUE(run(neighbours).ok());
    }
    synchronize(GetParam());
}

// A GPU would stop at such an address, and fail all calls that follow.
TEST_P(PlanTest, TensorsBeginAtMultiplesOfTheirElements) {
    PlanOptions with_bias = options();
    with_bias.epilogue.bias = true;
    const auto moved = [](const void *tensor, int bytes) { return const_cast<char *>(static_cast<const char *>(tensor)) + bytes; };
    for (const Plan &plan : plans(with_bias)) {
        ForwardCall call(plan, input_, weight_, bias_);
        const Arguments complete = call.arguments;
        const auto expect_refused = [&](const std::string &what, int multiple, Workspace workspace) {
            const Status status = plan.run(call.arguments, workspace);
            EXPECT_EQ(status.code(), Status::Code::invalid_argument) << plan.kernel();
            EXPECT_EQ(std::string(status.message()).find(what + " begins at address 0x"), 0u) << status.message();
            EXPECT_NE(std::string(status.message()).find(", but that must be a multiple of " + std::to_string(multiple) + " bytes"),
                      std::string::npos)
                << status.message();
            call.arguments = complete;
        };
        const Workspace workspace = call.workspace();
        call.arguments.input = moved(complete.input, 1), expect_refused("input", 4, workspace);
        call.arguments.weight = moved(complete.weight, 2), expect_refused("weight", 4, workspace);
        call.arguments.bias = moved(complete.bias, 3), expect_refused("bias", 4, workspace);
        call.arguments.output = moved(complete.output, 1), expect_refused("output", 4, workspace);
        if (workspace.bytes > 0) expect_refused("workspace", 16, {moved(workspace.data, 4), workspace.bytes});
        if (const size_t bytes = plan.packed_weight_bytes(); bytes > 0) {
            const DeviceMemory packed(GetParam(), bytes + 4);
            EXPECT_EQ(plan.pack_weight(complete.weight, moved(packed.data(), 4)).code(), Status::Code::invalid_argument);
            call.arguments.packed_weight = moved(packed.data(), 4), expect_refused("packed_weight", 16, workspace);
        }
        EXPECT_TRUE(call.run().ok()) << plan.kernel();
    }
    synchronize(GetParam());
}

TEST_P(PlanTest, PackedWeightsLieApart) {
    int with_packing = 0;
    for (const Plan &plan : plans(options())) {
        const size_t bytes = plan.packed_weight_bytes();
        if (bytes == 0) continue;
        with_packing++;
        const DeviceMemory memory(GetParam(), 4 * bytes + 4 * sizeof(float) * small_problem.output_elements()),
            workspace(GetParam(), plan.workspace_bytes(true));
        float *const packed = memory.floats(), *const beyond = packed + bytes / sizeof(float);
        EXPECT_EQ(std::string(plan.pack_weight(packed, packed).message()),
                  "packed overlaps weight, but packed is written and must lie apart")
            << plan.kernel();
        ForwardCall call(plan, input_, weight_);
        call.arguments.packed_weight = packed;
        call.arguments.output = beyond - 1;
        EXPECT_EQ(std::string(plan.run(call.arguments, {workspace.data(), workspace.bytes()}).message()),
                  "output overlaps packed_weight, but output is written and must lie apart")
            << plan.kernel();
        call.arguments.output = beyond;
        EXPECT_TRUE(plan.run(call.arguments, {workspace.data(), workspace.bytes()}).ok()) << plan.kernel();
    }
    synchronize(GetParam());
    if (with_packing == 0) GTEST_SKIP() << "no kernel of this build packs weights for " << small_problem.str();
}

TEST_P(PlanTest, GradientsThatOverlapAreRefused) {
    const Problem p = Problem::parse("n1ic3oc3ih4iw4kh3kw3ph1pw1");
    DeviceMemory memory(GetParam(), 4096);
    Arguments arguments;
    arguments.input = arguments.weight = arguments.output_gradient = memory.floats();
    for (auto [operation, result] : {std::pair{Operation::input_gradient, &Arguments::input_gradient},
                                     {Operation::weight_gradient, &Arguments::weight_gradient},
                                     {Operation::bias_gradient, &Arguments::bias_gradient}}) {
        PlanOptions wanted = options();
        wanted.operation = operation;
        const Plan plan(p, wanted);
        const DeviceMemory workspace(GetParam(), plan.workspace_bytes());
        Arguments inside = arguments;
        inside.*result = memory.floats() + 20;
        const Status status = plan.run(inside, {workspace.data(), workspace.bytes()});
        EXPECT_EQ(status.code(), Status::Code::invalid_argument);
        EXPECT_NE(std::string(status.message()).find("_gradient overlaps "), std::string::npos) << status.message();
        inside.*result = memory.floats() + 512;
        EXPECT_TRUE(plan.run(inside, {workspace.data(), workspace.bytes()}).ok());
    }
    synchronize(GetParam());
}

TEST_P(PlanTest, NullArgumentsAreNamed) {
    PlanOptions with_bias = options();
    with_bias.epilogue.bias = true;
    const Plan plan(small_problem, with_bias);
    ForwardCall call(plan, input_, weight_, bias_);
    const Arguments complete = call.arguments;
    const auto expect_named = [&](const char *name) {
        const Status status = call.run();
        EXPECT_EQ(status.code(), Status::Code::invalid_argument);
        EXPECT_EQ(status.message(), std::string(name) + " is null, but the operation needs it");
        call.arguments = complete;
    };
    call.arguments.input = nullptr, expect_named("input");
    call.arguments.weight = nullptr, expect_named("weight");
    call.arguments.bias = nullptr, expect_named("bias");
    call.arguments.output = nullptr, expect_named("output");
    EXPECT_TRUE(call.run().ok());
}

TEST_P(PlanTest, BiasMayBeNullWithoutOneInTheEpilogue) {
    const Plan plan(small_problem, options());
    ForwardCall call(plan, input_, weight_);
    EXPECT_TRUE(call.run().ok());
    expect_equal(call.output(), forward(small_problem, input_, weight_, {}));
}

TEST_P(PlanTest, WorkspaceTooSmall) {
    int with_workspace = 0;
    for (const Plan &plan : plans(options())) {
        const size_t needed = plan.workspace_bytes();
        if (needed == 0) continue;
        with_workspace++;
        const ForwardCall call(plan, input_, weight_);
        for (const Workspace &workspace : {Workspace{}, {call.workspace().data, needed - 1}, {nullptr, needed}}) {
            const Status status = plan.run(call.arguments, workspace);
            EXPECT_EQ(status.code(), Status::Code::workspace_too_small) << plan.kernel();
            EXPECT_NE(std::string(status.message()).find(std::to_string(needed)), std::string::npos)
                << status.message();
        }
        EXPECT_TRUE(call.run().ok());
    }
    if (with_workspace == 0) GTEST_SKIP() << "no kernel of this build needs a workspace for " << small_problem.str();
}

TEST_P(PlanTest, PackedWeightReplacesWeight) {
    int with_packing = 0;
    const auto expected = forward(small_problem, input_, weight_, {});
    for (const Plan &plan : plans(options())) {
        if (plan.packed_weight_bytes() == 0) continue;
        with_packing++;
        ForwardCall call(plan, input_, weight_);
        const DeviceMemory packed(GetParam(), plan.packed_weight_bytes());
        const DeviceMemory workspace(GetParam(), plan.workspace_bytes(true));
        ASSERT_TRUE(plan.pack_weight(call.arguments.weight, packed.data()).ok()) << plan.kernel();
        EXPECT_EQ(plan.pack_weight(nullptr, packed.data()).code(), Status::Code::invalid_argument);
        EXPECT_EQ(plan.pack_weight(call.arguments.weight, nullptr).code(), Status::Code::invalid_argument);
        call.arguments.weight = nullptr;
        call.arguments.packed_weight = packed.data();
        const Status status = plan.run(call.arguments, {workspace.data(), workspace.bytes()});
        EXPECT_TRUE(status.ok()) << status.message();
        const Trace trace(plan.kernel());
        expect_equal(call.output(), expected);
    }
    if (with_packing == 0) GTEST_SKIP() << "no kernel of this build packs weights for " << small_problem.str();
}

TEST_P(PlanTest, BatchZeroComputesNothing) {
    Problem empty = small_problem;
    empty.batch = 0;
    for (std::string_view kernel : kernels_for(empty, options())) {
        PlanOptions forced = options();
        forced.kernel = kernel;
        EXPECT_TRUE(Plan(empty, forced).run({}).ok()) << kernel;
    }
}

// Bitwise: every output is summed by one thread, in one order.
TEST_P(PlanTest, RealDataGivesTheSameBitsAgain) {
    const Problem problem = Problem::parse("n2ic19oc13ih17iw23kh4kw4sh2sw2ph1pw1");
    const auto input = random_.reals(problem.input_elements()), weight = random_.reals(problem.weight_elements());
    for (Precision precision : {Precision::float32, Precision::tf32, Precision::tf32x3}) {
        PlanOptions forced = options();
        forced.precision = precision;
        for (std::string_view kernel : kernels_for(problem, forced)) {
            forced.kernel = kernel;
            const Plan plan(problem, forced);
            const auto first = run_forward(plan, input, weight, {});
            for (int i = 0; i < 3; i++) EXPECT_EQ(run_forward(plan, input, weight, {}), first) << kernel;
        }
    }
}

INSTANTIATE_ON_DEVICES(PlanTest);

TEST(PlanOptionsTest, CudaWithoutAGpuIsUnsupported) {
    if (cuda_available()) GTEST_SKIP() << "this machine has a GPU";
    PlanOptions cuda;
    cuda.device = Device::cuda;
    EXPECT_TRUE(throws<Unsupported>("use cpu or automatic", [&] { Plan(small_problem, cuda); }));
    EXPECT_EQ(Plan(small_problem).device(), Device::cpu);
}

TEST(PlanOptionsTest, AutomaticTakesTheGpu) {
    if (!cuda_available()) GTEST_SKIP() << "no usable GPU on this machine";
    EXPECT_EQ(Plan(small_problem).device(), Device::cuda);
}

TEST(PlanOptionsTest, SlopeMustBeANumber) {
    PlanOptions options;
    options.epilogue.activation = Activation::leaky_relu;
    options.epilogue.negative_slope = std::nanf("");
    EXPECT_TRUE(throws<InvalidProblem>("epilogue.negative_slope is NaN", [&] { Plan(small_problem, options); }));
}

TEST(PlanOptionsTest, SlopesOfChannelsStandBehindBiases) {
    PlanOptions options;
    options.epilogue.activation = Activation::prelu;
    EXPECT_TRUE(throws<InvalidProblem>("epilogue.activation is prelu", [&] { Plan(small_problem, options); }));
    options.epilogue.bias = true, options.device = Device::cpu;
    EXPECT_TRUE(throws<Unsupported>("it has one slope for all channels", [&] { Plan(small_problem, options); }));
}

TEST(PlanOptionsTest, OnlyForwardHasAnEpilogue) {
    for (Operation operation : {Operation::input_gradient, Operation::weight_gradient, Operation::bias_gradient}) {
        PlanOptions options;
        options.operation = operation;
        options.epilogue.bias = true;
        EXPECT_TRUE(throws<InvalidProblem>("epilogue", [&] { Plan(small_problem, options); }));
    }
}

TEST(Registry, KernelNamesAreUniqueAndTellTheDevice) {
    std::set<std::string_view> names;
    for (const KernelInfo &kernel : kernels()) {
        EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
        const char *device = kernel.device == Device::cuda ? "_cuda" : "_cpu";
        EXPECT_NE(kernel.name.find(device), std::string_view::npos) << kernel.name;
    }
    EXPECT_FALSE(names.empty());
}

TEST(Library, HasAVersion) { EXPECT_EQ(std::count(version().begin(), version().end(), '.'), 2) << version(); }

}  // namespace
}  // namespace conv_transpose::testing

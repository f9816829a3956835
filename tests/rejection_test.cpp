// Kernels that a problem is not for, or for another cut of it: of CUDA, what is told without a GPU.
#include "choice/rejection.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "choice/alternatives.h"
#include "choice/registry.h"
#include "choice/winograd_sizes.h"

namespace conv_transpose::testing {
namespace {

constexpr Machine hopper{.compute_capability = 90, .shared_bytes = 227 << 10, .multiprocessors = 132};

// Groups that are joined have biases of their own kernels' channels, behind which no slopes stand.
TEST(Rejection, OfSlopesWhereGroupsAreJoined) {
    const auto joins_groups = [](Activation activation) {
        PlanOptions options;
        options.epilogue = {.bias = true, .activation = activation};
        options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
        int served = 0;
        for (const Computation &c : alternatives(Problem::parse("n2g8ic64oc64ih9iw12kh4kw4sh2sw2ph1pw1"), options))
            for (const KernelTraits &k : registry())
                if (c.joined_groups > 1 && k.channel_slopes) served += rejection(k, c, options, Device::cuda, hopper).empty();
        return served > 0;
    };
    if (!joins_groups(Activation::relu)) GTEST_SKIP() << "none of this build's kernels joins groups";
    EXPECT_FALSE(joins_groups(Activation::prelu));
}

// Blocks along y of a cluster are parts of one sum, to which groups would be added.
TEST(Rejection, OfGroupsWhereClustersAddParts) {
    const auto served = [](const char *problem) {
        int kernels = 0;
        for (const Operation operation : {Operation::forward, Operation::input_gradient}) {
            PlanOptions options;
            options.operation = operation;
            options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
            for (const Computation &c : alternatives(Problem::parse(problem), options))
                for (const KernelTraits &k : registry())
                    if (k.adds_in_clusters && k.operation == c.operation && k.operation != Operation::weight_gradient &&
                        c.joined_groups == 1)
                        kernels += rejection(k, c, options, Device::cuda, hopper).empty();
        }
        return kernels;
    };
    if (served("n2g1ic256oc256ih9iw12kh4kw4sh2sw2ph1pw1") == 0) GTEST_SKIP() << "this build has no such kernels";
    EXPECT_EQ(served("n2g2ic256oc256ih9iw12kh4kw4sh2sw2ph1pw1"), 0);
}

// A resident block goes from a tile of channels to the same tile: 132 blocks share out two and three of them, not five; and it has
// room for the weights of so many steps.
TEST(Rejection, OfWeightsThatABlockDoesNotKeep) {
    const auto served = [](const char *problem, Layout layout) {
        PlanOptions options;
        options.input = options.weight = options.output = {ElementType::float16, layout};
        int kernels = 0;
        for (const Computation &c : alternatives(Problem::parse(problem), options))
            for (const KernelTraits &k : registry())
                if (k.kept_steps > 0) kernels += rejection(k, c, options, Device::cuda, hopper).empty();
        return kernels;
    };
    if (served("ic64oc64ih64iw64kh3kw3", Layout::channels_last) == 0) GTEST_SKIP() << "this build has no such kernels";
    constexpr Layout layouts[] = {Layout::channels_first, Layout::channels_last};
    for (const char *problem : {"ic64oc128ih64iw64kh3kw3", "ic32oc192ih64iw64kh3kw3", "ic64oc64ih64iw64kh3kw3"})
        for (const Layout layout : layouts) EXPECT_GT(served(problem, layout), 0) << problem;
    EXPECT_GT(served("ic256oc64ih64iw64kh2kw2sh2sw2", Layout::channels_first), 0);
    for (const char *problem : {"ic64oc320ih64iw64kh3kw3", "ic72oc64ih64iw64kh3kw3"})
        for (const Layout layout : layouts) EXPECT_EQ(served(problem, layout), 0) << problem;
    EXPECT_EQ(served("ic264oc64ih64iw64kh2kw2sh2sw2", Layout::channels_first), 0);
}

// Weight gradients of float32 that read fours of channels as they lie pack nothing: of other pictures there are other kernels.
TEST(Rejection, OfPicturesThatWeightGradientsWouldPack) {
    const auto served = [](const char *problem, Layout input, Layout output) {
        PlanOptions options;
        options.operation = Operation::weight_gradient;
        options.precision = Precision::tf32;
        options.input.layout = input, options.output.layout = output;
        int kernels = 0;
        for (const Computation &c : alternatives(Problem::parse(problem), options))
            for (const KernelTraits &k : registry())
                if (k.family == Family::weight_gradient_implicit_gemm && k.vectors_of_channels)
                    kernels += rejection(k, c, options, Device::cuda, hopper).empty();
        return kernels;
    };
    const char *const problem = "n2ic68oc36ih9iw12kh4kw4sh2sw2ph1pw1";
    constexpr Layout first = Layout::channels_first, last = Layout::channels_last;
    if (served(problem, last, last) == 0) GTEST_SKIP() << "this build has no such kernels";
    for (const char *other : {"n2ic66oc36ih9iw12kh4kw4sh2sw2ph1pw1", "n2ic68oc38ih9iw12kh4kw4sh2sw2ph1pw1"})
        EXPECT_EQ(served(other, last, last), 0) << other;
    EXPECT_EQ(served(problem, first, first), 0);
}

// Vectors of cells are for channels that leave vectors of others mostly empty, or for few weights a channel, and for rows of a vector.
TEST(Rejection, OfChannelsThatFillOtherVectors) {
    const auto is_served = [](const char *problem) {
        PlanOptions options;
        options.device = Device::cpu;
        options.operation = Operation::weight_gradient;
        for (const std::string_view name : kernels_for(Problem::parse(problem), options))
            if (name.find("_cells_") != name.npos) return true;
        return false;
    };
    if (!is_served("n1g1ic2oc8ih20iw40kh3kw3")) GTEST_SKIP() << "this build, or processor, has no such kernel";
    EXPECT_TRUE(is_served("n1g1ic20oc8ih20iw40kh3kw3"));
    EXPECT_FALSE(is_served("n1g1ic21oc8ih20iw40kh3kw3"));
    EXPECT_FALSE(is_served("n1g1ic32oc8ih20iw40kh3kw3"));
    EXPECT_TRUE(is_served("n1g1ic32oc4ih20iw40kh1kw1"));
    EXPECT_FALSE(is_served("n1g1ic2oc8ih20iw7kh3kw3"));
}

// Kernels transform fewer taps of a phase than points: a sixth of six would be left out.
TEST(WinogradSizes, AreOfFewerTapsThanPoints) {
    bool seen = false;
    for (const KernelTraits &k : registry()) {
        if (k.role != KernelRole::compute || k.device != Device::cuda) continue;
        if (k.name.find("winograd") == std::string_view::npos) continue;
        seen = true;
        for (const char *problem : {"ic16oc16ih20iw20kh6kw6", "ic16oc16ih20iw20kh12kw5sh2sw3", "ic16oc16ih20iw20kh5kw8"})
            EXPECT_NE(winograd_rejection(k, Problem::parse(problem)), "") << k.name << " " << problem;
        for (const char *problem : {"ic16oc16ih20iw20kh5kw5", "ic16oc16ih20iw20kh10kw15sh2sw3", "ic16oc16ih20iw20kh2kw2"})
            EXPECT_EQ(winograd_rejection(k, Problem::parse(problem)), "") << k.name << " " << problem;
    }
    if (!seen) GTEST_SKIP() << "this build has no such kernels";
}

// Eight points along the width, beside up to three taps along the height, of forward operations: others would round the sums of
// small integers. Taps are those of a phase.
TEST(WinogradSizes, HaveEightPointsWhereSumsAreExact) {
    const auto points = [](Operation operation, const char *problem) {
        for (const KernelTraits &k : registry())
            if (k.device == Device::cuda && k.operation == operation && std::string(k.name).find("winograd") != std::string::npos &&
                k.role == KernelRole::compute) {
                const Size2 of_axes = WinogradSizes(k, Problem::parse(problem)).points_of_axes;
                return std::vector<int64_t>{of_axes.height, of_axes.width};
            }
        return std::vector<int64_t>{};
    };
    using Points = std::vector<int64_t>;
    if (points(Operation::forward, "ic16oc16ih20iw20kh3kw3").empty()) GTEST_SKIP() << "this build has no such kernels";
    EXPECT_EQ(points(Operation::forward, "ic16oc16ih20iw20kh3kw5"), (Points{6, 8}));
    EXPECT_EQ(points(Operation::forward, "ic16oc16ih20iw20kh6kw10sh2sw2"), (Points{6, 8}));
    EXPECT_EQ(points(Operation::forward, "ic16oc16ih20iw20kh4kw5"), (Points{6, 6}));
    EXPECT_EQ(points(Operation::forward, "ic16oc16ih20iw20kh5kw5"), (Points{6, 6}));
    EXPECT_EQ(points(Operation::forward, "ic16oc16ih20iw20kh3kw4"), (Points{6, 6}));
    EXPECT_EQ(points(Operation::weight_gradient, "ic16oc16ih20iw20kh3kw5"), (Points{6, 6}));
}

// A kernel that is named: pictures turned to what it does not read have nothing to tell.
TEST(Rejection, OfFewChannelsTellsNothingOfTurnedPictures) {
    for (const KernelInfo &kernel : kernels()) {
        if (kernel.name != "forward_tf32_cuda_implicit_gemm_any_nhwc_maps_256x64") continue;
        PlanOptions options;
        options.device = Device::cuda, options.precision = Precision::tf32, options.kernel = kernel.name;
        options.input = options.weight = options.output = {ElementType::float32, Layout::channels_last};
        try {
            Plan(Problem::parse("n2ic32oc8ih9iw12kh3kw3"), options);
            FAIL() << "eight channels fill an eighth of a tile";
        } catch (const Unsupported &error) {
            const std::string reason = error.what();
            if (reason.find("compute capability") != std::string::npos || reason.find("no usable") != std::string::npos)
                GTEST_SKIP() << reason;
            EXPECT_NE(reason.find("out_channels / groups is less than 16"), std::string::npos) << reason;
        }
        return;
    }
    GTEST_SKIP() << "this build has no such kernel";
}

}  // namespace
}  // namespace conv_transpose::testing

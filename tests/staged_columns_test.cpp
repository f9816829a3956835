// Which depthwise problems are taken by kernels whose blocks stage what they see.
#include "choice/staged_columns.h"

#include <gtest/gtest.h>

#include <string>

#include "choice/alternatives.h"

namespace conv_transpose::testing {
namespace {

constexpr int of_weights = 1024, of_inputs = 3072;

KernelTraits kernel_of(Operation operation, int parts, int window, int planes) {
    const bool forward = operation == Operation::forward;
    KernelTraits kernel;
    kernel.operation = operation;
    kernel.staged_shape = {.threads = 128, .parts = parts, .window = window, .lanes = 32, .elements = forward ? 10240 : 5120,
                           .others = forward ? of_weights * planes : of_inputs, .planes = planes};
    return kernel;
}

/// Why a kernel for an operation whose threads have so many positions of a column does not take a problem.
std::string rejection_of(const char *problem, Operation operation, int parts, Layout layout = Layout::channels_first,
                         int window = 8, int planes = 1) {
    PlanOptions options;
    options.operation = operation;
    options.input.layout = options.output.layout = layout;
    return staged_columns_rejection(kernel_of(operation, parts, window, planes), alternatives(Problem::parse(problem), options)[0]);
}

std::string forward_rejection_of(const char *problem, int window = 8) {
    return rejection_of(problem, Operation::forward, 16, Layout::channels_first, window);
}

const std::string too_large = "what a block would stage is more than it has room for", few = "what is staged has too few products";

TEST(StagedColumns, OfTheForwardOperationHaveAnyStrideAndDilation) {
    const std::string none_sees = "its stride and dilation have a common divisor";
    EXPECT_EQ(forward_rejection_of("n2g64ic64oc64ih96iw96kh7kw7ph3pw3"), "");
    EXPECT_EQ(forward_rejection_of("n2g64ic64oc64ih96iw96kh7kw7ph3pw3dh2dw2"), "");
    EXPECT_EQ(forward_rejection_of("n2g64ic64oc64ih96iw96kh15kw7ph3pw3sh2oph1"), "");
    EXPECT_EQ(forward_rejection_of("n2g64ic64oc64ih96iw96kh15kw7ph3pw3sh2sw3dh3dw2"), "");
    EXPECT_EQ(forward_rejection_of("n2g64ic64oc64ih96iw96kh7kw7ph3pw3sh2dh2"), none_sees);
    EXPECT_EQ(forward_rejection_of("n2g64ic64oc64ih96iw96kh7kw7ph3pw3sw6dw9"), none_sees);
    EXPECT_EQ(rejection_of("n2g64ic64oc64ih96iw96kh7kw7ph3pw3", Operation::forward, 16, Layout::channels_last),
              "its channels are innermost");
}

TEST(StagedColumns, OfInputGradientsAreLongRows) {
    const auto of_rows = [](const char *problem, Layout layout = Layout::channels_first) {
        return rejection_of(problem, Operation::input_gradient, 2, layout);
    };
    EXPECT_EQ(of_rows("n2g64ic64oc64iw938kw32sw16pw8"), "");
    EXPECT_EQ(of_rows("n2g64ic64oc64ih5iw64kh5kw12sh2sw6dw3"), "");
    EXPECT_EQ(of_rows("n2g64ic64oc64iw938kw32sw16pw8", Layout::channels_last), "its channels are innermost");
    EXPECT_EQ(of_rows("n2g64ic64oc64ih96iw32kh8kw8sh4sw4"), "its rows leave most threads idle");
    EXPECT_EQ(of_rows("n2g64ic64oc64iw938kw12sw6dw1000"), too_large);
}

// Every position of a block sees no more than it stages.
TEST(StagedColumns, OfRowsHaveRoom) {
    const StagedShape shape{.threads = 128, .parts = 2, .elements = 4224};
    for (const char *text : {"iw938kw32sw16", "iw64kw3sw1", "iw2000kw40sw20", "iw700kw3sw2000", "iw300kw5sw3dw900"}) {
        const auto row = staged_row(shape, Problem::parse(text));
        ASSERT_TRUE(row.fits()) << text;
        EXPECT_LE(row.seen(), row.most_seen()) << text;
        EXPECT_LE(row.positions, shape.threads * shape.parts) << text;
        EXPECT_LT(row.positions * (row.tiles() - 1), row.axis.extent) << text;
        EXPECT_GE(row.positions * row.tiles(), row.axis.extent) << text;
    }
}

// Vectors of groups are faster where a position sees few taps of a column, and than lanes that are channels apart.
TEST(StagedColumns, OfChannelsLastAreGroupsSideBySide) {
    const auto of_groups = [](const char *problem) {
        return rejection_of(problem, Operation::forward, 16, Layout::channels_last, 8, 8);
    };
    EXPECT_EQ(of_groups("n2g64ic64oc64ih96iw96kh7kw7ph3pw3"), "");
    EXPECT_EQ(of_groups("n2g64ic64oc64ih96iw96kh12kw12sh2sw2ph3pw3"), "");
    EXPECT_EQ(of_groups("n2g64ic64oc64ih96iw96kh8kw8sh4sw4ph2pw2"), "positions see less than three taps of a column");
    EXPECT_EQ(rejection_of("g8ic8oc8ih96iw96kh7kw7", Operation::forward, 16, Layout::channels_first, 8, 8),
              "its channels are not innermost");
    EXPECT_EQ(rejection_of("g8ic8oc8ih96iw96kh7kw7", Operation::weight_gradient, 8, Layout::channels_last),
              "its channels are innermost");
}

TEST(StagedColumns, HaveRoomForWeightsAndPictures) {
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh31kw31"), "");  // 32 x 31 weights of 1024
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh31kw33"), too_large);
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh7kw7dh4000"), too_large);
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh200kw200"), too_large);
    EXPECT_EQ(rejection_of("g8ic8oc8ih96iw96kh7kw7dh4000", Operation::weight_gradient, 8), too_large);
}

TEST(StagedColumns, HaveProductsEnough) {
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh3kw3"), few);
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih2iw96kh7kw7ph3"), few);  // windows of a column that is mostly padding
    EXPECT_EQ(rejection_of("g8ic8oc8ih96iw96kh7kw7", Operation::weight_gradient, 8), "");
    EXPECT_EQ(rejection_of("g8ic8oc8ih96iw96kh2kw2", Operation::weight_gradient, 8), few);
}

TEST(StagedColumns, OfTheForwardOperationHaveWindowsThatHoldTheirTaps) {
    const std::string more = "a column has more taps than its window";
    const char *const of_three = "n2g64ic64oc64id64ih64iw64kd5kh5kw5sd2sh2sw2pd2ph2pw2";
    EXPECT_EQ(forward_rejection_of(of_three, 2), more);
    EXPECT_EQ(forward_rejection_of(of_three, 3), "");
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh9kw9", 4), more);
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh9kw9sh2sw2", 4), more);
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh9kw9sh3sw2", 3), "");
    EXPECT_EQ(forward_rejection_of("g8ic8oc8ih96iw96kh9kw9"), "");
}

TEST(StagedColumns, OfTheForwardOperationInChannelsLastHaveGroupsSideBySide) {
    const auto of_groups = [](const char *problem, Layout layout) {
        return rejection_of(problem, Operation::forward, 16, layout, 3, 8);
    };
    const char *const of_three = "n2g64ic64oc64ih64iw64kh5kw5sh2sw2ph2pw2";
    EXPECT_EQ(of_groups(of_three, Layout::channels_last), "");
    EXPECT_EQ(of_groups(of_three, Layout::channels_first), "its channels are not innermost");
    EXPECT_EQ(of_groups("n2g64ic64oc64ih64iw64kh3kw3", Layout::channels_last), few);
}

TEST(StagedColumns, OfWeightGradientsHaveRunsThatColumnsFill) {
    EXPECT_EQ(rejection_of("g8ic8oc8ih96iw96kh7kw7", Operation::weight_gradient, 16), "");
    EXPECT_EQ(rejection_of("g8ic8oc8ih7iw96kh7kw7", Operation::weight_gradient, 16),
              "its runs of positions are longer than columns");
    EXPECT_EQ(rejection_of("g8ic8oc8ih7iw96kh7kw7", Operation::weight_gradient, 8), "");
    EXPECT_EQ(rejection_of("g8ic8oc8ih96iw96kh31kw31sh2sw2", Operation::weight_gradient, 16), "");
}

// Kernels that stage nothing are faster for few taps of high columns.
TEST(StagedColumns, PayOfHighColumnsWithManyTaps) {
    const auto pays = [](const char *problem) {
        return staging_pays(kernel_of(Operation::forward, 16, 3, 1), alternatives(Problem::parse(problem), {})[0]);
    };
    const char *const few_taps = "g40ic40oc40ih96iw96kh3kw3ph1pw1";
    EXPECT_EQ(forward_rejection_of(few_taps, 3), "");
    EXPECT_FALSE(pays(few_taps));
    EXPECT_TRUE(pays("g40ic40oc40ih22iw96kh3kw3ph1pw1"));
    EXPECT_TRUE(pays("g40ic40oc40ih96iw96kh3kw9ph1pw4"));
    EXPECT_TRUE(staging_pays({}, alternatives(Problem::parse(few_taps), {})[0]));
}

TEST(StagedColumns, OfGroupsSideBySidePayWhereThreadsHavePositions) {
    const auto pays = [](const char *problem) {
        KernelTraits kernel;
        kernel.staged_shape = {.threads = 256, .parts = 16, .window = 3, .lanes = 8, .elements = 8192, .others = 3072, .planes = 8};
        return staging_pays(kernel, alternatives(Problem::parse(problem), {})[0]);
    };
    EXPECT_TRUE(pays("g64ic64oc64id16ih16iw16kd5kh5kw5sd2sh2sw2pd2ph2pw2"));
    EXPECT_FALSE(pays("g64ic64oc64ih64iw64kh5kw5sh2sw2ph2pw2"));
    EXPECT_FALSE(pays("g2048ic2048oc2048ih16iw16kh12kw12sh5sw5ph6pw6"));
}

}  // namespace
}  // namespace conv_transpose::testing

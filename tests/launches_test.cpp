// Problems that take more than one launch: with limits of a launch so small that little problems are cut along batch
// and groups as those of 2^31 elements are, and left to kernels with 64-bit indices where they cannot be cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"
#include "runtime/src/choice/launch_ranges.h"
#include "small_launches.h"

namespace conv_transpose::testing {
namespace {

TEST(LaunchRanges, OfOneGridAxisStayWithinIt) {
    const SmallLaunches small(1 << 20, 7);
    const Problem p = Problem::parse("n9g3ic6oc6ih4iw4kh3kw3");
    const LaunchRanges apart(p, p.output_elements() / p.batch / p.out_channels), together = apart.on_one_grid_axis();
    EXPECT_EQ(apart.images, 9);
    EXPECT_EQ(together.images, 2);
    EXPECT_EQ(together.groups, 3);
}

constexpr int64_t whole_grid = 65535;

/// The larger tensor's.
int64_t elements_of_a_group(const Problem &p) {
    return std::max(p.input_elements(), p.output_elements()) / (p.batch * p.groups);
}

class Launches : public DeviceTest {
  protected:
    RandomProblems random{11};

    int count(int on_the_cpu) const { return std::min(random_problem_count(GetParam()), on_the_cpu); }

    static constexpr Operation all[] = {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                        Operation::bias_gradient};

    // Operations, by every kernel that has such a name and accepts the problem under the limits.
    void expect_exact(const Problem &p, int64_t elements, int64_t grid, std::span<const Operation> operations = all,
                      std::string_view part_of_name = "") {
        const Trace trace(p.str() + ", launches of " + std::to_string(elements) + " elements and grids of " +
                          std::to_string(grid));
        const SmallLaunches small(elements, grid);
        const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements());
        const auto bias = random.integers(p.out_channels), output_gradient = random.integers(p.output_elements());
        const auto output = forward(p, input, weight, bias);
        const Gradients expected = gradients(p, input, weight, output_gradient);
        for (Operation operation : operations) {
            PlanOptions wanted = options();
            wanted.operation = operation;
            wanted.epilogue.bias = operation == Operation::forward;
            for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
                if (forced.kernel.find(part_of_name) == std::string::npos) continue;
                const Trace trace(forced.kernel);
                const Plan plan(p, forced);
                if (operation == Operation::forward)
                    expect_equal(run_forward(plan, input, weight, bias), output);
                else
                    expect_equal(run_gradient(plan, input, weight, output_gradient),
                                 operation == Operation::input_gradient    ? expected.input
                                 : operation == Operation::weight_gradient ? expected.weight
                                                                           : expected.bias);
                if (HasFatalFailure()) return;
            }
        }
    }

    /// Attributes of a family of kernels, or any.
    Problem with_attributes() {
        const char *families[] = {"kh3kw3", "kh2kw2sh2sw2", "kh3kw3sh2sw2ph1pw1", "kh4kw4sh2sw2ph1pw1", "kh3kw5"};
        return random.one_in(3) ? random.next() : Problem::parse(families[random.between(0, 4)]);
    }

    /// Valid, of several images and groups.
    Problem several(int64_t least_channels, int64_t most_channels, int64_t most_rows, int64_t most_columns) {
        for (;;) {
            Problem p = with_attributes();
            p.batch = random.between(2, 7);
            p.groups = random.between(2, 5);
            p.in_channels = p.groups * random.between(least_channels, most_channels);
            p.out_channels = p.groups * random.between(least_channels, most_channels);
            p.height().input = random.between(2, most_rows), p.width().input = random.between(2, most_columns);
            const bool overlap = p.height().kernel * p.width().kernel <= 25 && p.height().dilation * p.width().dilation <= 4;
            try {
                p.validate();
                if (overlap && p.output_elements() < 60000) return p;
            } catch (const InvalidProblem &) {
            }
        }
    }
};

// Some of the images, the last launch with fewer; or some of the groups of each; or all but one.
TEST_P(Launches, AreCutAlongBatchAndGroups) {
    for (int i = 0; i < count(120) && !HasFatalFailure(); i++) {
        const Problem p = several(1, 5, 9, 12);
        const int64_t groups = random.one_in(2) ? random.between(1, p.groups) : p.groups * random.between(1, p.batch);
        const int64_t elements = groups * elements_of_a_group(p) + random.between(0, 3);
        expect_exact(p, elements, random.one_in(2) ? whole_grid : random.between(1, 2 * p.groups));
    }
}

// Channels enough for tensor cores and for products; their packed tensors are cut as well.
TEST_P(Launches, OfManyChannelsAreCut) {
    for (int i = 0; i < std::max(count(120) / 4, 2) && !HasFatalFailure(); i++) {
        Problem p = several(16, 36, 4, 5);
        p.batch = random.between(2, 11);
        p.groups = random.between(1, 2) * (i % 2 + 1);
        p.in_channels = p.groups * 32;
        p.out_channels = p.groups * random.between(16, 36);
        const int64_t images = random.between(1, 9);
        expect_exact(p, std::max(images * p.groups * elements_of_a_group(p), 4 * p.weight_elements()), whole_grid);
    }
}

// Products of packed pictures take a slice of the images at a time: of whole ones, or of their strips where those fill
// fours better.
TEST_P(Launches, OfManyImagesAreSlices) {
    for (const char *text : {"n16ic16oc16ih12iw12kh1kw1", "n17ic16oc16ih12iw12kh1kw1"}) {
        const Problem p = Problem::parse(text);
        expect_exact(p, 4 * elements_of_a_group(p), whole_grid);
    }
}

// The sums of channels that are cut into parts have launches, too.
TEST_P(Launches, OfSumsInPartsAreCut) {
    constexpr Operation forward[] = {Operation::forward}, input_gradient[] = {Operation::input_gradient};
    const Problem p = Problem::parse("n5ic256oc24ih2iw3kh3kw3");
    expect_exact(p, p.weight_elements(), whole_grid, forward);
    expect_exact(p, p.weight_elements(), 3, forward);
    // Parts of an input gradient's sum are groups, of which a launch takes three: there are no more; packed weights are filled up
    // to whole tiles.
    const Problem long_gradient = Problem::parse("n2ic24oc512ih2iw3kh3kw3");
    expect_exact(long_gradient, 8 * long_gradient.weight_elements(), 3, input_gradient);
}

// Planes of several slices (bias_gradient.cpp), of which a launch takes some channels; and parts enough that their sum
// has several launches.
TEST_P(Launches, OfSumsOfLargePlanesAreCut) {
    constexpr Operation sums[] = {Operation::weight_gradient, Operation::bias_gradient};
    const Problem p = Problem::parse("n3ic1oc5ih1iw40000kh1kw2");
    expect_exact(p, 2 * p.width().output() + 1, whole_grid, sums);
    expect_exact(p, 20 * p.width().output(), 2, sums);
    expect_exact(Problem::parse("n70g2ic4oc6ih9iw11kh2kw2"), 600, whole_grid, sums);
}

// Weight gradients that read pictures row by row put groups and bands of rows on one axis: a launch then has some groups of several
// images. Others have bands of positions.
TEST_P(Launches, OfSeveralBandsHaveFewerGroups) {
    constexpr Operation weight_gradient[] = {Operation::weight_gradient};
    expect_exact(Problem::parse("n4g3ic3oc3ih60iw70kh3kw3"), int64_t{1} << 30, 4, weight_gradient, "depthwise");
    expect_exact(Problem::parse("n4g3ic6oc9ih40iw70kh3kw3"), int64_t{1} << 30, 4, weight_gradient, "general");
    expect_exact(Problem::parse("n4g3ic24oc27ih9iw14kh3kw3"), int64_t{1} << 30, 4, weight_gradient);
}

// Nothing can be cut in one image of one group: what is left is made for 64-bit indices, and bias gradients.
TEST_P(Launches, BeyondOneGroupAreOf64BitKernels) {
    for (const char *text : {"n2g2ic6oc8ih7iw9kh3kw3", "n2g2ic12oc2ih9iw7kh4kw4sh2sw2ph1pw1", "n1ic3oc5ih6iw8kh2kw3dh2"}) {
        const Problem p = Problem::parse(text);
        const int64_t plane = std::max(p.height().input * p.width().input, p.height().output() * p.width().output()) * 5 / 4;
        ASSERT_LT(plane, elements_of_a_group(p)) << text;
        expect_exact(p, plane, whole_grid);
        const SmallLaunches small(plane, whole_grid);
        for (std::string_view kernel : kernels_for(p, options()))
            EXPECT_NE(kernel.find("large"), std::string_view::npos) << kernel << " for " << text;
    }
}

// A plane must fit a launch of any kernel.
TEST_P(Launches, MustSpanAPlane) {
    const Problem p = Problem::parse("n2g2ic6oc8ih7iw9kh3kw3");
    const SmallLaunches small(p.height().output() * p.width().output() - 1, whole_grid);
    EXPECT_TRUE(kernels_for(p, options()).empty());
    try {
        Plan(p, options());
        FAIL() << "a plan was made";
    } catch (const Unsupported &error) {
        EXPECT_NE(std::string(error.what()).find("a plane has more than"), std::string::npos) << error.what();
    }
}

// Winograd's algorithm transforms as many images at once as its matrices may take elements for: here two, then one, at a stride as
// without, of whose weight gradients later launches add to the first's.
TEST_P(Launches, OfTilesOfSomeImages) {
    const SmallLaunches small(900000, whole_grid);
    for (const char *text : {"n3ic8oc10ih30iw62kh3kw3", "n3ic8oc10ih20iw50kh4kw4sh2sw2ph1pw1"}) {
        const Problem p = Problem::parse(text);
        const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements());
        const auto bias = random.integers(p.out_channels), output_gradient = random.integers(p.output_elements());
        const auto output = forward(p, input, weight, bias);
        const auto expected = gradients(p, input, weight, output_gradient).weight;
        PlanOptions wanted = options();
        wanted.epilogue.bias = true;
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            if (forced.kernel.find("winograd") == std::string::npos) continue;
            SCOPED_TRACE(forced.kernel);
            expect_equal(run_forward(Plan(p, forced), input, weight, bias), output);
        }
        wanted.epilogue.bias = false, wanted.operation = Operation::weight_gradient;
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            if (forced.kernel.find("winograd") == std::string::npos) continue;
            SCOPED_TRACE(forced.kernel);
            expect_equal(run_gradient(Plan(p, forced), input, weight, output_gradient), expected);
        }
    }
}

INSTANTIATE_ON_DEVICES(Launches);

}  // namespace
}  // namespace conv_transpose::testing

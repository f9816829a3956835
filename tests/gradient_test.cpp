// The gradients against the scatter oracle. Integer data makes every sum exact, so results must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <set>
#include <string_view>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

constexpr Operation operations[] = {Operation::input_gradient, Operation::weight_gradient, Operation::bias_gradient};

const std::vector<double> &of(const Gradients &gradients, Operation operation) {
    switch (operation) {
        case Operation::input_gradient: return gradients.input;
        case Operation::weight_gradient: return gradients.weight;
        default: return gradients.bias;
    }
}

class Gradient : public DeviceTest {
  protected:
    PlanOptions options(Operation operation) const {
        PlanOptions options = DeviceTest::options();
        options.operation = operation;
        return options;
    }

    // All three gradients, each by every kernel that accepts the problem in one of the precisions.
    void expect_exact(const Problem &problem, RandomProblems &random,
                      std::initializer_list<Precision> precisions = {Precision::tf32}) const {
        const auto input = random.integers(problem.input_elements()),
                   weight = random.integers(problem.weight_elements());
        const auto output_gradient = random.integers(problem.output_elements());
        const Gradients expected = gradients(problem, input, weight, output_gradient);
        for (Operation operation : operations) {
            std::set<std::string_view> done;
            for (Precision precision : precisions) {
                PlanOptions wanted = options(operation);
                wanted.precision = precision;
                const auto kernels = kernels_for(problem, wanted);
                EXPECT_FALSE(kernels.empty()) << problem.str();
                for (std::string_view kernel : kernels) {
                    if (!done.insert(kernel).second) continue;
                    wanted.kernel = kernel;
                    const Trace trace(problem.str() + " by " + std::string(kernel));
                    const Plan plan(problem, wanted);
                    expect_equal(run_gradient(plan, input, weight, output_gradient), of(expected, operation));
                    if (HasFatalFailure()) return;
                }
            }
        }
    }

    void expect_all_exact(std::initializer_list<const char *> problems, unsigned seed) const {
        RandomProblems random(seed);
        for (const char *problem : problems) expect_exact(Problem::parse(problem), random);
    }
};

TEST_P(Gradient, RandomProblemsOnEveryKernelThatAcceptsThem) {
    RandomProblems random(2);
    for (int i = 0; i < random_problem_count(GetParam()) && !HasFatalFailure(); i++)
        expect_exact(random.next(), random);
}

// So many channels of so few places that what taps see is put side by side for all of them; in blocks of output channels, too, of
// which the last has fewer.
TEST_P(Gradient, ManyChannelsOfFewPlaces) {
    expect_all_exact({"n1ic130oc24iw3kw4sw2pw1", "n1ic100oc41ih2iw3kh4kw4sh2sw2ph1pw1", "n2ic151oc7ih2iw2kh3kw3sh2sw2dh2dw2",
                      "n1g2ic242oc10ih2iw2kh5kw5sh3sw3", "n1ic203oc5id2ih2iw2kd3kh2kw3sd2sh1sw2", "n3ic60oc600iw3kw9sw4pw2opw1"},
                     11);
}

// So few results of so many channels that their sums are cut into parts.
TEST_P(Gradient, ManyChannelsOfSmallPictures) {
    expect_all_exact({"n1ic64oc256ih4iw4kh4kw4sh2sw2ph1pw1", "n2ic70oc128ih2iw3kh3kw5", "n3ic33oc192ih2iw3kh3kw3sh2sw2"}, 7);
}

// Groups of one channel are the lanes of vectors: less than one, some, and not a whole number of them.
TEST_P(Gradient, ManyGroupsOfOneChannel) {
    expect_all_exact({"n3g33ic33oc33iw7kw6sw3pw2opw1", "n2g19ic19oc19ih5iw17kh3kw2sh2sw3ph1pw1dh1dw2",
                      "n1g17ic17oc17id3ih4iw5kd2kh3kw3sd2sh1sw2", "n2g20ic20oc20ih20iw40kh7kw3ph3pw1",
                      "n9g5ic5oc5ih1iw300kh1kw4sw2pw1", "n2g16ic16oc16ih3iw3kh2kw2sh3sw4"}, 8);
}

// On CPUs a tile has fewer rows than a plane, of which taps see rows of several.
TEST_P(Gradient, TilesOfSomeRowsOfAPlane) {
    expect_all_exact({"n1ic3oc2id3ih45iw30kd3kh3kw3pd1ph1pw1", "n2ic9oc3id3ih40iw30kd2kh3kw2sd2sh2sw2",
                      "n1g8ic8oc8id4ih40iw30kd3kh2kw3sh2pd1", "n1ic2oc3id5ih33iw40kd2kh2kw3dd2dh3"}, 8);
}

// Or some planes, whose rows of less than a vector are stored as one: with gaps between planes and without, of several images.
TEST_P(Gradient, TilesOfSomePlanesOfAnImage) {
    expect_all_exact({"n1ic18oc2id9ih7iw5kd1kh1kw1", "n2ic17oc3id11ih6iw7kd3kh3kw3sd2sh2sw2ph1",
                      "n3ic20oc2id8ih5iw11kd2kh2kw2sd2sh2sw2", "n1g2ic36oc4id13ih9iw3kd2kh1kw2dd2pd1",
                      "n1ic16oc40ih14iw14kh4kw4sh4sw4"}, 8);
}

// Kernels of few strides and enough channels for Winograd's algorithm: phases that lack a tap or not, rows of several segments,
// tiles that go through images.
TEST_P(Gradient, OfKernelsOfFewStrides) {
    RandomProblems random(9);
    for (int i = 0, wanted = GetParam() == Device::cpu ? 60 : 6; i < wanted && !HasFatalFailure(); i++)
        expect_exact(random.next_of_few_strides(), random);
    expect_all_exact({"n1ic16oc16ih1iw3000kh1kw4sh1sw2ph0pw1", "n1ic17oc19ih3iw1500kh5kw6sh2sw2ph2pw3"}, 9);
}

// Groups that are joined, of whose weights a diagonal is taken.
TEST_P(Gradient, GroupsOfFewChannels) {
    expect_all_exact({"n2g8ic64oc96ih5iw6kh3kw3", "n3g6ic48oc72ih4iw5kh4kw2sh2sw2pw1"}, 8);
}

// Each position of the output is one tap's.
TEST_P(Gradient, PicturesOfOnePixel) {
    expect_all_exact({"n5ic12oc9ih1iw1kh4kw3", "n3g2ic40oc34ih1iw1kh2kw4sh2sw3", "n2ic5oc7ih1iw1kh3kw3ph1pw1",
                      "n2ic5oc7ih1iw1kh3kw3dh2", "n130ic33oc20ih1iw1kh4kw4"}, 6);
}

// Channels of the output gradient lie side by side in memory, in either layout.
TEST_P(Gradient, OutputsOfOnePixel) {
    expect_all_exact({"n1ic1oc18ih3iw2kh2kw1sw6ph3pw3dh4", "n3g2ic2oc2ih6iw2kh1kw2sw4ph3pw4dh2oph1opw3"}, 8);
}

// Problems that kernels were made for: the attributes and channels that each demands, with sizes on either
// side of a tile's and with padding, which no kernel of a gradient depends on. Random attributes alone would
// meet them too seldom.
TEST_P(Gradient, ProblemsThatKernelsWereMadeFor) {
    RandomProblems random(5);
    for (const char *family :
         {"n2g1ic64oc64ih5iw67kh3kw3", "n1g1ic64oc64ih4iw33kh3kw7", "n1g1ic64oc128ih3iw35kh3kw5", "n2g1ic32oc32ih9iw65kh3kw3",
          "n1g1ic32oc32ih8iw66kh3kw7", "n2g2ic16oc32ih9iw40kh3kw5sh2sw3dh2dw1", "n1g1ic32oc64ih6iw66kh3kw3sh5sw5dh2dw2",
          "n2g1ic512oc256ih3iw5kh4kw4sh2sw2", "n3g1ic64oc3ih10iw70kh4kw4sh2sw2", "n1g1ic128oc64ih5iw66kh2kw2sh2sw2",
          "n2g7ic7oc7ih20iw70kh4kw4sh2sw2", "n1g1ic56oc1ih9iw70kh9kw9sh3sw3"})
        for (int i = 0; i < 3; i++) {
            Problem problem = Problem::parse(family);
            for (Axis *axis : {&problem.height(), &problem.width()}) {
                axis->padding = i == 0 ? 0 : random.between(0, 2);
                axis->output_padding = i == 0 ? 0 : random.between(0, axis->stride - 1);
            }
            expect_exact(problem, random);
        }
}

// Rows of which the CPU's tasks have segments: the last begins early, and what two of them have counts once.
TEST_P(Gradient, RowsOfSeveralSegments) {
    RandomProblems random(14);
    for (const char *text : {"n1ic128oc96ih1iw131kh3kw3sh3sw3", "n2ic6oc5ih2iw1303kh3kw3ph1pw1", "n1g3ic3oc3ih3iw1403kh1kw3sh1sw2",
                             "n1ic3oc2ih2iw11003kh3kw3ph1pw1"})
        expect_exact(Problem::parse(text), random);
}

// Few and many channels, for the kernels that take any number of them or multiples.
TEST_P(Gradient, AnyChannelsOfAFamily) {
    RandomProblems random(6);
    const int problems = std::min(12, random_problem_count(GetParam()) / 3);
    for (const char *family : {"kh3kw3", "kh2kw2sh2sw2", "kh3kw3sh2sw2ph1pw1", "kh4kw4sh2sw2ph1pw1"})
        for (int i = 0; i < problems; i++) {
            Problem problem = Problem::parse(family);
            problem.batch = random.between(1, 2);
            problem.groups = random.one_in(3) ? 2 : 1;
            const auto channels = [&] {
                if (random.one_in(3)) return random.between(1, 9);
                return random.one_in(2) ? random.between(10, 40) : 32 * random.between(1, 3);
            };
            problem.in_channels = problem.groups * channels();
            problem.out_channels = problem.groups * channels();
            problem.height().input = random.between(2, 6),
            problem.width().input = random.one_in(2) ? random.between(2, 20) : random.between(30, 70);
            expect_exact(problem, random);
        }
}

// Weight gradients of any attributes are matrix products where there are channels enough.
TEST_P(Gradient, ManyChannelsWithAnyAttributes) {
    RandomProblems random(9);
    for (int i = 0; i < 6 && !HasFatalFailure(); i++) {
        const Problem problem = random.next_with_many_channels();
        expect_exact(problem, random, {Precision::tf32, Precision::tf32x3});
    }
}

// Channels that fill the tiles of tensor cores, and pictures of less than a tile and of a little more.
TEST_P(Gradient, FullTilesWithStrides) {
    RandomProblems random(8);
    for (const char *family : {"n2g1ic64oc32ih5iw9kh2kw2sh2sw2", "n1g1ic128oc64ih3iw66kh2kw2sh2sw2",
                               "n1g2ic128oc64ih6iw17kh3kw3sh2sw2", "n2g1ic128oc32ih18iw5kh3kw3sh2sw2",
                               "n2g1ic64oc32ih17iw9kh4kw4sh2sw2", "n1g1ic128oc96ih4iw18kh4kw4sh2sw2"}) {
        Problem problem = Problem::parse(family);
        for (Axis *axis : {&problem.height(), &problem.width()}) {
            axis->padding = random.between(0, 2);
            axis->output_padding = random.between(0, axis->stride - 1);
        }
        expect_exact(problem, random, {Precision::tf32, Precision::tf32x3});
    }
}

// Beyond one task's or block's channels and one chunk's columns, and not a whole number of any.
TEST_P(Gradient, ManyChannelsAndWidePictures) {
    expect_all_exact({"n1g2ic300oc140ih3iw9kh2kw2sw2", "n1g1ic150oc70ih5iw19kh3kw3sh2sw2",
                      "n1g1ic40oc20ih3iw300kh3kw3sh2sw2", "n1g1ic17oc2ih2iw700kh2kw4sw3dw2",
                      "n1g1ic9oc33ih9iw130kh3kw5sh2sw3ph1pw2dh2"}, 7);
}

// Enough positions for many parts, in bands of rows as well as in images, and for parts that are not full.
TEST_P(Gradient, SumsInManyParts) {
    expect_all_exact({"n1g1ic3oc2ih257iw129kh3kw3", "n37g2ic2oc4ih40iw33kh2kw3sh2sw2ph1pw1",
                      "n5g3ic3oc3ih61iw70kh4kw4sh2sw2ph1pw1", "n300g1ic1oc1ih9iw7kh3kw3",
                      "n2g1ic64oc96ih31iw70kh3kw3ph1pw2", "n5g2ic64oc64ih9iw65kh3kw7"}, 3);
}

// Nothing to add up: PyTorch gives zeros, and so do we; null pointers are fine for the empty tensors.
TEST_P(Gradient, EmptyBatchGivesZeros) {
    const Problem problem = Problem::parse("n0g1ic4oc6ih8iw8kh3kw3sh2sw2");
    for (Operation operation : {Operation::weight_gradient, Operation::bias_gradient}) {
        const Plan plan(problem, options(operation));
        const size_t elements =
            operation == Operation::weight_gradient ? problem.weight_elements() : problem.out_channels;
        EXPECT_EQ(run_gradient(plan, {}, {}, {}), std::vector<float>(elements, 0.f));
    }
}

// The order of every sum is fixed: with real data, where another order would round differently, runs agree in each bit.
TEST_P(Gradient, RepeatsBitByBit) {
    RandomProblems random(4);
    const Problem problem = Problem::parse("n6g1ic20oc12ih60iw70kh3kw3sh2sw1ph1pw1");
    const auto input = random.reals(problem.input_elements()), weight = random.reals(problem.weight_elements());
    const auto output_gradient = random.reals(problem.output_elements());
    for (Operation operation : operations)
        for (std::string_view kernel : kernels_for(problem, options(operation))) {
            PlanOptions wanted = options(operation);
            wanted.kernel = kernel;
            const Plan plan(problem, wanted);
            const auto first = run_gradient(plan, input, weight, output_gradient);
            set_cpu_threads(1);
            const auto second = run_gradient(plan, input, weight, output_gradient);
            set_cpu_threads(0);
            ASSERT_EQ(first.size(), second.size());
            EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0) << kernel;
        }
}

// 8 channels to 24, and for the gradient 24 to 8: no kernel is exact for either.
TEST_P(Gradient, OfTheInputAtStride1RunsOnTheForwardKernels) {
    const Problem problem = Problem::parse("n8g1ic24oc8ih160iw160kh3kw3ph1pw0");
    const Problem forward = Problem::parse("n8g1ic8oc24ih160iw162kh3kw3ph1pw2");
    const auto all = kernels_for(problem, options(Operation::input_gradient)),
               others = kernels_for(forward, options(Operation::forward));
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](std::string_view kernel) {
        return std::find(others.begin(), others.end(), kernel) != others.end();
    }));
}

// Not where the forward problem's padding would be negative, or where the output has rows that no input row is for. (For more
// channels Winograd's algorithm sees them as phases.)
TEST_P(Gradient, OfTheInputIsNoForwardProblemBeyondItsKernel) {
    const auto runs_on_forward_kernels = [&](const char *problem) {
        const auto names = kernels_for(Problem::parse(problem), options(Operation::input_gradient));
        const auto all = kernels();
        return std::any_of(all.begin(), all.end(), [&](const KernelInfo &k) {
            return k.operation == Operation::forward && std::find(names.begin(), names.end(), k.name) != names.end();
        });
    };
    EXPECT_TRUE(runs_on_forward_kernels("n1g1ic6oc6ih40iw40kh3kw3ph2pw2"));
    EXPECT_FALSE(runs_on_forward_kernels("n1g1ic6oc6ih40iw40kh3kw3ph3pw2"));
    EXPECT_FALSE(runs_on_forward_kernels("n1g1ic6oc6ih40iw40kh3kw3ph2pw3"));
    EXPECT_FALSE(runs_on_forward_kernels("n1g1ic6oc6ih40iw40kh3kw3dh2dw2ph2pw2opw1"));
}

TEST_P(Gradient, NamesTheMissingArgument) {
    const Problem problem = Problem::parse("n1g1ic1oc1ih2iw2kh1kw1");
    float value = 0;
    Arguments arguments;
    arguments.input = arguments.weight = arguments.output_gradient = &value;
    const auto message = [&](Operation operation) {
        return std::string(Plan(problem, options(operation)).run(arguments).message());
    };
    EXPECT_EQ(message(Operation::input_gradient), "input_gradient is null, but the operation needs it");
    EXPECT_EQ(message(Operation::weight_gradient), "weight_gradient is null, but the operation needs it");
    EXPECT_EQ(message(Operation::bias_gradient), "bias_gradient is null, but the operation needs it");
    arguments.output_gradient = nullptr;
    for (Operation operation : operations)
        EXPECT_EQ(message(operation), "output_gradient is null, but the operation needs it");
}

// Small pictures leave most of a chunk of a row empty, in kernels that stage such; then one that counts
// positions, or tiles, through images is faster, though it is not made for the attributes.
TEST(WeightGradientChoice, IsByEstimatedTime) {
    if (const char *reason = missing(Device::cuda)) GTEST_SKIP() << reason;
    const auto is_product = [](const char *problem) {
        PlanOptions options;
        options.device = Device::cuda;
        options.operation = Operation::weight_gradient;
        const std::string_view kernel = Plan(Problem::parse(problem), options).kernel();
        return kernel.find("product") != std::string_view::npos || kernel.find("winograd") != std::string_view::npos;
    };
    EXPECT_TRUE(is_product("n128g1ic512oc256ih4iw4kh4kw4sh2sw2ph1pw1"));
    EXPECT_FALSE(is_product("n8g1ic64oc64ih1024iw1024kh3kw3"));
    // No family has these attributes.
    EXPECT_TRUE(is_product("n64g1ic512oc256ih8iw8kh5kw5sh2sw2ph2pw2oph1opw1"));
    EXPECT_FALSE(is_product("n64g1ic3oc2ih64iw64kh5kw5sh2sw2ph2pw2oph1opw1"));
}

INSTANTIATE_ON_DEVICES(Gradient);

}  // namespace
}  // namespace conv_transpose::testing

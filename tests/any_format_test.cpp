// Nothing is refused: every operation takes problems of any rank in any element type and layout. Random problems, by every
// kernel that accepts them; integers, equal to the oracle's, rounded once to nearest even.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>
#include <span>

#include "formatted_test.h"
#include "small_launches.h"

namespace conv_transpose::testing {
namespace {

constexpr Operation operations[] = {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                    Operation::bias_gradient};
constexpr ElementType types[] = {ElementType::float32, ElementType::float16, ElementType::bfloat16};

class AnyFormat : public FormattedTest {
  protected:
    ElementType any_type() { return types[random.between(0, 2)]; }
    Layout any_layout() { return random.one_in(2) ? Layout::channels_first : Layout::channels_last; }

    // Pictures of one type, in one layout or any; weights of the same type or of float32.
    PlanOptions any_formats(Operation operation) {
        const ElementType type = any_type();
        const Layout common = any_layout();
        const bool mixed = random.one_in(2);
        const auto layout = [&] { return mixed ? any_layout() : common; };
        PlanOptions wanted;
        wanted.operation = operation;
        wanted.input = {type, layout()}, wanted.output = {type, layout()};
        wanted.weight = {random.one_in(4) ? ElementType::float32 : type, layout()};
        if (operation == Operation::forward) {
            wanted.epilogue.bias = random.one_in(2);
            if (random.one_in(3)) wanted.epilogue.activation = Activation::relu;
        }
        return wanted;
    }

    // Every problem has a kernel.
    void expect_one(const Problem &p, const PlanOptions &wanted) {
        EXPECT_GE(expect_exact(p, wanted.operation, wanted), 1) << description(p, wanted);
    }

    void expect_all_operations(const Problem &p) {
        for (const Operation operation : operations)
            if (!HasFailure()) expect_one(p, any_formats(operation));
    }

    // Calls draw(i) for each of so many problems, until one fails or the time is over; tells how many there were.
    template <class Draw>
    void for_problems(int usual, Draw draw) {
        const int wanted = random_problem_count(usual);
        int i = 0;
        for (; i < wanted && !HasFailure() && has_time_left(); i++) draw(i);
        RecordProperty("problems", i);
        if (i < wanted) std::cout << i << " problems of " << wanted << "\n";
    }
};

TEST_P(AnyFormat, EqualsTheOracle) {
    for_problems(150, [&](int i) { expect_all_operations(random.next_of_rank(1 + i % 3)); });
}

// One input channel a group: kernels of their own, with tiles of groups that are full and that are not.
TEST_P(AnyFormat, DepthwiseEqualsTheOracle) {
    for_problems(60, [&](int i) {
        Problem p = random.next_of_rank(1 + i % 3);
        p.batch = std::min<int64_t>(p.batch, 2);
        p.groups = p.in_channels = random.one_in(2) ? random.between(1, 7) : random.between(8, 17);
        p.out_channels = p.groups * (random.one_in(3) ? 2 : 1);
        if (p.output_elements() <= 50000) expect_all_operations(p);
    });
}

// The same with whole vectors of groups, and groups of whole vectors of channels, all of them or the input's, in channels_last.
TEST_P(AnyFormat, VectorsOfChannelsEqualTheOracle) {
    for_problems(60, [&](int i) {
        Problem p = random.next_of_rank(1 + i % 3);
        const bool depthwise = i % 2;
        p.batch = std::min<int64_t>(p.batch, 2);
        p.groups = depthwise ? 4 * random.between(1, 5) : random.between(1, 3);
        p.in_channels = p.groups * (depthwise ? 1 : 4 * random.between(1, 3));
        p.out_channels = p.groups * (depthwise ? 1 : 4 * random.between(1, 3));
        if (i % 4 == 2) p.in_channels = p.groups * 8 * random.between(1, 2), p.out_channels = p.groups * random.between(1, 3);
        if (p.output_elements() > 50000) return;
        for (const Operation operation : operations) {
            PlanOptions wanted = any_formats(operation);
            wanted.input.layout = wanted.output.layout = Layout::channels_last;
            expect_one(p, wanted);
        }
    });
}

// Depthwise, in channels_last, of panels of groups and what those leave, with rows of tiles and rows that have edges alone.
TEST_P(AnyFormat, RowsOfGroupsEqualTheOracle) {
    for_problems(60, [&](int i) {
        Problem p = random.next_of_rank(1 + i % 3);
        p.batch = std::min<int64_t>(p.batch, 2);
        p.groups = p.in_channels = p.out_channels = random.between(8, 40) + (random.one_in(3) ? random.between(20, 100) : 0);
        if (random.one_in(2)) p.width().input = random.between(12, 40);
        if (p.width().output() < 1 || p.output_elements() > 100000) return;  // its padding was drawn for another width
        for (const Operation operation : operations) {
            PlanOptions wanted = any_formats(operation);
            wanted.input.layout = wanted.output.layout = Layout::channels_last;
            expect_one(p, wanted);
        }
    });
}

// Layers of networks, of channels that fill tiles or not, also where the result, or all tensors, begin at odd addresses.
class AnyLayer : public AnyFormat {
  protected:
    void expect_layers(int rank) {
        for_problems(GetParam() == Device::cuda ? 1000 : 30, [&](int) {
            const Problem p = random.next_layer(rank, 4e6);
            const int64_t odd = random.between(1, 8);
            offsets = random.one_in(4) ? Offsets{.output = odd} : random.one_in(8) ? Offsets{odd, odd, odd, odd} : Offsets{};
            expect_all_operations(p);
        });
    }
};

TEST_P(AnyLayer, OfOneAxisEqualsTheOracle) { expect_layers(1); }
TEST_P(AnyLayer, OfTwoAxesEqualsTheOracle) { expect_layers(2); }
TEST_P(AnyLayer, OfThreeAxesEqualsTheOracle) { expect_layers(3); }

// Pictures in channels_last by kernels of channels_first: channels and positions that fill no tile, one of either, groups, sums in
// parts, Winograd's tiles, taps as channels; launches of all images, and of fewer than there are.
const char *const turned_problems[] = {
    "n2ic12oc9ih7iw5kh3kw3sh2sw2ph1pw1", "n3ic8oc1ih6iw9kh4kw4sh2sw2ph1pw1", "n2g3ic15oc21id2ih3iw4kd2kh3kw2sd2",
    "n2ic64oc70ih1iw1kh4kw4", "n2ic70oc40ih9iw8kh3kw3ph1pw1", "n1ic512oc40ih3iw3kh4kw4sh2sw2ph1pw1", "n2ic33oc5iw70kw16sw8pw4"};

TEST_P(AnyFormat, TurnsPicturesForKernelsOfChannelsFirst) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "no kernel of a CPU has pictures turned";
    int kernels = 0, drawn = 0;
    const auto expect_kernels = [&](const Problem &p, const PlanOptions &wanted) {
        kernels += expect_exact(p, wanted.operation, wanted, 0, "_nc");
    };
    for (const char *text : turned_problems)
        for (const Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient}) {
            const Problem p = Problem::parse(text);
            PlanOptions wanted;
            wanted.operation = operation, wanted.precision = Precision::tf32;
            wanted.epilogue.bias = operation == Operation::forward;
            wanted.input = wanted.weight = wanted.output = {types[drawn++ % 4 ? 0 : 1], Layout::channels_last};
            expect_kernels(p, wanted);
            wanted.weight.layout = Layout::channels_first;
            (operation == Operation::forward ? wanted.input : wanted.output).layout = Layout::channels_first;
            const SmallLaunches small(std::max(p.input_elements(), p.output_elements()) / p.batch, 2);
            expect_kernels(p, wanted);
            if (HasFailure()) return;
        }
    EXPECT_GT(kernels, 0) << "no kernel of channels_first serves channels_last";
}

// By kernels of any layout on a CPU: vectors of channels become vectors of places as they are copied, where channels and
// rows are no fewer than a vector has; what is left of a vector of channels is stored by a mask.
const char *const few_channels[] = {
    "n1ic32oc3ih3iw21kh4kw4sh2sw2ph1pw1", "n2ic16oc1iw40kw9sw4pw4opw3", "n2g2ic64oc10ih2iw19kh3kw3", "n3ic48oc4ih4iw7kh3kw5dh2dw1",
    "n1ic24oc5id2ih3iw17kd2kh2kw2sd2sh2sw2", "n2ic9oc41ih3iw18kh3kw3sh3sw3"};

// By kernels from channels_last to channels_last, which store sums from registers: segments, images and planes with gaps between
// their rows, phases without taps, some results of a cell, groups.
const char *const of_channels_last[] = {
    "n1ic3oc17iw3000kw4sw2pw1", "n3ic70oc36id2ih2iw3kd3kh3kw3sd2sh2sw2pd1ph1pw1", "n2ic20oc18id2ih3iw5kd1kh1kw1sd2sh3sw2opd1opw1",
    "n2g2ic36oc10ih4iw7kh4kw3sh3sw2ph2pw1dh2", "n5ic5oc50ih3iw2kh5kw5sh2sw2ph2pw2oph1", "n2ic33oc34ih1iw1kh4kw4"};

class AnyLayout : public AnyFormat {};

TEST_P(AnyLayout, OfFewChannelsEqualsTheOracle) {
    int kernels = 0;
    for (const char *text : few_channels)
        for (const auto &[read, written] : {std::pair{Layout::channels_last, Layout::channels_last},
                                            {Layout::channels_last, Layout::channels_first},
                                            {Layout::channels_first, Layout::channels_last}}) {
            PlanOptions wanted;
            wanted.epilogue = {.bias = true, .activation = Activation::relu};
            wanted.input.layout = read, wanted.output.layout = written;
            kernels += expect_exact(Problem::parse(text), Operation::forward, wanted, 0, "_any_any_");
            wanted = {}, wanted.operation = Operation::input_gradient;
            wanted.input.layout = read, wanted.output.layout = written;
            kernels += expect_exact(Problem::parse(text), Operation::input_gradient, wanted, 0, "_any_any_");
            if (HasFailure()) return;
        }
    EXPECT_GT(kernels, 0);
}

TEST_P(AnyLayout, OfChannelsLastEqualsTheOracle) {
    int kernels = 0;
    for (const auto &problems : {std::span(few_channels), std::span(of_channels_last)})
        for (const char *text : problems)
            for (const Operation operation : {Operation::forward, Operation::input_gradient}) {
                PlanOptions wanted;
                wanted.operation = operation;
                if (operation == Operation::forward) wanted.epilogue = {.bias = true, .activation = Activation::relu};
                wanted.input.layout = wanted.output.layout = Layout::channels_last;
                kernels += expect_exact(Problem::parse(text), operation, wanted, 0, "_any_ndhwc_");
                if (HasFailure()) return;
            }
    EXPECT_GT(kernels, 0);
}

// Each sum is 2^16, which float16 does not have.
TEST_P(AnyFormat, OverflowsToInfinity) {
    const Problem p = Problem::parse("n1ic16oc3iw5kw1");
    PlanOptions wanted = options();
    wanted.input = wanted.weight = wanted.output = {ElementType::float16, Layout::channels_first};
    for (const Operation operation : operations) {
        wanted.operation = operation;
        Numbers n;
        n.input.assign(p.input_elements(), 64), n.weight.assign(p.weight_elements(), 64);
        n.output_gradient.assign(p.output_elements(), operation == Operation::bias_gradient ? 60000.f : 1024.f);
        std::vector<double> result = expected_result(p, wanted, n);
        for (double &value : result)
            if (value > 65504) value = std::numeric_limits<double>::infinity();
        FormattedRun run(GetParam(), p, wanted, n);
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            const Trace trace(description(p, forced));
            EXPECT_TRUE(run.run(Plan(p, forced)).ok());
            expect_equal(run.values(), result);
        }
        EXPECT_EQ(result.back(), std::numeric_limits<double>::infinity());
    }
}

// Strictly: an Inf or NaN reaches the results that it is a factor of, and no others.
class StrictPropagation : public AnyFormat {
  protected:
    void expect_strict(const Problem &p, const std::function<Layout()> &layout) {
        for (const ElementType type : types)
            for (const float at_ends : {std::numeric_limits<float>::infinity(), std::nanf("")})
                for (const Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient})
                    expect_strict(p, type, layout, at_ends, operation);
    }

  private:
    void expect_strict(const Problem &p, ElementType type, const std::function<Layout()> &layout, float at_ends,
                       Operation operation) {
        PlanOptions wanted = options();
        wanted.operation = operation, wanted.strict_propagation = true;
        wanted.input = {type, layout()}, wanted.weight = {type, layout()}, wanted.output = {type, layout()};
        Numbers n = Numbers::integers(p, wanted.epilogue, random);
        std::vector<float> &picture = operation == Operation::input_gradient ? n.output_gradient : n.input;
        n.weight.assign(n.weight.size(), 1);  // not 0, whose product with Inf is NaN
        if (operation == Operation::weight_gradient) n.output_gradient.assign(n.output_gradient.size(), 1);
        picture.front() = picture.back() = at_ends;
        const std::vector<double> result = expected_result(p, wanted, n);
        FormattedRun run(GetParam(), p, wanted, n);
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            const Trace trace(description(p, forced));
            EXPECT_TRUE(run.run(Plan(p, forced)).ok());
            const std::vector<float> actual = run.values();
            for (size_t i = 0; i < result.size() && !HasFailure(); i++) {
                EXPECT_EQ(std::isnan(actual[i]), std::isnan(result[i])) << "element " << i;
                EXPECT_EQ(std::isinf(actual[i]), std::isinf(result[i])) << "element " << i;
            }
        }
    }
};

TEST_P(StrictPropagation, OfAnyLayout) {
    expect_strict(Problem::parse("n1g2ic4oc6id2ih3iw5kd1kh3kw2sd2sh1sw2ph1pw1"), [&] { return any_layout(); });
}

TEST_P(StrictPropagation, OfRowsOfGroups) {
    expect_strict(Problem::parse("n1g9ic9oc9ih3iw13kh3kw4sh1sw2ph1pw1"), [] { return Layout::channels_last; });
}

INSTANTIATE_ON_DEVICES(AnyFormat);
INSTANTIATE_ON_DEVICES(StrictPropagation);
INSTANTIATE_ON_DEVICES(AnyLayer);
INSTANTIATE_TEST_SUITE_P(Devices, AnyLayout, ::testing::Values(Device::cpu), [](const auto &) { return "cpu"; });

}  // namespace
}  // namespace conv_transpose::testing

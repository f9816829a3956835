// Computations: what a problem may be computed as. That the results are the same, tests of the operations tell.
#include "choice/alternatives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "choice/input_cells.h"
#include "choice/kernel_choice.h"
#include "choice/partial_sums.h"
#include "choice/tensor_formats.h"
#include "choice/views_of_rows.h"

namespace conv_transpose::testing {
namespace {

std::vector<Computation> computations(const char *problem, Operation operation, bool bias = false) {
    PlanOptions options;
    options.operation = operation;
    options.epilogue.bias = bias;
    return alternatives(Problem::parse(problem), options);
}

TEST(Computation, OfOneAxisIsOfTwo) {
    for (Operation operation : {Operation::forward, Operation::weight_gradient, Operation::bias_gradient}) {
        const auto all = computations("n2ic3oc4iw20kw4sw2pw1", operation);
        const bool has_taps_as_rows = operation == Operation::weight_gradient;  // a forward operation may be turned, or of taps
        ASSERT_EQ(all.size(), operation == Operation::bias_gradient ? 1u : has_taps_as_rows ? 3u : 5u);
        EXPECT_EQ(all[0].operation, operation);
        EXPECT_EQ(std::any_of(all.begin(), all.end(), [](const Computation &c) { return c.packed_rows; }),
                  operation != Operation::bias_gradient);
        EXPECT_EQ(all[0].problem.str(), "n2g1ic3oc4ih1iw20kh1kw4sh1sw2ph0pw1dh1dw1oph0opw0");
    }
}

TEST(Computation, OfThreeAxesStaysUnlessItHasNoDepth) {
    EXPECT_EQ(computations("ic3oc4id2ih5iw6kd1kh3kw3", Operation::forward)[0].problem.rank, 3);
    EXPECT_EQ(computations("ic3oc4id1ih5iw6kd2kh3kw3", Operation::forward)[0].problem.rank, 3);
    EXPECT_EQ(computations("ic3oc4id1ih5iw6kd1kh3kw3sd2", Operation::forward)[0].problem.str(),
              Problem::parse("ic3oc4ih5iw6kh3kw3").str());
}

TEST(Computation, OfAPixelIsALinearLayer) {
    EXPECT_EQ(computations("n8ic3oc4ih1iw1kh4kw5", Operation::forward)[0].problem.str(),
              Problem::parse("n8ic3oc80ih1iw1kh1kw1").str());
    EXPECT_EQ(computations("n8ic3oc4id1ih1iw1kd2kh4kw5", Operation::forward)[0].problem.out_channels, 160);
    // A bias is one for all positions of a channel, and padding leaves some positions out.
    EXPECT_EQ(computations("n8ic3oc4ih1iw1kh4kw5", Operation::forward, true)[0].problem.out_channels, 4);
    EXPECT_EQ(computations("n8ic3oc4ih1iw1kh4kw5ph1", Operation::forward)[0].problem.out_channels, 4);
    EXPECT_EQ(computations("n8ic3oc4ih1iw1kh4kw5", Operation::bias_gradient)[0].problem.out_channels, 4);
}

// Images are what is summed over: channels of the picture; the layer's outputs are its positions.
TEST(Computation, OfALinearLayersWeightGradientMayBeForward) {
    const auto all = computations("n8ic3oc4id1ih1iw1kd2kh4kw5", Operation::weight_gradient);
    const auto forward =
        std::find_if(all.begin(), all.end(), [](const Computation &c) { return c.operation == Operation::forward; });
    ASSERT_NE(forward, all.end());
    EXPECT_EQ(forward->problem.str(), Problem::parse("n1ic8oc3ih1iw160kh1kw1").str());
    EXPECT_EQ(forward->read, Operand::output_gradient);
    EXPECT_EQ(forward->weight_operand, Operand::input);
    EXPECT_EQ(forward->written, Operand::weight_gradient);
    // Neither of groups, whose channels lie inside of images, nor where a position is left out, nor of no images.
    for (const char *other : {"n8g2ic4oc4ih1iw1kh4kw5", "n8ic3oc4ih1iw1kh4kw5ph1", "n0ic3oc4ih1iw1kh4kw5", "n8ic3oc4ih1iw2kh4kw5"})
        for (const Computation &c : computations(other, Operation::weight_gradient))
            EXPECT_EQ(c.operation, Operation::weight_gradient) << other;
}

// Tensors in channels_last lie the same: taps of a row that lie side by side are channels, inputs of the outermost axis images.
TEST(Computation, OfAWeightGradientWhoseTapsLieSideBySide) {
    PlanOptions options;
    options.operation = Operation::weight_gradient;
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
    const auto joined = [&](const char *problem) {
        const auto all = alternatives(Problem::parse(problem), options);
        const auto same_tensors = [](const Computation &c) {
            return !c.by_taps && !c.read_turned && c.joined_positions == 1 && c.joined_groups == 1;
        };
        return std::find_if(all.rbegin(), all.rend(), same_tensors)->problem.str();
    };
    const auto text = [](const char *problem) { return Problem::parse(problem).str(); };
    EXPECT_EQ(joined("n2ic8oc16ih3iw5kh16kw4sh16sw4"), text("n6ic8oc64ih1iw5kh16kw1"));
    EXPECT_EQ(joined("n2ic8oc16id3ih4iw5kd2kh2kw2sd2sh2sw2"), text("n6ic8oc32id1ih4iw5kd2kh2kw1sd1sh2sw1"));
    EXPECT_EQ(joined("n2ic8oc16ih3iw5kh3kw4sh2sw4"), text("n2ic8oc64ih3iw5kh3kw1sh2sw1"));
    // Neither with gaps or padding, nor of groups, nor of other layouts.
    for (const char *other : {"n2ic8oc16ih3iw5kh3kw3sh4sw4", "n2ic8oc16ih3iw5kh2kw2sh2sw2ph1pw1"})
        EXPECT_EQ(joined(other), text(other));
    EXPECT_EQ(joined("n2g2ic8oc16ih3iw5kh1kw4sw4"), text("n2g2ic8oc16ih3iw5kh1kw4sw4"));
    options.output.layout = options.input.layout = Layout::channels_first;
    EXPECT_EQ(joined("n2ic8oc16ih3iw5kh16kw4sh16sw4"), text("n2ic8oc16ih3iw5kh16kw4sh16sw4"));
}

// Lines of kernels are channels where every output is seen by one tap, two along the width, of 16 bits in channels_first.
TEST(Computation, OfAWeightGradientWhoseLinesAreChannels) {
    PlanOptions options;
    options.operation = Operation::weight_gradient;
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_first};
    const auto lines = [&](const char *problem) {
        for (const Computation &c : alternatives(Problem::parse(problem), options))
            if (c.by_lines && !c.read_turned) return c.by_lines->str() + " as " + c.problem.str();
        return std::string();
    };
    const auto text = [](const char *problem) { return Problem::parse(problem).str(); };
    constexpr const char *plane = "n2g2ic8oc16ih3iw5kh4kw2sh4sw2", *volume = "n2ic8oc16id3ih4iw5kd2kh2kw2sd2sh2sw2";
    EXPECT_EQ(lines(plane), text(plane) + " as " + text("n2g2ic8oc64ih3iw5kh1kw2sw2"));
    EXPECT_EQ(lines(volume), text(volume) + " as " + text("n2ic8oc64id3ih4iw5kd1kh1kw2sw2"));
    for (const char *other : {"n2ic8oc16ih3iw5kh2kw4sh2sw4", "n2ic8oc16ih3iw5kh2kw2sh2sw2ph1", "n2ic8oc16ih3iw5kh2kw2sh2sw2dh2"})
        EXPECT_EQ(lines(other), "") << other;
    options.input.layout = Layout::channels_last;
    EXPECT_EQ(lines(plane), "");
    options.input = options.output = {};
    EXPECT_EQ(lines(plane), "");
}

TEST(Computation, OfAnInputGradientMayBeForward) {
    const auto all = computations("n2g2ic4oc6ih8iw9kh3kw4ph1dw2", Operation::input_gradient);
    ASSERT_EQ(all.size(), 11u);
    EXPECT_EQ(all[0].operation, Operation::input_gradient);
    EXPECT_EQ(all[1].operation, Operation::forward);
    EXPECT_EQ(all[1].weight, WeightView::mirrored);
    EXPECT_EQ(all[1].read, Operand::output_gradient);
    EXPECT_EQ(all[1].written, Operand::input_gradient);
    EXPECT_EQ(all[1].problem.str(), Problem::parse("n2g2ic6oc4ih8iw15kh3kw4ph1pw6dw2").str());
    EXPECT_EQ(all[1].problem.width().output(), 9);
    // Neither with a stride, nor where padding reaches beyond the kernel, nor with outputs that no input is for.
    EXPECT_FALSE(!computations("ic4oc6ih8iw9kh3kw4sw2", Operation::input_gradient)[1].by_phases);
    EXPECT_FALSE(!computations("ic4oc6ih8iw9kh3kw4ph3", Operation::input_gradient)[1].by_phases);
    EXPECT_FALSE(!computations("ic4oc6ih8iw9kh3kw4dw2opw1", Operation::input_gradient)[1].by_phases);
}

// Groups share tiles of 32, 64 and 128 channels, as many as divide them.
TEST(Computation, OfGroupsThatAreJoined) {
    const auto joined = [](const char *problem, Operation operation) {
        std::vector<int64_t> groups;
        for (const Computation &c : computations(problem, operation))
            if (c.joined_groups > 1 && !c.packed_rows) {
                groups.push_back(c.joined_groups);
                EXPECT_EQ(c.problem.groups * c.joined_groups, Problem::parse(problem).groups) << problem;
            }
        return groups;
    };
    using Groups = std::vector<int64_t>;
    EXPECT_EQ(joined("n2g32ic128oc64ih9iw9kh4kw4sh2sw2", Operation::forward), (Groups{8, 16, 32}));
    EXPECT_EQ(joined("n2g6ic72oc72ih9iw9kh4kw4sh2sw2", Operation::input_gradient), (Groups{2, 3, 6}));
    EXPECT_EQ(joined("n2g4ic32oc256ih9iw9kh4kw4sh2sw2", Operation::forward), (Groups{2}));
    // Neither one group, nor of many channels, nor depthwise.
    for (const char *other : {"n2ic32oc32ih9iw9kh4kw4", "n2g2ic256oc256ih9iw9kh4kw4", "n2g64ic64oc64ih9iw9kh4kw4"})
        EXPECT_TRUE(joined(other, Operation::forward).empty()) << other;
}

// The output gradient's phases are channels: kernel 5 at stride 2 has three taps of two phases.
TEST(Computation, OfAnInputGradientMayBeForwardOverPhases) {
    const auto all = computations("n2ic4oc6ih8iw9kh5kw4sh2sw4ph2pw1oph1", Operation::input_gradient);
    ASSERT_EQ(all.size(), 5u);
    ASSERT_TRUE(all[1].by_phases);
    const Problem &p = all[1].problem;
    EXPECT_EQ(all[1].operation, Operation::forward);
    EXPECT_EQ(all[1].by_phases->str(), Problem::parse("n2ic4oc6ih8iw9kh5kw4sh2sw4ph2pw1oph1").str());
    EXPECT_EQ(p.in_channels, 6 * 2 * 4);
    EXPECT_EQ(p.out_channels, 4);
    EXPECT_EQ(p.height().kernel, 3);
    EXPECT_EQ(p.width().kernel, 1);
    EXPECT_EQ(p.height().output(), 8);
    EXPECT_EQ(p.width().output(), 9);
    EXPECT_EQ(summed_phases(all[1]), 8);
    // Taps of a phase that are no neighbours.
    EXPECT_EQ(computations("ic4oc6ih8iw9kh3kw4sw2dw3", Operation::input_gradient).size(), 4u);
}

// What taps see is a row for a position: taps of an output channel are channels, and positions are those of one axis.
TEST(Computation, OfAnInputGradientMayHaveTapsAsChannels) {
    const char *const text = "n2ic4oc6id2ih8iw9kd1kh5kw4sh2sw4ph2pw1oph1";
    const Computation last = computations(text, Operation::input_gradient).back();
    ASSERT_TRUE(last.by_taps && last.packed_rows);
    EXPECT_EQ(last.by_taps->str(), Problem::parse(text).str());
    EXPECT_EQ(last.problem.str(), Problem::parse("n2ic4oc120ih1iw144kh1kw1").str());
    PlanOptions options;
    options.operation = Operation::input_gradient, options.weight.layout = Layout::channels_last;
    // Innermost in a weight, taps of the width may be channels by themselves: every row of the output gradient is seen.
    const Computation of_width = alternatives(Problem::parse("n2ic4oc6ih8iw9kh5kw4sh2sw4ph2pw1"), options).back();
    ASSERT_TRUE(of_width.by_taps && of_width.packed_rows);
    EXPECT_EQ(of_width.problem.str(), Problem::parse("n2ic4oc24ih8iw9kh5kw1sh2ph2").str());
    EXPECT_EQ(of_width.by_taps->str(), Problem::parse("n2ic4oc6ih15iw9kw4kh1sw4pw1").str());
}

// With channels innermost, and taps of a row that follow each other in the output, as they do in a weight.
TEST(Computation, OfAnInputGradientMayHaveTapsOfARowAsChannels) {
    PlanOptions options;
    options.output.layout = options.weight.layout = Layout::channels_last;
    const auto simplest = [&](const char *problem) { return alternatives(Problem::parse(problem), options)[0].problem.str(); };
    const char *const tiles = "n2ic4oc6ih8iw9kh3kw2sh2sw2ph1";
    EXPECT_EQ(simplest(tiles), Problem::parse(tiles).str());
    options.operation = Operation::input_gradient;
    EXPECT_EQ(simplest(tiles), Problem::parse("n2ic4oc12ih8iw9kh3kw1sh2ph1").str());
    EXPECT_EQ(simplest("ic4oc6id2ih8iw9kd2kh2kw4sd2sh2sw4"), Problem::parse("ic4oc24id2ih8iw9kd2kh2kw1sd2sh2").str());
    EXPECT_EQ(simplest("n2ic4oc6iw9kw4sw4"), Problem::parse("n2ic4oc24ih1iw9kh1kw1").str());
    for (const char *apart : {"ic4oc6ih8iw9kw2sw3", "ic4oc6ih8iw9kw3sw2", "ic4oc6ih8iw9kw2sw2pw1", "ic4oc6ih8iw9kw2sw2opw1",
                              "ic4oc6ih8iw9kw2sw2dw2", "g2ic4oc6ih8iw9kw2sw2", "ic4oc6ih8iw9"})
        EXPECT_EQ(simplest(apart), Problem::parse(apart).str());
    options.weight.layout = Layout::channels_first;
    EXPECT_EQ(simplest(tiles), Problem::parse(tiles).str());
}

// Nine rows of a kernel at stride four are three cells, whose last has one of them.
TEST(Computation, OfAWeightGradientMayHaveStridesAsTaps) {
    const char *const text = "n2ic4oc3ih6iw5kh9kw7sh4sw2ph3pw1oph2opw1";
    const auto all = computations(text, Operation::weight_gradient);
    const auto strides = std::find_if(all.begin(), all.end(), [](const Computation &c) { return c.by_taps.has_value(); });
    ASSERT_NE(strides, all.end());
    EXPECT_EQ(strides->problem.str(), Problem::parse("n2ic4oc84ih6iw5kh3kw1").str());
    EXPECT_EQ(strides->kernel_positions, 63);
    const Problem &seen = *strides->by_taps;
    EXPECT_EQ(seen.height().input, 8);
    EXPECT_EQ(seen.height().kernel, 4);
    EXPECT_EQ(seen.width().kernel, 7);
    for (int i = 0; i < max_rank; i++) EXPECT_EQ(seen.axes[i].output(), Problem::parse(text).axes[i].output());
    // Not at stride 1, nor where taps are further apart: there all taps are rows; nor of groups.
    for (const char *other :
         {"ic4oc3ih6iw5kh9kw7sw2", "ic4oc3ih6iw5kh9kw7sh4dh2", "ic4oc3ih6iw5kh3kw7sh4", "g2ic4oc4ih6iw5kh9kw7sh4"})
        for (const Computation &c : computations(other, Operation::weight_gradient)) {
            if (!c.by_taps) continue;
            const std::string product = "ic4oc" + std::to_string(3 * c.kernel_positions) + "ih1iw30kh1kw1";
            EXPECT_EQ(c.problem.str(), Problem::parse(product).str()) << other;
        }
}

// Whose kernels take them, tests of half precision tell to be exact.
TEST(Computation, OfAWeightGradientHasStridesAsTapsWhereKernelsAreLarge) {
    if (!cuda_available()) GTEST_SKIP() << "no usable GPU on this machine";
    PlanOptions options;
    options.operation = Operation::weight_gradient;
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
    for (const char *text : {"n2ic24oc5ih4iw5kh16kw16sh8sw8ph4pw4", "n1ic40oc3ih6iw5kh9kw7sh4sw3ph4pw2oph3opw1",
                             "n2ic24oc3iw20kw64sw16pw3"}) {
        const auto all = accepting_candidates(Problem::parse(text), options, Device::cuda);
        const auto has_strides = [](const Candidate &c) { return c.computation.by_taps.has_value(); };
        EXPECT_TRUE(std::any_of(all.begin(), all.end(), has_strides)) << text;
    }
}

TEST(Computation, OfAPixelReadsItsChannelsSideBySide) {
    const auto all = computations("n8ic3oc4id1ih1iw1kd2kh4kw5", Operation::input_gradient);
    EXPECT_EQ(all[0].problem.rank, 2);
    EXPECT_EQ(all[0].read_format.layout, Layout::channels_first);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const Computation &c) {
        return c.operation == Operation::input_gradient && c.read_format.layout == Layout::channels_last && !c.packed_rows;
    }));
}

TEST(Computation, OfPositionsThatSeeOneEachIsOfOneRowAnImage) {
    for (const Operation operation : {Operation::forward, Operation::input_gradient}) {
        const auto all = computations("n16ic64oc32id5ih10iw10kd1kh1kw1", operation);
        EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Computation &c) {
            return c.operation == operation && c.packed_rows && c.problem.rank == 2 && c.problem.width().input == 500;
        })) << static_cast<int>(operation);
    }
}

// An output channel for each tap of few; the products lie in channels_first, whatever the result does.
TEST(Computation, OfFewOutputChannelsMayBeOfTaps) {
    const auto of_taps = [](const char *problem, TensorFormat format) {
        PlanOptions options;
        options.input = options.weight = options.output = format;
        const auto all = alternatives(Problem::parse(problem), options);
        const auto found = std::find_if(all.begin(), all.end(), [](const Computation &c) { return c.of_taps.has_value(); });
        return found == all.end() ? std::nullopt : std::optional(*found);
    };
    for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
        const auto c = of_taps("n2ic24oc3id2ih5iw6kd2kh3kw4sw2", {ElementType::float32, layout});
        ASSERT_TRUE(c);
        EXPECT_EQ(c->problem.str(), Problem::parse("n2ic24oc72ih1iw60kh1kw1").str());
        EXPECT_EQ(c->of_taps->written, layout);
        EXPECT_EQ(c->written_format.layout, Layout::channels_first);
    }
    const TensorFormat floats{};
    EXPECT_FALSE(of_taps("n2ic24oc3ih5iw6kh3kw4", {ElementType::float16, Layout::channels_first}));
    // Of more channels no more products than outputs see, where each sees inputs alone.
    EXPECT_TRUE(of_taps("n2ic24oc17ih5iw6kh3kw4", floats));
    for (const char *other : {"n2ic24oc17ih5iw6kh3kw4ph1pw2", "n2ic24oc3ih5iw6kh1kw1sh2", "n2g3ic24oc3ih5iw6kh3kw4",
                              "n0ic24oc3ih5iw6kh3kw4"})
        EXPECT_FALSE(of_taps(other, floats)) << other;
}

// Kernels of channels_first serve pictures in channels_last that are turned: the written one, or both; weight gradients read two.
// Those of channels_last serve packed rows, whose result is turned.
TEST(Computation, OfChannelsLastMayBeOfChannelsFirst) {
    const auto turned = [](const char *problem, Operation operation, Layout input, Layout output) {
        PlanOptions options;
        options.operation = operation, options.input.layout = input, options.output.layout = output;
        std::vector<std::pair<int64_t, int64_t>> channels;  // read, and written
        for (const Computation &c : alternatives(Problem::parse(problem), options)) {
            EXPECT_FALSE(c.read_turned && (c.packed_rows || channels_innermost(c.read_format)));
            const auto of = [](const std::optional<TurnedPicture> &picture) { return picture ? picture->channels : 0; };
            const std::pair two{of(c.read_turned), of(c.written_turned)};
            if (two != std::pair<int64_t, int64_t>{} && (channels.empty() || channels.back() != two)) channels.push_back(two);
        }
        return channels;
    };
    using Channels = std::vector<std::pair<int64_t, int64_t>>;
    constexpr auto first = Layout::channels_first, last = Layout::channels_last;
    constexpr const char *problem = "n2g2ic4oc6ih8iw9kh3kw4sh2sw2";
    EXPECT_EQ(turned(problem, Operation::forward, last, last), (Channels{{0, 6}, {4, 6}}));
    EXPECT_EQ(turned(problem, Operation::input_gradient, last, last), (Channels{{0, 4}, {6, 4}}));
    EXPECT_EQ(turned(problem, Operation::forward, last, first), (Channels{{0, 6}, {4, 0}}));
    EXPECT_EQ(turned(problem, Operation::forward, first, last), (Channels{{0, 6}}));
    EXPECT_EQ(turned(problem, Operation::forward, first, first), (Channels{{0, 6}}));
    EXPECT_EQ(turned(problem, Operation::input_gradient, first, first), (Channels{{0, 4}}));
    EXPECT_EQ(turned(problem, Operation::weight_gradient, last, last), (Channels{{4, 6}}));
    EXPECT_EQ(turned(problem, Operation::weight_gradient, first, last), (Channels{{0, 6}}));
    EXPECT_EQ(turned("g6ic6oc6ih8iw9kh3kw4sh2sw2", Operation::forward, last, last), Channels());
}

// In 16 bits where their channels fill no 16 bytes: others have kernels of their own.
TEST(Computation, OfChannelsLastInHalfPrecisionMayBeOfChannelsFirst) {
    const auto is_turned = [](const char *problem, Operation operation) {
        PlanOptions options;
        options.operation = operation;
        options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
        const auto all = alternatives(Problem::parse(problem), options);
        return std::any_of(all.begin(), all.end(), [](const Computation &c) { return c.written_turned.has_value(); });
    };
    for (const Operation operation : {Operation::forward, Operation::input_gradient}) {
        EXPECT_TRUE(is_turned("n2ic9oc16ih8iw9kh3kw4", operation));
        EXPECT_TRUE(is_turned("n2g2ic16oc24ih8iw9kh3kw4", operation));
        EXPECT_FALSE(is_turned("n2ic16oc24ih8iw9kh3kw4", operation));
    }
    EXPECT_FALSE(is_turned("n2ic9oc16ih8iw9kh3kw4", Operation::weight_gradient));
}

// Pixels of 8 and 12 channels are no whole rows of 16 bytes: those of neighbours are, and of a stride's outputs.
TEST(Computation, OfAnInputGradientOfSplitRowsJoinsPositions) {
    const auto joined = [](const char *problem, Layout layout) {
        PlanOptions options;
        options.operation = Operation::input_gradient;
        options.input = options.weight = options.output = {ElementType::float16, layout};
        std::vector<std::string> problems;
        for (const Computation &c : alternatives(Problem::parse(problem), options))
            if (c.operation == Operation::input_gradient && c.cells && c.cells->joins_outputs())
                problems.push_back(std::to_string(c.cells->inputs) + " " + c.problem.str());
        return problems;
    };
    const auto of = [](const char *inputs, const char *problem) { return inputs + (" " + Problem::parse(problem).str()); };
    // Inputs see outputs from two before their own on, which begin in the cell before.
    EXPECT_EQ(joined("n2ic8oc12ih3iw8kh3kw5sh2sw2ph1pw2oph1opw1", Layout::channels_last),
              (std::vector{of("1", "n2ic8oc24ih3iw8kh3kw3sh2ph1pw1oph1"), of("2", "n2ic16oc48ih3iw4kh3kw3sh2ph1pw1oph1"),
                           of("4", "n2ic32oc96ih3iw2kh3kw3sh2ph1pw1oph1")}));
    // Neither whole rows, nor outputs that are no whole cells, nor other layouts.
    EXPECT_TRUE(joined("n2ic8oc16ih3iw8kh3kw5sh2sw2ph1pw2oph1opw1", Layout::channels_last).empty());
    EXPECT_TRUE(joined("n2ic8oc12ih3iw8kh3kw5sh2sw2ph1pw2oph1", Layout::channels_last).empty());
    EXPECT_TRUE(joined("n2ic8oc12ih3iw8kh3kw5sh2sw2ph1pw2oph1opw1", Layout::channels_first).empty());
}

KernelTraits kernel_of_cells(int64_t multiple_of_stride, int64_t window) {
    KernelTraits kernel;
    kernel.rank = 3;
    kernel.phases_as_channels = kernel.phases_along_width = true;
    kernel.block_positions = {1, 256};
    kernel.block_channels = 64;
    kernel.weight_in_channel_multiple = 16;
    kernel.stride_width_multiple = multiple_of_stride, kernel.window = window;
    return kernel;
}

// Four inputs of 16 channels fill a tile: kernel 7 reaches over three cells.
TEST(Computation, OfFewChannelsIsOfCellsOfInputs) {
    const Computation whole = computations("n2ic32oc16id5ih6iw64kd3kh5kw7pw3", Operation::forward)[0];
    const std::optional<Computation> cells = with_input_cells(kernel_of_cells(4, 3), whole);
    ASSERT_TRUE(cells && cells->cells);
    EXPECT_EQ(cells->cells->inputs, 4);
    EXPECT_EQ(cells->cells->given.str(), whole.problem.str());
    EXPECT_EQ(cells->problem.in_channels, 128);
    EXPECT_EQ(cells->problem.out_channels, 16);
    EXPECT_EQ(cells->problem.width().input, 16);
    EXPECT_EQ(cells->problem.width().stride, 4);
    EXPECT_EQ(cells->problem.width().kernel, 12);
    EXPECT_EQ(cells->cells->lead, 1);  // so that fours of outputs are whole cells
    EXPECT_EQ(cells->problem.width().padding, 4);
    EXPECT_EQ(cells->problem.width().output(), whole.problem.width().output());
    EXPECT_EQ(cells->problem.height().kernel, 5);
    EXPECT_EQ(with_split_sum(kernel_of_cells(4, 3), *cells).partial_sums, 1);
    // Kernels that reach over two cells have a window of three.
    const std::optional<Computation> filled_up =
        with_input_cells(kernel_of_cells(4, 3), computations("n2ic32oc16iw64kw3pw1", Operation::forward)[0]);
    ASSERT_TRUE(filled_up);
    EXPECT_EQ(filled_up->problem.width().kernel, 3 * filled_up->problem.width().stride);
    EXPECT_EQ(filled_up->problem.width().output(), 64);
}

// A dilated kernel is spread, so that phases may be channels; what phases alone fill needs no cells.
TEST(Computation, OfCellsWhereAStrideMeetsADilation) {
    const KernelTraits kernel = kernel_of_cells(2, 1);
    const std::optional<Computation> spread =
        with_input_cells(kernel, computations("n2ic32oc32iw15kw3sw2pw1dw2", Operation::forward)[0]);
    ASSERT_TRUE(spread);
    EXPECT_EQ(spread->cells->inputs, 1);
    EXPECT_EQ(spread->problem.width().kernel, 6);
    EXPECT_EQ(spread->problem.width().dilation, 1);
    EXPECT_EQ(spread->problem.width().output(), 31);
    const auto has_cells = [&](const char *problem) {
        return with_input_cells(kernel, computations(problem, Operation::forward)[0]).has_value();
    };
    EXPECT_FALSE(has_cells("n2ic32oc32iw16kw3sw2pw2"));
    EXPECT_TRUE(has_cells("n2ic32oc16iw1048576kw7sw2pw2"));
    EXPECT_FALSE(has_cells("n2ic32oc16iw64kw7sw2pw2"));  // the fewest blocks would be fewer, and longer
    EXPECT_FALSE(has_cells("n2ic32oc16iw15kw3pw1"));  // 15 inputs are no whole cells
    EXPECT_FALSE(has_cells("n2g2ic32oc16iw16kw3pw1"));
}

// Pairs of phases begin at odd outputs with an odd padding, unless a kernel that fills no whole cells begins one position later.
TEST(Computation, OfCellsWhosePairsBeginAtEvenOutputs) {
    const auto lead = [](const char *problem, int64_t multiple) -> std::string {
        const Computation given = computations(problem, Operation::forward)[0];
        const std::optional<Computation> cells = with_input_cells(kernel_of_cells(multiple, 1), given);
        if (!cells) return "none";
        EXPECT_EQ(cells->problem.width().output(), given.problem.width().output()) << problem;
        EXPECT_EQ(cells->problem.width().padding, given.problem.width().padding + cells->cells->lead) << problem;
        return std::to_string(cells->cells->inputs) + ", " + std::to_string(cells->cells->lead);
    };
    EXPECT_EQ(lead("n2ic32oc32iw16kw3sw2pw1", 2), "1, 1");
    EXPECT_EQ(lead("n2ic32oc32iw15kw4sw2pw1", 2), "none");  // four positions fill two cells
    EXPECT_EQ(lead("n2ic32oc16iw1048576kw7sw2pw1", 2), "2, 1");
    EXPECT_EQ(lead("n2ic32oc16iw1048576kw7sw2pw2", 2), "2, 0");
    EXPECT_EQ(lead("n2ic32oc32iw15kw6sw4pw2", 4), "1, 2");
    EXPECT_EQ(lead("n2ic32oc32iw15kw7sw4pw2", 4), "none");  // one position is too few
}

// Rows whose pixels see but their own column are one row: a kernel along another axis is one along it, spread by its length.
TEST(Computation, OfRowsThatSeeTheirOwnColumnIsOfOneRow) {
    const auto joined = [](const char *problem) {
        const Computation given = computations(problem, Operation::forward)[0];
        const Computation rows = with_long_rows(given).value_or(given);
        EXPECT_EQ(rows.problem.output_elements(), given.problem.output_elements()) << problem;
        EXPECT_EQ(rows.problem.weight_elements(), given.problem.weight_elements()) << problem;
        return rows.problem.str();
    };
    const auto problem = [](const char *text) { return Problem::parse(text).str(); };
    EXPECT_EQ(joined("n2ic3oc4ih5iw7kh1kw1"), problem("n2ic3oc4ih1iw35kh1kw1"));
    EXPECT_EQ(joined("n2ic3oc4id3ih5iw7kd1kh1kw1"), problem("n2ic3oc4id1ih1iw105kd1kh1kw1"));
    EXPECT_EQ(joined("n2ic3oc4ih5iw7kh3kw1ph2dh2"), problem("n2ic3oc4ih1iw35kh1kw3pw14dw14"));
    EXPECT_EQ(joined("n2ic3oc4id3ih5iw7kd1kh3kw1ph1"), problem("n2ic3oc4id1ih3iw35kd1kh1kw3pw7dw7"));
    for (const char *other : {"ic3oc4ih5iw7kh3kw3", "ic3oc4ih5iw7kh3kw1sh2", "ic3oc4ih5iw7kh3kw1pw1", "ic3oc4ih5iw7kh3kw1sw2",
                              "ic3oc4ih5iw7kh1kw1dh2oph1"})
        EXPECT_EQ(joined(other), problem(other));
    // An axis has no more positions than 32 bits count.
    EXPECT_EQ(joined("ic3oc4id3ih30000iw30000kd1kh1kw1"), problem("ic3oc4id1ih3iw900000000kd1kh1kw1"));
    // Long rows gain less than they lose by what taps see twice.
    EXPECT_EQ(joined("ic3oc4ih5iw80kh3kw1"), problem("ic3oc4ih5iw80kh3kw1"));
}

// A kernel that occupies a machine with 264 blocks; each of its own takes 64 channels of 64 positions, 32 at a step.
TEST(Computation, OfFewBlocksIsASumOfParts) {
    KernelTraits kernel;
    kernel.counts_through_images = true;
    kernel.block_positions = {8, 8};
    kernel.block_channels = 64;
    kernel.weight_in_channel_multiple = 32;
    kernel.split_target_blocks = 264;
    const Computation whole = computations("n1ic512oc64ih8iw8kh3kw3", Operation::forward)[0];
    const Computation split = with_split_sum(kernel, whole);
    EXPECT_GT(split.partial_sums, 1);
    EXPECT_EQ(512 % split.partial_sums, 0);
    EXPECT_EQ(split.problem.groups, split.partial_sums);
    EXPECT_EQ(split.problem.out_channels, 64 * split.partial_sums);
    EXPECT_EQ(split.problem.in_channels, 512);
    EXPECT_EQ(split.result_channels(), 64);
    kernel.split_target_blocks = 0;
    EXPECT_EQ(with_split_sum(kernel, whole).partial_sums, 1);
}

// The same of one whose steps are cut: the problem stays as it is, channels are no whole chunks, and there may be groups.
TEST(Computation, OfFewBlocksIsASumOfPartsOfSteps) {
    KernelTraits kernel;
    kernel.counts_through_images = kernel.splits_steps = true;
    kernel.block_positions = {1, 128};
    kernel.block_channels = 32;
    kernel.weight_in_channel_multiple = 16;
    kernel.split_target_blocks = 660;
    kernel.blocks_per_multiprocessor = 5;
    kernel.h200_tflops = 31;
    const auto split = [&](const char *problem) {
        return with_split_sum(kernel, computations(problem, Operation::forward)[0]);
    };
    for (const char *problem : {"n2ic113oc21id6ih12iw12kd3kh3kw3pd1ph1pw1", "g2n1ic512oc10ih8iw8kh3kw3sh2sw2"}) {
        const Computation parts = split(problem);
        EXPECT_GT(parts.partial_sums, 8) << problem;
        EXPECT_EQ(parts.parts_in_groups(), 1) << problem;
        EXPECT_EQ(parts.problem.str(), computations(problem, Operation::forward)[0].problem.str());
        EXPECT_EQ(parts.result_channels(), parts.problem.out_channels) << problem;
    }
    EXPECT_GT(split("n1ic1024oc256id8ih10iw8kd5kh5kw5sd2sh2sw2pd2ph2pw2opd1oph1opw1").partial_sums, 2)
        << "320 blocks, of which the longest have more than three times the steps of the shortest";
    EXPECT_EQ(split("n2ic40oc21ih12iw12kh1kw2").partial_sums, 1) << "six steps";
    EXPECT_EQ(split("n16ic512oc128ih64iw64kh3kw3").partial_sums, 1) << "many blocks";
}

}  // namespace
}  // namespace conv_transpose::testing

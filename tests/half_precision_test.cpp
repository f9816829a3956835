// Half precision, both layouts and any mix of them, on every kernel that accepts the problem: integers, equal to the
// oracle's, rounded once to nearest even.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "formatted_test.h"

namespace conv_transpose::testing {
namespace {

class HalfPrecision : public FormattedTest {};

bool multiplies_pairs() {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi2");
#else
    return false;
#endif
}

// As Linux tells it, which has a say in it.
bool multiplies_tiles() {
    std::ifstream file("/proc/cpuinfo");
    const std::string facts{std::istreambuf_iterator<char>(file), {}};
    return facts.find(" amx_bf16") != std::string::npos && facts.find(" avx512_fp16") != std::string::npos;
}

// Tiles that are full and that are not, taps that are dead, groups, small pictures.
const char *const problems[] = {"n2ic64oc72ih5iw6kh3kw3ph1pw1", "n3g2ic32oc80ih4iw3kh4kw4sh2sw2ph1pw1",
                                "n1ic40oc24ih3iw9kh2kw3sh3sw1dh2opw0", "n1ic16oc24ih3iw4kh3kw3sh2sw2ph1pw1"};
// Few channels, phases of which taps are lacking, and padding that is no whole stride.
const char *const strided_problems[] = {"n2ic48oc3ih5iw6kh8kw8sh8sw8", "n3g2ic32oc16ih4iw7kh5kw6sh3sw4ph2pw3oph1opw2",
                                        "n1ic40oc24ih3iw9kh3kw4sh2sw2ph1pw1", "n1ic512oc16ih1iw2kh4kw4sh2sw2ph1pw1"};

TEST_P(HalfPrecision, IsExactInEveryLayout) {
    in_formats(problems, {problems[0], problems[1]}, [&](const Problem &p, TensorFormat in, TensorFormat out) {
        PlanOptions options;
        options.input = options.weight = in, options.output = out;
        const int kernels = expect_exact(p, Operation::forward, options);
        // The conversion from channels_last is in full builds.
        if (in == out || out.layout == Layout::channels_last) {
            EXPECT_GE(kernels, 1) << p.str();
        }
        if (in == out && in.layout == Layout::channels_last) {
            EXPECT_GE(expect_exact(p, Operation::input_gradient, options), 1) << p.str();
        }
    });
}

TEST_P(HalfPrecision, IsExactWithPhasesAsChannels) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "kernels of 16 bits are for GPUs";
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const Layout layout : {Layout::channels_first, Layout::channels_last})
            for (const char *text : strided_problems) {
                PlanOptions options;
                options.input = options.output = options.weight = {type, layout}, options.epilogue.bias = true;
                EXPECT_GE(expect_exact(Problem::parse(text), Operation::forward, options), 1) << text;
                options.epilogue = {};
                EXPECT_GE(expect_exact(Problem::parse(text), Operation::input_gradient, options), 1) << text;
                if (HasFailure()) return;
            }
}

// Every kernel of 16 bits takes them: what packs weights converts them, or a step before does, also where the caller packs before.
TEST_P(HalfPrecision, TakesWeightsOfFloat32) {
    PlanOptions mixed;  // weights in channels_first
    mixed.input = mixed.output = {ElementType::float16, Layout::channels_last};
    EXPECT_GE(expect_exact(Problem::parse(problems[0]), Operation::forward, mixed), 1);
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const Layout layout : {Layout::channels_first, Layout::channels_last})
            for (const char *text :
                 {"n2ic24oc16ih3iw4kh4kw4sh2sw2ph1pw1", "n2g9ic9oc9ih4iw5kh3kw3ph1pw1", "n2ic16oc16ih6iw4kh1kw1"})
                for (const Operation operation : {Operation::forward, Operation::input_gradient}) {
                    PlanOptions options;
                    options.input = options.output = options.weight = {type, layout};
                    packs_before = false;
                    const int kernels = expect_exact(Problem::parse(text), operation, options);
                    options.weight.type = ElementType::float32;
                    packs_before = true;
                    EXPECT_EQ(expect_exact(Problem::parse(text), operation, options), kernels) << text;
                    if (HasFailure()) return;
                }
}

// Some kernels copy 16 bytes at a time: what lies at no multiple of as many they refuse before they run.
TEST_P(HalfPrecision, IsExactAtAnyAddressOrRefused) {
    for (const ElementType type : {ElementType::float16, ElementType::float32})
        for (const Layout layout : {Layout::channels_first, Layout::channels_last})
            for (const int64_t elements : {1, 4}) {
                offsets = {elements, elements, elements, elements};
                PlanOptions options;
                options.precision = Precision::tf32;
                options.input = options.output = options.weight = {type, layout};
                for (const Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient})
                    EXPECT_GE(expect_exact(Problem::parse("n2ic16oc16ih3iw4kh3kw3ph1pw1"), operation, options), 1);
                if (HasFailure()) return;
            }
}

// Tiles of many channels store rows of them, of the pictures' type or float32.
TEST_P(HalfPrecision, WeightGradientsAtAnyAddressAreExactOrRefused) {
    for (const ElementType of_weight : {ElementType::float16, ElementType::float32})
        for (const int64_t elements : {1, 2}) {
            offsets.weight = elements;
            PlanOptions options;
            options.input = options.output = {ElementType::float16, Layout::channels_last};
            options.weight = {of_weight, Layout::channels_last};
            EXPECT_GE(expect_exact(Problem::parse("n1ic72oc136ih2iw3kh1kw2sw2"), Operation::weight_gradient, options), 1);
        }
}

// It has the weight's type.
TEST_P(HalfPrecision, AddsABias) {
    for (const ElementType weight : {ElementType::float16, ElementType::float32}) {
        PlanOptions options;
        options.input = options.output = {ElementType::float16, Layout::channels_last}, options.weight.type = weight;
        options.epilogue.bias = true;
        EXPECT_GE(expect_exact(Problem::parse(problems[1]), Operation::forward, options), 1);
    }
}

TEST_P(HalfPrecision, Float32IsReadInChannelsLast) {
    PlanOptions options;
    options.precision = Precision::tf32;
    options.input = options.output = options.weight = {ElementType::float32, Layout::channels_last};
    for (const char *text : problems) {
        EXPECT_GE(expect_exact(Problem::parse(text), Operation::forward, options), 1);
        EXPECT_GE(expect_exact(Problem::parse(text), Operation::input_gradient, options), 1);
    }
}

// The zeros that fill up rows and chunks of channels meet none but zeros.
TEST_P(HalfPrecision, PropagatesStrictly) {
    PlanOptions options;
    options.strict_propagation = true;
    for (const Layout layout : {Layout::channels_first, Layout::channels_last})
        for (const float at_ends : {std::numeric_limits<float>::infinity(), std::nanf("")})
            for (const char *text : problems) {
                options.input = options.weight = options.output = {ElementType::float16, layout};
                EXPECT_GE(expect_exact(Problem::parse(text), Operation::forward, options, at_ends), 1);
                if (layout == Layout::channels_last) {
                    EXPECT_GE(expect_exact(Problem::parse(text), Operation::input_gradient, options, at_ends), 1);
                }
            }
}

TEST_P(HalfPrecision, HasThreeAxes) {
    const Problem p = Problem::parse("n2ic32oc24id3ih4iw5kd2kh3kw2sd2sh1sw2pd1ph1pw0");
    PlanOptions options;
    options.precision = Precision::tf32;
    EXPECT_GE(expect_exact(p, Operation::forward, options), 1);
    EXPECT_GE(expect_exact(p, Operation::input_gradient, options), 1);
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_first};
    EXPECT_GE(expect_exact(p, Operation::forward, options), 1);
}

// Sums that fill no chunk, chunks of parts of taps and of several, tiles that are not filled, groups; one axis and three.
TEST_P(HalfPrecision, InputGradientsSumTapsLikeChannels) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "it is a way of GPUs";
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const char *text :
             {"n3ic24oc8ih5iw7kh3kw3sh2sw2ph1pw1", "n1ic136oc16ih9iw11kh4kw4sh2sw2ph1pw1",
              "n2ic40oc40ih4iw5kh2kw3dh2pw1", "n2g3ic48oc24ih7iw5kh5kw5sh2sw3ph2pw2oph1opw1", "n2ic8oc24iw90kw16sw8pw4",
              "n2ic72oc8id3ih4iw5kd3kh2kw3sd2sh2sw1pd1pw1", "n2ic64oc8ih3iw6kh2kw2sh2sw2", "n2ic16oc72ih9iw8kh1kw1",
              "n2ic64oc2ih5iw6kh7kw7sh2sw2ph3pw3", "n2ic24oc4ih5iw7kh5kw5sh2sw2ph2pw2oph1opw1",
              "n3g4ic64oc16ih5iw6kh4kw4sh2sw2ph1pw1", "n2ic40oc6ih4iw5kh3kw3ph1pw1", "n2ic72oc14ih4iw5kh2kw5sh2sw3dw2",
              "n2ic16oc12id2ih3iw4kd2kh2kw3sd2sh1sw2pw1", "n2ic9oc24ih5iw6kh2kw2sh2sw2",
              "n2g2ic6oc10ih5iw9kh3kw2sw3ph1dh2"}) {
            PlanOptions options;
            options.input = options.weight = options.output = {type, Layout::channels_last};
            expect_exact(Problem::parse(text), Operation::input_gradient, options, 0, "_taps");
            // What lies otherwise is packed.
            options.weight.layout = Layout::channels_first;
            expect_exact(Problem::parse(text), Operation::input_gradient, options, 0, "_taps");
            options.input.layout = options.output.layout = Layout::channels_first;
            expect_exact(Problem::parse(text), Operation::input_gradient, options, 0, "_taps");
            if (HasFailure()) return;
        }
}

// Channels that fill no 16 bytes, and taps with channels that do not; groups; one axis and three; sums that are cut.
TEST_P(HalfPrecision, InputGradientsFillRowsOfWeights) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "it is a way of GPUs";
    for (const char *text : {"n2ic20oc1ih5iw9kh5kw5sh2sw2ph2pw2", "n1ic16oc9id2ih3iw4kd3kh3kw3pd1ph1pw1",
                             "n1g2ic48oc6ih7iw9kh3kw3ph1pw1", "n2ic9oc5iw20kw3sw2", "n1ic24oc12ih7iw9kh9kw9sh3sw3ph4pw4"}) {
        PlanOptions options;
        options.input = options.output = {ElementType::float16, Layout::channels_last};
        for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
            options.weight = {ElementType::float16, layout};
            expect_exact(Problem::parse(text), Operation::input_gradient, options, 0, "_weight_maps");
            if (HasFailure()) return;
        }
    }
}

// Kernels of whole strides and of parts of them; one axis, two and three; padding, and outputs that no tap sees.
TEST_P(HalfPrecision, WeightGradientsHaveStridesAsTaps) {
    if (GetParam() == Device::cpu) GTEST_SKIP() << "it is a way of GPUs";
    const char *const large_kernels[] = {"n2ic24oc5ih4iw5kh16kw16sh8sw8ph4pw4", "n1ic40oc3ih6iw5kh9kw7sh4sw3ph4pw2oph3opw1",
                                         "n2ic24oc3iw20kw64sw16pw3", "n3ic32oc9iw30kw20sw8opw3",
                                         "n1ic24oc2id3ih4iw5kd4kh3kw4sd2sw2pd1ph1pw1", "n2ic72oc6ih5iw4kh8kw1sh4"};
    in_formats(large_kernels, {large_kernels[5]}, [&](const Problem &p, TensorFormat input, TensorFormat output) {
        PlanOptions options;
        options.input = options.weight = input, options.output = output;
        expect_exact(p, Operation::weight_gradient, options, 0, "implicit_gemm_any_nhwc_");
    });
}

// Channels of positions that together fill 16 bytes, as many as those of two, four and eight.
TEST_P(HalfPrecision, JoinsPositionsOfOddChannels) {
    int kernels = 0;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const char *text : {"n2ic20oc12ih9iw10kh1kw1", "n1ic20oc10ih40iw50kh1kw1", "n3ic9oc21iw64kw1",
                                 "n2ic36oc70id2ih3iw7kd1kh1kw1"}) {
            PlanOptions options;
            options.input = options.output = {type, Layout::channels_last}, options.weight = {type, Layout::channels_first};
            kernels += expect_exact(Problem::parse(text), Operation::weight_gradient, options);
            if (HasFailure()) return;
        }
    EXPECT_GT(kernels, 0);
}

class PairsOfBfloat16 : public FormattedTest {};

// What the processor multiplies two by two, in float32: of an even number of channels in a group.
TEST_P(PairsOfBfloat16, AreMultiplied) {
    if (!multiplies_pairs()) GTEST_SKIP() << "this processor lacks AVX-512 BF16";
    for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
        PlanOptions options;
        options.input = options.weight = options.output = {ElementType::bfloat16, layout};
        options.epilogue.bias = true;
        for (const char *text : {problems[0], problems[1], problems[2], strided_problems[1], "n2g3ic6oc15ih3iw4kh3kw2sh2ph1",
                                 "n1ic34oc33id2ih3iw4kd2kh2kw3sd2pd1pw1"}) {
            EXPECT_GE(expect_exact(Problem::parse(text), Operation::forward, options, 0, "pairs_avx512_bf16"), 1) << text;
            if (HasFailure()) return;
        }
        EXPECT_EQ(expect_exact(Problem::parse("n2g2ic6oc16ih3iw4kh3kw2"), Operation::forward, options, 0, "pairs_avx512_bf16"), 0);
    }
}

// What the processor multiplies in tiles: summed channels of a group are whole 16 or 32, or filled up with zeros; rows shorter and
// longer than a tile has places, phases without taps, groups, one axis and three, channels that fill a part of a tile.
TEST_P(PairsOfBfloat16, AreMultipliedInTiles) {
    if (!multiplies_tiles()) GTEST_SKIP() << "this processor lacks AMX";
    for (const Layout layout : {Layout::channels_first, Layout::channels_last})
        for (const Operation operation : {Operation::forward, Operation::input_gradient}) {
            PlanOptions options;
            options.input = options.weight = options.output = {ElementType::bfloat16, layout};
            options.epilogue.bias = operation == Operation::forward;
            int kernels = 0;
            for (const char *text : {"n2ic64oc32ih5iw7kh3kw3sh2sw2ph1pw1oph1opw1", "n1ic32oc48ih4iw70kh3kw5ph1pw2",
                                     "n2g3ic48oc96ih3iw4kh3kw2sh2ph1", "n1ic16oc16id2ih3iw4kd2kh2kw3sd2pd1pw1",
                                     "n3ic96oc80ih2iw3kh1kw1sh3sw2", "n1g2ic32oc64iw150kw8sw4pw2dw3",
                                     "n2ic16oc144ih2iw2kh5kw5sh2sw2", "n1ic40oc2ih6iw37kh3kw4sh2sw2ph1pw1",
                                     "n2g2ic12oc84id2ih3iw5kd1kh2kw3sh2pw1", "n2ic2oc14iw9kw3sw3",
                                     "n2ic5oc3ih3iw37kh3kw4sh2sw2ph1pw1", "n1ic1oc17ih3iw6kh2kw3",
                                     "n2g2ic38oc2id2ih2iw5kd2kh1kw2", "n1g2ic40oc18ih4iw50kh3kw4sh3sw2ph1pw3dh2",
                                     "n1ic33oc1id2ih3iw9kd2kh3kw9sw4pw4"})
                kernels += expect_exact(Problem::parse(text), operation, options, 0, "_amx");
            EXPECT_GE(kernels, 25);
            if (HasFailure()) return;
        }
}

// The same of weight gradients, which sum over cells: in either layout of pictures and of weights, rows that are shorter and
// longer than what is multiplied at once, in segments, with gaps between planes, of one cell, groups, channels that fill vectors
// and tiles or do not, columns of a row of the kernel, which dilated ones are not.
TEST_P(PairsOfBfloat16, OfCellsAreMultipliedInTiles) {
    if (!multiplies_tiles()) GTEST_SKIP() << "this processor lacks AMX";
    const char *const problems[] = {"n2ic40oc33ih5iw17kh3kw3sh2sw2ph1pw1", "n1g2ic34oc64ih2iw37kh2kw1", "n1ic20oc34iw5000kw5sw3pw1",
                                    "n2ic17oc24id3ih4iw6kd3kh2kw4sd1sh2sw1pd1pw2", "n1ic16oc32ih3iw40kh2kw3sh2sw2dw2",
                                    "n70ic48oc12ih1iw1kh4kw4", "n3ic9oc21ih5iw5kh3kw3", "n1g5ic40oc70iw38kw5pw1",
                                    "n1ic5oc10id3ih4iw10kd5kh2kw1sw2pw7dd3dh4", "n2ic100oc64ih6iw33kh4kw4sh2sw2ph1pw1"};
    for (const Layout pictures : {Layout::channels_first, Layout::channels_last})
        for (const Layout weights : {Layout::channels_first, Layout::channels_last}) {
            PlanOptions options;
            options.input = options.output = {ElementType::bfloat16, pictures};
            options.weight = {ElementType::bfloat16, weights};
            int tiles = 0, columns = 0;
            for (const char *text : problems) {
                tiles += expect_exact(Problem::parse(text), Operation::weight_gradient, options, 0, "tiles_amx");
                columns += expect_exact(Problem::parse(text), Operation::weight_gradient, options, 0, "columns_amx");
                if (HasFailure()) return;
            }
            EXPECT_GE(tiles, 15);
            if (pictures == Layout::channels_last) EXPECT_GE(columns, 9);
            const Problem dilated = Problem::parse("n1ic16oc32ih3iw40kh2kw3sh2sw2dw2");
            EXPECT_EQ(expect_exact(dilated, Operation::weight_gradient, options, 0, "columns_amx"), 0);
        }
}

// Kernels of CPUs that multiply pairs of bfloat16: of channels, which are packed so in both layouts of weights; of cells in weight
// gradients, in rows of an odd number of them, of one, and in segments; many channels of few places.
TEST_P(PairsOfBfloat16, AreOfChannelsOrCells) {
    const char *const pairs[] = {"n2ic5oc6ih3iw7kh3kw3sh2sw2ph1pw1oph1opw1", "n1g2ic34oc4ih2iw1kh2kw3dh2dw2",
                                 "n3ic17oc2id2ih3iw4kd2kh2kw2sd2sh2sw2", "n1ic3oc18iw1501kw5sw3pw1", "n2ic20oc34ih5iw16kh1kw1",
                                 "n1ic192oc20ih3iw3kh4kw4sh2sw2ph1pw1", "n2ic40oc16iw5kw4sw2pw1",
                                 "n1g3ic6oc12iw19kw1"};
    for (const Layout pictures : {Layout::channels_first, Layout::channels_last})
        for (const Layout weights : {Layout::channels_first, Layout::channels_last})
            for (const char *text : pairs)
                for (const Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient}) {
                    PlanOptions options;
                    options.input = options.output = {ElementType::bfloat16, pictures};
                    options.weight = {ElementType::bfloat16, weights};
                    expect_exact(Problem::parse(text), operation, options, 0, "pairs");
                    if (HasFailure()) return;
                }
}

INSTANTIATE_ON_DEVICES(HalfPrecision);
INSTANTIATE_TEST_SUITE_P(Devices, PairsOfBfloat16, ::testing::Values(Device::cpu), [](const auto &) { return "cpu"; });

}  // namespace
}  // namespace conv_transpose::testing

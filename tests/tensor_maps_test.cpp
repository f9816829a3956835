// Kernels that read pictures or weights by tensor maps, in half precision and in TF32, both layouts: integers, equal to the
// oracle's, rounded once to nearest even.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "formatted_test.h"

namespace conv_transpose::testing {
namespace {

// Odd strides, of results in channels_first: whole cells and others, kernels of several cells and with holes, dilations, groups,
// channels that fill no tile, positions that fill no tile, several images, one axis and three.
const char *const problems_of_odd_strides[] = {
    "n2ic40oc24iw50kw10sw5pw3", "n3ic24oc40iw33kw6sw3", "n2ic32oc72ih5iw9kh3kw3sh3sw3",
    "n2g2ic128oc48ih3iw7kh3kw3sh2sw3ph1pw2oph1opw2", "n1ic32oc20ih4iw6kh3kw3sh5sw5ph1pw1dh2dw2", "n2ic16oc9iw40kw1sw3",
    "n1ic48oc33id2ih3iw5kd3kh2kw3sd1sh2sw3pd1",
    "n1ic8oc136iw70kw7sw7"};

class HalfPrecisionTensorMaps : public FormattedTest {
  protected:
    void SetUp() override {
        if (GetParam() == Device::cpu) GTEST_SKIP() << "tensor maps are for GPUs";
        FormattedTest::SetUp();
    }

    /// By kernels of volumes, forward with a bias and weights in either layout, and input gradients by those with such names; in
    /// bfloat16 the first problem.
    template <std::size_t count>
    void expect_exact_in_channels_last(const char *const (&problems)[count], const std::string &gradients_by) {
        int kernels = 0;
        for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
            for (const char *text : problems) {
                if (type != ElementType::float16 && text != problems[0]) continue;
                PlanOptions options;
                options.input = options.weight = options.output = {type, Layout::channels_last};
                const Problem p = Problem::parse(text);
                kernels += expect_exact(p, Operation::input_gradient, options, 0, gradients_by);
                options.epilogue = {.bias = true, .activation = Activation::relu};
                kernels += expect_exact(p, Operation::forward, options, 0, "ndhwc_maps");
                options.weight.layout = Layout::channels_first;
                kernels += expect_exact(p, Operation::forward, options, 0, "ndhwc_maps");
                if (HasFailure()) return;
            }
        if (kernels == 0) GTEST_SKIP() << "none of this build's kernels for this GPU reads them so";
    }

    /// By kernels with such names; how many there were.
    int expect_exact_of(std::initializer_list<const char *> problems, Operation operation, const PlanOptions &options,
                        const std::string &names) {
        int kernels = 0;
        for (const char *text : problems)
            if (!HasFailure()) kernels += expect_exact(Problem::parse(text), operation, options, 0, names);
        return kernels;
    }

    /// Whether this build has kernels for this GPU that read tensor maps and write channels_last.
    bool has_kernels_of_channels_last() const {
        PlanOptions half = options();
        half.input = half.weight = half.output = {ElementType::float16, Layout::channels_last};
        const std::vector<std::string_view> names = kernels_for(Problem::parse(problems_of_odd_strides[0]), half);
        return std::any_of(names.begin(), names.end(),
                           [](std::string_view name) { return name.find("hwc_maps") != std::string_view::npos; });
    }

    /// By which kernels an operation is computed: those with such names.
    struct By {
        Operation operation;
        std::string names;
        bool bias = false;
    };
    static std::vector<By> forward_and_input_gradient(const std::string &names) {
        return {{Operation::input_gradient, names}, {Operation::forward, names}, {Operation::forward, names, true}};
    }
    /// Problems of float16, of so many also in bfloat16, whose instructions differ little, and of all in float32 where kernels
    /// multiply TF32.
    void expect_exact_in_channels_first(std::span<const char *const> problems, const std::vector<By> &all,
                                        std::size_t in_bfloat16, bool in_tf32 = true) {
        int kernels = 0;
        for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32}) {
            if (type == ElementType::float32 && !in_tf32) continue;
            for (const char *text : type == ElementType::bfloat16 ? problems.first(in_bfloat16) : problems)
                for (const By &by : all) {
                    PlanOptions options;
                    options.precision = Precision::tf32;
                    options.input = options.weight = options.output = {type, Layout::channels_first};
                    options.epilogue.bias = by.bias;
                    kernels += expect_exact(Problem::parse(text), by.operation, options, 0, by.names);
                    if (HasFailure()) return;
                }
        }
        if (kernels == 0) GTEST_SKIP() << "none of this build's kernels for this GPU reads them so";
    }
};

// There are several groups, phases that are channels, and sums in parts; weights and biases are of either type.
TEST_P(HalfPrecisionTensorMaps, HasSlopesOfChannelsByTensorMaps) {
    constexpr TensorFormat f16{ElementType::float16, Layout::channels_last}, f32{};
    constexpr TensorFormat formats[][2] = {{f16, f16}, {f16, f32},
                                           {{ElementType::float16, Layout::channels_first}, f16},
                                           {{ElementType::bfloat16, Layout::channels_last}, {ElementType::bfloat16}}};
    int kernels = 0;
    for (const auto &[picture, weight] : formats)
        for (const char *text : {"n1ic64oc72ih5iw6kh3kw3ph1pw1", "n2g2ic32oc80ih3iw3kh4kw4sh2sw2ph1pw1",
                                 "n1ic48oc3ih3iw4kh8kw8sh8sw8", "n1ic512oc16ih1iw2kh4kw4sh2sw2ph1pw1"}) {
            PlanOptions options;
            options.input = options.output = picture, options.weight = weight;
            options.epilogue = {true, Activation::prelu};
            kernels += expect_exact(Problem::parse(text), Operation::forward, options);
            if (HasFailure()) return;
        }
    if (kernels == 0) GTEST_SKIP() << "this GPU reads no tensor maps";
}

// Boxes that go beyond pictures, across rows and images; channels that do not fill a chunk; windows of three, five and seven
// taps; strides, phases without taps, groups; one axis, and three. Phases as channels: several and no whole one in a tile,
// cells that begin before the output, taps that phases lack.
const char *const tensor_map_problems[] = {
    "n3ic72oc40ih5iw7kh3kw3ph1pw1", "n2ic32oc32ih9iw11kh3kw7ph1pw3", "n2ic64oc136ih4iw5kh3kw5",
    "n2ic64oc64ih6iw5kh4kw4sh2sw2ph1pw1",
    "n5ic64oc64ih3iw2kh3kw3sh3sw3dh3dw3opw2", "n2g2ic128oc96ih4iw5kh3kw3", "n1ic200oc64ih7iw5kh5kw6dh2ph3",
    "n2ic32oc48iw300kw9pw4",
    "n2ic40oc24iw50kw16sw8pw4", "n2ic64oc32id3ih4iw5kd3kh3kw3", "n1ic32oc64id4ih3iw5kd2kh4kw3sd2sh2sw1pd1ph1",
    "n2ic32oc8ih5iw7kh3kw3sh2sw2ph1pw1oph1opw1", "n3ic64oc72ih5iw6kh2kw2sh2sw2", "n2g2ic128oc48ih4iw5kh5kw4sh3sw2ph2pw1"};

TEST_P(HalfPrecisionTensorMaps, ReadsPicturesByTensorMaps) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32})
        for (const char *text : tensor_map_problems) {
            // Formats differ in few instructions, and an interpreted run takes its time.
            if (type != ElementType::float16 && text != tensor_map_problems[0] && text != tensor_map_problems[3]) continue;
            PlanOptions options;
            options.precision = Precision::tf32;
            options.input = options.weight = options.output = {type, Layout::channels_last};
            const Problem p = Problem::parse(text);
            for (Operation operation : {Operation::forward, Operation::input_gradient})
                expect_exact(p, operation, options, 0, "maps");
            if (HasFailure()) return;
        }
}

// Kernels as large as their strides, whose phases and channels are one row of the weight, or lie the other way round: whole tiles of
// a phase's channels, one and two of them, and others; chunks that are not full, groups, three axes.
TEST_P(HalfPrecisionTensorMaps, PacksPhasesInAnyOrder) {
    int kernels = 0;
    for (const ElementType type : {ElementType::float16, ElementType::float32})
        for (const Layout picture : {Layout::channels_first, Layout::channels_last})
            for (const Layout weight : {Layout::channels_first, Layout::channels_last})
                for (const char *text : {"n1ic40oc64ih3iw2kh3kw2sh3sw2", "n1ic32oc128iw3kw4sw4", "n1ic32oc24ih3iw2kh2kw3sh2sw3",
                                         "n1ic32oc32iw5kw4sw4", "n1g2ic64oc128ih2iw2kh2kw2sh2sw2",
                                         "n1ic32oc64id2ih1iw2kd2kh2kw2sd2sh2sw2"}) {
                    PlanOptions options;
                    options.precision = Precision::tf32;
                    options.input = options.output = {type, picture}, options.weight = {type, weight};
                    kernels += expect_exact(Problem::parse(text), Operation::forward, options, 0, "sub_pixel");
                    if (HasFailure()) return;
                }
    if (kernels == 0) GTEST_SKIP() << "this GPU reads no tensor maps";
}

// More tiles than blocks are launched: of one chunk, with a bias or none, in cells that are whole or not, in sums of different
// lengths.
TEST_P(HalfPrecisionTensorMaps, GoesThroughFurtherTiles) {
    PlanOptions options;
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
    expect_exact_of({"n1ic8oc128ih181iw190kh1kw1", "n1ic8oc136ih95iw73kh2kw2sh2sw2",
                     "n1ic8oc136ih52iw88kh3kw3sh2sw2ph1pw1"}, Operation::forward, options, "256x128");
    expect_exact_of({"n1ic8oc8ih181iw190kh1kw1", "n1ic136oc8ih95iw91kh2kw2sh2sw2"}, Operation::input_gradient, options,
                    "weight_maps");
}

// Runs of channels that are not filled, chunks beyond the last channel, groups, phases without taps; sums that are split; one
// position; one axis and three.
TEST_P(HalfPrecisionTensorMaps, ReadsWeightsByTensorMaps) {
    PlanOptions options;
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
    options.epilogue.bias = true;
    int kernels = 0;
    kernels += expect_exact_of({"n3ic200oc136ih3iw5kh2kw2sh2sw2", "n2g2ic128oc208ih3iw2kh3kw3sh2sw2ph1pw1oph1opw1",
                                "n5ic72oc40ih1iw1kh4kw4",
                                "n2ic64oc72ih4iw3kh1kw1sh2sw2", "n2ic512oc72ih3iw2kh4kw4sh2sw2ph1pw1", "n2ic40oc24iw50kw16sw8pw4",
                                "n2ic64oc72id3ih2iw5kd2kh2kw2sd2sh2sw2", "n2ic256oc72id2ih2iw3kd3kh3kw3pd1ph1pw1"},
                               Operation::forward, options, "weight_maps");
    // The input gradient has any number of channels, also where taps are summed over.
    options.epilogue.bias = false;
    kernels += expect_exact_of({"n2ic77oc72ih3iw5kh3kw3sh2sw2ph1pw1", "n1ic145oc16ih4iw9kh2kw2sh2sw2",
                                "n2ic21oc5ih4iw5kh4kw4sh2sw2ph1pw1"}, Operation::input_gradient, options, "weight_maps_any");
    if (kernels == 0) GTEST_SKIP() << "none of this build's kernels for this GPU reads them so";
}

// Chunks that go beyond rows and images, tiles of taps and channels that are not filled, groups, strides, dilation, padding;
// lines of three, five and seven kernel positions, fewer and more of them than a block has; groups that are joined.
TEST_P(HalfPrecisionTensorMaps, WeightGradientsReadTensorMaps) {
    PlanOptions options;
    options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
    expect_exact_of({"n3ic72oc136ih5iw7kh3kw3ph1pw1", "n2ic136oc64ih9iw11kh4kw4sh2sw2ph1pw1",
                     "n2g2ic128oc80ih7iw5kh3kw2sh3dw2",
                     "n1ic264oc40iw90kw16sw8pw4", "n2ic64oc72id3ih4iw5kd2kh3kw2sd2sw2pd1", "n70ic64oc64ih1iw1kh2kw2",
                     "n2ic40oc72ih9iw11kh3kw7ph1pw3", "n2g2ic64oc96ih6iw9kh5kw5ph2", "n3ic24oc32iw300kw3pw1",
                     "n2g8ic32oc64ih5iw6kh3kw3", "n3g6ic96oc48ih4iw5kh4kw2sh2sw2",
                     "n2ic32oc40id3ih4iw5kd3kh3kw3sd2sh2sw1dh2pd1ph1"}, Operation::weight_gradient, options, "maps");
    options.input.layout = Layout::channels_first;
    expect_exact(Problem::parse("n2ic136oc68ih4iw6kh2kw2sh2sw2"), Operation::weight_gradient, options, 0, "maps");
}

// Channels that fill no row of 16 bytes, groups that fill no chunk, planes that begin anywhere; strides, whose outputs are no
// neighbours.
const char *const packed_row_problems[] = {
    "n3ic72oc40ih5iw7kh3kw3ph1pw1", "n2ic50oc72ih9iw11kh3kw7ph1pw3", "n2ic64oc136ih4iw5kh3kw5",
    "n2ic64oc64ih6iw5kh4kw4sh2sw2ph1pw1",
    "n2g3ic60oc96ih4iw5kh3kw3", "n1ic33oc64ih7iw5kh5kw6dh2ph3", "n2ic30oc48iw300kw9pw4", "n2ic44oc24iw300kw2",
    "n2ic36oc32id3ih4iw5kd3kh3kw3",
    // Phases as channels: neighbours are rows of a tile, fours of them if the stride is two or a multiple of four.
    "n2ic40oc20ih5iw70kh4kw4sh2sw2ph1pw1", "n2ic64oc9ih5iw7kh3kw4sh1sw4ph1pw2oph0opw1", "n1ic24oc5ih3iw37kh8kw8sh8sw8",
    "n3ic16oc33ih3iw5kh3kw6sh3sw6pw1",
    "n2ic40oc24iw50kw16sw8pw4", "n2ic16oc24id2ih3iw9kd2kh2kw2sd2sh2sw2"};

TEST_P(HalfPrecisionTensorMaps, PacksRowsForTensorMaps) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32})
        for (const Layout layout : {Layout::channels_first, Layout::channels_last})
            for (const char *text : packed_row_problems) {
                if (type != ElementType::float16 && text != packed_row_problems[0] && text != packed_row_problems[3]) continue;
                PlanOptions options;
                options.precision = Precision::tf32;
                options.input = options.weight = {type, layout}, options.output = {type, Layout::channels_first};
                expect_exact(Problem::parse(text), Operation::input_gradient, options, 0, "maps");
                options.epilogue.bias = true;
                expect_exact(Problem::parse(text), Operation::forward, options, 0, "maps");
                if (HasFailure()) return;
            }
}

// And weights of several positions, for kernels that read those of channels_last as they are given.
TEST_P(HalfPrecisionTensorMaps, TurnsResults) {
    int kernels = 0, gradients = 0;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32})
        for (const Layout layout : {Layout::channels_first, Layout::channels_last})
            for (const char *text : problems_of_odd_strides) {
                if (type == ElementType::bfloat16 && text != problems_of_odd_strides[0]) continue;
                PlanOptions options;
                options.precision = Precision::tf32;
                options.input = {type, layout}, options.weight = options.output = {type, Layout::channels_first};
                options.epilogue = {.bias = true, .activation = Activation::relu};
                kernels += expect_exact(Problem::parse(text), Operation::forward, options, 0, "hwc_maps");
                kernels += expect_exact(Problem::parse(text), Operation::forward, options, 0, "hwc_weight_maps");
                std::swap(options.input, options.output), options.epilogue = {};
                gradients += expect_exact(Problem::parse(text), Operation::input_gradient, options, 0, "hwc_weight_maps");
                if (HasFailure()) return;
            }
    if (!has_kernels_of_channels_last()) GTEST_SKIP() << "none of this build's kernels for this GPU reads tensor maps";
    EXPECT_GT(kernels, 0) << "no result is turned to channels_first";
    EXPECT_GT(gradients, 0) << "no input gradient is turned to channels_first";
}

// Runs that rows do not fill, and rows of several runs; borders above and below, taps eight apart, channels that fill no chunk
// and no tile, groups; one axis, and three. Kernels as large as their strides, with weights as they are given, of which an
// image is one row: rows that are no multiple of a run, or of 16 bytes. Sums that are cut. Input gradients of kernels two wide that
// see pairs of neighbours, of one, four and eight rows.
const char *const problems_as_they_lie[] = {
    "n2ic72oc40ih5iw16kh3kw1ph1", "n1ic50oc136ih3iw72kh5kw1ph2", "n2g2ic128oc160ih2iw40kh1kw3pw8dw8",
    "n3ic24oc24iw128kw3dw16pw16",
    "n2ic72oc80ih5iw24kh1kw1", "n3ic16oc136ih6iw4kh1kw1", "n2ic40oc24id2ih3iw16kd3kh3kw1pd1ph1", "n2ic72oc24id2ih2iw4kd1kh1kw1",
    "n2ic72oc20ih5iw24kh2kw2sh2sw2", "n3ic24oc72ih6iw4kh4kw4sh4sw4", "n2ic64oc40ih6iw44kh3kw2sh3sw2",
    "n3ic40oc16ih16iw7kh2kw2sh2sw2",
    "n2g2ic128oc48ih2iw8kh2kw2sh2sw2", "n2ic40oc24id2ih3iw4kd2kh2kw2sd2sh2sw2", "n2ic40oc24iw88kw2sw2",
    "n2ic24oc9iw96kw8sw8", "n1ic1040oc24ih3iw12kh1kw1", "n1ic24oc1040ih3iw12kh1kw1",
    "n2ic130oc36ih7iw24kh4kw2sh4sw2", "n2g2ic64oc64id3ih5iw16kd1kh2kw2sd1sh2sw2", "n1ic24oc4id3ih5iw72kd4kh2kw2sd4sh2sw2",
    "n1ic24oc16ih3iw16kh2kw2sh2sw2dh2"};

TEST_P(HalfPrecisionTensorMaps, ReadsPicturesInChannelsFirstAsTheyLie) {
    expect_exact_in_channels_first(problems_as_they_lie, forward_and_input_gradient("as_it_lies"), 1);
}

// Three taps along the width: each centre, padding beyond the taps, outer taps with dilation and padding, rows that end inside of a
// run of four and at the end of a run, more tiles than blocks, channels and chunks that are not full, groups, one axis and three.
const char *const problems_of_row_taps[] = {
    "n2ic40oc70ih3iw136kh3kw3ph1pw1dh2", "n1ic8oc64ih2iw248kh2kw3",         "n2ic24oc20ih3iw128kh1kw3pw2", "n1ic72oc130iw264kw3pw3",
    "n2ic8oc24ih2iw120kh1kw3pw5",        "n2g2ic128oc40ih2iw64kh1kw3pw1",   "n1ic16oc64ih134iw248kh1kw3pw1",
    "n1ic16oc40id2ih2iw136kd2kh3kw3pd1ph1pw1"};

TEST_P(HalfPrecisionTensorMaps, HasTapsOfPicturesAsTheyLieAsRows) {
    expect_exact_in_channels_first(problems_of_row_taps, forward_and_input_gradient("as_it_lies_t3"),
                                   std::size(problems_of_row_taps));
}

// Weights that a block keeps: several tiles of channels, chunks that are not full, groups, more tiles than blocks, one axis, phases
// that are channels, and kernels of one position.
TEST_P(HalfPrecisionTensorMaps, KeepsWeightsForAllTiles) {
    constexpr const char *problems[] = {"n1ic40oc140ih40iw264kh3kw3ph1pw1", "n2g2ic48oc80ih2iw64kh1kw3pw1", "n1ic24oc20iw17000kw3",
                                        "n1ic72oc64ih96iw88kh2kw2sh2sw2", "n2ic8oc24ih5iw16kh3kw3ph1pw1",
                                        "n1ic136oc72ih160iw232kh1kw1"};
    expect_exact_in_channels_first(problems, forward_and_input_gradient("_kept_"), 1);
    int kernels = 0;
    for (const char *text : problems) {
        PlanOptions options;
        options.input = options.output = {ElementType::float16, Layout::channels_last}, options.weight.type = ElementType::float16;
        kernels += expect_exact(Problem::parse(text), Operation::forward, options, 0, "_kept_");
        kernels += expect_exact(Problem::parse(text), Operation::input_gradient, options, 0, "_kept_");
    }
    if (kernels == 0) GTEST_SKIP() << "none of this build's kernels for this GPU reads channels_last so";
}

// Kernels of one position alone: chunks and tiles that are not full, more tiles than blocks, outputs that see no input and inputs
// that no output sees, one axis and three; with what is added to sums, and nothing.
TEST_P(HalfPrecisionTensorMaps, MultipliesChannelsOfOnePosition) {
    int kernels = 0;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32})
        for (const Layout layout : {Layout::channels_first, Layout::channels_last})
            for (const char *text : {"n3ic72oc40ih5iw8kh1kw1", "n2ic64oc72ih6iw16kh1kw1ph1pw2", "n1ic520oc136iw304kw1",
                                     "n2ic200oc64id3ih4iw2kd1kh1kw1", "n1ic1032oc16ih3iw8kh1kw1", "n1ic8oc72ih48iw400kh1kw1"}) {
                PlanOptions options;
                options.precision = Precision::tf32;
                options.input = options.output = options.weight = {type, layout};
                kernels += expect_exact_by({"_1x1_", "_as_it_lies_weight_maps_clusters", "_weight_rows_clusters"},
                                           Problem::parse(text), options);
                if (HasFailure()) return;
            }
    if (kernels == 0) GTEST_SKIP() << "this GPU reads no tensor maps";
}

// Rows of four, eight and two positions that are joined: of channels that fill no 16 bytes, more tiles than one, other axes with
// taps, strides and padding, and those of all images.
const char *const problems_of_joined_positions[] = {"n2ic20oc10ih5iw60kh1kw1", "n1ic5oc3id2ih3iw16kd1kh1kw1",
                                                    "n2ic12oc6ih7iw8kh4kw1sh2ph1",
                                                    "n2ic36oc20ih3iw20kh3kw1ph1", "n3ic12oc28id3ih2iw4kd2kh3kw1sd2ph1"};

// Where outputs see several inputs of a row: kernels that reach over several joined outputs, strides, dilations, padding that is no
// whole number of outputs, or of which inputs are left out.
const char *const problems_of_joined_outputs[] = {
    "n2ic12oc12ih5iw16kh7kw7ph3pw3", "n1ic18oc9ih4iw16kh5kw5ph2pw2", "n1ic12oc6ih5iw8kh3kw3sh2sw2ph1pw1oph1opw1",
    "n2ic20oc5iw32kw4sw2pw1", "n1ic12oc12ih3iw24kh3kw3ph2pw2dh2dw2", "n1ic20oc12ih3iw12kh2kw5",
    "n1ic12oc20id3ih2iw8kd3kh3kw3pd1ph1pw1", "n1ic44oc3ih3iw16kh6kw6sh3sw3ph1pw1oph2opw2"};

TEST_P(HalfPrecisionTensorMaps, JoinsPositionsByTensorMaps) {
    expect_exact_in_channels_last(problems_of_joined_positions, "ndhwc_maps");
}
TEST_P(HalfPrecisionTensorMaps, JoinsOutputsByTensorMaps) {
    expect_exact_in_channels_last(problems_of_joined_outputs, "forward");
}

// Groups whose channels share tiles: of whole rows of 16 bytes and others, of one and several joined ones; with phases, and cells,
// as channels, strides, dilations; one axis, and three.
const char *const problems_of_joined_groups[] = {"n2g8ic32oc32ih9iw12kh4kw4sh2sw2ph1pw1",
                                                 "n1g4ic32oc64ih9iw16kh3kw5sh2sw3ph1pw2dh2",
                                                 "n2g6ic24oc36ih7iw8kh3kw3sh2sw2ph1pw1oph1opw1",
                                                 "n1g4ic32oc16id3ih5iw6kd3kh2kw3sd2sh2sw2",
                                                 "n2g4ic64oc64ih10iw10kh3kw3ph1pw1", "n1g4ic64oc64iw24kw4sw4"};

TEST_P(HalfPrecisionTensorMaps, JoinsGroupsByTensorMaps) {
    expect_exact_in_channels_last(problems_of_joined_groups, "ndhwc_maps");
    expect_exact_in_channels_first(problems_of_joined_groups,
                                   {{Operation::forward, "ncdhw_maps"}, {Operation::input_gradient, "ncdhw_maps"}}, 0);
}

// At stride 1 input gradients are forward operations with weights that are mirrored, of cells, too.
TEST_P(HalfPrecisionTensorMaps, InputGradientsAreOfCells) {
    constexpr const char *problems[] = {"n2ic12oc12ih5iw16kh7kw7ph3pw3", "n1ic5oc20ih4iw24kh3kw5ph1pw2", "n1ic16oc3iw64kw9pw8dw2"};
    expect_exact_in_channels_first(problems, {{Operation::input_gradient, "cells"}}, 0);
}

// Weight gradients of pictures whose positions are one row: images that fill no run, channels that fill no tile, groups; taps
// along an outer axis, and along the width where they are eight apart.
const char *const problems_of_runs[] = {"n3ic70oc40ih10iw20kh1kw1", "n2g3ic66oc45ih10iw12kh1kw1", "n2ic150oc140iw200kw1",
                                        "n2ic24oc20ih10iw16kh3kw1ph1", "n2ic24oc20id5ih4iw4kd3kh1kw1dd2opd1",
                                        "n1ic24oc20iw64kw3pw8dw8"};

TEST_P(HalfPrecisionTensorMaps, SumsRunsOfPositionsAsTheyLie) {
    expect_exact_in_channels_first(problems_of_runs, {{Operation::weight_gradient, "nchw_maps"}}, std::size(problems_of_runs));
}

// Weight gradients of kernels as large as their strides, two along the width, of whose output gradient words of two neighbours are
// read: rows of one to several runs that they do not fill, one to eight lines of a channel, channels that fill no tile, groups.
const char *const problems_of_pairs[] = {
    "n3ic72oc20ih5iw40kh2kw2sh2sw2", "n2g2ic280oc66iw72kw2sw2", "n2ic130oc36ih7iw24kh4kw2sh4sw2",
    "n2g3ic33oc21ih3iw8kh2kw2sh2sw2",
    "n2ic40oc20id3ih2iw40kd2kh2kw2sd2sh2sw2", "n1ic24oc5id3ih5iw72kd4kh2kw2sd4sh2sw2", "n1ic24oc16ih3iw16kh2kw2sh2sw2dh2"};

TEST_P(HalfPrecisionTensorMaps, SumsProductsOfPairsAsTheyLie) {
    expect_exact_in_channels_first(problems_of_pairs, {{Operation::weight_gradient, "in_pairs"}}, 1, false);
}

// Sums that are cut into shares of their steps: of taps and of channels that fill no chunk; phases of different lengths, or
// without taps; channels that fill no 16 bytes; one to three axes.
const char *const problems_of_parts[] = {
    "n2ic112oc21id2ih3iw5kd3kh3kw3pd1ph1pw1", "n1ic520oc3iw40kw5pw2", "n2ic1000oc40ih3iw4kh3kw3sh2sw2ph1pw1oph1opw1",
    "n1ic520oc5id2ih3iw3kd3kh3kw3sd2sh2sw2pd1ph1pw1opd1", "n1ic1600oc72iw9kw16sw8pw4", "n3ic41oc7ih4iw5kh4kw5dh2dw3",
    "n2ic4000oc136ih2iw2kh1kw1", "n1ic4000oc24ih2iw3kh2kw2sh3sw3oph1opw1"};

TEST_P(HalfPrecisionTensorMaps, CutsLongSumsIntoSharesOfSteps) {
    int kernels = 0;
    in_formats(problems_of_parts, {problems_of_parts[0]}, [&](const Problem &p, TensorFormat in, TensorFormat out) {
        PlanOptions options;
        options.input = in, options.weight = options.output = out;
        options.epilogue = {.bias = true, .activation = Activation::relu};
        kernels += expect_exact(p, Operation::forward, options, 0, "parts");
    });
    if (kernels == 0) GTEST_SKIP() << "none of this build's kernels for this GPU makes parts so";
}

// More tiles than blocks are launched, whose rows are stored with and without conditions.
TEST_P(HalfPrecisionTensorMaps, GoesThroughFurtherTilesOfPicturesAsTheyLie) {
    PlanOptions options;
    options.precision = Precision::tf32;
    for (const ElementType type : {ElementType::float32, ElementType::float16}) {
        options.input = options.weight = options.output = {type, Layout::channels_first};
        expect_exact_of({"n1g1ic8oc136ih92iw192kh1kw1", "n1g1ic8oc136ih68iw200kh3kw1ph1",
                         "n1g1ic8oc68ih62iw188kh2kw2sh2sw2"}, Operation::forward, options, "nchw_as_it_lies");
        expect_exact(Problem::parse("n1g1ic136oc8ih92iw192kh1kw1"), Operation::input_gradient, options, 0, "weight_rows");
        expect_exact(Problem::parse("n1g1ic136oc4ih90iw184kh2kw2sh2sw2"), Operation::input_gradient, options, 0, "in_pairs");
    }
    options.input.layout = options.weight.layout = options.output.layout = Layout::channels_last;
    expect_exact(Problem::parse("n2g1ic8oc136ih92iw100kh1kw1"), Operation::forward, options, 0, "weight_maps_128x128");
}

// Few output channels, whose taps fill rows, and rows that are filled up; strides, dilation, padding and outputs that no tap
// sees; groups; pictures of one position; one axis, and three; sums that are split. Some are rows of the width alone.
const char *const tap_problems[] = {
    "n2ic24oc1ih6iw7kh2kw2sh2sw2", "n3ic72oc3ih5iw7kh7kw7sh2sw2oph1opw1", "n2ic40oc5ih9iw4kh4kw3sh2sw3ph1pw2dw2",
    "n1ic56oc2iw150kw9sw4pw4opw3",
    "n2g2ic48oc6ih5iw6kh3kw4sh2sw1ph1", "n2ic32oc8ih4iw5kh4kw4sh2sw2ph1pw1", "n3ic24oc3id2ih3iw4kd2kh3kw2sd2sh2sw1pd1opd1",
    "n5ic100oc64ih1iw1kh4kw4", "n3ic72oc32id1ih1iw1kd2kh4kw4", "n2ic64oc40iw30kw16sw8pw4", "n1ic24oc2id3ih4iw5kd1kh1kw1"};

TEST_P(HalfPrecisionTensorMaps, HasTapsAsChannelsByTensorMaps) {
    int kernels = 0;
    in_formats(tap_problems, {tap_problems[1], tap_problems[5]}, [&](const Problem &p, TensorFormat pictures, TensorFormat weight) {
        PlanOptions options;
        options.input = options.output = pictures, options.weight = weight;
        kernels += expect_exact(p, Operation::input_gradient, options, 0, "maps");
    });
    if (kernels == 0) GTEST_SKIP() << "this GPU reads no tensor maps";
}

TEST_P(HalfPrecisionTensorMaps, TensorMapsHaveLimits) {
    struct Limit {
        Operation operation;
        const char *kernel, *problem, *words;
    };
    const Limit limits[] = {
        {Operation::forward, "forward_f16_cuda_implicit_gemm_any_nhwc_maps_256x64", "n1ic64oc64iw40kw257", "too far beyond"},
        {Operation::forward, "forward_f16_cuda_implicit_gemm_any_nhwc_maps_256x64", "n1ic64oc64iw40kw10dw40", "too far beyond"},
        {Operation::forward, "forward_f16_cuda_implicit_gemm_any_nhwc_maps_256x64_w3", "n1ic64oc64iw40kw4", "no multiple of 3"},
        {Operation::forward, "forward_f16_cuda_implicit_gemm_any_nhwc_maps_256x64_w3", "n1ic64oc64iw40kw3dw2",
        "taps of a window are neighbours"},
        {Operation::forward, "forward_f16_cuda_implicit_gemm_any_nhwc_weight_maps_128x64", "n1ic64oc64iw400kw130pw65",
        "kernel is too large"},
        {Operation::weight_gradient, "weight_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_c64x256",
        "n1ic256oc64iw40kw40", "too far beyond"},
        {Operation::weight_gradient, "weight_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_w3", "n1ic64oc64iw40kw4",
        "no 3 neighbours"},
        {Operation::weight_gradient, "weight_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_w3", "n1ic64oc64iw40kw3sw2",
        "no 3 neighbours"}};
    for (const Limit &limit : limits) {
        PlanOptions options;
        options.device = GetParam(), options.operation = limit.operation, options.kernel = limit.kernel;
        options.input = options.weight = options.output = {ElementType::float16, Layout::channels_last};
        std::string reason = "it has one";
        try {
            const Plan plan(Problem::parse(limit.problem), options);
        } catch (const Unsupported &error) {
            reason = error.what();
        }
        if (reason.find("compute capability is") != std::string::npos || reason.find("no kernel of that name") != std::string::npos)
            GTEST_SKIP() << reason;
        EXPECT_NE(reason.find(limit.words), std::string::npos) << limit.problem << ": " << reason;
    }
}

INSTANTIATE_ON_DEVICES(HalfPrecisionTensorMaps);

}  // namespace
}  // namespace conv_transpose::testing

// Problems that kernels were made for: the attributes of each family, with sizes, channels and padding drawn. Random
// attributes alone would meet most of these kernels too seldom.
#include <gtest/gtest.h>

#include <algorithm>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

struct Family {
    const char *attributes;  ///< a problem string without sizes
    bool depthwise = false;
    bool few_pixels = false;  ///< of many channels
    bool tensor_cores = false;  ///< as many channels as their kernels ask for
};

const Family families[] = {
    {"kh3kw3"},
    {"kh3kw5"},
    {"kh3kw7"},
    {"kh2kw2sh2sw2"},
    {"kh3kw3sh2sw2ph1pw1"},
    {"kh4kw4sh2sw2ph1pw1"},
    {"kh9kw9sh2sw2ph4pw4"},
    {"kh9kw9sh3sw3ph4pw4"},
    {"kh9kw9sh4sw4ph4pw4"},
    {"kh3kw5sh2sw3ph1pw2dh2"},
    {"kh3kw3sh5sw5ph1pw1dh2dw2"},
    {"kh3kw3", false, false, true},
    {"kh3kw5", false, false, true},
    {"kh2kw2sh2sw2", false, false, true},
    {"kh3kw3sh2sw2ph1pw1", false, false, true},
    {"kh4kw4sh2sw2ph1pw1", false, false, true},
    {"kh4kw4sh4sw4ph1pw2", false, false, true},
    {"kh1kw4sh1sw2pw1", false, false, true},
    {"kh5kw5sh2sw2ph2pw2", false, false, true},
    {"kh1kw8sh1sw4pw2", false, false, true},
    {"kh1kw10sh1sw5pw3", false, false, true},
    {"kh1kw16sh1sw8pw4", false, false, true},
    {"kh16kw16sh8sw8ph4pw7", false, false, true},
    {"kh3kw3ph1pw1", false, true},
    {"kh4kw4sh2sw2ph1pw1", false, true},
    {"kh4kw4sh2sw2ph1pw1", true},
    {"kh1kw8sh1sw2pw3", true},
    {"kh18kw1sh3sw1ph7", true},
    {"kh1kw24sh1sw4pw10", true},
    {"kh30kw1sh5sw1ph12", true},
    {"kh1kw36sh1sw6pw15", true},
    {"kh42kw1sh7sw1ph17", true},
    {"kh1kw48sh1sw8pw20", true},
};

// Widths on either side of a tile's, channels on either side of a multiple of the tile's.
Problem draw(const Family &family, RandomProblems &random) {
    Problem p = Problem::parse(family.attributes);
    for (;;) {
        p.batch = random.between(1, 2);
        p.groups = family.depthwise ? random.between(1, 9) : random.one_in(3) ? random.between(2, 3) : 1;
        p.in_channels = family.depthwise ? p.groups : p.groups * random.between(1, 5);
        p.out_channels = family.depthwise ? p.groups : p.groups * random.between(1, 9);
        if (!family.depthwise && random.one_in(3)) {
            // Kernels for few output channels take input channels by eight.
            p.in_channels = p.groups * 8 * random.between(1, 3);
            p.out_channels = p.groups * random.between(1, 4);
        }
        if (family.tensor_cores) {
            p.in_channels = p.groups * random.between(8, 20);
            p.out_channels = p.groups * random.between(16, 70);
        }
        p.height().input = random.between(1, 12);
        p.width().input = random.one_in(2) ? random.between(1, 20) : random.between(20, 140);
        // What a large stride makes of many channels takes ptx_machine minutes.
        if (family.tensor_cores && p.height().kernel == 1) p.height().input = random.between(1, 2);
        if (p.height().stride * p.width().stride > 8)
            p.height().input = random.between(1, 4), p.width().input = random.between(1, 20);
        if (family.few_pixels) {
            p.out_channels = p.groups * 64 * random.between(1, 2);
            p.height().input = random.between(1, 4), p.width().input = random.between(1, 4);
        }
        for (Axis *axis : {&p.height(), &p.width()}) {
            // Whole strides of padding more or less are the same kernel.
            const int64_t phase = axis->padding % axis->stride;
            axis->padding = phase + random.between(0, 2) * axis->stride;
            axis->output_padding = random.between(0, axis->stride - 1);
        }
        try {
            p.validate();
            return p;
        } catch (const InvalidProblem &) {
        }
    }
}

void expect_exact_on_every_kernel(const Problem &problem, Device device, RandomProblems &random) {
    const auto input = random.integers(problem.input_elements()), weight = random.integers(problem.weight_elements());
    const auto bias = random.integers(problem.out_channels);
    const auto expected = forward(problem, input, weight, bias);
    PlanOptions options;
    options.device = device;
    options.epilogue.bias = true;
    for (const PlanOptions &forced : for_every_kernel(problem, options)) {
        const Trace trace(problem.str() + " by " + forced.kernel);
        expect_equal(run_forward(Plan(problem, forced), input, weight, bias), expected);
    }
}

class Families : public ::testing::TestWithParam<std::tuple<Device, Family>> {};

TEST_P(Families, EqualTheOracleOnEveryKernelThatAcceptsThem) {
    const auto &[device, family] = GetParam();
    if (const char *reason = missing(device)) GTEST_SKIP() << reason;
    RandomProblems random(2);
    // The oracle takes its time for many channels, as ptx_machine does, and CPU kernels do not depend on their number.
    const int most = !family.tensor_cores ? 40 : device == Device::cuda ? 20 : 2, wanted = random_problem_count(device);
    const int problems = std::min(most, family.tensor_cores ? (wanted + 2) / 3 : wanted);
    for (int i = 0; i < problems && !HasFatalFailure(); i++)
        expect_exact_on_every_kernel(draw(family, random), device, random);
}

// A kernel of one padding phase is not for another.
TEST_P(Families, WithAnyPadding) {
    const auto &[device, family] = GetParam();
    if (const char *reason = missing(device)) GTEST_SKIP() << reason;
    RandomProblems random(5);
    for (int i = 0; i < (device == Device::cuda || family.tensor_cores ? 2 : 8) && !HasFatalFailure(); i++) {
        Problem p = draw(family, random);
        for (Axis *axis : {&p.height(), &p.width()})
            axis->padding = random.between(0, std::min<int64_t>(axis->padding + 1, axis->stride));
        if (p.height().output() > 0 && p.width().output() > 0) expect_exact_on_every_kernel(p, device, random);
    }
}

class ManyChannels : public DeviceTest {
  protected:
    static void expect_exact_of(std::initializer_list<const char *> problems, int seed) {
        RandomProblems random(seed);
        for (const char *problem : problems) expect_exact_on_every_kernel(Problem::parse(problem), GetParam(), random);
    }
};

// More output channels than one unit of work takes, and not a whole number of units.
TEST_P(ManyChannels, EqualTheOracleOnEveryKernelThatAcceptsThem) {
    expect_exact_of({"n1g1ic3oc129ih5iw17kh3kw3", "n1g2ic4oc300ih4iw9kh2kw2sh2sw2",
                     "n2g1ic2oc261ih3iw18kh3kw3sh2sw2ph1pw1",
                     "n1g1ic5oc200ih4iw5kh4kw4sh2sw2ph1pw1", "n1g1ic2oc140ih3iw4kh3kw5sh2sw3dh2"}, 3);
}

// Several tiles along a row, and down the rows of volumes; sums of more channels than one loop takes.
TEST_P(ManyChannels, OfFewOutputChannelsEqualTheOracle) {
    expect_exact_of({"n1g1ic3oc2iw9000kw4sw2pw1", "n2g1ic270oc1ih7iw6kh4kw4sh2sw2ph1pw1",
                     "n2g2ic4oc2id6ih17iw20kd3kh3kw5sd2sh2sw2pd1", "n1g1ic140oc3ih3iw11kh3kw3sh3sw3",
                     "n2g1ic5oc2ih3iw70kh1kw1", "n1g2ic14oc10id2ih5iw19kd1kh1kw1", "n1g1ic19oc7ih9iw33kh1kw1",
                     "n1g1ic18oc5ih9iw13kh4kw4sh2sw2ph1pw1", "n1g1ic16oc3ih8iw11kh3kw3"}, 6);
}

// Rows without gaps are one row to some kernels, but not those of two images or channels.
TEST_P(ManyChannels, OfRowsWithoutGapsEqualTheOracle) {
    expect_exact_of({"n3g1ic5oc20ih3iw5kh2kw2sh2sw2", "n2g2ic18oc6id3ih2iw3kd2kh2kw2sd2sh2sw2",
                     "n5g1ic3oc2ih4iw4kh4kw4sh4sw4", "n2g1ic3oc9id2ih3iw2kd1kh2kw1sh3",
                     "n2g1ic4oc3id3ih4iw8kd3kh2kw2sd2sh2sw2pd1", "n2g1ic2oc5ih1iw300kh1kw3sw3"}, 7);
}

// Phases without taps have results all the same: of strides beyond the kernel, and of dilations; in rows of less than a vector,
// and of more.
TEST_P(ManyChannels, OfPhasesWithoutTapsEqualTheOracle) {
    if (const char *reason = missing(GetParam())) GTEST_SKIP() << reason;
    RandomProblems random(9);
    for (const char *problem : {"n2g1ic5oc20id3ih3iw9kd1kh1kw1sd2sh2sw2", "n1g2ic6oc34ih4iw5kh2kw1sh4sw3ph1dh2oph2",
                                "n2g1ic3oc17ih6iw20kh3kw3sh2sw2ph1pw1dh2dw2", "n3g1ic4oc40id2ih5iw3kd2kh1kw2sd3sh3sw1pd1opd1",
                                "n1g1ic18oc3ih2iw4kh2kw3sh5sw2ph1", "n2g1ic5oc20id3ih4iw9kd1kh2kw2sd3sh2sw2pd1opd2",
                                "n1g17ic17oc17id2ih3iw7kd1kh2kw3sd3sh2sw2", "n2g1ic5oc17id1ih3iw1kd1kh1kw1sd3sh2sw2",
                                "n2g2ic6oc34ih2iw1kh1kw3sh2sw5ph1oph1"})
        expect_exact_on_every_kernel(Problem::parse(problem), GetParam(), random);
}

// Taps that see zeros alone are left out; cells of a tile's images are counted together, of which the last tile has fewer.
TEST_P(ManyChannels, OfSmallImagesEqualTheOracle) {
    if (const char *reason = missing(GetParam())) GTEST_SKIP() << reason;
    RandomProblems random(10);
    for (const char *problem : {"n19g1ic9oc40ih2iw3kh5kw3ph2pw1", "n37g1ic18oc17ih4iw4kh4kw4sh2sw2ph1pw1",
                                "n1g1ic3oc48id6ih6iw6kd5kh5kw5pd2ph2pw2", "n70g1ic3oc33ih3iw5kh3kw5sh2sw2",
                                "n5g1ic17oc20id3ih2iw2kd3kh3kw3pd1ph1pw1", "n9g2ic4oc66ih1iw7kh1kw9pw4"})
        expect_exact_on_every_kernel(Problem::parse(problem), GetParam(), random);
}

// Kernels of up to three strides and enough channels for Winograd's algorithm: phases that lack a tap or not, cells that begin
// before the output, tiles that go through images.
TEST_P(ManyChannels, OfKernelsOfFewStridesEqualTheOracle) {
    RandomProblems random(8);
    for (int i = 0, wanted = GetParam() == Device::cpu ? 60 : 6; i < wanted && !HasFatalFailure(); i++)
        expect_exact_on_every_kernel(random.next_of_few_strides(), GetParam(), random);
    for (const char *wide : {"n1ic16oc16ih1iw3000kh1kw4sh1sw2ph0pw1", "n1ic17oc19ih3iw1500kh5kw6sh2sw2ph2pw3"})
        expect_exact_on_every_kernel(Problem::parse(wide), GetParam(), random);
    for (const char *of_six_taps : {"n2ic16oc17ih4iw6kh6kw6", "n2ic17oc16ih5iw6kh12kw5sh2sw3ph3"})
        expect_exact_on_every_kernel(Problem::parse(of_six_taps), GetParam(), random);
}

// Groups of one channel are the lanes of vectors: less than one, some, and not a whole number of them.
TEST_P(ManyChannels, OfGroupsOfOneEqualTheOracle) {
    expect_exact_of({"n3g33ic33oc33iw7kw6sw3pw2opw1", "n2g19ic19oc19ih5iw17kh3kw2sh2sw3ph1pw1dh1dw2",
                     "n1g17ic17oc17id3ih4iw5kd2kh3kw3sd2sh1sw2", "n2g20ic20oc20ih20iw40kh7kw3ph3pw1",
                     "n9g5ic5oc5ih1iw300kh1kw4sw2pw1", "n2g16ic16oc16ih3iw3kh2kw2sh3sw4"}, 4);
}

std::string test_name(const ::testing::TestParamInfo<std::tuple<Device, Family>> &info) {
    const auto &[device, family] = info.param;
    return std::string(name(device)) + (family.depthwise      ? "_depthwise_"
                                        : family.few_pixels   ? "_few_pixels_"
                                        : family.tensor_cores ? "_tensor_cores_"
                                                              : "_") +
           family.attributes;
}

INSTANTIATE_ON_DEVICES(ManyChannels);

INSTANTIATE_TEST_SUITE_P(Attributes, Families,
                         ::testing::Combine(::testing::Values(Device::cpu, Device::cuda),
                                            ::testing::ValuesIn(families)),
                         test_name);

}  // namespace
}  // namespace conv_transpose::testing

// What implicit matrix products of large tensors are taken to be bound by (H200 and H100, 2026-11-28).
#include "choice/product_time.h"

#include <gtest/gtest.h>

#include "choice/alternatives.h"
#include "choice/block_overhead.h"
#include "choice/other_steps_time.h"
#include "choice/product_blocks.h"
#include "gpu_estimates.h"

namespace conv_transpose::testing {
namespace {

KernelTraits kernel(Operation operation, ElementType type, Layout layout) {
    KernelTraits k;
    k.device = Device::cuda, k.operation = operation;
    k.input = k.weight = k.output = {type, layout};
    k.counts_through_images = true;
    k.block_positions = {1, 256};
    k.block_channels = 64;
    k.weight_in_channel_multiple = 32;
    k.blocks_per_multiprocessor = 2;
    k.h200_tflops = 270;
    return k;
}

double time_of(const KernelTraits &k, const char *problem) {
    PlanOptions options;
    options.device = Device::cuda, options.operation = k.operation;
    options.input = k.input, options.weight = k.weight, options.output = k.output;
    return product_time(k, alternatives(Problem::parse(problem), options)[0], h200);
}

TEST(ProductTime, OfLargeOutputsIsOfMergingThePhasesOfARow) {
    KernelTraits k = kernel(Operation::forward, ElementType::float32, Layout::channels_first);
    const char *const large = "n16ic32oc64iw131072kw3sw2pw1dw2";
    const double bytes = 4.0 * 16 * 64 * 262143;
    EXPECT_GT(time_of(k, large), 0.9e-12 * bytes);
    EXPECT_LT(time_of(k, "n16ic32oc64iw131072kw3"), 0.6e-12 * bytes) << "there is one phase";
    EXPECT_LT(time_of(k, "n1ic32oc64iw65536kw3sw2pw1dw2"), 3e-5) << "the second-level cache merges them";
    k.stride_width_multiple = 2;
    EXPECT_LT(time_of(k, large), 0.6e-12 * bytes) << "lanes store pairs";
}

TEST(ProductTime, OfLargeOutputsIsLongerTheMorePhasesARowOfATileHas) {
    KernelTraits k = kernel(Operation::forward, ElementType::float32, Layout::channels_first);
    k.weight_layout = WeightLayout::tensor_core, k.phases_as_channels = true;
    k.block_positions = {8, 256}, k.h200_tflops = 2000;
    const double twos = time_of(k, "n16ic8oc64iw131072kw2sw2"), fours = time_of(k, "n16ic8oc64iw65536kw4sw4");
    EXPECT_GT(fours, 1.5 * twos) << "of as many outputs";
    k.stride_width_multiple = 2;
    EXPECT_LT(time_of(k, "n16ic8oc64iw65536kw4sw4"), 0.7 * fours) << "lanes store pairs";
}

TEST(ProductTime, OfLargeStridesIsOfASectorForEachElement) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float32, Layout::channels_first);
    k.weight_layout = WeightLayout::tensor_core, k.h200_tflops = 2000;
    const char *const strided = "n1ic64oc64iw120064kw16sw10pw3";
    const double sectors = 120064.0 * 16 * 64;
    EXPECT_GT(time_of(k, strided), 3.9e-12 * sectors);
    EXPECT_LT(time_of(k, "n1ic64oc64iw120064kw16sw3pw3"), 2e-12 * sectors) << "neighbours share a sector";
    k.taps_as_channels = true;
    EXPECT_LT(time_of(k, strided), 2e-12 * sectors) << "lanes of four taps see a fourth of them";
}

TEST(ProductTime, OfOddStridesIsOfSingleStores) {
    KernelTraits k = kernel(Operation::forward, ElementType::float16, Layout::channels_first);
    k.weight_layout = WeightLayout::tensor_core;
    const double outputs = 64 * 96000, odd = time_of(k, "n1ic64oc64iw32000kw3sw3");
    k.output.layout = k.input.layout = Layout::channels_last;
    EXPECT_GT(odd - time_of(k, "n1ic64oc64iw32000kw3sw3"), 0.5e-12 * outputs);
}

TEST(ProductTime, OfPhasesThatMayBeNoNeighboursIsOfSingleStores) {
    KernelTraits k = kernel(Operation::forward, ElementType::float32, Layout::channels_first);
    k.weight_layout = WeightLayout::tensor_core, k.phases_as_channels = true;
    const char *const problem = "n1ic64oc64iw32000kw4sw2pw1";
    const double outputs = 64 * 64000, single = time_of(k, problem);
    k.stride_width_multiple = 2;
    EXPECT_GT(single - time_of(k, problem), 1.4e-12 * outputs);
}

TEST(ProductTime, CountsWhatWindowsSeeBeyondARow) {
    KernelTraits k = kernel(Operation::forward, ElementType::float16, Layout::channels_first);
    k.input.layout = Layout::channels_last, k.box_positions = 128;  // of packed rows
    const Problem p = Problem::parse("n64ic128oc256ih16iw16kh3kw3ph1pw1");
    EXPECT_EQ(ProductBlocks(k, p).blocks, 4 * 64);
    k.window = 3;
    EXPECT_EQ(ProductBlocks(k, p).blocks, 4 * 72);
}

TEST(ProductTime, OfPhasesWithoutTapsIsOfTheirStores) {
    KernelTraits k = kernel(Operation::forward, ElementType::float16, Layout::channels_first);
    k.weight_layout = WeightLayout::tensor_core;
    const char *const of_one_phase = "n4ic64oc64ih128iw128kh1kw1sh2sw2", *const of_all = "n4ic64oc64ih128iw128kh2kw2sh2sw2";
    const double bytes = 2.0 * 4 * 64 * 255 * 255, longer = time_of(k, of_one_phase) - time_of(k, of_all);
    k.output.layout = k.input.layout = Layout::channels_last;
    EXPECT_GT(longer - (time_of(k, of_one_phase) - time_of(k, of_all)), 0.3e-12 * bytes);
}

// Boxes of 64 bytes of pixels of 128: between the halves of a line blocks go through all taps.
TEST(ProductTime, OfBoxesOfHalfALineIsOfReadingTwiceBeyondTheCache) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float16, Layout::channels_last);
    k.box_positions = 256, k.weight_layout = WeightLayout::tensor_core;
    const char *const eight_taps = "n64ic16oc64ih64iw64kh8kw1sh8sw1", *const two_taps = "n64ic16oc64ih256iw64kh2kw1sh2sw1";
    const double bytes = 2.0 * 64 * 64 * 512 * 64;
    EXPECT_GT(time_of(k, eight_taps), bytes / 1.8e12);
    const double halves = time_of(k, two_taps);
    k.weight_in_channel_multiple = 64;
    EXPECT_DOUBLE_EQ(time_of(k, two_taps), halves) << "the cache has them still";
    EXPECT_LT(time_of(k, eight_taps), bytes / 2.5e12) << "lines are whole";
}

// The output gradient is 205 MB, of which memory brings each tap's boxes.
TEST(ProductTime, OfStridedBoxesBeyondTheCacheIsOfReadingThemForEachTap) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float16, Layout::channels_last);
    k.box_positions = 256, k.weight_in_channel_multiple = 64, k.h200_tflops = 2000;
    const double boxes = 2.0 * 16 * 112 * 112 * 16 * 128;
    EXPECT_GT(time_of(k, "n16ic32oc128ih112iw112kh4kw4sh2sw2ph1pw1"), 0.99 * boxes / 4.3e12);
    EXPECT_LT(time_of(k, "n4ic32oc128ih112iw112kh4kw4sh2sw2ph1pw1"), 0.8 * boxes / 4 / 4.3e12) << "the cache has it";
    EXPECT_LT(time_of(k, "n64ic32oc128ih112iw112kh4kw4ph1pw1"), 0.8 * 4 * boxes / 4.3e12) << "neighbours are read together";
}

TEST(ProductTime, OfBoxesOfFloatsThatSplitSectorsIsOfOneSectorMore) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float32, Layout::channels_last);
    k.box_positions = 256, k.weight_in_channel_multiple = 16, k.h200_tflops = 2000;
    const char *const strided = "n6ic96oc12ih256iw256kh8kw8sh4sw4ph2pw2";
    const double whole = time_of(k, "n6ic96oc16ih256iw256kh8kw8sh4sw4ph2pw2");
    EXPECT_GT(time_of(k, strided), 1.2 * whole);
}

TEST(ProductTime, OfCopiesOfSomeGroupsIsOfReadingTheOthers) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float16, Layout::channels_last);
    k.taps_as_channels = true, k.out_channel_multiple = 8, k.weight_in_channel_multiple = 64;
    const char *const one = "n64ic64oc128ih80iw80kh4kw4sh2sw2ph1pw1", *const many = "n64g16ic1024oc128ih80iw80kh4kw4sh2sw2ph1pw1";
    const double pixels = 64.0 * 160 * 160;
    EXPECT_GT(time_of(k, many) - time_of(k, one), 16 * pixels * 30e-12);
}

// Input gradients of strides of 2, whose lines are read anew by taps.
TEST(ProductTime, OfJoinedGroupsIsLessIn16BitsAndLongerThanOfOneInGradients) {
    const auto longer = [](Operation operation, ElementType type) {
        KernelTraits k = kernel(operation, type, Layout::channels_first);
        k.h200_tflops = 1;  // nothing else takes time
        PlanOptions options;
        options.device = Device::cuda, options.operation = operation;
        options.input = k.input, options.weight = k.weight, options.output = k.output;
        Computation c = alternatives(Problem::parse("n4ic64oc64ih64iw64kh4kw4sh2sw2ph1pw1"), options)[0];
        const double of_one = product_time(k, c, h200);
        c.joined_groups = 8;
        return product_time(k, c, h200) / of_one;
    };
    EXPECT_NEAR(longer(Operation::input_gradient, ElementType::float32), 1.41, 0.02);
    EXPECT_NEAR(longer(Operation::input_gradient, ElementType::float16), 1.13, 0.02);
    EXPECT_NEAR(longer(Operation::forward, ElementType::float16), 0.8, 0.02);
    EXPECT_DOUBLE_EQ(longer(Operation::forward, ElementType::float32), 1);
}

// Few channels by tiles of 64 and 128 take 2 us more than fuller launches let expect, by 16 and 32 0.8 (float32, 2026-11-30).
TEST(ProductTime, OfTapsThatAreRowsBeginsWithCopies) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float32, Layout::channels_first);
    k.taps_as_channels = true;
    const double large = before_first_block(k);
    k.block_channels = 32;
    EXPECT_GT(large, 2 * before_first_block(k));
    k.taps_as_channels = false;
    EXPECT_LT(before_first_block(k), 0.5e-6);
}

// 192 blocks of k3 s2, whose longest have 1.78 times the products of the others: two of them are beside each other.
TEST(ProductTime, OfOneOfTheLongestBlocksBesideOthersIsLessThanOfTwo) {
    KernelTraits k = kernel(Operation::forward, ElementType::float16, Layout::channels_first);
    k.weight_layout = WeightLayout::tensor_core;
    const char *const problem = "n1ic256oc768ih62iw62kh3kw3sh2sw2ph1pw1";
    const double longest = longest_block(k, Problem::parse(problem));
    EXPECT_DOUBLE_EQ(longest, 16.0 / 9);
    k.h200_tflops = 1;  // nothing else takes time
    const double two = time_of(k, problem);
    k.blocks_per_multiprocessor = 1, k.block_channels = 128;  // as many products at once
    EXPECT_LT(two, 0.9 * time_of(k, problem));
}

TEST(ProductTime, OfPixelsThatSplitLinesIsLonger) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float16, Layout::channels_last);
    k.box_positions = 256, k.rank = 3;
    const auto relative = [&](const char *split, const char *whole) { return time_of(k, split) / time_of(k, whole); };
    EXPECT_GT(relative("n8ic48oc48ih160iw160kh4kw4sh2sw2ph1pw1", "n8ic48oc64ih160iw160kh4kw4sh2sw2ph1pw1"), 1.3);
    EXPECT_LT(relative("n8ic48oc48ih160iw160", "n8ic48oc64ih160iw160"), 1.1) << "of one tap";
    EXPECT_LT(relative("n8ic48oc48ih20iw20kh4kw4sh2sw2ph1pw1", "n8ic48oc64ih20iw20kh4kw4sh2sw2ph1pw1"), 1.1) << "small ones";
    k.block_channels = 96;
    EXPECT_LT(relative("n8ic48oc48ih160iw160kh4kw4sh2sw2ph1pw1", "n8ic48oc64ih160iw160kh4kw4sh2sw2ph1pw1"), 1.2) << "large tiles";
}

// k2 s2, 64 from 32 channels of 64^3, TF32 in channels_last: 156 us, by a kernel whose products would take 40.
TEST(ProductTime, OfFloatsByMapsIsOfThePictures) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float32, Layout::channels_last);
    k.box_positions = 256, k.rank = 3, k.precision = Precision::tf32, k.h200_tflops = 1000;
    const double read = 4.0 * 2 * 32 * 128 * 128 * 128, written = 4.0 * 2 * 64 * 64 * 64 * 64;
    EXPECT_NEAR(time_of(k, "n2ic64oc32id64ih64iw64kd2kh2kw2sd2sh2sw2"), 156e-6, 30e-6);
    EXPECT_LT(time_of(k, "n2ic64oc32id64ih64iw64kd1kh1kw1sd2sh2sw2"), (read / 8 + written) / 2.5e12) << "kernels leave most out";
    k.operation = Operation::forward;
    EXPECT_GT(time_of(k, "n2ic32oc64id64ih64iw64kd2kh2kw2sd2sh2sw2"), 4.0 * 2 * 64 * 128 * 128 * 128 / 3.3e12);
}

// Tiles whose weights a block keeps read no half of a box in vain: k2 s2, 16 from 3 channels.
TEST(ProductTime, OfFewChannelsIsLessWhereABlockKeepsItsWeights) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float32, Layout::channels_last);
    k.box_positions = 256, k.weight_layout = WeightLayout::as_given, k.precision = Precision::tf32;
    const auto products = [&] { return products_of_element(k, Problem::parse("n1ic16oc3ih64iw64kh2kw2sh2sw2")); };
    const double of_boxes = products();
    k.kept_steps = 4;
    EXPECT_EQ(2 * products(), of_boxes);
}

// k4 of 1x1, 100 to 512 channels, 128 images, TF32: 29 us to channels_first, 10 to channels_last.
TEST(ProductTime, OfTinyImagesIsOfSingleFloats) {
    KernelTraits k = kernel(Operation::forward, ElementType::float32, Layout::channels_last);
    k.box_positions = 256, k.rank = 3, k.precision = Precision::tf32;
    const double to_channels_last = time_of(k, "n128ic100oc512ih1iw1kh4kw4");
    k.output.layout = Layout::channels_first;
    const double to_channels_first = time_of(k, "n128ic100oc512ih1iw1kh4kw4");
    EXPECT_GT(to_channels_first, to_channels_last + 15e-6);
    k.input.type = k.weight.type = k.output.type = ElementType::float16;
    EXPECT_LT(time_of(k, "n128ic100oc512ih1iw1kh4kw4"), to_channels_first - 15e-6);
}

// Parts of a sum for images of one position, TF32: 18 us to channels_first, 11 to channels_last.
TEST(AddingTime, OfImagesOfOnePositionIsOfSingleFloats) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float32, Layout::channels_first);
    k.box_positions = 128;
    const auto adding = [&](const char *problem) {
        Computation c = alternatives(Problem::parse(problem), {.operation = Operation::input_gradient})[0];
        c.partial_sums = 8;
        return adding_time(k, c);
    };
    const double of_one = adding("n128ic100oc512ih1iw1kh4kw4"), of_four = adding("n32ic100oc512ih2iw2kh4kw4");
    EXPECT_GT(of_one, of_four + 8e-6);
    k.input.layout = Layout::channels_last;
    EXPECT_LT(adding("n128ic100oc512ih1iw1kh4kw4"), of_one - 8e-6);
    k.input.layout = Layout::channels_first, k.adds_in_clusters = true;
    EXPECT_LT(adding("n128ic100oc512ih1iw1kh4kw4"), of_one - 8e-6) << "no parts are stored";
}

// 256 to 128 channels in 120 blocks of 128 x 128: 175 us, of which two on each multiprocessor take 216 (2 x 32^3 pixels).
TEST(ProductTime, OfOneLargeBlockIsNearlyThatOfTwo) {
    KernelTraits k = kernel(Operation::input_gradient, ElementType::float32, Layout::channels_first);
    k.rank = 3, k.weight_layout = WeightLayout::channels_innermost, k.block_positions = {1, 128}, k.h200_tflops = 43;
    const auto of_few = [&](int64_t channels) {
        k.block_channels = channels;
        return time_of(k, "n1ic64oc128ih64iw64kh2kw2sh2sw2") / time_of(k, "n1ic64oc128ih64iw512kh2kw2sh2sw2");
    };
    EXPECT_GT(of_few(128), 0.65);
    EXPECT_LT(of_few(64), 0.62);
}

// Of float32, put into channels_last: of 64 x 10 channels of 96x96, whose channels fill little of a tile, 31 us.
TEST(TurningTime, IsOfMemoryAndOfTilesThatChannelsFill) {
    Computation c = alternatives(Problem::parse("n1ic8oc8iw8"), {})[0];
    EXPECT_EQ(turning_time(c), 0) << "nothing is turned";
    c.read_format.layout = Layout::channels_last;
    const auto of = [&](int64_t images, int64_t channels, int64_t positions) {
        c.read_turned = TurnedPicture{images, channels, positions};
        return turning_time(c);
    };
    EXPECT_NEAR(of(64, 10, 96 * 96), 31e-6, 4e-6);
    EXPECT_GT(of(64, 64, 96 * 96), 2.0 * 4 * 64 * 64 * 96 * 96 / 4.8e12) << "memory is faster than that of an H200";
    EXPECT_EQ(of(64, 1, 96 * 96), 0) << "both layouts are the same";
}

}  // namespace
}  // namespace conv_transpose::testing

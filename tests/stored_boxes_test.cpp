// Kernels whose tiles the copy engine stores by boxes (compiler/passes/tile_boxes.cpp): integers, equal to the oracle's, rounded
// once to nearest even.
#include "formatted_test.h"

namespace conv_transpose::testing {
namespace {

class StoredBoxes : public FormattedTest {
  protected:
    void SetUp() override {
        if (GetParam() == Device::cpu) GTEST_SKIP() << "the copy engine is of GPUs";
        FormattedTest::SetUp();
    }
};

// Tiles that are stored so, and those that are not: rows of cells that are a multiple of 16, of 8, of none;
// phases that are channels, which fill boxes or do not, with a last tile beyond them, and phases with blocks of their own; cells
// that are cut off, groups, more tiles than blocks, channels that fill no box, three axes; all positions as one row.
TEST_P(StoredBoxes, EqualTheOracle) {
    constexpr const char *problems[] = {
        "n1ic64oc64ih3iw16kh2kw2sh2sw2",         "n2ic32oc32ih3iw24kh2kw2sh2sw2",         "n3ic64oc96ih5iw8kh2kw2sh2sw2",
        "n2ic64oc72ih5iw8kh4kw4sh2sw2ph1pw1",    "n1ic64oc16ih5iw40kh1kw4sw4",            "n2ic64oc64ih3iw12kh2kw2sh2sw2",
        "n1ic64oc64ih3iw16kh3kw3sh2sw2ph1pw1",   "n2g2ic64oc128ih3iw16kh2kw2sh2sw2",      "n2g2ic128oc144ih3iw8kh3kw2ph1pw1",
        "n1ic72oc200ih9iw8kh1kw1",               "n2ic64oc64id2ih3iw8kd2kh2kw2sd2sh2sw2", "n1ic8oc64ih106iw320kh1kw1"};
    int kernels = 0;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const char *text : problems) {
            if (type == ElementType::bfloat16 && text != problems[0]) continue;
            PlanOptions options;
            options.input = options.output = options.weight = {type, Layout::channels_last};
            kernels += expect_exact_by({"maps_256x128", "sub_pixel_256x128", "maps_192x128", "maps_256x96", "kept_256x64"},
                                       Problem::parse(text), options);
            if (HasFailure()) return;
        }
    if (kernels == 0) GTEST_SKIP() << "this GPU reads no tensor maps";
}

INSTANTIATE_ON_DEVICES(StoredBoxes);

}  // namespace
}  // namespace conv_transpose::testing

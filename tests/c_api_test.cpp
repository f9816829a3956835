// The C interface: used from C (c_api_program.c), and its translation of errors.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose_c.h"

extern "C" {
/// From c_api_program.c: runs k2 s2 on a 2 x 2 picture; 0 when all went well. The kernel's name goes into `kernel`.
int run_from_c(float output[16], char *kernel, size_t kernel_size);
}

namespace conv_transpose::testing {
namespace {

class CApi : public ::testing::Test {
  protected:
    char message_[400] = "untouched";
    conv_transpose_problem problem_{};
    conv_transpose_plan_options options_{};
    conv_transpose_plan *plan_ = nullptr;

    void SetUp() override {
        ASSERT_EQ(parse("n1ic3oc4ih5iw6kh3kw3"), CONV_TRANSPOSE_OK) << message_;
        options_.device = CONV_TRANSPOSE_CPU;
    }
    void TearDown() override { conv_transpose_plan_destroy(plan_); }

    conv_transpose_status parse(const char *text) {
        return conv_transpose_problem_parse(text, &problem_, message_, sizeof message_);
    }
    conv_transpose_status create() {
        return conv_transpose_plan_create(&problem_, &options_, &plan_, message_, sizeof message_);
    }
    bool message_has(const char *text) const { return std::strstr(message_, text) != nullptr; }
};

TEST_F(CApi, WorksFromC) {
    float output[16] = {};
    char kernel[100] = "";
    ASSERT_EQ(run_from_c(output, kernel, sizeof kernel), 0);
    EXPECT_STRNE(kernel, "");
    // Each input times the 2 x 2 kernel {1, 2; 3, 4}, plus a bias of 10.
    const float expected[16] = {11, 12, 12, 14, 13, 14, 16, 18, 13, 16, 14, 18, 19, 22, 22, 26};
    for (int i = 0; i < 16; i++) EXPECT_EQ(output[i], expected[i]) << i;
}

TEST_F(CApi, ParsesProblemStrings) {
    ASSERT_EQ(parse("n2g3ic6oc9ih5iw7kh2kw4sh2sw3ph1pw2dh1dw2oph0opw1"), CONV_TRANSPOSE_OK);
    EXPECT_STREQ(message_, "");
    EXPECT_EQ(problem_.batch, 2);
    EXPECT_EQ(problem_.groups, 3);
    EXPECT_EQ(problem_.kernel[0], 2);
    EXPECT_EQ(problem_.kernel[1], 4);
    EXPECT_EQ(problem_.output_padding[1], 1);
    EXPECT_EQ(parse("nonsense"), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("malformed at 'nonsense'")) << message_;
    EXPECT_EQ(parse(nullptr), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("text is NULL")) << message_;
}

TEST_F(CApi, TellsOutputAndSizes) {
    ASSERT_EQ(create(), CONV_TRANSPOSE_OK) << message_;
    int64_t output[2] = {};
    conv_transpose_plan_output_size(plan_, output);
    EXPECT_EQ(output[0], 7);
    EXPECT_EQ(output[1], 8);
    EXPECT_EQ(conv_transpose_plan_device(plan_), CONV_TRANSPOSE_CPU);
    EXPECT_LE(conv_transpose_plan_workspace_bytes(plan_, 1), conv_transpose_plan_workspace_bytes(plan_, 0));
}

TEST_F(CApi, InvalidProblems) {
    problem_.stride[1] = 0;
    EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("stride.width is 0, but it must be at least 1")) << message_;
    EXPECT_EQ(plan_, nullptr);
}

TEST_F(CApi, EnumerationsOutOfRange) {
    options_.activation = static_cast<conv_transpose_activation>(17);
    EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("activation is 17")) << message_;
    options_.activation = CONV_TRANSPOSE_NONE;
    options_.device = static_cast<conv_transpose_device>(-1);
    EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("device is -1")) << message_;
}

TEST_F(CApi, UnknownKernelIsUnsupported) {
    options_.kernel = "f32_abacus_general";
    EXPECT_EQ(create(), CONV_TRANSPOSE_UNSUPPORTED);
    EXPECT_TRUE(message_has("f32_abacus_general")) << message_;
}

TEST_F(CApi, RunReportsWhatIsMissing) {
    ASSERT_EQ(create(), CONV_TRANSPOSE_OK);
    const conv_transpose_arguments nothing{};
    EXPECT_EQ(conv_transpose_plan_run(plan_, &nothing, nullptr, 0, nullptr, message_, sizeof message_),
              CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("input is null")) << message_;
}

TEST_F(CApi, NullPlansAndArgumentsAreStatuses) {
    EXPECT_EQ(conv_transpose_plan_run(nullptr, nullptr, nullptr, 0, nullptr, message_, sizeof message_),
              CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("plan is NULL")) << message_;
    ASSERT_EQ(create(), CONV_TRANSPOSE_OK);
    EXPECT_EQ(conv_transpose_plan_run(plan_, nullptr, nullptr, 0, nullptr, message_, sizeof message_),
              CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("arguments is NULL")) << message_;
    EXPECT_EQ(conv_transpose_plan_pack_weight(nullptr, nullptr, nullptr, nullptr, message_, sizeof message_),
              CONV_TRANSPOSE_INVALID_ARGUMENT);
    conv_transpose_plan_destroy(nullptr);
}

TEST_F(CApi, MessagesFitTheirBuffer) {
    char small[8] = "1234567";
    EXPECT_EQ(conv_transpose_problem_parse("nonsense", &problem_, small, 5), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(small), "prob");
    EXPECT_EQ(small[5], '6');  // beyond the buffer's size
    EXPECT_EQ(conv_transpose_problem_parse("nonsense", &problem_, nullptr, 0), CONV_TRANSPOSE_INVALID_ARGUMENT);
}

TEST_F(CApi, ListsKernels) {
    size_t count = 0;
    while (conv_transpose_kernel_name(count)) count++;
    EXPECT_GT(count, 0u);
    EXPECT_EQ(conv_transpose_kernel_name(count + 1000), nullptr);
    EXPECT_STRNE(conv_transpose_version(), "");
}

}  // namespace
}  // namespace conv_transpose::testing

// The C interface: used from C (c_api_program.c), and its translation of errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "conv_transpose/conv_transpose_c.h"
#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

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

TEST_F(CApi, MeasuresKernels) {
    std::vector<float> input(1 * 3 * 5 * 6, 1), weight(3 * 4 * 9, 1), output(1 * 4 * 7 * 8);
    conv_transpose_arguments arguments{};
    arguments.input = input.data(), arguments.weight = weight.data(), arguments.output = output.data();
    char name[128] = "untouched";
    const auto measure = [&](const conv_transpose_arguments *of, char *into, size_t size) {
        return conv_transpose_fastest_kernel(&problem_, &options_, of, nullptr, into, size, message_, sizeof message_);
    };
    ASSERT_EQ(measure(&arguments, name, sizeof name), CONV_TRANSPOSE_OK) << message_;
    options_.kernel = name;
    ASSERT_EQ(create(), CONV_TRANSPOSE_OK) << message_;
    EXPECT_STREQ(conv_transpose_plan_kernel(plan_), name);
    EXPECT_EQ(output[3 * 8 + 4], 27);  // a position that sees all of the kernel

    char before[8] = "before";
    EXPECT_EQ(measure(&arguments, before, sizeof before), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("name_size is 8, but it must be at least ")) << message_;
    EXPECT_STREQ(before, "before");
    EXPECT_EQ(measure(nullptr, name, sizeof name), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("arguments is NULL")) << message_;
    EXPECT_EQ(measure(&arguments, nullptr, 0), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("name is NULL")) << message_;
    arguments.weight = nullptr;
    EXPECT_EQ(measure(&arguments, name, sizeof name), CONV_TRANSPOSE_UNSUPPORTED);
    EXPECT_TRUE(message_has("weight is null, but the operation needs it")) << message_;
}

TEST_F(CApi, ParsesProblemStrings) {
    ASSERT_EQ(parse("n2g3ic6oc9ih5iw7kh2kw4sh2sw3ph1pw2dh1dw2oph0opw1"), CONV_TRANSPOSE_OK);
    EXPECT_STREQ(message_, "");
    EXPECT_EQ(problem_.batch, 2);
    EXPECT_EQ(problem_.groups, 3);
    EXPECT_EQ(problem_.height.kernel, 2);
    EXPECT_EQ(problem_.width.kernel, 4);
    EXPECT_EQ(problem_.width.output_padding, 1);
    EXPECT_EQ(parse("nonsense"), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("malformed at 'nonsense'")) << message_;
    EXPECT_EQ(parse(nullptr), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("text is NULL")) << message_;
}

TEST_F(CApi, TellsOutputAndSizes) {
    ASSERT_EQ(create(), CONV_TRANSPOSE_OK) << message_;
    int64_t output[3] = {};
    conv_transpose_plan_output_size(plan_, output);
    EXPECT_EQ(output[0], 1);
    EXPECT_EQ(output[1], 7);
    EXPECT_EQ(output[2], 8);
    EXPECT_EQ(conv_transpose_plan_device(plan_), CONV_TRANSPOSE_CPU);
    EXPECT_LE(conv_transpose_plan_workspace_bytes(plan_, 1), conv_transpose_plan_workspace_bytes(plan_, 0));
}

TEST_F(CApi, TellsWhatIsALastResort) {
    for (const auto &[kernel, type, expected] :
         {std::tuple{"forward_f32_cpu_implicit_gemm_any_ncdhw", CONV_TRANSPOSE_ELEMENT_FLOAT32, 0},
          std::tuple{"forward_f16_cpu_gather_any_any_large", CONV_TRANSPOSE_ELEMENT_FLOAT16, 1}}) {
        conv_transpose_plan_destroy(plan_);
        options_.kernel = kernel;
        options_.input.type = options_.weight.type = options_.output.type = type;
        ASSERT_EQ(create(), CONV_TRANSPOSE_OK) << message_;
        EXPECT_EQ(conv_transpose_plan_is_last_resort(plan_), expected) << kernel;
    }
}

// No two fields of the problem are equal, so that each must arrive at its place.
class CApiProblem : public CApi {
  protected:
    static constexpr const char *text = "n2g3ic6oc9ih4iw5kh2kw3sh3sw4ph1pw2dh5dw6oph4opw3";
    const Problem p_ = Problem::parse(text);
    RandomProblems random{1};
    const std::vector<float> input_ = random.integers(p_.input_elements()),
                             weight_ = random.integers(p_.weight_elements()),
                             bias_ = random.integers(p_.out_channels),
                             output_gradient_ = random.integers(p_.output_elements());

    void SetUp() override {
        CApi::SetUp();
        ASSERT_EQ(parse(text), CONV_TRANSPOSE_OK) << message_;
    }

    /// Makes a plan of the options and runs it; what it leaves unwritten of `result` is NaN.
    void run(const conv_transpose_arguments &arguments, std::vector<float> &result) {
        std::fill(result.begin(), result.end(), std::nanf(""));
        if (!plan_) {
            ASSERT_EQ(create(), CONV_TRANSPOSE_OK) << message_;
        }
        const DeviceMemory workspace(
            Device::cpu, conv_transpose_plan_workspace_bytes(plan_, arguments.packed_weight != nullptr));
        ASSERT_EQ(conv_transpose_plan_run(plan_, &arguments, workspace.data(), workspace.bytes(), nullptr, message_,
                                          sizeof message_),
                  CONV_TRANSPOSE_OK)
            << message_;
    }

    std::vector<float> run_forward() {
        std::vector<float> output(p_.output_elements());
        conv_transpose_arguments arguments{};
        arguments.input = input_.data(), arguments.weight = weight_.data(), arguments.bias = bias_.data();
        arguments.output = output.data();
        run(arguments, output);
        return output;
    }

    void start_again() {
        conv_transpose_plan_destroy(plan_);
        plan_ = nullptr;
    }
};

TEST_F(CApiProblem, EveryFieldArrives) {
    options_.bias = 1;
    expect_equal(run_forward(), forward(p_, input_, weight_, bias_));
    int64_t output[3] = {};
    conv_transpose_plan_output_size(plan_, output);
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(output[i], p_.axes[i].output());
    start_again();
    options_.bias = 0;
    expect_equal(run_forward(), forward(p_, input_, weight_, {}));
}

TEST_F(CApiProblem, EveryActivationArrives) {
    options_.negative_slope = 0.25f;
    const std::vector<double> sums = forward(p_, input_, weight_, {});
    for (auto activation : {CONV_TRANSPOSE_NONE, CONV_TRANSPOSE_RELU, CONV_TRANSPOSE_LEAKY_RELU, CONV_TRANSPOSE_TANH,
                            CONV_TRANSPOSE_SIGMOID}) {
        options_.activation = activation;
        const std::vector<float> output = run_forward();
        for (size_t i = 0; i < output.size() && !HasFailure(); i++) {
            const double x = sums[i], y = activation == CONV_TRANSPOSE_NONE         ? x
                                          : activation == CONV_TRANSPOSE_RELU       ? std::max(x, 0.)
                                          : activation == CONV_TRANSPOSE_LEAKY_RELU ? (x < 0 ? x / 4 : x)
                                          : activation == CONV_TRANSPOSE_TANH       ? std::tanh(x)
                                                                                    : 1 / (1 + std::exp(-x));
            EXPECT_NEAR(output[i], y, 1e-6) << "activation " << activation << ", element " << i;
        }
        start_again();
    }
}

TEST_F(CApiProblem, EveryGradientArrives) {
    const Gradients expected = gradients(p_, input_, weight_, output_gradient_);
    conv_transpose_arguments arguments{};
    arguments.input = input_.data(), arguments.weight = weight_.data();
    arguments.output_gradient = output_gradient_.data();
    std::vector<float> of_input(p_.input_elements()), of_weight(p_.weight_elements()), of_bias(p_.out_channels);
    arguments.input_gradient = of_input.data(), arguments.weight_gradient = of_weight.data();
    arguments.bias_gradient = of_bias.data();
    const auto by = [&](conv_transpose_operation operation, std::vector<float> &result) -> const auto & {
        start_again();
        options_.operation = operation;
        run(arguments, result);
        return result;
    };
    expect_equal(by(CONV_TRANSPOSE_INPUT_GRADIENT, of_input), expected.input);
    expect_equal(by(CONV_TRANSPOSE_WEIGHT_GRADIENT, of_weight), expected.weight);
    expect_equal(by(CONV_TRANSPOSE_BIAS_GRADIENT, of_bias), expected.bias);
}

TEST_F(CApi, PackedWeightArrives) {
    const char *text = "n2ic6oc9ih4iw5kh3kw3";
    const Problem p = Problem::parse(text);
    ASSERT_EQ(parse(text), CONV_TRANSPOSE_OK) << message_;
    ASSERT_EQ(create(), CONV_TRANSPOSE_OK) << message_;
    const DeviceMemory packed(Device::cpu, conv_transpose_plan_packed_weight_bytes(plan_)),
        workspace(Device::cpu, conv_transpose_plan_workspace_bytes(plan_, 1));
    if (packed.bytes() == 0) GTEST_SKIP() << "the kernel for this processor does not pack weights";
    EXPECT_LT(workspace.bytes(), conv_transpose_plan_workspace_bytes(plan_, 0));
    RandomProblems random(1);
    const auto input = random.integers(p.input_elements()), weight = random.integers(p.weight_elements());
    ASSERT_EQ(conv_transpose_plan_pack_weight(plan_, weight.data(), packed.data(), nullptr, message_, sizeof message_),
              CONV_TRANSPOSE_OK)
        << message_;
    std::vector<float> output(p.output_elements(), std::nanf(""));
    conv_transpose_arguments arguments{};
    arguments.input = input.data(), arguments.packed_weight = packed.data(), arguments.output = output.data();
    ASSERT_EQ(conv_transpose_plan_run(plan_, &arguments, workspace.data(), workspace.bytes(), nullptr, message_,
                                      sizeof message_),
              CONV_TRANSPOSE_OK)
        << message_;
    expect_equal(output, forward(p, input, weight, {}));
}

TEST_F(CApi, InvalidProblems) {
    problem_.width.stride = 0;
    EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("stride.width is 0, but it must be at least 1")) << message_;
    EXPECT_EQ(plan_, nullptr);
}

TEST_F(CApi, EveryAxisArrives) {
    ASSERT_EQ(parse("ic3oc4id2ih3iw4kd5kh6kw7sd2sh3sw4pd1ph2pw3dd1dh2dw3opd1oph0opw2"), CONV_TRANSPOSE_OK);
    EXPECT_EQ(problem_.rank, 3);
    const Problem p = Problem::parse("ic3oc4id2ih3iw4kd5kh6kw7sd2sh3sw4pd1ph2pw3dd1dh2dw3opd1oph0opw2");
    int i = 0;
    for (const conv_transpose_axis &c : {problem_.depth, problem_.height, problem_.width})
        EXPECT_EQ((Axis{c.input, c.kernel, c.stride, c.padding, c.output_padding, c.dilation}), p.axes[i++]);
    problem_.depth.padding = 7;
    EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("padding.depth is 7")) << message_;
}

// What the rank leaves out is not read, so a caller may leave it zero.
TEST_F(CApi, AxesBeyondTheRankAreNotRead) {
    problem_ = {};
    problem_.batch = problem_.in_channels = problem_.out_channels = problem_.groups = problem_.rank = 1;
    problem_.width = {5, 3, 2, 1, 0, 1};
    ASSERT_EQ(create(), CONV_TRANSPOSE_OK) << message_;
    int64_t output[3] = {};
    conv_transpose_plan_output_size(plan_, output);
    EXPECT_EQ((std::vector<int64_t>(output, output + 3)), (std::vector<int64_t>{1, 1, 9}));
    conv_transpose_plan_destroy(plan_);
    for (int64_t rank : {-5, 0, 7}) {
        problem_.rank = rank;
        EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
        EXPECT_TRUE(message_has(("rank is " + std::to_string(rank) + ", but").c_str())) << message_;
    }
    problem_.rank = int64_t{1} << 33;
    EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("rank is")) << message_;
}

TEST_F(CApi, FormatsArrive) {
    options_.input = {CONV_TRANSPOSE_ELEMENT_BFLOAT16, CONV_TRANSPOSE_CHANNELS_LAST};
    EXPECT_EQ(create(), CONV_TRANSPOSE_UNSUPPORTED);
    EXPECT_TRUE(message_has("input is bfloat16 with channels_last")) << message_;
    options_.weight.type = static_cast<conv_transpose_element_type>(3);
    EXPECT_EQ(create(), CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("weight.type is 3")) << message_;
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

TEST_F(CApi, SynchronizesDevicesAlone) {
    EXPECT_EQ(conv_transpose_synchronize(CONV_TRANSPOSE_CPU, nullptr, message_, sizeof message_), CONV_TRANSPOSE_OK);
    EXPECT_EQ(conv_transpose_synchronize(CONV_TRANSPOSE_AUTOMATIC, nullptr, message_, sizeof message_),
              CONV_TRANSPOSE_OK)
        << message_;
    EXPECT_EQ(conv_transpose_synchronize(static_cast<conv_transpose_device>(-1), nullptr, message_, sizeof message_),
              CONV_TRANSPOSE_INVALID_ARGUMENT);
    EXPECT_TRUE(message_has("device is -1, but")) << message_;
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
    EXPECT_EQ(conv_transpose_plan_device(nullptr), CONV_TRANSPOSE_AUTOMATIC);
    EXPECT_EQ(conv_transpose_plan_kernel(nullptr), nullptr);
    EXPECT_EQ(conv_transpose_plan_is_last_resort(nullptr), 0);
    int64_t output[3] = {7, 7, 7};
    conv_transpose_plan_output_size(nullptr, output);
    EXPECT_EQ(output[0] + output[1] + output[2], 0);
    EXPECT_EQ(conv_transpose_plan_workspace_bytes(nullptr, 0), 0u);
    EXPECT_EQ(conv_transpose_plan_packed_weight_bytes(nullptr), 0u);
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

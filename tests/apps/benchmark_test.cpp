// The benchmark's own definition, which it verifies kernels with, against the oracle; and what the benchmark accepts.
#include <gtest/gtest.h>

#include <fstream>

#include "apps/benchmark/element_bits.h"
#include "apps/benchmark/problem_list.h"
#include "apps/benchmark/verification.h"
#include "formatted_tensor.h"
#include "oracle.h"
#include "random_problems.h"
#include "temporary_folder.h"

namespace conv_transpose::testing {
namespace {

using namespace benchmark;

std::vector<float> values(const Pattern &pattern, int64_t count) {
    std::vector<float> all(count);
    for (int64_t i = 0; i < count; i++) all[i] = pattern[i];
    return all;
}

int64_t positions(const Problem &p, int64_t (*extent)(const Axis &)) {
    int64_t product = 1;
    for (const Axis &a : p.axes) product *= extent(a);
    return product;
}
int64_t input_positions(const Problem &p) { return positions(p, [](const Axis &a) { return a.input; }); }
int64_t kernel_positions(const Problem &p) { return positions(p, [](const Axis &a) { return a.kernel; }); }
int64_t output_positions(const Problem &p) { return positions(p, [](const Axis &a) { return a.output(); }); }

// Another order of memory in which one side or all lie, and the same tensors for the oracle, channels first.
struct InLayouts {
    const Problem &p;
    PlanOptions options;

    InLayouts(const Problem &problem, RandomProblems &random) : p(problem) {
        for (TensorFormat *f : {&options.input, &options.weight, &options.output})
            if (random.one_in(2)) f->layout = Layout::channels_last;
    }
    static std::vector<float> turned_if(Layout layout, const std::vector<float> &v, int64_t channels, int64_t at, bool back) {
        return layout == Layout::channels_last ? turned(v, channels, at, back) : v;
    }
    std::vector<float> input(const std::vector<float> &v, bool back = true) const {
        return turned_if(options.input.layout, v, p.in_channels, input_positions(p), back);
    }
    std::vector<float> weight(const std::vector<float> &v, bool back = true) const {
        return turned_if(options.weight.layout, v, p.out_channels / p.groups, kernel_positions(p), back);
    }
    std::vector<float> output(const std::vector<float> &v, bool back = true) const {
        return turned_if(options.output.layout, v, p.out_channels, output_positions(p), back);
    }
};

TEST(Benchmark, DefinitionEqualsOracle) {
    const Data data = Data::integers();
    RandomProblems random(5);
    for (int i = 0; i < 100; i++) {
        const Problem p = random.next_of_rank(i % 3 + 1);
        InLayouts in(p, random);
        PlanOptions &options = in.options;
        options.epilogue.bias = random.one_in(2);
        const auto bias = options.epilogue.bias ? values(data.bias, p.out_channels) : std::vector<float>();
        const auto result = forward(p, in.input(values(data.input, p.input_elements())),
                                    in.weight(values(data.weight, p.weight_elements())), bias);
        const auto expected = in.output({result.begin(), result.end()}, false);
        for (size_t j = 0; j < expected.size(); j++)
            ASSERT_EQ(expected_element(p, options, data, j), expected[j]) << p.str() << " element " << j;
    }
}

// What each output receives from each input is the same product in all operations.
TEST(Benchmark, DefinitionOfGradientsEqualsOracle) {
    const Data data = Data::integers();
    RandomProblems random(6);
    for (int i = 0; i < 100; i++) {
        const Problem p = random.next_of_rank(i % 3 + 1);
        InLayouts in(p, random);
        const auto x_values = in.input(values(data.input, p.input_elements()));
        const auto w_values = in.weight(values(data.weight, p.weight_elements()));
        const auto y_values = in.output(values(data.output, p.output_elements()));
        const Gradients all = gradients(p, x_values, w_values, y_values);  // of integers, exact in float32
        const auto input = in.input({all.input.begin(), all.input.end()}, false);
        const auto weight = in.weight({all.weight.begin(), all.weight.end()}, false);
        PlanOptions &options = in.options;
        options.operation = Operation::input_gradient;
        for (size_t j = 0; j < input.size(); j++)
            ASSERT_EQ(expected_element(p, options, data, j), input[j]) << p.str() << " input element " << j;
        options.operation = Operation::weight_gradient;
        for (size_t j = 0; j < weight.size(); j++)
            ASSERT_EQ(expected_element(p, options, data, j), weight[j]) << p.str() << " weight element " << j;
    }
}

TEST(Benchmark, ElementsAreRoundedToNearestEven) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (float v : {0.f, 1.f, -2.5f, 3.14159f, 2049.f, 2051.f, 257.f, 259.f, -65519.f, 1e-3f})
            EXPECT_EQ(benchmark::rounded_to(type, v), rounded(v, type)) << name(type) << " " << v;
    EXPECT_EQ(benchmark::rounded_to(ElementType::float32, 2049.f), 2049.f);
}

TEST(Benchmark, ShapesFileErrorsNameTheLine) {
    const TemporaryFolder folder;
    const std::string path = folder.file("shapes.txt");
    std::ofstream(path) << "# a comment\nn1ic2oc2ih4iw4kh3kw3  fine\n\nn1ic2oc2ih4iw4kh3kw0  no kernel\n";
    try {
        read_shapes(path);
        FAIL() << "a kernel of size 0 was accepted";
    } catch (const std::runtime_error &error) {
        EXPECT_NE(std::string(error.what()).find("shapes.txt:4: kernel.width is 0"), std::string::npos) << error.what();
    }
}

TEST(Benchmark, ShapesHaveNamesAndSeriesGrow) {
    const TemporaryFolder folder;
    const std::string path = folder.file("shapes.txt");
    std::ofstream(path) << "n1ic2oc2ih4iw4kh3kw3   two words # remark\n";
    const auto problems = read_shapes(path);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].name, "two words");
    EXPECT_EQ(batch_series(problems[0]).back().problem.batch, 64);
    EXPECT_EQ(size_series(problems[0]).back().problem.width().input, 4096);
}

}  // namespace
}  // namespace conv_transpose::testing

// The benchmark's own definition, which it verifies kernels with, against the oracle; and what the benchmark accepts.
#include <gtest/gtest.h>

#include <fstream>

#include "apps/benchmark/problem_list.h"
#include "apps/benchmark/verification.h"
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

TEST(Benchmark, DefinitionEqualsOracle) {
    const Data data = Data::integers();
    RandomProblems random(5);
    for (int i = 0; i < 100; i++) {
        const Problem p = random.next_of_rank(i % 3 + 1);
        PlanOptions options;
        options.epilogue.bias = random.one_in(2);
        const auto bias = options.epilogue.bias ? values(data.bias, p.out_channels) : std::vector<float>();
        const auto expected = forward(p, values(data.input, p.input_elements()),
                                      values(data.weight, p.weight_elements()), bias);
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
        std::vector<double> input(p.input_elements()), weight(p.weight_elements());
        for_each_product(p, [&](int64_t x, int64_t w, int64_t y) {
            input[x] += double(data.output[y]) * data.weight[w];
            weight[w] += double(data.output[y]) * data.input[x];
        });
        PlanOptions options;
        options.operation = Operation::input_gradient;
        for (size_t j = 0; j < input.size(); j++)
            ASSERT_EQ(expected_element(p, options, data, j), input[j]) << p.str() << " input element " << j;
        options.operation = Operation::weight_gradient;
        for (size_t j = 0; j < weight.size(); j++)
            ASSERT_EQ(expected_element(p, options, data, j), weight[j]) << p.str() << " weight element " << j;
    }
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

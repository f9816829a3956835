// Tests of problems in any formats, by every kernel that accepts them: integers, equal to the oracle's, rounded once to nearest
// even.
#ifndef CONV_TRANSPOSE_TESTS_FORMATTED_TEST_H
#define CONV_TRANSPOSE_TESTS_FORMATTED_TEST_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "formatted_run.h"

namespace conv_transpose::testing {

/// How often each kernel has been tried. With CONV_TRANSPOSE_KERNEL_COUNTS, a file, this appends lines "TIMES KERNEL" to it.
class KernelCounts {
  public:
    static KernelCounts &all() {
        static KernelCounts counts;
        return counts;
    }
    void add(const std::string &kernel) { times_[kernel]++; }
    ~KernelCounts() {
        const char *const path = std::getenv("CONV_TRANSPOSE_KERNEL_COUNTS");
        if (!path) return;
        std::ofstream file(path, std::ios::app);
        for (const auto &[kernel, times] : times_) file << times << " " << kernel << "\n";
    }

  private:
    std::map<std::string, int> times_;
};

class FormattedTest : public DeviceTest {
  protected:
    RandomProblems random{31 + random_seed()};
    Offsets offsets;  ///< of each tensor
    bool packs_before = false;  ///< the weight

    /// By every kernel that takes the formats; how many there were. With an Inf or NaN at both ends of the picture that is
    /// summed over, results are finite where the oracle's are. Only by kernels whose names have `named` in them.
    int expect_exact(const Problem &p, Operation operation, PlanOptions wanted, float at_ends = 0, const std::string &named = "") {
        wanted.device = GetParam(), wanted.operation = operation;
        Numbers numbers = Numbers::integers(p, wanted.epilogue, random);
        std::vector<float> &picture = operation == Operation::forward ? numbers.input : numbers.output_gradient;
        if (at_ends != 0) picture.front() = picture.back() = at_ends;
        const std::vector<double> expected = expected_result(p, wanted, numbers);
        FormattedRun run(GetParam(), p, wanted, numbers, offsets);
        const bool may_refuse = offsets.input % 8 + offsets.weight % 8 + offsets.bias % 8 + offsets.output % 8 > 0;
        int kernels = 0;
        for (const PlanOptions &forced : for_every_kernel(p, wanted)) {
            if (forced.kernel.find(named) == std::string::npos) continue;
            const Trace trace(description(p, forced));
            const Status status = run.run(Plan(p, forced), packs_before);
            kernels++;
            if (may_refuse && !status.ok()) {
                EXPECT_NE(std::string(status.message()).find("multiple of 16 bytes"), std::string::npos) << status.message();
                continue;
            }
            KernelCounts::all().add(forced.kernel);
            EXPECT_TRUE(status.ok()) << status.message();
            const std::vector<float> actual = run.values();
            if (at_ends == 0) expect_equal(actual, expected);
            else
                for (size_t i = 0; i < expected.size() && !HasFailure(); i++)
                    EXPECT_EQ(std::isfinite(actual[i]), std::isfinite(expected[i])) << "element " << i;
            if (HasFailure()) break;
        }
        return kernels;
    }

    /// By kernels with each of these in their names: the input gradient, and forward with nothing added to sums and with all that
    /// can be; how many there were.
    int expect_exact_by(std::initializer_list<const char *> names, const Problem &p, PlanOptions options) {
        int kernels = 0;
        for (const char *named : names) {
            options.epilogue = {};
            kernels += expect_exact(p, Operation::input_gradient, options, 0, named);
            kernels += expect_exact(p, Operation::forward, options, 0, named);
            options.epilogue = {.bias = true, .activation = Activation::relu};
            kernels += expect_exact(p, Operation::forward, options, 0, named);
            if (HasFailure()) break;
        }
        return kernels;
    }
};

/// Calls `test(problem, format of pictures, format of another tensor)` for the texts in float16 with equal layouts, and for
/// those that are in every format with bfloat16 and layouts of their own, too; until one fails.
template <size_t count, class Test>
void in_formats(const char *const (&texts)[count], std::initializer_list<const char *> in_every_format, Test test) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
        for (const Layout layout : {Layout::channels_first, Layout::channels_last})
            for (const Layout other : {Layout::channels_first, Layout::channels_last})
                for (const char *text : texts) {
                    const bool everywhere =
                        std::find(in_every_format.begin(), in_every_format.end(), text) != in_every_format.end();
                    if ((layout != other || type != ElementType::float16) && !everywhere) continue;
                    test(Problem::parse(text), TensorFormat{type, layout}, TensorFormat{type, other});
                    if (::testing::Test::HasFailure()) return;
                }
}

}  // namespace conv_transpose::testing

#endif

// The library prints nothing, whatever goes wrong, and neither exits nor aborts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "conv_transpose/conv_transpose_c.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

/// Sends standard output and standard error into a file while it lives.
class Captured {
  public:
    Captured() : file_(std::tmpfile()), out_(dup(STDOUT_FILENO)), error_(dup(STDERR_FILENO)) {
        std::fflush(nullptr);
        dup2(fileno(file_), STDOUT_FILENO);
        dup2(fileno(file_), STDERR_FILENO);
    }
    ~Captured() {
        restore();
        std::fclose(file_);
    }
    Captured(const Captured &) = delete;
    Captured &operator=(const Captured &) = delete;

    std::string text() {
        restore();
        std::string all;
        std::rewind(file_);
        for (int c; (c = std::fgetc(file_)) != EOF;) all += static_cast<char>(c);
        return all;
    }

  private:
    std::FILE *file_;
    int out_, error_;

    void restore() {
        if (out_ < 0) return;
        std::fflush(nullptr);
        dup2(out_, STDOUT_FILENO);
        dup2(error_, STDERR_FILENO);
        close(out_), close(error_);
        out_ = error_ = -1;
    }
};

TEST(Silence, ErrorsOfPlanningAndRunning) {
    int thrown = 0, failed = 0;
    Captured captured;
    for (const char *text : {"nonsense", "ic3oc3", "ic3oc3ih4iw4kh3kw3sh0", "n1ic1oc1ih40000iw40000kh2kw2sh2sw2"})
        try {
            PlanOptions options;
            options.device = Device::cpu;
            const Plan plan(Problem::parse(text), options);
        } catch (const std::exception &) {
            thrown++;
        }
    PlanOptions options;
    options.device = Device::cpu;
    const Plan plan(Problem::parse("ic3oc3ih4iw4kh3kw3"), options);
    failed += !plan.run({}).ok();
    conv_transpose_problem problem{};
    conv_transpose_plan *nothing = nullptr;
    failed += conv_transpose_plan_create(&problem, nullptr, &nothing, nullptr, 0) != CONV_TRANSPOSE_OK;
    const std::string text = captured.text();
    EXPECT_EQ(text, "");
    EXPECT_EQ(thrown, 4);
    EXPECT_EQ(failed, 2);
}

class SilentRuns : public DeviceTest {};

TEST_P(SilentRuns, OfEveryKernel) {
    RandomProblems random(51);
    Captured captured;
    for (int i = 0; i < 20; i++) {
        const Problem problem = random.next();
        const auto input = random.integers(problem.input_elements()),
                   weight = random.integers(problem.weight_elements());
        for (std::string_view kernel : kernels_for(problem, options())) {
            PlanOptions forced = options();
            forced.kernel = kernel;
            run_forward(Plan(problem, forced), input, weight, {});
        }
    }
    const std::string text = captured.text();
    EXPECT_EQ(text, "");
}

INSTANTIATE_ON_DEVICES(SilentRuns);

}  // namespace
}  // namespace conv_transpose::testing

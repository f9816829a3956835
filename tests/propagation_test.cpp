// Where an Inf or NaN goes: with PlanOptions::strict_propagation to the results that its operand is a factor of, and
// nowhere else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle.h"
#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

struct Tensors {
    std::vector<float> input, weight, bias, output_gradient;
};

std::vector<double> expected(const Problem &p, Operation operation, const Tensors &t) {
    if (operation == Operation::forward) return forward(p, t.input, t.weight, t.bias);
    const Gradients all = gradients(p, t.input, t.weight, t.output_gradient);
    return operation == Operation::input_gradient    ? all.input
           : operation == Operation::weight_gradient ? all.weight
                                                     : all.bias;
}

std::vector<float> computed(const Plan &plan, const Tensors &t) {
    return plan.options().operation == Operation::forward ? run_forward(plan, t.input, t.weight, t.bias)
                                                          : run_gradient(plan, t.input, t.weight, t.output_gradient);
}

/// The pictures among an operation's operands, and the bias. (A weight meets the zeros around pictures in any kernel.)
std::vector<std::vector<float> Tensors::*> operands(Operation operation) {
    switch (operation) {
        case Operation::forward: return {&Tensors::input, &Tensors::bias};
        case Operation::input_gradient: return {&Tensors::output_gradient};
        case Operation::weight_gradient: return {&Tensors::input, &Tensors::output_gradient};
        default: return {&Tensors::output_gradient};
    }
}

class Propagation : public DeviceTest {
  protected:
    RandomProblems random{12};
    const int attempts = GetParam() == Device::cpu ? 4 : 2;

    /// Never 0, by which an Inf would become NaN.
    std::vector<float> values(int64_t count) {
        std::vector<float> all(count);
        for (float &v : all) v = static_cast<float>(random.between(1, 4)) * (random.one_in(2) ? 1.f : -1.f);
        return all;
    }

    Tensors tensors(const Problem &p) {
        return {values(p.input_elements()), values(p.weight_elements()), values(p.out_channels),
                values(p.output_elements())};
    }

    /// First, last, or any: borders are where kernels multiply what is not there.
    int64_t place(int64_t size, int attempt) {
        return attempt == 0 ? 0 : attempt == 1 ? size - 1 : random.between(0, size - 1);
    }

    void expect_strict(const Problem &p) {
        const Tensors finite = tensors(p);
        for (Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                    Operation::bias_gradient}) {
            PlanOptions wanted = options();
            wanted.operation = operation;
            wanted.strict_propagation = true;
            wanted.epilogue.bias = operation == Operation::forward;
            const auto kernels = for_every_kernel(p, wanted);
            EXPECT_FALSE(kernels.empty()) << p.str();
            for (const PlanOptions &forced : kernels) {
                const Plan plan(p, forced);
                for (std::vector<float> Tensors::*operand : operands(operation))
                    for (int attempt = 0; attempt < attempts; attempt++) expect_strict(plan, operand, attempt, finite);
            }
        }
    }

  private:
    void expect_strict(const Plan &plan, std::vector<float> Tensors::*operand, int attempt, Tensors t) {
        const int64_t at = place((t.*operand).size(), attempt);
        (t.*operand)[at] = attempt % 2 ? std::numeric_limits<float>::infinity() : std::nanf("");
        const auto wanted = expected(plan.problem(), plan.options().operation, t);
        const auto actual = computed(plan, t);
        for (size_t i = 0; i < wanted.size(); i++)
            ASSERT_EQ(std::isfinite(actual[i]), std::isfinite(wanted[i]))
                << plan.problem().str() << " by " << plan.kernel() << ": element " << i << " of the result, with one of "
                << (t.*operand)[at] << " at " << at << " of " << (t.*operand).size();
    }
};

TEST_P(Propagation, IsStrictWhereItIsAskedFor) {
    for (int i = 0; i < (GetParam() == Device::cpu ? 60 : 6) && !HasFatalFailure(); i++) {
        const Problem p = random.next();
        if (p.batch > 0 && p.output_elements() < 20000) expect_strict(p);
    }
}

TEST_P(Propagation, IsStrictInFamilies) {
    for (const char *text : {"n1ic32oc32ih3iw5kh3kw3ph1pw1", "n1ic32oc32ih3iw4kh3kw7ph1pw3", "n2ic3oc5ih6iw7kh3kw3ph2pw2",
                             "n1ic20oc33ih2iw3kh4kw4sh2sw2ph1pw1", "n2g5ic5oc5ih6iw6kh4kw4sh2sw2ph1pw1",
                             "n1ic33oc17ih2iw3kh3kw3sh2sw2ph1pw1", "n1ic5oc1ih3iw5kh9kw9sh3sw3ph4pw4",
                             "n1ic20oc17ih2iw3kh2kw2sh2sw2ph1pw1"})
        expect_strict(Problem::parse(text));
}

// Kernels that are not strict are still there for those who do not ask, and tell why they are not taken.
TEST_P(Propagation, OtherKernelsAreRefusedByName) {
    const Problem p = Problem::parse("n1ic8oc8ih6iw6kh3kw3ph1pw1");
    PlanOptions wanted = options();
    wanted.operation = Operation::weight_gradient;
    const std::string taken{Plan(p, wanted).kernel()};
    wanted.kernel = taken;
    wanted.strict_propagation = true;
    try {
        Plan(p, wanted);
        FAIL() << wanted.kernel << " was taken";
    } catch (const Unsupported &error) {
        EXPECT_NE(std::string(error.what()).find("strict_propagation"), std::string::npos) << error.what();
    }
    wanted.kernel.clear();
    const std::string_view strict = GetParam() == Device::cpu ? "gather" : "strict";
    EXPECT_NE(Plan(p, wanted).kernel().find(strict), std::string_view::npos) << Plan(p, wanted).kernel();
}

INSTANTIATE_ON_DEVICES(Propagation);

}  // namespace
}  // namespace conv_transpose::testing

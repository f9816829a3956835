// CPU kernels read and write nothing outside of their tensors: each tensor lies against a page that may not be touched.
// (On the GPU, compute-sanitizer tells.)
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "random_problems.h"
#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

/// Memory whose first or last byte has an untouchable neighbour.
class GuardedMemory {
  public:
    enum class Guard { before, after };

    GuardedMemory(std::size_t bytes, Guard guard) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t inner = (bytes + page - 1) / page * page;
        mapped_ = inner + 2 * page;
        base_ = static_cast<char *>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (base_ == MAP_FAILED || mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) != 0)
            throw std::runtime_error("cannot map guarded memory");
        data_ = base_ + page + (guard == Guard::after ? inner - bytes : 0);
    }
    GuardedMemory(const std::vector<float> &values, Guard guard) : GuardedMemory(values.size() * sizeof(float), guard) {
        std::copy(values.begin(), values.end(), floats());
    }
    ~GuardedMemory() { munmap(base_, mapped_); }
    GuardedMemory(const GuardedMemory &) = delete;
    GuardedMemory &operator=(const GuardedMemory &) = delete;

    float *floats() const { return reinterpret_cast<float *>(data_); }

  private:
    char *base_, *data_;
    std::size_t mapped_;
};

// A forbidden access ends the test program: say during which run it happened.
char current_run[400];

void tell_and_exit(int) {
    const char before[] = "access outside of a tensor, in ";
    [[maybe_unused]] auto written = write(STDERR_FILENO, before, sizeof before - 1);
    written = write(STDERR_FILENO, current_run, std::strlen(current_run));
    written = write(STDERR_FILENO, "\n", 1);
    _exit(1);
}

void run_guarded(const Plan &plan, GuardedMemory::Guard guard, RandomProblems &random) {
    const Problem &p = plan.problem();
    std::snprintf(current_run, sizeof current_run, "%s by %s, guarded %s", p.str().c_str(), plan.kernel().data(),
                  guard == GuardedMemory::Guard::after ? "after" : "before");
    const GuardedMemory input(random.integers(p.input_elements()), guard),
        weight(random.integers(p.weight_elements()), guard), bias(random.integers(p.out_channels), guard),
        output(random.integers(p.output_elements()), guard);
    // The workspace is aligned, so only whole multiples of the alignment can end at the page.
    const GuardedMemory workspace((plan.workspace_bytes() + 63) / 64 * 64, guard);
    Arguments arguments;
    const Operation o = plan.options().operation;
    if (o != Operation::input_gradient) arguments.input = input.floats();
    if (o != Operation::weight_gradient) arguments.weight = weight.floats();
    if (o == Operation::forward) arguments.bias = bias.floats(), arguments.output = output.floats();
    else arguments.output_gradient = output.floats();
    if (o == Operation::input_gradient) arguments.input_gradient = input.floats();
    if (o == Operation::weight_gradient) arguments.weight_gradient = weight.floats();
    const Status status = plan.run(arguments, {workspace.floats(), plan.workspace_bytes()});
    EXPECT_TRUE(status.ok()) << status.message();
}

void run_all_guarded(const Problem &problem, PlanOptions options, RandomProblems &random) {
    options.device = Device::cpu;
    for (std::string_view kernel : kernels_for(problem, options)) {
        options.kernel = kernel;
        const Plan plan(problem, options);
        for (auto guard : {GuardedMemory::Guard::before, GuardedMemory::Guard::after}) run_guarded(plan, guard, random);
    }
}

TEST(Bounds, NothingOutsideOfTheTensorsIsTouched) {
    const auto previous = std::signal(SIGSEGV, tell_and_exit);
    RandomProblems random(41);
    for (int i = 0; i < 300; i++) {
        const Problem problem = random.next();
        PlanOptions options;
        options.epilogue.bias = random.one_in(2);
        run_all_guarded(problem, options, random);
    }
    std::signal(SIGSEGV, previous);
}

// Vectors of groups, and rows that are read with a stride by whole vectors.
TEST(Bounds, NorByDepthwiseProblemsAndGradients) {
    const auto previous = std::signal(SIGSEGV, tell_and_exit);
    RandomProblems random(42);
    for (const char *problem : {"n3g33ic33oc33iw7kw6sw3pw2opw1", "n2g19ic19oc19ih5iw17kh3kw2sh2sw3ph1pw1dh1dw2",
                                "n1g17ic17oc17id3ih4iw5kd2kh3kw3sd2sh1sw2", "n2g20ic20oc20ih20iw40kh7kw3ph3pw1",
                                "n9g5ic5oc5ih1iw300kh1kw4sw2pw1", "n2g16ic16oc16ih3iw3kh2kw2sh3sw4", "n2ic5oc3ih4iw40kh2kw2sh2sw2",
                                "n1ic20oc18iw70kw4sw4", "n1ic3oc5ih3iw33kh3kw3sh1sw3"})
        for (Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient}) {
            PlanOptions options;
            options.operation = operation;
            run_all_guarded(Problem::parse(problem), options, random);
        }
    std::signal(SIGSEGV, previous);
}

}  // namespace
}  // namespace conv_transpose::testing

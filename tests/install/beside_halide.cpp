// An application with a Halide runtime and an error handler of its own, beside ConvTranspose: each uses its
// own runtime.
#include <HalideBuffer.h>
#include <HalideRuntime.h>
#include <conv_transpose/conv_transpose.h>

#include <cstdio>
#include <vector>

#include "brighten.h"

namespace {

int errors_of_application = 0;

// One input pixel of value 2, enlarged by a 3x3 kernel of threes.
bool convolves() {
    conv_transpose::Problem problem;
    problem.in_channels = problem.out_channels = 1;
    problem.height() = problem.width() = {1, 3};
    conv_transpose::PlanOptions options;
    options.device = conv_transpose::Device::cpu;
    const conv_transpose::Plan plan(problem, options);
    const std::vector<float> weight(9, 3.f);
    std::vector<float> output(9, 0.f);
    const float input = 2;
    std::vector<unsigned char> workspace(plan.workspace_bytes() + 64);
    conv_transpose::Arguments arguments;
    arguments.input = &input;
    arguments.weight = weight.data();
    arguments.output = output.data();
    const auto status = plan.run(arguments, {workspace.data(), workspace.size()});
    if (!status.ok()) std::fprintf(stderr, "run: %s\n", status.message());
    return status.ok() && output == std::vector<float>(9, 6.f);
}

// The application's handler must be called, and no other.
bool own_error_is_reported() {
    Halide::Runtime::Buffer<float> small(4), large(8);
    const int result = brighten(small, large);
    return result != 0 && errors_of_application == 1;
}

}  // namespace

int main() {
    halide_set_error_handler([](void *, const char *) { errors_of_application++; });
    Halide::Runtime::Buffer<float> input(100), output(100);
    input.fill(1.f);
    const bool brightened = brighten(input, output) == 0 && output(99) == 2.f;
    const bool before = convolves(), reported = own_error_is_reported(), after = convolves();
    std::printf("own pipeline %d, convolution %d, own error %d, convolution again %d\n", brightened, before, reported, after);
    return brightened && before && reported && after ? 0 : 1;
}

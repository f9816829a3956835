// What this build of the library can do: its version, its devices, and the kernel for a problem.
#include <conv_transpose/conv_transpose.h>

#include <cstdio>

int main() {
    using namespace conv_transpose;
    const Problem problem = Problem::parse("n1ic64oc32ih32iw32kh4kw4sh2sw2ph1pw1");
    PlanOptions options;
    options.device = Device::cpu;
    std::printf("%s %s\n", version().data(), Plan(problem, options).kernel().data());
}

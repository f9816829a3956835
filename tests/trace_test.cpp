// The tests' own trace: an exception that leaves a test is told together with what the test was at.
#include "trace.h"

#include <gtest/gtest-spi.h>

#include <stdexcept>

namespace conv_transpose::testing {
namespace {

void throw_at(const char *problem) {
    const Trace trace(problem);
    throw std::runtime_error("a constraint is violated");
}

void catch_from(const char *problem) {
    try {
        throw_at(problem);
    } catch (const std::runtime_error &) {
    }
}

TEST(Trace, NamesWhatAnExceptionLeaves) { EXPECT_NONFATAL_FAILURE(catch_from("ih4 by a kernel"), "ih4 by a kernel"); }

TEST(Trace, IsSilentOtherwise) {
    const Trace outer("outer");
    try {
        throw std::runtime_error("caught within");
    } catch (const std::runtime_error &) {
        const Trace inner("while another exception is handled");
    }
}

}  // namespace
}  // namespace conv_transpose::testing

// What a test is at, told with each of its failures: as SCOPED_TRACE does, and where an exception leaves the test, too.
// GoogleTest tells of an exception only when the traces have gone.
#ifndef CONV_TRANSPOSE_TESTS_TRACE_H
#define CONV_TRANSPOSE_TESTS_TRACE_H

#include <gtest/gtest.h>

#include <exception>
#include <string_view>

namespace conv_transpose::testing {

class Trace {
  public:
    explicit Trace(std::string_view at, const char *file = __builtin_FILE(), int line = __builtin_LINE())
        : file_(file), line_(line), trace_(file, line, at) {}
    Trace(const Trace &) = delete;
    ~Trace() {
        if (std::uncaught_exceptions() > exceptions_) ADD_FAILURE_AT(file_, line_) << "an exception leaves this";
    }

  private:
    const char *file_;
    int line_;
    int exceptions_ = std::uncaught_exceptions();
    ::testing::ScopedTrace trace_;
};

}  // namespace conv_transpose::testing

#endif

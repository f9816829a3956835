// The functions of Halide's runtime that a library must replace: by default they print and abort. Strong
// definitions here take the place of the weak ones in Halide's runtime. (That which shares work out to
// threads is in cpu_threads.cpp.)
#include <cstdio>

#include "HalideRuntime.h"
#include "device/run_context.h"

using conv_transpose::RunContext;

extern "C" {

// Keeps the message for the Status; the kernel then returns an error code.
void halide_error(void *user_context, const char *message) {
    if (auto *context = static_cast<RunContext *>(user_context))
        std::snprintf(context->message, sizeof context->message, "%s", message);
}

void halide_print(void *, const char *) {}

}  // extern "C"

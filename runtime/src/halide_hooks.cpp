// The functions of Halide's runtime that a library must replace: by default they print and abort.
// Strong definitions here take the place of the weak ones in Halide's runtime.
#include <cstdio>

#include "HalideRuntime.h"
#include "run_context.h"

using conv_transpose::RunContext;

extern "C" {

// Keeps the message for the Status; the kernel then returns an error code.
void halide_error(void *user_context, const char *message) {
    if (auto *context = static_cast<RunContext *>(user_context))
        std::snprintf(context->message, sizeof context->message, "%s", message);
}

void halide_print(void *, const char *) {}

int halide_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
    const auto *context = static_cast<const RunContext *>(user_context);
    if (!context || !context->serial) return halide_default_do_par_for(user_context, task, min, size, closure);
    for (int i = min; i < min + size; i++)
        if (const int error = halide_do_task(user_context, task, i, closure)) return error;
    return 0;
}

}  // extern "C"

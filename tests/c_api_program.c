/* A user of the C interface, in C: see c_api_test.cpp. */
#include <conv_transpose/conv_transpose_c.h>
#include <stdio.h>
#include <stdlib.h>

int run_from_c(float output[16], char *kernel, size_t kernel_size);

int run_from_c(float output[16], char *kernel, size_t kernel_size) {
    const float input[4] = {1, 2, 3, 4}, weight[4] = {1, 2, 3, 4}, bias[1] = {10};
    char message[300];
    conv_transpose_problem problem;
    conv_transpose_plan_options options = {0};
    conv_transpose_arguments arguments = {0};
    conv_transpose_plan *plan = NULL;
    conv_transpose_status status =
        conv_transpose_problem_parse("ic1oc1ih2iw2kh2kw2sh2sw2", &problem, message, sizeof message);
    if (status != CONV_TRANSPOSE_OK) return 1;
    options.device = CONV_TRANSPOSE_CPU;
    options.bias = 1;
    status = conv_transpose_plan_create(&problem, &options, &plan, message, sizeof message);
    if (status != CONV_TRANSPOSE_OK) return 2;

    const size_t bytes = (conv_transpose_plan_workspace_bytes(plan, 0) + 63) / 64 * 64;
    void *workspace = bytes ? aligned_alloc(64, bytes) : NULL;
    arguments.input = input;
    arguments.weight = weight;
    arguments.bias = bias;
    arguments.output = output;
    status = conv_transpose_plan_run(plan, &arguments, workspace, bytes, NULL, message, sizeof message);
    snprintf(kernel, kernel_size, "%s", conv_transpose_plan_kernel(plan));
    free(workspace);
    conv_transpose_plan_destroy(plan);
    return status == CONV_TRANSPOSE_OK ? 0 : 3;
}

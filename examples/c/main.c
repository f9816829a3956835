/* A transposed convolution from C: PyTorch's ConvTranspose2d(1, 1, kernel_size=2, stride=2) on a 2 x 2 picture. */
#include <conv_transpose/conv_transpose_c.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *message) { return fprintf(stderr, "%s\n", message), 1; }

int main(void) {
    const float input[4] = {1, 2, 3, 4}, weight[4] = {1, 10, 100, 1000};
    float output[16];
    char message[300];

    conv_transpose_problem problem;
    if (conv_transpose_problem_parse("ic1oc1ih2iw2kh2kw2sh2sw2", &problem, message, sizeof message)) return fail(message);

    conv_transpose_plan_options options = {0};
    options.device = CONV_TRANSPOSE_CPU;
    conv_transpose_plan *plan;
    if (conv_transpose_plan_create(&problem, &options, &plan, message, sizeof message)) return fail(message);

    const size_t bytes = (conv_transpose_plan_workspace_bytes(plan, 0) + 63) / 64 * 64;
    void *workspace = bytes ? aligned_alloc(64, bytes) : NULL;
    conv_transpose_arguments arguments = {0};
    arguments.input = input;
    arguments.weight = weight;
    arguments.output = output;
    const conv_transpose_status status =
        conv_transpose_plan_run(plan, &arguments, workspace, bytes, NULL, message, sizeof message);
    free(workspace);
    conv_transpose_plan_destroy(plan);
    if (status) return fail(message);

    for (int i = 0; i < 16; i++) printf("%g%c", output[i], i % 4 == 3 ? '\n' : ' ');
    return 0;
}

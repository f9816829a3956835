/* The C interface: the same as conv_transpose.h, for C and for languages that call C.
 *
 * Functions that can fail return a conv_transpose_status, and write what went wrong into `message` (a buffer of
 * `message_size` bytes, or NULL). Tensors, threads, streams and workspace: see conv_transpose.h. */
#ifndef CONV_TRANSPOSE_CONV_TRANSPOSE_C_H
#define CONV_TRANSPOSE_CONV_TRANSPOSE_C_H

#include <stddef.h>
#include <stdint.h>

#include "conv_transpose/activations.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    CONV_TRANSPOSE_OK = 0,
    CONV_TRANSPOSE_INVALID_ARGUMENT = 1,
    CONV_TRANSPOSE_WORKSPACE_TOO_SMALL = 2,
    CONV_TRANSPOSE_OUT_OF_MEMORY = 3,
    CONV_TRANSPOSE_DEVICE_ERROR = 4,
    CONV_TRANSPOSE_KERNEL_ERROR = 5,
    CONV_TRANSPOSE_UNSUPPORTED = 6
} conv_transpose_status;

typedef enum {
    CONV_TRANSPOSE_FORWARD,
    CONV_TRANSPOSE_INPUT_GRADIENT,
    CONV_TRANSPOSE_WEIGHT_GRADIENT,
    CONV_TRANSPOSE_BIAS_GRADIENT
} conv_transpose_operation;

typedef enum { CONV_TRANSPOSE_AUTOMATIC, CONV_TRANSPOSE_CPU, CONV_TRANSPOSE_CUDA } conv_transpose_device;
typedef enum { CONV_TRANSPOSE_FLOAT32, CONV_TRANSPOSE_TF32, CONV_TRANSPOSE_TF32X3 } conv_transpose_precision;
/* CONV_TRANSPOSE_NONE, CONV_TRANSPOSE_RELU and the others of activations.h, which says where PReLU's slopes stand. */
typedef enum {
#define CONV_TRANSPOSE_ENUMERATOR(name, c_name, is_smooth) CONV_TRANSPOSE_##c_name,
    CONV_TRANSPOSE_ACTIVATIONS(CONV_TRANSPOSE_ENUMERATOR)
#undef CONV_TRANSPOSE_ENUMERATOR
} conv_transpose_activation;

typedef enum {
    CONV_TRANSPOSE_ELEMENT_FLOAT32,
    CONV_TRANSPOSE_ELEMENT_FLOAT16,
    CONV_TRANSPOSE_ELEMENT_BFLOAT16
} conv_transpose_element_type;
typedef enum { CONV_TRANSPOSE_CHANNELS_FIRST, CONV_TRANSPOSE_CHANNELS_LAST } conv_transpose_layout;

typedef struct {
    int64_t input, kernel, stride, padding, output_padding, dilation;
} conv_transpose_axis;

/* `rank` is 1 to 3: width; height and width; depth, height and width. Other axes are not read. */
typedef struct {
    int64_t batch, in_channels, out_channels, groups, rank;
    conv_transpose_axis depth, height, width;
} conv_transpose_problem;

/* Zeros are float32 with channels first. */
typedef struct {
    conv_transpose_element_type type;
    conv_transpose_layout layout;
} conv_transpose_tensor_format;

typedef struct {
    conv_transpose_operation operation;
    conv_transpose_device device;
    conv_transpose_precision precision;
    int bias; /* 0 or 1 */
    conv_transpose_activation activation;
    float negative_slope;
    const char *kernel; /* NULL or "" lets the registry choose */
    conv_transpose_tensor_format input, weight, output;
    int strict_propagation; /* 0 or 1 */
} conv_transpose_plan_options;

typedef struct {
    const void *input, *weight, *bias;
    void *output;
    const void *output_gradient;
    void *input_gradient, *weight_gradient, *bias_gradient;
    const void *packed_weight;
} conv_transpose_arguments;

typedef struct conv_transpose_plan conv_transpose_plan;

/* Reads a problem string. */
conv_transpose_status conv_transpose_problem_parse(const char *text, conv_transpose_problem *problem, char *message,
                                                   size_t message_size);

/* `options` may be NULL. On success the plan is the caller's, to be given to conv_transpose_plan_destroy. */
conv_transpose_status conv_transpose_plan_create(const conv_transpose_problem *problem,
                                                 const conv_transpose_plan_options *options, conv_transpose_plan **plan,
                                                 char *message, size_t message_size);
void conv_transpose_plan_destroy(conv_transpose_plan *plan);

/* Of a NULL plan: automatic, NULL, 0, 0 x 0, 0 and 0. */
conv_transpose_device conv_transpose_plan_device(const conv_transpose_plan *plan);
const char *conv_transpose_plan_kernel(const conv_transpose_plan *plan);
/* 1 where the kernel is one for any tensors, which is slow: Plan::is_last_resort() in conv_transpose.h. */
int conv_transpose_plan_is_last_resort(const conv_transpose_plan *plan);
/* Depth, height and width; 1 on axes that the rank leaves out. */
void conv_transpose_plan_output_size(const conv_transpose_plan *plan, int64_t output[3]);
size_t conv_transpose_plan_workspace_bytes(const conv_transpose_plan *plan, int with_packed_weight);
size_t conv_transpose_plan_packed_weight_bytes(const conv_transpose_plan *plan);

conv_transpose_status conv_transpose_plan_pack_weight(const conv_transpose_plan *plan, const void *weight,
                                                      void *packed, void *stream, char *message,
                                                      size_t message_size);
conv_transpose_status conv_transpose_plan_run(const conv_transpose_plan *plan,
                                              const conv_transpose_arguments *arguments, void *workspace,
                                              size_t workspace_bytes, void *stream, char *message,
                                              size_t message_size);

/* The choice by measurement: fastest_kernel() in fastest_kernel.h, by its default rules. Writes the name of the kernel, for
   conv_transpose_plan_options.kernel, with a zero behind it; CONV_TRANSPOSE_INVALID_ARGUMENT where it is longer than
   `name_size` - 1 (names have less than 128 characters). Not while the stream is captured. */
conv_transpose_status conv_transpose_fastest_kernel(const conv_transpose_problem *problem,
                                                    const conv_transpose_plan_options *options,
                                                    const conv_transpose_arguments *arguments, void *stream, char *name,
                                                    size_t name_size, char *message, size_t message_size);

/* Waits for everything enqueued on the stream, and tells of an error of earlier work. */
conv_transpose_status conv_transpose_synchronize(conv_transpose_device device, void *stream, char *message,
                                                 size_t message_size);

int conv_transpose_cuda_available(void);
const char *conv_transpose_version(void);
/* The i-th kernel's name, in order of preference; NULL past the last. */
const char *conv_transpose_kernel_name(size_t i);
void conv_transpose_set_cpu_threads(int threads);

/* Adds the kernels of all packs in a directory, as load_kernels() in conv_transpose.h does. */
conv_transpose_status conv_transpose_load_kernels(const char *directory, char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif

// Generators for tensors of any rank, format and layout, one for each operation and schedule.
#include "generators/forward_gather.h"
#include "generators/input_gradient_gather.h"
#include "generators/weight_gradient_gather.h"
#include "schedules/cpu_gather.h"
#include "schedules/cpu_weight_gradient_gather.h"
#include "schedules/cuda_gather.h"
#include "schedules/cuda_weight_gradient_gather.h"

namespace conv_transpose {
using ForwardCudaGather = ForwardGather<CudaGather>;
using ForwardCudaDepthwiseGather = ForwardGather<CudaDepthwiseGather>;
using ForwardCudaGatherVectors = ForwardGather<CudaGatherVectors>;
using ForwardCudaDepthwiseVectors = ForwardGather<CudaDepthwiseVectors>;
using ForwardCpuGather = ForwardGather<CpuGather>;
using InputGradientCudaGather = InputGradientGather<CudaGather>;
using InputGradientCudaDepthwiseGather = InputGradientGather<CudaDepthwiseGather>;
using InputGradientCudaGatherVectors = InputGradientGather<CudaGatherVectors>;
using InputGradientCudaDepthwiseVectors = InputGradientGather<CudaDepthwiseVectors>;
using InputGradientCpuGather = InputGradientGather<CpuGather>;
using WeightGradientCudaGather = WeightGradientGather<CudaWeightGradientGather>;
using WeightGradientCudaDepthwiseGather = WeightGradientGather<CudaDepthwiseWeightGradientGather>;
using WeightGradientCudaDepthwiseVectors = WeightGradientGather<CudaDepthwiseWeightGradientVectors>;
using WeightGradientCpuGather = WeightGradientGather<CpuWeightGradientGather>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaGather, forward_cuda_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaDepthwiseGather, forward_cuda_depthwise_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaGatherVectors, forward_cuda_gather_vectors)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaDepthwiseVectors, forward_cuda_depthwise_vectors)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCpuGather, forward_cpu_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaGather, input_gradient_cuda_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaDepthwiseGather, input_gradient_cuda_depthwise_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaGatherVectors, input_gradient_cuda_gather_vectors)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCudaDepthwiseVectors, input_gradient_cuda_depthwise_vectors)
HALIDE_REGISTER_GENERATOR(conv_transpose::InputGradientCpuGather, input_gradient_cpu_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaGather, weight_gradient_cuda_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaDepthwiseGather, weight_gradient_cuda_depthwise_gather)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaDepthwiseVectors, weight_gradient_cuda_depthwise_vectors)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCpuGather, weight_gradient_cpu_gather)

// Forward generators for the CUDA cores of a GPU, one for each schedule.
#include "generators/forward.h"
#include "schedules/cuda_dense.h"
#include "schedules/cuda_depthwise.h"
#include "schedules/cuda_few_out_channels.h"
#include "schedules/cuda_phases.h"
#include "schedules/cuda_small.h"

namespace conv_transpose {
using ForwardCudaDense = Forward<CudaDense>;
using ForwardCudaDepthwise = Forward<CudaDepthwise>;
using ForwardCudaFewOutChannels = Forward<CudaFewOutChannels>;
using ForwardCudaPhases = Forward<CudaPhases>;
using ForwardCudaSmall = Forward<CudaSmall>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaDense, forward_cuda_dense)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaDepthwise, forward_cuda_depthwise)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaFewOutChannels, forward_cuda_few_out_channels)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaPhases, forward_cuda_phases)
HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaSmall, forward_cuda_small)

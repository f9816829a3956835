// Generators of the forward operation, one for each schedule: attributes may be constants.
#include "generators/forward.h"
#include "generators/forward_tensor_core.h"
#include "generators/forward_winograd.h"
#include "schedules/cpu_depthwise.h"
#include "schedules/cpu_tiles.h"
#include "schedules/cpu_winograd.h"
#include "schedules/cuda_dense.h"
#include "schedules/cuda_depthwise.h"
#include "schedules/cuda_few_out_channels.h"
#include "schedules/cuda_phases.h"
#include "schedules/cuda_tensor_core.h"

using namespace conv_transpose;

HALIDE_REGISTER_GENERATOR(Forward<CpuTiles>, forward_cpu_tiles)
HALIDE_REGISTER_GENERATOR(Forward<CpuDepthwise>, forward_cpu_depthwise)
HALIDE_REGISTER_GENERATOR(ForwardWinograd<CpuWinograd>, forward_cpu_winograd)
HALIDE_REGISTER_GENERATOR(Forward<CudaDense>, forward_cuda_dense)
HALIDE_REGISTER_GENERATOR(Forward<CudaDepthwise>, forward_cuda_depthwise)
HALIDE_REGISTER_GENERATOR(Forward<CudaFewOutChannels>, forward_cuda_few_out_channels)
HALIDE_REGISTER_GENERATOR(Forward<CudaPhases>, forward_cuda_phases)
HALIDE_REGISTER_GENERATOR(ForwardTensorCore<CudaTensorCore>, forward_cuda_tensor_core)

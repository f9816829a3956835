// Forward generators for the CUDA cores of a GPU, one for each schedule.
#include "generators/forward.h"
#include "schedules/cuda_general.h"

namespace conv_transpose {
using ForwardCudaGeneral = Forward<CudaGeneral>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::ForwardCudaGeneral, forward_cuda_general)

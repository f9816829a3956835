// Weight gradient generators for CUDA, one for each schedule.
#include "generators/weight_gradient.h"
#include "generators/weight_gradient_pictures.h"
#include "generators/weight_gradient_product.h"
#include "schedules/cuda_weight_gradient_dense.h"
#include "schedules/cuda_weight_gradient_general.h"
#include "schedules/cuda_weight_gradient_product.h"

namespace conv_transpose {
using WeightGradientCudaGeneral = WeightGradient<CudaWeightGradientGeneral>;
using WeightGradientCudaDense = WeightGradient<CudaWeightGradientDense>;
using WeightGradientCudaProduct = WeightGradientProduct<CudaWeightGradientProduct>;
using WeightGradientCudaPictures = WeightGradientPictures<CudaWeightGradientProduct>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaGeneral, weight_gradient_cuda_general)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaDense, weight_gradient_cuda_dense)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaProduct, weight_gradient_cuda_product)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaPictures, weight_gradient_cuda_pictures)

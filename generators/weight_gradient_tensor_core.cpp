// Weight gradient generators for tensor cores.
#include "generators/weight_gradient_implicit_gemm.h"
#include "generators/weight_gradient_pictures.h"
#include "generators/weight_gradient_product.h"
#include "generators/weight_gradient_tensor_core.h"
#include "schedules/cuda_weight_gradient_implicit_gemm.h"
#include "schedules/cuda_weight_gradient_product_tensor_core.h"
#include "schedules/cuda_weight_gradient_tensor_maps.h"
#include "schedules/cuda_weight_gradient_tensor_core.h"

namespace conv_transpose {
using WeightGradientCudaTensorCore = WeightGradientTensorCore<CudaWeightGradientTensorCore>;
using WeightGradientCudaProductTensorCore = WeightGradientProduct<CudaWeightGradientProductTensorCore>;
using WeightGradientCudaPicturesTensorCore = WeightGradientPictures<CudaWeightGradientProductTensorCore>;
using WeightGradientCudaPicturesTensorMaps = WeightGradientPictures<CudaWeightGradientTensorMaps>;
using WeightGradientCudaImplicitGemm = WeightGradientImplicitGemm<CudaWeightGradientImplicitGemm>;
using WeightGradientCudaImplicitGemmTensorMaps = WeightGradientImplicitGemm<CudaWeightGradientTensorMaps>;
}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaTensorCore, weight_gradient_cuda_tensor_core)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaProductTensorCore, weight_gradient_cuda_product_tensor_core)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaPicturesTensorCore, weight_gradient_cuda_pictures_tensor_core)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaPicturesTensorMaps, weight_gradient_cuda_pictures_tensor_maps)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaImplicitGemm, weight_gradient_cuda_implicit_gemm)
HALIDE_REGISTER_GENERATOR(conv_transpose::WeightGradientCudaImplicitGemmTensorMaps,
                          weight_gradient_cuda_implicit_gemm_tensor_maps)

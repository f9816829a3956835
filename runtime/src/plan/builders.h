// How each operation becomes a recipe, in a file of its own.
#ifndef CONV_TRANSPOSE_RUNTIME_BUILDERS_H
#define CONV_TRANSPOSE_RUNTIME_BUILDERS_H

#include "choice/computation.h"
#include "choice/kernel_choice.h"
#include "plan/recipe.h"

namespace conv_transpose {

/// Throws Unsupported if this build lacks a kernel that prepares operands or adds parts.
Recipe recipe(const Candidate &candidate, const Epilogue &epilogue);

Recipe forward_recipe(const Candidate &candidate, const Epilogue &epilogue);
Recipe input_gradient_recipe(const Candidate &candidate);
Recipe weight_gradient_recipe(const Candidate &candidate);
/// For kernels that multiply packed pictures.
Recipe weight_gradient_product_recipe(const Candidate &candidate);
/// For kernels that read channels innermost.
Recipe weight_gradient_implicit_gemm_recipe(const Candidate &candidate);
/// For flat matrix products.
Recipe flat_weight_gradient_recipe(const Candidate &candidate);
/// By Winograd's algorithm: forward, and weight gradients.
Recipe winograd_recipe(const Candidate &candidate, const Epilogue &epilogue);
Recipe bias_gradient_recipe(const Candidate &candidate);

}  // namespace conv_transpose

#endif

// The recipe of an operation: see builders.h.
#include "plan/builders.h"

namespace conv_transpose {

Recipe recipe(const Candidate &candidate, const Epilogue &epilogue) {
    if (candidate.kernel.family == Family::winograd_product) return winograd_recipe(candidate, epilogue);
    switch (candidate.kernel.operation) {
        case Operation::forward: return forward_recipe(candidate, epilogue);
        case Operation::input_gradient: return input_gradient_recipe(candidate);
        case Operation::weight_gradient:
            if (candidate.kernel.family == Family::weight_gradient_implicit_gemm)
                return weight_gradient_implicit_gemm_recipe(candidate);
            if (candidate.kernel.family == Family::flat_weight_gradient) return flat_weight_gradient_recipe(candidate);
            return candidate.kernel.packed_pictures ? weight_gradient_product_recipe(candidate)
                                                    : weight_gradient_recipe(candidate);
        case Operation::bias_gradient: return bias_gradient_recipe(candidate);
    }
    throw Unsupported("this build does not know the operation");
}

}  // namespace conv_transpose

// Schedules: problems so small that launching a second kernel, which packs the weights, takes longer than it saves.
//
// One thread computes one element, and reads weights as PyTorch has them. Of a millionth of a second or two on any GPU
// the launch itself is the larger part, so there is nothing to tile; what counts is that one launch is all.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_SMALL_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_SMALL_H

#include "schedules/cuda_general.h"
#include "schedules/cuda_input_gradient_general.h"

namespace conv_transpose {

/// Products of input and weight elements up to which the second launch is the longer part.
constexpr int small_problem_products = 1 << 20;

struct CudaSmall : CudaGeneral {
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    CudaSmall() { channels.set(1); }
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &description) const { description.set("max_products", small_problem_products); }
    void search_space(SearchSpace &, const SearchedProblem &) const {}  // nothing to choose
};

struct CudaInputGradientSmall : CudaInputGradientGeneral {
    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    CudaInputGradientSmall() { channels.set(1), columns.set(1); }
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &description) const { description.set("max_products", small_problem_products); }
    void search_space(SearchSpace &, const GradientFacts &) const {}
};

}  // namespace conv_transpose

#endif

// The tensors of one run, filled with reproducible data that the host can look up without keeping the
// tensors.
#ifndef CONV_TRANSPOSE_BENCHMARK_OPERANDS_H
#define CONV_TRANSPOSE_BENCHMARK_OPERANDS_H

#include <map>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/device_memory.h"

namespace conv_transpose::benchmark {

/// A tensor's data: random values that repeat with a prime period, which no stride of a tensor divides.
class Pattern {
  public:
    /// -4 ... 4: sums are exact in float32 whatever their order, and in TF32.
    static Pattern integers(unsigned seed);
    /// Uniform in [-1, 1).
    static Pattern reals(unsigned seed);
    /// Every element the same.
    static Pattern constant(float value);

    float operator[](int64_t i) const { return values_[i % static_cast<int64_t>(values_.size())]; }
    void fill(DeviceMemory &tensor, ElementType type) const;

  private:
    std::vector<float> values_;
    /// In types of 16 bits, once asked for: sets of small tensors take them many times.
    mutable std::map<ElementType, std::vector<uint16_t>> halves_;
};

/// The data of the tensors on each side of a transposed convolution: an operation reads some and writes one.
struct Data {
    Pattern input, weight, bias, output;
    static Data integers() {
        return {Pattern::integers(1), Pattern::integers(2), Pattern::integers(3), Pattern::integers(4)};
    }
    static Data reals() {
        return {Pattern::reals(1), Pattern::reals(2), Pattern::reals(3), Pattern::reals(4)};
    }
};

/// Bytes of each side that an operation touches; 0 where it does not.
struct Extents {
    int64_t input = 0, weight = 0, bias = 0, output = 0;
    Extents(const Problem &problem, const PlanOptions &options);
    int64_t bytes() const { return input + weight + bias + output; }
};

class Operands {
  public:
    explicit Operands(const Plan &plan);

    /// Fills what the operation reads, and the result with NaN.
    void fill(const Data &data);
    Arguments arguments() const;
    Workspace workspace() const { return {workspace_.data(), workspace_.bytes()}; }
    const DeviceMemory &result() const { return *side_of_result_; }

    /// From now on the plan's own form of the weights is used. Does nothing for kernels that read weights as
    /// they are.
    void pack_weight(const Plan &plan);

  private:
    PlanOptions options_;
    DeviceMemory input_, weight_, bias_, output_, workspace_, packed_weight_;
    DeviceMemory *side_of_result_;
};

}  // namespace conv_transpose::benchmark

#endif

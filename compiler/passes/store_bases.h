// A lowering pass that computes once what the addresses of a thread's stores have in common.
//
// A thread that has several positions stores each behind a test of its own. Halide adds up an index in an order of its own, so that
// behind each test all coordinates are multiplied anew: ten instructions of an element's fifteen.
#ifndef CONV_TRANSPOSE_COMPILER_STORE_BASES_H
#define CONV_TRANSPOSE_COMPILER_STORE_BASES_H

#include <string>
#include <utility>

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(): treats stores of `stored` to the caller's buffers whose indices are sums with terms of `place`,
/// a Func of a thread's registers, where these terms are the same of all.
class StoreBases : public Halide::Internal::IRMutator {
  public:
    StoreBases(std::string place, std::string stored) : place_(std::move(place)), stored_(std::move(stored)) {}

  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::ProducerConsumer *op) override;

  private:
    const std::string place_, stored_;
};

}  // namespace conv_transpose

#endif

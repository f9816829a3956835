// A lowering pass that lets vectors of elements of 16 bits come from and go to global memory as words of 32 bits.
//
// Halide loads and stores at once at most 64 bits of such elements, and four words: eight elements would take two loads, and, where
// a number that a thread has kept hides what a store's address is a multiple of, eight stores.
#ifndef CONV_TRANSPOSE_COMPILER_WORD_ACCESSES_H
#define CONV_TRANSPOSE_COMPILER_WORD_ACCESSES_H

#include <set>
#include <string>

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(): treats dense vectors of four or eight in buffers of the caller's that lie at multiples of their
/// size. Buffers have to be aligned to as many bytes.
class WordAccesses : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *op) override;
    Halide::Expr visit(const Halide::Internal::Load *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Store *op) override;

  private:
    std::set<std::string> allocated_;

    template <class Access>
    Halide::Expr words(const Access *op, const Halide::Type &type) const;
};

}  // namespace conv_transpose

#endif

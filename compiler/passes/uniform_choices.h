// A lowering pass that makes a version of a loop for each outcome of a choice that is the same for all of it.
//
// A store whose value hangs on a branch (Call::if_then_else, as of activations in algorithm/epilogue.h) waits for all that the
// value needs before the next store begins, although the branch costs nothing itself: of 32 stores a thread, each with a load
// of its bias, that was most of what a block took beside its loop. Without branches inside they overlap. Code has a price, too:
// what is chosen where a condition does not hold keeps its own choices.
#ifndef CONV_TRANSPOSE_COMPILER_UNIFORM_CHOICES_H
#define CONV_TRANSPOSE_COMPILER_UNIFORM_CHOICES_H

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(): treats loops of GPU threads that have no barrier.
class UniformChoices : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;

  private:
    bool in_threads_ = false;
};

}  // namespace conv_transpose

#endif

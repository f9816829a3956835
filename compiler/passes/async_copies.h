// Staging stores as asynchronous copies: cp.async moves numbers from global to shared memory without a
// register that waits for them.
//
// A store becomes such a copy when it moves 16 aligned bytes, or 4 or 8 (one float, or two or four of 16 bits), unchanged. Outside
// of a boundary, where the store would write zero, the copy reads nothing and fills with zeros.
#ifndef CONV_TRANSPOSE_COMPILER_ASYNC_COPIES_H
#define CONV_TRANSPOSE_COMPILER_ASYNC_COPIES_H

#include <optional>
#include <set>
#include <string>

#include "Halide.h"

namespace conv_transpose {

struct CopyOptions {
    /// Copies of 4 and 8 bytes are made only if asked for: each is an instruction.
    bool single_floats = false;
    /// Copies of 16 bytes leave what they bring in the first-level cache, for those that want it again.
    bool through_first_cache = false;
};

/// A statement without lets, with asynchronous copies in the place of its stores; nothing if one of them can
/// be no copy.
std::optional<Halide::Internal::Stmt> async_copies(const Halide::Internal::Stmt &staging, const CopyOptions &options);

/// A lowering pass for staging without a pipeline (see software_pipeline.h): where all of a Func's stores to
/// shared memory can be copies they become such, and the Func's stage ends with waiting for them. All loads
/// of a stage are under way at once, and none needs a register.
class AsyncCopyPass : public Halide::Internal::IRMutator {
  public:
    using IRMutator::mutate;

  private:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::Allocate *allocate) override;
    Halide::Internal::Stmt visit(const Halide::Internal::ProducerConsumer *part) override;

    std::string shared_;
    /// Allocations in a thread's own memory, which cannot be copied from.
    std::set<std::string> own_;
};

}  // namespace conv_transpose

#endif

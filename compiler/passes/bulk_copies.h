// Staging by the copy engine: one thread starts a copy of many kilobytes from global to shared memory, and an mbarrier
// counts the bytes that have come.
//
// A schedule asks for it by the names of the loops that stage an operand: those of a Func in shared memory begin with
// "bulk_", and one thread of the block runs them (one step of loops over all threads, with a guard). As it stands that is a
// correct and slow program. Loops that run through global and shared memory alike, without gaps, become one copy; outer ones
// stay loops around it. What moves anything else than whole rows of 16 aligned bytes, or may be left out by a condition, is
// refused.
//
// Values that are elements of a box (tensor_boxes.h) are brought by a tensor map instead. Loops around several boxes of a
// Func are named "bulk_box".
//
// An mbarrier's phase ends when one thread has told how many bytes are on their way and all of them have come. Stages of
// a pipeline have a barrier each, so the phase of chunk i is number i / stages, and all wait for the parity of that.
#ifndef CONV_TRANSPOSE_COMPILER_BULK_COPIES_H
#define CONV_TRANSPOSE_COMPILER_BULK_COPIES_H

#include <string>
#include <vector>

#include "Halide.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/tensor_boxes.h"

namespace conv_transpose {

inline constexpr const char *bulk_loops = "bulk_";

/// Places in a pipeline, counted over all tiles of a block, in copies and their barriers.
Halide::Expr number_of_chunk(const std::string &loop);

/// The mbarriers of a pipeline's stages, in shared memory.
class StageBarriers {
  public:
    /// The first of them lies at so many bytes.
    StageBarriers(int first, int stages) : first_(first), stages_(stages) {}

    /// What one thread has to do before any other uses them; behind it there must be a barrier of the block.
    Halide::Internal::Stmt initialised() const;
    Halide::Expr of(const Halide::Expr &chunk) const;
    Halide::Internal::Stmt wait(const Halide::Expr &chunk) const;

    /// In floats.
    static int size(int stages) { return 2 * stages; }

  private:
    int first_, stages_;
};

inline constexpr const char *box_loops = "bulk_box";  // around boxes of a tensor: see tensor_boxes.h

/// The staging of one operand, in the loop of a pipeline.
class BulkCopies {
  public:
    /// Reads a statement without lets that stores to shared memory in loops with such names. `loop` is the pipeline's,
    /// for messages and to name the number of the chunk; `lets` are those around it.
    BulkCopies(const Halide::Internal::Stmt &staging, const std::string &loop, const NamedExprs &lets,
               bool several_warpgroups, const StageBarriers &barriers);

    const Halide::Expr &one_thread() const { return one_thread_; }
    int bytes() const { return bytes_; }
    /// Bytes of a position, where they are boxes of a tensor; else 0.
    int swizzled_row() const { return swizzled_row_; }
    /// It comes with a block's first tile alone (kept_operand.h).
    bool is_kept() const { return is_kept_; }
    /// By one thread.
    const Halide::Internal::Stmt &copies() const { return copies_; }

  private:
    using Loops = std::vector<const Halide::Internal::For *>;

    Halide::Internal::Stmt copy(const Halide::Internal::Stmt &nest, const StageBarriers &barriers);
    Halide::Internal::Stmt run_copy(Loops &loops, const Halide::Internal::Store *store, const StageBarriers &barriers);
    Halide::Internal::Stmt box_copy(Loops &loops, const Halide::Internal::Store *store, const TensorBox &box,
                                    const StageBarriers &barriers);
    Halide::Expr base_of(const Halide::Expr &index) const;

    const std::string loop_;
    const NamedExprs lets_;
    Halide::Expr one_thread_;
    int bytes_ = 0, swizzled_row_ = 0;
    bool is_kept_ = false;
    Halide::Internal::Stmt copies_;
};

/// Starts all copies of a chunk; where `is_first` is defined, those of a kept operand if it holds.
Halide::Internal::Stmt start_bulk_copies(const std::vector<BulkCopies> &all, const std::string &loop,
                                         const StageBarriers &barriers, const Halide::Expr &is_first);

}  // namespace conv_transpose

#endif

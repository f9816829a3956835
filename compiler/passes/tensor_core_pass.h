// A lowering pass for Halide 21 that runs the matrix products which a schedule has named on tensor cores.
//
// The schedule splits the work of one *warpgroup* (four warps: 32 x 4 threads) into loops whose names begin
// with "mma_", and runs them in one lane of the warpgroup. That program is correct as it stands, on any
// machine, and slow. The pass, added last in schedule():
//
//     get_pipeline().add_custom_lowering_pass(new TensorCorePass({.blocks_per_multiprocessor = 2}));
//
// recognises four nests over such loops, in which `tile` is a Func stored in MemoryType::Register:
//
//     clear     tile(m, n) = 0
//     multiply  tile(m, n) += a(m, k) * b(n, k)         operands in MemoryType::GPUShared, of float32; or of 16
//                                                       bits, both converted to float32
//     promote   tile(m, n) += partial(m, n)             a tile of its own for every few steps of the reduction
//     store     out(...) = f(tile(m, n))                any expression of it, any place in global memory; may be
//                                                       converted to 16 bits
//
// and replaces each by placeholder calls that the whole warpgroup executes (see placeholder_calls.h). Loop
// names:
//
//     mma_m        rows of the tile; 64 of them, or a multiple of 64. A multiply nest may cover 64 rows of more
//     mma_m_outer  in a store only: the slower part of m, when the rows of the tile are two dimensions of out;
//                  of three, mma_m_outermost is the slowest. Rows that fill no whole step of it are not stored
//     mma_m_tile   in a store only: which set of 64 rows, when the rows of two such sets alternate in out
//     mma_m_group  in a product: groups of 8 rows, when an operand of 16 bits lies transposed: then mma_m is 8, and runs
//                  along 16 bytes of one k (mma_n_group is the same for the other operand)
//     mma_n        columns: a multiple of 8, at most 256
//     mma_n_group  groups of 8 columns, when these are rows of a picture and not one run: then mma_n is 8
//     mma_n_outer  the same product for several sets of columns, each with its own part of b; in a store of a tile
//                  without such sets: the slower part of n, when the columns of the tile are two dimensions of out
//     mma_k        four consecutive values of the reduction (eight of 16 bits), adjacent in shared memory; of a transposed
//                  operand 16 bytes apart
//     mma_k_outer  groups of so many; an even number of them
//
// Everything that the instructions need is checked, and what does not fit is refused with a TensorCoreRefusal
// that names the loop and the reason. docs/tensor-cores.md explains how to write such a schedule.
#ifndef CONV_TRANSPOSE_COMPILER_TENSOR_CORE_PASS_H
#define CONV_TRANSPOSE_COMPILER_TENSOR_CORE_PASS_H

#include "Halide.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/tensor_core_options.h"

namespace conv_transpose {

class TensorCorePass : public LetMutator {
  public:
    explicit TensorCorePass(const TensorCoreOptions &options = {}) : options_(options) {}

  private:
    using LetMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *loop) override;

    TensorCoreOptions options_;
};

}  // namespace conv_transpose

#endif

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

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "compiler/passes/lowered_ir.h"

namespace conv_transpose {

class TensorCoreRefusal : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct TensorCoreOptions {
    /// How many blocks should share a multiprocessor: caps the registers of a thread at 65536 / (threads x
    /// blocks).
    int blocks_per_multiprocessor = 1;
    /// They are those of the SoftwarePipelinePass that follows: so many buffers make up what a store needs of shared
    /// memory.
    int stages = 1;
    /// Columns of a tile, neighbours in the output on 16 aligned bytes, are stored by rows (tile_rows.cpp). Either all of
    /// 16 bytes are inside of the output, or none.
    bool row_stores = false;
    /// Columns of a tile are mostly neighbours in the output, or rows of neighbouring columns are (tile_runs.cpp).
    bool run_stores = false;
    /// Then so many of them, 2 or 4, from multiples on, lie side by side in the output, all inside of it or none, and their
    /// index is a multiple, where a condition holds that is the same for all of a launch. The fewest come first.
    std::vector<std::pair<int, Halide::Expr>> runs = {};
    /// Which of the taps that are rows (shifted_sums.h) stays where it is: the same for all of a launch.
    Halide::Expr centre = {};
    /// A block has further tiles, whose operands come while one is stored (SoftwarePipelineOptions::resident_blocks): stores
    /// have shared memory of their own behind all stages, and bring 8 rows of a warp there at a time. For row stores.
    bool further_tiles = false;
    /// Blocks along y have a part of the sum each. They are launched as a cluster, read their tiles from each other's shared
    /// memory, add them in order, and store a share of the rows each. For row stores.
    bool adds_in_clusters = false;
};

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

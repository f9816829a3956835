// A lowering pass that multiplies tiles of bfloat16 by a CPU's matrix instructions, Intel's AMX.
//
// A schedule leaves the loops over a tile of sums serial and calls them as it does for a GPU's tensor cores (tensor_core_pass.h):
// mma_m counts rows, mma_n columns, mma_k the two values of a pair, mma_k_outer the 8 or 16 pairs of an instruction. One nest
// clears the sums; another, within any loops, adds products of two loads to them. From the one to the end of the other sums are in
// tile registers of 16 x 16, of which at most four hold them; then they are stored where the schedule has them. Halide's own
// extraction of such tiles holds one at a time, whose operands' rows lie a constant apart.
#ifndef CONV_TRANSPOSE_COMPILER_MATRIX_TILES_H
#define CONV_TRANSPOSE_COMPILER_MATRIX_TILES_H

#include <functional>
#include <optional>
#include <string>

#include "Halide.h"
#include "compiler/passes/warp_tile.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(), of a target with AMX. Throws a TensorCoreRefusal where a nest is none that it can multiply.
class MatrixTiles : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::ProducerConsumer *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;

  private:
    /// What a producer has in tile registers: so many rows and columns of tiles, and where they are stored.
    struct Sums {
        std::string name;
        int rows, columns;
        Affine place;

        std::string tile(int row, int column) const;
        Halide::Internal::Stmt stored(int row, int column) const;
    };
    std::optional<Sums> sums_;

    Halide::Internal::Stmt cleared(const Nest &nest);
    Halide::Internal::Stmt multiplied(const Nest &nest) const;
    Halide::Internal::Stmt for_each_tile(const std::function<Halide::Internal::Stmt(int row, int column)> &statement) const;
};

}  // namespace conv_transpose

#endif

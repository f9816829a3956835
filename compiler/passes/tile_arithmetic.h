// What a nest does to a tile in the registers of a warpgroup: clears it, adds a matrix product, or adds
// (promotes) a tile of its own. Checks that the instructions can do it, and gives the placeholder calls that
// stand for them.
#ifndef CONV_TRANSPOSE_COMPILER_TILE_ARITHMETIC_H
#define CONV_TRANSPOSE_COMPILER_TILE_ARITHMETIC_H

#include <optional>
#include <string>

#include "compiler/passes/pair_products.h"
#include "compiler/passes/warp_tile.h"

namespace conv_transpose {

/// Where an operand lies in shared memory, as its nest runs over it, and in which format.
struct TileOperand {
    Affine place;
    OperandFormat format;
    /// Bytes of a row that holds all k of a nest, or, transposed, a run of the tile; 0: rows are 16 bytes.
    int swizzled_row = 0;

    /// mma_k: what 16 bytes hold.
    int values_of_row() const { return bytes_of_row / bytes_of(format); }
};

/// An instance serves one kernel.
class TileArithmetic {
  public:
    /// `tiles` are the kernel's accumulators: nests that clear them fill in their shapes. `shared` is the
    /// allocation that holds operands. Both must outlive this.
    TileArithmetic(WarpTiles &tiles, const std::string &shared) : tiles_(tiles), shared_(shared) {}

    /// The statement in the place of a nest that stores to an accumulator.
    Halide::Internal::Stmt lowered(const Nest &nest);

  private:
    Halide::Internal::Stmt clear(const Nest &nest, WarpTile &tile);
    /// Operands that are words have two values of the format `of_pairs`.
    Halide::Internal::Stmt multiply(const Nest &nest, const WarpTile &tile, const Halide::Expr &left, const Halide::Expr &right,
                                    const std::optional<OperandFormat> &of_pairs) const;
    /// Rows of the tile are of words, of which a warpgroup takes one half.
    Halide::Internal::Stmt multiply_half(const Nest &nest, const WarpTile &tile, const HalfProduct &product) const;
    Halide::Internal::Stmt promote(const Nest &nest, const WarpTile &tile, const WarpTile &partial,
                                   const Halide::Internal::Load *load) const;
    TileOperand read_operand(const Nest &nest, const Halide::Expr &factor) const;

    WarpTiles &tiles_;
    const std::string &shared_;
    int accumulators_ = 0;  // registers of every thread
};

}  // namespace conv_transpose

#endif

// The loop nests over a warpgroup's tile, as a schedule for tensor cores leaves them in a lowered kernel:
// what loops and what one store a nest has, and how its indices run over the tile. tensor_core_pass.h names
// the loops.
#ifndef CONV_TRANSPOSE_COMPILER_WARP_TILE_H
#define CONV_TRANSPOSE_COMPILER_WARP_TILE_H

#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/warpgroup.h"

namespace conv_transpose {

/// Throws a TensorCoreRefusal that names the loop and the rule.
[[noreturn]] void refuse_tile(const std::string &loop, const std::string &reason);

std::string text(const Halide::Expr &e);

/// `e` as the one lane sees it that runs a nest.
Halide::Expr at_lane_zero(const Halide::Expr &e);

/// Whether two indices are equal, as sums of multiples or by Halide's proof.
bool are_equal(const Halide::Expr &a, const Halide::Expr &b);

/// One loop of a nest. The extent of a loop whose end was trimmed to the edge of the output is not constant.
struct TileLoop {
    std::string role, name;
    Halide::Expr extent;
};

/// A nest: loops around one store, with the conditions met on the way.
struct Nest {
    std::string name;  // of its outermost loop, for messages
    std::vector<TileLoop> loops;
    std::vector<Halide::Expr> guards;
    NamedExprs lets;  // enclosing ones first
    const Halide::Internal::Store *store = nullptr;

    /// `lets` are those around the nest.
    static Nest read(const Halide::Internal::For *outermost, const NamedExprs &lets);

    const TileLoop *find(const std::string &role) const;
    /// 1 where the nest has no such loop.
    int constant_extent(const std::string &role) const;
};

/// base + sum of strides[role] * loop.
struct Affine {
    Halide::Expr base;
    std::map<std::string, Halide::Expr> strides;

    Halide::Expr stride(const std::string &role) const;
};

/// Refuses what is not affine.
Affine affine_index(const Nest &nest, const Halide::Expr &index);

/// Refuses what is no constant; `what` the index is of, for the message.
int constant_stride(const Nest &nest, const Affine &index, const std::string &role, const std::string &what);

/// An accumulator tile: its extents, and its element strides in the Func's own storage (to recognise it
/// elsewhere). Columns are one run of neighbours, or groups of eight.
struct WarpTile {
    int id = 0;
    int rows = 0, columns = 0, groups = 1, repeats = 1;
    int taps = 1;  ///< so many times as many rows have been computed: see shifted_sums.h
    int row_stride = 0, column_stride = 0, group_stride = 0, repeat_stride = 0;
    Halide::Expr base;

    /// The accumulator index of a nest that runs over a tile, or over some of its rows.
    static WarpTile read(const Nest &nest, const Halide::Expr &index);

    bool known() const { return rows != 0; }
    /// Columns of one run.
    int run() const { return columns / groups; }
    bool same_columns(const WarpTile &other) const;
};

/// Accumulators of a kernel, by the names of their Funcs.
using WarpTiles = std::map<std::string, WarpTile>;

}  // namespace conv_transpose

#endif

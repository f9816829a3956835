// A tile of which the blocks of a cluster have a part of the sum each (TileStore, TensorCoreOptions::adds_in_clusters).
//
// Each of them brings all rows of its tile to its shared memory, adds some rows of all, in the order of the blocks, so that the
// result repeats bit by bit, and stores these. A block that is alone has all rows.
#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_parts.h"
#include "compiler/passes/tile_store.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

/// A warp adds and stores these of its lines; those of the same warp in other blocks of the cluster take the others.
Expr TileStore::first_own() const { return integer(nest_.name + ".first_own"); }
Expr TileStore::end_of_own() const { return integer(nest_.name + ".end_of_own"); }

/// Behind the sums of its lines, which it has by its place in the cluster.
Stmt TileStore::of_cluster(const Stmt &stores) const {
    const Expr blocks = cluster_->extent, rank = integer(cluster_->name);
    const int of_line = rows_of_line(), lines = rows_of_warp() / of_line;
    const auto row = [&](const Expr &line) { return of_line == 1 ? line : line * of_line; };
    const Stmt arrive = placeholder({"cluster_arrive", {}}), wait = placeholder({"cluster_wait", {}});
    const Stmt sum = placeholder({"cluster_sum", {{"n", line()}, {"rows", rows_of_warp()}, {"pitch", pitch_}}},
                                 {row(first_own()), row(end_of_own()), blocks});
    const Expr several = blocks > 1;  // whose shared memory stays until all others have read it
    const Stmt all = Block::make({IfThenElse::make(several, Block::make({arrive, wait, sum, arrive})), stores,
                                  IfThenElse::make(several, wait)});
    return LetStmt::make(nest_.name + ".first_own", rank * lines / blocks,
                         LetStmt::make(nest_.name + ".end_of_own", (rank + 1) * lines / blocks, all));
}

}  // namespace conv_transpose

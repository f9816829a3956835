// Finding sums of rows that lie a column apart: see shifted_sums.h.
#include "compiler/passes/shifted_sums.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/lowered_ir.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Sums of elements of one tile, the terms of the first; replaces them, where there is something to replace them by.
class SumsOfElements : public IRMutator {
  public:
    explicit SumsOfElements(const WarpTiles &tiles, Expr replacement = {}) : tiles_(tiles), replacement_(std::move(replacement)) {}
    std::vector<const Load *> terms;

  private:
    using IRMutator::visit;

    Expr visit(const Add *sum) override { return replaced(sum) ? replacement_ : IRMutator::visit(sum); }
    Expr visit(const Call *call) override { return replaced(call) ? replacement_ : IRMutator::visit(call); }

    bool replaced(const Expr &e) {
        std::vector<const Load *> found;
        if (e.as<Load>() || !collect(e, found)) return false;
        if (terms.empty()) terms = found;
        return replacement_.defined();
    }

    bool collect(const Expr &e, std::vector<const Load *> &found) const {
        if (const Add *sum = e.as<Add>()) return collect(sum->a, found) && collect(sum->b, found);
        if (const Call *sum = e.as<Call>(); sum && sum->is_intrinsic(Call::strict_add))
            return collect(sum->args[0], found) && collect(sum->args[1], found);
        const Load *load = e.as<Load>();
        if (!load || !tiles_.count(load->name)) return false;
        found.push_back(load);
        return load->name == found.front()->name;
    }

    const WarpTiles &tiles_;
    const Expr replacement_;
};

}  // namespace

Stmt take_shifted_sums(Nest &nest, WarpTiles &tiles) {
    const Store *store = nest.store;
    const Expr value = substitute_in_all_lets(resolve(store->value, nest.lets));
    SumsOfElements sums(tiles);
    sums.mutate(value);
    if (sums.terms.empty()) return {};
    WarpTile &tile = tiles.at(sums.terms.front()->name);
    const int taps = static_cast<int>(sums.terms.size()), rows = tile.rows / taps;
    const auto refuse = [&] {
        refuse_tile(nest.name, "a sum of " + std::to_string(taps) + " elements of a tile of " + std::to_string(tile.rows) +
                                   " rows; the rule is a share of the rows for each, and a column between one and the next");
    };
    if (tile.rows % taps != 0 || tile.groups > 1 || tile.repeats > 1) refuse();
    Expr of_first_tap;
    for (int tap = 0; tap < taps; tap++) {
        const Expr place = tile.base + tap * (rows * tile.row_stride - tile.column_stride);
        const auto term = std::find_if(sums.terms.begin(), sums.terms.end(), [&](const Load *load) {
            return are_equal(affine_index(nest, load->index).base, place);
        });
        if (term == sums.terms.end()) refuse();
        if (tap == 0) of_first_tap = *term;
    }
    const Expr of_first = SumsOfElements(tiles, of_first_tap).mutate(value);
    tile.rows = rows, tile.taps = taps;
    const Stmt store_of_first = Store::make(store->name, of_first, store->index, store->param, store->predicate, store->alignment);
    nest.store = store_of_first.as<Store>();
    return store_of_first;
}

}  // namespace conv_transpose

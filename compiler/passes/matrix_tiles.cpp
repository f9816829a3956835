// Tiles of sums in a CPU's tile registers: see matrix_tiles.h.
#include "compiler/passes/matrix_tiles.h"

#include <utility>
#include <vector>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int side = 16;       // rows and columns of a tile of sums
constexpr int row_bytes = 64;  // of a register, at most: columns of sums, and pairs of them, fill it
constexpr int most_tiles = 2;  // along a side: four registers of eight hold sums, and four operands
// Halide knows registers as vectors that fill them, whatever they hold.
const Type sums_type = Float(32, side * side), operand_type = BFloat(16, 512);

Expr sums_of(const std::string &tile) {
    return Load::make(sums_type, tile, Ramp::make(0, 1, side * side), Buffer<>(), Parameter(), const_true(side * side),
                      ModulusRemainder());
}

Stmt set_sums(const std::string &tile, const Expr &sums) {
    return Store::make(tile, sums, Ramp::make(0, 1, side * side), Parameter(), const_true(side * side), ModulusRemainder());
}

Expr bytes(const Expr &elements, int of_element) { return cast<int64_t>(simplify(elements)) * of_element; }

/// One of a product's factors.
struct Operand {
    const Load *load;
    Affine place;

    /// A tile whose first element lies so many behind the nest's, and whose rows are so many apart.
    Expr tile(int rows, int pairs_of_row, const Expr &behind, const Expr &apart) const {
        const Expr memory = Variable::make(Handle(), load->name, load->image, load->param, ReductionDomain());
        return Call::make(operand_type, "tile_load",
                          {rows, pairs_of_row * 4, memory, bytes(place.base + behind, 2), bytes(apart, 2)}, Call::Intrinsic);
    }
};

Operand read_operand(const Nest &nest, const Expr &factor) {
    const Cast *widened = factor.as<Cast>();
    const Load *load = widened && widened->type == Float(32) ? widened->value.as<Load>() : nullptr;
    if (!load || load->type != BFloat(16)) refuse_tile(nest.name, "an operand is a load of bfloat16, not " + text(factor));
    return {load, affine_index(nest, load->index)};
}

/// Tiles along a side of the sums.
int tiles_along(const Nest &nest, const std::string &role) {
    const int extent = nest.constant_extent(role);
    if (extent % side != 0 || extent / side > most_tiles)
        refuse_tile(nest.name, role + " has extent " + std::to_string(extent) + "; the rule is 16 or 32");
    return extent / side;
}

void check_stride(const Nest &nest, const Operand &operand, const std::string &role, int stride) {
    if (constant_stride(nest, operand.place, role, "an operand") != stride)
        refuse_tile(nest.name, "an operand has stride " + text(operand.place.stride(role)) + " along " + role + "; the rule is " +
                                   std::to_string(stride));
}

}  // namespace

std::string MatrixTiles::Sums::tile(int row, int column) const {
    return name + ".tile_" + std::to_string(row) + "_" + std::to_string(column);
}

Stmt MatrixTiles::Sums::stored(int row, int column) const {
    const Expr pitch = place.stride("mma_m"), at = place.base + row * side * pitch + column * side;
    return Evaluate::make(Call::make(Int(32), "tile_store",
                                     {side, row_bytes, Variable::make(Handle(), name), bytes(at, 4), bytes(pitch, 4),
                                      sums_of(tile(row, column))},
                                     Call::Intrinsic));
}

Stmt MatrixTiles::for_each_tile(const std::function<Stmt(int row, int column)> &statement) const {
    std::vector<Stmt> all;
    for (int row = 0; row < sums_->rows; row++)
        for (int column = 0; column < sums_->columns; column++) all.push_back(statement(row, column));
    return Block::make(all);
}

Stmt MatrixTiles::visit(const ProducerConsumer *op) {
    if (!op->is_producer) return IRMutator::visit(op);
    const auto outer = std::exchange(sums_, std::nullopt);
    Stmt body = mutate(op->body);
    if (sums_ && sums_->name == op->name) {
        body = Block::make(body, for_each_tile([&](int row, int column) { return sums_->stored(row, column); }));
        for_each_tile([&](int row, int column) -> Stmt {
            return body = Allocate::make(sums_->tile(row, column), Float(32, side * side), MemoryType::AMXTile, {1}, const_true(),
                                         body);
        });
    }
    sums_ = outer;
    return ProducerConsumer::make(op->name, true, body);
}

Stmt MatrixTiles::visit(const For *op) {
    if (!is_called(op, "mma_")) return IRMutator::visit(op);
    const Nest nest = Nest::read(op, {});
    if (!nest.guards.empty()) refuse_tile(nest.name, "the condition " + text(nest.guards[0]) + " inside a tile");
    return nest.store->value.as<Add>() ? multiplied(nest) : cleared(nest);
}

Stmt MatrixTiles::cleared(const Nest &nest) {
    if (!is_const_zero(resolve(nest.store->value, nest.lets))) refuse_tile(nest.name, "sums begin with 0");
    sums_ = Sums{nest.store->name, tiles_along(nest, "mma_m"), tiles_along(nest, "mma_n"), affine_index(nest, nest.store->index)};
    if (constant_stride(nest, sums_->place, "mma_n", "a sum") != 1) refuse_tile(nest.name, "columns of sums lie side by side");
    return for_each_tile([&](int row, int column) {
        const Expr zero = Call::make(sums_type, "tile_zero", {cast<int16_t>(side), cast<int16_t>(row_bytes)}, Call::Intrinsic);
        return set_sums(sums_->tile(row, column), zero);
    });
}

Stmt MatrixTiles::multiplied(const Nest &nest) const {
    const Add *sum = nest.store->value.as<Add>();
    const Expr term = resolve(sum->b, nest.lets);
    const Mul *product = term.as<Mul>();
    const Load *before = sum->a.as<Load>();
    const bool adds = sums_ && product && before && before->name == sums_->name && nest.store->name == sums_->name &&
                      are_equal(before->index, nest.store->index);
    const int pairs = nest.constant_extent("mma_k_outer");
    if (!adds || !are_equal(affine_index(nest, nest.store->index).base, sums_->place.base) ||
        nest.constant_extent("mma_k") != 2 || (pairs != 8 && pairs != 16))
        refuse_tile(nest.name, "a nest adds products of 8 or 16 pairs to the sums that one before it clears");
    const Operand of_rows = read_operand(nest, product->a), of_columns = read_operand(nest, product->b);
    // A row of memory is all pairs of a row of the tile, or a pair of 16 columns.
    check_stride(nest, of_rows, "mma_k", 1);
    check_stride(nest, of_rows, "mma_k_outer", 2);
    check_stride(nest, of_rows, "mma_n", 0);
    check_stride(nest, of_columns, "mma_k", 1);
    check_stride(nest, of_columns, "mma_n", 2);
    check_stride(nest, of_columns, "mma_m", 0);
    const auto name = [&](const char *what, int number) { return nest.name + what + std::to_string(number); };
    Stmt all = for_each_tile([&](int row, int column) {
        const std::string tile = sums_->tile(row, column);
        const Expr a = Variable::make(operand_type, name(".row_", row)), b = Variable::make(operand_type, name(".column_", column));
        return set_sums(tile, Call::make(sums_type, "tile_matmul", {side, row_bytes, pairs * 2, sums_of(tile), a, b},
                                         Call::Intrinsic));
    });
    const Expr row_apart = of_rows.place.stride("mma_m"), pair_apart = of_columns.place.stride("mma_k_outer");
    for (int column = 0; column < sums_->columns; column++)
        all = LetStmt::make(name(".column_", column), of_columns.tile(pairs, side, column * side * 2, pair_apart), all);
    for (int row = 0; row < sums_->rows; row++)
        all = LetStmt::make(name(".row_", row), of_rows.tile(side, pairs, row * side * row_apart, row_apart), all);
    return all;
}

}  // namespace conv_transpose

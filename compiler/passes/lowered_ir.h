// Small questions about Halide's lowered statements that more than one lowering pass asks.
#ifndef CONV_TRANSPOSE_COMPILER_LOWERED_IR_H
#define CONV_TRANSPOSE_COMPILER_LOWERED_IR_H

#include <optional>
#include <string>
#include <vector>

#include "Halide.h"
#include "compiler/passes/operand_format.h"
#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using NamedExprs = std::vector<std::pair<std::string, Halide::Expr>>;

/// A mutator that knows the lets around what it visits.
class LetMutator : public Halide::Internal::IRMutator {
  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::LetStmt *let) override;

    NamedExprs lets_;
};

/// "mma_n" of the loop "tile.s1.r$x.mma_n": what the schedule called it.
std::string last_name(const std::string &loop_name);

/// Whether a loop has a name of the schedule that begins so, whatever was added behind: "bulk_k" of "tile.bulk_k.rebased".
bool is_called(const Halide::Internal::For *loop, const std::string &prefix);

/// Whether a statement holds a loop whose last name begins with `prefix`.
bool has_loop(const Halide::Internal::Stmt &statement, const std::string &prefix);

/// The placeholder calls of a statement, in its order.
std::vector<PlaceholderCall> placeholders_of(const Halide::Internal::Stmt &statement);

/// Whether a statement holds a placeholder call of this kind (any kind when empty).
bool has_placeholder(const Halide::Internal::Stmt &statement, const std::string &kind = "");

struct Access {
    bool reads = false, writes = false, barrier = false;
};

/// What a statement does to an array, and whether it holds a barrier among the threads of a block.
Access access_of(const Halide::Internal::Stmt &statement, const std::string &array);

/// Whether a statement is a barrier among the threads of a block, and nothing else.
bool is_barrier(const Halide::Internal::Stmt &statement);

/// The statements, one after the other; there may be none.
Halide::Internal::Stmt block_of(const std::vector<Halide::Internal::Stmt> &statements);

/// The statement with the values of its lets, and of those in its expressions, in the place of their names.
Halide::Internal::Stmt without_lets(const Halide::Internal::Stmt &statement);

/// The statement that calls a placeholder.
Halide::Internal::Stmt placeholder(const PlaceholderCall &call, std::vector<Halide::Expr> arguments = {});

/// The format of numbers, or vectors of them, that have one.
std::optional<OperandFormat> operand_format(const Halide::Type &type);

/// A load of one element that stands for the element's address: the PTX expansion takes the address out of
/// it. bfloat16 is loaded as float16 then, because integers of 16 bits are widened before a call.
Halide::Expr address_of(const Halide::Internal::Load *load, const Halide::Expr &index);

/// `e` with every name of `lets` replaced by its value, the innermost (last) first.
Halide::Expr resolve(Halide::Expr e, const NamedExprs &lets);

}  // namespace conv_transpose

#endif

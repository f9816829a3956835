// Divisions before a statement: see loop_divisions.h.
#include "compiler/passes/loop_divisions.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Names that a statement defines.
class Definitions : public IRVisitor {
  public:
    std::set<std::string> names;

  private:
    using IRVisitor::visit;
    void visit(const For *loop) override { names.insert(loop->name), IRVisitor::visit(loop); }
    void visit(const LetStmt *let) override { names.insert(let->name), IRVisitor::visit(let); }
};

class TakeDivisions : public IRMutator {
  public:
    explicit TakeDivisions(const std::set<std::string> &defined) {
        for (const std::string &name : defined) defined_.push(name);
    }
    std::vector<std::pair<std::string, Expr>> taken;

  private:
    using IRMutator::visit;
    Expr visit(const Div *op) override { return taken_or(op, op->b); }
    Expr visit(const Mod *op) override { return taken_or(op, op->b); }

    template <class Op>
    Expr taken_or(const Op *op, const Expr &divisor) {
        const Expr all(op);
        if (!op->type.is_scalar() || is_const(divisor) || expr_uses_vars(all, defined_)) return IRMutator::visit(op);
        for (const auto &[name, value] : taken)
            if (equal(value, all)) return Variable::make(op->type, name);
        taken.emplace_back(unique_name("quotient"), all);
        return Variable::make(op->type, taken.back().first);
    }
    Scope<void> defined_;
};

}  // namespace

Stmt with_divisions_before(const Stmt &statement) {
    Definitions definitions;
    Stmt result = substitute_in_all_lets(statement);
    result.accept(&definitions);
    TakeDivisions divisions(definitions.names);
    result = divisions.mutate(result);
    for (auto part = divisions.taken.rbegin(); part != divisions.taken.rend(); ++part)
        result = LetStmt::make(part->first, part->second, result);
    return result;
}

}  // namespace conv_transpose

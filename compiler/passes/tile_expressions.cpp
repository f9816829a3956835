#include "compiler/passes/tile_expressions.h"

#include <algorithm>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Loads of accumulators in an expression.
class LoadsOfTiles : public IRVisitor {
  public:
    explicit LoadsOfTiles(const WarpTiles &tiles) : tiles_(tiles) {}
    std::vector<const Load *> found;

  private:
    using IRVisitor::visit;
    void visit(const Load *load) override {
        const bool known =
            std::any_of(found.begin(), found.end(), [&](const Load *f) { return equal(f, load); });
        if (tiles_.count(load->name) && !known) found.push_back(load);
        IRVisitor::visit(load);
    }
    const WarpTiles &tiles_;
};

/// Replaces the loads of one array.
class ReplaceLoad : public IRMutator {
  public:
    ReplaceLoad(std::string name, Expr replacement)
        : name_(std::move(name)), replacement_(std::move(replacement)) {}

  private:
    using IRMutator::visit;
    Expr visit(const Load *load) override {
        return load->name == name_ ? replacement_ : IRMutator::visit(load);
    }
    std::string name_;
    Expr replacement_;
};

}  // namespace

std::vector<const Load *> loads_of_tiles(const Expr &e, const WarpTiles &tiles) {
    LoadsOfTiles loads(tiles);
    e.accept(&loads);
    return loads.found;
}

Expr with_loads_replaced(const Expr &e, const std::string &array, const Expr &replacement) {
    return ReplaceLoad(array, replacement).mutate(e);
}

Expr as_float(const Expr &value) {
    if (value.type() == Float(32)) return value;
    if (const Cast *conversion = value.as<Cast>(); conversion && conversion->value.type() == Float(32)) return conversion->value;
    if (const Call *choice = value.as<Call>();
        choice && choice->is_intrinsic(Call::if_then_else) && choice->args.size() == 3)
        return Call::make(Float(32), Call::if_then_else,
                          {choice->args[0], as_float(choice->args[1]), as_float(choice->args[2])},
                          Call::PureIntrinsic);
    if (const Select *choice = value.as<Select>())
        return Select::make(choice->condition, as_float(choice->true_value), as_float(choice->false_value));
    return cast<float>(value);
}

Expr as_signed_comparison(const Expr &condition) {
    if (const And *both = condition.as<And>()) return as_signed_comparison(both->a) && as_signed_comparison(both->b);
    const LT *less = condition.as<LT>();
    const Cast *cast = less ? less->a.as<Cast>() : nullptr;
    const auto limit = less ? as_const_uint(less->b) : std::nullopt;
    const bool is_natural =
        cast && cast->type == UInt(32) && cast->value.type() == Int(32) && limit == uint64_t{1} << 31;
    return is_natural ? cast->value >= 0 : condition;
}

std::vector<Expr> parts_of(const std::vector<Expr> &conditions) {
    std::vector<Expr> parts, left = conditions;
    while (!left.empty()) {
        const Expr condition = left.back();
        left.pop_back();
        if (const And *both = condition.as<And>()) {
            left.push_back(both->a), left.push_back(both->b);
        } else if (const Let *let = condition.as<Let>()) {
            for (const Expr &part : parts_of({let->body}))
                parts.push_back(expr_uses_var(part, let->name) ? Let::make(let->name, let->value, part) : part);
        } else {
            parts.push_back(condition);
        }
    }
    return parts;
}

}  // namespace conv_transpose

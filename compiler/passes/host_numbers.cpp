// Numbers that are computed on the host: see host_numbers.h.
#include "compiler/passes/host_numbers.h"

#include <set>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Around the first statement that asks for a number: what numbers are computed from is bound outside of it.
class BindNumbers : public IRMutator {
  public:
    explicit BindNumbers(std::vector<std::pair<std::string, Expr>> numbers) : numbers_(std::move(numbers)) {
        for (const auto &[name, value] : numbers_) names_.insert(name);
    }

    using IRMutator::mutate;
    Stmt mutate(const Stmt &s) override {
        if (inside_ || !s.defined()) return IRMutator::mutate(s);
        const auto *let = s.as<LetStmt>();
        if (let && !asks(let->value)) return LetStmt::make(let->name, let->value, mutate(let->body));
        const auto *block = s.as<Block>();
        if (block && !asks(block->first)) return Block::make(block->first, mutate(block->rest));
        inside_ = true;
        Stmt result = IRMutator::mutate(s);
        for (auto number = numbers_.rbegin(); number != numbers_.rend(); ++number)
            if (stmt_uses_var(result, number->first))
                result = LetStmt::make(number->first, IRMutator::mutate(number->second), result);
        inside_ = false;
        return result;
    }

  private:
    using IRMutator::visit;
    Expr visit(const Call *op) override {
        return names_.count(op->name) ? Variable::make(op->type, op->name) : IRMutator::visit(op);
    }

    class Asks : public IRVisitor {
      public:
        explicit Asks(const std::set<std::string> &names) : names_(names) {}
        bool any = false;

      private:
        using IRVisitor::visit;
        void visit(const Call *op) override {
            any |= names_.count(op->name) > 0;
            IRVisitor::visit(op);
        }
        const std::set<std::string> &names_;
    };
    template <class Node>
    bool asks(const Node &node) const {
        Asks asks(names_);
        node.accept(&asks);
        return asks.any;
    }

    std::vector<std::pair<std::string, Expr>> numbers_;
    std::set<std::string> names_;
    bool inside_ = false;
};

}  // namespace

Expr HostNumbers::named(const Expr &value) {
    const Expr simple = simplify(value);
    if (is_const(simple) || simple.as<Variable>()) return simple;
    const auto call = [](const std::string &name) { return Call::make(Int(32), name, {}, Call::PureExtern); };
    for (const auto &[name, other] : numbers_)
        if (equal(other, simple) || equal(call(name), simple)) return call(name);
    numbers_.emplace_back("number_" + std::to_string(numbers_.size()), simple);
    return call(numbers_.back().first);
}

IRMutator *HostNumbers::pass() const { return new BindNumbers(numbers_); }

}  // namespace conv_transpose

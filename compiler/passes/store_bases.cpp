// What addresses of stores have in common: see store_bases.h.
#include "compiler/passes/store_bases.h"

#include <set>
#include <vector>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class LoadFinder : public IRVisitor {
  public:
    explicit LoadFinder(std::string of) : of_(std::move(of)) {}
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const Load *op) override {
        found |= op->name.rfind(of_ + ".", 0) == 0;
        IRVisitor::visit(op);
    }
    const std::string of_;
};

bool depends_on(const Expr &e, const std::string &place) {
    LoadFinder finder(place);
    e.accept(&finder);
    return finder.found;
}

// An index, or a vector's first, as a sum: of terms of the place, and the rest.
struct Sum {
    Expr of_place, rest;

    void add(const Expr &e, const std::string &place) {
        if (const Add *sum = e.as<Add>()) {
            add(sum->a, place), add(sum->b, place);
            return;
        }
        if (const Mul *product = e.as<Mul>()) {
            for (const auto &[factor, other] : {std::pair{product->a, product->b}, std::pair{product->b, product->a}})
                if (const Add *sum = factor.as<Add>()) {
                    add(sum->a * other, place), add(sum->b * other, place);
                    return;
                }
        }
        Expr &part = depends_on(e, place) ? of_place : rest;
        part = part.defined() ? part + e : e;
    }
    static Sum of(const Expr &index, const std::string &place) {
        const Ramp *ramp = index.as<Ramp>();
        Sum sum;
        sum.add(ramp ? ramp->base : index, place);
        return sum;
    }
};

// Finds the terms that all stores to one place share, and which buffers are allocated here: those are left alone.
class CommonTerms : public IRVisitor {
  public:
    explicit CommonTerms(std::string place) : place_(std::move(place)) {}

    Expr base() const {
        if (stores_ < 2 || differ_ || !base_.defined()) return {};
        for (const std::string &name : bound_)
            if (expr_uses_var(base_, name)) return {};
        return base_;
    }
    const std::set<std::string> &allocated() const { return allocated_; }

  private:
    using IRVisitor::visit;
    void visit(const Allocate *op) override {
        allocated_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const LetStmt *op) override {
        bound_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const For *op) override {
        bound_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        if (!allocated_.count(op->name)) {
            const Expr base = Sum::of(op->index, place_).of_place;
            if (!stores_++) base_ = base;
            else differ_ |= !base.defined() || !base_.defined() || !equal(base, base_);
        }
        IRVisitor::visit(op);
    }

    const std::string place_;
    std::set<std::string> allocated_, bound_;
    Expr base_;
    int stores_ = 0;
    bool differ_ = false;
};

class UseBase : public IRMutator {
  public:
    UseBase(std::string place, Expr base, std::set<std::string> allocated)
        : place_(std::move(place)), base_(std::move(base)), allocated_(std::move(allocated)) {}

  private:
    using IRMutator::visit;
    Stmt visit(const Store *op) override {
        if (allocated_.count(op->name)) return op;
        const Ramp *ramp = op->index.as<Ramp>();
        const Expr rest = Sum::of(op->index, place_).rest, index = rest.defined() ? base_ + rest : base_;
        return Store::make(op->name, op->value, ramp ? Ramp::make(index, ramp->stride, ramp->lanes) : index, op->param,
                           op->predicate, op->alignment);
    }

    const std::string place_;
    const Expr base_;
    const std::set<std::string> allocated_;
};

}  // namespace

Stmt StoreBases::visit(const ProducerConsumer *op) {
    if (op->is_producer || op->name != stored_) return IRMutator::visit(op);
    CommonTerms terms(place_);
    op->body.accept(&terms);
    const Expr base = terms.base();
    if (!base.defined()) return IRMutator::visit(op);
    const std::string name = place_ + ".store_base";
    const Stmt body = UseBase(place_, Variable::make(Int(32), name), terms.allocated()).mutate(op->body);
    return ProducerConsumer::make_consume(stored_, LetStmt::make(name, base, body));
}

}  // namespace conv_transpose

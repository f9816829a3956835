// Small questions about Halide's lowered statements that more than one lowering pass asks.
#include "compiler/passes/lowered_ir.h"

#include <algorithm>
#include <iterator>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class LoopFinder : public IRVisitor {
  public:
    explicit LoopFinder(std::string prefix) : prefix_(std::move(prefix)) {}
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const For *loop) override {
        found = found || starts_with(last_name(loop->name), prefix_);
        IRVisitor::visit(loop);
    }
    std::string prefix_;
};

class Placeholders : public IRVisitor {
  public:
    std::vector<PlaceholderCall> all;

  private:
    using IRVisitor::visit;
    void visit(const Call *call) override {
        if (starts_with(call->name, std::string(placeholder_prefix))) all.push_back(PlaceholderCall::parse(call->name));
        IRVisitor::visit(call);
    }
};

class AccessFinder : public IRVisitor {
  public:
    explicit AccessFinder(std::string array) : array_(std::move(array)) {}
    Access access;

  private:
    using IRVisitor::visit;
    void visit(const Load *load) override {
        access.reads = access.reads || load->name == array_;
        IRVisitor::visit(load);
    }
    void visit(const Store *store) override {
        access.writes = access.writes || store->name == array_;
        IRVisitor::visit(store);
    }
    void visit(const Call *call) override {
        access.barrier = access.barrier || call->is_intrinsic(Call::gpu_thread_barrier);
        IRVisitor::visit(call);
    }
    std::string array_;
};

class WithoutLets : public IRMutator {
  private:
    using IRMutator::visit;
    Stmt visit(const LetStmt *let) override { return mutate(substitute(let->name, let->value, let->body)); }
    Expr visit(const Let *let) override { return mutate(substitute(let->name, let->value, let->body)); }
};

}  // namespace

Stmt LetMutator::visit(const LetStmt *let) {
    lets_.emplace_back(let->name, let->value);
    Stmt body = mutate(let->body);
    lets_.pop_back();
    return LetStmt::make(let->name, let->value, body);
}

std::string last_name(const std::string &loop_name) {
    const std::string rebased = ".rebased";  // by Halide, to begin at 0
    if (ends_with(loop_name, rebased)) return last_name(loop_name.substr(0, loop_name.size() - rebased.size()));
    const std::size_t dot = loop_name.rfind('.');
    return dot == std::string::npos ? loop_name : loop_name.substr(dot + 1);
}

bool is_called(const For *loop, const std::string &prefix) { return loop->name.find("." + prefix) != std::string::npos; }

bool has_loop(const Stmt &statement, const std::string &prefix) {
    LoopFinder finder(prefix);
    statement.accept(&finder);
    return finder.found;
}

std::vector<PlaceholderCall> placeholders_of(const Stmt &statement) {
    Placeholders calls;
    statement.accept(&calls);
    return std::move(calls.all);
}

bool has_placeholder(const Stmt &statement, const std::string &kind) {
    const std::vector<PlaceholderCall> calls = placeholders_of(statement);
    return std::any_of(calls.begin(), calls.end(), [&](const PlaceholderCall &c) { return kind.empty() || c.kind == kind; });
}

bool is_barrier(const Stmt &statement) {
    const Evaluate *evaluate = statement.as<Evaluate>();
    const Call *call = evaluate ? evaluate->value.as<Call>() : nullptr;
    return call && call->is_intrinsic(Call::gpu_thread_barrier);
}

Access access_of(const Stmt &statement, const std::string &array) {
    AccessFinder finder(array);
    statement.accept(&finder);
    return finder.access;
}

Stmt block_of(const std::vector<Stmt> &statements) {
    return statements.empty() ? Evaluate::make(0) : Block::make(statements);
}

Stmt without_lets(const Stmt &statement) { return WithoutLets().mutate(statement); }

Stmt placeholder(const PlaceholderCall &call, std::vector<Expr> arguments) {
    if (arguments.empty()) {
        arguments.push_back(0);  // C has no empty parameter list that every back end agrees on
    }
    return Evaluate::make(Call::make(Int(32), call.name(), arguments, Call::Extern));
}

std::optional<OperandFormat> operand_format(const Type &type) {
    static const Type types[] = {Float(32), Float(16), BFloat(16)};  // in the order of OperandFormat
    const auto found = std::find(std::begin(types), std::end(types), type.element_of());
    if (found == std::end(types)) return std::nullopt;
    return static_cast<OperandFormat>(found - std::begin(types));
}

Expr address_of(const Load *load, const Expr &index) {
    const Type element = load->type.element_of();
    return Load::make(element == BFloat(16) ? Float(16) : element, load->name, index, load->image, load->param, const_true(),
                      ModulusRemainder());
}

Expr resolve(Expr e, const NamedExprs &lets) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let) {
        if (expr_uses_var(e, let->first)) e = substitute(let->first, let->second, e);
    }
    return e;
}

}  // namespace conv_transpose

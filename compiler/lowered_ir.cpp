// Small questions about Halide's lowered statements that both lowering passes ask.
#include "compiler/lowered_ir.h"

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

class PlaceholderFinder : public IRVisitor {
  public:
    explicit PlaceholderFinder(std::string kind) : kind_(std::move(kind)) {}
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const Call *call) override {
        if (starts_with(call->name, std::string(placeholder_prefix))) {
            found = found || kind_.empty() || PlaceholderCall::parse(call->name).kind == kind_;
        }
        IRVisitor::visit(call);
    }
    std::string kind_;
};

}  // namespace

std::string last_name(const std::string &loop_name) {
    const std::size_t dot = loop_name.rfind('.');
    return dot == std::string::npos ? loop_name : loop_name.substr(dot + 1);
}

bool has_loop(const Stmt &statement, const std::string &prefix) {
    LoopFinder finder(prefix);
    statement.accept(&finder);
    return finder.found;
}

bool has_placeholder(const Stmt &statement, const std::string &kind) {
    PlaceholderFinder finder(kind);
    statement.accept(&finder);
    return finder.found;
}

bool is_barrier(const Stmt &statement) {
    const Evaluate *evaluate = statement.as<Evaluate>();
    const Call *call = evaluate ? evaluate->value.as<Call>() : nullptr;
    return call && call->is_intrinsic(Call::gpu_thread_barrier);
}

Stmt placeholder(const PlaceholderCall &call, std::vector<Expr> arguments) {
    if (arguments.empty()) {
        arguments.push_back(0);  // C has no empty parameter list that every back end agrees on
    }
    return Evaluate::make(Call::make(Int(32), call.name(), arguments, Call::Extern));
}

Expr address_of(const Load *load, const Expr &index) {
    return Load::make(load->type.element_of(), load->name, index, load->image, load->param, const_true(),
                      ModulusRemainder());
}

Expr resolve(Expr e, const NamedExprs &lets) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let) {
        if (expr_uses_var(e, let->first)) {
            e = substitute(let->first, let->second, e);
        }
    }
    return e;
}

}  // namespace conv_transpose

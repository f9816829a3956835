// What the value of an expression depends on, for lowering passes that move it.
#ifndef CONV_TRANSPOSE_COMPILER_DEPENDENCE_H
#define CONV_TRANSPOSE_COMPILER_DEPENDENCE_H

#include <set>
#include <string>

#include "Halide.h"

namespace conv_transpose {

/// Whether it depends on what is bound in some statement, or on memory.
class Dependence : public Halide::Internal::IRVisitor {
  public:
    explicit Dependence(const std::set<std::string> &bound) : bound_(bound) {}
    bool any = false;

  protected:
    using IRVisitor::visit;
    void visit(const Halide::Internal::Variable *op) override { any |= bound_.count(op->name) > 0; }
    void visit(const Halide::Internal::Load *) override { any = true; }

  private:
    const std::set<std::string> &bound_;
};

}  // namespace conv_transpose

#endif

// Staging stores that are cut in two at their loads: one half moves global memory to registers, the other
// what is in the registers to shared memory. Between the halves the loads are under way, and other work can
// run. What must be changed on its way to shared memory (rounded, transposed) is staged so; the rest can be
// copied (async_copies.h).
#ifndef CONV_TRANSPOSE_COMPILER_REGISTER_STAGING_H
#define CONV_TRANSPOSE_COMPILER_REGISTER_STAGING_H

#include <map>
#include <utility>
#include <vector>

#include "Halide.h"
#include "compiler/passes/lowered_ir.h"

namespace conv_transpose {

class RegisterStaging {
  public:
    /// `lets` are those around the stores. `separate` as in SoftwarePipelineOptions::separate_registers.
    RegisterStaging(NamedExprs lets, bool separate) : lets_(std::move(lets)), separate_(separate) {}

    /// Appends a statement, without lets, that stores to shared memory.
    void add(const Halide::Internal::Stmt &statement) { statements_.push_back(statement); }
    bool empty() const { return statements_.empty(); }

    /// The loads, and the stores, piece by piece: the n-th of both use the same registers, which no other
    /// piece uses.
    std::vector<Halide::Internal::Stmt> loads() const { return split(false).pieces; }
    std::vector<Halide::Internal::Stmt> stores() const { return split(true).pieces; }

    /// Around all pieces: declares the registers.
    Halide::Internal::Stmt with_registers(const Halide::Internal::Stmt &body) const;

  private:
    struct Halves {
        std::vector<Halide::Internal::Stmt> pieces;
        std::map<int, int> registers;  // bits of a value -> values
    };
    Halves split(bool stores) const;

    NamedExprs lets_;
    bool separate_;
    std::vector<Halide::Internal::Stmt> statements_;
};

}  // namespace conv_transpose

#endif

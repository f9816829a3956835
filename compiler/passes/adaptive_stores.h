// A lowering pass that stores vectors to global memory as wide as their address allows, decided at run time.
//
// Halide emits a 64- or 128-bit store only where it can prove the alignment. It cannot where rows may have
// any length and the caller's pointer any offset, and then it stores element by element: lanes of a warp
// write with gaps between them, several times over. This pass tests the address instead, and takes the widest
// store that fits. Where only the caller's pointer is in doubt, there are two versions of all stores between
// two barriers and one test.
#ifndef CONV_TRANSPOSE_COMPILER_ADAPTIVE_STORES_H
#define CONV_TRANSPOSE_COMPILER_ADAPTIVE_STORES_H

#include <string>

#include "Halide.h"

namespace conv_transpose {

/// For add_custom_lowering_pass(): treats vectors of 2 or 4 floats that are stored densely to the output
/// `buffer`.
class AdaptiveStores : public Halide::Internal::IRMutator {
  public:
    explicit AdaptiveStores(std::string buffer) : buffer_(std::move(buffer)) {}
    using IRMutator::mutate;
    Halide::Internal::Stmt mutate(const Halide::Internal::Stmt &stmt) override;

  protected:
    using IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Store *op) override;

  private:
    const std::string buffer_;
    bool inside_ = false, in_threads_ = false;
    // Whether the statement at hand stands behind a test of the pointer, and how that came out.
    bool known_ = false, known_aligned_ = false;
    Halide::Internal::Stmt narrower(const Halide::Expr &value, const Halide::Expr &base,
                                    const Halide::Parameter &param, int lanes, bool index_aligned) const;
    bool depends_on_pointer_alone(const Halide::Internal::Stmt &stmt) const;
    Halide::Expr base_is_aligned() const;
};

}  // namespace conv_transpose

#endif

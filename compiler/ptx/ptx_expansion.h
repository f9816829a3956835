// Turns the placeholder calls of the lowering passes, in PTX text, into tensor-core and asynchronous-copy
// instructions.
#ifndef CONV_TRANSPOSE_COMPILER_PTX_EXPANSION_H
#define CONV_TRANSPOSE_COMPILER_PTX_EXPANSION_H

#include <string>
#include <string_view>

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

/// What ptxas compiles for, by its name: "sm_80", "sm_90a".
class Architecture {
  public:
    /// Throws PtxExpansionError unless the name is "sm_" and a number, with or without a letter after it.
    explicit Architecture(std::string_view name);
    const std::string &name() const noexcept { return name_; }
    /// wgmma exists on sm_90a alone; every other architecture from sm_80 on has mma.sync.
    bool has_wgmma() const noexcept { return name_ == "sm_90a"; }
    /// Whether it has every instruction that the calls in `ptx` stand for: sm_90a alone reads tensor maps.
    bool has_instructions_of(const std::string &ptx) const;
    int number() const noexcept { return number_; }
    /// sm_90a instead of sm_90 for device code with tensor-core calls; otherwise this architecture.
    Architecture best_for(const std::string &ptx) const;

  private:
    std::string name_;
    int number_ = 0;
};

/// PTX text for this architecture without placeholder calls. Text that has none is returned as it is. Throws
/// PtxExpansionError when a call cannot be expanded, or when the architecture (before sm_80) has no such
/// instructions.
std::string expand_tensor_core_calls(const std::string &ptx, const Architecture &architecture);

}  // namespace conv_transpose

#endif

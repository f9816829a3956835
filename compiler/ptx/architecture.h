// GPU architectures that machine code is made for, and what instructions they have.
#ifndef CONV_TRANSPOSE_COMPILER_ARCHITECTURE_H
#define CONV_TRANSPOSE_COMPILER_ARCHITECTURE_H

#include <string>
#include <string_view>

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

}  // namespace conv_transpose

#endif

// The expansion of one kernel's placeholder calls. What calls become is written by those who know: tensor_core_instructions.h,
// global_stores.h, shared_copies.h, mbarriers.h.
#ifndef CONV_TRANSPOSE_COMPILER_KERNEL_EXPANSION_H
#define CONV_TRANSPOSE_COMPILER_KERNEL_EXPANSION_H

#include <string>
#include <vector>

#include "compiler/ptx/architecture.h"
#include "compiler/ptx/global_addresses.h"
#include "compiler/ptx/ptx_text.h"
#include "compiler/ptx/shared_copies.h"
#include "compiler/ptx/tensor_core_instructions.h"

namespace conv_transpose {

class KernelExpansion {
  public:
    /// `lines` from ".entry" to the closing brace, which must outlive this.
    KernelExpansion(const std::vector<std::string> &lines, const Architecture &architecture);

    std::string expanded();

  private:
    std::string head(std::size_t opening) const;
    void write_launch_bounds(PtxWriter &out) const;
    bool has_roles() const;
    std::string in_role(std::string line) const;

    void expand_call(const CallSite &site, PtxWriter &out);
    bool expand_tile(const CallSite &site, PtxWriter &out);
    bool expand_group_of_products(const CallSite &site, PtxWriter &out) const;
    bool expand_cluster(const CallSite &site, PtxWriter &out) const;
    bool expand_barrier(const CallSite &site, PtxWriter &out) const;

    const std::vector<std::string> &lines_;
    const std::string name_;
    const bool wgmma_;
    const bool in_cluster_;  // its blocks may be launched so
    const GlobalAddresses addresses_;
    TensorCoreInstructions tiles_;
    SharedCopies copies_;
    PlaceholderCall launch_;
    Labels labels_;
};

}  // namespace conv_transpose

#endif

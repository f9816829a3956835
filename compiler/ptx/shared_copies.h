// Copies from global to shared memory: by threads, of rows of memory by the copy engine, and of boxes of tensors by tensor maps.
#ifndef CONV_TRANSPOSE_COMPILER_SHARED_COPIES_H
#define CONV_TRANSPOSE_COMPILER_SHARED_COPIES_H

#include <string>

#include "compiler/ptx/global_addresses.h"

namespace conv_transpose {

/// Those of one kernel.
class SharedCopies {
  public:
    SharedCopies(const std::string &kernel, const GlobalAddresses &addresses, bool has_copy_engine, bool in_cluster)
        : addresses_(addresses), has_copy_engine_(has_copy_engine), in_cluster_(in_cluster), tensor_maps_(kernel + "_tensor_map") {}

    /// Expands a call if it is such a copy, and says whether.
    bool expand(const CallSite &site, Labels &labels, PtxWriter &out);

    /// The kernel's last parameter has all maps that were read, one after the other.
    void declare_tensor_maps(PtxWriter &out) const;

  private:
    void copy(const CallSite &site, PtxWriter &out) const;
    void bulk_copy(const CallSite &site, PtxWriter &out) const;
    void copy_by_one_thread(const CallSite &site, const std::string &loop, PtxWriter &out) const;
    void tensor_copy(const CallSite &site, PtxWriter &out);
    bool expand_boxes(const CallSite &site, PtxWriter &out);
    void box_store(const CallSite &site, PtxWriter &out);
    std::string address_of_map(const CallSite &site);
    /// Addresses of a copy tell the block of a cluster.
    std::string of_cluster() const { return in_cluster_ ? " add.u32 to, to, %tc_base; add.u32 barrier, barrier, %tc_base;" : ""; }

    const GlobalAddresses &addresses_;
    const bool has_copy_engine_, in_cluster_;
    const std::string tensor_maps_;
    static constexpr int bytes_of_map = 128;
    int maps_ = 0;
};

}  // namespace conv_transpose

#endif

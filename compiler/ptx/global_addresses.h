// Addresses of global memory in PTX text.
#ifndef CONV_TRANSPOSE_COMPILER_GLOBAL_ADDRESSES_H
#define CONV_TRANSPOSE_COMPILER_GLOBAL_ADDRESSES_H

#include <map>
#include <string>
#include <vector>

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

/// The global addresses that calls of one kernel take. Each stands in the text as a load of the element
/// there, and ptxas drops that load, as nothing uses its value. Where that value is copied, its address is.
class GlobalAddresses {
  public:
    explicit GlobalAddresses(const std::vector<std::string> &lines);

    /// Before a load that stands for its address, or a copy of one, keeps the address: its register may change before
    /// the call.
    void keep(const std::string &line, PtxWriter &out) const;

    /// The register that holds the address which a call takes.
    std::string of(const CallSite &site) const;

    /// Declares these registers.
    void declare(PtxWriter &out) const;

  private:
    std::string place(const std::string &value, const std::string &user) const;

    std::map<std::string, int> kept_;  // register of a load that stands for its address -> where that is kept
    int count_ = 0;                    // of places
};

}  // namespace conv_transpose

#endif

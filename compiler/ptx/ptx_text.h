// Reading and writing PTX text: lines, calls of placeholders as LLVM writes them, and addresses of global
// memory.
#ifndef CONV_TRANSPOSE_COMPILER_PTX_TEXT_H
#define CONV_TRANSPOSE_COMPILER_PTX_TEXT_H

#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

class PtxExpansionError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Text that is written line by line.
class PtxWriter {
  public:
    template <typename... Parts>
    void line(const Parts &...parts) {
        (out_ << ... << parts) << '\n';
    }
    std::string str() const { return out_.str(); }

  private:
    std::ostringstream out_;
};

std::vector<std::string> split_lines(const std::string &text);

bool contains(const std::string &text, std::string_view part);

/// A placeholder call as it stands in the text.
struct CallSite {
    PlaceholderCall call;
    std::vector<std::string> arguments;  // registers or numbers
    std::string result;                  // a register, where there is one
};

/// Reads the call block that begins at lines[at], if it is a placeholder's, and moves `at` to its last line.
std::optional<CallSite> read_call(const std::vector<std::string> &lines, std::size_t &at);

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

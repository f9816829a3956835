// Reading and writing PTX text: lines, labels, and calls of placeholders as LLVM writes them.
#ifndef CONV_TRANSPOSE_COMPILER_PTX_TEXT_H
#define CONV_TRANSPOSE_COMPILER_PTX_TEXT_H

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

/// Names of labels, each of which stands once in a kernel.
class Labels {
  public:
    std::string next() { return "$tc_label" + std::to_string(count_++); }

  private:
    int count_ = 0;
};

std::vector<std::string> split_lines(const std::string &text);

bool contains(const std::string &text, std::string_view part);

/// A placeholder call as it stands in the text.
struct CallSite {
    PlaceholderCall call;
    std::vector<std::string> arguments;  // registers or numbers
    std::string result;                  // a register, where there is one
};

/// Whether it is of float32, and not of 16 bits.
bool is_float(const PlaceholderCall &call);

/// A call's first argument as an address of shared memory, with what must stand before and after its use.
struct SharedAddress {
    explicit SharedAddress(const CallSite &site);

    std::string begin, at, end;
};

/// Reads the call block that begins at lines[at], if it is a placeholder's, and moves `at` to its last line.
std::optional<CallSite> read_call(const std::vector<std::string> &lines, std::size_t &at);

}  // namespace conv_transpose

#endif

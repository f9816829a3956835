// Placeholder calls: how the lowering passes tell the PTX expansion what to put in their place.
//
// A lowering pass cannot write PTX, and the PTX expansion cannot see loops. Between the two stands a call of
// a function that nobody defines. Its name carries what is known at compile time (tile sizes, strides), its
// arguments carry what is known in the kernel (addresses, limits). LLVM keeps such calls in order, because it
// must assume that they touch memory. A name reads "conv_tc_multiply__m64_n152_k8": a kind, then fields, each
// a word and a number.
#ifndef CONV_TRANSPOSE_COMPILER_PLACEHOLDER_CALLS_H
#define CONV_TRANSPOSE_COMPILER_PLACEHOLDER_CALLS_H

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace conv_transpose {

inline constexpr std::string_view placeholder_prefix = "conv_tc_";

struct PlaceholderCall {
    std::string kind;
    std::map<std::string, int> fields;

    /// The function name that stands for this call.
    std::string name() const;
    /// Reads such a name; throws std::invalid_argument when it is none.
    static PlaceholderCall parse(std::string_view name);
    /// The value of a field; throws std::invalid_argument when the call has none of that name.
    int field(const std::string &key) const;
    /// The value of a field, or another value when the call has none of that name.
    int field_or(const std::string &key, int otherwise) const;
};

}  // namespace conv_transpose

#endif

// The names of a table, for a message that says what is possible.
#ifndef CONV_TRANSPOSE_ALGORITHM_LISTED_H
#define CONV_TRANSPOSE_ALGORITHM_LISTED_H

#include <cstddef>
#include <string>

namespace conv_transpose {

/// As in "float32, float16 or bfloat16".
template <class Row, size_t count>
std::string listed(const Row (&table)[count], const char *Row::*name, const std::string &last) {
    std::string text;
    for (size_t i = 0; i < count; i++) text += (i == 0 ? "" : i == count - 1 ? last : ", ") + table[i].*name;
    return text;
}

}  // namespace conv_transpose

#endif

// Text of PTX: words, names and lists, as the decoder takes them apart.
#ifndef CONV_TRANSPOSE_TESTS_PTX_TEXT_H
#define CONV_TRANSPOSE_TESTS_PTX_TEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace ptx_machine {

/// Without the space around it.
std::string_view trimmed(std::string_view text);

std::string without_comments(std::string_view text);

/// At commas that are not in braces or brackets.
std::vector<std::string> split_operands(std::string_view text);

/// An instruction's name at its dots: "ld.global.b32" is "ld", "global" and "b32".
std::vector<std::string> split_name(const std::string &name);

bool contains(const std::vector<std::string> &parts, std::string_view part);

/// Several registers, or elements of a vector.
inline bool is_braced(std::string_view operand) { return operand.starts_with('{'); }

/// The type is given by its name, such as "b32" or ".f16".
int bytes_of(std::string_view type);

/// A register of the type takes so many, of 32 bits.
inline int words_of(std::string_view type) { return bytes_of(type) == 8 ? 2 : 1; }

}  // namespace ptx_machine

#endif

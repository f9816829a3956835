// The formats of the numbers that tensor cores multiply, and that tiles are stored in. Placeholder calls carry them as
// a field; one without it is of float32.
#ifndef CONV_TRANSPOSE_COMPILER_OPERAND_FORMAT_H
#define CONV_TRANSPOSE_COMPILER_OPERAND_FORMAT_H

#include <iterator>
#include <string>

namespace conv_transpose {

/// Tensor cores read the part of float32 operands that TF32 has.
enum class OperandFormat { float32, float16, bfloat16 };

/// `ptx` is what products of tensor cores call it.
struct NamedOperandFormat {
    const char *name, *ptx;
    int bytes;
};
/// In the order of OperandFormat.
inline constexpr NamedOperandFormat operand_formats[] = {{"float32", "tf32", 4}, {"float16", "f16", 2}, {"bfloat16", "bf16", 2}};

inline constexpr const char *format_field = "format";

constexpr const NamedOperandFormat &named(OperandFormat format) { return operand_formats[static_cast<int>(format)]; }
constexpr int bytes_of(OperandFormat format) { return named(format).bytes; }

/// As in "float32, float16 or bfloat16", of which a message says that they are the rule.
inline std::string names_of_operand_formats() {
    std::string text;
    for (const NamedOperandFormat &f : operand_formats)
        text += (text.empty() ? "" : &f == std::end(operand_formats) - 1 ? " or " : ", ") + std::string(f.name);
    return text;
}

}  // namespace conv_transpose

#endif

// The formats of the numbers that tensor cores multiply, and that tiles are stored in. Placeholder calls carry them as
// a field; one without it is of float32.
#ifndef CONV_TRANSPOSE_COMPILER_OPERAND_FORMAT_H
#define CONV_TRANSPOSE_COMPILER_OPERAND_FORMAT_H

namespace conv_transpose {

/// Of float32 operands tensor cores read the part that TF32 has.
enum class OperandFormat { float32 = 0, float16 = 1, bfloat16 = 2 };

inline constexpr const char *format_field = "format";

constexpr int bytes_of(OperandFormat format) { return format == OperandFormat::float32 ? 4 : 2; }

}  // namespace conv_transpose

#endif

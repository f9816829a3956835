// The format of a kernel's elements: how they lie in memory and how they are multiplied. Sums are float32 in every
// format. Plain values that compiled kernels and the runtime share: no Halide (algorithm/element_operations.h has that
// part), no runtime types.
#ifndef CONV_TRANSPOSE_ALGORITHM_ELEMENT_FORMAT_H
#define CONV_TRANSPOSE_ALGORITHM_ELEMENT_FORMAT_H

#include <optional>
#include <string>
#include <string_view>

#include "algorithm/listed.h"

namespace conv_transpose {

enum class Storage { f32, f16, bf16 };
enum class Multiply { fma, tf32, f16, bf16 };

/// `name` is that of rows and generator parameters, `element_type` the public interface's (ElementType).
struct NamedStorage {
    Storage storage;
    const char *name, *element_type;
    int bytes;
};
/// In the order of Storage and of ElementType.
inline constexpr NamedStorage storages[] = {
    {Storage::f32, "f32", "float32", 4}, {Storage::f16, "f16", "float16", 2}, {Storage::bf16, "bf16", "bfloat16", 2}};

constexpr const NamedStorage &named(Storage storage) { return storages[static_cast<int>(storage)]; }
constexpr int bytes_of(Storage storage) { return named(storage).bytes; }

/// As in "float32, float16 or bfloat16", of which a message says that they are the rule.
inline std::string names_of_element_types(const char *last = " or ") {
    return listed(storages, &NamedStorage::element_type, last);
}

struct ElementFormat {
    Storage storage = Storage::f32;
    Multiply multiply = Multiply::fma;
    /// Products that are added for one: three where operands are split into a large and a small piece (tf32x3); the
    /// product of the small ones is left out.
    int terms = 1;

    constexpr int pieces() const { return terms == 1 ? 1 : 2; }
    constexpr bool on_tensor_cores() const { return multiply != Multiply::fma; }
    /// In shared memory, and of packed weights: TF32 values take 32 bits.
    constexpr Storage operand() const {
        return multiply == Multiply::f16 ? Storage::f16 : multiply == Multiply::bf16 ? Storage::bf16 : Storage::f32;
    }
    /// Tensor cores read operands in rows of 16 bytes.
    constexpr int values_of_16_bytes() const { return 16 / bytes_of(operand()); }

    constexpr bool operator==(const ElementFormat &) const = default;
};

namespace formats {
inline constexpr ElementFormat f32{};
inline constexpr ElementFormat tf32{.multiply = Multiply::tf32};
inline constexpr ElementFormat tf32x3{.multiply = Multiply::tf32, .terms = 3};
inline constexpr ElementFormat f16{Storage::f16, Multiply::f16};
inline constexpr ElementFormat bf16{Storage::bf16, Multiply::bf16};
}  // namespace formats

struct NamedFormat {
    std::string_view name;
    ElementFormat format;
};
inline constexpr NamedFormat named_formats[] = {{"f32", formats::f32}, {"tf32", formats::tf32},
                                                {"tf32x3", formats::tf32x3}, {"f16", formats::f16},
                                                {"bf16", formats::bf16}};

constexpr std::optional<ElementFormat> format_named(std::string_view name) {
    for (const NamedFormat &f : named_formats)
        if (f.name == name) return f.format;
    return {};
}

}  // namespace conv_transpose

#endif

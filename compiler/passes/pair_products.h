// Products of pairs: how an algorithm says that operands of 16 bits come in words of two, both of which are summed over.
//
// Tensor cores take such operands from shared memory with neighbours that are summed over side by side, eight at a time, or with
// neighbouring rows so. Where only two of the former are neighbours, and pairs of neighbouring rows follow each other, words
// are loaded as if they were numbers of 32 bits, whose fragments in registers have the same places
// (compiler/ptx/tensor_core_instructions.h). Where one half of each word is multiplied, the other is left out on the way to
// registers. A program that no pass rewrites has no such products.
#ifndef CONV_TRANSPOSE_COMPILER_PAIR_PRODUCTS_H
#define CONV_TRANSPOSE_COMPILER_PAIR_PRODUCTS_H

#include <optional>

#include "Halide.h"
#include "compiler/passes/operand_format.h"

namespace conv_transpose {

/// The sum of the products of both halves of two words, as float32.
struct PairProduct {
    Halide::Expr a, b;  ///< words, of type float32
    OperandFormat format;  ///< of their halves
};

Halide::Expr product_of_pairs(const PairProduct &product);

/// One half of a word times a value of 16 bits, as float32.
struct HalfProduct {
    Halide::Expr word, value;  ///< the word is of type float32
    Halide::Expr half;         ///< 0, or 1: the later
    OperandFormat format;      ///< of the half and of the value
};

Halide::Expr product_of_half(const HalfProduct &product);

/// They are nothing where an expression is no such product.
std::optional<PairProduct> pair_product(const Halide::Expr &e);
std::optional<HalfProduct> half_product(const Halide::Expr &e);

}  // namespace conv_transpose

#endif

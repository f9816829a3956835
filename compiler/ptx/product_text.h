// What all products of tensor cores are written with: the types and operands that a call tells of, wgmma's descriptors, and the two
// instructions.
#ifndef CONV_TRANSPOSE_COMPILER_PRODUCT_TEXT_H
#define CONV_TRANSPOSE_COMPILER_PRODUCT_TEXT_H

#include <cstdint>
#include <string>

#include "compiler/passes/operand_format.h"
#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

/// What follows the shape in the name of an instruction: k and the types.
struct ProductType {
    explicit ProductType(const PlaceholderCall &call);

    OperandFormat format;
    std::string name;
    int k;
};

/// How many instructions the k of a call take.
int steps_of(const PlaceholderCall &multiply);

/// Operand A (the tile's rows) or B (its columns) in shared memory. Distances are in bytes.
struct SharedOperand {
    static SharedOperand a(const CallSite &site) { return {site, 0, "a"}; }
    static SharedOperand b(const CallSite &site) { return {site, 1, "b"}; }

    /// From a k to one `steps` instructions further on.
    int at_step(int steps) const;

    std::string start;   ///< in units of 16 bytes
    int next_k;          ///< from 16 bytes of a row to the next
    int swizzle;         ///< bytes of a swizzled row, or 0
    int group;           ///< from one group of eight rows to the next
    bool is_transposed;  ///< MN-major

  private:
    SharedOperand(const CallSite &site, int argument, const std::string &name);
};

/// wgmma's descriptor of an operand, in units of 16 bytes: start address at bit 0, leading offset at bit 16 (swizzled rows have
/// none), stride offset at bit 32; the swizzle at bit 62. The lower half is to be added to the operand's start.
int64_t upper_half_of_descriptor(const SharedOperand &operand);
int lower_half_of_descriptor(const SharedOperand &operand, int offset);

/// Adds to `sums`, where `a` is a descriptor or registers and b a descriptor of that name. Further flags end the instruction.
void wgmma(const ProductType &type, int columns, const std::string &sums, const std::string &a, const std::string &flags,
           PtxWriter &out);
/// `a` are registers, and operand B is K-major in shared memory.
void wgmma_of_registers(const ProductType &type, int columns, const std::string &sums, const std::string &a, PtxWriter &out);
/// Goes before them: sets the predicate by which wgmma adds, and the upper half of a descriptor in the register `high`.
void begin_wgmma_of_registers(const SharedOperand &b, PtxWriter &out);
/// Moves the descriptor `b` so many instructions further on. With `at_base` shared memory begins at %tc_begin.
void place_descriptor(const SharedOperand &b, int steps, PtxWriter &out, bool at_base = false);

/// Adds the products of four registers of `a`, from `first_a` on, and two of `b`.
void mma_sync(const ProductType &type, const std::string &sums, int first_a, int first_b, PtxWriter &out);

}  // namespace conv_transpose

#endif

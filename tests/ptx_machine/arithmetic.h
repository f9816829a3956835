// Instructions that compute in registers, lane by lane.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_ARITHMETIC_H
#define CONV_TRANSPOSE_PTX_MACHINE_ARITHMETIC_H

#include <string>
#include <vector>

#include "ptx_program.h"

namespace ptx_machine {

/// What an instruction does, and the 32-bit words of a lane in its result and its operands; 0: there is no
/// such operand.
struct Arithmetic {
    Execute execute;
    int d_words, a_words, b_words, c_words;
};

/// By the parts of the name between dots, such as mad, lo, s32. Throws PtxError.
Arithmetic find_arithmetic(const std::vector<std::string> &parts);

/// mov.b64 from two halves, and to two halves.
void execute_pack(Warp &, const Instruction &, uint32_t mask);
void execute_unpack(Warp &, const Instruction &, uint32_t mask);

}  // namespace ptx_machine

#endif

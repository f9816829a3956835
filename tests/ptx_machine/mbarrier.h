// mbarriers, and the bulk copies whose bytes they count.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_MBARRIER_H
#define CONV_TRANSPOSE_PTX_MACHINE_MBARRIER_H

#include "warp.h"

namespace ptx_machine {

void execute_mbarrier_init(Warp &, const Instruction &, uint32_t mask);
/// The copy engine may use those that this warp has initialized, where a barrier follows.
void execute_mbarrier_fence(Warp &, const Instruction &, uint32_t mask);
/// With or without bytes that are expected.
void execute_mbarrier_arrive(Warp &, const Instruction &, uint32_t mask);
void execute_bulk_copy(Warp &, const Instruction &, uint32_t mask);
void execute_tensor_copy(Warp &, const Instruction &, uint32_t mask);
/// From shared memory, where they read what the same thread has fenced, until it has waited for their group.
void execute_bulk_store(Warp &, const Instruction &, uint32_t mask);
/// To a block of a tensor; what lies outside of it is left out.
void execute_tensor_store(Warp &, const Instruction &, uint32_t mask);
void execute_bulk_commit(Warp &, const Instruction &, uint32_t mask);
void execute_bulk_wait(Warp &, const Instruction &, uint32_t mask);

/// For a warp that waits at an instruction of that kind: whether the phase has ended. What is late comes now.
bool pass_mbarrier(Warp &, const Instruction &);

/// Throws PtxError where a block ends while bytes are under way, or others came than were expected.
void check_mbarriers(const Block &);

/// What they wait for, for messages.
std::string state_of_mbarriers(const Block &);

}  // namespace ptx_machine

#endif

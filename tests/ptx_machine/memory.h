// Instructions that reach memory.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_MEMORY_H
#define CONV_TRANSPOSE_PTX_MACHINE_MEMORY_H

#include "ptx_program.h"

namespace ptx_machine {

void execute_load_parameter(Warp &, const Instruction &, uint32_t mask);
void execute_load(Warp &, const Instruction &, uint32_t mask);
void execute_store(Warp &, const Instruction &, uint32_t mask);
void execute_load_shared(Warp &, const Instruction &, uint32_t mask);
/// Reads the shared memory of any block of the cluster.
void execute_load_cluster(Warp &, const Instruction &, uint32_t mask);
void execute_store_shared(Warp &, const Instruction &, uint32_t mask);

/// cp.async, its commit_group and its wait_group.
void execute_copy(Warp &, const Instruction &, uint32_t mask);
void execute_copy_commit(Warp &, const Instruction &, uint32_t mask);
void execute_copy_wait(Warp &, const Instruction &, uint32_t mask);

/// What this warp stored to shared memory may from now on be read by wgmma.
void execute_proxy_fence(Warp &, const Instruction &, uint32_t mask);

}  // namespace ptx_machine

#endif

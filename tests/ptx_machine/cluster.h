// Clusters: blocks that run at the same time, of which one may read what another has in its shared memory, with a barrier of all in
// between.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_CLUSTER_H
#define CONV_TRANSPOSE_PTX_MACHINE_CLUSTER_H

#include <cstdint>
#include <deque>
#include <vector>

#include "warp.h"

namespace ptx_machine {

/// Most often of one block.
struct Cluster {
    Cluster(const Launch &, int warps);

    std::deque<Block> blocks;  ///< by their ranks
    std::vector<std::vector<Warp>> warps;  ///< of each

    /// Where an address is that a lane has. Fails where there is no such block,
    /// or it has ended.
    Block &block_at(const Instruction &, const Warp &, uint32_t address);
};

void execute_mapa(Warp &, const Instruction &, uint32_t mask);
void execute_cluster_arrive(Warp &, const Instruction &, uint32_t mask);
/// For a warp that waits at an instruction of that kind: whether all others that have not ended have arrived.
bool pass_cluster_wait(Warp &);
/// Throws PtxError where a block ends while others may read its shared memory.
void end_in_cluster(Block &, const std::vector<Warp> &);

}  // namespace ptx_machine

#endif

// See cluster.h.
#include "cluster.h"

#include <algorithm>
#include <string>

namespace ptx_machine {

Cluster::Cluster(const Launch &launch, int warps_of_block) {
    constexpr uint32_t nan = 0x7fc0dead;
    const Dimensions &c = launch.cluster;
    const unsigned count = c.x * c.y * c.z;
    for (unsigned rank = 0; rank < count; rank++) {
        blocks.emplace_back(launch, warps_of_block);
        blocks.back().cluster = this, blocks.back().rank = rank, blocks.back().is_alone = count == 1;
        warps.emplace_back(warps_of_block);
        for (Warp &w : warps.back()) {
            w.registers.assign(launch.kernel.register_words, nan);
            w.local.resize(static_cast<size_t>(launch.kernel.local_bytes) * lanes);
        }
    }
}

Block &Cluster::block_at(const Instruction &i, const Warp &w, uint32_t address) {
    const uint32_t rank = address >> rank_bits;
    if (rank == 0) return *w.block;
    if (rank > blocks.size()) fail(i, "the cluster has no block " + std::to_string(rank - 1));
    Block &block = blocks[rank - 1];
    if (block.has_ended) fail(i, "block " + std::to_string(rank - 1) + " of the cluster has ended");
    return block;
}

void execute_mapa(Warp &w, const Instruction &i, uint32_t mask) {
    for (int l = 0; l < lanes; l++)
        if (mask >> l & 1) w.to<uint32_t>(i.d)[l] = in_block(w.from<uint32_t>(i.a)[l]) | base_of(w.from<uint32_t>(i.b)[l]);
}

void execute_cluster_arrive(Warp &w, const Instruction &i, uint32_t) {
    if (w.cluster_arrivals > w.cluster_waits)
        fail(i, "warp " + std::to_string(w.index) + " arrives again before it has waited for the cluster");
    w.cluster_arrivals++;
}

bool pass_cluster_wait(Warp &w) {
    for (const std::vector<Warp> &warps : w.block->cluster->warps)
        for (const Warp &other : warps)
            if (!other.ended() && other.cluster_arrivals <= w.cluster_waits) return false;
    w.cluster_waits++;
    return true;
}

void end_in_cluster(Block &block, const std::vector<Warp> &warps) {
    int waited = 0;
    for (const Warp &w : warps) waited = std::max(waited, w.cluster_waits);
    if (block.history.last_read_in_cluster() > waited) throw PtxError("a block ends while another may read its shared memory");
    block.has_ended = true;
}

}  // namespace ptx_machine

// See mbarrier.h. A phase ends when all have arrived that it counts, and all bytes have come that they expect.
#include "mbarrier.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace ptx_machine {

namespace {

/// What the warps that arrived had seen is what those see that wait.
void merge(std::vector<int32_t> &to, const std::vector<int32_t> &from) {
    to.resize(from.size(), 0);
    std::transform(from.begin(), from.end(), to.begin(), to.begin(), [](int32_t a, int32_t b) { return std::max(a, b); });
}

void end_phase_if_complete(Mbarrier &m) {
    if (m.pending > 0 || m.bytes != 0) return;
    m.pending = m.count;
    m.phases++;
    merge(m.seen, m.seen_in_phase);
}

void perform(Block &block, Mbarrier &m, const BulkCopy &copy) {
    std::memcpy(block.shared.data() + copy.to, reinterpret_cast<const void *>(copy.from), copy.bytes);
    m.bytes -= copy.bytes;
    end_phase_if_complete(m);
}

Mbarrier &mbarrier_at(Warp &w, const Instruction &i, int lane, uint32_t address) {
    const auto found = w.block->mbarriers.find(address);
    if (found == w.block->mbarriers.end()) fail(i, "no mbarrier at shared address " + std::to_string(address));
    w.block->history.read(i, w, w.thread(lane), address, 8);
    return found->second;
}

template <class Function>
void for_each_lane(uint32_t mask, Function function) {
    for (int l = 0; l < lanes; l++)
        if (mask >> l & 1) function(l);
}

/// What a warp does from now on is later than what it did for this barrier.
void note_arrival(Warp &w, Mbarrier &m) {
    w.seen[w.index]++;
    merge(m.seen_in_phase, w.seen);
}

std::string state(uint32_t address, const Mbarrier &m) {
    return "the mbarrier at shared address " + std::to_string(address) + " misses " + std::to_string(m.bytes) +
           " bytes and " + std::to_string(m.pending) + " arrivals";
}

}  // namespace

void execute_mbarrier_init(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    for_each_lane(mask, [&](int l) {
        w.block->check_shared(i, address.of[l], 8);
        w.block->history.write(i, w, w.thread(l), address.of[l], 8);
        Mbarrier &m = w.block->mbarriers[address.of[l]] = {};
        m.count = m.pending = w.from<uint32_t>(i.b)[l];
    });
}

void execute_mbarrier_arrive(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    for_each_lane(mask, [&](int l) {
        Mbarrier &m = mbarrier_at(w, i, l, address.of[l]);
        if (m.pending == 0) fail(i, "more arrivals than " + std::to_string(m.count));
        if (i.has_count) m.bytes += w.from<uint32_t>(i.b)[l];
        m.pending--;
        note_arrival(w, m);
        end_phase_if_complete(m);
    });
}

void execute_bulk_copy(Warp &w, const Instruction &i, uint32_t mask) {
    constexpr uint32_t granularity = 16;
    for_each_lane(mask, [&](int l) {
        const BulkCopy copy{w.from<uint32_t>(i.d)[l], w.from<uint64_t>(i.a)[l] + i.offset, w.from<uint32_t>(i.b)[l]};
        if (copy.to % granularity || copy.from % granularity || copy.bytes % granularity)
            fail(i, "a bulk copy moves 16 aligned bytes, or a multiple");
        if (copy.to + uint64_t{copy.bytes} > w.block->shared.size() ||
            !w.block->launch.memory.holds(copy.from, static_cast<int>(copy.bytes)))
            fail(i, "a bulk copy reaches beyond the device's memory or the block's");
        Mbarrier &m = mbarrier_at(w, i, l, w.from<uint32_t>(i.c)[l]);
        w.block->history.bulk_write(i, w, w.thread(l), copy.to, static_cast<int>(copy.bytes));
        note_arrival(w, m);
        const Timing timing = w.block->launch.timing;
        if (timing == Timing::early || timing == Timing::late_products)
            perform(*w.block, m, copy);
        else
            m.under_way.push_back(copy);
    });
}

bool pass_mbarrier(Warp &w, const Instruction &i) {
    const SharedAddresses address(w, i);
    const uint32_t mask = w.fragments.front().mask;
    bool all = true;
    for_each_lane(mask, [&](int l) {
        Mbarrier &m = mbarrier_at(w, i, l, address.of[l]);
        for (; !m.under_way.empty(); m.under_way.pop_front()) perform(*w.block, m, m.under_way.front());
        // The parity is that of the phase to wait for.
        all = all && m.phases % 2 != w.from<uint32_t>(i.b)[l];
    });
    if (!all) return false;
    for_each_lane(mask, [&](int l) {
        merge(w.seen, w.block->mbarriers.at(address.of[l]).seen);
        w.to<uint32_t>(i.d)[l] = 1;
    });
    return true;
}

void check_mbarriers(const Block &block) {
    for (const auto &[address, m] : block.mbarriers)
        if (!m.under_way.empty() || m.bytes != 0) throw PtxError("a block ends while " + state(address, m));
}

std::string state_of_mbarriers(const Block &block) {
    std::string text;
    for (const auto &[address, m] : block.mbarriers) text += "; " + state(address, m);
    return text;
}

}  // namespace ptx_machine

// The scheduler of a block: lanes of a warp run together from the lowest place in the program, warps take
// turns at barriers, warpgroups meet at their instructions.
#include "ptx_machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cluster.h"
#include "mbarrier.h"
#include "tensor_cores.h"
#include "warp.h"

namespace ptx_machine {

void fail(const Instruction &i, const std::string &what) {
    throw PtxError(what + ", at: " + i.text);
}

void DeviceMemoryMap::add(uint64_t address, uint64_t bytes) {
    blocks_[address] = bytes;
}

void DeviceMemoryMap::remove(uint64_t address) {
    blocks_.erase(address);
    last_begin_ = 1, last_end_ = 0;
}

bool DeviceMemoryMap::find(uint64_t address, int bytes) const {
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return false;
    --block;
    last_begin_ = block->first;
    last_end_ = block->first + block->second;
    return address + bytes <= last_end_;
}

namespace {

uint32_t lanes_that_execute(const Warp &w, const Instruction &i, uint32_t mask) {
    if (!i.guarded) return mask;
    const uint32_t *const predicate = w.from<uint32_t>(i.guard);
    uint32_t set = 0;
    for (int l = 0; l < lanes; l++) set |= static_cast<uint32_t>(predicate[l] != 0) << l;
    return mask & (i.guard_negated ? ~set : set);
}

/// The lanes at the lowest place, unless they are where all lanes must be and wait there for the others.
std::vector<Fragment>::iterator next_fragment(Warp &w) {
    const std::vector<Instruction> &code = w.kernel().code;
    if (w.fragments.size() == 1) return w.fragments.begin();
    const auto needs_all = [&](const Fragment &f) { return code[f.at].kind >= Kind::barrier; };
    const auto found = std::find_if_not(w.fragments.begin(), w.fragments.end(), needs_all);
    if (found == w.fragments.end())
        fail(code[w.fragments.front().at],
             "only some lanes of warp " + std::to_string(w.index) + " come here");
    return found;
}

void merge_fragments(Warp &w) {
    std::vector<Fragment> &all = w.fragments;
    std::sort(all.begin(), all.end(), [](const Fragment &a, const Fragment &b) { return a.at < b.at; });
    for (size_t k = 0; k + 1 < all.size();) {
        if (all[k].at == all[k + 1].at) {
            all[k].mask |= all[k + 1].mask;
            all.erase(all.begin() + k + 1);
        } else {
            k++;
        }
    }
}

void branch(Warp &w, Fragment &f, int target, uint32_t taken) {
    const uint32_t rest = f.mask & ~taken;
    if (!rest) {
        f.at = target;
        return;
    }
    f.at++;
    f.mask = rest;
    if (taken) w.fragments.push_back({target, taken});  // `f` may be gone from here on
}

void wait_for_lanes(Warp &w, const Instruction &i) {
    uint32_t here = 0;
    for (const Fragment &f : w.fragments) here |= f.mask;
    if (here != w.lanes_of_block) fail(i, "lanes of warp " + std::to_string(w.index) + " have ended that it waits for");
    w.seen[w.index] = ++w.clock;
}

/// The compiler may have copied a barrier of the warp into several branches.
bool pass_warp_barriers(Warp &w) {
    const std::vector<Instruction> &code = w.kernel().code;
    const auto is_there = [&](const Fragment &f) { return code[f.at].kind == Kind::warp_barrier; };
    if (w.fragments.size() < 2 || !std::all_of(w.fragments.begin(), w.fragments.end(), is_there))
        return false;
    wait_for_lanes(w, code[w.fragments.front().at]);
    for (Fragment &f : w.fragments) f.at++;
    return true;
}

void go_on(Warp &w) {
    w.waiting = false;
    w.fragments.front().at++;
}

/// All that arrived have seen what any of them had.
void complete(Barrier &barrier, Block &block) {
    if (barrier.waiting.size() == static_cast<size_t>(block.warps)) block.history.begin_round();
    for (Warp *w : barrier.waiting) {
        w->seen = barrier.seen;
        go_on(*w);
    }
    barrier.arrived.clear();
    barrier.waiting.clear();
}

void arrive(Warp &w, const Instruction &i) {
    const uint32_t id = *w.from<uint32_t>(i.a), threads = i.has_count ? *w.from<uint32_t>(i.b) : 0;
    const std::string name = "barrier " + std::to_string(id);
    if (id >= Block::barriers_of_block) fail(i, name + "; a block has 0 to 15");
    if (threads % lanes != 0) fail(i, name + " is for " + std::to_string(threads) + " threads, no whole warps");
    Barrier &barrier = w.block->barriers[id];
    if (barrier.arrived.empty()) {
        barrier.threads = threads;
        barrier.seen.clear();
    }
    if (barrier.threads != threads) fail(i, name + " is for another number of threads elsewhere");
    if (std::find(barrier.arrived.begin(), barrier.arrived.end(), &w) != barrier.arrived.end())
        fail(i, "warp " + std::to_string(w.index) + " arrives again before " + name + " is complete");
    barrier.arrived.push_back(&w);
    w.arrive(barrier.seen);
    w.waiting = i.kind == Kind::barrier;
    if (w.waiting)
        barrier.waiting.push_back(&w);
    else
        w.fragments.front().at++;
    if (threads && barrier.arrived.size() == threads / lanes) complete(barrier, *w.block);
}

/// For coverage.
void note_reached(Warp &w, const Instruction &i, uint32_t came, uint32_t mask) {
    if (i.kind == Kind::branch) {
        i.reached |= executed | (mask == came ? taken : passed);
        if (i.loop >= 0 && mask && w.turns[i.loop]++) i.reached |= repeated, w.turns[i.loop] = 1;
    } else if (mask) {
        i.reached |= executed;
        if (!i.compares || i.reached & equal) return;
        const uint32_t *const a = w.from<uint32_t>(i.a), *const b = w.from<uint32_t>(i.b);
        for (int l = 0; l < lanes; l++)
            if (mask >> l & 1 && a[l] == b[l]) i.reached |= equal;
    }
}

/// Runs until the warp has to wait for others, or ends.
void advance(Warp &w) {
    const std::vector<Instruction> &code = w.kernel().code;
    while (!w.ended()) {
        if (pass_warp_barriers(w)) continue;
        const auto fragment = next_fragment(w);
        const Instruction &i = code[fragment->at];
        const uint32_t mask = lanes_that_execute(w, i, fragment->mask);
        note_reached(w, i, fragment->mask, mask);
        switch (i.kind) {
            case Kind::simple:
            case Kind::whole_warp:
                if (mask && i.uses_product_registers) w.product_registers.use(i);
                if (mask) i.execute(w, i, mask);
                fragment->at++;
                break;
            case Kind::warp_barrier:
                wait_for_lanes(w, i);
                fragment->at++;
                break;
            case Kind::branch:
                branch(w, *fragment, i.number, mask);
                break;
            case Kind::exit:
                fragment->at++;
                fragment->mask &= ~mask;
                if (!fragment->mask) w.fragments.erase(fragment);
                break;
            case Kind::barrier:
            case Kind::barrier_arrive:
                if (!mask) {
                    fragment->at++;
                    break;
                }
                if (mask != fragment->mask) fail(i, "only some lanes come here");
                arrive(w, i);
                if (w.waiting) return;
                break;
            default:
                w.waiting = true;
                return;
        }
        if (w.fragments.size() > 1) merge_fragments(w);
    }
}

/// A block's warps in turns.
class BlockRun {
  public:
    explicit BlockRun(Block &block, std::vector<Warp> &warps) : block_(block), warps_(warps) {
        const size_t groups = warps.size() / warps_of_group;
        for (size_t g = 0; g < groups; g++) {
            rules_.emplace_back(block, &warps[g * warps_of_group]);
            products_.emplace_back(block, &warps[g * warps_of_group]);
        }
    }

    /// Whether anything moved. Ends the block when all of its warps have ended.
    bool step() {
        if (block_.has_ended) return false;
        bool moved = false;
        for (Warp &w : warps_)
            if (!w.waiting && !w.ended()) advance(w), moved = true;
        for (size_t g = 0; g < products_.size(); g++) moved |= pass_group_instruction(g);
        moved |= pass_barriers();
        for (Warp &w : warps_) moved |= pass_wait_of(w);
        if (std::all_of(warps_.begin(), warps_.end(), [](const Warp &w) { return w.ended(); })) end();
        return moved;
    }

    bool has_ended() const { return block_.has_ended; }
    std::string state() const { return state_of_mbarriers(block_); }

  private:
    void end() {
        for (const ProductRules &rules : rules_) rules.end();
        check_mbarriers(block_);
        for (const Barrier &barrier : block_.barriers)
            if (!barrier.arrived.empty())
                throw PtxError("a block ends although warps have arrived at barrier " +
                               std::to_string(&barrier - block_.barriers) + " for which nobody waits");
        for (const Warp &w : warps_)
            if (!w.bulk_stores.empty()) throw PtxError("a block ends while its shared memory is being stored");
        end_in_cluster(block_, warps_);
    }

    const Instruction &place(const Warp &w) const { return w.kernel().code[w.fragments.front().at]; }

    /// Those that are for all warps which have not ended.
    bool pass_barriers() {
        const size_t running =
            std::count_if(warps_.begin(), warps_.end(), [](const Warp &w) { return !w.ended(); });
        bool passed = false;
        for (Barrier &barrier : block_.barriers) {
            if (barrier.threads || barrier.arrived.empty() || barrier.arrived.size() < running) continue;
            complete(barrier, block_);
            passed = true;
        }
        return passed;
    }

    static bool pass_wait_of(Warp &w) {
        if (!w.waiting || w.ended()) return false;
        const Instruction &i = w.kernel().code[w.fragments.front().at];
        const bool passes =
            i.kind == Kind::mbarrier_wait ? pass_mbarrier(w, i) : i.kind == Kind::cluster_wait && pass_cluster_wait(w);
        if (!passes) return false;
        go_on(w);
        return true;
    }

    /// Where the four warps of a group have met at an instruction of theirs.
    bool pass_group_instruction(size_t group) {
        Warp *const first = &warps_[group * warps_of_group], *const end = first + warps_of_group;
        if (!std::all_of(first, end, [](const Warp &w) { return w.waiting && !w.ended(); })) return false;
        const Instruction &i = place(*first);
        if (i.kind < Kind::wgmma ||
            !std::all_of(first, end, [&](const Warp &w) { return &place(w) == &i; }))
            return false;
        if (i.guarded) fail(i, "a condition on an instruction of the warpgroup");
        switch (i.kind) {
            case Kind::wgmma:
                rules_[group].start(i);
                products_[group].start(i);
                break;
            case Kind::wgmma_fence:
                rules_[group].fence();
                break;
            case Kind::wgmma_commit:
                rules_[group].commit();
                products_[group].commit();
                break;
            case Kind::wgmma_wait:
                rules_[group].wait(i.number);
                products_[group].wait(i.number);
                break;
            default:
                fail(i, "no instruction of the warpgroup");
        }
        std::for_each(first, end, go_on);
        return true;
    }

    Block &block_;
    std::vector<Warp> &warps_;
    std::vector<ProductRules> rules_;
    std::vector<Products> products_;
};

/// As at the start of a block, at a time later than all that was before: registers keep what the last one left, which no kernel
/// may use.
void start(Warp &w, Block &block, int index, const Dimensions &at, int32_t now) {
    w.block = &block;
    w.index = index;
    w.seen.assign(block.warps, now);
    w.clock = now;
    w.waiting = false;
    w.cluster_arrivals = w.cluster_waits = 0;
    w.copy_groups.assign(1, {});
    w.product_registers.restart(w.kernel().product_registers);
    w.turns.assign(w.kernel().loops, 0);
    const Dimensions &t = block.launch.block;
    uint32_t mask = 0;
    for (int l = 0; l < lanes; l++) {
        const unsigned thread = w.thread(l);
        if (thread < t.x * t.y * t.z) mask |= 1u << l;
        const unsigned values[special_registers] = {
            thread % t.x, thread / t.x % t.y,      thread / (t.x * t.y), t.x, t.y, t.z, at.x, at.y,
            at.z,         static_cast<unsigned>(l), base_of(block.rank) + w.kernel().shared_begins_at()};
        for (int s = 0; s < special_registers; s++) w.to<uint32_t>(w.kernel().special[s])[l] = values[s];
    }
    w.fragments.assign(1, {0, mask});
    w.lanes_of_block = mask;
}

/// From this block of the grid on.
void run_cluster(Cluster &cluster, const Dimensions &first, int32_t &now) {
    const Dimensions &c = cluster.blocks.front().launch.cluster;
    std::vector<BlockRun> runs;
    for (unsigned rank = 0; rank < cluster.blocks.size(); rank++) {
        Block &block = cluster.blocks[rank];
        std::vector<Warp> &warps = cluster.warps[rank];
        block.restart();
        const Dimensions at{first.x + rank % c.x, first.y + rank / c.x % c.y, first.z + rank / (c.x * c.y)};
        for (size_t i = 0; i < warps.size(); i++) start(warps[i], block, static_cast<int>(i), at, now);
        runs.emplace_back(block, warps);
    }
    while (!std::all_of(runs.begin(), runs.end(), [](const BlockRun &run) { return run.has_ended(); })) {
        bool moved = false;
        for (BlockRun &run : runs) moved |= run.step();
        if (!moved) throw PtxError("warps wait for each other at different places" + runs.front().state());
    }
    for (const std::vector<Warp> &warps : cluster.warps)
        for (const Warp &w : warps) now = std::max(now, w.clock + 1);
}

}  // namespace

void run(const Launch &launch) {
    const Dimensions &g = launch.grid, &t = launch.block, &c = launch.cluster;
    if (g.x % c.x || g.y % c.y || g.z % c.z) throw PtxError("the grid has no whole clusters");
    if (launch.early && !launch.kernel.waits_first)
        throw PtxError("the kernel is launched early and does not begin with griddepcontrol.wait");
    Cluster cluster(launch, static_cast<int>((t.x * t.y * t.z + lanes - 1) / lanes));
    int32_t now = 1;
    for (Dimensions at{0, 0, 0}; at.z < g.z; at.z += c.z)
        for (at.y = 0; at.y < g.y; at.y += c.y)
            for (at.x = 0; at.x < g.x; at.x += c.x) run_cluster(cluster, at, now);
}

}  // namespace ptx_machine

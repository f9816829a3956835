// See shared_history.h.
#include "shared_history.h"

#include <algorithm>
#include <string>

#include "warp.h"

namespace ptx_machine {

namespace {

constexpr uint32_t clock_of_read = 64, several_lanes = lanes;

[[noreturn]] void fail_by_race(const Instruction &i, int thread, const char *does, uint32_t word,
                               const std::string &other) {
    fail(i, "race: thread " + std::to_string(thread) + does + "shared word " + std::to_string(word) +
                ", which " + other);
}

std::string numbered(const char *what, int number) {
    return what + std::to_string(number);
}

}  // namespace

SharedHistory::SharedHistory(size_t bytes, int warps)
    : warps_(warps),
      groups_(warps / warps_of_group),
      in_cluster_(bytes / 4 + 1),
      writes_(bytes / 4 + 1),
      reads_(writes_.size() * warps),
      products_(writes_.size() * groups_),
      written_(warps),
      fences_(warps),
      group_(groups_) {}

void SharedHistory::restart() {
    std::fill(writes_.begin(), writes_.end(), Write());
    std::fill(in_cluster_.begin(), in_cluster_.end(), InCluster());
    last_read_in_cluster_ = 0, has_products_ = false;
    std::fill(products_.begin(), products_.end(), 0);
    std::fill(written_.begin(), written_.end(), 0);
    for (std::vector<Fence> &fences : fences_) fences.clear();
    std::fill(group_.begin(), group_.end(), Group());
    bulk_reads_.clear();
}

/// Whether a write is ordered before what this warp does now.
bool SharedHistory::seen(const Write &last, const Warp &warp) {
    return last.thread == nobody || last.clock < warp.seen[last.thread / lanes];
}

void SharedHistory::fail_by_read(const Instruction &i, int thread, uint32_t word, const Write &last) {
    fail_by_race(i, thread, " reads ", word,
                 last.clock == under_way ? numbered("a copy that nobody waited for writes, of thread ", last.thread)
                                         : numbered("is written without a barrier since, by thread ", last.thread));
}

inline void SharedHistory::note_read(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) {
    const uint32_t now = clock_of_read * warp.clock, mine = now + thread % lanes;
    uint32_t *const reads = reads_of(warp.index);
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++) {
        Write &last = writes_[word];
        if (last.round < round_)
            last.round = round_;
        else if (!seen(last, warp) && (last.thread != thread || last.clock == under_way))
            fail_by_read(i, thread, word, last);
        uint32_t &before = reads[word];
        before = before < now || before == mine ? mine : now + several_lanes;
    }
}

void SharedHistory::read_in_cluster(const Instruction &i, const Warp &reader, uint32_t address, int bytes) {
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++) {
        InCluster &last = in_cluster_[word];
        if (last.written > reader.cluster_waits)
            fail(i, "race: a block reads shared word " + std::to_string(word) +
                        " of its cluster, written without a barrier of it since");
        last.read = std::max<uint16_t>(last.read, reader.cluster_arrivals + 1);
        last_read_in_cluster_ = std::max<int>(last_read_in_cluster_, last.read);
    }
}

void SharedHistory::order_in_cluster(const Instruction &i, const Warp &warp, uint32_t word) {
    InCluster &last = in_cluster_[word];
    if (last.read > warp.cluster_waits)
        fail(i, "race: shared word " + std::to_string(word) + " is read in the cluster without a barrier of it since");
    last.written = warp.cluster_arrivals + 1;
}

void SharedHistory::require_no_bulk_read(const Instruction &i, int thread, uint32_t address, int bytes) const {
    for (const auto &[read, count] : bulk_reads_)
        if (address < read + count && read < address + bytes)
            fail_by_race(i, thread, " writes ", std::max(address, read) / 4, "the copy engine reads that nobody has waited for");
}

inline bool SharedHistory::require_no_writer(const Instruction &i, const Warp &warp, int thread, uint32_t address,
                                             int bytes) const {
    if (!bulk_reads_.empty()) require_no_bulk_read(i, thread, address, bytes);
    bool over = true;
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++) {
        const Write &last = writes_[word];
        if (last.round < round_) continue;
        over = false;
        if (!seen(last, warp) && (last.thread != thread || last.clock == under_way))
            fail_by_race(i, thread, " writes ", word, numbered("is written without a barrier since, by thread ", last.thread));
    }
    return !over;
}

bool SharedHistory::has_reader(const Warp &warp, uint32_t first, uint32_t end) const {
    for (int reader = 0; reader < warps_; reader++) {
        const uint32_t *const reads = reads_of(reader);
        const uint32_t since = clock_of_read * warp.seen[reader];
        uint32_t any = 0;
        for (uint32_t word = first; word < end; word++) any |= static_cast<uint32_t>(reads[word] >= since);
        if (any) return true;
    }
    return false;
}

void SharedHistory::require_no_reader(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) const {
    const uint32_t first = address / 4, end = (address + bytes - 1) / 4 + 1;
    for (int reader = 0; reader < warps_; reader++) {
        const uint32_t *const reads = reads_of(reader);
        const uint32_t since = clock_of_read * warp.seen[reader];
        for (uint32_t word = first; word < end; word++) {
            if (reads[word] < since) continue;
            if (reader != warp.index)
                fail_by_race(i, thread, " writes ", word, "another warp reads without a barrier since");
            if (reads[word] % clock_of_read != static_cast<uint32_t>(thread % lanes))
                fail_by_race(i, thread, " writes ", word, "another lane reads without a barrier since");
        }
    }
}

SharedHistory::Products SharedHistory::products_over_for(const Warp &warp) const {
    Products over{};
    for (int g = 0; g < groups_; g++) {
        const std::vector<std::array<int32_t, warps_of_group>> &ended = group_[g].ended;  // at times that do not decrease
        const auto is_over = [&](const std::array<int32_t, warps_of_group> &clocks) {
            for (int w = 0; w < warps_of_group; w++) {
                const int reader = g * warps_of_group + w;
                if (reader != warp.index && clocks[w] >= warp.seen[reader]) return false;
            }
            return true;
        };
        over[g] = static_cast<int>(std::partition_point(ended.begin(), ended.end(), is_over) - ended.begin());
    }
    return over;
}

inline void SharedHistory::require_no_product(const Instruction &i, int thread, uint32_t address, int bytes,
                                              const Products &over) const {
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++)
        for (int g = 0; g < groups_; g++) {
            const int product = products_[static_cast<size_t>(word) * groups_ + g];
            if (product <= over[g]) continue;
            fail_by_race(i, thread, " writes ", word,
                         product > static_cast<int>(group_[g].ended.size())
                             ? "a product reads that nobody has waited for"
                             : "a product of another warp reads without a barrier since");
        }
}

inline void SharedHistory::note_write(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes,
                                      int32_t clock) {
    const uint32_t number = ++written_[warp.index];
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++) {
        if (!warp.block->is_alone) order_in_cluster(i, warp, word);
        writes_[word] = {clock, number, static_cast<int16_t>(thread), clock == under_way ? no_end : round_};
    }
}

/// Readers and products are looked for once for all lanes, whose words mostly lie side by side.
void SharedHistory::note_writes(const Instruction &i, const Warp &warp, uint32_t mask, const uint32_t (&address)[lanes], int bytes,
                                int32_t clock) {
    const Products products_over = has_products_ ? products_over_for(warp) : Products{};
    uint32_t first = ~0u, end = 0;
    bool may_be_read = false;
    for_each_lane(mask, [&](int l) {
        const int thread = warp.thread(l);
        if (has_products_) require_no_product(i, thread, address[l], bytes, products_over);
        may_be_read |= require_no_writer(i, warp, thread, address[l], bytes);
        note_write(i, warp, thread, address[l], bytes, clock);
        first = std::min(first, address[l] / 4), end = std::max(end, (address[l] + bytes - 1) / 4 + 1);
    });
    constexpr uint32_t at_most_apart = 16;
    if (!may_be_read || (end - first <= at_most_apart * lanes * ((bytes + 3) / 4) && !has_reader(warp, first, end))) return;
    for_each_lane(mask, [&](int l) { require_no_reader(i, warp, warp.thread(l), address[l], bytes); });
}

void SharedHistory::write(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) {
    require_no_race(i, warp, thread, address, bytes);
    note_write(i, warp, thread, address, bytes, warp.clock);
}

void SharedHistory::read(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) {
    note_read(i, warp, thread, address, bytes);
}

void SharedHistory::read(const Instruction &i, const Warp &warp, uint32_t mask, const uint32_t (&address)[lanes], int bytes) {
    for_each_lane(mask, [&](int l) { note_read(i, warp, warp.thread(l), address[l], bytes); });
}

void SharedHistory::write(const Instruction &i, const Warp &warp, uint32_t mask, const uint32_t (&address)[lanes], int bytes) {
    note_writes(i, warp, mask, address, bytes, warp.clock);
}

void SharedHistory::begin_copy(const Instruction &i, const Warp &warp, uint32_t mask, const uint32_t (&address)[lanes], int bytes) {
    note_writes(i, warp, mask, address, bytes, under_way);
}

void SharedHistory::end_copy(const Warp &warp, uint32_t mask, const uint32_t (&address)[lanes], int bytes) {
    for_each_lane(mask, [&](int l) {
        const uint32_t number = ++written_[warp.index];
        for (uint32_t word = address[l] / 4; word <= (address[l] + bytes - 1) / 4; word++) {
            writes_[word].clock = warp.clock;
            writes_[word].number = number;
            writes_[word].round = round_;
        }
    });
}

void SharedHistory::require_no_race(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) const {
    if (has_products_) require_no_product(i, thread, address, bytes, products_over_for(warp));
    const bool may_be_read = require_no_writer(i, warp, thread, address, bytes);
    if (may_be_read && has_reader(warp, address / 4, (address + bytes - 1) / 4 + 1))
        require_no_reader(i, warp, thread, address, bytes);
}

void SharedHistory::bulk_write(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) {
    constexpr uint32_t needs_no_fence = 0;
    require_no_race(i, warp, thread, address, bytes);
    for (uint32_t word = address / 4; word < (address + bytes) / 4; word++) {
        if (!warp.block->is_alone) order_in_cluster(i, warp, word);
        const Write &last = writes_[word];
        if (last.thread != nobody && last.number != needs_no_fence) {
            const std::vector<Fence> &fences = fences_[last.thread / lanes];
            if (fences.empty() || fences.back().writes < last.number)
                fail(i, numbered("the copy engine writes shared word ", static_cast<int>(word)) +
                            ", which was written without a proxy fence since");
        }
        writes_[word] = {warp.clock, needs_no_fence, static_cast<int16_t>(thread), round_};
    }
}

void SharedHistory::bulk_read(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) {
    read(i, warp, thread, address, bytes);
    const std::vector<Fence> &fences = fences_[warp.index];
    for (uint32_t word = address / 4; word < (address + bytes) / 4; word++)
        if (writes_[word].thread == thread && (fences.empty() || fences.back().writes < writes_[word].number))
            fail(i, numbered("the copy engine reads shared word ", static_cast<int>(word)) +
                        ", which was written without a proxy fence since");
    bulk_reads_.emplace_back(address, bytes);
}

void SharedHistory::end_bulk_read(uint32_t address, uint32_t bytes) {
    bulk_reads_.erase(std::find(bulk_reads_.begin(), bulk_reads_.end(), std::pair(address, bytes)));
}

void SharedHistory::proxy_fence(const Warp &warp) {
    fences_[warp.index].push_back({warp.clock, written_[warp.index]});
}

SharedHistory::Known SharedHistory::known(const Warp *group, int writer) const {
    const std::vector<Fence> &fences = fences_[writer];
    Known least{under_way, ~0u};
    for (const Warp *warp = group; warp < group + warps_of_group; warp++) {
        const int32_t clock = warp->seen[writer];
        least.clock = std::min(least.clock, clock);
        // A warp's own fences need no barrier.
        const auto last = std::find_if(fences.rbegin(), fences.rend(), [&](const Fence &fence) {
            return fence.clock < clock || warp->index == writer;
        });
        least.fenced_writes = std::min(least.fenced_writes, last == fences.rend() ? 0 : last->writes);
    }
    return least;
}

int SharedHistory::begin_product(const Instruction &i, const Warp *group, const std::vector<uint32_t> &rows) {
    std::vector<Known> of_warp;
    Known of_all{under_way, ~0u};  // the least
    for (int writer = 0; writer < warps_; writer++) {
        of_warp.push_back(known(group, writer));
        of_all.clock = std::min(of_all.clock, of_warp.back().clock);
        of_all.fenced_writes = std::min(of_all.fenced_writes, of_warp.back().fenced_writes);
    }
    const int g = group->index / warps_of_group, product = ++group_[g].begun;
    has_products_ = true;
    for (const uint32_t row : rows)
        for (uint32_t word = row / 4; word < row / 4 + 4; word++) {
            const Write &last = writes_[word];
            products_[static_cast<size_t>(word) * groups_ + g] = product;
            const bool known_of_any = last.clock < of_all.clock && last.number <= of_all.fenced_writes;
            if (known_of_any || last.thread == nobody) continue;
            const Known &writer = of_warp[last.thread / lanes];
            const auto what = [&] {
                return "tensor cores read shared word " + std::to_string(word) + ", which ";
            };
            if (last.clock == under_way)
                fail(i, "race: " + what() +
                            numbered("a copy that nobody waited for writes, of thread ", last.thread));
            if (last.clock >= writer.clock)
                fail(i, "race: " + what() +
                            numbered("is written without a barrier since, by thread ", last.thread));
            if (last.number > writer.fenced_writes)
                fail(i, what() + "was written without a proxy fence since");
        }
    return product;
}

void SharedHistory::end_products(const Warp *group, int last) {
    std::array<int32_t, warps_of_group> now;
    for (int w = 0; w < warps_of_group; w++) now[w] = group[w].clock;
    group_[group->index / warps_of_group].ended.resize(last, now);
}

}  // namespace ptx_machine

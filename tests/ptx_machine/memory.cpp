// Loads, stores and asynchronous copies, and the history of shared memory that shows races.
#include "memory.h"

#include <cstring>

#include "tensor_cores.h"
#include "warp.h"

namespace ptx_machine {

// ---- shared memory

void Block::check_shared(const Instruction &i, uint32_t address, int bytes) const {
    if (address + uint64_t(bytes) > shared.size() || address % bytes != 0)
        fail(i, "shared address " + std::to_string(address) + ", " + std::to_string(bytes) +
                    " bytes, is not aligned or not in the block's " + std::to_string(shared.size()) +
                    " bytes");
}

namespace {

std::string race(int thread, const char *does, uint32_t word, const std::string &other) {
    return "race: thread " + std::to_string(thread) + does + "shared word " + std::to_string(word) +
           ", which " + other + " without a barrier since";
}

/// Whether the last write of a word is ordered before what this warp does now.
bool wrote_before(const WordHistory &h, const Warp &warp) {
    return h.writer == WordHistory::nobody || h.write_clock < warp.seen[h.writer / lanes];
}

}  // namespace

void Block::note_read(const Instruction &i, const Warp &warp, int thread, uint32_t address, int bytes) {
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++) {
        const WordHistory &h = history[word];
        if (!wrote_before(h, warp) && h.writer != thread)
            fail(i, race(thread, " reads ", word, "thread " + std::to_string(h.writer) + " wrote"));
        LastRead &last = reads[word * warps + warp.index];
        const bool again = last.clock == warp.clock() && last.lane != thread % lanes;
        last = {warp.clock(), again ? LastRead::several_lanes : thread % lanes};
    }
}

void Block::note_write(const Instruction &i, Warp &warp, int thread, uint32_t address, int bytes) {
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; word++) {
        WordHistory &h = history[word];
        if (!wrote_before(h, warp) && h.writer != thread)
            fail(i, race(thread, " writes ", word, "thread " + std::to_string(h.writer) + " wrote"));
        for (int reader = 0; reader < warps; reader++) {
            const LastRead &last = reads[word * warps + reader];
            if (last.clock < warp.seen[reader]) continue;
            if (reader != warp.index) fail(i, race(thread, " writes ", word, "another warp read"));
            if (last.lane != thread % lanes) fail(i, race(thread, " writes ", word, "another lane read"));
        }
        h = {warp.clock(), static_cast<int16_t>(thread), true};
        warp.unfenced.push_back(word);
    }
}

void Block::note_bulk_write(const Instruction &i, Warp &warp, int thread, uint32_t address, int bytes) {
    for (uint32_t word = address / 4; word < (address + bytes) / 4; word++)
        if (history[word].unfenced)
            fail(i, "the copy engine writes shared word " + std::to_string(word) +
                        ", which was written without a proxy fence since");
    note_write(i, warp, thread, address, bytes);
    for (uint32_t word = address / 4; word < (address + bytes) / 4; word++) history[word].unfenced = false;
    warp.unfenced.resize(warp.unfenced.size() - bytes / 4);
}

void Block::note_tensor_core_read(const Instruction &i, const Warp *group, uint32_t address) {
    check_shared(i, address, 4);
    const uint32_t word = address / 4;
    const WordHistory &h = history[word];
    const std::string what = "tensor cores read shared word " + std::to_string(word) + ", which ";
    for (const Warp *warp = group; warp < group + warps_of_group; warp++) {
        if (!wrote_before(h, *warp))
            fail(i, "race: " + what + "thread " + std::to_string(h.writer) + " wrote without a barrier since");
        reads[word * warps + warp->index] = {warp->clock(), LastRead::several_lanes};
    }
    if (h.unfenced) fail(i, what + "was written without a proxy fence since");
}

void execute_proxy_fence(Warp &w, const Instruction &, uint32_t) {
    for (uint32_t word : w.unfenced) w.block->history[word].unfenced = false;
    w.unfenced.clear();
}

SharedAddresses::SharedAddresses(const Warp &w, const Instruction &i) {
    for (int l = 0; l < lanes; l++) {
        const uint64_t base = i.wide_address ? w.from<uint64_t>(i.a)[l] : w.from<uint32_t>(i.a)[l];
        of[l] = static_cast<uint32_t>(base + i.offset);
    }
}

// ---- loads and stores: `number` bytes an element; bit v of d tells whether register v has 64 bits

namespace {

void load_element(Warp &w, const Instruction &i, size_t v, int lane, const uint8_t *from) {
    uint64_t value = 0;
    std::memcpy(&value, from, i.number);
    const int unused = 64 - 8 * i.number;
    if (i.is_signed) value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
    if (i.d >> v & 1)
        w.to<uint64_t>(i.vector[v])[lane] = value;
    else
        w.to<uint32_t>(i.vector[v])[lane] = static_cast<uint32_t>(value);
}

void store_element(const Warp &w, const Instruction &i, size_t v, int lane, uint8_t *to) {
    if (i.d >> v & 1)
        std::memcpy(to, w.from<uint64_t>(i.vector[v]) + lane, i.number);
    else
        std::memcpy(to, w.from<uint32_t>(i.vector[v]) + lane, i.number);
}

std::string thread_and_block(const Warp &w, int lane) {
    const auto block = [&](int dimension) {
        return std::to_string(w.from<uint32_t>(w.kernel().special[block_x + dimension])[lane]);
    };
    return "thread " + std::to_string(w.thread(lane)) + " of block " + block(0) + "," + block(1) + "," +
           block(2);
}

uint8_t *global_or_local(Warp &w, const Instruction &i, int lane, uint64_t address, int bytes) {
    if (address >= local_space) {
        const uint64_t at = address - local_space, size = w.kernel().local_bytes;
        if (at + bytes > size) fail(i, "local memory ends before");
        return w.local.data() + lane * size + at;
    }
    if (address % bytes != 0)
        fail(i, thread_and_block(w, lane) + ": an address is not aligned to " + std::to_string(bytes) +
                    " bytes");
    if (!w.block->launch.memory.holds(address, bytes))
        fail(i, thread_and_block(w, lane) + " reaches beyond the device's memory");
    return reinterpret_cast<uint8_t *>(address);
}

int bytes_of_lane(const Instruction &i) {
    return i.number * static_cast<int>(i.vector.size());
}

template <class Function>
void for_each_lane(uint32_t mask, Function function) {
    for (int l = 0; l < lanes; l++)
        if (mask >> l & 1) function(l);
}

}  // namespace

void execute_load_parameter(Warp &w, const Instruction &i, uint32_t mask) {
    const uint8_t *const from = w.block->launch.parameters.data() + i.offset;
    for_each_lane(mask, [&](int l) {
        for (size_t v = 0; v < i.vector.size(); v++) load_element(w, i, v, l, from + v * i.number);
    });
}

void execute_load(Warp &w, const Instruction &i, uint32_t mask) {
    const uint64_t *const address = w.from<uint64_t>(i.a);
    for_each_lane(mask, [&](int l) {
        const uint8_t *const from = global_or_local(w, i, l, address[l] + i.offset, bytes_of_lane(i));
        for (size_t v = 0; v < i.vector.size(); v++) load_element(w, i, v, l, from + v * i.number);
    });
}

void execute_store(Warp &w, const Instruction &i, uint32_t mask) {
    const uint64_t *const address = w.from<uint64_t>(i.a);
    for_each_lane(mask, [&](int l) {
        uint8_t *const to = global_or_local(w, i, l, address[l] + i.offset, bytes_of_lane(i));
        for (size_t v = 0; v < i.vector.size(); v++) store_element(w, i, v, l, to + v * i.number);
    });
}

void execute_load_shared(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    for_each_lane(mask, [&](int l) {
        w.block->check_shared(i, address.of[l], bytes_of_lane(i));
        w.block->note_read(i, w, w.thread(l), address.of[l], bytes_of_lane(i));
        const uint8_t *const from = w.block->shared.data() + address.of[l];
        for (size_t v = 0; v < i.vector.size(); v++) load_element(w, i, v, l, from + v * i.number);
    });
}

void execute_store_shared(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    for_each_lane(mask, [&](int l) {
        w.block->check_shared(i, address.of[l], bytes_of_lane(i));
        w.block->note_write(i, w, w.thread(l), address.of[l], bytes_of_lane(i));
        uint8_t *const to = w.block->shared.data() + address.of[l];
        for (size_t v = 0; v < i.vector.size(); v++) store_element(w, i, v, l, to + v * i.number);
    });
}

// ---- asynchronous copies

void Warp::copy(const PendingCopy &p) {
    const Instruction &i = *p.instruction;
    for_each_lane(p.mask, [&](int l) {
        block->check_shared(i, p.to[l], i.number);
        block->note_write(i, *this, thread(l), p.to[l], i.number);
        uint8_t *const to = block->shared.data() + p.to[l];
        std::memset(to, 0, i.number);
        if (p.bytes[l] == 0) return;
        if (p.from[l] % i.number != 0 || !block->launch.memory.holds(p.from[l], p.bytes[l]))
            fail(i, thread_and_block(*this, l) +
                        " copies from an address that is not aligned, or beyond the device's memory");
        std::memcpy(to, reinterpret_cast<const void *>(p.from[l]), p.bytes[l]);
    });
}

void Warp::finish_copies(size_t groups_left) {
    for (; copy_groups.size() > groups_left + 1; copy_groups.pop_front())
        for (const PendingCopy &p : copy_groups.front()) copy(p);
}

void execute_copy(Warp &w, const Instruction &i, uint32_t mask) {
    PendingCopy p{&i, mask, {}, {}, {}};
    for_each_lane(mask, [&](int l) {
        p.to[l] = w.from<uint32_t>(i.d)[l];
        p.from[l] = w.from<uint64_t>(i.a)[l] + i.offset;
        p.bytes[l] = w.from<uint32_t>(i.b)[l];
        if (p.bytes[l] > static_cast<uint32_t>(i.number)) fail(i, "more bytes than the copy has");
    });
    const Timing timing = w.block->launch.timing;
    if (timing == Timing::early || timing == Timing::late_products)
        w.copy(p);
    else
        w.copy_groups.back().push_back(p);
}

void execute_copy_commit(Warp &w, const Instruction &, uint32_t) {
    w.copy_groups.emplace_back();
}

void execute_copy_wait(Warp &w, const Instruction &i, uint32_t) {
    w.finish_copies(i.number);
}

}  // namespace ptx_machine

// Loads, stores and asynchronous copies.
#include "memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "cluster.h"
#include "mbarrier.h"
#include "tensor_cores.h"
#include "warp.h"

namespace ptx_machine {

// ---- shared memory

void Block::fail_outside(const Instruction &i, uint32_t address, int bytes) const {
    fail(i, "shared address " + std::to_string(address) + ", " + std::to_string(bytes) +
                " bytes, is not aligned or not in the block's " + std::to_string(launch.shared_bytes) + " bytes");
}

void execute_proxy_fence(Warp &w, const Instruction &i, uint32_t mask) {
    w.block->history.proxy_fence(w);
    execute_mbarrier_fence(w, i, mask);
}

SharedAddresses::SharedAddresses(const Warp &w, const Instruction &i) {
    const uint32_t *const words = w.from<uint32_t>(i.a);
    for (int l = 0; l < lanes; l++)
        of[l] = own_address(w, words[i.wide_address ? 2 * l : l] + static_cast<uint32_t>(i.offset));
}

// ---- loads and stores: `number` bytes an element; bit v of d tells whether register v has 64 bits

namespace {

/// Elements that are whole registers, as nearly all are.
bool is_of_words(const Instruction &i) {
    return i.number == 4 && i.d == 0;
}

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

/// `from` and `to` have the address of each lane.
void load_elements(Warp &w, const Instruction &i, uint32_t mask, const uint8_t *const *from) {
    for (size_t v = 0; v < i.vector.size(); v++) {
        uint32_t *const registers = w.to<uint32_t>(i.vector[v]);
        if (is_of_words(i))
            for_each_lane(mask, [&](int l) { std::memcpy(registers + l, from[l] + 4 * v, 4); });
        else
            for_each_lane(mask, [&](int l) { load_element(w, i, v, l, from[l] + v * i.number); });
    }
}

void store_elements(const Warp &w, const Instruction &i, uint32_t mask, uint8_t *const *to) {
    for (size_t v = 0; v < i.vector.size(); v++) {
        const uint32_t *const registers = w.from<uint32_t>(i.vector[v]);
        if (is_of_words(i))
            for_each_lane(mask, [&](int l) { std::memcpy(to[l] + 4 * v, registers + l, 4); });
        else
            for_each_lane(mask, [&](int l) { store_element(w, i, v, l, to[l] + v * i.number); });
    }
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
    if (address & (bytes - 1))
        fail(i, thread_and_block(w, lane) + ": an address is not aligned to " + std::to_string(bytes) +
                    " bytes");
    if (!w.block->launch.memory.holds(address, bytes))
        fail(i, thread_and_block(w, lane) + " reaches beyond the device's memory");
    return reinterpret_cast<uint8_t *>(address);
}

int bytes_of_lane(const Instruction &i) {
    return i.number * static_cast<int>(i.vector.size());
}

}  // namespace

void execute_load_parameter(Warp &w, const Instruction &i, uint32_t mask) {
    const uint8_t *from[lanes];
    std::fill(std::begin(from), std::end(from), w.block->launch.parameters.data() + i.offset);
    load_elements(w, i, mask, from);
}

void execute_load(Warp &w, const Instruction &i, uint32_t mask) {
    const uint64_t *const address = w.from<uint64_t>(i.a);
    const uint8_t *from[lanes];
    for_each_lane(mask, [&](int l) { from[l] = global_or_local(w, i, l, address[l] + i.offset, bytes_of_lane(i)); });
    load_elements(w, i, mask, from);
}

void execute_store(Warp &w, const Instruction &i, uint32_t mask) {
    const uint64_t *const address = w.from<uint64_t>(i.a);
    uint8_t *to[lanes];
    for_each_lane(mask, [&](int l) { to[l] = global_or_local(w, i, l, address[l] + i.offset, bytes_of_lane(i)); });
    store_elements(w, i, mask, to);
}

void execute_load_shared(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    const uint8_t *from[lanes];
    for_each_lane(mask, [&](int l) {
        w.block->check_shared(i, address.of[l], bytes_of_lane(i));
        from[l] = w.block->shared.data() + address.of[l];
    });
    w.block->history.read(i, w, mask, address.of, bytes_of_lane(i));
    load_elements(w, i, mask, from);
}

void execute_load_cluster(Warp &w, const Instruction &i, uint32_t mask) {
    const uint32_t *const address = w.from<uint32_t>(i.a);
    const uint8_t *from[lanes];
    for_each_lane(mask, [&](int l) {
        Block &block = w.block->cluster->block_at(i, w, address[l]);
        const uint32_t at = in_block(address[l] + static_cast<uint32_t>(i.offset));
        block.check_shared(i, at, bytes_of_lane(i));
        if (&block == w.block)
            block.history.read(i, w, w.thread(l), at, bytes_of_lane(i));
        else
            block.history.read_in_cluster(i, w, at, bytes_of_lane(i));
        from[l] = block.shared.data() + at;
    });
    load_elements(w, i, mask, from);
}

void execute_store_shared(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    uint8_t *to[lanes];
    for_each_lane(mask, [&](int l) {
        w.block->check_shared(i, address.of[l], bytes_of_lane(i));
        to[l] = w.block->shared.data() + address.of[l];
    });
    w.block->history.write(i, w, mask, address.of, bytes_of_lane(i));
    store_elements(w, i, mask, to);
}

// ---- asynchronous copies

void Warp::copy(const PendingCopy &p) {
    const Instruction &i = *p.instruction;
    for_each_lane(p.mask, [&](int l) {
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
        for (const PendingCopy &p : copy_groups.front()) {
            if (!p.done) copy(p);
            block->history.end_copy(*this, p.mask, p.to, p.instruction->number);
        }
}

void execute_copy(Warp &w, const Instruction &i, uint32_t mask) {
    PendingCopy p{&i, mask, false, {}, {}, {}};
    for_each_lane(mask, [&](int l) {
        p.to[l] = own_address(w, w.from<uint32_t>(i.d)[l]);
        p.from[l] = w.from<uint64_t>(i.a)[l] + i.offset;
        p.bytes[l] = w.from<uint32_t>(i.b)[l];
        if (p.bytes[l] > static_cast<uint32_t>(i.number)) fail(i, "more bytes than the copy has");
        w.block->check_shared(i, p.to[l], i.number);
    });
    w.block->history.begin_copy(i, w, mask, p.to, i.number);
    const Timing timing = w.block->launch.timing;
    p.done = timing == Timing::early || timing == Timing::late_products;
    if (p.done) w.copy(p);
    w.copy_groups.back().push_back(p);
}

void execute_copy_commit(Warp &w, const Instruction &, uint32_t) {
    w.copy_groups.emplace_back();
}

void execute_copy_wait(Warp &w, const Instruction &i, uint32_t) {
    w.finish_copies(i.number);
}

}  // namespace ptx_machine

// See mbarrier.h. A phase ends when all have arrived that it counts, and all bytes have come that they expect.
#include "mbarrier.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace ptx_machine {

namespace {

void end_phase_if_complete(Mbarrier &m) {
    if (m.pending > 0 || m.bytes != 0) return;
    m.pending = m.count;
    m.phases++;
    merge(m.seen, m.seen_in_phase);
}

/// To nearest, ties to even, as the GPU does (measured on an H200).
float rounded_to_tf32(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    return std::isfinite(value) ? std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu) : value;
}

constexpr uint32_t group_bytes = 16;

/// Groups of 16 bytes of a row are permuted by the address.
uint32_t permuted(const TensorMap &map, uint32_t at) {
    return at ^ (at >> 7 & ((1u << map.row_bits) / 16 - 1)) << 4;
}

/// An element of a box, or zero, at its place.
void bring_element(Block &block, const TensorMap &map, uint32_t to, uint64_t address, bool inside) {
    uint8_t *const element = block.shared.data() + permuted(map, to);
    std::memset(element, 0, map.element_bytes);
    if (!inside) return;
    if (!block.launch.memory.holds(address, map.element_bytes))
        throw PtxError("a box of a tensor reaches beyond the device's memory");
    std::memcpy(element, reinterpret_cast<const void *>(address), map.element_bytes);
    if (!map.rounds_to_tf32) return;
    float value;
    std::memcpy(&value, element, sizeof value);
    value = rounded_to_tf32(value);
    std::memcpy(element, &value, sizeof value);
}

void bring_group(Block &block, const TensorMap &map, uint32_t to, uint64_t address) {
    std::array<float, group_bytes / sizeof(float)> group;
    std::memcpy(group.data(), reinterpret_cast<const void *>(address), group_bytes);
    if (map.rounds_to_tf32)
        for (float &value : group) value = rounded_to_tf32(value);
    std::memcpy(block.shared.data() + permuted(map, to), group.data(), group_bytes);
}

/// Where rows are of whole groups, most are inside with all of their elements, or with none.
bool bring_whole_row(Block &block, const TensorMap &map, uint32_t to, uint64_t address, int64_t first, uint32_t count,
                     bool inside) {
    const uint32_t bytes = count * map.element_bytes;
    const bool all_inside = inside && first >= 0 && first + count <= map.extents[0] &&
                            block.launch.memory.holds(address, static_cast<int>(bytes));
    if (to % group_bytes || bytes % group_bytes || (inside && !all_inside)) return false;
    for (uint32_t offset = 0; offset < bytes; offset += group_bytes) {
        if (inside)
            bring_group(block, map, to + offset, address + offset);
        else
            std::memset(block.shared.data() + permuted(map, to + offset), 0, group_bytes);
    }
    return true;
}

/// Elements side by side, from `first` of the first dimension on. Most groups of 16 bytes are inside.
void bring_row(Block &block, const TensorMap &map, uint32_t to, uint64_t address, int64_t first, uint32_t count, bool inside) {
    if (bring_whole_row(block, map, to, address, first, count, inside)) return;
    const uint32_t in_group = group_bytes / map.element_bytes;
    for (uint32_t e = 0; e < count;) {
        const int64_t at = first + e;
        const uint32_t offset = e * map.element_bytes;
        const bool whole = inside && (to + offset) % group_bytes == 0 && count - e >= in_group && at >= 0 &&
                           at + in_group <= map.extents[0] && block.launch.memory.holds(address + offset, group_bytes);
        if (whole)
            bring_group(block, map, to + offset, address + offset);
        else
            bring_element(block, map, to + offset, address + offset, inside && at >= 0 && at < map.extents[0]);
        e += whole ? in_group : 1;
    }
}

/// Calls `move(offset in shared memory, address, inside)` for each row of a block along its first dimension: whether it is
/// inside along all others.
template <class Move>
void for_each_row(const Box &box, uint32_t bytes, Move move) {
    const TensorMap &map = box.map;
    const uint32_t row_bytes = map.block[0] * map.element_bytes;
    for (uint32_t row = 0; row * row_bytes < bytes; row++) {
        bool inside = true;
        uint64_t address = map.address + int64_t{box.first[0]} * map.element_bytes;
        uint32_t rest = row;
        for (int d = 1; d < map.dimensions; d++) {
            const int64_t at = box.first[d] + static_cast<int64_t>(rest % map.block[d]);
            rest /= map.block[d];
            inside = inside && at >= 0 && at < map.extents[d];
            address += at * map.strides[d - 1];
        }
        move(row * row_bytes, address, inside);
    }
}

void bring_block(Block &block, const BulkCopy &copy) {
    const Box &box = *copy.box;
    for_each_row(box, copy.bytes, [&](uint32_t offset, uint64_t address, bool inside) {
        bring_row(block, box.map, copy.to + offset, address, box.first[0], box.map.block[0], inside);
    });
}

void perform(const Block &block, const BulkStore &store) {
    if (!store.box) {
        std::memcpy(reinterpret_cast<void *>(store.to), block.shared.data() + store.from, store.bytes);
        return;
    }
    const TensorMap &map = store.box->map;
    for_each_row(*store.box, store.bytes, [&](uint32_t offset, uint64_t row, bool inside) {
        for (uint32_t e = 0; inside && e < map.block[0]; e++) {
            const int64_t at = int64_t{store.box->first[0]} + e;
            if (at < 0 || at >= map.extents[0]) continue;
            const uint32_t byte = e * map.element_bytes;
            if (!block.launch.memory.holds(row + byte, map.element_bytes))
                throw PtxError("a block of a tensor reaches beyond the device's memory");
            std::memcpy(reinterpret_cast<void *>(row + byte), block.shared.data() + permuted(map, store.from + offset + byte),
                        map.element_bytes);
        }
    });
}

/// Positions count through the images, x fastest; their rows of channels follow each other.
void bring(Block &block, const BulkCopy &copy) {
    const TensorMap &map = copy.box->map;
    if (map.is_block()) return bring_block(block, copy);
    const int axes = map.dimensions - 2;
    const uint32_t row = 1u << map.row_bits;
    int64_t at[3] = {}, image = copy.box->first[axes + 1];
    for (int d = 0; d < axes; d++) at[d] = copy.box->first[d + 1];
    for (uint32_t position = 0; position < map.positions; position++) {
        bool inside = image >= 0 && image < map.extents[axes + 1];
        uint64_t from = map.address + image * map.strides[axes];
        for (int d = 0; d < axes; d++) {
            const int64_t x = at[d] + copy.box->offset[d];
            inside = inside && x >= 0 && x < map.extents[d + 1];
            from += x * map.strides[d];
        }
        const int64_t channel = copy.box->first[0];
        bring_row(block, map, copy.to + position * row, from + channel * map.element_bytes, channel, row / map.element_bytes,
                  inside);
        for (int d = 0; d <= axes; d++) {
            if (d == axes) {
                image++;
                break;
            }
            at[d] += map.steps[d];
            if (at[d] <= static_cast<int64_t>(map.extents[d + 1]) - 1 + map.upper[d]) break;
            at[d] = map.lower[d];
        }
    }
}

void perform(Block &block, Mbarrier &m, const BulkCopy &copy) {
    if (copy.box)
        bring(block, copy);
    else
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

std::string state(uint32_t address, const Mbarrier &m) {
    return "the mbarrier at shared address " + std::to_string(address) + " misses " + std::to_string(m.bytes) +
           " bytes and " + std::to_string(m.pending) + " arrivals";
}

void begin(Warp &w, const Instruction &i, int lane, const BulkCopy &copy) {
    Mbarrier &m = mbarrier_at(w, i, lane, own_address(w, w.from<uint32_t>(i.c)[lane]));
    if (!m.fenced) fail(i, "the copy engine does not see this mbarrier: no fence has followed its initialization");
    w.block->history.bulk_write(i, w, w.thread(lane), copy.to, static_cast<int>(copy.bytes));
    w.arrive(m.seen_in_phase);
    const Timing timing = w.block->launch.timing;
    if (timing == Timing::early || timing == Timing::late_products)
        perform(*w.block, m, copy);
    else
        m.under_way.push_back(copy);
}

/// Where it begins, of the map and the coordinates that a lane names.
Box box_of(const Warp &w, const Instruction &i, int lane, bool is_block) {
    Box box{};
    const uint64_t at = w.from<uint64_t>(i.a)[lane] - parameter_space;
    if (at % 64 || at + 128 > w.block->launch.parameters.size()) fail(i, "a tensor map is a parameter on 64 bytes");
    std::memcpy(&box.map, w.block->launch.parameters.data() + at, sizeof box.map);
    if (box.map.mark != TensorMap::known || box.map.dimensions != i.number)
        fail(i, "the parameter is no tensor map of so many dimensions");
    if (box.map.is_block() != is_block) fail(i, "the tensor map is of the other kind of boxes");
    for (int d = 0; d < i.number; d++) box.first[d] = w.from<int32_t>(i.vector[d])[lane];
    if (is_block && box.first[0] * box.map.element_bytes % 16 != 0)  // an illegal instruction on an H200
        fail(i, "a block begins at no multiple of 16 bytes along its first dimension");
    return box;
}

uint32_t bytes_of_box(const TensorMap &map) {
    if (!map.is_block()) return uint32_t{map.positions} << map.row_bits;
    uint32_t bytes = map.element_bytes;
    for (int d = 0; d < map.dimensions; d++) bytes *= map.block[d];
    return bytes;
}

void require_place_of_box(const Warp &w, const Instruction &i, const TensorMap &map, uint32_t at, uint32_t bytes) {
    if (at % (8u << map.row_bits) || at + uint64_t{bytes} > w.block->shared.size())
        fail(i, "a box lies on eight of its rows, inside of the block's memory");
}

void require_place_of_bulk(const Warp &w, const Instruction &i, const char *what, uint32_t shared, uint64_t global,
                           uint32_t bytes) {
    constexpr uint32_t granularity = 16;
    if (shared % granularity || global % granularity || bytes % granularity)
        fail(i, std::string("a bulk ") + what + " moves 16 aligned bytes, or a multiple");
    if (shared + uint64_t{bytes} > w.block->shared.size() || !w.block->launch.memory.holds(global, static_cast<int>(bytes)))
        fail(i, std::string("a bulk ") + what + " reaches beyond the device's memory or the block's");
}

void begin(Warp &w, const Instruction &i, int lane, const BulkStore &store) {
    w.block->history.bulk_read(i, w, w.thread(lane), store.from, static_cast<int>(store.bytes));
    const Timing timing = w.block->launch.timing;
    if (timing == Timing::early || timing == Timing::late_products) perform(*w.block, store);
    w.bulk_stores.push_back(store);
}

}  // namespace

void execute_mbarrier_init(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    for_each_lane(mask, [&](int l) {
        w.block->check_shared(i, address.of[l], 8);
        w.block->history.write(i, w, w.thread(l), address.of[l], 8);
        Mbarrier &m = w.block->mbarriers[address.of[l]] = {};
        m.count = m.pending = w.from<uint32_t>(i.b)[l];
        m.made_by = w.index;
    });
}

void execute_mbarrier_fence(Warp &w, const Instruction &, uint32_t) {
    for (auto &[address, m] : w.block->mbarriers)
        if (m.made_by == w.index) m.fenced = true;
}

void execute_mbarrier_arrive(Warp &w, const Instruction &i, uint32_t mask) {
    const SharedAddresses address(w, i);
    for_each_lane(mask, [&](int l) {
        Mbarrier &m = mbarrier_at(w, i, l, address.of[l]);
        if (m.pending == 0) fail(i, "more arrivals than " + std::to_string(m.count));
        if (i.has_count) m.bytes += w.from<uint32_t>(i.b)[l];
        m.pending--;
        w.arrive(m.seen_in_phase);
        end_phase_if_complete(m);
    });
}

void execute_bulk_copy(Warp &w, const Instruction &i, uint32_t mask) {
    for_each_lane(mask, [&](int l) {
        const BulkCopy copy{own_address(w, w.from<uint32_t>(i.d)[l]),
                            w.from<uint64_t>(i.a)[l] + i.offset,
                            w.from<uint32_t>(i.b)[l],
                            {}};
        require_place_of_bulk(w, i, "copy", copy.to, copy.from, copy.bytes);
        begin(w, i, l, copy);
    });
}

void execute_tensor_copy(Warp &w, const Instruction &i, uint32_t mask) {
    for_each_lane(mask, [&](int l) {
        const int coordinates = i.number;
        const bool is_block = static_cast<int>(i.vector.size()) == coordinates;
        const int most_offset = is_block ? 0 : 1 << 16 / (coordinates - 2);
        BulkCopy copy{own_address(w, w.from<uint32_t>(i.d)[l]), 0, 0, box_of(w, i, l, is_block)};
        Box &box = *copy.box;
        for (int d = 0; !is_block && d < coordinates - 2; d++) {
            box.offset[d] = static_cast<uint16_t>(w.from<uint32_t>(i.vector[coordinates + d])[l]);
            if (box.offset[d] >= most_offset) fail(i, "an offset of " + std::to_string(box.offset[d]));
            const int last = static_cast<int>(box.map.extents[d + 1]) - 1 + box.map.upper[d];
            if (box.first[d + 1] < box.map.lower[d] || box.first[d + 1] > last)
                fail(i, "a box begins at " + std::to_string(box.first[d + 1]) + ", outside of its frame");
        }
        copy.bytes = bytes_of_box(box.map);
        require_place_of_box(w, i, box.map, copy.to, copy.bytes);
        begin(w, i, l, copy);
    });
}

void execute_bulk_store(Warp &w, const Instruction &i, uint32_t mask) {
    for_each_lane(mask, [&](int l) {
        const BulkStore store{w.from<uint64_t>(i.a)[l] + i.offset,
                              own_address(w, w.from<uint32_t>(i.d)[l]),
                              w.from<uint32_t>(i.b)[l],
                              {}};
        require_place_of_bulk(w, i, "store", store.from, store.to, store.bytes);
        begin(w, i, l, store);
    });
}

void execute_tensor_store(Warp &w, const Instruction &i, uint32_t mask) {
    for_each_lane(mask, [&](int l) {
        BulkStore store{0, own_address(w, w.from<uint32_t>(i.d)[l]), 0, box_of(w, i, l, true)};
        for (int d = 0; d < i.number; d++)  // an illegal instruction on an H200 (2026-11-29), where copies from there bring zeros
            if (store.box->first[d] < 0) fail(i, "a block that is stored begins at " + std::to_string(store.box->first[d]));
        store.bytes = bytes_of_box(store.box->map);
        require_place_of_box(w, i, store.box->map, store.from, store.bytes);
        begin(w, i, l, store);
    });
}

void execute_bulk_commit(Warp &w, const Instruction &, uint32_t) {
    w.bulk_groups++;
    for (BulkStore &store : w.bulk_stores)
        if (store.group == 0) store.group = w.bulk_groups;
}

void execute_bulk_wait(Warp &w, const Instruction &i, uint32_t) { w.finish_bulk_stores(w.bulk_groups - i.number); }

/// What is late happens now.
void Warp::finish_bulk_stores(int last_group) {
    const bool late = block->launch.timing == Timing::late || block->launch.timing == Timing::late_copies;
    std::erase_if(bulk_stores, [&](const BulkStore &store) {
        const bool over = store.group > 0 && store.group <= last_group;
        if (over && late) perform(*block, store);
        if (over) block->history.end_bulk_read(store.from, store.bytes);
        return over;
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

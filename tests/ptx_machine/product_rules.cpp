// See product_rules.h.
#include "product_rules.h"

#include <map>
#include <utility>

#include "shared_history.h"
#include "warp.h"

namespace ptx_machine {

// Without swizzle 8 rows of 16 bytes make a core matrix; a product reads two such side by side. The descriptor has, in
// units of 16 bytes, the start, how far the second lies, and how far the next 8 rows. With one, rows are 128, 64 or 32
// bytes, and a product reads 32 of them; the bits of an address from 7 on permute those from 4 on. Transposed, a row is a
// run of the operand's rows, of one k; the descriptor has how far the next run lies, and how far the next eight k.
uint32_t bytes_of_operand(const Instruction &i, uint64_t descriptor, bool transposed, int row, int half) {
    const auto field = [&](int bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4; };
    if (descriptor >> 46 & 0xffff) fail(i, "a descriptor with a base offset is not supported");
    const uint32_t kind = static_cast<uint32_t>(descriptor >> 62);
    if (kind == 0) return field(0) + half * field(16) + row / 8 * field(32) + row % 8 * 16;
    const uint32_t bytes = 256u >> kind, runs_in_it = 4 - kind, eight = row / 8, in_run = eight & (bytes / 16 - 1);  // 2^runs_in_it
    const uint32_t at = field(0) + row % 8 * bytes +
                        (transposed ? (eight >> runs_in_it) * field(16) + in_run * 16 + half * field(32)
                                    : eight * field(32) + half * 16);
    return at ^ (at >> 7 & (bytes / 16 - 1)) << 4;
}

void list_product_registers(Kernel &kernel) {
    std::map<int, int> numbers;  // by place
    for (const Instruction &i : kernel.code)
        if (i.kind == Kind::wgmma)
            for (const int place : i.vector) numbers.try_emplace(place, static_cast<int>(numbers.size()));
    if (numbers.empty()) return;
    kernel.product_registers = static_cast<int>(numbers.size());
    const auto list = [&](Instruction &i, int place) {
        if (const auto found = numbers.find(place); found != numbers.end())
            i.product_registers.push_back(found->second);
    };
    for (Instruction &i : kernel.code) {
        for (const int place : i.vector) list(i, place);
        if (i.kind == Kind::wgmma) continue;
        // No product's register has the place of a special register: what d has of a load is none.
        for (const int place : {i.d, i.a, i.b, i.c}) list(i, place);
        i.uses_product_registers = !i.product_registers.empty();
    }
}

void ProductRegisters::restart(size_t count) {
    under_way.assign(count, 0);
    used.assign(count, 0);
    fenced = false;
}

void ProductRegisters::use(const Instruction &i) {
    for (const int r : i.product_registers) {
        if (under_way[r]) fail(i, "a register of a product that nobody has waited for");
        used[r] = true;
    }
}

void ProductRules::fence() {
    for (Warp *w = warps_; w < warps_ + warps_of_group; w++) {
        w->product_registers.used.assign(w->product_registers.used.size(), 0);
        w->product_registers.fenced = true;
    }
}

std::vector<uint32_t> ProductRules::rows(const Instruction &i, int place, bool transposed, int count) const {
    const uint64_t descriptor = *warps_->from<uint64_t>(place);
    std::vector<uint32_t> all;
    for (int half = 0; half < 2; half++)
        for (int row = 0; row < count; row++) {
            all.push_back(bytes_of_operand(i, descriptor, transposed, row, half));
            block_.check_shared(i, all.back(), 16);
        }
    // Rows that overlap end earlier, but compute-sanitizer counts them side by side, and would report it.
    constexpr int bytes_of_k = 32;
    const uint32_t first = (descriptor & 0x3fff) << 4;
    if (first + count * bytes_of_k > block_.shared.size())
        fail(i, "compute-sanitizer would take the operand to end behind the block's shared memory");
    return all;
}

void ProductRules::start(const Instruction &i) {
    constexpr int rows_of_a = 64;
    for (Warp *w = warps_; w < warps_ + warps_of_group; w++) {
        ProductRegisters &registers = w->product_registers;
        if (!registers.fenced) fail(i, "no wgmma.fence comes before the first product");
        for (const int r : i.product_registers) {
            if (registers.used[r]) fail(i, "a register was used without a wgmma.fence since");
            registers.under_way[r]++;
        }
    }
    std::vector<uint32_t> all;
    if (!i.registers_of_a) all = rows(i, i.a, i.transposed[0], rows_of_a);
    const std::vector<uint32_t> b = rows(i, i.b, i.transposed[1], i.number);
    all.insert(all.end(), b.begin(), b.end());
    open_.push_back({&i, block_.history.begin_product(i, warps_, all)});
}

void ProductRules::commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
}

void ProductRules::wait(size_t groups) {
    for (; groups_.size() > groups; groups_.pop_front())
        for (const Product &product : groups_.front()) {
            for (Warp *w = warps_; w < warps_ + warps_of_group; w++)
                for (const int r : product.instruction->product_registers)
                    w->product_registers.under_way[r]--;
            block_.history.end_products(warps_, product.number);
        }
}

void ProductRules::end() const {
    const char *const what = "the block ends, and nobody has waited for this product";
    if (!open_.empty()) fail(*open_.front().instruction, what);
    for (const std::vector<Product> &group : groups_)
        if (!group.empty()) fail(*group.front().instruction, what);
}

}  // namespace ptx_machine

// Tensor cores: products of TF32 operands, of which the lower 13 bits do not count, and of those of 16 bits. The
// layouts of fragments and operands are drawn at the head of compiler/ptx/tensor_core_instructions.h; here they are
// written once more, from the PTX manual.
#include "tensor_cores.h"

#include <bit>
#include <cstring>
#include <string>

#include "half.h"
#include "product_rules.h"

namespace ptx_machine {

namespace {

constexpr int rows_of_product = 64, most_k = 16;

/// Eight columns of a product's second operand, or of its sums.
using Columns [[gnu::vector_size(32)]] = float;

Columns columns_at(const float *first) {
    Columns all;
    std::memcpy(&all, first, sizeof all);
    return all;
}

/// Those of two rows that have even places, or odd ones: of eight lanes, which have a register for each.
Columns even_columns(Columns row, Columns next) {
    return __builtin_shufflevector(row, next, 0, 2, 4, 6, 8, 10, 12, 14);
}
Columns odd_columns(Columns row, Columns next) {
    return __builtin_shufflevector(row, next, 1, 3, 5, 7, 9, 11, 13, 15);
}

void add(Columns more, float *sums) {
    more += columns_at(sums);
    std::memcpy(sums, &more, sizeof more);
}

/// How many of them a word holds, and so a fourth of the row of a core matrix.
constexpr int in_a_word(Factors factors) {
    return factors == Factors::tf32 ? 1 : 2;
}

constexpr int k_of_product(Factors factors) {
    return 8 * in_a_word(factors);
}

const uint16_t *halves_of(const Warp &w, int place, int lane) {
    return reinterpret_cast<const uint16_t *>(w.from<uint32_t>(place) + lane);
}

/// The n-th in a word.
float factor(Factors factors, uint32_t word, int n) {
    const uint16_t half = static_cast<uint16_t>(word >> 16 * n);
    return factors == Factors::f16    ? from_half(half)
           : factors == Factors::bf16 ? from_bfloat(half)
                                      : std::bit_cast<float>(word & ~0x1fffu);
}

/// A fragment has 16 rows (of b: 8 columns), whose registers begin at `first`; those `step` apart hold the halves of k.
float element_of_fragment(const Warp &w, const Instruction &i, size_t first, int step, int row, int k) {
    const int in_word = in_a_word(i.factors), half_of_k = 4 * in_word, in_half = k % half_of_k;
    const uint32_t word = w.from<uint32_t>(i.vector[first + row / 8 + k / half_of_k * step])[row % 8 * 4 + in_half / in_word];
    return factor(i.factors, word, in_half % in_word);
}

/// Calls visit(matrix, lane, half, the word that is the lane's, where its half lies).
template <class Visit>
void for_each_half_of_matrices(Warp &w, const Instruction &i, uint32_t mask, Visit visit) {
    if (mask != ~0u) fail(i, "not all lanes take part");
    const SharedAddresses address(w, i);
    for (size_t m = 0; m < i.vector.size(); m++)
        for (int l = 0; l < lanes; l++) {
            const uint32_t row = address.of[8 * m + l / 4], word = row + l % 4 * 4;
            w.block->check_shared(i, row, 16);
            for (int half = 0; half < 2; half++) {
                const uint32_t turned = address.of[8 * m + l % 4 * 2 + half] + l / 4 * 2;
                visit(m, l, half, word, i.transposed[0] ? turned : word + half * 2);
            }
        }
}

}  // namespace

// Lane 8 m + r has the address of row r of matrix m; lane l gets word l % 4 of row l / 4 of every matrix, or, transposed,
// elements l / 4 of rows 2 (l % 4) and the next.
void execute_ldmatrix(Warp &w, const Instruction &i, uint32_t mask) {
    for_each_half_of_matrices(w, i, mask, [&](size_t m, int l, int half, uint32_t, uint32_t from) {
        if (half == 0 || i.transposed[0]) w.block->history.read(i, w, w.thread(l), from & ~3u, 4);
        std::memcpy(reinterpret_cast<uint16_t *>(w.to<uint32_t>(i.vector[m]) + l) + half, w.block->shared.data() + from, 2);
    });
}

// The other way. Transposed, two lanes write halves of a word, of which the history gets one.
void execute_stmatrix(Warp &w, const Instruction &i, uint32_t mask) {
    for_each_half_of_matrices(w, i, mask, [&](size_t m, int l, int half, uint32_t word, uint32_t to) {
        if (half == 0) w.block->history.write(i, w, w.thread(l), word, 4);
        std::memcpy(w.block->shared.data() + to, halves_of(w, i.vector[m], l) + half, 2);
    });
}

// As a matrix that was stored and is loaded transposed.
void execute_movmatrix(Warp &w, const Instruction &i, uint32_t mask) {
    if (mask != ~0u) fail(i, "not all lanes take part");
    uint32_t turned[lanes];
    for (int l = 0; l < lanes; l++) {
        const auto element = [&](int row, int column) { return halves_of(w, i.a, 4 * row + column / 2)[column % 2]; };
        turned[l] = element(l % 4 * 2, l / 4) | uint32_t{element(l % 4 * 2 + 1, l / 4)} << 16;
    }
    std::memcpy(w.to<uint32_t>(i.d), turned, sizeof turned);
}

// So many lanes up, or down. Lanes that nothing comes to keep their own.
void execute_shuffle(Warp &w, const Instruction &i, uint32_t mask) {
    if (mask != ~0u) fail(i, "not all lanes take part");
    uint32_t moved[lanes];
    for (int l = 0; l < lanes; l++) {
        const int from = l - i.number;
        moved[l] = w.from<uint32_t>(i.a)[from >= 0 && from < lanes ? from : l];
    }
    std::memcpy(w.to<uint32_t>(i.d), moved, sizeof moved);
}

// m16n8k8, m16n8k16. The vector holds 4 registers of d, 4 of a, 2 of b, 4 of c.
void execute_mma_sync(Warp &w, const Instruction &i, uint32_t mask) {
    if (mask != ~0u) fail(i, "not all lanes take part");
    if (i.vector.size() != 14) fail(i, "other than 4 + 4 + 2 + 4 registers");
    const int all_k = k_of_product(i.factors);
    float a[16][most_k], b[8][most_k];
    for (int k = 0; k < all_k; k++) {
        for (int row = 0; row < 16; row++) a[row][k] = element_of_fragment(w, i, 4, 2, row, k);
        for (int column = 0; column < 8; column++) b[column][k] = element_of_fragment(w, i, 8, 1, column, k);
    }
    float sums[4][lanes];
    for (int l = 0; l < lanes; l++)
        for (int s = 0; s < 4; s++) {
            const int row = l / 4 + s / 2 * 8, column = l % 4 * 2 + s % 2;
            sums[s][l] = w.from<float>(i.vector[10 + s])[l];
            for (int k = 0; k < all_k; k++) sums[s][l] += a[row][k] * b[column][k];
        }
    for (int s = 0; s < 4; s++) std::memcpy(w.to<float>(i.vector[s]), sums[s], sizeof sums[s]);
}

void Products::start(const Instruction &i) {
    const auto of_all = [&](int place) { return warps_[0].from<uint64_t>(place)[0]; };
    if (warps_[0].from<uint32_t>(i.c)[0] == 0) fail(i, "scale-d of 0 is not supported");
    open_.push_back({&i, i.registers_of_a ? 0 : of_all(i.a), of_all(i.b)});
    const Timing timing = block_.launch.timing;
    if (timing == Timing::late || timing == Timing::late_products) return;
    multiply(open_.back());
    open_.pop_back();
}

void Products::commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
}

void Products::wait(size_t groups) {
    for (; groups_.size() > groups; groups_.pop_front())
        for (const Product &product : groups_.front()) multiply(product);
}

// Rows of 16 bytes are 4 k, or 8 of 16 bits. Transposed, 16 bytes are 8 rows of one k, and 8 k make a core matrix; with a
// swizzle 32, 64 or 128 bytes are as many rows of one k.
template <Factors factors, class Put>
void Products::for_each_factor(const Instruction &i, uint64_t descriptor, bool transposed, int rows, Put put) {
    constexpr int in_word = in_a_word(factors), in_row = 4 * in_word;
    for (int half = 0; half < 2; half++)
        for (int row = 0; row < rows; row++) {
            uint32_t words[4];
            std::memcpy(words, block_.shared.data() + bytes_of_operand(i, descriptor, transposed, row, half), sizeof words);
            for (int n = 0; n < in_row; n++) {
                const float value = factor(factors, words[n / in_word], n % in_word);
                if (transposed)
                    put(row / 8 * 8 + n, 8 * half + row % 8, value);
                else
                    put(row, in_row * half + n, value);
            }
        }
}

float Products::element_of_registers(const Instruction &i, int row, int k) const {
    return element_of_fragment(warps_[row / 16], i, i.number / 2, 2, row % 16, k);
}

void Products::multiply(const Product &product) {
    switch (product.instruction->factors) {
        case Factors::tf32:
            return multiply<Factors::tf32>(product);
        case Factors::f16:
            return multiply<Factors::f16>(product);
        case Factors::bf16:
            return multiply<Factors::bf16>(product);
    }
}

template <Factors factors>
void Products::multiply(const Product &product) {
    const Instruction &i = *product.instruction;
    constexpr int all_k = k_of_product(factors);
    const int columns = i.number;
    float a[rows_of_product][all_k], b[all_k][256];
    if (i.registers_of_a) {
        for (int m = 0; m < rows_of_product; m++)
            for (int k = 0; k < all_k; k++) a[m][k] = element_of_registers(i, m, k);
    } else {
        for_each_factor<factors>(i, product.a, i.transposed[0], rows_of_product,
                                 [&](int m, int k, float value) { a[m][k] = value; });
    }
    for_each_factor<factors>(i, product.b, i.transposed[1], columns, [&](int n, int k, float value) { b[k][n] = value; });
    // Eight rows and columns of the sums lie in two registers of a warp, one of even and one of odd columns.
    for (int m = 0; m < rows_of_product; m += 8)
        for (int n = 0; n < columns; n += 8) {
            Columns sums[8] = {};
            for (int k = 0; k < all_k; k++) {
                const Columns of_b = columns_at(&b[k][n]);
                for (int row = 0; row < 8; row++) sums[row] += a[m + row][k] * of_b;
            }
            const size_t at = n / 8 * 4 + m / 8 % 2 * 2;
            float *const even = warps_[m / 16].to<float>(i.vector[at]), *const odd = warps_[m / 16].to<float>(i.vector[at + 1]);
            for (int row = 0; row < 8; row += 2) {  // of four lanes
                add(even_columns(sums[row], sums[row + 1]), even + 4 * row);
                add(odd_columns(sums[row], sums[row + 1]), odd + 4 * row);
            }
        }
}

}  // namespace ptx_machine

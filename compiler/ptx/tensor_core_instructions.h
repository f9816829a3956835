// The instructions of a warpgroup's tile, and the layouts that they need: clearing it, adding products (products.h), and bringing
// it to shared memory (tile_turns.h).
//
// OPERANDS lie in shared memory as rows of 16 bytes: four consecutive k of one m (operand A) or one n
// (operand B); of 16-bit operands eight. Rows follow each other without gaps, so that row i is at base + 16 i, and the next four k
// are at base + K4:
//
//     byte       0    4    8   12 | 16   20   24   28 | 32 ...
//     k = 0..3   row 0            | row 1             | row 2 ...
//     K4 + byte  0    4    8   12 | 16   20   24   28 | 32 ...
//     k = 4..7   row 0            | row 1             | row 2 ...
//
// This is at once
//   - wgmma's K-major layout without swizzle: core matrices of 8 rows x 16 bytes; "stride offset" (from one group of 8
//     rows to the next) 128 bytes, "leading offset" (from one group of 4 k to the next) K4 bytes. Any row may be the
//     first, so moving a window over a staged picture is only another start address.
//   - what ldmatrix reads: 8 rows of 16 bytes a matrix, all 32 banks once, hence without conflicts.
// What a tensor map brings (compiler/passes/tensor_boxes.h) is wgmma's K-major layout with a swizzle: rows of 32, 64 or 128
// bytes, one after the other, of which the 16 bytes number g lie at place g ^ (address / 128 mod 2, 4 or 8). That is counted
// in addresses of shared memory, whatever the start; the next k begin 32 bytes further on.
//
// Operand B may also be groups of 8 rows at any constant distance (mma_n_group): that is the "stride offset"
// then.
//
// Operands of 16 bits may lie the other way, MN-major ("transposed"): 16 bytes are eight m of one k, the next k follows, and
// a core matrix is 8 k of 8 m. The leading offset again is from one group of 8 k to the next, the stride offset from one
// group of 8 m to the next. ldmatrix turns such a matrix on the way (.trans). What a tensor map brings, whose rows are
// runs of 16, 32 or 64 m of one k, is swizzled as above: then the leading offset is from one run to the next, the stride
// offset from one group of 8 k to the next.
//
// wgmma takes no operands of 32 bits that lie so, but its rows from registers. So where columns do, the tile is computed
// turned, columns x rows: columns are read element by element as wgmma's rows, and each of the four warps has some columns of
// all rows, which change hands when they are stored. Where rows do, too, both are read as fragments of mma.sync, of which a
// lane's two k may be any, if they are the same of both operands: here 2t and 2t+1 in place of t and t+4. Then lines that
// lanes read together are every second, whose swizzles differ: 4 x 32 bytes lie in all banks.
// Words of two neighbouring k of 16 bits are columns that lie so, too: a fragment of 16 bits has 2t and 2t+1, or 2t+8 and 2t+9, in
// the registers where one of 32 bits has t and t+4.
//
// ACCUMULATORS of a tile are 32-bit registers of kernel scope that LLVM never sees. Warp w of the warpgroup
// holds rows 16w..16w+15 of every 64 rows, for both instructions in the same layout (lane = 4 g + t):
//
//     register   4j       4j+1       4j+2      4j+3
//     row        g        g          g+8       g+8        (+ 16w + 64i)
//     column     8j+2t    8j+2t+1    8j+2t     8j+2t+1
//
// FRAGMENTS of mma.sync.m16n8k8, as ldmatrix delivers them (register: row, k):
//
//     A   a0: g, t    a1: g+8, t    a2: g, t+4    a3: g+8, t+4
//     B   b0: g, t    b1: g, t+4                                    (row of B = column of the tile)
//
// In m16n8k16, whose operands have 16 bits, each register holds k = 2t and 2t+1 in place of t, 2t+8 and 2t+9 in place
// of t+4.
#ifndef CONV_TRANSPOSE_COMPILER_TENSOR_CORE_INSTRUCTIONS_H
#define CONV_TRANSPOSE_COMPILER_TENSOR_CORE_INSTRUCTIONS_H

#include <map>

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

/// For one kernel.
class TensorCoreInstructions {
  public:
    /// With wgmma, which sm_90a alone has, or with mma.sync.
    explicit TensorCoreInstructions(bool wgmma) : wgmma_(wgmma) {}

    void clear(const PlaceholderCall &call, PtxWriter &out);
    void promote(const PlaceholderCall &call, PtxWriter &out) const;
    void multiply(const CallSite &site, PtxWriter &out) const;
    /// A tile in lines tells one of the lane's sums, and adds those of taps that are rows.
    void read_sum(const CallSite &site, PtxWriter &out) const;
    /// The sum in a register of a tile as wgmma leaves it.
    void read_register(const CallSite &site, PtxWriter &out) const;
    void add_shifted_taps(const CallSite &site, const std::string &label, PtxWriter &out) const;
    /// Is told of all products before the first call.
    void announce(const PlaceholderCall &multiply);
    /// Whether there are products of wgmma's, which end some time after they began.
    bool are_asynchronous() const { return asynchronous_; }
    /// Brings rows of the tile to shared memory.
    void turn(const PlaceholderCall &call, PtxWriter &out) const;
    /// What was written has been read.
    void end_turn(PtxWriter &out) const;

    /// Declares the registers of all tiles that were cleared.
    void declare_accumulators(PtxWriter &out) const;

    /// The kernel's shared memory begins at %tc_begin, in 16 bytes.
    void begin_at_base() { at_base_ = true; }

    /// Adds what all blocks of a cluster brought there.
    void add_parts_of_cluster(const CallSite &site, PtxWriter &out) const;

  private:
    const bool wgmma_;
    bool asynchronous_ = false, at_base_ = false;
    bool turned_ = false;  // tiles are products of columns x rows
    bool in_lines_ = false;  // likewise, of columns that lie in lines
    std::map<int, int> accumulators_;  // tile -> registers
};

}  // namespace conv_transpose

#endif

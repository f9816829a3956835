// The instructions of a warpgroup's tile: clearing it, adding products, and bringing it to shared memory. The
// layouts of operands, fragments and accumulators are drawn in tensor_core_instructions.cpp.
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
    /// A sum of the lane's, of a tile in lines.
    void read_sum(const CallSite &site, PtxWriter &out) const;
    /// Adds the sums of taps that are rows (compiler/passes/shifted_sums.h). The argument is the centre. Labels begin with `label`.
    void add_shifted(const CallSite &site, const std::string &label, PtxWriter &out) const;
    /// Is told of all products before the first call.
    void announce(const PlaceholderCall &multiply);
    /// Whether there are products of wgmma's, which end some time after they began.
    bool are_asynchronous() const { return asynchronous_; }
    /// Writes 8 rows of a warp from the accumulators to the warp's part of shared memory; of two tiles of 64
    /// rows, their elements in turns.
    void turn(const PlaceholderCall &call, PtxWriter &out) const;
    /// What was written has been read.
    void end_turn(PtxWriter &out) const;

    /// Declares the registers of all tiles that were cleared.
    void declare_accumulators(PtxWriter &out) const;

    /// The kernel's shared memory begins at %tc_begin, in 16 bytes.
    void begin_at_base() { at_base_ = true; }

    /// Of what a warp's turns brought to the shared memory of all blocks of a cluster: the rows from the first argument to before
    /// the second. The third is the number of blocks.
    void add_of_cluster(const CallSite &site, PtxWriter &out) const;

  private:
    void multiply_wgmma(const CallSite &site, PtxWriter &out) const;
    void multiply_mma_sync(const CallSite &site, PtxWriter &out) const;
    void multiply_fragments(const CallSite &site, PtxWriter &out) const;
    void multiply_turned(const CallSite &site, PtxWriter &out) const;
    void multiply_lines(const CallSite &site, PtxWriter &out) const;
    void multiply_halves(const CallSite &site, PtxWriter &out) const;
    void add_shifted_to(int centre, const PlaceholderCall &call, PtxWriter &out) const;
    void turn_lines(const PlaceholderCall &call, PtxWriter &out) const;
    void turn_turned(const PlaceholderCall &call, PtxWriter &out) const;
    void meet(PtxWriter &out) const;

    const bool wgmma_;
    bool asynchronous_ = false, at_base_ = false;
    bool turned_ = false;  // tiles are products of columns x rows
    bool in_lines_ = false;  // likewise, of columns that lie in lines
    std::map<int, int> accumulators_;  // tile -> registers
};

}  // namespace conv_transpose

#endif

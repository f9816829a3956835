// The body of a loop that is to be pipelined (software_pipeline.h), taken apart into what its statements are
// for, each for any chunk and in that chunk's buffer.
#ifndef CONV_TRANSPOSE_COMPILER_PIPELINE_BODY_H
#define CONV_TRANSPOSE_COMPILER_PIPELINE_BODY_H

#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "compiler/passes/async_copies.h"
#include "compiler/passes/bulk_copies.h"
#include "compiler/passes/kept_operand.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/pipeline_options.h"
#include "compiler/passes/register_staging.h"
#include "compiler/passes/shared_memory.h"

namespace conv_transpose {

/// The one allocation of shared memory, of which every stage has its part, and a kept operand (kept_operand.h) one for each chunk
/// of a tile, behind all stages.
struct StagedMemory {
    std::string name;
    int stages, stage_floats;
    KeptOperand kept = {};
    int kept_chunks = 0;
    int scratch_granularity = 8;  ///< in floats; boxes of the copy engine begin at multiples of 1 KB

    int staged() const { return stages * stage_floats + kept_chunks * kept.floats; }
    /// Behind all that is staged, where copies are bulk copies.
    StageBarriers barriers() const { return {staged() * 4, stages}; }
    /// Behind these, in floats: what stores use while stages are on their way.
    int scratch() const {
        return staged() + (StageBarriers::size(stages) + scratch_granularity - 1) / scratch_granularity * scratch_granularity;
    }
};

class PipelineBody {
  public:
    /// `outer_lets` are those around the loop.
    PipelineBody(const Halide::Internal::For *loop, StagedMemory memory, const SoftwarePipelineOptions &options,
                 const NamedExprs &outer_lets, bool several_warpgroups);

    bool uses_tensor_cores() const { return uses_tensor_cores_; }
    bool has_copies() const { return !copies_.empty(); }
    bool has_bulk_copies() const { return !bulk_copies_.empty(); }
    /// What the threads of the block have to wait for, and to make visible, themselves.
    bool has_staging_by_threads() const { return has_copies() || has_register_staging(); }
    bool has_register_staging() const { return !staging_.empty(); }
    /// Whether something needs the finished products of a chunk.
    bool has_after_wait() const { return !after_wait_.empty(); }

    using Stmts = std::vector<Halide::Internal::Stmt>;
    /// A chunk of a tile, and its number among those of all tiles of a block, which tells its stage.
    struct Chunk {
        Halide::Expr in_tile, number;
        Chunk(const Halide::Expr &chunk) : in_tile(chunk), number(chunk) {}
        Chunk(int chunk) : Chunk(Halide::Expr(chunk)) {}
        Chunk(const Halide::Expr &in_tile, const Halide::Expr &number) : in_tile(in_tile), number(number) {}
    };
    /// Before anything else of the loop, by all threads, with a barrier of the block behind it: nothing, if there are no
    /// bulk copies.
    Halide::Internal::Stmt initialise_barriers() const;
    /// It waits until the bulk copies of a chunk have come.
    Halide::Internal::Stmt wait_for_bulk_copies(const Chunk &chunk) const {
        return memory_.barriers().wait(chunk.number);
    }
    /// It starts those of operands that can be copied asynchronously.
    Halide::Internal::Stmt start_copies(const Chunk &chunk) const;
    /// They move the other operands, piece by piece; see RegisterStaging.
    Stmts loads(const Chunk &chunk) const { return instances(staging_.loads(), chunk); }
    Stmts stores(const Chunk &chunk) const { return instances(staging_.stores(), chunk); }
    /// It works on staged operands.
    Stmts compute(const Chunk &chunk) const { return instances(compute_, chunk); }
    Stmts after_wait(const Chunk &chunk) const { return instances(after_wait_, chunk); }

    /// Appends the steps before the first product, such as clearing a tile, and the placeholder that products
    /// begin; returns how many steps that were.
    std::size_t begin_products(const Stmts &steps, Stmts &all) const;

    /// All that writes shared memory, in the place of the chunk that the loop is at.
    Halide::Internal::Stmt staging() const;

    /// Around all pieces: declares the registers.
    Halide::Internal::Stmt with_registers(const Halide::Internal::Stmt &body) const {
        return staging_.with_registers(body);
    }

  private:
    void take_apart(const Halide::Internal::Stmt &statement);
    void add_leaf(const Halide::Internal::Stmt &leaf);
    void add_compute(const Halide::Internal::Stmt &leaf);
    void keep_promotion_apart();
    void check_swizzles() const;
    SharedMemoryShift place_of(const Chunk &chunk) const;
    Halide::Internal::Stmt instance(const Halide::Internal::Stmt &statement, const Chunk &chunk) const;
    Stmts instances(Stmts statements, const Chunk &chunk) const;

    const std::string loop_;
    const StagedMemory memory_;
    const CopyOptions copy_options_;
    const bool load_offsets_, several_warpgroups_;
    const NamedExprs outer_lets_;
    NamedExprs lets_;
    Stmts copies_, compute_, after_wait_;
    std::vector<BulkCopies> bulk_copies_;
    RegisterStaging staging_;
    bool uses_tensor_cores_ = false;
};

/// Finds the pipeline loops inside one shared allocation, and has them rewritten.
class PipelineLoops : public LetMutator {
  public:
    PipelineLoops(StagedMemory memory, const SoftwarePipelineOptions &options)
        : memory_(std::move(memory)), options_(options) {}

  protected:
    using LetMutator::visit;
    virtual Halide::Internal::Stmt rewritten(const Halide::Internal::For *loop, const PipelineBody &body) = 0;
    Halide::Internal::Stmt visit(const Halide::Internal::For *loop) override;
    Halide::Internal::Stmt visit(const Halide::Internal::Store *store) override;

    const StagedMemory memory_;
    const SoftwarePipelineOptions &options_;
    bool several_warpgroups_ = false;

    /// Notes loops over threads.
    void note_threads(const Halide::Internal::For *loop);

  private:
    int loops_around_ = 0;  // serial ones
    bool after_loop_ = false;
};

}  // namespace conv_transpose

#endif

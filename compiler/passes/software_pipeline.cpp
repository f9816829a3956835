// Software pipelining of the loop that stages operands in shared memory: see software_pipeline.h. What the
// loop does (pipeline_body.h) is put together again as iterations, each of which works on one chunk while
// others are on their way.
#include "compiler/passes/software_pipeline.h"

#include <algorithm>

#include "compiler/passes/further_tiles.h"
#include "compiler/passes/loop_divisions.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/pipeline_body.h"
#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/producer_warpgroup.h"
#include "compiler/passes/shared_memory.h"
#include "compiler/passes/warpgroup.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int loads_ahead = 2;              // chunks: one in registers while the one before it is stored
// Floats: every stage is aligned to 128 bytes, and where boxes of tensors come to 8 rows of as many (tensor_boxes.h).
constexpr int allocation_granularity = 32, granularity_of_boxes = 256;

/// Every thread stages, and computes.
class PipelinedLoop {
  public:
    PipelinedLoop(const For *loop, const PipelineBody &body, int stages, int most_in_flight)
        : loop_(loop),
          body_(body),
          stages_(stages),
          most_in_flight_(most_in_flight),
          products_in_flight_(most_products_in_flight()),
          copies_ahead_(most_copies_ahead()) {}

    Stmt rewritten() const {
        const Expr chunk = Variable::make(Int(32), loop_->name), extent = loop_->extent;
        const int peeled = std::max(copies_ahead_, loads_ahead);
        std::vector<Stmt> all;
        if (body_.has_bulk_copies()) all = {body_.initialise_barriers(), shared_memory_barrier()};
        const std::vector<Stmt> first = {body_.start_copies(0), block_of(body_.loads(0)), block_of(body_.stores(0)),
                                         IfThenElse::make(extent > 1, block_of(body_.loads(1)))};
        all.insert(all.end(), first.begin(), first.end());
        for (int ahead = 1; ahead < copies_ahead_; ahead++)
            all.push_back(IfThenElse::make(extent > ahead, body_.start_copies(ahead)));
        all.push_back(For::make(loop_->name, loop_->min, max(extent - peeled, 0), ForType::Serial,
                                loop_->partition_policy, loop_->device_api, iteration(chunk, peeled)));
        for (int left = peeled - 1; left >= 0; left--)
            all.push_back(IfThenElse::make(extent > left, iteration(extent - (left + 1), left)));
        if (body_.uses_tensor_cores()) all.push_back(placeholder({"wait", {{"pending", 0}}}));
        all.push_back(shared_memory_barrier());
        const Stmt whole = body_.with_registers(Block::make(all));
        return body_.has_bulk_copies() ? with_divisions_before(whole) : whole;
    }

  private:
    /// So many products of earlier chunks may be under way while one is multiplied. Copies need their buffers more.
    int most_products_in_flight() const {
        const bool finish = !body_.uses_tensor_cores() || body_.has_after_wait();
        return finish ? 0 : body_.has_register_staging() ? stages_ - 2 : std::min(stages_ - 2, most_in_flight_);
    }
    /// Further chunks that are copied while one is multiplied: to all buffers that nothing reads any more.
    /// Registers hold but one chunk, and what goes through them sets the pace.
    int most_copies_ahead() const {
        return body_.has_register_staging() ? 1 : std::max(stages_ - 1 - products_in_flight_, 1);
    }

    /// One chunk, when so many (or more) are left behind it.
    Stmt iteration(const Expr &chunk, int left) const {
        std::vector<Stmt> all;
        wait_for_chunk(chunk, left, all);
        const Stmt copies = left >= copies_ahead_ ? body_.start_copies(chunk + copies_ahead_) : Evaluate::make(0);
        // The one thread that starts bulk copies takes its time: tensor cores should not wait for it.
        if (!body_.has_bulk_copies()) all.push_back(copies);
        compute(chunk, left, all);
        if (body_.uses_tensor_cores()) all.push_back(placeholder({"commit", {}}));
        if (body_.has_bulk_copies()) all.push_back(copies);
        if (body_.uses_tensor_cores()) all.push_back(placeholder({"wait", {{"pending", products_in_flight_}}}));
        for (const Stmt &statement : body_.after_wait(chunk)) all.push_back(statement);
        return Block::make(all);
    }

    void wait_for_chunk(const Expr &chunk, int left, std::vector<Stmt> &all) const {
        if (body_.has_bulk_copies()) all.push_back(body_.wait_for_bulk_copies(chunk));
        if (body_.has_copies()) all.push_back(placeholder({"copy_wait", {{"pending", std::min(copies_ahead_ - 1, left)}}}));
        if (body_.uses_tensor_cores() && body_.has_staging_by_threads()) all.push_back(placeholder({"publish", {}}));
        all.push_back(shared_memory_barrier());
    }

    /// The chunk's steps, and spread between them what the chunks ahead need.
    void compute(const Expr &chunk, int left, std::vector<Stmt> &all) const {
        const std::vector<Stmt> steps = body_.compute(chunk);
        const std::size_t first = body_.begin_products(steps, all);
        std::vector<Stmt> stores, loads;
        if (left >= 1) stores = body_.stores(chunk + 1);
        if (left >= loads_ahead) loads = body_.loads(chunk + 2);
        for (std::size_t i = first, piece = 0; i < steps.size(); i++) {
            all.push_back(steps[i]);
            for (; piece < stores.size() && piece * steps.size() < (i + 1) * stores.size(); piece++) {
                all.push_back(stores[piece]);
                if (left >= loads_ahead) all.push_back(loads[piece]);
            }
        }
    }

    const For *loop_;
    const PipelineBody &body_;
    const int stages_, most_in_flight_, products_in_flight_, copies_ahead_;
};

/// In floats, of a tile's store that keeps off the stages (TensorCoreOptions::further_tiles).
int scratch_of_stores(const Stmt &statement) {
    int scratch = -1;
    for (const PlaceholderCall &call : placeholders_of(statement))
        if (call.kind == "launch") scratch = call.field_or("scratch", -1);
    if (scratch < 0)
        refuse_pipeline("pipeline", "where blocks have further tiles, the tensor-core pass must be told (further_tiles)");
    return scratch;
}

/// In floats, by how much more compute-sanitizer takes an operand of wgmma to reach than it does: the runs of a window begin one
/// position after each other and overlap, where the tool counts them side by side. It would see the last stage's end behind the
/// block's memory.
int overlap_of_windows(const Stmt &statement) {
    constexpr int values_of_16_bits = bytes_of_row / 2;
    int bytes = 0;
    for (const PlaceholderCall &product : placeholders_of(statement)) {
        const int run = product.field_or("bsw", 0);
        if (product.kind != "multiply" || run == 0 || product.field_or("bt", 0) == 0) continue;
        const int runs = product.field("n") * 2 / run, bytes_of_run = rows_of_instruction_k * values_of_16_bits * run;
        bytes = std::max(bytes, (runs - 1) * (bytes_of_run - product.field("bs")));
    }
    return bytes / 4;
}

class PipelineOfAllThreads : public PipelineLoops {
    using PipelineLoops::PipelineLoops;
    Stmt rewritten(const For *loop, const PipelineBody &body) override {
        return PipelinedLoop(loop, body, memory_.stages, options_.products_in_flight).rewritten();
    }
};

/// Of the operand its chunks lie one behind the other.
void check_kept(const KeptOperand &kept, int granularity) {
    if (kept.floats == 0 || kept.floats % granularity != 0)
        refuse_pipeline("pipeline", "with kept_chunks, loops named " + std::string(kept_loops) + " stage an operand of " +
                                        std::to_string(kept.floats) + " floats; the rule is a multiple of " +
                                        std::to_string(granularity));
}

}  // namespace

SoftwarePipelinePass::SoftwarePipelinePass(const SoftwarePipelineOptions &options) : options_(options) {
    if (options.stages < 2)
        throw SoftwarePipelineRefusal("software pipeline: stages is " + std::to_string(options.stages) +
                                      "; the rule is at least 2");
    if (options.resident_blocks > 0 && !options.producer)
        throw SoftwarePipelineRefusal("software pipeline: resident_blocks is " + std::to_string(options.resident_blocks) +
                                      " without a producer; the rule is 0");
    if (options.kept_chunks > 0 && !(options.resident_blocks > 0 && options.tiles_in_rounds))
        throw SoftwarePipelineRefusal("software pipeline: kept_chunks is " + std::to_string(options.kept_chunks) +
                                      " without resident blocks whose tiles are in rounds; the rule is 0");
}

Stmt SoftwarePipelinePass::visit(const For *loop) {
    const bool along_x = loop->for_type == ForType::GPUBlock && ends_with(loop->name, ".block_id_x");
    if (!along_x || options_.resident_blocks == 0 || !has_loop(loop->body, "pipeline")) return IRMutator::visit(loop);
    ScopedValue<const For *> around(blocks_, loop);
    return For::make(loop->name, loop->min, FurtherTiles::launched(loop, options_.resident_blocks), loop->for_type,
                     loop->partition_policy, loop->device_api, mutate(loop->body));
}

Stmt SoftwarePipelinePass::visit(const Allocate *allocate) {
    if (allocate->memory_type != MemoryType::GPUShared || !has_loop(allocate->body, "pipeline")) return IRMutator::visit(allocate);
    const auto size = shared_floats(allocate);
    if (!size) refuse_pipeline("pipeline", "shared memory must be one allocation of constant size");
    const bool in_bulk = has_loop(allocate->body, bulk_loops);
    const int granularity = in_bulk ? granularity_of_boxes : allocation_granularity;
    const KeptOperand kept = options_.kept_chunks > 0 ? kept_operand(allocate->body, allocate->name) : KeptOperand{};
    if (options_.kept_chunks > 0) check_kept(kept, granularity);
    const int stage = (*size - kept.floats + granularity - 1) / granularity * granularity;
    const int behind_stages = in_bulk ? std::max(StageBarriers::size(options_.stages), overlap_of_windows(allocate->body)) : 0;
    StagedMemory memory{allocate->name, options_.stages, stage, kept, options_.kept_chunks};
    if (has_placeholder(allocate->body, "box_store")) memory.scratch_granularity = granularity_of_boxes;
    const int size_of_all = options_.resident_blocks > 0 ? memory.scratch() + scratch_of_stores(allocate->body)
                                                         : stage * options_.stages + behind_stages;
    const Stmt body = options_.producer ? with_producer_warpgroup(allocate->body, memory, options_, blocks_)
                                        : PipelineOfAllThreads(memory, options_).mutate(allocate->body);
    return Allocate::make(allocate->name, Float(32), allocate->memory_type, {Expr(size_of_all)},
                          allocate->condition, body);
}

}  // namespace conv_transpose

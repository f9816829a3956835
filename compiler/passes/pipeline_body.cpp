// Taking a loop's body apart into leaf statements: see pipeline_body.h.
//
// A leaf that writes shared memory is staging, one that reads it is compute, barriers are dropped (the
// pipeline places its own). Each staging leaf is then an asynchronous copy, or is cut in two at its loads.
#include "compiler/passes/pipeline_body.h"

#include <algorithm>
#include <utility>

#include "compiler/passes/async_copies.h"
#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/shared_memory.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// What the operands of the products in a statement have as bytes of a swizzled row: 0 for none.
int swizzled_row(const Stmt &statement) {
    int row = 0;
    for (const PlaceholderCall &product : placeholders_of(statement))
        row = std::max({row, product.field_or("asw", 0), product.field_or("bsw", 0)});
    return row;
}

}  // namespace

PipelineBody::PipelineBody(const For *loop, StagedMemory memory, const SoftwarePipelineOptions &options,
                           const NamedExprs &outer_lets, bool several_warpgroups)
    : loop_(loop->name),
      memory_(std::move(memory)),
      copy_options_{options.single_floats, options.through_first_cache},
      load_offsets_(options.load_offsets),
      several_warpgroups_(several_warpgroups),
      outer_lets_(outer_lets),
      staging_(outer_lets, options.separate_registers) {
    take_apart(loop->body);
    if (compute_.empty() || (copies_.empty() && staging_.empty() && bulk_copies_.empty()))
        refuse_pipeline(loop_, "it must stage an operand in shared memory and then read it there");
    keep_promotion_apart();
    check_swizzles();
}

void PipelineBody::take_apart(const Stmt &statement) {
    if (const Block *block = statement.as<Block>()) {
        take_apart(block->first);
        take_apart(block->rest);
    } else if (const LetStmt *let = statement.as<LetStmt>()) {
        lets_.emplace_back(let->name, let->value);
        take_apart(let->body);
        lets_.pop_back();
    } else if (const ProducerConsumer *part = statement.as<ProducerConsumer>()) {
        take_apart(part->body);
    } else if (!is_barrier(statement)) {
        // Closed, because leaves are moved, and unrolled code uses one name for different values.
        Stmt leaf = statement;
        for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
            if (stmt_uses_var(leaf, let->first)) leaf = substitute(let->first, let->second, leaf);
        }
        add_leaf(without_lets(leaf));
    }
}

void PipelineBody::add_leaf(const Stmt &leaf) {
    const Access access = access_of(leaf, memory_.name);
    if (access.barrier) refuse_pipeline(loop_, "a barrier stands inside a condition or an inner loop");
    if (access.writes && access.reads) refuse_pipeline(loop_, "a statement both reads and writes shared memory");
    if (!access.writes) {
        add_compute(leaf);
    } else if (has_loop(leaf, bulk_loops)) {
        bulk_copies_.emplace_back(leaf, loop_, outer_lets_, several_warpgroups_, memory_.barriers());
    } else if (has_element_of_box(leaf)) {
        refuse_pipeline(loop_, "boxes of a tensor are staged in bulk, by loops named bulk_");
    } else if (const auto copy = async_copies(leaf, copy_options_)) {
        copies_.push_back(*copy);
    } else {
        staging_.add(leaf);
    }
}

/// The pipeline places begin, commit, wait and publish itself, once for a whole chunk.
void PipelineBody::add_compute(const Stmt &leaf) {
    for (const char *synchronisation : {"begin", "commit", "wait", "publish"}) {
        if (has_placeholder(leaf, synchronisation)) {
            if (has_placeholder(leaf, "multiply")) refuse_pipeline(loop_, "a warp tile stands inside a condition or an inner loop");
            uses_tensor_cores_ = true;
            return;
        }
    }
    compute_.push_back(leaf);
}

/// Adding a partial tile needs finished products: everything from there on comes after the wait.
void PipelineBody::keep_promotion_apart() {
    const auto first = std::find_if(compute_.begin(), compute_.end(),
                                    [](const Stmt &s) { return has_placeholder(s, "promote"); });
    after_wait_.assign(first, compute_.end());
    compute_.erase(first, compute_.end());
    for (const Stmt &statement : after_wait_) {
        if (has_placeholder(statement, "multiply"))
            refuse_pipeline(loop_, "a product follows the promotion of a partial tile in the same chunk");
    }
}

/// Products must expect positions as boxes of tensors bring them (tensor_boxes.h), and nobody else may read those.
void PipelineBody::check_swizzles() const {
    int staged = 0;
    for (const BulkCopies &copies : bulk_copies_) staged = std::max(staged, copies.swizzled_row());
    for (const Stmt &statement : compute_) {
        const bool multiplies = has_placeholder(statement, "multiply");
        const int read = swizzled_row(statement);
        if (read != staged && (multiplies || access_of(statement, memory_.name).reads))
            refuse_pipeline(loop_, "boxes of a tensor have swizzled rows of " + std::to_string(staged) +
                                       " bytes in shared memory, and what reads it expects " + std::to_string(read));
    }
}

SharedMemoryShift PipelineBody::place_of(const Chunk &chunk) const {
    const Expr stage = chunk.number % memory_.stages * memory_.stage_floats;
    if (memory_.kept_chunks == 0) return simplify(stage);
    const KeptOperand &kept = memory_.kept;
    // What lies behind the kept operand as lowered begins the stage.
    const Expr place = memory_.stages * memory_.stage_floats + chunk.in_tile * kept.floats - kept.begin;
    return {simplify(kept.begin == 0 ? stage - kept.floats : stage), kept.begin, kept.begin + kept.floats, simplify(place)};
}

Stmt PipelineBody::instance(const Stmt &statement, const Chunk &chunk) const {
    // First the loop variable, then the buffer: the buffer's own index is already in terms of `chunk`.
    const Stmt here = substitute(number_of_chunk(loop_), chunk.number, substitute(loop_, chunk.in_tile, statement));
    return shifted_in_shared_memory(here, memory_.name, place_of(chunk), load_offsets_);
}

PipelineBody::Stmts PipelineBody::instances(Stmts statements, const Chunk &chunk) const {
    for (Stmt &statement : statements) statement = instance(statement, chunk);
    return statements;
}

Stmt PipelineBody::start_copies(const Chunk &chunk) const {
    Stmts all;
    if (has_copies()) {
        all = {instance(block_of(copies_), chunk), placeholder({"copy_commit", {}})};
    }
    if (has_bulk_copies()) {
        // A block's first tile is that whose chunks have the numbers that all chunks have.
        const Expr is_first = memory_.kept_chunks > 0 ? chunk.number == chunk.in_tile : Expr();
        all.push_back(instance(start_bulk_copies(bulk_copies_, loop_, memory_.barriers(), is_first), chunk));
    }
    return block_of(all);
}

Stmt PipelineBody::initialise_barriers() const {
    return has_bulk_copies() ? IfThenElse::make(bulk_copies_.front().one_thread(), memory_.barriers().initialised())
                             : Evaluate::make(0);
}

std::size_t PipelineBody::begin_products(const Stmts &steps, Stmts &all) const {
    std::size_t first = 0;
    if (uses_tensor_cores_) {
        for (; first < steps.size() && !has_placeholder(steps[first], "multiply"); first++) all.push_back(steps[first]);
        all.push_back(placeholder({"begin", {}}));
    }
    return first;
}

Stmt PipelineBody::staging() const {
    Stmts all = staging_.stores();
    all.insert(all.end(), copies_.begin(), copies_.end());
    for (const BulkCopies &copies : bulk_copies_) all.push_back(IfThenElse::make(copies.one_thread(), copies.copies()));
    return block_of(all);
}

Stmt PipelineLoops::visit(const For *loop) {
    if (last_name(loop->name) != "pipeline") {
        note_threads(loop);
        ScopedValue<int> around(loops_around_, loops_around_ + (loop->for_type == ForType::Serial));
        return IRMutator::visit(loop);
    }
    if (loop->for_type != ForType::Serial || !is_const_zero(loop->min))
        refuse_pipeline(loop->name, "it must be a serial loop that begins at 0");
    const PipelineBody body(loop, memory_, options_, lets_, several_warpgroups_);
    if (body.has_bulk_copies() && (loops_around_ > 0 || after_loop_))
        refuse_pipeline(loop->name, "with bulk copies it must be the only one, and stand in no loop: the phases of their "
                                    "barriers are counted from its beginning");
    after_loop_ = true;
    return rewritten(loop, body);
}

void PipelineLoops::note_threads(const For *loop) {
    if (loop->for_type == ForType::GPUThread && loop->name.back() == 'z')
        several_warpgroups_ = !is_const_one(simplify(loop->extent));
}

/// What is written before the loop would lie in the way of its buffers. Behind it all of them are free.
Stmt PipelineLoops::visit(const Store *store) {
    if (store->name == memory_.name && !after_loop_)
        refuse_pipeline("pipeline", "shared memory is written before the loop, to " + memory_.name);
    return store;
}

}  // namespace conv_transpose

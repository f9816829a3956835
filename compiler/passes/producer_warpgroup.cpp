// Two roles for the warpgroups of a block: see producer_warpgroup.h.
#include "compiler/passes/producer_warpgroup.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/further_tiles.h"
#include "compiler/passes/loop_divisions.h"
#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/shared_memory.h"
#include "compiler/passes/warpgroup.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int threads_of_warpgroup = lanes_of_warp * warps_of_warpgroup;
const std::string thread_z = ".thread_id_z";

/// The barriers of a block with `consumers` warpgroups that compute. 0 is Halide's, and the consumers' own.
/// Then come, for every stage, one for each consumer, that it is full (so they need not keep step), and at
/// last one for every stage, that it is empty. Bulk copies have other barriers to say that a stage is full; of these kernels the
/// last numbers, one for each consumer, are those of turned tiles (tensor_core_instructions.h).
class NamedBarriers {
  public:
    NamedBarriers(int stages, int consumers, bool full) : stages_(stages), consumers_(consumers), full_(full) {
        const int of_block = full ? 16 : 16 - consumers;
        if (first_empty() + stages_ > of_block)
            refuse_pipeline("pipeline", "stages is " + std::to_string(stages) + "; with a producer and " +
                                            std::to_string(consumers) + " consumers the rule is at most " +
                                            std::to_string((of_block - 1) / (full ? consumers + 1 : 1)));
    }

    /// All threads meet here, before anything else.
    Stmt sync_all() const { return barrier("barrier_sync", 1, consumers_ + 1); }
    Stmt wait_full(const Expr &chunk, const Expr &consumer) const {
        return barrier("barrier_sync", full(chunk, consumer), 2);
    }
    Stmt arrive_full(const Expr &chunk) const {
        std::vector<Stmt> all;
        for (int consumer = 0; consumer < consumers_; consumer++)
            all.push_back(barrier("barrier_arrive", full(chunk, consumer), 2));
        return Block::make(all);
    }
    Stmt wait_empty(const Expr &chunk) const { return barrier("barrier_sync", empty(chunk), consumers_ + 1); }
    Stmt arrive_empty(const Expr &chunk) const {
        return barrier("barrier_arrive", empty(chunk), consumers_ + 1);
    }

  private:
    int first_empty() const { return full_ ? 1 + stages_ * consumers_ : 1; }
    Expr full(const Expr &chunk, const Expr &consumer) const {
        return 1 + chunk % stages_ * consumers_ + consumer;
    }
    Expr empty(const Expr &chunk) const { return first_empty() + chunk % stages_; }
    static Stmt barrier(const char *kind, const Expr &id, int warpgroups) {
        return placeholder({kind, {{"threads", warpgroups * threads_of_warpgroup}}}, {simplify(id)});
    }
    const int stages_, consumers_;
    const bool full_;
};

/// The two halves of the loop.
class RolesOfLoop {
  public:
    using Chunk = PipelineBody::Chunk;

    /// `tiles` may be null, where a block has one.
    RolesOfLoop(const For *loop, const PipelineBody &body, int stages, const NamedBarriers &barriers, const FurtherTiles *tiles)
        : loop_(loop), body_(body), stages_(stages), barriers_(barriers), tiles_(tiles) {}

    Stmt consumers() const {
        const Expr extent = loop_->extent;
        const Stmt loop = Block::make({IfThenElse::make(extent > 0, consume(chunk(0))),
                                       serial(1, extent - 1, consume(chunk())), placeholder({"wait", {{"pending", 0}}})});
        if (!tiles_) return Block::make(loop, shared_memory_barrier());
        const Stmt last_is_empty = barriers_.arrive_empty(before() + extent - 1);
        return counted(Block::make(loop, body_.has_after_wait() ? Evaluate::make(0)
                                                                : IfThenElse::make(extent > 0, last_is_empty)));
    }

    Stmt producer() const {
        const Stmt whole = body_.with_registers(serial(0, loop_->extent, produce(chunk())));
        const Stmt loop = body_.has_bulk_copies() ? with_divisions_before(whole) : whole;
        return tiles_ ? counted(loop) : loop;
    }

    /// Behind the last tile: consumers tell of every stage that it is empty.
    Stmt end_of_producer() const {
        std::vector<Stmt> all;
        for (int stage = 0; stage < stages_; stage++) {
            const Expr next = tiles_->chunks() + stage;
            all.push_back(IfThenElse::make(next >= stages_, barriers_.wait_empty(next)));
        }
        return Block::make(all);
    }

  private:
    std::string name_of_before() const { return loop_->name + ".before"; }
    /// Chunks of earlier tiles.
    Expr before() const { return Variable::make(Int(32), name_of_before()); }
    Stmt counted(const Stmt &loop) const {
        return LetStmt::make(name_of_before(), tiles_->chunks(), Block::make(loop, tiles_->count(loop_->extent)));
    }
    Chunk chunk(const Expr &in_tile) const { return tiles_ ? Chunk(in_tile, before() + in_tile) : Chunk(in_tile); }
    Chunk chunk() const { return chunk(Variable::make(Int(32), loop_->name)); }
    Stmt serial(const Expr &min, const Expr &extent, const Stmt &body) const {
        return For::make(loop_->name, min, max(extent, 0), ForType::Serial, loop_->partition_policy,
                         loop_->device_api, body);
    }

    Stmt consume(const Chunk &chunk) const {
        std::vector<Stmt> all;
        if (body_.has_bulk_copies()) all.push_back(body_.wait_for_bulk_copies(chunk));
        if (body_.has_staging_by_threads()) all.push_back(barriers_.wait_full(chunk.number, Variable::make(Int(32), thread_z)));
        const std::vector<Stmt> steps = body_.compute(chunk);
        const std::size_t first = body_.begin_products(steps, all);
        all.insert(all.end(), steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end());
        const bool run_on = !body_.has_after_wait();
        all.push_back(placeholder({"commit", {}}));
        all.push_back(placeholder({"wait", {{"pending", run_on ? 1 : 0}}}));
        // Nobody waits for the last stages to be empty, where there are no further tiles.
        const int behind = run_on ? 1 : 0;
        const Expr read = simplify(chunk.in_tile - behind), awaited = tiles_ ? const_true() : read + stages_ < loop_->extent;
        all.push_back(IfThenElse::make(simplify(read >= 0 && awaited), barriers_.arrive_empty(simplify(chunk.number - behind))));
        for (const Stmt &statement : body_.after_wait(chunk)) all.push_back(statement);
        return Block::make(all);
    }

    /// Loads begin while the stage is still read. They stand in the turn that stores them: issued ahead of
    /// the turn before's end, all of them would come before the word that its stage is full.
    Stmt produce(const Chunk &chunk) const {
        std::vector<Stmt> all = body_.loads(chunk);
        all.push_back(IfThenElse::make(chunk.number >= stages_, barriers_.wait_empty(chunk.number)));
        all.push_back(body_.start_copies(chunk));
        for (const Stmt &store : body_.stores(chunk)) all.push_back(store);
        if (body_.has_copies()) all.push_back(placeholder({"copy_wait", {{"pending", 0}}}));
        if (body_.has_staging_by_threads()) {
            all.push_back(placeholder({"publish", {}}));
            all.push_back(barriers_.arrive_full(chunk.number));
        }
        return Block::make(all);
    }

    const For *loop_;
    const PipelineBody &body_;
    const int stages_;
    const NamedBarriers &barriers_;
    const FurtherTiles *tiles_;
};

/// Gives the block its other warpgroup, and the threads their roles.
class ThreadRoles : public PipelineLoops {
  public:
    ThreadRoles(const StagedMemory &memory, const SoftwarePipelineOptions &options, const For *blocks)
        : PipelineLoops(memory, options) {
        if (options.resident_blocks == 0) return;
        if (!blocks) refuse_pipeline("pipeline", "blocks that have further tiles must be blocks along x");
        tiles_.emplace(blocks, options);
    }

    Stmt with_roles(const Stmt &statement) {
        Stmt result = mutate(statement);
        if (!producer_.defined() || consumers_ == 0)
            refuse_pipeline("pipeline", "with a producer it must stand in thread loops x, y and z");
        return result;
    }

  private:
    using PipelineLoops::visit;

    Stmt rewritten(const For *loop, const PipelineBody &body) override {
        if (inner_ > 0) refuse_pipeline(loop->name, "with a producer it must not stand in a loop or a condition");
        if (producer_.defined()) refuse_pipeline(loop->name, "with a producer it must be the only one");
        if (!body.uses_tensor_cores() || launch_.kind.empty())
            refuse_pipeline(loop->name, "with a producer it must compute on tensor cores");
        check_staged_by_one_warpgroup(loop->name, body);
        const NamedBarriers barriers(memory_.stages, consumers_, body.has_staging_by_threads());
        if (tiles_ && body.has_staging_by_threads())
            refuse_pipeline(loop->name, "where blocks have further tiles, all staging must be bulk copies");
        const RolesOfLoop roles(loop, body, memory_.stages, barriers, tiles_ ? &*tiles_ : nullptr);
        producer_ = substitute(thread_z, 0, with_lets(roles.producer()));
        if (tiles_) end_of_producer_ = roles.end_of_producer();
        if (body.has_bulk_copies()) {
            // Where one warpgroup computes, no condition of the staging's tells the producer from it.
            const Stmt initialise = body.initialise_barriers();
            const Expr is_first = Variable::make(Int(32), thread_z) == 0;
            before_roles_ = {consumers_ == 1 ? IfThenElse::make(is_first, initialise) : initialise, barriers.sync_all()};
        }
        return roles.consumers();
    }

    /// The producer takes the part of the first warpgroup; there must be no other.
    void check_staged_by_one_warpgroup(const std::string &loop, const PipelineBody &body) const {
        const Stmt staging = without_lets(with_lets(body.staging()));
        for (int z = 1; z < consumers_; z++) {
            if (!is_no_op(simplify(substitute(thread_z, z, staging))))
                refuse_pipeline(loop,
                                "with a producer, staging must be shared out among the threads of one "
                                "warpgroup, but those with z = " +
                                    std::to_string(z) + " stage, too");
        }
    }

    Stmt with_lets(Stmt statement) const {
        for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
            if (stmt_uses_var(statement, let->first)) statement = LetStmt::make(let->first, let->second, statement);
        }
        return statement;
    }

    Stmt visit(const For *loop) override {
        if (loop->for_type == ForType::GPUThread) return visit_threads(loop);
        if (last_name(loop->name) == "pipeline") return PipelineLoops::visit(loop);
        ScopedValue<int> inside(inner_, inner_ + 1);
        return IRMutator::visit(loop);
    }

    Stmt visit(const IfThenElse *branch) override {
        // Both roles look for the end before their first step.
        if (const For *loop = branch->then_case.as<For>();
            loop && last_name(loop->name) == "pipeline" && !branch->else_case.defined() &&
            equal(simplify(branch->condition), simplify(loop->extent > 0)))
            return mutate(branch->then_case);
        ScopedValue<int> inside(inner_, inner_ + 1);
        return IRMutator::visit(branch);
    }

    Stmt visit_threads(const For *loop) {
        const auto extent = as_const_int(simplify(loop->extent));
        const char dimension = loop->name.back();
        const int rule = dimension == 'x' ? lanes_of_warp : warps_of_warpgroup;
        if (!extent || (dimension != 'z' && *extent != rule))
            refuse_pipeline("pipeline", "with a producer, blocks must have 32 x 4 threads in x and y");
        Expr threads = loop->extent;
        note_threads(loop);
        if (dimension == 'z') {
            consumers_ = static_cast<int>(*extent);
            threads = consumers_ + 1;
        }
        const Stmt body = dimension == 'x' ? roles(mutate(loop->body)) : mutate(loop->body);
        return For::make(loop->name, loop->min, threads, loop->for_type, loop->partition_policy,
                         loop->device_api, body);
    }

    Stmt roles(Stmt consumers) const {
        Stmt producer = producer_;
        if (!producer.defined()) {
            return consumers;  // with_roles() refuses it
        }
        if (tiles_) {
            // The copy engine must have read what it stores before the block ends.
            const Stmt behind = has_placeholder(consumers, "box_store") ? placeholder({"box_wait", {}}) : Stmt();
            consumers = tiles_->of_all_tiles(FurtherTiles::beside_stages(consumers, memory_), behind);
            producer = tiles_->of_all_tiles(producer, end_of_producer_);
        }
        consumers = Block::make(registers("more_registers", consumer_registers()), consumers);
        producer = Block::make(registers("fewer_registers", options_.producer_registers), producer);
        std::vector<Stmt> all = {placeholder(launch_)};
        all.insert(all.end(), before_roles_.begin(), before_roles_.end());
        all.push_back(IfThenElse::make(is_consumer(), consumers, producer));
        return Block::make(all);
    }
    Expr is_consumer() const { return Variable::make(Int(32), thread_z) < consumers_; }
    static Stmt registers(const char *kind, int count) { return placeholder({kind, {{"count", count}}}); }

    /// Consumers share what the producer leaves of the registers with which the block is launched.
    int consumer_registers() const {
        constexpr int of_multiprocessor = 65536, most = 240, granularity = 8;
        const int warpgroups = consumers_ + 1;
        const int at_launch =
            std::min(of_multiprocessor / (threads_of_warpgroup * warpgroups * launch_.field("blocks")),
                     most) /
            granularity * granularity;
        const int producer = options_.producer_registers;
        if (producer < 24 || producer > at_launch || producer % granularity != 0)
            refuse_pipeline("pipeline", "producer_registers is " + std::to_string(producer) +
                                            "; the rule is a multiple of 8 from 24 to the " +
                                            std::to_string(at_launch) + " at launch");
        return std::min((at_launch * warpgroups - producer) / consumers_, most) / granularity * granularity;
    }

    /// The launch has another warpgroup, which takes no part in barriers of the whole block.
    Stmt visit(const Evaluate *op) override {
        const Call *call = op->value.as<Call>();
        if (!call || !starts_with(call->name, std::string(placeholder_prefix))) return op;
        PlaceholderCall launch = PlaceholderCall::parse(call->name);
        if (launch.kind != "launch") return op;
        launch.fields["z"]++;
        launch.fields["consumers"] = consumers_ * threads_of_warpgroup;
        launch_ = std::move(launch);
        return Evaluate::make(0);
    }

    int consumers_ = 0;       // warpgroups
    int inner_ = 0;           // serial loops and conditions around what is visited
    Stmt producer_;           // the producer's role, when the loop has been met
    std::optional<FurtherTiles> tiles_;
    Stmt end_of_producer_;
    std::vector<Stmt> before_roles_;
    PlaceholderCall launch_;  // of kernels on tensor cores
};

}  // namespace

Stmt with_producer_warpgroup(const Stmt &statement, const StagedMemory &memory,
                             const SoftwarePipelineOptions &options, const For *blocks) {
    return ThreadRoles(memory, options, blocks).with_roles(statement);
}

}  // namespace conv_transpose

// Software pipelining of the loop that stages operands in shared memory: see software_pipeline.h.
//
// The body of the loop is taken apart into leaf statements. A leaf that writes shared memory is staging, one
// that reads it is compute, barriers are dropped (the pass places its own). Each staging leaf is then an
// asynchronous copy, or is cut in two at its loads. The leaves are put together again as iterations, each of
// which works on one chunk while others are on their way.
#include "compiler/software_pipeline.h"

#include <algorithm>

#include "compiler/async_copies.h"
#include "compiler/lowered_ir.h"
#include "compiler/placeholder_calls.h"
#include "compiler/register_staging.h"
#include "compiler/shared_memory.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int loads_ahead = 2;              // chunks: one in registers while the one before it is stored
constexpr int allocation_granularity = 32;  // floats: keeps every stage aligned to 128 bytes

[[noreturn]] void refuse(const std::string &loop, const std::string &reason) {
    throw SoftwarePipelineRefusal("software pipeline: loop " + loop + ": " + reason);
}

/// The leaves of the loop's body, by what they are for.
class LoopBody {
  public:
    LoopBody(const For *loop, const std::string &shared, const SoftwarePipelineOptions &options,
             const NamedExprs &outer_lets)
        : staging(outer_lets, options.separate_registers), loop_(loop->name), shared_(shared),
          single_floats_(options.single_floats) {
        take_apart(loop->body);
        if (compute.empty() || (copies.empty() && staging.empty())) {
            refuse(loop_, "it must stage an operand in shared memory and then read it there");
        }
        keep_promotion_apart();
    }

    std::vector<Stmt> copies;      // of operands that can be copied asynchronously
    RegisterStaging staging;       // of the others
    std::vector<Stmt> compute;     // on staged operands
    std::vector<Stmt> after_wait;  // what needs the finished products of a chunk
    bool uses_tensor_cores = false;

  private:
    void take_apart(const Stmt &statement) {
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
                if (stmt_uses_var(leaf, let->first)) {
                    leaf = substitute(let->first, let->second, leaf);
                }
            }
            add_leaf(without_lets(leaf));
        }
    }

    void add_leaf(const Stmt &leaf) {
        const Access access = access_of(leaf, shared_);
        if (access.barrier) {
            refuse(loop_, "a barrier stands inside a condition or an inner loop");
        }
        if (access.writes && access.reads) {
            refuse(loop_, "a statement both reads and writes shared memory");
        }
        if (!access.writes) {
            add_compute(leaf);
        } else if (const auto copy = async_copies(leaf, single_floats_)) {
            copies.push_back(*copy);
        } else {
            staging.add(leaf);
        }
    }

    /// The pass places begin, commit, wait and publish itself, once for a whole chunk.
    void add_compute(const Stmt &leaf) {
        for (const char *synchronisation : {"begin", "commit", "wait", "publish"}) {
            if (has_placeholder(leaf, synchronisation)) {
                if (has_placeholder(leaf, "multiply")) {
                    refuse(loop_, "a warp tile stands inside a condition or an inner loop");
                }
                uses_tensor_cores = true;
                return;
            }
        }
        compute.push_back(leaf);
    }

    /// Adding a partial tile needs finished products: everything from there on comes after the wait.
    void keep_promotion_apart() {
        const auto first = std::find_if(compute.begin(), compute.end(),
                                        [](const Stmt &s) { return has_placeholder(s, "promote"); });
        after_wait.assign(first, compute.end());
        compute.erase(first, compute.end());
        for (const Stmt &statement : after_wait) {
            if (has_placeholder(statement, "multiply")) {
                refuse(loop_, "a product follows the promotion of a partial tile in the same chunk");
            }
        }
    }

    const std::string loop_, shared_;
    const bool single_floats_;
    NamedExprs lets_;
};

/// Puts the leaves together again as a pipeline.
class PipelinedLoop {
  public:
    PipelinedLoop(const For *loop, const LoopBody &body, std::string shared, int stage_floats,
                  const SoftwarePipelineOptions &options)
        : loop_(loop), body_(body), shared_(std::move(shared)), stages_(options.stages), stage_floats_(stage_floats),
          load_offsets_(options.load_offsets), products_in_flight_(most_products_in_flight()),
          copies_ahead_(most_copies_ahead()) {}

    Stmt rewritten() const {
        const Expr chunk = Variable::make(Int(32), loop_->name), extent = loop_->extent;
        const int peeled = std::max(copies_ahead_, loads_ahead);
        std::vector<Stmt> all = {start_copies(0), load(0), store(0), IfThenElse::make(extent > 1, load(1))};
        for (int ahead = 1; ahead < copies_ahead_; ahead++) {
            all.push_back(IfThenElse::make(extent > ahead, start_copies(ahead)));
        }
        all.push_back(For::make(loop_->name, loop_->min, max(extent - peeled, 0), ForType::Serial,
                                loop_->partition_policy, loop_->device_api, iteration(chunk, peeled)));
        for (int left = peeled - 1; left >= 0; left--) {
            all.push_back(IfThenElse::make(extent > left, iteration(extent - (left + 1), left)));
        }
        if (body_.uses_tensor_cores) {
            all.push_back(placeholder({"wait", {{"pending", 0}}}));
        }
        all.push_back(shared_memory_barrier());
        return body_.staging.with_registers(Block::make(all));
    }

  private:
    /// A statement for one chunk, working in that chunk's buffer.
    Stmt instance(const Stmt &statement, const Expr &chunk) const {
        // First the loop variable, then the buffer: the buffer's own index is already in terms of `chunk`.
        return shifted_in_shared_memory(substitute(loop_->name, chunk, statement), shared_,
                                        simplify(chunk % stages_ * stage_floats_), load_offsets_);
    }
    std::vector<Stmt> instances(std::vector<Stmt> statements, const Expr &chunk) const {
        for (Stmt &statement : statements) {
            statement = instance(statement, chunk);
        }
        return statements;
    }

    Stmt start_copies(const Expr &chunk) const {
        if (body_.copies.empty()) {
            return Evaluate::make(0);
        }
        return Block::make(instance(block_of(body_.copies), chunk), placeholder({"copy_commit", {}}));
    }
    Stmt load(const Expr &chunk) const { return block_of(instances(body_.staging.loads(), chunk)); }
    Stmt store(const Expr &chunk) const { return block_of(instances(body_.staging.stores(), chunk)); }

    /// Of earlier chunks, while one is multiplied. Copies need their buffers more.
    int most_products_in_flight() const {
        const bool finish = !body_.uses_tensor_cores || !body_.after_wait.empty();
        return finish ? 0 : body_.staging.empty() ? std::min(stages_ - 2, 1) : stages_ - 2;
    }
    /// Further chunks that are copied while one is multiplied: to all buffers that nothing reads any more.
    /// Registers hold but one chunk, and what goes through them sets the pace.
    int most_copies_ahead() const {
        return body_.staging.empty() ? std::max(stages_ - 1 - products_in_flight_, 1) : 1;
    }

    /// One chunk, when so many (or more) are left behind it.
    Stmt iteration(const Expr &chunk, int left) const {
        std::vector<Stmt> all;
        wait_for_chunk(left, all);
        if (left >= copies_ahead_) {
            all.push_back(start_copies(chunk + copies_ahead_));
        }
        compute(chunk, left, all);
        if (body_.uses_tensor_cores) {
            all.push_back(placeholder({"commit", {}}));
            all.push_back(placeholder({"wait", {{"pending", products_in_flight_}}}));
        }
        for (const Stmt &statement : instances(body_.after_wait, chunk)) {
            all.push_back(statement);
        }
        return Block::make(all);
    }

    void wait_for_chunk(int left, std::vector<Stmt> &all) const {
        if (!body_.copies.empty()) {
            all.push_back(placeholder({"copy_wait", {{"pending", std::min(copies_ahead_ - 1, left)}}}));
        }
        if (body_.uses_tensor_cores) {
            all.push_back(placeholder({"publish", {}}));
        }
        all.push_back(shared_memory_barrier());
    }

    /// The chunk's steps, and spread between them what the chunks ahead need.
    void compute(const Expr &chunk, int left, std::vector<Stmt> &all) const {
        const std::vector<Stmt> steps = instances(body_.compute, chunk);
        // What comes before the products, such as clearing a tile, must come before `begin`, too.
        std::size_t first = 0;
        if (body_.uses_tensor_cores) {
            for (; first < steps.size() && !has_placeholder(steps[first], "multiply"); first++) {
                all.push_back(steps[first]);
            }
            all.push_back(placeholder({"begin", {}}));
        }
        std::vector<Stmt> stores, loads;
        if (left >= 1) {
            stores = instances(body_.staging.stores(), chunk + 1);
        }
        if (left >= loads_ahead) {
            loads = instances(body_.staging.loads(), chunk + 2);
        }
        for (std::size_t i = first, piece = 0; i < steps.size(); i++) {
            all.push_back(steps[i]);
            for (; piece < stores.size() && piece * steps.size() < (i + 1) * stores.size(); piece++) {
                all.push_back(stores[piece]);
                if (left >= loads_ahead) {
                    all.push_back(loads[piece]);
                }
            }
        }
    }

    const For *loop_;
    const LoopBody &body_;
    const std::string shared_;
    const int stages_, stage_floats_;
    const bool load_offsets_;
    const int products_in_flight_, copies_ahead_;
};

/// Rewrites the pipeline loops inside one shared allocation.
class RewriteLoops : public IRMutator {
  public:
    RewriteLoops(std::string shared, int stage_floats, const SoftwarePipelineOptions &options)
        : shared_(std::move(shared)), stage_floats_(stage_floats), options_(options) {}

  private:
    using IRMutator::visit;
    Stmt visit(const For *loop) override {
        if (last_name(loop->name) != "pipeline") {
            return IRMutator::visit(loop);
        }
        if (loop->for_type != ForType::Serial || !is_const_zero(loop->min)) {
            refuse(loop->name, "it must be a serial loop that begins at 0");
        }
        const LoopBody body(loop, shared_, options_, lets_);
        after_loop_ = true;
        return PipelinedLoop(loop, body, shared_, stage_floats_, options_).rewritten();
    }
    Stmt visit(const LetStmt *let) override {
        lets_.emplace_back(let->name, let->value);
        Stmt body = mutate(let->body);
        lets_.pop_back();
        return LetStmt::make(let->name, let->value, body);
    }
    /// What is written before the loop would lie in the way of its buffers. Behind it all of them are free.
    Stmt visit(const Store *store) override {
        if (store->name == shared_ && !after_loop_) {
            refuse("pipeline", "shared memory is written before the loop, to " + shared_);
        }
        return store;
    }
    std::string shared_;
    int stage_floats_;
    const SoftwarePipelineOptions &options_;
    NamedExprs lets_;
    bool after_loop_ = false;
};

}  // namespace

SoftwarePipelinePass::SoftwarePipelinePass(const SoftwarePipelineOptions &options) : options_(options) {
    if (options.stages < 2) {
        throw SoftwarePipelineRefusal("software pipeline: stages is " + std::to_string(options.stages) +
                                      "; the rule is at least 2");
    }
}

Stmt SoftwarePipelinePass::visit(const Allocate *allocate) {
    if (allocate->memory_type != MemoryType::GPUShared || !has_loop(allocate->body, "pipeline")) {
        return IRMutator::visit(allocate);
    }
    const auto size = shared_floats(allocate);
    if (!size) {
        refuse("pipeline", "shared memory must be one float32 allocation of constant size");
    }
    const int stage = (*size + allocation_granularity - 1) / allocation_granularity * allocation_granularity;
    Stmt body = RewriteLoops(allocate->name, stage, options_).mutate(allocate->body);
    return Allocate::make(allocate->name, allocate->type, allocate->memory_type,
                          {Expr(stage * options_.stages)}, allocate->condition, body);
}

}  // namespace conv_transpose

// Replaces the warp-tile loop nests of lowered kernels by placeholder calls.
//
// The order of the work on one kernel: find the shape of its blocks; walk down to the nests, remembering the
// lets on the way and removing the one-lane guards; read each nest (warp_tile.h); put in its place calls
// (tile_arithmetic.h) or a store (tile_store.h).
#include "compiler/passes/tensor_core_pass.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/shared_memory.h"
#include "compiler/passes/shifted_sums.h"
#include "compiler/passes/tile_arithmetic.h"
#include "compiler/passes/tile_store.h"
#include "compiler/passes/warp_tile.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class ThreadExtents : public IRVisitor {
  public:
    std::map<char, int> extent;  // of threads x, y, z

  private:
    using IRVisitor::visit;
    void visit(const For *loop) override {
        if (loop->for_type == ForType::GPUThread) {
            const auto value = as_const_int(simplify(loop->extent));
            if (!value)
                refuse_tile(loop->name,
                            "the number of threads, " + text(loop->extent) + ", is not a constant");
            int &largest = extent[loop->name.back()];
            largest = std::max(largest, static_cast<int>(*value));
        }
        IRVisitor::visit(loop);
    }
};

/// The loop of blocks along y, if there is one.
class BlocksAlongY : public IRVisitor {
  public:
    const For *found = nullptr;

  private:
    using IRVisitor::visit;
    void visit(const For *loop) override {
        if (ends_with(loop->name, ".block_id_y")) found = loop;
        IRVisitor::visit(loop);
    }
};

/// Names of the allocations that a statement stores to inside loops of a warp tile.
class TileStores : public IRVisitor {
  public:
    std::set<std::string> names;

  private:
    using IRVisitor::visit;
    void visit(const For *loop) override {
        const bool tile_loop = starts_with(last_name(loop->name), "mma_");
        depth_ += tile_loop;
        IRVisitor::visit(loop);
        depth_ -= tile_loop;
    }
    void visit(const Store *store) override {
        if (depth_ > 0) names.insert(store->name);
        IRVisitor::visit(store);
    }
    int depth_ = 0;
};

/// Lowers the nests of one kernel.
class KernelLowering : public LetMutator {
  public:
    KernelLowering(const TensorCoreOptions &options, const For *kernel) : options_(options) {
        ThreadExtents threads;
        kernel->body.accept(&threads);
        threads_ = threads.extent;
        if (threads_['x'] != lanes_of_warp || threads_['y'] != warps_of_warpgroup)
            refuse_tile(kernel->name, "blocks have " + std::to_string(threads_['x']) + " x " +
                                     std::to_string(threads_['y']) +
                                     " threads in x and y; a warpgroup is 32 x 4 threads");
        if (threads_.count('z') == 0) threads_['z'] = 1;
        if (options_.adds_in_clusters) {
            BlocksAlongY blocks;
            Stmt(kernel).accept(&blocks);
            if (!blocks.found) refuse_tile(kernel->name, "no blocks along y have parts of the sum");
            cluster_ = blocks.found;
        }
    }

    /// All of it, with what is found before the launch.
    Stmt lowered(const For *kernel) {
        const Stmt all = mutate(Stmt(kernel));
        if (!output_.defined()) return all;
        const Store *output = output_.as<Store>();
        return TileStore::with_runs(all, output->name, *operand_format(output->value.type()), options_);
    }

  private:
    using LetMutator::visit;

    Stmt visit(const Allocate *allocate) override {
        if (allocate->memory_type == MemoryType::GPUShared) return lower_shared_allocation(allocate);
        TileStores stores;
        allocate->body.accept(&stores);
        if (allocate->memory_type != MemoryType::Register || stores.names.count(allocate->name) == 0)
            return IRMutator::visit(allocate);
        const int id = static_cast<int>(tiles_.size());
        tiles_[allocate->name].id = id;
        Stmt body = mutate(allocate->body);
        const Access left = access_of(body, allocate->name);
        if (left.reads || left.writes) refuse_tile(allocate->name, "the accumulator is used outside of mma_ loops");
        return body;
    }

    Stmt lower_shared_allocation(const Allocate *allocate) {
        if (!shared_.empty()) refuse_tile(allocate->name, "a second shared allocation in a kernel; the first is " + shared_);
        const auto size = shared_floats(allocate);
        if (!size) refuse_tile(allocate->name, "shared memory must be one allocation of constant size");
        shared_ = allocate->name;
        Stmt body = mutate(allocate->body);
        // The pipeline makes a buffer for each stage of this one; where there is a single chunk, there is no
        // loop to pipeline.
        const int stages = has_loop(allocate->body, "pipeline") ? options_.stages : 1;
        const int a_buffer = options_.further_tiles ? 0 : (scratch_floats_ + stages - 1) / stages;
        const int needed = std::max(*size, a_buffer);
        return Allocate::make(allocate->name, Float(32), allocate->memory_type, {Expr(needed)}, allocate->condition,
                              body);
    }

    Stmt visit(const Free *op) override { return tiles_.count(op->name) ? Evaluate::make(0) : Stmt(op); }

    Stmt visit(const IfThenElse *branch) override {
        if (!in_threads_ || !has_loop(branch->then_case, "mma_")) return IRMutator::visit(branch);
        const Expr condition = resolve(branch->condition, lets_);
        const auto excluded = [&](int x, int y) {
            return is_const_zero(simplify(
                substitute({{".thread_id_x", Expr(x)}, {".thread_id_y", Expr(y)}}, condition)));
        };
        const bool guards_x = excluded(1, 0), guards_y = excluded(0, 1);
        if (!guards_x && !guards_y &&
            (expr_uses_var(condition, ".thread_id_x") || expr_uses_var(condition, ".thread_id_y")))
            refuse_tile(".thread_id_x", "the condition " + text(branch->condition) +
                                       " around a warp tile does not select exactly one lane");
        if (branch->else_case.defined()) refuse_tile(".thread_id_x", "a warp tile stands in a condition with an else branch");
        const bool old_x = one_lane_x_, old_y = one_lane_y_;
        one_lane_x_ = one_lane_x_ || guards_x;
        one_lane_y_ = one_lane_y_ || guards_y;
        Stmt body = mutate(branch->then_case);
        one_lane_x_ = old_x;
        one_lane_y_ = old_y;
        const Expr rest = simplify(at_lane_zero(condition));
        return is_const_one(rest) ? body : IfThenElse::make(rest, body);
    }

    Stmt visit(const For *loop) override {
        if (starts_with(last_name(loop->name), "mma_")) return lower_nest(loop);
        if (loop->for_type != ForType::GPUThread) return IRMutator::visit(loop);
        const bool was_in_threads = in_threads_;
        in_threads_ = true;
        Stmt body = mutate(loop->body);
        in_threads_ = was_in_threads;
        if (ends_with(loop->name, ".thread_id_x") && !launch_declared_) {
            launch_declared_ = true;
            PlaceholderCall launch{"launch",
                                   {{"x", threads_['x']},
                                    {"y", threads_['y']},
                                    {"z", threads_['z']},
                                    {"blocks", options_.blocks_per_multiprocessor}}};
            if (options_.further_tiles) launch.fields["scratch"] = scratch_floats_;
            body = Block::make(placeholder(launch), body);
        }
        return For::make(loop->name, loop->min, loop->extent, loop->for_type, loop->partition_policy,
                         loop->device_api, body);
    }

    /// Every thread makes its stores to shared memory visible to the tensor cores before it arrives at a
    /// barrier.
    Stmt visit(const Evaluate *op) override {
        return is_barrier(op) ? Block::make(placeholder({"publish", {}}), op) : IRMutator::visit(op);
    }

    Stmt lower_nest(const For *outermost) {
        Nest nest = Nest::read(outermost, lets_);
        if (!one_lane_x_ || !one_lane_y_)
            refuse_tile(nest.name,
                        "it must run in one lane of the warpgroup: give it thread loops x and y of extent 1");
        if (tiles_.count(nest.store->name) == 0) {
            const Stmt of_first_taps = take_shifted_sums(nest, tiles_);
            return lower_store(nest);
        }
        return arithmetic_.lowered(nest);
    }

    Stmt lower_store(const Nest &nest) {
        const TileStore store(nest, tiles_, shared_, threads_['z'], options_, cluster_);
        scratch_floats_ = std::max(scratch_floats_, store.scratch_floats());
        output_ = nest.store;
        return store.lowered();
    }

    TensorCoreOptions options_;
    std::map<char, int> threads_;
    WarpTiles tiles_;
    std::string shared_;
    TileArithmetic arithmetic_{tiles_, shared_};
    int scratch_floats_ = 0;
    const For *cluster_ = nullptr;  // its blocks add their tiles
    Stmt output_;  // the store of a tile
    bool in_threads_ = false, one_lane_x_ = false, one_lane_y_ = false, launch_declared_ = false;
};

}  // namespace

Stmt TensorCorePass::visit(const For *loop) {
    if (loop->for_type != ForType::GPUBlock) return IRMutator::visit(loop);
    if (!has_loop(loop, "mma_")) return loop;
    // A quotient that Halide has taken out of the kernel may still stand in it as well: indices that are equal must look
    // so.
    Stmt kernel(loop);
    for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
        if (let->second.as<Div>()) kernel = substitute(let->second, Variable::make(let->second.type(), let->first), kernel);
    }
    return KernelLowering(options_, kernel.as<For>()).lowered(kernel.as<For>());
}

}  // namespace conv_transpose

// Replaces the warp-tile loop nests of lowered kernels by placeholder calls.
//
// The order of the work on one kernel: find the shape of its blocks; walk down to the nests, remembering the lets on
// the way and removing the one-lane guards; read each nest (warp_tile.h); check; emit the call, or the store
// (tile_store.h).
#include "compiler/tensor_core_pass.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/lowered_ir.h"
#include "compiler/placeholder_calls.h"
#include "compiler/tile_store.h"
#include "compiler/warp_tile.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int most_columns = 256;
constexpr int values_of_row = 4;        // one 16-byte row of an operand: mma_k
constexpr int bytes_of_group = columns_of_group * values_of_row * 4;
constexpr int most_accumulators = 232;  // registers of a thread, with some left for addresses

class ThreadExtents : public IRVisitor {
  public:
    std::map<char, int> extent;  // of threads x, y, z

  private:
    using IRVisitor::visit;
    void visit(const For *loop) override {
        if (loop->for_type == ForType::GPUThread) {
            const auto value = as_const_int(simplify(loop->extent));
            if (!value) {
                refuse_tile(loop->name, "the number of threads, " + text(loop->extent) + ", is not a constant");
            }
            int &largest = extent[loop->name.back()];
            largest = std::max(largest, static_cast<int>(*value));
        }
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
        if (depth_ > 0) {
            names.insert(store->name);
        }
        IRVisitor::visit(store);
    }
    int depth_ = 0;
};

class UseFinder : public IRVisitor {
  public:
    explicit UseFinder(std::string name) : name_(std::move(name)) {}
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const Load *load) override {
        found = found || load->name == name_;
        IRVisitor::visit(load);
    }
    void visit(const Store *store) override {
        found = found || store->name == name_;
        IRVisitor::visit(store);
    }
    std::string name_;
};

/// Lowers the nests of one kernel.
class KernelLowering : public IRMutator {
  public:
    KernelLowering(const TensorCoreOptions &options, const For *kernel) : options_(options) {
        ThreadExtents threads;
        kernel->body.accept(&threads);
        threads_ = threads.extent;
        if (threads_['x'] != lanes_of_warp || threads_['y'] != warps_of_warpgroup) {
            refuse_tile(kernel->name, "blocks have " + std::to_string(threads_['x']) + " x " +
                                     std::to_string(threads_['y']) +
                                     " threads in x and y; a warpgroup is 32 x 4 threads");
        }
        if (threads_.count('z') == 0) {
            threads_['z'] = 1;
        }
    }

  private:
    using IRMutator::visit;

    Stmt visit(const LetStmt *let) override {
        lets_.emplace_back(let->name, let->value);
        Stmt body = mutate(let->body);
        lets_.pop_back();
        return LetStmt::make(let->name, let->value, body);
    }

    Stmt visit(const Allocate *allocate) override {
        if (allocate->memory_type == MemoryType::GPUShared) {
            return lower_shared_allocation(allocate);
        }
        TileStores stores;
        allocate->body.accept(&stores);
        if (allocate->memory_type != MemoryType::Register || stores.names.count(allocate->name) == 0) {
            return IRMutator::visit(allocate);
        }
        const int id = static_cast<int>(tiles_.size());
        tiles_[allocate->name].id = id;
        Stmt body = mutate(allocate->body);
        UseFinder uses(allocate->name);
        body.accept(&uses);
        if (uses.found) {
            refuse_tile(allocate->name, "the accumulator is used outside of mma_ loops");
        }
        return body;
    }

    Stmt lower_shared_allocation(const Allocate *allocate) {
        if (!shared_.empty()) {
            refuse_tile(allocate->name, "a second shared allocation in a kernel; the first is " + shared_);
        }
        const auto size = allocate->extents.size() == 1 ? as_const_int(simplify(allocate->extents[0])) : std::nullopt;
        if (!size || allocate->type != Float(32)) {
            refuse_tile(allocate->name, "shared memory must be one float32 allocation of constant size");
        }
        shared_ = allocate->name;
        Stmt body = mutate(allocate->body);
        const int a_buffer = (scratch_floats_ + options_.stages - 1) / options_.stages;
        const int needed = std::max(static_cast<int>(*size), a_buffer);
        return Allocate::make(allocate->name, allocate->type, allocate->memory_type, {Expr(needed)},
                              allocate->condition, body);
    }

    Stmt visit(const Free *op) override { return tiles_.count(op->name) ? Evaluate::make(0) : Stmt(op); }

    Stmt visit(const IfThenElse *branch) override {
        if (!in_threads_ || !has_loop(branch->then_case, "mma_")) {
            return IRMutator::visit(branch);
        }
        const Expr condition = resolve(branch->condition, lets_);
        const auto excluded = [&](int x, int y) {
            return is_const_zero(simplify(
                substitute({{".thread_id_x", Expr(x)}, {".thread_id_y", Expr(y)}}, condition)));
        };
        const bool guards_x = excluded(1, 0), guards_y = excluded(0, 1);
        if (!guards_x && !guards_y &&
            (expr_uses_var(condition, ".thread_id_x") || expr_uses_var(condition, ".thread_id_y"))) {
            refuse_tile(".thread_id_x", "the condition " + text(branch->condition) +
                                       " around a warp tile does not select exactly one lane");
        }
        if (branch->else_case.defined()) {
            refuse_tile(".thread_id_x", "a warp tile stands in a condition with an else branch");
        }
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
        if (starts_with(last_name(loop->name), "mma_")) {
            return lower_nest(loop);
        }
        if (loop->for_type != ForType::GPUThread) {
            return IRMutator::visit(loop);
        }
        const bool was_in_threads = in_threads_;
        in_threads_ = true;
        Stmt body = mutate(loop->body);
        in_threads_ = was_in_threads;
        if (ends_with(loop->name, ".thread_id_x") && !launch_declared_) {
            launch_declared_ = true;
            body = Block::make(placeholder({"launch", {{"x", threads_['x']}, {"y", threads_['y']}, {"z", threads_['z']},
                                                       {"blocks", options_.blocks_per_multiprocessor}}}), body);
        }
        return For::make(loop->name, loop->min, loop->extent, loop->for_type, loop->partition_policy,
                         loop->device_api, body);
    }

    /// Every thread makes its stores to shared memory visible to the tensor cores before it arrives at a barrier.
    Stmt visit(const Evaluate *op) override {
        return is_barrier(op) ? Block::make(placeholder({"publish", {}}), op) : IRMutator::visit(op);
    }

    Stmt lower_nest(const For *outermost) {
        const Nest nest = Nest::read(outermost, lets_);
        if (!one_lane_x_ || !one_lane_y_) {
            refuse_tile(nest.name, "it must run in one lane of the warpgroup: give it thread loops x and y of extent 1");
        }
        const auto tile = tiles_.find(nest.store->name);
        if (tile == tiles_.end()) {
            return lower_store(nest);
        }
        if (!nest.guards.empty()) {
            refuse_tile(nest.name, "the condition " + text(nest.guards[0]) + " inside an accumulating tile");
        }
        const Add *sum = nest.store->value.as<Add>();
        if (!sum) {
            return lower_clear(nest, tile->second);
        }
        const bool left = is_same_element(nest, sum->a), right = is_same_element(nest, sum->b);
        if (left == right) {
            refuse_tile(nest.name, "the sum " + text(nest.store->value) + " does not add to the element that it stores");
        }
        const Expr term = resolve(left ? sum->b : sum->a, nest.lets);
        if (const Mul *product = term.as<Mul>()) {
            return lower_multiply(nest, tile->second, product);
        }
        if (const Load *load = term.as<Load>(); load && tiles_.count(load->name)) {
            return lower_promote(nest, tile->second, tiles_[load->name], load);
        }
        refuse_tile(nest.name, "a tile can add a product of two loads or another tile, not " + text(term));
    }

    bool is_same_element(const Nest &nest, const Expr &e) const {
        const Expr resolved = resolve(e, nest.lets);
        const Load *load = resolved.as<Load>();
        return load && load->name == nest.store->name &&
               are_equal(resolve(load->index, nest.lets), resolve(nest.store->index, nest.lets));
    }

    void check_same_tile(const Nest &nest, const WarpTile &known, const WarpTile &read) const {
        if (known.rows != read.rows || !known.same_columns(read) || !are_equal(known.base, read.base)) {
            refuse_tile(nest.name, "it does not cover the same tile as the nest that clears the accumulator");
        }
    }

    /// Which of the tile's sets of 64 rows is the first that a product adds to.
    int first_row_tile(const Nest &nest, const WarpTile &tile, const WarpTile &read) const {
        const auto distance = as_const_int(simplify(read.base - tile.base));
        const int step = rows_of_instruction * tile.row_stride;
        if (!tile.known() || !read.same_columns(tile) || !distance || *distance < 0 || *distance % step != 0 ||
            read.rows % rows_of_instruction != 0 ||
            *distance / step * rows_of_instruction + read.rows > tile.rows) {
            refuse_tile(nest.name, "it does not cover the tile that a nest before it clears, or sets of 64 rows of it");
        }
        return static_cast<int>(*distance / step);
    }

    PlaceholderCall tile_call(const std::string &kind, const WarpTile &tile) const {
        return {kind, {{"tile", tile.id}, {"m", tile.rows}, {"n", tile.columns}, {"r", tile.repeats}}};
    }

    Stmt lower_clear(const Nest &nest, WarpTile &tile) {
        WarpTile read = WarpTile::read(nest, nest.store->index);
        read.id = tile.id;
        if (read.rows % rows_of_instruction != 0) {
            refuse_tile(nest.name, "mma_m has extent " + std::to_string(read.rows) + "; the rule is a multiple of 64");
        }
        if (read.run() % columns_of_group != 0 || read.columns > most_columns) {
            refuse_tile(nest.name, "mma_n has extent " + std::to_string(read.run()) +
                                       "; the rule is a multiple of 8, at most 256");
        }
        if (read.groups > 1 && read.run() != columns_of_group) {
            refuse_tile(nest.name, "mma_n has extent " + std::to_string(read.run()) +
                                       " beside mma_n_group; the rule is 8");
        }
        if (tile.known()) {
            check_same_tile(nest, tile, read);
        } else {
            accumulators_ += read.rows / rows_of_instruction * read.columns / 2 * read.repeats;
        }
        if (accumulators_ > most_accumulators) {
            refuse_tile(nest.name, "the tiles need " + std::to_string(accumulators_) +
                                       " registers of every thread; at most " + std::to_string(most_accumulators) +
                                       " fit");
        }
        tile = read;
        const Expr value = resolve(nest.store->value, nest.lets);
        if (!is_const_zero(value)) {
            refuse_tile(nest.name, "a tile begins as 0, not as " + text(value) + "; add that where the tile is stored");
        }
        return placeholder(tile_call("clear", tile));
    }

    Stmt lower_multiply(const Nest &nest, const WarpTile &tile, const Mul *product) {
        const WarpTile read = WarpTile::read(nest, nest.store->index);
        const int first = first_row_tile(nest, tile, read);
        Affine a = read_operand(nest, product->a), b = read_operand(nest, product->b);
        if (is_const_zero(a.stride("mma_m"))) {
            std::swap(a, b);
        }
        check_rows(nest, a, "mma_m", "mma_n");
        check_rows(nest, b, "mma_n", "mma_m");
        for (const char *role : {"mma_n_outer", "mma_n_group"}) {
            if (!is_const_zero(a.stride(role))) {
                refuse_tile(nest.name, std::string("the operand with the rows of the tile depends on ") + role);
            }
        }
        const int inner = nest.constant_extent("mma_k"), groups = nest.constant_extent("mma_k_outer");
        if (inner != values_of_row || groups % 2 != 0) {
            refuse_tile(nest.name, "mma_k has extent " + std::to_string(inner) + " and mma_k_outer " +
                                       std::to_string(groups) + "; the rule is 4, and an even number");
        }
        PlaceholderCall call = tile_call("multiply", tile);
        call.fields["m"] = read.rows;
        call.fields["row"] = first;
        call.fields["k"] = inner * groups;
        call.fields["ak"] = operand_stride(nest, a, "mma_k_outer");
        call.fields["bk"] = operand_stride(nest, b, "mma_k_outer");
        call.fields["bs"] = tile.groups > 1 ? operand_stride(nest, b, "mma_n_group") : bytes_of_group;
        call.fields["br"] = operand_stride(nest, b, "mma_n_outer");
        return Block::make({placeholder({"begin", {}}), placeholder(call, {row_address(nest, a), row_address(nest, b)}),
                            placeholder({"commit", {}}), placeholder({"wait", {{"pending", 0}}})});
    }

    Affine read_operand(const Nest &nest, const Expr &e) {
        const Load *load = e.as<Load>();
        if (!load || load->name != shared_) {
            refuse_tile(nest.name, "the factor " + text(e) + " is not a load from shared memory");
        }
        return affine_index(nest, load->index);
    }

    /// An operand's rows are 16 bytes each, one after the other, and do not depend on the other operand's loop.
    void check_rows(const Nest &nest, const Affine &operand, const std::string &row, const std::string &other) const {
        if (constant_stride(nest, operand, row, "an operand") != values_of_row ||
            constant_stride(nest, operand, "mma_k", "an operand") != 1 ||
            constant_stride(nest, operand, other, "an operand") != 0) {
            refuse_tile(nest.name, "an operand has strides " + text(operand.stride(row)) + " along " + row + ", " +
                                  text(operand.stride("mma_k")) + " along mma_k and " + text(operand.stride(other)) +
                                  " along " + other + "; the rule is 4, 1 and 0");
        }
    }

    int operand_stride(const Nest &nest, const Affine &operand, const std::string &role) const {
        const int stride = constant_stride(nest, operand, role, "an operand");
        if (stride < 0 || stride % values_of_row != 0) {
            refuse_tile(nest.name, "an operand has stride " + std::to_string(stride) + " along " + role +
                                  "; the rule is a multiple of 4 floats, not negative");
        }
        return stride * 4;
    }

    /// In rows of 16 bytes: what a matrix descriptor counts in.
    Expr row_address(const Nest &nest, const Affine &operand) const {
        const ModulusRemainder known = modulus_remainder(operand.base);
        if (known.modulus % values_of_row != 0 || known.remainder % values_of_row != 0) {
            refuse_tile(nest.name, "the operand at " + text(operand.base) + " is not known to be aligned to 16 bytes");
        }
        return simplify(operand.base / values_of_row);
    }

    Stmt lower_promote(const Nest &nest, const WarpTile &tile, const WarpTile &partial, const Load *load) {
        check_same_tile(nest, tile, WarpTile::read(nest, nest.store->index));
        check_same_tile(nest, partial, WarpTile::read(nest, load->index));
        if (tile.rows != partial.rows || tile.columns != partial.columns || tile.groups != partial.groups ||
            tile.repeats != partial.repeats) {
            refuse_tile(nest.name, "the two tiles differ in size");
        }
        PlaceholderCall call = tile_call("promote", tile);
        call.fields["from"] = partial.id;
        return placeholder(call);
    }

    Stmt lower_store(const Nest &nest) {
        const TileStore store(nest, tiles_, shared_, threads_['z']);
        scratch_floats_ = std::max(scratch_floats_, store.scratch_floats());
        return store.lowered();
    }

    TensorCoreOptions options_;
    std::map<char, int> threads_;
    NamedExprs lets_;
    WarpTiles tiles_;
    std::string shared_;
    int accumulators_ = 0, scratch_floats_ = 0;
    bool in_threads_ = false, one_lane_x_ = false, one_lane_y_ = false, launch_declared_ = false;
};

}  // namespace

Stmt TensorCorePass::visit(const For *loop) {
    if (loop->for_type != ForType::GPUBlock) {
        return IRMutator::visit(loop);
    }
    return has_loop(loop, "mma_") ? KernelLowering(options_, loop).mutate(Stmt(loop)) : Stmt(loop);
}

}  // namespace conv_transpose

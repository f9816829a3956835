// Recognises warp-tile loop nests in lowered kernels and replaces them by placeholder calls.
//
// The order of the work on one kernel: find the shape of its blocks; walk down to the nests, remembering the lets on
// the way and removing the one-lane guards; reduce each nest to its loops, its guards and its one store; read base and
// strides of every index; check; emit the call.
#include "compiler/tensor_core_pass.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "compiler/lowered_ir.h"
#include "compiler/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int lanes_of_warp = 32, warps_of_warpgroup = 4;
constexpr int rows_of_instruction = 64;       // wgmma: m64; mma.sync: four warps of m16
constexpr int columns_granularity = 8, most_columns = 256;
constexpr int values_of_row = 4;              // one 16-byte row of an operand: mma_k
constexpr int most_accumulators = 232;        // registers of a thread, with some left for addresses
constexpr int rows_of_warp = 16;              // of every 64 rows
constexpr int rows_per_turn = 8;              // of the tile that a warp turns in shared memory before it stores

[[noreturn]] void refuse(const std::string &loop, const std::string &reason) {
    throw TensorCoreRefusal("tensor cores: loop " + loop + ": " + reason);
}

std::string text(const Expr &e) {
    std::ostringstream out;
    out << e;
    return out.str();
}

/// One loop of a nest. The extent of a loop whose end was trimmed to the edge of the output is not constant.
struct TileLoop {
    std::string role, name;
    Expr extent;
};

/// A nest: loops around one store, with the conditions met on the way.
struct Nest {
    std::string name;  // of its outermost loop, for messages
    std::vector<TileLoop> loops;
    std::vector<Expr> guards;
    NamedExprs lets;  // enclosing ones first
    const Store *store = nullptr;

    const TileLoop *find(const std::string &role) const {
        for (const TileLoop &loop : loops) {
            if (loop.role == role) {
                return &loop;
            }
        }
        return nullptr;
    }
    int constant_extent(const std::string &role) const {
        const TileLoop *loop = find(role);
        if (!loop) {
            return 1;
        }
        const auto extent = as_const_int(simplify(loop->extent));
        if (!extent) {
            refuse(loop->name, "its extent " + text(loop->extent) + " is not a constant");
        }
        return static_cast<int>(*extent);
    }
};

/// base + sum of strides[role] * loop.
struct Affine {
    Expr base;
    std::map<std::string, Expr> strides;

    Expr stride(const std::string &role) const {
        const auto found = strides.find(role);
        return found == strides.end() ? Expr(0) : found->second;
    }
};

/// An accumulator tile: its extents, and its element strides in the Func's own storage (to recognise it elsewhere).
struct WarpTile {
    int id = 0;
    int rows = 0, columns = 0, repeats = 1;
    int row_stride = 0, column_stride = 0, repeat_stride = 0;
    Expr base;
};

Expr at_lane_zero(const Expr &e) {
    return substitute({{".thread_id_x", Expr(0)}, {".thread_id_y", Expr(0)}}, e);
}

Affine affine_index(const Nest &nest, const Expr &index) {
    const Expr e = at_lane_zero(resolve(index, nest.lets));
    std::map<std::string, Expr> zero;
    for (const TileLoop &loop : nest.loops) {
        zero[loop.name] = 0;
    }
    Affine result;
    result.base = simplify(substitute(zero, e));
    Expr rebuilt = result.base;
    for (const TileLoop &loop : nest.loops) {
        auto one = zero;
        one[loop.name] = 1;
        const Expr stride = simplify(substitute(one, e) - result.base);
        result.strides[loop.role] = stride;
        rebuilt = rebuilt + Variable::make(Int(32), loop.name) * stride;
    }
    if (!can_prove(e == rebuilt)) {
        refuse(nest.name, "the index " + text(simplify(e)) + " is not affine in the loops of the tile");
    }
    return result;
}

int constant_stride(const Nest &nest, const Affine &index, const std::string &role, const std::string &what) {
    const Expr stride = index.stride(role);
    const auto value = as_const_int(stride);
    if (!value) {
        refuse(nest.name, "the stride of " + what + " along " + role + " is " + text(stride) + ", not a constant");
    }
    return static_cast<int>(*value);
}

class ThreadExtents : public IRVisitor {
  public:
    std::map<char, int> extent;  // of threads x, y, z

  private:
    using IRVisitor::visit;
    void visit(const For *loop) override {
        if (loop->for_type == ForType::GPUThread) {
            const auto value = as_const_int(simplify(loop->extent));
            if (!value) {
                refuse(loop->name, "the number of threads, " + text(loop->extent) + ", is not a constant");
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

/// Loads of accumulators in an expression.
class LoadsOfTiles : public IRVisitor {
  public:
    explicit LoadsOfTiles(const std::map<std::string, WarpTile> &tiles) : tiles_(tiles) {}
    std::vector<const Load *> found;

  private:
    using IRVisitor::visit;
    void visit(const Load *load) override {
        const bool known = std::any_of(found.begin(), found.end(), [&](const Load *f) { return equal(f, load); });
        if (tiles_.count(load->name) && !known) {
            found.push_back(load);
        }
        IRVisitor::visit(load);
    }
    const std::map<std::string, WarpTile> &tiles_;
};

/// Replaces the loads of one array.
class ReplaceLoad : public IRMutator {
  public:
    ReplaceLoad(std::string name, Expr replacement) : name_(std::move(name)), replacement_(std::move(replacement)) {}

  private:
    using IRMutator::visit;
    Expr visit(const Load *load) override { return load->name == name_ ? replacement_ : IRMutator::visit(load); }
    std::string name_;
    Expr replacement_;
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
            refuse(kernel->name, "blocks have " + std::to_string(threads_['x']) + " x " +
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
            refuse(allocate->name, "the accumulator is used outside of mma_ loops");
        }
        return body;
    }

    Stmt lower_shared_allocation(const Allocate *allocate) {
        if (!shared_.empty()) {
            refuse(allocate->name, "a second shared allocation in a kernel; the first is " + shared_);
        }
        const auto size = allocate->extents.size() == 1 ? as_const_int(simplify(allocate->extents[0])) : std::nullopt;
        if (!size || allocate->type != Float(32)) {
            refuse(allocate->name, "shared memory must be one float32 allocation of constant size");
        }
        shared_ = allocate->name;
        Stmt body = mutate(allocate->body);
        const int needed = std::max(static_cast<int>(*size), turning_floats_);
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
            refuse(".thread_id_x", "the condition " + text(branch->condition) +
                                       " around a warp tile does not select exactly one lane");
        }
        if (branch->else_case.defined()) {
            refuse(".thread_id_x", "a warp tile stands in a condition with an else branch");
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

    Nest read_nest(const For *outermost) {
        Nest nest;
        nest.name = outermost->name;
        nest.lets = lets_;
        for (Stmt at = outermost; !nest.store;) {
            if (const For *loop = at.as<For>()) {
                const std::string role = last_name(loop->name);
                if (!starts_with(role, "mma_") || loop->for_type != ForType::Serial || !is_const_zero(loop->min)) {
                    refuse(loop->name, "inside a warp tile there may only be serial mma_ loops that begin at 0");
                }
                if (nest.find(role)) {
                    refuse(loop->name, "a second loop of this name in one nest");
                }
                nest.loops.push_back({role, loop->name, resolve(loop->extent, nest.lets)});
                at = loop->body;
            } else if (const LetStmt *let = at.as<LetStmt>()) {
                nest.lets.emplace_back(let->name, let->value);
                at = let->body;
            } else if (const IfThenElse *branch = at.as<IfThenElse>();
                       branch && !branch->else_case.defined()) {
                nest.guards.push_back(at_lane_zero(resolve(branch->condition, nest.lets)));
                at = branch->then_case;
            } else if (const Store *store = at.as<Store>()) {
                nest.store = store;
            } else {
                std::ostringstream found;
                found << at;
                refuse(nest.name, "a warp tile holds one store; found instead: " + found.str().substr(0, 200));
            }
        }
        return nest;
    }

    Stmt lower_nest(const For *outermost) {
        const Nest nest = read_nest(outermost);
        if (!one_lane_x_ || !one_lane_y_) {
            refuse(nest.name, "it must run in one lane of the warpgroup: give it thread loops x and y of extent 1");
        }
        const auto tile = tiles_.find(nest.store->name);
        if (tile == tiles_.end()) {
            return lower_store(nest);
        }
        if (!nest.guards.empty()) {
            refuse(nest.name, "the condition " + text(nest.guards[0]) + " inside an accumulating tile");
        }
        const Add *sum = nest.store->value.as<Add>();
        if (!sum) {
            return lower_clear(nest, tile->second);
        }
        const bool left = is_same_element(nest, sum->a), right = is_same_element(nest, sum->b);
        if (left == right) {
            refuse(nest.name, "the sum " + text(nest.store->value) + " does not add to the element that it stores");
        }
        const Expr term = resolve(left ? sum->b : sum->a, nest.lets);
        if (const Mul *product = term.as<Mul>()) {
            return lower_multiply(nest, tile->second, product);
        }
        if (const Load *load = term.as<Load>(); load && tiles_.count(load->name)) {
            return lower_promote(nest, tile->second, tiles_[load->name], load);
        }
        refuse(nest.name, "a tile can add a product of two loads or another tile, not " + text(term));
    }

    bool is_same_element(const Nest &nest, const Expr &e) const {
        const Expr resolved = resolve(e, nest.lets);
        const Load *load = resolved.as<Load>();
        return load && load->name == nest.store->name &&
               can_prove(resolve(load->index, nest.lets) == resolve(nest.store->index, nest.lets));
    }

    /// The accumulator index of a nest that runs over a whole tile: extents and strides by role.
    WarpTile read_tile(const Nest &nest, const Expr &index) const {
        const Affine place = affine_index(nest, index);
        WarpTile tile;
        tile.rows = nest.constant_extent("mma_m");
        tile.columns = nest.constant_extent("mma_n");
        tile.repeats = nest.constant_extent("mma_n_outer");
        tile.row_stride = constant_stride(nest, place, "mma_m", "the accumulator");
        tile.column_stride = constant_stride(nest, place, "mma_n", "the accumulator");
        tile.repeat_stride = constant_stride(nest, place, "mma_n_outer", "the accumulator");
        tile.base = place.base;
        return tile;
    }

    void check_same_tile(const Nest &nest, const WarpTile &known, const WarpTile &read) const {
        if (known.rows != read.rows || known.columns != read.columns || known.repeats != read.repeats ||
            known.row_stride != read.row_stride || known.column_stride != read.column_stride ||
            known.repeat_stride != read.repeat_stride || !can_prove(known.base == read.base)) {
            refuse(nest.name, "it does not cover the same tile as the nest that clears the accumulator");
        }
    }

    PlaceholderCall tile_call(const std::string &kind, const WarpTile &tile) const {
        return {kind, {{"tile", tile.id}, {"m", tile.rows}, {"n", tile.columns}, {"r", tile.repeats}}};
    }

    Stmt lower_clear(const Nest &nest, WarpTile &tile) {
        WarpTile read = read_tile(nest, nest.store->index);
        read.id = tile.id;
        if (read.rows % rows_of_instruction != 0) {
            refuse(nest.name, "mma_m has extent " + std::to_string(read.rows) + "; the rule is a multiple of 64");
        }
        if (read.columns % columns_granularity != 0 || read.columns > most_columns) {
            refuse(nest.name, "mma_n has extent " + std::to_string(read.columns) +
                                  "; the rule is a multiple of 8, at most 256");
        }
        const bool known = tile.rows != 0;
        if (known) {
            check_same_tile(nest, tile, read);
        } else {
            accumulators_ += read.rows / rows_of_instruction * read.columns / 2 * read.repeats;
        }
        if (accumulators_ > most_accumulators) {
            refuse(nest.name, "the tiles need " + std::to_string(accumulators_) + " registers of every thread; at most " +
                                  std::to_string(most_accumulators) + " fit");
        }
        tile = read;
        const Expr value = resolve(nest.store->value, nest.lets);
        if (!is_const_zero(value)) {
            refuse(nest.name, "a tile begins as 0, not as " + text(value) + "; add that where the tile is stored");
        }
        return placeholder(tile_call("clear", tile));
    }

    Stmt lower_multiply(const Nest &nest, const WarpTile &tile, const Mul *product) {
        if (tile.rows == 0) {
            refuse(nest.name, "the accumulator is used before a nest clears it");
        }
        check_same_tile(nest, tile, read_tile(nest, nest.store->index));
        Affine a = read_operand(nest, product->a), b = read_operand(nest, product->b);
        if (is_const_zero(a.stride("mma_m"))) {
            std::swap(a, b);
        }
        check_rows(nest, a, "mma_m", "mma_n");
        check_rows(nest, b, "mma_n", "mma_m");
        if (!is_const_zero(a.stride("mma_n_outer"))) {
            refuse(nest.name, "the operand with the rows of the tile depends on mma_n_outer");
        }
        const int inner = nest.constant_extent("mma_k"), groups = nest.constant_extent("mma_k_outer");
        if (inner != values_of_row || groups % 2 != 0) {
            refuse(nest.name, "mma_k has extent " + std::to_string(inner) + " and mma_k_outer " +
                                  std::to_string(groups) + "; the rule is 4, and an even number");
        }
        PlaceholderCall call = tile_call("multiply", tile);
        call.fields["k"] = inner * groups;
        call.fields["ak"] = operand_stride(nest, a, "mma_k_outer");
        call.fields["bk"] = operand_stride(nest, b, "mma_k_outer");
        call.fields["br"] = operand_stride(nest, b, "mma_n_outer");
        return Block::make({placeholder({"begin", {}}), placeholder(call, {row_address(nest, a), row_address(nest, b)}),
                            placeholder({"commit", {}}), placeholder({"wait", {{"pending", 0}}})});
    }

    Affine read_operand(const Nest &nest, const Expr &e) {
        const Load *load = e.as<Load>();
        if (!load || load->name != shared_) {
            refuse(nest.name, "the factor " + text(e) + " is not a load from shared memory");
        }
        return affine_index(nest, load->index);
    }

    /// An operand's rows are 16 bytes each, one after the other, and do not depend on the other operand's loop.
    void check_rows(const Nest &nest, const Affine &operand, const std::string &row, const std::string &other) const {
        if (constant_stride(nest, operand, row, "an operand") != values_of_row ||
            constant_stride(nest, operand, "mma_k", "an operand") != 1 ||
            constant_stride(nest, operand, other, "an operand") != 0) {
            refuse(nest.name, "an operand has strides " + text(operand.stride(row)) + " along " + row + ", " +
                                  text(operand.stride("mma_k")) + " along mma_k and " + text(operand.stride(other)) +
                                  " along " + other + "; the rule is 4, 1 and 0");
        }
    }

    int operand_stride(const Nest &nest, const Affine &operand, const std::string &role) const {
        const int stride = constant_stride(nest, operand, role, "an operand");
        if (stride < 0 || stride % values_of_row != 0) {
            refuse(nest.name, "an operand has stride " + std::to_string(stride) + " along " + role +
                                  "; the rule is a multiple of 4 floats, not negative");
        }
        return stride * 4;
    }

    /// In rows of 16 bytes: what a matrix descriptor counts in.
    Expr row_address(const Nest &nest, const Affine &operand) const {
        const ModulusRemainder known = modulus_remainder(operand.base);
        if (known.modulus % values_of_row != 0 || known.remainder % values_of_row != 0) {
            refuse(nest.name, "the operand at " + text(operand.base) + " is not known to be aligned to 16 bytes");
        }
        return simplify(operand.base / values_of_row);
    }

    Stmt lower_promote(const Nest &nest, const WarpTile &tile, const WarpTile &partial, const Load *load) {
        check_same_tile(nest, tile, read_tile(nest, nest.store->index));
        check_same_tile(nest, partial, read_tile(nest, load->index));
        if (tile.rows != partial.rows || tile.columns != partial.columns || tile.repeats != partial.repeats) {
            refuse(nest.name, "the two tiles differ in size");
        }
        PlaceholderCall call = tile_call("promote", tile);
        call.fields["from"] = partial.id;
        return placeholder(call);
    }

    struct StoredNest {
        const Nest &nest;
        const WarpTile &tile;
        std::string accumulator;
        Expr index;
        int split = 0, pitch = 0;
        bool adjacent = false, pairs_along_m = false;
    };

    /// The tile leaves the registers 8 rows of a warp at a time: through shared memory that the operands no longer
    /// need, so that neighbouring lanes then hold neighbouring elements of the output. From there on it is plain code:
    /// the nest's own guards, value and index, with the accumulator replaced by its copy in shared memory.
    Stmt lower_store(const Nest &nest) {
        if (nest.store->name == shared_) {
            refuse(nest.name, "the tile is stored to shared memory; store it to the output");
        }
        const Expr value = substitute_in_all_lets(resolve(nest.store->value, nest.lets));
        LoadsOfTiles loads(tiles_);
        value.accept(&loads);
        if (loads.found.size() != 1 || tiles_.at(loads.found[0]->name).rows == 0) {
            refuse(nest.name, "a store out of a warp tile reads one element of one accumulator, not " + text(value));
        }
        const WarpTile &tile = tiles_.at(loads.found[0]->name);
        StoredNest stored{nest, tile, loads.found[0]->name, Expr()};
        stored.split = check_store_covers(nest, tile, affine_index(nest, loads.found[0]->index));
        stored.index = at_lane_zero(resolve(nest.store->index, nest.lets));
        stored.pitch = tile.columns % 16 == 8 ? tile.columns : tile.columns + 8;
        // Two elements that are neighbours in the output: along n, or, where the output interleaves rows, along m.
        const auto neighbours_along = [&](const std::string &role) {
            const TileLoop *loop = nest.find(role);
            if (!loop) {
                return false;
            }
            const Expr next = substitute(loop->name, Variable::make(Int(32), loop->name) + 1, stored.index);
            return is_const_one(simplify(next - stored.index));
        };
        stored.pairs_along_m = neighbours_along("mma_m") && !neighbours_along("mma_n");
        stored.adjacent = stored.pairs_along_m || neighbours_along("mma_n");
        turning_floats_ =
            std::max(turning_floats_, threads_['z'] * warps_of_warpgroup * rows_per_turn * stored.pitch);
        return lower_stored_value(stored, at_lane_zero(value), true);
    }

    /// How the elements of a store are computed.
    struct Version {
        Expr value;
        bool unrolled = true;
        bool whole = false;  // the tile lies inside of the output: no guards
    };

    /// A value that is a choice by a condition which is the same for all elements becomes two versions of the store.
    /// Only the first is unrolled, once with guards and once without: it is the one that was written first, and code
    /// has a price, too.
    Stmt lower_stored_value(const StoredNest &s, const Expr &value, bool unrolled) {
        if (const Call *choice = value.as<Call>(); choice && choice->is_intrinsic(Call::if_then_else) &&
                                                   choice->args.size() == 3 && is_uniform(s, choice->args[0])) {
            return IfThenElse::make(choice->args[0], lower_stored_value(s, choice->args[1], unrolled),
                                    lower_stored_value(s, choice->args[2], false));
        }
        const Expr whole = unrolled ? tile_is_whole(s) : const_false();
        const Stmt with_guards = is_const_one(whole) ? Evaluate::make(0) : lower_turns(s, {value, unrolled, false});
        if (is_const_zero(whole)) {
            return with_guards;
        }
        const Stmt without = lower_turns(s, {value, unrolled, true});
        return is_const_one(whole) ? without : IfThenElse::make(whole, without, with_guards);
    }

    /// Whether no loop of the nest was trimmed to the edge of the output. Other guards make no whole tiles.
    static Expr tile_is_whole(const StoredNest &s) {
        Expr whole = make_const(Bool(), s.nest.guards.empty() ? 1 : 0);
        for (const TileLoop &loop : s.nest.loops) {
            whole = whole && at_lane_zero(loop.extent) >= full_extent(s, loop.role);
        }
        return simplify(whole);
    }

    /// The extent of a store's loop in a tile that lies inside of the output.
    static int full_extent(const StoredNest &s, const std::string &role) {
        return role == "mma_n"         ? s.tile.columns
               : role == "mma_n_outer" ? s.tile.repeats
               : role == "mma_m_outer" ? s.tile.rows / s.split
                                       : s.split;
    }

    Stmt lower_turns(const StoredNest &s, const Version &version) {
        std::vector<Stmt> turns;
        for (int row = 0; row < s.tile.rows; row += rows_of_instruction) {
            for (int repeat = 0; repeat < s.tile.repeats; repeat++) {
                for (int half = 0; half < 2; half++) {
                    turns.push_back(lower_turn(s, version, row, repeat, half));
                }
            }
        }
        return Block::make(turns);
    }

    bool is_uniform(const StoredNest &s, const Expr &condition) const {
        LoadsOfTiles loads(tiles_);
        condition.accept(&loads);
        return loads.found.empty() && std::none_of(s.nest.loops.begin(), s.nest.loops.end(), [&](const TileLoop &loop) {
                   return expr_uses_var(condition, loop.name);
               });
    }

    /// A warp's rows row + 16 warp + 8 half + 0..7 of the tile.
    Stmt lower_turn(const StoredNest &s, const Version &version, int row, int repeat, int half) {
        const Expr lane = Variable::make(Int(32), ".thread_id_x"), warp = Variable::make(Int(32), ".thread_id_y");
        const Expr warpgroup = threads_['z'] > 1 ? Variable::make(Int(32), ".thread_id_z") : Expr(0);
        const Expr first_row = row + warp * rows_of_warp + half * rows_per_turn;
        const Expr scratch = (warpgroup * warps_of_warpgroup + warp) * (rows_per_turn * s.pitch);
        const int elements_a_line = s.pairs_along_m ? s.tile.columns : s.tile.columns / 2;

        PlaceholderCall turn = tile_call("turn", s.tile);
        turn.fields["row"] = row / rows_of_instruction;
        turn.fields["rep"] = repeat;
        turn.fields["half"] = half;
        turn.fields["pitch"] = s.pitch;
        std::vector<Stmt> all = {placeholder(turn)};
        const int lines = s.pairs_along_m ? rows_per_turn / 2 : rows_per_turn;
        const int steps_a_line = (elements_a_line + lanes_of_warp - 1) / lanes_of_warp;
        const auto step = [&](const Expr &line, int step_of_line) {
            const Expr place = lane + step_of_line * lanes_of_warp;
            Element pair[2];
            for (int i = 0; i < 2; i++) {
                const Expr m = s.pairs_along_m ? line * 2 + i : line, n = s.pairs_along_m ? place : place * 2 + i;
                pair[i] = element(s, version, first_row + m, n, repeat, scratch + m * s.pitch + n);
            }
            const Stmt stores = store_pair(s, pair[0], pair[1]);
            const bool all_lanes = (step_of_line + 1) * lanes_of_warp <= elements_a_line;
            return all_lanes ? stores : IfThenElse::make(place < elements_a_line, stores);
        };
        const auto line_of_steps = [&](const Expr &line) {
            std::vector<Stmt> steps;
            for (int i = 0; i < steps_a_line; i++) {
                steps.push_back(step(line, i));
            }
            return Block::make(steps);
        };
        if (version.unrolled) {
            for (int line = 0; line < lines; line++) {
                all.push_back(line_of_steps(line));
            }
        } else {
            const std::string line = s.nest.name + ".line";
            all.push_back(For::make(line, 0, lines, ForType::Serial, Partition::Never, DeviceAPI::None,
                                    line_of_steps(Variable::make(Int(32), line))));
        }
        all.push_back(placeholder({"turn_end", {}}));
        return Block::make(all);
    }

    struct Element {
        Expr guard, value, index;
    };

    /// One element of the store: the nest's expressions at (m, n, repeat).
    Element element(const StoredNest &s, const Version &version, const Expr &m, const Expr &n, int repeat, const Expr &copy) const {
        std::map<std::string, Expr> at;
        Expr guard = const_true();
        for (const TileLoop &loop : s.nest.loops) {
            const Expr coordinate = loop.role == "mma_n"         ? n
                                    : loop.role == "mma_n_outer" ? Expr(repeat)
                                    : loop.role == "mma_m_outer" ? m / s.split
                                                                 : m % s.split;
            at[loop.name] = coordinate;
            // A loop may have been trimmed to the edge of the output: then its extent is a guard.
            if (!version.whole && !can_prove(loop.extent >= full_extent(s, loop.role))) {
                guard = guard && coordinate < at_lane_zero(loop.extent);
            }
        }
        for (const Expr &condition : s.nest.guards) {
            if (!version.whole) {
                guard = guard && substitute(at, condition);
            }
        }
        const Expr turned = Load::make(Float(32), shared_, simplify(copy), Buffer<>(), Parameter(), const_true(),
                                       ModulusRemainder());
        ReplaceLoad replace(s.accumulator, turned);
        return {simplify(guard), substitute(at, replace.mutate(version.value)), simplify(substitute(at, s.index))};
    }

    Stmt store_pair(const StoredNest &s, const Element &first, const Element &second) const {
        const auto single = [&](const Element &e) {
            const Stmt store = Store::make(s.nest.store->name, e.value, e.index, s.nest.store->param, const_true(),
                                           ModulusRemainder());
            return is_const_one(e.guard) ? store : IfThenElse::make(e.guard, store);
        };
        if (!s.adjacent) {
            return Block::make(single(first), single(second));
        }
        const Expr target = Load::make(Float(32), s.nest.store->name, first.index, Buffer<>(), s.nest.store->param,
                                       const_true(), ModulusRemainder());
        const Stmt both = placeholder({"store_pair", {}}, {target, first.value, second.value});
        const Expr inside = simplify(first.guard && second.guard);
        return is_const_one(inside) ? both : IfThenElse::make(inside, both, Block::make(single(first), single(second)));
    }

    /// A store's loops must run over the tile as the accumulator is laid out; gives the extent of the inner m loop.
    int check_store_covers(const Nest &nest, const WarpTile &tile, const Affine &from) const {
        int split = tile.rows;
        if (nest.find("mma_m_outer")) {
            const int stride = constant_stride(nest, from, "mma_m_outer", "the accumulator");
            split = tile.row_stride == 0 ? 0 : stride / tile.row_stride;
            if (split <= 0 || split * tile.row_stride != stride || tile.rows % split != 0) {
                refuse(nest.name, "mma_m_outer steps over " + std::to_string(stride) +
                                      " accumulators; the rule is a divisor of the tile's rows");
            }
        }
        const auto covers = [&](const std::string &role, int stride) {
            return !nest.find(role) || constant_stride(nest, from, role, "the accumulator") == stride;
        };
        if (!covers("mma_m", tile.row_stride) || !covers("mma_n", tile.column_stride) ||
            !covers("mma_n_outer", tile.repeat_stride) || !can_prove(from.base == tile.base)) {
            refuse(nest.name, "the store does not run over the tile as the accumulator is laid out");
        }
        return split;
    }
    TensorCoreOptions options_;
    std::map<char, int> threads_;
    NamedExprs lets_;
    std::map<std::string, WarpTile> tiles_;
    std::string shared_;
    int accumulators_ = 0, turning_floats_ = 0;
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

// Multi-stage software pipelining of the loop that stages operands in shared memory.
//
// The body of the loop is taken apart into leaf statements. A leaf that writes shared memory is staging, one that
// reads it is compute, barriers are dropped (the pass places its own). Each staging leaf is then an asynchronous
// copy, or is cut in two at its loads: `early` moves global memory to registers, `late` does the rest.
#include "compiler/async_staging.h"

#include <algorithm>
#include <sstream>

#include "compiler/lowered_ir.h"
#include "compiler/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int sizeof_float = 4;
constexpr int allocation_granularity = 32;  // floats: keeps every stage aligned to 128 bytes
const std::string registers_name = "staged_values";

[[noreturn]] void refuse(const std::string &loop, const std::string &reason) {
    throw AsyncStagingRefusal("asynchronous staging: loop " + loop + ": " + reason);
}

struct Access {
    bool reads = false, writes = false, barrier = false;
};

class AccessFinder : public IRVisitor {
  public:
    explicit AccessFinder(std::string name) : name_(std::move(name)) {}
    Access access;

  private:
    using IRVisitor::visit;
    void visit(const Load *load) override {
        access.reads = access.reads || load->name == name_;
        IRVisitor::visit(load);
    }
    void visit(const Store *store) override {
        access.writes = access.writes || store->name == name_;
        IRVisitor::visit(store);
    }
    void visit(const Call *call) override {
        access.barrier = access.barrier || call->is_intrinsic(Call::gpu_thread_barrier);
        IRVisitor::visit(call);
    }
    std::string name_;
};

Access access_of(const Stmt &statement, const std::string &name) {
    AccessFinder finder(name);
    statement.accept(&finder);
    return finder.access;
}

/// Moves every access to the shared allocation, and every shared address in a placeholder, by a number of floats.
class ShiftShared : public IRMutator {
  public:
    ShiftShared(std::string name, Expr offset) : name_(std::move(name)), offset_(std::move(offset)) {}

  private:
    using IRMutator::visit;
    Expr shift(const Expr &index) const {
        if (const Ramp *ramp = index.as<Ramp>()) {
            return Ramp::make(ramp->base + offset_, ramp->stride, ramp->lanes);
        }
        return index.type().is_scalar() ? index + offset_ : index + Broadcast::make(offset_, index.type().lanes());
    }
    Expr visit(const Load *load) override {
        if (load->name != name_) {
            return IRMutator::visit(load);
        }
        return Load::make(load->type, load->name, shift(mutate(load->index)), load->image, load->param,
                          load->predicate, ModulusRemainder());
    }
    Stmt visit(const Store *store) override {
        if (store->name != name_) {
            return IRMutator::visit(store);
        }
        return Store::make(store->name, mutate(store->value), shift(mutate(store->index)), store->param,
                           store->predicate, store->alignment);
    }
    Expr visit(const Call *call) override {
        if (!starts_with(call->name, std::string(placeholder_prefix))) {
            return IRMutator::visit(call);
        }
        // The first arguments of some calls are addresses in shared memory: two operands, in rows of 16 bytes, or the
        // target of a copy, in bytes.
        const std::string kind = PlaceholderCall::parse(call->name).kind;
        const int addresses = kind == "multiply" ? 2 : kind == "copy" ? 1 : 0;
        std::vector<Expr> arguments = call->args;
        for (int i = 0; i < addresses; i++) {
            arguments[i] = simplify(arguments[i] + (kind == "multiply" ? offset_ / 4 : offset_ * 4));
        }
        return Call::make(call->type, call->name, arguments, call->call_type);
    }
    std::string name_;
    Expr offset_;
};

/// The registers between the two halves of staging, in the order in which SplitAtLoads meets the loads.
struct StagingRegisters {
    StagingRegisters(const NamedExprs &lets, bool separate) : outer_lets(lets), separate(separate) {}
    struct Slot {
        Expr index;  // in terms of nothing but loops and parameters, so that equal loads are found equal
        std::string array;
        Expr condition;
        int first;
    };
    const NamedExprs &outer_lets;
    const bool separate;
    std::vector<Slot> slots;
    std::size_t recent = 0;  // the first slot of the statement before, and of those that it shares values with
    bool shared = false;     // whether the statement at hand uses one of them
    int count = 0;
};

/// Splits staging stores at their loads: the early half moves global memory to registers, the late half does the rest.
/// A value that several stores need (both parts of a split operand do) is loaded once.
class SplitAtLoads : public IRMutator {
  public:
    SplitAtLoads(StagingRegisters &registers, bool late) : registers_(registers), late_(late) {}

  private:
    using IRMutator::visit;
    Stmt visit(const IfThenElse *branch) override {
        const Expr outer = condition_;
        condition_ = outer && branch->condition;
        Stmt then_case = mutate(branch->then_case);
        condition_ = outer && !branch->condition;
        Stmt else_case = branch->else_case.defined() ? mutate(branch->else_case) : Stmt();
        condition_ = outer;
        return IfThenElse::make(branch->condition, then_case, else_case);
    }
    Expr visit(const Load *load) override {
        const int lanes = load->type.lanes();
        // Only the values of the statement before this one: see PipelinedLoop::split().
        const auto recent = registers_.slots.begin() + registers_.recent;
        const Expr index = simplify(resolve(load->index, registers_.outer_lets));
        const auto same = std::find_if(recent, registers_.slots.end(), [&](const auto &slot) {
            return slot.array == load->name && equal(slot.index, index) && equal(slot.condition, condition_);
        });
        const bool again = same != registers_.slots.end();
        const int first = again ? same->first : registers_.count;
        registers_.shared = registers_.shared || (again && !fresh_);
        const Expr slot = lanes == 1 ? Expr(first) : Ramp::make(first, 1, lanes), always = const_true(lanes);
        if (!again) {
            if (!fresh_ && !registers_.shared) {
                registers_.recent = registers_.slots.size();
            }
            fresh_ = true;
            registers_.slots.push_back({index, load->name, condition_, first});
            registers_.count += lanes;
        }
        const Ramp *ramp = load->index.as<Ramp>();
        if (!registers_.separate || lanes == 1 || (ramp && is_const_one(ramp->stride))) {
            if (!again) {
                loads_.push_back(Store::make(registers_name, load, slot, Parameter(), always, ModulusRemainder()));
            }
            return Load::make(load->type, registers_name, slot, Buffer<>(), Parameter(), always, ModulusRemainder());
        }
        return gather(load, first, again);
    }

    /// Values from here and there keep a register each: see AsyncStagingOptions.
    Expr gather(const Load *load, int first, bool again) {
        std::vector<Expr> values;
        for (int lane = 0; lane < load->type.lanes(); lane++) {
            const Type type = load->type.element_of();
            const Expr index = Shuffle::make_extract_element(load->index, lane);
            const Expr value = Load::make(type, load->name, simplify(index), load->image, load->param, const_true(),
                                          ModulusRemainder());
            if (!again) {
                loads_.push_back(Store::make(registers_name, value, first + lane, Parameter(), const_true(),
                                             ModulusRemainder()));
            }
            values.push_back(Load::make(type, registers_name, first + lane, Buffer<>(), Parameter(), const_true(),
                                        ModulusRemainder()));
        }
        return Shuffle::make_concat(values);
    }
    Stmt visit(const Store *store) override {
        loads_.clear();
        const Expr value = mutate(store->value);
        if (late_) {
            return Store::make(store->name, value, store->index, store->param, store->predicate, store->alignment);
        }
        return loads_.empty() ? Evaluate::make(0) : Block::make(loads_);
    }
    StagingRegisters &registers_;
    bool late_;
    bool fresh_ = false;  // whether this statement has loaded anything yet
    Expr condition_ = const_true();
    std::vector<Stmt> loads_;  // of the store at hand
};

/// Puts the values of lets, of statements and of expressions, in the place of their names.
class WithoutLets : public IRMutator {
  private:
    using IRMutator::visit;
    Stmt visit(const LetStmt *let) override { return mutate(substitute(let->name, let->value, let->body)); }
    Expr visit(const Let *let) override { return mutate(substitute(let->name, let->value, let->body)); }
};

/// Turns staging stores that move one or four neighbouring floats unchanged, or zeros, into asynchronous copies. Four
/// must be aligned to 16 bytes.
class CopyAsync : public IRMutator {
  public:
    explicit CopyAsync(bool single_floats) : single_floats_(single_floats) {}
    bool all_copied = true;

  private:
    using IRMutator::visit;

    static bool is_aligned(const Load *load, const Expr &base, int lanes) {
        const auto aligned = [&](const ModulusRemainder &known) {
            return known.modulus % lanes == 0 && known.remainder % lanes == 0;
        };
        // Halide may have known more before lets were taken out of the loop.
        return (aligned(load->alignment) || aligned(modulus_remainder(base))) && (!load->param.defined() || load->param.host_alignment() >= lanes * sizeof_float);
    }

    /// The first index of a dense access.
    static Expr dense_base(const Expr &index) {
        if (index.type().is_scalar()) {
            return index;
        }
        const Ramp *ramp = index.as<Ramp>();
        return ramp && is_const_one(ramp->stride) ? ramp->base : Expr();
    }

    Stmt visit(const Store *store) override {
        const int lanes = store->value.type().lanes(), bytes = lanes * sizeof_float;
        const Load *load = store->value.as<Load>();
        Expr bytes_read = bytes;
        if (const Select *select = store->value.as<Select>()) {
            const Broadcast *condition = select->condition.as<Broadcast>();
            const bool zero_first = is_const_zero(select->true_value);
            load = (zero_first ? select->false_value : select->true_value).as<Load>();
            if ((!condition && lanes > 1) || (!zero_first && !is_const_zero(select->false_value))) {
                load = nullptr;
            } else {
                bytes_read = Select::make(condition ? condition->value : select->condition, zero_first ? 0 : bytes,
                                          zero_first ? bytes : 0);
            }
        }
        const Expr from = load ? dense_base(load->index) : Expr(), to = dense_base(store->index);
        if (!(lanes == 4 || (lanes == 1 && single_floats_)) || !from.defined() || !to.defined() ||
            load->type.element_of() != Float(32) || !is_const_one(load->predicate) ||
            !is_const_one(store->predicate) || !is_aligned(load, from, lanes)) {
            all_copied = false;
            return store;
        }
        return placeholder({"copy", {{"bytes", bytes}}},
                           {simplify(to * sizeof_float), address_of(load, from), bytes_read});
    }

    const bool single_floats_;
};

Stmt block_of(const std::vector<Stmt> &statements) {
    return statements.empty() ? Evaluate::make(0) : Block::make(statements);
}

/// The loop, taken apart and put together again.
class PipelinedLoop {
  public:
    PipelinedLoop(const For *loop, std::string shared, int stage_floats, const AsyncStagingOptions &options,
                  const NamedExprs &outer_lets)
        : loop_(loop), shared_(std::move(shared)), stage_floats_(stage_floats), options_(options),
          outer_lets_(outer_lets) {
        take_apart(loop->body);
        if (compute_.empty() || (copied_.empty() && through_registers_.empty())) {
            refuse(loop->name, "it must stage an operand in shared memory and then read it there");
        }
        keep_promotion_apart();
    }

    Stmt rewritten() const {
        const Expr chunk = Variable::make(Int(32), loop_->name), extent = loop_->extent;
        const int registers = register_count();
        std::vector<Stmt> all = {start_copies(0), load(0), store(0), IfThenElse::make(extent > 1, load(1)),
                                 For::make(loop_->name, loop_->min, max(extent - 2, 0), ForType::Serial,
                                           loop_->partition_policy, loop_->device_api, iteration(chunk, 2)),
                                 IfThenElse::make(extent > 1, iteration(extent - 2, 1)),
                                 IfThenElse::make(extent > 0, iteration(extent - 1, 0))};
        if (uses_tensor_cores_) {
            all.push_back(placeholder({"wait", {{"pending", 0}}}));
        }
        all.push_back(barrier());
        Stmt result = Block::make(all);
        if (registers > 0) {
            result = Allocate::make(registers_name, Float(32), MemoryType::Stack, {Expr(registers)}, const_true(),
                                    result);
        }
        return result;
    }

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
            add_leaf(WithoutLets().mutate(leaf));
        }
    }

    void add_leaf(const Stmt &leaf) {
        const Access access = access_of(leaf, shared_);
        if (access.barrier) {
            refuse(loop_->name, "a barrier stands inside a condition or an inner loop");
        }
        if (access.writes && access.reads) {
            refuse(loop_->name, "a statement both reads and writes shared memory");
        }
        if (!access.writes) {
            add_compute(leaf);
            return;
        }
        CopyAsync copies(options_.single_floats);
        const Stmt copy = copies.mutate(leaf);
        (copies.all_copied ? copied_ : through_registers_).push_back(copies.all_copied ? copy : leaf);
    }

    /// The pass places begin, commit, wait and publish itself, once for a whole chunk.
    void add_compute(const Stmt &leaf) {
        for (const char *synchronisation : {"begin", "commit", "wait", "publish"}) {
            if (has_placeholder(leaf, synchronisation)) {
                if (has_placeholder(leaf, "multiply")) {
                    refuse(loop_->name, "a warp tile stands inside a condition or an inner loop");
                }
                uses_tensor_cores_ = true;
                return;
            }
        }
        compute_.push_back(leaf);
    }

    /// Adding a partial tile needs finished products: everything from there on comes after the wait.
    void keep_promotion_apart() {
        const auto first = std::find_if(compute_.begin(), compute_.end(),
                                        [](const Stmt &s) { return has_placeholder(s, "promote"); });
        after_wait_.assign(first, compute_.end());
        compute_.erase(first, compute_.end());
        for (const Stmt &statement : after_wait_) {
            if (has_placeholder(statement, "multiply")) {
                refuse(loop_->name, "a product follows the promotion of a partial tile in the same chunk");
            }
        }
    }

    /// Statements of one chunk, working in that chunk's buffer.
    Stmt instance(const Stmt &statement, const Expr &chunk) const {
        // First the loop variable, then the buffer: the buffer's own index is already in terms of `chunk`.
        const Stmt result = substitute(loop_->name, chunk, statement);
        return ShiftShared(shared_, simplify(chunk % options_.stages * stage_floats_)).mutate(result);
    }

    Stmt start_copies(const Expr &chunk) const {
        if (copied_.empty()) {
            return Evaluate::make(0);
        }
        return Block::make(instance(block_of(copied_), chunk), placeholder({"copy_commit", {}}));
    }

    int register_count() const {
        StagingRegisters registers(outer_lets_, options_.separate_registers);
        for (const Stmt &statement : through_registers_) {
            SplitAtLoads(registers, true).mutate(statement);
        }
        return registers.count;
    }

    std::vector<Stmt> split(const Expr &chunk, bool late) const {
        std::vector<Stmt> pieces;
        StagingRegisters registers(outer_lets_, options_.separate_registers);
        for (const Stmt &statement : through_registers_) {
            registers.shared = false;
            const Stmt half = instance(SplitAtLoads(registers, late).mutate(statement), chunk);
            // A store that uses values of the statement before goes with the piece before it: the registers are filled again
            // right after a piece has been stored.
            if (registers.shared) {
                pieces.back() = Block::make(pieces.back(), half);
            } else {
                pieces.push_back(half);
            }
        }
        return pieces;
    }
    Stmt load(const Expr &chunk) const { return block_of(split(chunk, false)); }
    Stmt store(const Expr &chunk) const { return block_of(split(chunk, true)); }

    static Stmt barrier() {
        constexpr int shared_memory = 2;  // the fence that Halide's back end understands
        return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {Expr(shared_memory)}, Call::Intrinsic));
    }

    /// One chunk, while `ahead` (0, 1 or 2) further chunks are on their way.
    Stmt iteration(const Expr &chunk, int ahead) const {
        std::vector<Stmt> all;
        if (!copied_.empty()) {
            all.push_back(placeholder({"copy_wait", {}}));
        }
        if (uses_tensor_cores_) {
            all.push_back(placeholder({"publish", {}}));
        }
        all.push_back(barrier());
        if (ahead >= 1) {
            all.push_back(start_copies(chunk + 1));
        }
        // What comes before the products, such as clearing a tile, must come before `begin`, too.
        std::size_t first = 0;
        for (; uses_tensor_cores_ && first < compute_.size() && !has_placeholder(compute_[first], "multiply"); first++) {
            all.push_back(instance(compute_[first], chunk));
        }
        if (uses_tensor_cores_) {
            all.push_back(placeholder({"begin", {}}));
        }
        const std::vector<Stmt> stores = ahead >= 1 ? split(chunk + 1, true) : std::vector<Stmt>();
        const std::vector<Stmt> loads = ahead >= 2 ? split(chunk + 2, false) : std::vector<Stmt>();
        const std::size_t pieces = stores.size();
        for (std::size_t i = first, piece = 0; i < compute_.size(); i++) {
            all.push_back(instance(compute_[i], chunk));
            for (; piece < pieces && piece * compute_.size() < (i + 1) * pieces; piece++) {
                all.push_back(stores[piece]);
                if (ahead >= 2) {
                    all.push_back(loads[piece]);
                }
            }
        }
        if (uses_tensor_cores_) {
            all.push_back(placeholder({"commit", {}}));
            all.push_back(placeholder({"wait", {{"pending", after_wait_.empty() ? options_.stages - 2 : 0}}}));
        }
        for (const Stmt &statement : after_wait_) {
            all.push_back(instance(statement, chunk));
        }
        return Block::make(all);
    }

    const For *loop_;
    std::string shared_;
    int stage_floats_;
    const AsyncStagingOptions &options_;
    const NamedExprs &outer_lets_;
    bool uses_tensor_cores_ = false;
    NamedExprs lets_;
    std::vector<Stmt> copied_, through_registers_, compute_, after_wait_;
};

/// Rewrites the pipeline loops inside one shared allocation.
class RewriteLoops : public IRMutator {
  public:
    RewriteLoops(std::string shared, int stage_floats, const AsyncStagingOptions &options)
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
        return PipelinedLoop(loop, shared_, stage_floats_, options_, lets_).rewritten();
    }
    Stmt visit(const LetStmt *let) override {
        lets_.emplace_back(let->name, let->value);
        Stmt body = mutate(let->body);
        lets_.pop_back();
        return LetStmt::make(let->name, let->value, body);
    }
    /// Outside of the loop nothing may live in shared memory: it would be in the way of the second buffer.
    Stmt visit(const Store *store) override {
        if (store->name == shared_) {
            refuse("pipeline", "shared memory is written outside of the loop, to " + shared_);
        }
        return store;
    }
    std::string shared_;
    int stage_floats_;
    const AsyncStagingOptions &options_;
    NamedExprs lets_;
};

}  // namespace

Stmt AsyncCopyPass::visit(const Allocate *allocate) {
    ScopedValue<std::string> shared(shared_, allocate->memory_type == MemoryType::GPUShared ? allocate->name : shared_);
    return IRMutator::visit(allocate);
}

Stmt AsyncCopyPass::visit(const ProducerConsumer *part) {
    // A stage only writes shared memory; a Func that is computed from what is staged reads it, too.
    const Access access = access_of(part->body, shared_);
    if (!part->is_producer || shared_.empty() || !access.writes || access.reads || access.barrier) {
        return IRMutator::visit(part);
    }
    CopyAsync copies(true);
    const Stmt body = copies.mutate(WithoutLets().mutate(part->body));
    if (!copies.all_copied) {
        return part;
    }
    return ProducerConsumer::make(part->name, true, Block::make({body, placeholder({"copy_commit", {}}),
                                                                 placeholder({"copy_wait", {}})}));
}

AsyncStagingPass::AsyncStagingPass(const AsyncStagingOptions &options) : options_(options) {
    if (options.stages < 2) {
        throw AsyncStagingRefusal("asynchronous staging: stages is " + std::to_string(options.stages) +
                                  "; the rule is at least 2");
    }
}

Stmt AsyncStagingPass::visit(const Allocate *allocate) {
    if (allocate->memory_type != MemoryType::GPUShared || !has_loop(allocate->body, "pipeline")) {
        return IRMutator::visit(allocate);
    }
    const auto size = allocate->extents.size() == 1 ? as_const_int(simplify(allocate->extents[0])) : std::nullopt;
    if (!size || allocate->type != Float(32)) {
        refuse("pipeline", "shared memory must be one float32 allocation of constant size");
    }
    const int stage = (static_cast<int>(*size) + allocation_granularity - 1) / allocation_granularity *
                      allocation_granularity;
    Stmt body = RewriteLoops(allocate->name, stage, options_).mutate(allocate->body);
    return Allocate::make(allocate->name, allocate->type, allocate->memory_type, {Expr(stage * options_.stages)},
                          allocate->condition, body);
}

}  // namespace conv_transpose

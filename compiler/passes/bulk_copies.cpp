// Recognising loops that are copies without gaps: see bulk_copies.h.
#include "compiler/passes/bulk_copies.h"

#include <sstream>
#include <string>

#include "compiler/passes/kept_operand.h"
#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/pipeline_options.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int bytes_of_barrier = 8;
constexpr int granularity = 16;          // bytes of a copy
constexpr int most_bytes = 1 << 19;      // an mbarrier counts to 2^20 - 1

template <class Node>
std::string text(const Node &node) {
    std::ostringstream out;
    out << node;
    return out.str().substr(0, 300);
}

/// The first index of a dense access.
Expr dense_base(const Expr &index) {
    const Ramp *ramp = index.as<Ramp>();
    return !ramp ? index : is_const_one(ramp->stride) ? ramp->base : Expr();
}

bool is_multiple(const ModulusRemainder &known, int elements_of_row) {
    return known.modulus % elements_of_row == 0 && known.remainder % elements_of_row == 0;
}

/// Whether one step of a loop moves an index by so many elements, everywhere.
bool steps_by(const Expr &index, const std::string &loop, int elements) {
    const Expr next = substitute(loop, Variable::make(Int(32), loop) + 1, index);
    return is_const(simplify(next - index), elements);
}

int extent_of(const For *loop) { return static_cast<int>(*as_const_int(simplify(loop->extent))); }

/// An expression at the beginning of the loops of `all` that are not `left`.
Expr at_begin(Expr e, const std::vector<const For *> &all, const std::vector<const For *> &left) {
    for (std::size_t i = left.size(); i < all.size(); i++) e = substitute(all[i]->name, 0, e);
    return simplify(e);
}

}  // namespace

Expr number_of_chunk(const std::string &loop) { return Variable::make(Int(32), loop + ".number"); }

Stmt StageBarriers::initialised() const {
    std::vector<Stmt> all;
    for (int stage = 0; stage < stages_; stage++) all.push_back(placeholder({"mbarrier_init", {{"count", 1}}}, {of(stage)}));
    all.push_back(placeholder({"mbarrier_fence", {}}));
    return Block::make(all);
}

Expr StageBarriers::of(const Expr &chunk) const { return simplify(first_ + chunk % stages_ * bytes_of_barrier); }

Stmt StageBarriers::wait(const Expr &chunk) const {
    return placeholder({"mbarrier_wait", {}}, {of(chunk), simplify(chunk / stages_ % 2)});
}

BulkCopies::BulkCopies(const Stmt &staging, const std::string &loop, const NamedExprs &lets, bool several_warpgroups,
                       const StageBarriers &barriers)
    : loop_(loop), lets_(lets), one_thread_(const_true()) {
    Stmt nest = staging;
    for (;;) {
        if (const ProducerConsumer *part = nest.as<ProducerConsumer>()) {
            nest = part->body;
        } else if (const IfThenElse *branch = nest.as<IfThenElse>(); branch && !branch->else_case.defined()) {
            one_thread_ = one_thread_ && branch->condition;
            nest = branch->then_case;
        } else {
            break;
        }
    }
    one_thread_ = simplify(resolve(one_thread_, lets_));
    for (const char *dimension : {"x", "y", "z"}) {
        const std::string thread = std::string(".thread_id_") + dimension;
        const bool excluded = is_const_zero(simplify(substitute(thread, 1, one_thread_)));
        if (!excluded && (*dimension != 'z' || several_warpgroups))
            refuse_pipeline(loop_, "bulk copies must be started by one thread, one of all thread loops of the block, "
                                   "not by those with " + text(one_thread_));
    }
    copies_ = copy(nest, barriers);
}

Stmt BulkCopies::copy(const Stmt &nest, const StageBarriers &barriers) {
    Loops loops;
    Stmt at = nest;
    while (const For *loop = at.as<For>()) {
        if (!is_called(loop, bulk_loops) || loop->for_type != ForType::Serial ||
            !is_const_zero(loop->min) || !as_const_int(simplify(loop->extent)))
            refuse_pipeline(loop_, "in a bulk copy there may only be serial bulk_ loops from 0 to a constant, not " +
                                       loop->name + " to " + text(loop->extent));
        is_kept_ = is_kept_ || is_of_kept_operand(loop);
        loops.push_back(loop);
        at = loop->body;
    }
    const Store *store = at.as<Store>();
    const auto box = store ? box_of_element(store->value) : std::nullopt;
    Stmt result = box ? box_copy(loops, store, *box, barriers) : run_copy(loops, store, barriers);
    if (!result.defined())
        refuse_pipeline(loop_, "a bulk copy moves numbers unchanged, without conditions, and neighbours to neighbours, "
                               "not " + text(at));
    // Around it stay the loops that are no part of it.
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
        bytes_ *= extent_of(*loop);
        result = For::make((*loop)->name, (*loop)->min, (*loop)->extent, ForType::Serial, Partition::Never,
                           (*loop)->device_api, result);
    }
    return result;
}

Expr BulkCopies::base_of(const Expr &index) const {
    const Expr base = dense_base(index);
    return base.defined() ? simplify(resolve(base, lets_)) : base;
}

/// This is the copy for a store of neighbours that were loaded; it takes the loops away that run through both without
/// gaps. It is undefined for other stores.
Stmt BulkCopies::run_copy(Loops &loops, const Store *store, const StageBarriers &barriers) {
    const Load *load = store ? store->value.as<Load>() : nullptr;
    const Expr to = store ? base_of(store->index) : Expr(), from = load ? base_of(load->index) : Expr();
    if (!to.defined() || !from.defined() || !is_const_one(store->predicate) || !is_const_one(load->predicate) ||
        !operand_format(load->type))
        return Stmt();
    const Loops all = loops;
    const int bytes = load->type.element_of().bytes();
    int run = load->type.lanes();
    while (!loops.empty() && steps_by(to, loops.back()->name, run) && steps_by(from, loops.back()->name, run)) {
        run *= extent_of(loops.back());
        loops.pop_back();
    }
    const Expr first_to = at_begin(to, all, loops), first_from = at_begin(from, all, loops);
    const int row = granularity / bytes;
    // Halide may have known more before lets were taken out of the loop.
    const bool aligned = is_multiple(load->alignment, row) || is_multiple(modulus_remainder(first_from), row);
    if (run % row != 0 || !aligned || !is_multiple(modulus_remainder(first_to), row) || !load->param.defined() ||
        load->param.host_alignment() < granularity)
        refuse_pipeline(loop_, "a bulk copy of " + std::to_string(run * bytes) + " bytes from " + text(first_from) +
                                   " of " + load->name + "; the rule is rows of 16 aligned bytes");
    bytes_ = run * bytes;
    return placeholder({"bulk_copy", {{"bytes", bytes_}}},
                       {simplify(first_to * bytes), address_of(load, first_from),
                        barriers.of(number_of_chunk(loop_))});
}

/// This is the copy for a store of elements of a box: the groups of 16 bytes of a position, then positions, must follow
/// each other in shared memory.
Stmt BulkCopies::box_copy(Loops &loops, const Store *store, const TensorBox &box, const StageBarriers &barriers) {
    constexpr int most_positions = 256, rows_of_pattern = 8, bytes_of_line = 128;
    const Expr to = base_of(store->index);
    if (!to.defined() || !is_const_one(store->predicate) || !operand_format(store->value.type())) return Stmt();
    const Loops all = loops;
    const int bytes = store->value.type().element_of().bytes();
    int run = store->value.type().lanes(), row = 0;
    while (!loops.empty() && !is_called(loops.back(), box_loops)) {
        if (!steps_by(to, loops.back()->name, run))
            refuse_pipeline(loop_, "a box of a tensor must lie in shared memory without gaps, but " + loops.back()->name +
                                       " does not step over " + std::to_string(run) + " elements");
        run *= extent_of(loops.back());
        row = row ? row : run * bytes;
        loops.pop_back();
    }
    const Expr first = at_begin(to, all, loops);
    const bool is_swizzled = row == 32 || row == 64 || row == 128;
    const bool is_line = row > 128 && row % granularity == 0 && row / bytes <= most_positions;  // lies as it does in memory
    const int place = is_swizzled ? rows_of_pattern * row : bytes_of_line;
    if (!(is_swizzled || is_line) || run * bytes / row > most_positions ||
        !is_multiple(modulus_remainder(first), place / bytes))
        refuse_pipeline(loop_, "a box of " + std::to_string(run * bytes) + " bytes, " + std::to_string(row) +
                                   " a position, at " + text(first) + "; the rule is 32, 64 or 128 bytes, or more, a multiple of "
                                   "16, of at most 256 elements; at most 256 positions; and a place that is a multiple of eight "
                                   "positions, or of 128 bytes");
    bytes_ = run * bytes;
    swizzled_row_ = is_swizzled ? row : 0;
    std::vector<Expr> arguments{simplify(first * bytes), barriers.of(number_of_chunk(loop_))};
    for (const std::vector<Expr> *part : {&box.coordinates, &box.offsets}) {
        for (const Expr &e : *part) arguments.push_back(at_begin(resolve(e, lets_), all, loops));
    }
    return placeholder({"tensor_copy",
                        {{"coordinates", static_cast<int>(box.coordinates.size())},
                         {"offsets", static_cast<int>(box.offsets.size())},
                         {"map", box.map}}},
                       arguments);
}

Stmt start_bulk_copies(const std::vector<BulkCopies> &all, const std::string &loop, const StageBarriers &barriers,
                       const Expr &is_first) {
    const Expr barrier = barriers.of(number_of_chunk(loop));
    std::vector<Stmt> copies;
    int bytes = 0, kept_bytes = 0;
    for (const BulkCopies &operand : all) {
        const bool kept = is_first.defined() && operand.is_kept();
        (kept ? kept_bytes : bytes) += operand.bytes();
        copies.push_back(kept ? IfThenElse::make(is_first, operand.copies()) : operand.copies());
        if (!equal(operand.one_thread(), all.front().one_thread()))
            refuse_pipeline(loop, "one thread must start the bulk copies of all operands");
    }
    if (bytes + kept_bytes > most_bytes)
        refuse_pipeline(loop, "bulk copies of " + std::to_string(bytes + kept_bytes) + " bytes a chunk; the rule is at most " +
                                  std::to_string(most_bytes));
    const auto expect = [&](int count) { return placeholder({"bulk_expect", {{"bytes", count}}}, {barrier}); };
    copies.insert(copies.begin(), kept_bytes > 0 ? IfThenElse::make(is_first, expect(bytes + kept_bytes), expect(bytes))
                                                 : expect(bytes));
    copies.push_back(placeholder({"bulk_end", {}}, {barrier}));
    return IfThenElse::make(all.front().one_thread(), Block::make(copies));
}

}  // namespace conv_transpose

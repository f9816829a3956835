// Recognising loops that are copies without gaps: see bulk_copies.h.
#include "compiler/passes/bulk_copies.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/pipeline_body.h"

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

}  // namespace

Stmt StageBarriers::initialised() const {
    std::vector<Stmt> all;
    for (int stage = 0; stage < stages_; stage++) {
        all.push_back(placeholder({"mbarrier_init", {{"count", 1}}}, {of(stage)}));
    }
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
        if (!excluded && (*dimension != 'z' || several_warpgroups)) {
            refuse_pipeline(loop_, "bulk copies must be started by one thread, one of all thread loops of the block, "
                                   "not by those with " + text(one_thread_));
        }
    }
    copies_ = copy(nest, barriers);
}

Stmt BulkCopies::copy(const Stmt &nest, const StageBarriers &barriers) {
    std::vector<const For *> loops;
    Stmt at = nest;
    while (const For *loop = at.as<For>()) {
        const bool is_bulk = loop->name.find(std::string(".") + bulk_loops) != std::string::npos;  // or ".rebased"
        if (!is_bulk || loop->for_type != ForType::Serial ||
            !is_const_zero(loop->min) || !as_const_int(simplify(loop->extent))) {
            refuse_pipeline(loop_, "in a bulk copy there may only be serial bulk_ loops from 0 to a constant, not " +
                                       loop->name + " to " + text(loop->extent));
        }
        loops.push_back(loop);
        at = loop->body;
    }
    const std::vector<const For *> all = loops;
    const Store *store = at.as<Store>();
    const Load *load = store ? store->value.as<Load>() : nullptr;
    const auto base_of = [&](const Expr &index) {
        const Expr base = dense_base(index);
        return base.defined() ? simplify(resolve(base, lets_)) : base;
    };
    const Expr to = store ? base_of(store->index) : Expr(), from = load ? base_of(load->index) : Expr();
    if (!to.defined() || !from.defined() || !is_const_one(store->predicate) || !is_const_one(load->predicate) ||
        !operand_format(load->type)) {
        refuse_pipeline(loop_, "a bulk copy moves numbers unchanged, without conditions, and neighbours to neighbours, "
                               "not " + text(at));
    }
    const int bytes = load->type.element_of().bytes();
    int run = load->type.lanes();
    const auto extent = [](const For *loop) { return static_cast<int>(*as_const_int(simplify(loop->extent))); };
    while (!loops.empty() && steps_by(to, loops.back()->name, run) && steps_by(from, loops.back()->name, run)) {
        run *= extent(loops.back());
        loops.pop_back();
    }
    // All other loops have their variables in both indices, those of the run are at 0.
    const auto at_begin = [&](Expr index) {
        for (std::size_t i = loops.size(); i < all.size(); i++) {
            index = substitute(all[i]->name, 0, index);
        }
        return simplify(index);
    };
    const Expr first_to = at_begin(to), first_from = at_begin(from);
    const int row = granularity / bytes;
    // Halide may have known more before lets were taken out of the loop.
    const bool aligned = is_multiple(load->alignment, row) || is_multiple(modulus_remainder(first_from), row);
    if (run % row != 0 || !aligned || !is_multiple(modulus_remainder(first_to), row) || !load->param.defined() ||
        load->param.host_alignment() < granularity) {
        refuse_pipeline(loop_, "a bulk copy of " + std::to_string(run * bytes) + " bytes from " + text(first_from) +
                                   " of " + load->name + "; the rule is rows of 16 aligned bytes");
    }
    bytes_ = run * bytes;
    Stmt result = placeholder({"bulk_copy", {{"bytes", bytes_}}},
                              {simplify(first_to * bytes), address_of(load, first_from),
                               barriers.of(Variable::make(Int(32), loop_))});
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
        bytes_ *= extent(*loop);
        result = For::make((*loop)->name, (*loop)->min, (*loop)->extent, ForType::Serial, Partition::Never,
                           (*loop)->device_api, result);
    }
    return result;
}

Stmt start_bulk_copies(const std::vector<BulkCopies> &all, const std::string &loop, const StageBarriers &barriers) {
    const Expr barrier = barriers.of(Variable::make(Int(32), loop));
    std::vector<Stmt> copies;
    int bytes = 0;
    for (const BulkCopies &operand : all) {
        bytes += operand.bytes();
        copies.push_back(operand.copies());
        if (!equal(operand.one_thread(), all.front().one_thread())) {
            refuse_pipeline(loop, "one thread must start the bulk copies of all operands");
        }
    }
    if (bytes > most_bytes) {
        refuse_pipeline(loop, "bulk copies of " + std::to_string(bytes) + " bytes a chunk; the rule is at most " +
                                  std::to_string(most_bytes));
    }
    copies.insert(copies.begin(), placeholder({"bulk_expect", {{"bytes", bytes}}}, {barrier}));
    copies.push_back(placeholder({"bulk_end", {}}, {barrier}));
    return IfThenElse::make(all.front().one_thread(), Block::make(copies));
}

}  // namespace conv_transpose

// The loop over tiles of a block: see further_tiles.h.
#include "compiler/passes/further_tiles.h"

#include <utility>
#include <vector>

#include "compiler/passes/lowered_ir.h"
#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int bytes_of_float = 4;

class BesideStages : public IRMutator {
  public:
    BesideStages(std::string allocation, int floats) : allocation_(std::move(allocation)), floats_(floats) {}

  private:
    using IRMutator::visit;

    Expr visit(const Load *load) override {
        if (load->name != allocation_) return IRMutator::visit(load);
        return Load::make(load->type, load->name, simplify(mutate(load->index) + floats_), load->image, load->param,
                          load->predicate, ModulusRemainder());
    }
    Stmt visit(const Store *store) override {
        if (store->name != allocation_) return IRMutator::visit(store);
        return Store::make(store->name, mutate(store->value), simplify(mutate(store->index) + floats_), store->param,
                           store->predicate, ModulusRemainder());
    }
    Stmt visit(const Evaluate *op) override {
        const Stmt statement(op);
        if (is_barrier(statement) || has_placeholder(statement, "publish")) return Evaluate::make(0);
        if (has_placeholder(statement, "box_store")) return stored_box(op->value.as<Call>());
        if (!has_placeholder(statement, "turn") && !has_placeholder(statement, "add_shifted")) return IRMutator::visit(op);
        const Call *call = op->value.as<Call>();
        PlaceholderCall turn = PlaceholderCall::parse(call->name);
        turn.fields["at"] = floats_ * bytes_of_float;
        return placeholder(turn, call->args);
    }

    Stmt stored_box(const Call *call) const {
        std::vector<Expr> arguments = call->args;
        arguments[0] = simplify(arguments[0] + floats_ * bytes_of_float);
        return placeholder(PlaceholderCall::parse(call->name), arguments);
    }

    const std::string allocation_;
    const int floats_;
};

}  // namespace

FurtherTiles::FurtherTiles(const For *blocks, const SoftwarePipelineOptions &options)
    : blocks_(blocks), resident_(options.resident_blocks), in_rounds_(options.tiles_in_rounds),
      in_step_(options.kept_chunks > 0), counter_(unique_name("chunks_of_block")) {
    if (!blocks->body.as<Allocate>())
        refuse_pipeline(blocks->name, "between the blocks that have further tiles and their shared memory there may be nothing");
}

Expr FurtherTiles::chunks() const {
    return Load::make(Int(32), counter_, 0, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

Stmt FurtherTiles::count(const Expr &chunks_of_tile) const {
    return Store::make(counter_, chunks() + max(chunks_of_tile, 0), 0, Parameter(), const_true(), ModulusRemainder());
}

Stmt FurtherTiles::of_neighbours(const Stmt &tile) const {
    const std::string number = blocks_->name + ".tile";
    const Expr block = Variable::make(Int(32), blocks_->name), of_each = Variable::make(Int(32), blocks_->name + ".tiles"),
               first_ones = Variable::make(Int(32), blocks_->name + ".rest");
    // The first blocks have one more.
    const Expr begin = block * of_each + min(block, first_ones), end = begin + of_each + select(block < first_ones, 1, 0);
    return For::make(number, begin, end - begin, ForType::Serial, Partition::Never, DeviceAPI::None,
                     substitute(blocks_->name, Variable::make(Int(32), number), tile));
}

Stmt FurtherTiles::of_rounds(const Stmt &tile) const {
    const std::string round = blocks_->name + ".round", number = blocks_->name + ".tile";
    const Expr block = Variable::make(Int(32), blocks_->name), last = (blocks_->extent - 1) / resident_;
    // A place further at every round: where tiles of several lengths follow each other, a block gets some of each.
    const auto place = [&](const Expr &of_round) { return in_step_ ? block : (block + of_round) % resident_; };
    const Expr at = Variable::make(Int(32), round),
               rounds = last + select(place(last) < blocks_->extent - last * resident_, 1, 0);
    const Stmt one = LetStmt::make(number, at * resident_ + place(at),
                                   substitute(blocks_->name, Variable::make(Int(32), number), tile));
    return For::make(round, 0, rounds, ForType::Serial, Partition::Never, DeviceAPI::None, one);
}

Stmt FurtherTiles::of_all_tiles(const Stmt &tile, const Stmt &behind) const {
    Stmt all = in_rounds_ ? of_rounds(tile) : of_neighbours(tile);
    if (behind.defined()) all = Block::make(all, behind);
    all = Block::make(Store::make(counter_, 0, 0, Parameter(), const_true(), ModulusRemainder()), all);
    all = Allocate::make(counter_, Int(32), MemoryType::Register, {Expr(1)}, const_true(), all);
    if (in_rounds_) return all;
    all = LetStmt::make(blocks_->name + ".rest", blocks_->extent % resident_, all);
    return LetStmt::make(blocks_->name + ".tiles", blocks_->extent / resident_, all);
}

Stmt FurtherTiles::beside_stages(const Stmt &consumers, const StagedMemory &memory) {
    return BesideStages(memory.name, memory.scratch()).mutate(consumers);
}

}  // namespace conv_transpose

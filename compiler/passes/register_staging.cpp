// Cutting stores at their loads: see register_staging.h.
#include "compiler/passes/register_staging.h"

#include <algorithm>
#include <map>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Values of each width have an array of their own.
std::string registers_of(const Type &type) {
    return type.bits() == 32 ? "staged_values" : "staged_values_of_" + std::to_string(type.bits()) + "_bits";
}

/// The registers between the two halves, in the order in which SplitAtLoads meets the loads.
struct Registers {
    Registers(const NamedExprs &lets, bool separate) : lets(lets), separate(separate) {}
    struct Slot {
        Expr index;  // in terms of nothing but loops and parameters, so that equal loads are found equal
        std::string array;
        Expr condition;
        int first;
    };
    const NamedExprs &lets;
    const bool separate;
    std::vector<Slot> slots;
    // The first slot of the statement before, and of those that it shares values with.
    std::size_t recent = 0;
    bool shared = false;     // whether the statement at hand uses one of them
    std::map<int, int> counts;  // bits of a value -> values
};

/// One half of staging stores. A value that several stores need (both parts of a split operand do) is loaded
/// once.
class SplitAtLoads : public IRMutator {
  public:
    SplitAtLoads(Registers &registers, bool stores) : registers_(registers), stores_(stores) {}

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
        // Only the values of the statement before this one: see RegisterStaging::split().
        const auto recent = registers_.slots.begin() + registers_.recent;
        const Expr index = simplify(resolve(load->index, registers_.lets));
        const auto same = std::find_if(recent, registers_.slots.end(), [&](const auto &slot) {
            return slot.array == load->name && equal(slot.index, index) && equal(slot.condition, condition_);
        });
        const bool again = same != registers_.slots.end();
        int &count = registers_.counts[load->type.bits()];
        const int first = again ? same->first : count;
        registers_.shared = registers_.shared || (again && !fresh_);
        if (!again) {
            if (!fresh_ && !registers_.shared) registers_.recent = registers_.slots.size();
            fresh_ = true;
            registers_.slots.push_back({index, load->name, condition_, first});
            count += lanes;
        }
        const Ramp *ramp = load->index.as<Ramp>();
        const bool dense = lanes == 1 || (ramp && is_const_one(ramp->stride));
        return registers_.separate && !dense ? gathered(load, first, again)
                                             : side_by_side(load, first, again);
    }

    Expr side_by_side(const Load *load, int first, bool again) {
        const int lanes = load->type.lanes();
        const Expr slot = lanes == 1 ? Expr(first) : Ramp::make(first, 1, lanes), always = const_true(lanes);
        if (!again)
            loads_.push_back(
                Store::make(registers_of(load->type), load, slot, Parameter(), always, ModulusRemainder()));
        return Load::make(load->type, registers_of(load->type), slot, Buffer<>(), Parameter(), always,
                          ModulusRemainder());
    }

    /// Values from here and there keep a register each.
    Expr gathered(const Load *load, int first, bool again) {
        std::vector<Expr> values;
        for (int lane = 0; lane < load->type.lanes(); lane++) {
            const Type type = load->type.element_of();
            const Expr index = Shuffle::make_extract_element(load->index, lane);
            const Expr value = Load::make(type, load->name, simplify(index), load->image, load->param,
                                          const_true(), ModulusRemainder());
            if (!again)
                loads_.push_back(Store::make(registers_of(type), value, first + lane, Parameter(), const_true(),
                                             ModulusRemainder()));
            values.push_back(Load::make(type, registers_of(type), first + lane, Buffer<>(), Parameter(),
                                        const_true(), ModulusRemainder()));
        }
        return Shuffle::make_concat(values);
    }

    Stmt visit(const Store *store) override {
        loads_.clear();
        const Expr value = mutate(store->value);
        if (stores_)
            return Store::make(store->name, value, store->index, store->param, store->predicate,
                               store->alignment);
        return block_of(loads_);
    }

    Registers &registers_;
    const bool stores_;
    bool fresh_ = false;  // whether this statement has loaded anything yet
    Expr condition_ = const_true();
    std::vector<Stmt> loads_;  // of the store at hand
};

}  // namespace

RegisterStaging::Halves RegisterStaging::split(bool stores) const {
    Halves halves;
    Registers registers(lets_, separate_);
    for (const Stmt &statement : statements_) {
        registers.shared = false;
        const Stmt half = SplitAtLoads(registers, stores).mutate(statement);
        // A store that uses values of the statement before goes with the piece before it: the registers are
        // filled again right after a piece has been stored.
        if (registers.shared) {
            halves.pieces.back() = Block::make(halves.pieces.back(), half);
        } else {
            halves.pieces.push_back(half);
        }
    }
    halves.registers = registers.counts;
    return halves;
}

Stmt RegisterStaging::with_registers(const Stmt &body) const {
    Stmt result = body;
    for (const auto &[bits, count] : split(true).registers) {
        const Type type = bits == 32 ? Float(32) : UInt(bits);
        result = Allocate::make(registers_of(type), type, MemoryType::Stack, {Expr(count)}, const_true(), result);
    }
    return result;
}

}  // namespace conv_transpose

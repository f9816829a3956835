// Recipes, and their one interpreter: see recipe.h.
#include "plan/recipe.h"

#include <stdexcept>

namespace conv_transpose {

namespace {

struct NamedArgument {
    Operand operand;
    const char *name;
    const void *(*address)(const Arguments &);
};

// In the order in which a missing one is named.
constexpr NamedArgument arguments_by_name[] = {
    {Operand::input, "input", [](const Arguments &a) { return a.input; }},
    {Operand::output_gradient, "output_gradient", [](const Arguments &a) { return a.output_gradient; }},
    {Operand::weight, "weight", [](const Arguments &a) { return a.weight; }},
    {Operand::bias, "bias", [](const Arguments &a) { return a.bias; }},
    {Operand::output, "output", [](const Arguments &a) -> const void * { return a.output; }},
    {Operand::input_gradient, "input_gradient", [](const Arguments &a) -> const void * { return a.input_gradient; }},
    {Operand::weight_gradient, "weight_gradient", [](const Arguments &a) -> const void * { return a.weight_gradient; }},
    {Operand::bias_gradient, "bias_gradient", [](const Arguments &a) -> const void * { return a.bias_gradient; }},
    {Operand::packed_weight, "packed_weight", [](const Arguments &a) { return a.packed_weight; }},
};

void *&at(Addresses &addresses, Operand operand) noexcept { return addresses[static_cast<size_t>(operand)]; }

bool uses(const Step &step, Operand operand) noexcept {
    for (const View &view : step.views())
        if (view.operand() == operand) return true;
    return false;
}

}  // namespace

int64_t Recipe::aligned(int64_t bytes) const noexcept { return round_up(bytes, device_ == Device::cuda ? 256 : 64); }

int64_t Recipe::end_of_regions() const noexcept {
    return regions_.empty() ? 0 : regions_.back().offset + regions_.back().bytes;
}

Operand Recipe::add_region(const char *name, int64_t bytes) {
    const size_t index = static_cast<size_t>(Operand::first_region) + regions_.size();
    if (index == Addresses().size()) throw std::logic_error("a recipe has too many regions");
    regions_.push_back({name, aligned(end_of_regions()), bytes});
    return static_cast<Operand>(index);
}

void Recipe::add_weight_packing(Step step, int64_t bytes) {
    packing_.push_back(std::move(step));
    packed_weight_bytes_ = bytes;
}

std::size_t Recipe::workspace_bytes(bool with_packed_weight) const noexcept {
    if (with_packed_weight || packing_.empty()) return end_of_regions();
    return aligned(end_of_regions()) + packed_weight_bytes_;
}

const char *Recipe::missing_argument(const Arguments &arguments) const noexcept {
    const bool packs = !packing_.empty() && !arguments.packed_weight;
    for (const NamedArgument &a : arguments_by_name) {
        if (a.address(arguments) || a.operand == Operand::packed_weight) continue;
        if (packs && uses(packing_[0], a.operand)) return a.name;
        for (const Planned &planned : steps_)
            if (uses(planned.step, a.operand)) return a.name;
    }
    return nullptr;
}

Status Recipe::run(const Arguments &arguments, void *workspace, RunContext &context) const noexcept {
    Addresses addresses{};
    for (const NamedArgument &a : arguments_by_name) at(addresses, a.operand) = const_cast<void *>(a.address(arguments));
    char *const begin = static_cast<char *>(workspace);
    for (size_t i = 0; i < regions_.size(); i++)
        addresses[static_cast<size_t>(Operand::first_region) + i] = begin + regions_[i].offset;
    if (!packing_.empty() && !arguments.packed_weight) {
        at(addresses, Operand::packed_weight) = begin + aligned(end_of_regions());
        if (Status s = packing_[0].run(addresses, context); !s.ok()) return s;
    }
    for (const Planned &planned : steps_) {
        if (planned.repeats && context.rehearsal) continue;
        if (Status s = planned.step.run(addresses, context); !s.ok()) return s;
    }
    return {};
}

Status Recipe::pack_weight(const void *weight, void *packed, RunContext &context) const noexcept {
    Addresses addresses{};
    at(addresses, Operand::weight) = const_cast<void *>(weight);
    at(addresses, Operand::packed_weight) = packed;
    return packing_.empty() ? Status() : packing_[0].run(addresses, context);
}

}  // namespace conv_transpose

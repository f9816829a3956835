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

void Recipe::add_weight_packing(std::vector<Step> steps, int64_t bytes) {
    packing_ = std::move(steps);
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
        if (packs && uses(packing_.front(), a.operand)) return a.name;
        for (const Pass &pass : passes_)
            for (const MovingStep &moving : pass.steps)
                if (uses(moving.step, a.operand)) return a.name;
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
        if (Status s = run_packing(addresses, context); !s.ok()) return s;
    }
    for (const Pass &pass : passes_)
        if (Status s = run(pass, addresses, context); !s.ok()) return s;
    return {};
}

// A rehearsal has the first launch of those that differ in addresses alone, or in being fewer.
Status Recipe::run(const Pass &pass, const Addresses &addresses, RunContext &context) const noexcept {
    if (pass.repeats && context.rehearsal) return {};
    for (int64_t outer = 0; outer < pass.launches[0]; outer++)
        for (int64_t inner = 0; inner < pass.launches[1]; inner++)
            for (const MovingStep &moving : pass.steps) {
                if (context.rehearsal && outer + inner > 0) return {};
                Step::Moves moves;
                for (size_t i = 0; i < moves.size(); i++) moves[i] = outer * moving.outer[i] + inner * moving.inner[i];
                if (Status s = moving.step.run(addresses, moves, context); !s.ok()) return s;
            }
    return {};
}

void Recipe::add_pass(std::vector<Step> steps, const std::vector<Step> &next_outer, const std::vector<Step> &next_inner,
                      std::array<int64_t, 2> launches, bool repeats) {
    Pass pass{{}, launches, repeats};
    for (size_t i = 0; i < steps.size(); i++)
        pass.steps.push_back({steps[i], next_outer.empty() ? Step::Moves{} : steps[i].moves_to(next_outer[i]),
                              next_inner.empty() ? Step::Moves{} : steps[i].moves_to(next_inner[i])});
    passes_.push_back(std::move(pass));
}

Status Recipe::pack_weight(const void *weight, void *packed, RunContext &context) const noexcept {
    Addresses addresses{};
    at(addresses, Operand::weight) = const_cast<void *>(weight);
    at(addresses, Operand::packed_weight) = packed;
    return run_packing(addresses, context);
}

Status Recipe::run_packing(const Addresses &addresses, RunContext &context) const noexcept {
    for (const Step &step : packing_)
        if (Status s = step.run(addresses, {}, context); !s.ok()) return s;
    return {};
}

}  // namespace conv_transpose

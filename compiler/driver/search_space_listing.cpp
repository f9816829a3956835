// Listing search spaces: see search_space_listing.h.
#include "compiler/driver/search_space_listing.h"

#include <algorithm>
#include <sstream>

#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

namespace {

template <class Items, class Write>
void write_list(std::ostream &out, const Items &items, char open, char close, Write write) {
    const char *separator = "";
    out << open;
    for (const auto &item : items) {
        out << separator;
        write(item);
        separator = ",";
    }
    out << close;
}

// Goes to the next combination that differs in the first so many positions, of which the last is fastest, and tells which
// positions changed: those from the returned one on. None is left where that is the number of positions.
size_t advance(std::vector<size_t> &positions, const std::vector<SearchSpace::Choice> &choices, size_t first) {
    std::fill(positions.begin() + static_cast<std::ptrdiff_t>(first), positions.end(), 0);
    for (size_t i = first; i-- > 0;) {
        if (++positions[i] < choices[i].values.size()) return i;
        positions[i] = 0;
    }
    return positions.size();
}

std::string text(const SearchSpace::Choice &choice, size_t position) {
    const int value = choice.values[position];
    return choice.is_bool ? (value ? "true" : "false") : std::to_string(value);
}

}  // namespace

std::string search_space_listing(Halide::Internal::AbstractGenerator &generator) {
    // Halide lets parameters be read only once the arguments are known.
    (void)generator.arginfos();
    const auto *described = dynamic_cast<const DescribedGenerator *>(&generator);
    SearchSpace space;
    if (described) described->search_space(space);
    const auto &choices = space.choices();
    std::ostringstream out;
    const auto number = [&](auto value) { out << value; };

    out << "{\"choices\":";
    write_list(out, choices, '{', '}', [&](const SearchSpace::Choice &choice) {
        out << '"' << choice.parameter << "\":";
        write_list(out, choice.values, '[', ']', number);
    });
    std::vector<std::string> booleans;
    for (const SearchSpace::Choice &choice : choices)
        if (choice.is_bool) booleans.push_back('"' + choice.parameter + '"');
    out << ",\"booleans\":";
    write_list(out, booleans, '[', ']', [&](const std::string &name) { out << name; });
    out << ",\"default\":";
    write_list(out, choices, '{', '}', [&](const SearchSpace::Choice &choice) {
        out << '"' << choice.parameter << "\":" << choice.present;
    });

    std::vector<std::vector<size_t>> feasible;
    std::vector<size_t> positions(choices.size(), 0);
    // A parameter that no value suits leaves no combination.
    const bool possible = std::none_of(choices.begin(), choices.end(), [](const auto &c) { return c.values.empty(); });
    for (size_t changed = 0; possible && changed < choices.size();) {
        for (size_t i = changed; i < choices.size(); i++)
            generator.set_generatorparam_value(choices[i].parameter, text(choices[i], positions[i]));
        SearchSpace present = SearchSpace::rules_only();
        described->search_space(present);
        if (present.obeyed()) feasible.push_back(positions);
        const size_t differing = std::min(present.chosen_before_broken(), choices.size());
        changed = advance(positions, choices, differing);
    }
    out << ",\"feasible\":";
    write_list(out, feasible, '[', ']',
               [&](const std::vector<size_t> &point) { write_list(out, point, '[', ']', number); });
    out << '}';
    return out.str();
}

}  // namespace conv_transpose

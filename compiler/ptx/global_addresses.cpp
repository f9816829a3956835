#include "compiler/ptx/global_addresses.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

namespace conv_transpose {

namespace {

/// Which argument of a call stands for a global address, or -1.
int address_argument(const std::string &kind) {
    const bool stores = kind == "store_single" || kind == "store_pair" || kind == "store_run" || kind == "row_store";
    return kind == "copy" || kind == "bulk_copy" ? 1 : stores ? 0 : -1;
}

/// The registers that a load from global memory fills, each with its distance in bytes.
std::vector<std::pair<std::string, int>> loaded_registers(const std::string &line) {
    const std::size_t load = line.find("ld.global");
    if (load == std::string::npos) return {};
    const std::size_t first = line.find('%', load), open = line.find('[', load);
    const std::size_t type = line.find_first_of(" \t{", load) - 2;
    const int bytes = std::isdigit(static_cast<unsigned char>(line[type])) ? std::stoi(line.substr(type)) / 8 : 1;
    std::vector<std::pair<std::string, int>> result;
    std::istringstream registers(line.substr(first, open - first));
    for (std::string name; std::getline(registers, name, ',');) {
        name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return c == ' ' || c == '}'; }),
                   name.end());
        if (!name.empty()) result.emplace_back(name, bytes * static_cast<int>(result.size()));
    }
    return result;
}

struct Copy {
    std::string to, from;
};

/// A copy from register to register. Where paths through the code join, LLVM may leave a loaded value by one of these.
std::optional<Copy> copy_of_register(const std::string &line) {
    static const std::regex copy(R"(^\s*mov\.[bf](?:16|32)\s+(%\w+), (%\w+);)");
    std::smatch found;
    if (!contains(line, "mov.") || !std::regex_search(line, found, copy)) return std::nullopt;
    return Copy{found[1], found[2]};
}

}  // namespace

GlobalAddresses::GlobalAddresses(const std::vector<std::string> &lines) {
    for (std::size_t i = 0; i < lines.size(); i++) {
        const auto site = read_call(lines, i);
        const int argument = site ? address_argument(site->call.kind) : -1;
        if (argument >= 0) kept_.emplace(site->arguments.at(argument), -1);
    }
    std::vector<Copy> copies;
    for (const std::string &line : lines) {
        if (const auto copy = copy_of_register(line)) copies.push_back(*copy);
    }
    for (std::size_t before = 0; before != kept_.size();) {  // copies of copies
        before = kept_.size();
        for (const Copy &copy : copies) {
            if (kept_.contains(copy.to)) kept_.emplace(copy.from, -1);
        }
    }
    // In the text a load may come after the call, though it runs before: number them first.
    for (const std::string &line : lines) {
        for (const auto &[name, distance] : loaded_registers(line)) {
            if (const auto wanted = kept_.find(name); wanted != kept_.end()) wanted->second = count_++;
        }
    }
    for (const Copy &copy : copies) {
        if (const auto wanted = kept_.find(copy.to); wanted != kept_.end() && wanted->second < 0) wanted->second = count_++;
    }
}

void GlobalAddresses::keep(const std::string &line, PtxWriter &out) const {
    if (const auto copy = copy_of_register(line); copy && kept_.contains(copy->to)) {
        out.line("\tmov.b64 \t", place(copy->to, "a copy"), ", ", place(copy->from, "a copy"), ";");
        return;
    }
    for (const auto &[name, distance] : loaded_registers(line)) {
        const auto wanted = kept_.find(name);
        if (wanted == kept_.end()) continue;
        const std::size_t open = line.find('['), close = line.find(']', open);
        std::string base = line.substr(open + 1, close - open - 1), offset = "0";
        if (const std::size_t plus = base.find('+'); plus != std::string::npos) {
            offset = base.substr(plus + 1);
            base.resize(plus);
        }
        out.line("\tadd.s64 \t%tc_address", wanted->second, ", ", base, ", ", std::stol(offset) + distance,
                 ";");
    }
}

std::string GlobalAddresses::of(const CallSite &site) const {
    return place(site.arguments.at(address_argument(site.call.kind)), site.call.name());
}

std::string GlobalAddresses::place(const std::string &value, const std::string &user) const {
    const int kept = kept_.at(value);
    if (kept < 0) throw PtxExpansionError("PTX expansion: no load defines " + value + ", the address of " + user);
    return "%tc_address" + std::to_string(kept);
}

void GlobalAddresses::declare(PtxWriter &out) const {
    out.line("\t.reg .b64 %tc_address<", std::max({static_cast<int>(kept_.size()), count_, 1}), ">;");
}

}  // namespace conv_transpose

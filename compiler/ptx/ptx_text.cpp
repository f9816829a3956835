#include "compiler/ptx/ptx_text.h"

#include <map>
#include <sstream>

#include "compiler/passes/operand_format.h"

namespace conv_transpose {

std::vector<std::string> split_lines(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

bool contains(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

bool is_float(const PlaceholderCall &call) {
    return static_cast<OperandFormat>(call.field_or(format_field, 0)) == OperandFormat::float32;
}

SharedAddress::SharedAddress(const CallSite &site) : at(site.arguments.at(0)) {
    if (at.starts_with('%')) return;
    begin = "{ .reg .b32 constant; mov.b32 constant, " + at + "; ";  // a constant is no address
    at = "constant", end = " }";
}

std::optional<CallSite> read_call(const std::vector<std::string> &lines, std::size_t &at) {
    if (!contains(lines[at], "{ // callseq")) {
        return std::nullopt;
    }
    std::size_t end = at;
    std::string name, result;
    std::map<int, std::string> arguments;
    for (; end < lines.size() && !contains(lines[end], "} // callseq"); end++) {
        const std::string &line = lines[end];
        if (const std::size_t call = line.find("call.uni"); call != std::string::npos) {
            const std::size_t begin = line.find("), ", call) + 3;
            name = line.substr(begin, line.find(',', begin) - begin);
        } else if (const std::size_t store = line.find("[param"); contains(line, "st.param") &&
                                                                   store != std::string::npos) {
            const std::size_t value = line.find("], ", store) + 3;
            arguments[std::stoi(line.substr(store + 6))] = line.substr(value, line.find(';') - value);
        } else if (contains(line, "ld.param") && contains(line, "[retval0")) {
            const std::size_t value = line.find('%');
            result = line.substr(value, line.find(',') - value);
        }
    }
    if (!name.starts_with(placeholder_prefix)) return std::nullopt;
    CallSite site{PlaceholderCall::parse(name), {}, result};
    for (const auto &[index, value] : arguments) site.arguments.push_back(value);
    at = end;
    return site;
}

}  // namespace conv_transpose

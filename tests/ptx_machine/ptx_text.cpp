// Text of PTX: see ptx_text.h.
#include "ptx_text.h"

#include <algorithm>
#include <cctype>

namespace ptx_machine {

std::string_view trimmed(std::string_view text) {
    const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)); };
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::string without_comments(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); i++) {
        if (text.substr(i, 2) == "/*") {
            i = text.find("*/", i) + 1;
            continue;
        }
        if (text.substr(i, 2) == "//")
            while (i + 1 < text.size() && text[i] != '\n') i++;
        result += text[i];
    }
    return result;
}

std::vector<std::string> split_operands(std::string_view text) {
    std::vector<std::string> parts;
    std::string part;
    int depth = 0;
    for (const char c : text) {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (c == ',' && depth == 0) {
            parts.emplace_back(trimmed(part));
            part.clear();
        } else {
            part += c;
        }
    }
    if (!trimmed(part).empty()) parts.emplace_back(trimmed(part));
    return parts;
}

std::vector<std::string> split_name(const std::string &name) {
    std::vector<std::string> parts;
    for (size_t at = 0; at <= name.size();) {
        const size_t dot = std::min(name.find('.', at), name.size());
        parts.push_back(name.substr(at, dot - at));
        at = dot + 1;
    }
    return parts;
}

bool contains(const std::vector<std::string> &parts, std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
}

int bytes_of(std::string_view type) {
    if (type.ends_with("64")) return 8;
    if (type.ends_with("32")) return 4;
    return type.ends_with("16") ? 2 : 1;
}

}  // namespace ptx_machine

// Writing and reading the names of placeholder calls.
#include "compiler/passes/placeholder_calls.h"

#include <stdexcept>

namespace conv_transpose {

std::string PlaceholderCall::name() const {
    std::string text = std::string(placeholder_prefix) + kind + "_";
    for (const auto &[key, value] : fields) {
        if (value < 0) throw std::invalid_argument("placeholder " + kind + ": field " + key + " is negative");
        text += "_" + key + std::to_string(value);
    }
    return text;
}

PlaceholderCall PlaceholderCall::parse(std::string_view name) {
    const auto malformed = [&] {
        return std::invalid_argument("not a placeholder call: " + std::string(name));
    };
    const std::size_t end_of_kind = name.find("__");
    if (!name.starts_with(placeholder_prefix)) throw malformed();
    PlaceholderCall call;
    const std::size_t begin = placeholder_prefix.size();
    if (end_of_kind == std::string_view::npos) {
        // No fields: the name ends with one underscore.
        call.kind = name.substr(begin, name.size() - 1 - begin);
        return call;
    }
    call.kind = name.substr(begin, end_of_kind - begin);
    for (std::size_t at = end_of_kind + 2; at < name.size();) {
        const std::size_t stop = std::min(name.find('_', at), name.size());
        const std::string_view field = name.substr(at, stop - at);
        const std::size_t digits = field.find_first_of("0123456789");
        if (digits == 0 || digits == std::string_view::npos) throw malformed();
        call.fields[std::string(field.substr(0, digits))] = std::stoi(std::string(field.substr(digits)));
        at = stop + 1;
    }
    return call;
}

int PlaceholderCall::field(const std::string &key) const {
    const auto found = fields.find(key);
    if (found == fields.end()) throw std::invalid_argument("placeholder " + kind + " has no field " + key);
    return found->second;
}

int PlaceholderCall::field_or(const std::string &key, int otherwise) const {
    const auto found = fields.find(key);
    return found == fields.end() ? otherwise : found->second;
}

}  // namespace conv_transpose

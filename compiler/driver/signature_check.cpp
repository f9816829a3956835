// Comparing arguments with a signature: see signature_check.h.
#include "compiler/driver/signature_check.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "algorithm/element_operations.h"

namespace conv_transpose {

namespace {

using Halide::Internal::LoweredArgument;

// An argument in words, as both sides have it.
struct Described {
    std::string name, what;
};

std::string tensor(bool written, int dimensions) {
    return std::string(written ? "an output" : "an input") + " tensor of " + std::to_string(dimensions) + " dimensions";
}

Described describe(const Argument &argument, int axis, int rank) {
    Described d{std::string(argument.name), ""};
    if (argument.per_axis) d.name += "_" + std::string(axis_names[axis]);
    switch (argument.kind) {
        case ArgumentKind::tensor: d.what = tensor(argument.written, argument.dimensions(rank)); break;
        case ArgumentKind::int32: d.what = "a scalar int32"; break;
        case ArgumentKind::float32: d.what = "a scalar float32"; break;
    }
    return d;
}

std::string type_name(const Halide::Type &type) {
    std::ostringstream text;
    text << type;
    return text.str();
}

Described describe(const LoweredArgument &argument, const std::string &name) {
    if (argument.is_buffer()) return {name, tensor(argument.is_output(), argument.dimensions)};
    return {name, "a scalar " + type_name(argument.type)};
}

// What a tensor of the role may hold.
bool element_fits(const Halide::Type &type, TensorRole role) {
    if (role == TensorRole::partial) return type == Halide::Float(32);
    return std::any_of(std::begin(storages), std::end(storages),
                       [&](const NamedStorage &s) { return type == halide_type(s.storage); });
}

// The names are those that generators declared: Halide knows an output by its Func, to whose name it appends a number
// where there are others of that name.
std::vector<std::pair<LoweredArgument, std::string>> arguments_of(const Halide::Module &module) {
    const auto names = module.get_metadata_name_map();
    std::vector<std::pair<LoweredArgument, std::string>> arguments;
    for (const LoweredArgument &a : module.get_function_by_name(module.name()).args) {
        if (a.name == "__user_context") continue;
        const auto renamed = names.find(a.name);
        const std::string name = renamed == names.end() ? a.name : renamed->second;
        arguments.emplace_back(a, name.substr(0, name.find('$')));
    }
    return arguments;
}

std::string str(const Described &d) { return "'" + d.name + "', " + d.what; }

}  // namespace

void check_signature(const Halide::Module &module, const Signature &signature, int rank) {
    const auto reject = [&](int position, const std::string &has, const std::string &says) {
        throw std::runtime_error("argument " + std::to_string(position) + " of kernel " + module.name() +
                                 ": the generator has " + has + ", the signature of family " +
                                 std::string(signature.family) + " (algorithm/signature.h) says " + says);
    };
    const auto arguments = arguments_of(module);
    const int count = static_cast<int>(arguments.size());
    int position = 0;
    signature.for_each(rank, [&](const Argument &wanted, int axis) {
        const Described says = describe(wanted, axis, rank);
        if (position >= count) reject(position, "no such argument", str(says));
        const auto &[argument, name] = arguments[position];
        const Described has = describe(argument, name);
        if (has.name != says.name || has.what != says.what) reject(position, str(has), str(says));
        if (argument.is_buffer() && !element_fits(argument.type, wanted.role))
            reject(position, str(has) + " of " + type_name(argument.type),
                   "elements are " + (wanted.role == TensorRole::partial ? storages[0].element_type : names_of_element_types()));
        position++;
    });
    if (position < count) reject(position, str(describe(arguments[position].first, arguments[position].second)),
                                 "that there are " + std::to_string(position) + " arguments");
}

}  // namespace conv_transpose

// What a tensor's format is called: by generator parameters, and as C++ text in the registry's row.
#ifndef CONV_TRANSPOSE_GENERATORS_FORMAT_TEXT_H
#define CONV_TRANSPOSE_GENERATORS_FORMAT_TEXT_H

#include <map>
#include <string>

#include "algorithm/element_format.h"

namespace conv_transpose {

/// The values of a generator parameter.
inline std::map<std::string, Storage> storage_names() {
    std::map<std::string, Storage> names;
    for (const NamedStorage &s : storages) names.emplace(s.name, s.storage);
    return names;
}

inline std::string format_text(Storage storage, bool channels_last = false) {
    return std::string("{ElementType::") + named(storage).element_type + (channels_last ? ", Layout::channels_last}" : "}");
}

}  // namespace conv_transpose

#endif

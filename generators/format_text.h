// The format of a tensor as C++ text, for the registry's row.
#ifndef CONV_TRANSPOSE_GENERATORS_FORMAT_TEXT_H
#define CONV_TRANSPOSE_GENERATORS_FORMAT_TEXT_H

#include <string>

#include "algorithm/element_format.h"

namespace conv_transpose {

inline std::string format_text(Storage storage, bool channels_last = false) {
    const char *type = storage == Storage::f16 ? "float16" : storage == Storage::bf16 ? "bfloat16" : "float32";
    return std::string("{ElementType::") + type + (channels_last ? ", Layout::channels_last}" : "}");
}

}  // namespace conv_transpose

#endif

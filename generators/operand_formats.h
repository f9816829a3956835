// What the compiler's passes call an element type: both lists have one order.
#ifndef CONV_TRANSPOSE_GENERATORS_OPERAND_FORMATS_H
#define CONV_TRANSPOSE_GENERATORS_OPERAND_FORMATS_H

#include <string_view>

#include "algorithm/element_format.h"
#include "compiler/passes/operand_format.h"

namespace conv_transpose {

constexpr OperandFormat operand_format(Storage storage) { return static_cast<OperandFormat>(storage); }

static_assert([] {
    for (const NamedStorage &s : storages)
        if (std::string_view(named(operand_format(s.storage)).name) != s.element_type) return false;
    return true;
}());

}  // namespace conv_transpose

#endif

// From the rows that generators write to KernelTraits: for the registry and for kernel packs.
//
//   #define CONV_TRANSPOSE_KERNEL CONV_TRANSPOSE_DECLARE_KERNEL     before including a file of rows, for the declarations
//   #define CONV_TRANSPOSE_KERNEL CONV_TRANSPOSE_KERNEL_ROW         the same inside of an array's braces
#ifndef CONV_TRANSPOSE_RUNTIME_KERNEL_ROWS_H
#define CONV_TRANSPOSE_RUNTIME_KERNEL_ROWS_H

#include "choice/kernel_traits.h"

namespace conv_transpose {

template <class SetFields>
constexpr KernelTraits make_kernel_row(std::string_view name, KernelFunction function, SetFields set_fields) {
    KernelTraits traits;
    traits.name = name;
    traits.function = function;
    set_fields(traits);
    return traits;
}

}  // namespace conv_transpose

#define CONV_TRANSPOSE_DECLARE_KERNEL(name, ...) extern "C" int name##_argv(void **);
#define CONV_TRANSPOSE_KERNEL_ROW(name, ...) \
    conv_transpose::make_kernel_row(#name, name##_argv, [](conv_transpose::KernelTraits &traits) { __VA_ARGS__; }),

#endif

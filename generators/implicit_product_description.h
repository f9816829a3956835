// What the generators of implicit matrix products on tensor cores tell the registry alike.
#ifndef CONV_TRANSPOSE_GENERATORS_IMPLICIT_PRODUCT_DESCRIPTION_H
#define CONV_TRANSPOSE_GENERATORS_IMPLICIT_PRODUCT_DESCRIPTION_H

#include "algorithm/tensor_core_operands.h"
#include "algorithm/weight_layouts.h"
#include "schedules/kernel_description.h"

namespace conv_transpose {

/// What the registry is told of such a kernel, beside its problem.
inline void describe_implicit_product(int parts, int chunk_channels, KernelDescription &description) {
    description.set("precision", tensor_core_precision(parts));
    description.set("weight_layout", enumerator(tensor_core_layout(parts, 1)));
    description.set("weight_channel_multiple", 64);
    description.set("weight_tile", 64 * parts);  // at every kernel position
    description.set("weight_in_channel_multiple", chunk_channels);
}

}  // namespace conv_transpose

#endif

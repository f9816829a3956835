// An axis of one position is no axis: a problem of rank 1 is one of rank 2 whose pictures have one row.
#ifndef CONV_TRANSPOSE_RUNTIME_LOWER_RANK_H
#define CONV_TRANSPOSE_RUNTIME_LOWER_RANK_H

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

/// The problem as one of rank 2, with the same tensors in memory; as it is, if its depth has more positions than one.
inline Problem with_two_axes(const Problem &p) {
    const Axis &d = p.depth();
    if (d.input != 1 || d.kernel != 1 || d.padding != 0 || d.output_padding != 0) return p;
    Problem plane = p;
    plane.rank = 2;
    plane.depth() = {};
    return plane;
}

}  // namespace conv_transpose

#endif

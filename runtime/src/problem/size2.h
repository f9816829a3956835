// Sizes in the plane: what kernels that are made for pictures of two dimensions ask of height and width.
#ifndef CONV_TRANSPOSE_RUNTIME_SIZE2_H
#define CONV_TRANSPOSE_RUNTIME_SIZE2_H

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose {

struct Size2 {
    int64_t height = 0, width = 0;
    friend bool operator==(const Size2 &, const Size2 &) = default;
};

inline int64_t area(Size2 size) { return size.height * size.width; }

/// One attribute of height and width.
inline Size2 plane_of(const Problem &p, int64_t Axis::*attribute) {
    return {p.height().*attribute, p.width().*attribute};
}

inline Size2 output_plane(const Problem &p) { return {p.height().output(), p.width().output()}; }

}  // namespace conv_transpose

#endif

// Packed pictures: how the tensors of a weight gradient lie for kernels that multiply them as matrices
// (generators/picture_packing.cpp, weight_gradient_product.h).
#ifndef CONV_TRANSPOSE_RUNTIME_PACKED_PICTURES_H
#define CONV_TRANSPOSE_RUNTIME_PACKED_PICTURES_H

#include <array>
#include <string>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// Columns, rows and planes.
struct Extent {
    int64_t x, y, z;

    int64_t positions() const { return x * y * z; }
};

/// The same position of four pictures lies side by side. A picture is an image or a strip of its planes: where
/// there are too few images, or where four of them would take too much memory.
struct PackedPictures {
    /// Which axes of the problem are x, y and z: z is the outermost that can be cut into strips, which in a plane is the
    /// height and in a row of samples the width.
    std::array<int, 3> axes;
    int strip_bits;  ///< an image has 2^strip_bits strips
    Extent input,
        output;     ///< of a strip: its own, and those that its taps reach, padding included
    int64_t fours;  ///< of pictures

    explicit PackedPictures(const Problem &);

    int64_t strips() const { return int64_t{1} << strip_bits; }
    const Axis &axis(const Problem &p, int i) const { return p.axes[axes[i]]; }

    /// Floats of four pictures, of all channels and both parts of tf32x3.
    int64_t input_elements(const Problem &, const KernelTraits &) const;
    int64_t output_elements(const Problem &, const KernelTraits &) const;
    /// The most images that so many fours are of.
    int64_t images(int64_t fours) const;
    /// The most fours that are of no more images than these.
    int64_t fours_of(int64_t images) const;
};

/// Why pictures of the problem cannot be packed for a kernel; empty if they can.
std::string packed_pictures_rejection(const KernelTraits &, const Problem &);

}  // namespace conv_transpose

#endif

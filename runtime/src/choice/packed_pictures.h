// Packed pictures: how the tensors of a weight gradient lie for kernels that multiply them as matrices
// (generators/picture_packing.cpp, weight_gradient_product.h).
#ifndef CONV_TRANSPOSE_RUNTIME_PACKED_PICTURES_H
#define CONV_TRANSPOSE_RUNTIME_PACKED_PICTURES_H

#include <string>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// The same position of four pictures lies side by side. A picture is an image or a strip of its rows: where
/// there are too few images, or where four of them would take too much memory.
struct PackedPictures {
    int strip_bits;  ///< an image has 2^strip_bits strips
    Size2 input,
        output;     ///< of a strip: its rows and columns, and those that its taps reach, padding included
    int64_t fours;  ///< of pictures

    explicit PackedPictures(const Problem &);

    int64_t strips() const { return int64_t{1} << strip_bits; }

    /// Floats of four pictures, of all channels and both parts of tf32x3.
    int64_t input_elements(const Problem &, const KernelTraits &) const;
    int64_t output_elements(const Problem &, const KernelTraits &) const;
    /// The most images that so many fours are of.
    int64_t images(int64_t fours) const;
};

/// Why pictures of the problem cannot be packed for a kernel; empty if they can.
std::string packed_pictures_rejection(const KernelTraits &, const Problem &);

}  // namespace conv_transpose

#endif

// How the sum of a weight gradient, over images and positions, is cut into parts that blocks compute at the
// same time. It depends on the problem and the kernel alone, never on the machine, so that results repeat bit
// by bit.
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_PARTS_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_PARTS_H

#include <algorithm>

#include "problem/counting.h"
#include "choice/kernel_traits.h"
#include "choice/packed_pictures.h"

namespace conv_transpose {

/// Blocks, or tasks, that compute one part.
int64_t blocks_of_part(const Problem &, const Tile &);

/// Of kernels that read the tensors themselves: bands of rows, of some of the images each.
struct WeightGradientParts {
    int64_t images_a_part, rows_a_band, bands;

    WeightGradientParts(const Problem &, const Tile &, int64_t images_a_launch);

    int64_t of_images(int64_t images) const {
        return std::max<int64_t>(ceil_divide(images, images_a_part), 1);
    }
    int64_t count(const Problem &p) const { return of_images(p.batch) * bands; }
};

/// Of kernels that multiply packed pictures. These are packed and multiplied a slice at a time, so that the
/// workspace stays small; the positions of a slice are cut into bands.
struct PackedPictureParts {
    int64_t fours, slices;  ///< of pictures in a slice, and how many slices
    int64_t bands, band_positions;

    PackedPictureParts(const Problem &, const KernelTraits &, const PackedPictures &);

    int64_t count() const { return slices * bands; }

  private:
    void cut_into_bands(const Problem &, const Tile &, int64_t positions);
};

/// The sums of a part in memory, in floats: whole tiles of kernel positions.
int64_t packed_part_elements(const Problem &, const Tile &);

}  // namespace conv_transpose

#endif

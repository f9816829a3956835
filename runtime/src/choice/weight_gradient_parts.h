// How the sum of a weight gradient, over images and positions, is cut into parts that blocks compute at the
// same time. It depends on the problem and the kernel alone, never on the machine, so that results repeat bit
// by bit.
#ifndef CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_PARTS_H
#define CONV_TRANSPOSE_RUNTIME_WEIGHT_GRADIENT_PARTS_H

#include <algorithm>
#include <optional>
#include <string>

#include "choice/computation.h"
#include "choice/packed_pictures.h"
#include "problem/counting.h"

namespace conv_transpose {

/// Blocks, or tasks, that compute one part.
int64_t blocks_of_part(const Problem &, const Tile &);

/// What bands of an image count: positions, runs of them, rows or tiles, as the kernel goes through them.
int64_t positions_of_bands(const Problem &, const Tile &);

/// Where kernels read the tensors themselves, parts are bands of rows, of some of the images each.
struct WeightGradientParts {
    int64_t images_a_part, rows_a_band, bands;

    WeightGradientParts(const Problem &, const Tile &, int64_t images_a_launch);

    int64_t of_images(int64_t images) const {
        return std::max<int64_t>(ceil_divide(images, images_a_part), 1);
    }
    int64_t count(const Problem &p) const { return of_images(p.batch) * bands; }
};

WeightGradientParts unpacked_parts(const Problem &, const Tile &);

/// Tensors that are packed before are packed and multiplied a slice at a time, so that the workspace stays small; the
/// positions of a slice are cut into bands, of whole chunks.
struct SlicedParts {
    int64_t slices = 1, bands = 1, band_positions = 0;

    int64_t count() const { return slices * bands; }

  protected:
    void cut_into_bands(const Problem &, const KernelTraits &, int64_t positions);
};

/// Kernels that multiply packed pictures have such parts.
struct PackedPictureParts : SlicedParts {
    int64_t fours;  ///< of pictures in a slice

    PackedPictureParts(const Problem &, const KernelTraits &, const PackedPictures &);
};

/// Kernels that read channels innermost, whole 16 bytes of them in each group, have such parts; what does not lie so is
/// packed before.
struct ChannelsLastParts : SlicedParts {
    /// A group's channels, as they are read, and elements of an image that has them.
    int64_t input_channels, output_channels;
    int64_t input_elements, output_elements;
    bool packs_input, packs_output;
    int64_t images;  ///< in a slice

    ChannelsLastParts(const Computation &, const KernelTraits &);
};

/// The weights of a kernel that writes them itself, with output channels innermost, are turned in another step.
bool turns_result(const KernelTraits &, const Computation &);
/// That step turns so many output channels at once, all kernel positions of them.
int64_t turned_channels(const Problem &);

/// The problem whose pictures are single rows, with the same tensors in channels_first, where there is one: taps lie along one
/// axis, at a stride of 1, and the axes outside of it have one position.
std::optional<Problem> in_one_row(const Problem &);

/// Why a kernel that multiplies packed pictures cannot take the problem; empty if it can.
std::string packed_parts_rejection(const KernelTraits &, const Problem &);

/// Why a kernel that reads channels innermost cannot take it, likewise.
std::string channels_last_rejection(const KernelTraits &, const Computation &);

/// What a part of so many sums takes: to write and read them, or, where they are few, to add one part after the other.
double seconds_of_a_part(int64_t floats);

/// What blocks of a cluster take to meet, and to add their parts.
double seconds_of_a_cluster(const Tile &);

/// From a part of the sum to the next in memory, in floats: where positions are joined, what each adds is as far from the last
/// one's as that is from the next part's first.
int64_t part_stride(const Computation &, const Tile &);

/// The sums of a part in memory, in floats: whole tiles of kernel positions.
int64_t packed_part_elements(const Problem &, const Tile &);

}  // namespace conv_transpose

#endif

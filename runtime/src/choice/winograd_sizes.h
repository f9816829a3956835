// How Winograd's algorithm cuts a problem on a GPU (algorithm/winograd.h): its tiles, and the matrices that they become.
#ifndef CONV_TRANSPOSE_RUNTIME_WINOGRAD_SIZES_H
#define CONV_TRANSPOSE_RUNTIME_WINOGRAD_SIZES_H

#include <string>

#include "choice/computation.h"
#include "choice/kernel_traits.h"
#include "device/machine.h"

namespace conv_transpose {

/// The same problem at stride 1: o + padding = stride * cell + phase and k = stride * tap + phase make phases channels of the
/// output, whose positions are cells, each the sum over taps of input[cell - tap]. Phases lie inside of channels. Taps beyond
/// the kernel are zero.
Problem over_cells(const Problem &problem);

/// In the forward operation a tile of cells is summed over channels; in a weight gradient the weights of
/// two channels over tiles of inputs.
struct WinogradSizes {
    Size2 points_of_axes;
    int64_t points;
    Size2 step;  ///< positions of a tile
    Size2 taps;  ///< of what is multiplied with tiles: the kernel's of a phase, or those inputs
    Size2 outputs;  ///< of a tile: those positions, or a phase's taps
    Size2 tiles;  ///< of an image
    int64_t images;  ///< of a launch
    int64_t left_rows, right_rows, terms;  ///< of its matrices, with those that fill up whole blocks

    /// The problem may have any stride. Throws Unsupported where this build transforms no kernels of that size.
    WinogradSizes(const KernelTraits &kernel, const Problem &problem);

    /// A launch of fewer images has these.
    WinogradSizes of_images(int64_t count) const;

    int64_t left_elements() const { return points * left_rows * terms; }
    int64_t right_elements() const { return points * right_rows * terms; }
    int64_t product_elements() const { return points * left_rows * right_rows; }

  private:
    const KernelTraits *kernel_;
    int64_t in_channels_, out_channels_;

    void set_images(int64_t count);
};

/// Why a problem cannot be computed so; empty if it can.
std::string winograd_rejection(const KernelTraits &kernel, const Problem &problem);

/// In seconds.
double winograd_time(const KernelTraits &kernel, const Computation &computation, const Machine &machine);

}  // namespace conv_transpose

#endif

// Axes of flat matrix products, as algorithm/flat_places.h counts them.
#ifndef CONV_TRANSPOSE_RUNTIME_FLAT_EXTENT_H
#define CONV_TRANSPOSE_RUNTIME_FLAT_EXTENT_H

#include <algorithm>
#include <cstdint>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// Cells are results of all phases of the forward operation, or of the input gradient, which reads with a stride.
struct FlatExtent {
    int64_t cells, low, high;  ///< taps of a cell see from `low` to `high` further
    int64_t pitch;             ///< with a gap
    int64_t seen;              ///< so many that taps see have data

    FlatExtent(const Axis &, bool forward);
    /// In tiles of Winograd's algorithm of so many cells, or of one where phases are computed at once: those of all phases see the
    /// same.
    FlatExtent(const Axis &, bool forward, int64_t tile);

    /// Where no result sees the input, `low` may be above `high`.
    int64_t reach() const { return std::max<int64_t>(high - low, 0); }

  private:
    void find_pitch(int64_t first, int64_t last);
};

/// Phases of the forward operation: of an axis, of all axes, and those of rows and planes that have products. Rows and planes of a
/// vector and more have none where phases have no taps.
int64_t phases_of(const Axis &);
int64_t phases_of(const Problem &);
int64_t live_phases_of_rows(const Problem &, int64_t vector);

/// Of all products of an axis those of taps that see data of some of so many neighbouring cells.
double seen_share(const Axis &, int64_t cells, double together);

inline int64_t vector_of(const KernelTraits &k) {
    return k.cpu_level >= CpuLevel::avx512 ? 16 : k.cpu_level == CpuLevel::avx2 ? 8 : 4;
}

}  // namespace conv_transpose

#endif

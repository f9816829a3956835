// How blocks of threads are cut that stage in shared memory what neighbours of a row see, for input gradients of depthwise problems
// of any size and attributes (staged_tile.h).
#ifndef CONV_TRANSPOSE_ALGORITHM_STAGED_ROW_H
#define CONV_TRANSPOSE_ALGORITHM_STAGED_ROW_H

#include "algorithm/staged_tile.h"

namespace conv_transpose {

/// A thread computes up to `parts` positions of a row, as many apart as the block has threads. All of them see one run of a row of
/// the output gradient at a time.
template <class Int>
struct StagedRow {
    StagedShape shape;
    StagedAxis<Int> axis;
    Int positions;  ///< of a block

    StagedRow(const StagedShape &shape, const StagedAxis<Int> &axis) : shape(shape), axis(axis) {
        using std::min;
        positions = staged::balanced(axis.extent, Int(min(Int(shape.threads * shape.parts), axis.seeing(Int(most_seen())))));
    }

    /// Each 32 elements are one bank further than those before: neighbours a power of two apart lie in different banks.
    static constexpr int banks = 32;
    /// Whole rounds of all threads.
    int most_seen() const {
        const int round = shape.threads * StagedShape::run;
        return shape.elements / (banks + 1) * banks / round * round;
    }
    Int seen() const { return axis.seen(positions); }
    Int tiles() const { return staged::up(axis.extent, positions); }

    /// Whether what one position sees has room.
    bool fits() const { return axis.reach() < most_seen(); }
};

}  // namespace conv_transpose

#endif

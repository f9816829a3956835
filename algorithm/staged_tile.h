// How blocks of threads are cut that stage what they see in shared memory, for depthwise problems of any size and attributes:
// kernels' index arithmetic (numbers of the host, compiler/passes/host_numbers.h) and the runtime's (int64_t) are the same
// templates.
//
// What a block sees is a box of columns (x, z, plane), in each of which lie together, for every residue of rows, those that parts
// and taps go through one after the other: a piece.
#ifndef CONV_TRANSPOSE_ALGORITHM_STAGED_TILE_H
#define CONV_TRANSPOSE_ALGORITHM_STAGED_TILE_H

#include <algorithm>

namespace conv_transpose {

/// What a kernel is made for. A thread has `parts` positions of a column at once, and `window` taps.
struct StagedShape {
    int threads = 0, parts = 0, window = 0;
    int lanes = 0;                 ///< along x at most
    int elements = 0, others = 0;  ///< staged in a block at most: of what taps see, and of weights, or of a weight gradient's input
    int planes = 1;                ///< of a weight gradient's block: neighbouring groups
    static constexpr int run = 8;  ///< rows that a thread stages at once
};

namespace staged {

template <class Int>
Int up(const Int &number, const Int &divisor) { return (number + divisor - 1) / divisor; }

template <class Int>
Int within(const Int &number, const Int &most) {
    using std::max, std::min;
    return max(min(number, most), Int(1));
}

/// The least of pieces as large as `most` at most, as many as are needed: they are equally large.
template <class Int>
Int balanced(const Int &extent, const Int &most) { return up(extent, up(extent, within(most, extent))); }

template <class Int>
Int whole_runs(const Int &rows) { return up(rows, Int(StagedShape::run)) * StagedShape::run; }

/// As a number of fours it is odd: neighbouring columns lie in different banks.
template <class Int>
Int odd_fours(const Int &n) { return n + (Int(1) - n / 4 % 2) * 4; }

}  // namespace staged

/// One axis: position i sees i * stride + k * dilation. Along y taps a stride apart see of one position what they see of others a
/// dilation apart.
template <class Int>
struct StagedAxis {
    Int extent, kernel, stride, dilation;

    Int taps() const { return staged::up(kernel, stride); }  ///< a stride apart
    Int first_taps() const {
        using std::min;
        return min(stride, kernel);
    }
    Int reach() const { return (kernel - 1) * dilation; }
    /// What neighbours see together, and how many may see as much at most.
    Int seen(const Int &positions) const { return (positions - 1) * stride + reach() + 1; }
    Int seeing(const Int &seen) const { return (seen - reach() - 1) / stride + 1; }
    /// Runs of so many positions a dilation apart.
    Int runs(int parts) const { return staged::up(staged::up(extent, dilation), Int(parts)); }
};

/// Of the forward operation at a stride of 1: a thread computes `parts` positions of a column, a dilation apart.
template <class Int>
struct StagedTile {
    StagedShape shape;
    StagedAxis<Int> x_axis, y_axis, z_axis;
    Int all_planes;

    Int x, groups, z, planes;           ///< threads: along x, runs of parts, ...; they have `dilation` residues of rows each
    Int box_x, box_z, piece, pitch;     ///< of what is staged; a piece of a column, and all of them
    Int column_taps, weights_of_plane;

    StagedTile(const StagedShape &shape, const StagedAxis<Int> &x_axis, const StagedAxis<Int> &y_axis,
               const StagedAxis<Int> &z_axis, const Int &all_planes)
        : shape(shape), x_axis(x_axis), y_axis(y_axis), z_axis(z_axis), all_planes(all_planes) {
        using staged::balanced, staged::odd_fours, staged::up, staged::whole_runs, staged::within, std::min;
        const Int threads = shape.threads, parts = shape.parts, elements = shape.elements, residues = y_axis.dilation;
        column_taps = up(y_axis.taps(), Int(shape.window)) * shape.window;
        weights_of_plane = column_taps * x_axis.kernel * z_axis.kernel;
        x = balanced(x_axis.extent, Int(min(Int(shape.lanes), Int(threads / residues))));
        box_x = x_axis.seen(x);
        const Int most_rows = (elements / (box_x * z_axis.seen(Int(1))) - 4) / residues - column_taps - (StagedShape::run - 4);
        groups = balanced(y_axis.runs(shape.parts), Int(min(Int(threads / (x * residues)), Int(most_rows / parts))));
        piece = whole_runs(Int(groups * parts + column_taps));
        pitch = odd_fours(Int(piece * residues));
        const Int of_column = x * groups * residues;
        z = balanced(z_axis.extent, Int(min(Int(threads / of_column), z_axis.seeing(Int(elements / (box_x * pitch))))));
        box_z = z_axis.seen(z);
        const Int rest = min(Int(threads / (of_column * z)),
                             Int(min(Int(elements / (box_x * box_z * pitch)), Int(Int(shape.others) / weights_of_plane))));
        planes = within(rest, all_planes);
    }

    Int tiles_x() const { return staged::up(x_axis.extent, x); }
    Int tiles_y() const { return staged::up(y_axis.runs(shape.parts), groups); }
    Int tiles_z() const { return staged::up(z_axis.extent, z); }
    Int tiles() const { return tiles_x() * tiles_y() * tiles_z() * staged::up(all_planes, planes); }
    Int columns() const { return box_x * box_z * planes; }

    /// Whether the least tile that was found is one that the kernel takes.
    bool fits() const {
        return x * groups * y_axis.dilation * z * planes <= shape.threads && columns() * pitch <= shape.elements &&
               weights_of_plane * planes <= shape.others;
    }
};

}  // namespace conv_transpose

#endif

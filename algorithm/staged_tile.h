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
    int planes = 1;                ///< neighbouring groups that a block has side by side, in channels_last
    static constexpr int run = 8;  ///< rows that a thread stages at once

    /// Kernels of few taps take only columns that have no more: their loops have none through windows.
    bool has_one_window() const { return window < run; }
    // Taps and what they see are read in fours.
    int window_pitch() const { return (window + 3) / 4 * 4; }
    int seen() const { return (parts + window + 2) / 4 * 4; }
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

/// One axis of a weight gradient: position i sees i * stride + k * dilation. Along y taps a stride apart see of one position what
/// they see of others a dilation apart.
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

/// One axis of the forward operation, whose stride and dilation have no common divisor: input i reaches position
/// i * stride + k * dilation, counted with the padding phase. Taps a stride apart see of one position what one of them sees of
/// positions that are stride * dilation apart.
template <class Int>
struct StagedOutputAxis {
    Int extent, kernel, stride, dilation, padding_phase;

    Int taps() const { return staged::up(kernel, stride); }  ///< of a position, at most
    /// A cell is a stride's positions. The first tap of some sees so many inputs before that of the cell's number.
    Int cells() const { return staged::up(Int(extent + padding_phase), stride); }
    Int before_cell() const { return (stride - 1) * dilation / stride; }
    Int reach() const { return (taps() - 1) * dilation + before_cell(); }
    /// What neighbouring cells see together, and how many may see as much at most.
    Int seen(const Int &cells) const { return cells + reach(); }
    Int seeing(const Int &seen) const { return seen - reach(); }
    /// Runs of so many inputs a dilation apart, which are the last that first taps see.
    Int runs(int parts) const { return staged::up(staged::up(Int(cells() + before_cell()), dilation), Int(parts)); }
};

/// The forward operation's tile: a thread computes `parts` positions of a column, stride * dilation apart, which have the same
/// taps, for every phase of a cell along y and z. Positions along x are lanes.
template <class Int>
struct StagedTile {
    StagedShape shape;
    StagedOutputAxis<Int> x_axis, y_axis, z_axis;
    Int all_planes;

    Int cells_x, x;                  ///< a block's cells along x, and their positions
    Int groups, cells_z, planes;     ///< along y runs, of `dilation` residues each
    Int box_x, box_z, piece, pitch;  ///< of what is staged; a piece of a column, and all of them
    Int windows, tap_pitch, weights_of_plane;

    StagedTile(const StagedShape &shape, const StagedOutputAxis<Int> &x_axis, const StagedOutputAxis<Int> &y_axis,
               const StagedOutputAxis<Int> &z_axis, const Int &all_planes)
        : shape(shape), x_axis(x_axis), y_axis(y_axis), z_axis(z_axis), all_planes(all_planes) {
        using staged::balanced, staged::odd_fours, staged::up, staged::whole_runs, staged::within, std::min;
        // Planes that lie side by side have equal shares.
        const Int threads = shape.threads / shape.planes, elements = shape.elements / shape.planes,
                  others = shape.others / shape.planes, parts = shape.parts, residues = y_axis.dilation;
        windows = up(y_axis.taps(), Int(shape.window));
        tap_pitch = up(Int(windows * shape.window), Int(4)) * 4;
        weights_of_plane = tap_pitch * y_axis.stride * x_axis.kernel * z_axis.kernel;
        if (shape.planes > 1) weights_of_plane = odd_fours(weights_of_plane);
        cells_x = balanced(x_axis.cells(), Int(min(Int(shape.lanes), Int(threads / residues)) / x_axis.stride));
        x = cells_x * x_axis.stride;
        box_x = x_axis.seen(cells_x);
        const Int most_rows = (elements / (box_x * z_axis.seen(Int(1))) - 4) / residues - tap_pitch - (StagedShape::run - 4);
        // As deep as what one cell sees, and as high as threads are left.
        const Int deep = min(z_axis.cells(), Int(z_axis.reach() + 1));
        groups = balanced(y_axis.runs(shape.parts),
                          Int(min(Int(threads / (x * residues * deep)), Int(most_rows / parts))));
        piece = whole_runs(Int(groups * parts + tap_pitch));
        pitch = odd_fours(Int(piece * residues));
        const Int of_column = x * groups * residues;
        cells_z = balanced(z_axis.cells(),
                           Int(min(Int(threads / of_column), z_axis.seeing(Int(elements / (box_x * pitch))))));
        box_z = z_axis.seen(cells_z);
        const Int rest = min(Int(threads / (of_column * cells_z)),
                             Int(min(Int(elements / (box_x * box_z * pitch)), Int(others / weights_of_plane))));
        planes = within(rest, up(all_planes, Int(shape.planes))) * shape.planes;
    }

    Int tiles_x() const { return staged::up(x_axis.cells(), cells_x); }
    Int tiles_y() const { return staged::up(y_axis.runs(shape.parts), groups); }
    Int tiles_z() const { return staged::up(z_axis.cells(), cells_z); }
    Int tiles() const { return tiles_x() * tiles_y() * tiles_z() * staged::up(all_planes, planes); }
    Int positions() const { return x * groups * y_axis.dilation * cells_z; }  ///< threads of a plane
    Int columns() const { return box_x * box_z * planes; }
    Int phases() const { return y_axis.stride * z_axis.stride; }

    /// Whether the least tile that was found is one that the kernel takes, and its numbers are small enough for divisions.
    bool fits() const {
        return z_axis.stride <= shape.threads && positions() * planes <= shape.threads && columns() * pitch <= shape.elements &&
               weights_of_plane * planes <= shape.others;
    }
};

}  // namespace conv_transpose

#endif

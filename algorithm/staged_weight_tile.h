// How blocks of threads are cut that compute the gradient of depthwise weights from what they stage in shared memory, for problems
// of any size and attributes (staged_tile.h).
//
// A thread sums for a window of taps of a column, a stride apart: its task. It goes through runs of `parts` positions of a column,
// a dilation apart, so that what window and run see of the output gradient lies together. A block has lanes of all its tasks, and
// goes through boxes of positions of some neighbouring groups.
#ifndef CONV_TRANSPOSE_ALGORITHM_STAGED_WEIGHT_TILE_H
#define CONV_TRANSPOSE_ALGORITHM_STAGED_WEIGHT_TILE_H

#include "algorithm/staged_tile.h"

namespace conv_transpose {

template <class Int>
struct StagedWeightTile {
    StagedShape shape;
    StagedAxis<Int> x_axis, y_axis, z_axis;

    Int windows, first_taps, tasks, tasks_of_block, lanes;
    Int x, groups, z;                  ///< positions in a box: along x, groups of parts of a column, along z
    Int box_x, box_z, piece, pitch;    ///< what they see: columns, a piece of a column, and all of them
    Int input_piece, input_pitch;

    StagedWeightTile(const StagedShape &shape, const StagedAxis<Int> &x_axis, const StagedAxis<Int> &y_axis,
                     const StagedAxis<Int> &z_axis)
        : shape(shape), x_axis(x_axis), y_axis(y_axis), z_axis(z_axis) {
        using staged::balanced, staged::odd_fours, staged::up, staged::whole_runs, staged::within, std::max, std::min;
        constexpr int least_lanes = 8;
        const int planes = shape.planes;
        const Int parts = shape.parts, apart = y_axis.dilation, elements = shape.elements / planes, inputs = shape.others / planes;
        windows = up(y_axis.taps(), Int(shape.window));
        first_taps = y_axis.first_taps();
        tasks = x_axis.kernel * z_axis.kernel * first_taps * windows;
        tasks_of_block = balanced(tasks, Int(shape.threads / planes));
        lanes = Int(shape.threads / planes) / tasks_of_block;

        const Int pieces = apart * first_taps, column_taps = windows * shape.window_pitch();
        const Int least_pitch = whole_runs(Int(parts + column_taps)) * pieces + 4;
        // As deep as what one position sees, where rows of some lanes are left.
        const Int some_x = min(x_axis.extent, Int(least_lanes)),
                  some_z = min(z_axis.seeing(Int(elements / (x_axis.seen(some_x) * least_pitch))),
                               Int(inputs / (some_x * (parts * apart + 4))));
        const Int deep = within(Int(min(some_z, Int(z_axis.reach() / z_axis.stride + 1))), z_axis.extent),
                  seen_z = z_axis.seen(deep);
        const Int most_x = min(x_axis.seeing(Int(elements / (seen_z * least_pitch))), Int(inputs / (deep * (parts * apart + 4))));
        x = balanced(x_axis.extent, Int(min(most_x, Int(std::max(shape.lanes / planes, least_lanes)))));
        box_x = x_axis.seen(x);
        const Int most_pitch = elements / (box_x * seen_z) - 4;
        const Int most_rows = most_pitch / pieces - column_taps - (StagedShape::run - 4);
        groups = balanced(y_axis.runs(shape.parts),
                          Int(min(Int(most_rows / parts), Int((inputs / (x * deep) - 4) / (parts * apart)))));
        piece = whole_runs(Int(groups * parts + column_taps));
        pitch = odd_fours(Int(piece * pieces));
        input_piece = whole_runs(Int(groups * parts));
        input_pitch = odd_fours(Int(input_piece * apart));
        z = balanced(z_axis.extent, Int(min(z_axis.seeing(Int(elements / (box_x * pitch))), Int(inputs / (x * input_pitch)))));
        box_z = z_axis.seen(z);
    }

    /// Images that a box has, of a part's.
    Int images(const Int &of_part) const {
        using std::min;
        const Int elements = shape.elements / shape.planes, inputs = shape.others / shape.planes;
        return staged::within(Int(min(Int(elements / (box_x * box_z * pitch)), Int(inputs / (x * z * input_pitch)))), of_part);
    }

    Int tiles_x() const { return staged::up(x_axis.extent, x); }
    Int tiles_y() const { return staged::up(y_axis.runs(shape.parts), groups); }
    /// Boxes of an image.
    Int tiles() const { return tiles_x() * tiles_y() * staged::up(z_axis.extent, z); }
    Int task_tiles() const { return staged::up(tasks, tasks_of_block); }

    /// Whether the least tile that was found is one that the kernel takes.
    bool fits() const {
        return shape.planes * box_x * box_z * pitch <= shape.elements && shape.planes * x * z * input_pitch <= shape.others;
    }
};

}  // namespace conv_transpose

#endif

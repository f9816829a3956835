// The threads of a CUDA block as the dense schedules arrange them, and how they share out what a block stages.
#ifndef CONV_TRANSPOSE_SCHEDULES_BLOCK_THREADS_H
#define CONV_TRANSPOSE_SCHEDULES_BLOCK_THREADS_H

#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// Lanes along columns, channels and rows, columns innermost. Loops of the same names in all Funcs of a block become its
/// threads.
struct BlockThreads {
    int lanes_x, lanes_channel, lanes_y;
    Halide::Var x{"lane_x"}, channel{"lane_channel"}, y{"lane_y"};
    Halide::Var round{"round"};  ///< of share_out()

    int count() const { return lanes_x * lanes_channel * lanes_y; }

    /// Splits `element` of a Func in shared memory into rounds, in each of which neighbouring threads have neighbouring
    /// elements. `inside` are the loops of a thread, the innermost first, `round` among them; `outside` are those around.
    void share_out(Halide::Func f, const Halide::Var &element, const std::vector<Halide::VarOrRVar> &inside,
                   const std::vector<Halide::VarOrRVar> &outside) const {
        const Halide::Var thread("thread");
        std::vector<Halide::VarOrRVar> order = inside;
        order.insert(order.end(), {x, channel, y});
        order.insert(order.end(), outside.begin(), outside.end());
        f.split(element, round, thread, count(), Halide::TailStrategy::GuardWithIf)
            .split(thread, y, thread, lanes_x * lanes_channel)
            .split(thread, channel, x, lanes_x)
            .reorder(order)
            .gpu_threads(x, channel, y)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif

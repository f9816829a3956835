// The threads of a CUDA block as the dense schedules arrange them, and how they share out what a block stages.
#ifndef CONV_TRANSPOSE_SCHEDULES_SHARED_BLOCK_THREADS_H
#define CONV_TRANSPOSE_SCHEDULES_SHARED_BLOCK_THREADS_H

#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// Lanes along columns, channels and rows, or what else a schedule names, columns innermost. Loops of the same names in all Funcs
/// of a block become its threads.
struct BlockThreads {
    int lanes_x, lanes_channel, lanes_y;
    Halide::Var x{"lane_x"}, channel{"lane_channel"}, y{"lane_y"};
    Halide::Var round{"round"};  ///< of share_out()

    int count() const { return lanes_x * lanes_channel * lanes_y; }

    /// Splits `element` of a Func in shared memory into rounds, in each of which neighbouring threads have
    /// neighbouring elements. `inside` are the loops of a thread, the innermost first, `round` among them;
    /// `outside` are those around. Loops that come from a reduction variable are such, too.
    void share_out(Halide::Stage s, const Halide::VarOrRVar &element, const std::vector<Halide::VarOrRVar> &inside,
                   const std::vector<Halide::VarOrRVar> &outside) const {
        const auto loop = [&](const std::string &name) { return Halide::VarOrRVar(name, element.is_rvar); };
        const Halide::VarOrRVar thread = loop("thread"), lane_x = loop(x.name()), lane_y = loop(y.name());
        const Halide::VarOrRVar lane_channel = loop(channel.name());
        std::vector<Halide::VarOrRVar> order = inside;
        order.insert(order.end(), {lane_x, lane_channel, lane_y});
        order.insert(order.end(), outside.begin(), outside.end());
        s.split(element, loop(round.name()), thread, count(), Halide::TailStrategy::GuardWithIf)
            .split(thread, lane_y, thread, lanes_x * lanes_channel)
            .split(thread, lane_channel, lane_x, lanes_x)
            .reorder(order)
            .gpu_threads(lane_x, lane_channel, lane_y)
            .never_partition_all();
    }
};

}  // namespace conv_transpose

#endif

// What a schedule of the forward operation sees: the named Funcs of the algorithm and the facts that it may rely on.
#ifndef CONV_TRANSPOSE_ALGORITHM_FORWARD_FUNCS_H
#define CONV_TRANSPOSE_ALGORITHM_FORWARD_FUNCS_H

#include "Halide.h"
#include "algorithm/gather.h"

namespace conv_transpose {

struct ForwardFuncs {
    GatherVars v;
    GatherAxis x_axis, y_axis;
    /// Channels of one group; 0 where they are run-time values.
    int in_channels = 0, out_channels = 0;

    Halide::Func input;         ///< as given
    Halide::Func padded_input;  ///< zero outside of the picture (x, y, input channel, group, batch)
    Halide::Func weight;        ///< as given or packed, in the layout that the schedule asks for
    Halide::Func tap_weight;    ///< weight by kernel position (kx, ky, channel, input channel, group)
    Halide::Func phase_weight;  ///< weight by phase and tap: see gather.h
    Halide::Func initial{"initial"};  ///< what sums begin with: the bias (channel, group)
    Halide::Func sum;           ///< indexed as the schedule's sum_index says (gather.h); its update has the taps
    Halide::RDom taps;
    Halide::Func interleaved{"interleaved"};  ///< the sums by output position (x, y, channel, group, batch)
    /// These are the sums with the activation, as they are stored. Compute them element by element, apart from vector stores: a
    /// vector would evaluate all activations.
    Halide::Func activated{"activated"};
    // To specialize `activated`, so that what was not asked for costs a branch.
    Halide::Expr no_activation, no_smooth_activation;
    Halide::Func output;                ///< (x, y, channel, group, batch)

    bool run_time_attributes() const { return !Halide::Internal::is_const(x_axis.stride()); }
    int stride_x() const { return constant(x_axis.stride()); }
    int stride_y() const { return constant(y_axis.stride()); }
    int kernel_x() const { return constant(x_axis.kernel()); }
    int kernel_y() const { return constant(y_axis.kernel()); }

  private:
    static int constant(const Halide::Expr &e) { return static_cast<int>(*Halide::Internal::as_const_int(e)); }
};

}  // namespace conv_transpose

#endif

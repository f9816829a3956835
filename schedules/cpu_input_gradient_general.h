// Schedule: the input gradient of any problem on the CPU, every attribute a run-time value.
//
// AMD EPYC (Zen 5, AVX-512), 2026-11-21, one thread, processor time: k2 s2 128 to 64 channels, 64x64, in 4.6
// ms (25 % of the FMA units' rate). With 8 input channels and more cpu_input_gradient_channels.h takes the
// problem, and at stride 1 the forward kernels do.
//
// Order: a strip of a row, four vectors wide, of all channels of a group is the unit of work. For each output
// channel the values that the taps see are gathered once, dense and padded, and then serve all input
// channels. The strip's sums stay in L1; those of one channel stay in registers over all taps.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_INPUT_GRADIENT_GENERAL_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_INPUT_GRADIENT_GENERAL_H

#include "algorithm/input_gradient_funcs.h"
#include "schedules/shared/search_space.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CpuInputGradientGeneral : CpuSchedule {
    static constexpr const char *family = "general";
    Halide::GeneratorParam<int> vectors{"vectors", 4};

    static constexpr WeightLayout weight_layout = WeightLayout::as_given;
    int weight_channel_multiple() const { return 1; }
    void describe(KernelDescription &) const {}

    void search_space(SearchSpace &space, const GradientFacts &) const { space.choose(vectors, {1, 2, 3, 4, 6, 8}); }

    void apply(InputGradientFuncs &f, const Halide::Target &target) const {
        using namespace Halide;
        const int width = target.natural_vector_size<float>();
        Var strip{"strip"}, vector{"vector"}, work{"work"};

        f.input_gradient.split(f.x, strip, f.x, vectors * width, TailStrategy::GuardWithIf)
            .reorder(f.x, f.channel, strip, f.y, f.group, f.batch)
            .vectorize(f.x, width, TailStrategy::GuardWithIf)
            .fuse(strip, f.y, work).fuse(work, f.group, work).fuse(work, f.batch, work).parallel(work);

        f.sum.compute_at(f.input_gradient, work).bound_extent(f.x, vectors * width);
        f.sum.vectorize(f.x, width);
        f.sum.update()
            .split(f.x, vector, f.x, width)
            .reorder(f.x, vector, f.taps.x, f.taps.y, f.channel, f.taps.z)
            .vectorize(f.x).unroll(vector);
        f.tap_row.compute_at(f.sum, f.taps.z).bound_extent(f.x, vectors * width).vectorize(f.x, width);
    }
};

}  // namespace conv_transpose

#endif

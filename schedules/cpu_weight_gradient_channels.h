// Schedule: the weight gradient on the CPU, for problems with many channels; every attribute a run-time value.
//
// AMD EPYC (Zen 5, AVX-512), 2026-11-21, one thread, processor time: k3 s1 64 to 64 channels, 128x128, in 10.0 ms (53 %
// of the FMA units' rate; PyTorch 6.8), k2 s2 128 to 64, 64x64, 2.4 (PyTorch 1.6), k4 s2 512 to 256, 16x16, 9.9 (PyTorch
// 6.7 to 15).
//
// Order: a matrix product. A vector's lanes are input channels, so that a sum is a lane and nothing is added up at the end.
// A task has a tile of input channels x output channels for all taps, and goes through its band's rows in chunks of
// columns: the input of a chunk is turned once, so that channels are innermost, and serves all taps; what the taps of a
// kernel row see of the output gradient is gathered once, dense and padded. Then a few vectors of input channels x a few
// output channels stay in registers over the chunk.
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_WEIGHT_GRADIENT_CHANNELS_H

#include <limits>

#include "schedules/weight_gradient_funcs.h"

namespace conv_transpose {

struct CpuWeightGradientChannels {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> lanes{"lanes", 16};        // of the target's vectors
    GeneratorParam<int> vectors{"vectors", 4};     // of input channels
    GeneratorParam<int> channels{"channels", 4};   // output channels in registers
    GeneratorParam<int> blocks{"blocks", 8};       // of so many output channels, of a task
    GeneratorParam<int> chunk_columns{"chunk_columns", 64}, chunk_rows{"chunk_rows", 1};
    GeneratorParam<int> max_output_width{"max_output_width", 0};  // 0 is no limit

    int tile_in() const { return int(vectors) * int(lanes); }
    int tile_out() const { return int(channels) * int(blocks); }

    void describe(KernelDescription &description, const WeightGradientFuncs &) const {
        description.set("tile_in_channels", tile_in());
        description.set("tile_out_channels", tile_out());
        description.set("tile_taps", std::numeric_limits<int>::max());  // all
        description.set("wanted_blocks", 64);
        description.set("min_in_channels", 16);
        description.set("min_out_channels", int(channels));
        if (max_output_width > 0) description.set("max_output", 0, max_output_width);
    }

    void apply(WeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const auto guard = TailStrategy::GuardWithIf;
        Var task_in{"task_in"}, task_out{"task_out"}, work{"work"}, block{"block"}, vec{"vec"};
        Var chunk{"chunk"}, row{"row"}, image{"image"};
        const RDom &r = f.positions;

        f.partial.split(f.out_channel, task_out, f.out_channel, tile_out(), guard)
            .split(f.in_channel, task_in, f.in_channel, tile_in(), guard)
            .reorder({f.kx, f.ky, f.out_channel, f.in_channel, task_out, task_in, f.group, f.band, f.images})
            .fuse(task_out, task_in, work).fuse(work, f.group, work).fuse(work, f.band, work).fuse(work, f.images, work)
            .parallel(work);

        f.sum.compute_at(f.partial, work).reorder_storage(f.in_channel, f.out_channel, f.kx, f.ky)
            .bound_extent(f.in_channel, tile_in()).bound_extent(f.out_channel, tile_out())
            .vectorize(f.in_channel, lanes);
        Stage update = f.sum.update();
        update.split(f.out_channel, block, f.out_channel, channels)
            .reorder({f.in_channel, f.out_channel, r[0], block, f.kx, f.ky, r[1], r[2], r[3], r[4]});
        Func chunk_sum = update.rfactor({{r[1], Var("chunk_row")}, {r[2], chunk}, {r[3], row}, {r[4], image}});
        update.vectorize(f.in_channel, lanes).unroll(f.in_channel).unroll(f.out_channel).never_partition({r[1], r[2], r[3], r[4]});
        chunk_sum.compute_at(f.sum, block).reorder_storage(f.in_channel, f.out_channel)
            .bound_extent(f.in_channel, tile_in()).bound_extent(f.out_channel, channels)
            .vectorize(f.in_channel, lanes).unroll(f.in_channel).unroll(f.out_channel);
        chunk_sum.update().reorder({f.in_channel, f.out_channel, r[0]})
            .vectorize(f.in_channel, lanes).unroll(f.in_channel).unroll(f.out_channel);

        Func turned = f.padded_input.in(chunk_sum);
        turned.compute_at(f.sum, r[2]).reorder_storage(f.in_channel, f.x).bound_extent(f.in_channel, tile_in())
            .bound_extent(f.x, chunk_columns).bound_extent(f.y, 1).bound_extent(f.group, 1).bound_extent(f.batch, 1)
            .vectorize(f.x, lanes);
        f.tap_row.compute_at(f.sum, f.ky).bound_extent(f.x, chunk_columns).bound_extent(f.out_channel, tile_out())
            .bound_extent(f.y, 1).bound_extent(f.group, 1).bound_extent(f.batch, 1)
            .vectorize(f.x, lanes).specialize(f.x_axis.stride == 1);
    }
};

}  // namespace conv_transpose

#endif

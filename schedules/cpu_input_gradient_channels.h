// Schedule: the input gradient on the CPU, for problems with enough input channels for vectors of them; every
// attribute a run-time value. At stride 1 the forward kernels run instead where they can.
// The autotuner alone makes kernels of it: without tuning flat products (cpu_implicit_gemm.h) take less time.
//
// AMD EPYC (Zen 5, AVX-512) that other programs kept busy, 2026-11-21, one thread, processor time, weights packed before, percent
// of the FMA units' rate: k5 s2 64 to 64 channels, 64x64, 85 %, k2 s2 128 to 64, 64x64, 68 %, k4 s2 1024 to 512, 4x4, 50 % (33 MB
// of weights); for few output channels 40 to 47 %: a sum has few products, and the rest is memory.
//
// Order: a strided convolution, hence a matrix product for each tap.
// - A register tile: vectors of input channels x columns x rows, 16 sums with AVX-512 and 8 with AVX2. A
//   vector's lanes are input channels: every weight vector serves all positions of the tile, and what it
//   meets is one value of the output gradient, broadcast. So any stride and dilation is only another address,
//   and nothing is gathered.
// - Over the tile run the kernel's columns and rows, then a chunk of output channels; the weights of a tile
//   of channels lie in that order, one stream.
// - Then the tiles of a block of positions, which share the chunk's weights, then tiles of channels, which share the
//   chunk's output gradient. It is copied with its zero border, in the second cache.
// - Then chunks, whose sums are added up in memory. At the end the block is turned into rows, by shuffles.
//
// What was tried: docs/experiments.md#gradients-on-cpus-by-vectors-of-channels
#ifndef CONV_TRANSPOSE_SCHEDULES_CPU_INPUT_GRADIENT_CHANNELS_H
#define CONV_TRANSPOSE_SCHEDULES_CPU_INPUT_GRADIENT_CHANNELS_H

#include "algorithm/input_gradient_funcs.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CpuInputGradientChannels : CpuSchedule {
    static constexpr const char *family = "channels";
    GeneratorParam<int> lanes{"lanes", 16};  // of the target's vectors
    /// The register tile: vectors of input channels, columns, rows.
    GeneratorParam<int> vectors{"vectors", 2}, columns{"columns", 8}, rows{"rows", 1};
    /// A task has so many columns, rows, register tiles of channels.
    GeneratorParam<int> block_columns{"block_columns", 64}, block_rows{"block_rows", 4}, blocks{"blocks", 2};
    /// Output channels whose products are summed in registers.
    GeneratorParam<int> chunk{"chunk", 32};
    GeneratorParam<int> min_in_channels{"min_in_channels", 16};
    /// Shorter sums are faster as flat products (cpu_implicit_gemm.h), up to 1.35 times.
    GeneratorParam<int> min_terms{"min_terms", 65};
    /// Percent of the FMA units' rate that full register tiles reach, where it was measured: then flat products compete.
    GeneratorParam<int> fma_percent{"fma_percent", 0};
    GeneratorParam<int> max_output_width{"max_output_width", 0};  // 0 is no limit

    static constexpr WeightLayout weight_layout = WeightLayout::channel_tiles;
    int tile_channels() const { return int(vectors) * int(lanes); }
    int weight_channel_multiple() const { return tile_channels(); }
    void describe(KernelDescription &description) const {
        description.set("min_in_channels", min_in_channels);
        description.set("min_input_positions", 2);
        description.set("min_terms", min_terms);
        description.set("min_taps", 2);  // flat products take 0.6 to 0.8 of the time of kernels of one position
        description.set("fma_percent", fma_percent), description.set("tile_places", columns);
        description.set("block_positions", block_rows, block_columns);
        if (max_output_width > 0) description.set("max_output", 0, max_output_width);
    }

    void search_space(SearchSpace &space, const GradientFacts &f) const {
        const int lanes = space.choose(this->lanes, {8, 16}), vectors = space.choose(this->vectors, {1, 2, 4});
        const int columns = space.choose(this->columns, {2, 4, 8, 16}), rows = space.choose(this->rows, {1, 2, 4});
        const int block_columns = space.choose(this->block_columns, {8, 16, 32, 64, 128});
        const int block_rows = space.choose(this->block_rows, {2, 4, 8, 16}),
                  blocks = space.choose(this->blocks, {1, 2, 4});
        const int chunk = space.choose(this->chunk, {8, 16, 32, 64});
        space.choose(min_in_channels, {1}), space.choose(min_terms, {0});
        const int sums = vectors * columns * rows;
        space.require("vectors are the target's", lanes * 2 <= f.vector_registers);
        space.require("sums leave registers for operands", sums >= 6 && sums <= f.vector_registers - 4);
        space.require("a block holds whole tiles", block_columns % columns == 0 && block_rows % rows == 0);
        space.require("a block's sums fit the second cache",
                      block_columns * block_rows * tile_channels() * blocks * int(sizeof(float)) <= 256 * 1024);
        space.require("less than half of a tile is idle", tile_channels() < 2 * std::max(f.in_channels, lanes));
        space.require("less than half of a block is idle", blocks == 1 || tile_channels() * blocks < 2 * f.in_channels);
        space.require("less than half of a chunk is idle", chunk == 8 || chunk < 2 * f.out_channels);
    }

    void apply(InputGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const auto guard = TailStrategy::GuardWithIf;
        Var x_block{"x_block"}, y_block{"y_block"}, channel_block{"channel_block"}, work{"work"};
        Var x_tile{"x_tile"}, y_tile{"y_tile"}, channel_tile{"channel_tile"};
        const RDom &r = f.taps;

        f.input_gradient.split(f.x, x_block, f.x, block_columns, guard).split(f.y, y_block, f.y, block_rows, guard)
            .split(f.channel, channel_block, f.channel, tile_channels() * int(blocks), guard)
            .split(f.x, x_tile, f.x, columns, guard).split(f.channel, channel_tile, f.channel, lanes, guard)
            .reorder({f.x, f.channel, x_tile, f.y, channel_tile, channel_block, x_block, y_block, f.group, f.batch})
            .fuse(channel_block, x_block, work).fuse(work, y_block, work).fuse(work, f.group, work).fuse(work, f.batch, work)
            .parallel(work).vectorize(f.x, columns, TailStrategy::PredicateStores);

        // Unrolled along the row within vectors of channels: Halide makes shuffles of it.
        Func turned = f.sum.in(f.input_gradient);
        turned.compute_at(f.input_gradient, x_tile).bound_extent(f.x, columns).bound_extent(f.channel, lanes)
            .reorder(f.x, f.channel).vectorize(f.channel, lanes).unroll(f.x);

        f.sum.compute_at(f.input_gradient, work).reorder_storage(f.channel, f.x, f.y)
            .align_bounds(f.x, columns).align_bounds(f.y, rows).align_bounds(f.channel, tile_channels())
            .vectorize(f.channel, lanes);
        RVar chunks{"chunks"}, in_chunk{"in_chunk"};
        Stage update = f.sum.update();
        update.split(r.z, chunks, in_chunk, chunk, guard).split(f.channel, channel_tile, f.channel, tile_channels())
            .split(f.x, x_tile, f.x, columns).split(f.y, y_tile, f.y, rows)
            .reorder({f.channel, f.x, f.y, r.x, r.y, in_chunk, x_tile, y_tile, channel_tile, chunks});
        Func chunk_sum = update.rfactor(chunks, Var("part"));
        update.never_partition({chunks});
        chunk_sum.compute_at(f.sum, x_tile).reorder_storage(f.channel, f.x, f.y)
            .bound_extent(f.channel, tile_channels()).bound_extent(f.x, columns).bound_extent(f.y, rows);
        Stage products = chunk_sum.update();
        products.reorder({f.channel, f.x, f.y, r.x, r.y, in_chunk});
        for (Stage stage : {update, Stage(chunk_sum), products})
            stage.vectorize(f.channel, lanes).unroll(f.channel).unroll(f.x).unroll(f.y);

        f.padded_output_gradient.compute_at(f.sum, chunks).hoist_storage(f.input_gradient, work)
            .bound_extent(f.group, 1).bound_extent(f.batch, 1).vectorize(f.x, lanes, TailStrategy::RoundUp);
    }
};

}  // namespace conv_transpose

#endif

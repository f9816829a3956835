// Schedule: tensor cores (wgmma on Hopper, mma.sync elsewhere): stride 1, the phases of strided problems, and sub-pixels.
//
// NVIDIA H200, 2026-11-21, TF32. KernelBench 57 (N8 64->64 k3 1024x1024): 2.23 ms, 278 TFLOP/s; the pipe of shared memory and L1 is
// busy 78 % of the time, the tensor cores 62 %. U-Net's k2 s2 (N8 128->64 256x256): 0.316 ms, 60 % of what memory allows. DCGAN's
// k4 s2 p1 (N64 512->256 16x16): 0.244 ms, 282 TFLOP/s.
//
// Order of the loops, from the inside:
// - A tile is 64 channels x cells of one phase. Channels are the rows of the tile, so that columns, of which there are more kinds
//   of numbers, can be chosen to fill the picture. Columns are `columns` cells of one row; or, where pictures are small or rows of
//   staged pixels would be read for too few rows of cells, 8 cells of each of `tile_rows` rows. For sub-pixels the rows of a tile
//   are all phases of fewer channels (generators/forward_tensor_core.h).
// - All taps of the kernel are unrolled around the tile. They read the same staged pixels, each from another start address: pixels
//   have four channels innermost, 16 bytes, which is the row of an operand. With a stride every phase has its own taps, so no
//   product is wasted.
// - A warpgroup computes all horizontal phases, whose outputs alternate: what it stores is dense. Vertical phases are rows of the
//   picture like others, each with its own warpgroup.
// - A chunk of input channels is staged for all taps and phases, while the chunk before it is multiplied ("pipeline").
// - Each warpgroup has its own rows of the picture and shares weights and overlapping input rows with the others.
// - Channels of the output, then columns, are the innermost blocks: neighbours in time read the same input. A block may be small:
//   two of them on a multiprocessor fill each other's gaps (the first loads, the stores at the end).
// - With a `producer` one more warpgroup stages, and the others only multiply, where the registers that it frees make larger tiles.
//
// What was tried: docs/tensor-core-experiments.md#what-limits-them-and-what-moved-them
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_TENSOR_CORE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_TENSOR_CORE_H

#include "algorithm/tensor_core_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"
#include "schedules/shared/search_space.h"

namespace conv_transpose {

struct CudaTensorCore : TensorCoreSchedule {
    static constexpr const char *family = "tensor_core";
    Halide::GeneratorParam<int> columns{"columns", 152};      // of a tile: cells along x
    Halide::GeneratorParam<int> tile_rows{"tile_rows", 1};    // of cells in a tile; with more than one, columns is 8
    Halide::GeneratorParam<int> warpgroups{"warpgroups", 2};  // of a block: for each vertical phase, then side by side,
    Halide::GeneratorParam<int> warpgroups_x{"warpgroups_x", 1};      // so many, then for other rows of cells
    Halide::GeneratorParam<int> channel_sets{"channel_sets", 1};  // of 64, which share the pixels: each has warpgroups
    Halide::GeneratorParam<int> tiles{"tiles", 1};            // of one warpgroup, below each other
    Halide::GeneratorParam<int> chunk_channels{"chunk_channels", 8};  // staged at once
    Halide::GeneratorParam<int> stages{"stages", 2};
    Halide::GeneratorParam<int> blocks{"blocks", 2};                  // on a multiprocessor
    Halide::GeneratorParam<bool> separate_registers{"separate_registers", false};  // see SoftwarePipelineOptions
    Halide::GeneratorParam<bool> producer{"producer", false};  // one more warpgroup, which stages for the others
    Halide::GeneratorParam<int> producer_registers{"producer_registers",
                                                   104};  // of its threads; the others get the rest
    Halide::GeneratorParam<bool> tensor_cores{"tensor_cores", true};  // off: the same program without the passes

    int chunk() const { return chunk_channels; }

    void describe(KernelDescription &description, const TensorCoreFuncs &f) const {
        // With two tiles (tf32x3) there are too few registers for mma.sync, and spills make it slower than
        // float32.
        // With a producer those that compute lack registers without setmaxnreg.
        describe_gpus(description, f.parts == 2 || producer);
        description.set("shared_bytes", shared_bytes(f));
        description.set("block_positions", block_cells(f) * f.picture_rows * f.phases_y * f.row_phases_y,
                        block_columns() * f.phases_x * f.row_phases_x);
        description.set("block_channels", f.tile_channels() * channel_sets);
        description.set("blocks_per_multiprocessor", blocks);
    }

    /// `f` as the generator would fill it in: axes, phases, taps, parts, picture rows.
    void search_space(SearchSpace &space, const TensorCoreFuncs &f) const {
        space.require("a tile stores one or two phases along x side by side", f.phases_x <= 2);
        const int columns = space.choose(this->columns, {8,   16,  24,  32,  48,  64,  72,  80,  88,  96,
                                                         104, 112, 120, 128, 136, 144, 152, 176, 208, 256});
        const int tile_rows = space.choose(this->tile_rows, {1, 2, 4, 6, 8, 10, 12, 13, 16, 19, 24});
        space.require("rows of cells are 8 columns wide", (tile_rows > 1) == (columns == 8));
        const int warpgroups = space.choose(this->warpgroups, {1, 2, 3, 4});
        const int warpgroups_x = space.choose(this->warpgroups_x, {1, 2});
        const int sets = space.choose(this->channel_sets, {1, 2});
        const bool shared_out = warpgroups % (warpgroups_x * f.phases_y * sets) == 0;
        space.require("warpgroups share out phases, columns and channels", shared_out);
        const int tiles = space.choose(this->tiles, {1, 2});
        // The sizes of a block are divided by these, so that rules about them may be asked of those alone.
        space.require("little of the tiles lies outside of the picture", !shared_out || tiles_fit(f));
        const int blocks = space.choose(this->blocks, {1, 2, 3});
        const int registers = GpuLimits::registers(128 * warpgroups * blocks);
        const int sums = columns * tile_rows * tiles * f.phases_x / 2 * f.parts;
        constexpr int beside_sums = 48;
        space.require("a thread's sums fit its registers", sums + beside_sums <= registers);
        space.choose(this->stages, {2, 3});
        space.choose(this->chunk_channels, {8, 16, 32});
        space.require("the stages of all blocks fit shared memory",
                      !shared_out || blocks * (shared_bytes(f) + machines::Multiprocessor::reserved_shared_bytes) <=
                                         machines::H200::block_shared_bytes);
        space.choose(this->separate_registers, {false, true});
    }

    /// Rows of cells that a block computes; with picture rows in the rows of a tile, sets of those.
    int block_cells(const TensorCoreFuncs &f) const {
        return tile_rows.value() * tiles.value() * warpgroups.value() /
               (warpgroups_x.value() * f.phases_y * channel_sets.value());
    }
    int block_columns() const { return columns.value() * warpgroups_x.value(); }
    int staged_columns(const TensorCoreFuncs &f) const { return f.x_axis.reach(block_columns()); }
    int staged_rows(const TensorCoreFuncs &f) const { return f.y_axis.reach(block_cells(f) * f.picture_rows); }
    int staged_weights(const TensorCoreFuncs &f) const {
        return 64 * channel_sets.value() * f.phases_x * f.taps_x * f.taps_y * f.phases_y;
    }

    int shared_bytes(const TensorCoreFuncs &f) const {
        const int stage = (staged_columns(f) * staged_rows(f) + staged_weights(f)) * chunk() * f.parts;
        // At the end eight rows of every warp pass through shared memory.
        const int turned = warpgroups.value() * 4 * 8 * (columns.value() * tile_rows.value() + 8) * f.phases_x;
        return 4 * std::max(stages * (stage + 32), turned);
    }

    void apply(TensorCoreFuncs &f, const Halide::Target &) const {
        store_tile(f);
        const Halide::Func multiplied = multiply_in_tile(f);
        stage_pixels(f);
        stage_weights(f, multiplied);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;

    Halide::Var block{"block"}, lane{"lane"}, warp{"warp"}, warpgroup{"warpgroup"};
    Halide::Var outer{"outer"}, rest{"rest"};
    Halide::Var mma_m{"mma_m"}, mma_n{"mma_n"}, mma_n_group{"mma_n_group"}, mma_n_outer{"mma_n_outer"};
    Halide::RVar pipeline{"pipeline"};

    // Products outside of the picture cost as much as the others: of 1036 candidates in nine searches (H200,
    // 2026-11-21) half had a third more than the least that tiles can have, and none of those came within 17
    // % of its search's best.
    bool tiles_fit(const TensorCoreFuncs &f) const {
        if (f.cells_x == 0) return true;
        const int rows_of_channels = f.tile_channels();
        const int columns_and_rows = covered(f.cells_x, block_columns()) * covered(f.cells_y, block_cells(f));
        const int least =
            covered(f.cells_x, f.cells_y == 1 ? 16 : 8) * f.cells_y;  // a tile of 8 columns has several rows
        const int channels = covered(f.channels, rows_of_channels * channel_sets);
        return 3.0 * columns_and_rows * channels <= 4.0 * least * covered(f.channels, rows_of_channels);
    }

    int block_sets(const TensorCoreFuncs &f) const { return block_cells(f) * f.phases_y; }
    int staging_warpgroups() const { return producer ? 1 : warpgroups.value(); }
    static int tile_rows_of(const TensorCoreFuncs &f) { return 64 * f.phases_x; }

    // Cells along x, and along y vertical phases, a tile's rows of cells, tiles, and other warpgroups.
    void split_tile(const TensorCoreFuncs &f, Halide::Stage s) const {
        const GatherVars &v = f.v;
        Halide::Var beside{"beside"}, phase{"phase"};
        s.split(v.x, beside, mma_n, columns).split(beside, beside, lane, 1).split(beside, beside, warp, 1)
            .split(v.y, v.y, phase, f.phases_y).split(v.y, v.y, mma_n_group, tile_rows)
            .split(v.y, warpgroup, mma_n_outer, tiles)
            .fuse(phase, beside, phase).fuse(phase, warpgroup, warpgroup);
    }

    void store_tile(TensorCoreFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        Var column{"column"}, y_block{"y_block"}, channel_block{"channel_block"}, image{"image"};
        Var mma_m_outer{"mma_m_outer"}, mma_m_outermost{"mma_m_outermost"}, mma_m_tile{"mma_m_tile"};
        if (f.sub_pixel()) {
            f.output.split(v.x, column, v.x, block_columns() * f.row_phases_x, guard)
                .split(v.x, v.x, mma_m, f.row_phases_x)
                .split(v.y, y_block, v.y, block_cells(f) * f.row_phases_y, guard)
                .split(v.y, v.y, mma_m_outer, f.row_phases_y)
                .split(v.channel, channel_block, mma_m_outermost, f.tile_channels(), guard);
        } else {
            f.output.split(v.x, column, v.x, block_columns() * f.phases_x, guard)
                .split(v.x, v.x, mma_m_tile, f.phases_x)
                .split(v.y, y_block, v.y, block_sets(f) * f.picture_rows, guard)
                .split(v.y, v.y, mma_m_outer, f.picture_rows)
                .split(v.channel, channel_block, mma_m, f.tile_channels(), guard);
        }
        split_tile(f, f.output);
        if (channel_sets > 1) {
            Var channel_set{"channel_set"};
            f.output.split(channel_block, channel_block, channel_set, channel_sets, guard)
                .fuse(channel_set, warpgroup, warpgroup);
        }
        f.output
            .reorder(f.sub_pixel() ? mma_m_outermost : mma_m_tile, mma_n, mma_n_group, mma_m, mma_m_outer,
                     mma_n_outer, lane, warp, warpgroup, channel_block, column, y_block, v.group, v.batch)
            .fuse(channel_block, column, block)
            .fuse(v.group, v.batch, image)
            .gpu_blocks(block, y_block, image)
            .gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }

    // Splits the loop over all rows of a tile, or over the 64 of one horizontal phase.
    void tile_loops(const TensorCoreFuncs &f, Halide::Stage s, int rows) const {
        s.split(f.t.row, outer, mma_m, rows).never_partition_all();
        split_tile(f, s);
        if (channel_sets > 1) s.fuse(f.t.row_block, warpgroup, warpgroup);
    }

    std::vector<Halide::VarOrRVar> tile_order() const {
        return {mma_n, mma_n_group, mma_m, mma_n_outer, outer, lane, warp, warpgroup};
    }

    void keep_in_registers(const TensorCoreFuncs &f, Halide::Func tile) const {
        const GatherVars &v = f.v;
        const int rows = tile_rows_of(f);
        tile.store_in(Halide::MemoryType::Register).bound_extent(v.x, block_columns()).bound_extent(f.t.row, rows)
            .bound_extent(v.y, block_sets(f)).bound_extent(f.t.row_block, channel_sets)
            .bound_extent(v.group, 1).bound_extent(v.batch, 1);
        tile_loops(f, tile, rows);
        tile.reorder(tile_order()).gpu_threads(lane, warp, warpgroup);
    }

    // Returns the tile that products are added to.
    Halide::Func multiply_in_tile(TensorCoreFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, value_outer{"value_outer"};
        f.sum.compute_at(f.output, block);
        keep_in_registers(f, f.sum);
        Func multiplied = f.sum;
        f.sum.update().split(f.r.k4, pipeline, mma_k_outer, chunk() / 4);
        if (f.parts == 2) {
            // Tensor cores cut the bits off that a sum cannot hold. A sum of its own for every chunk, added
            // in float32, keeps that error small: it is relative to the chunk's sum, and does not grow with
            // the number of chunks.
            Var chunk_index{"chunk_index"};
            multiplied = f.sum.update().rfactor(pipeline, chunk_index);
            multiplied.compute_at(f.sum, pipeline);
            keep_in_registers(f, multiplied);
            Stage add = f.sum.update();
            tile_loops(f, add, tile_rows_of(f));
            std::vector<VarOrRVar> order = tile_order();
            order.push_back(pipeline);
            add.reorder(order).gpu_threads(lane, warp, warpgroup);
        }
        Stage update = multiplied.update();
        tile_loops(f, update, 64);
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_n_group, mma_m, mma_n_outer, value_outer, outer,
                                     f.r.tap_x, f.r.tap_y, f.r.product, lane, warp, warpgroup};
        if (f.parts == 1) order.push_back(pipeline);
        update.split(f.r.value, value_outer, mma_k, 4).reorder(order)
            .unroll(outer).unroll(f.r.tap_x).unroll(f.r.tap_y).unroll(f.r.product)
            .gpu_threads(lane, warp, warpgroup);
        return multiplied;
    }

    void stage_pixels(TensorCoreFuncs &f) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const TensorCoreVars &t = f.t;
        f.staged_input.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .bound(t.value, 0, 4).bound(t.part, 0, f.parts)
            .bound_extent(v.x, staged_columns(f)).bound_extent(v.y, staged_rows(f))
            .bound_extent(t.k4, chunk() / 4).bound_extent(v.group, 1).bound_extent(v.batch, 1)
            .vectorize(t.value).never_partition_all();
        // Lanes lie along a wide tile's row; a narrow one's rows are counted through.
        std::vector<VarOrRVar> staging_order{t.value, t.part, rest, lane, warp, warpgroup};
        if (tile_rows == 1) {
            f.staged_input.split(v.x, v.x, lane, 32, guard).unroll(v.x).fuse(v.y, t.k4, rest);
            staging_order.insert(staging_order.begin() + 2, v.x);
        } else {
            f.staged_input.fuse(v.x, v.y, rest).fuse(rest, t.k4, rest);
        }
        // The parts of a value are made by the thread that loads it.
        if (tile_rows > 1) f.staged_input.split(rest, rest, lane, 32, guard);
        f.staged_input.split(rest, rest, warp, 4 * staging_warpgroups(), guard).split(warp, warpgroup, warp, 4)
            .reorder(staging_order).unroll(rest).unroll(t.part)
            .gpu_threads(lane, warp, warpgroup);
    }

    void stage_weights(TensorCoreFuncs &f, const Halide::Func &multiplied) const {
        using namespace Halide;
        const GatherVars &v = f.v;
        const TensorCoreVars &t = f.t;
        Func staged = f.weights.in(multiplied);
        staged.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .bound(t.value, 0, 4).bound(t.part, 0, f.parts)
            .bound_extent(t.row, tile_rows_of(f)).bound(t.phase_y, 0, f.phases_y)
            .bound_extent(v.x, f.taps_x).bound_extent(v.y, f.taps_y).bound_extent(t.k4, chunk() / 4)
            .bound_extent(t.row_block, channel_sets).bound_extent(v.group, 1)
            .vectorize(t.value)
            .fuse(t.row, v.x, rest).fuse(rest, v.y, rest).fuse(rest, t.phase_y, rest).fuse(rest, t.k4, rest)
            .fuse(rest, t.part, rest);
        if (channel_sets > 1) staged.fuse(rest, t.row_block, rest);
        staged.split(rest, rest, lane, 32, guard).split(rest, rest, warp, 4, guard)
            .split(rest, rest, warpgroup, staging_warpgroups(), guard)
            .reorder(t.value, rest, lane, warp, warpgroup).unroll(rest)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif

// Schedule: an implicit matrix product on tensor cores, with every attribute of the convolution a run-time value.
//
// NVIDIA H200, 2026-11-21, TF32. k5 at stride 1, N16 256->256 64x64: 0.807 ms, 266 TFLOP/s, 73 % of what a plain matrix product
// reaches (docs/tensor-cores.md), with pictures packed before; 1.08 ms without. DCGAN's k4 s2 p1 of 4x4 pictures (N128 1024->512):
// 0.166 and 0.205 ms. L1 and shared memory limit it, and what a block does before and behind its loop.
//
// Order of the loops, from the inside:
// - A tile is 64 channels x `columns` positions of one phase a warpgroup, or 64 positions x `columns` channels where neighbouring
//   channels of the output are neighbours: lanes store along the columns. The phase is the block's, so where its taps begin is
//   found once, and the loop has just the taps that are live in it.
// - A step of the loop ("pipeline") is one tap of a chunk of channels. Its pixels are staged anew: what has been computed on is a
//   window of the picture that only the run time knows. A thread stages one position, so that the place of the pixels is found once
//   a step; neighbouring steps are taps of the same channels, which still lie in L1. With channels innermost, neighbouring lanes
//   stage neighbouring channels instead: whole lines of 128 bytes, to rows of shared memory that lie in different banks.
// - Products of a step hide the loads of the next if there are enough of them: two warpgroups share the positions, or the channels.
//   Two blocks a multiprocessor fill each other's gaps, better than one large one. Pictures that are packed before, four channels
//   side by side, are copied asynchronously, through no registers: then the large tile wins wherever there are many steps.
// - Phases are inner blocks: their outputs alternate in memory, so that the second-level cache meets all of a sector soon.
//
// What was tried: docs/tensor-core-experiments.md#any-attributes-implicit-matrix-products
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_GEMM_TENSOR_CORES_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_GEMM_TENSOR_CORES_H

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithm/implicit_gemm_funcs.h"
#include "algorithm/machine_facts.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaImplicitGemmTensorCores : TensorCoreSchedule {
    static constexpr const char *family = "implicit_gemm";
    Halide::GeneratorParam<int> columns{"columns", 256};        // of a warpgroup's tile
    Halide::GeneratorParam<int> tile_rows{"tile_rows", 64};     // likewise
    Halide::GeneratorParam<int> row_sets{"row_sets", 2};        // of as many rows, one for each warpgroup
    Halide::GeneratorParam<int> column_sets{"column_sets", 1};  // of `columns`, likewise
    Halide::GeneratorParam<int> chunk_channels{"chunk_channels", 32};  // of a step
    Halide::GeneratorParam<int> stages{"stages", 2};
    Halide::GeneratorParam<int> blocks{"blocks", 1};        // on a multiprocessor
    Halide::GeneratorParam<int> min_steps{"min_steps", 0};  // demanded of a problem
    /// Where phases are channels, so many are neighbours in the output: in channels_first those of a stride along the
    /// width that is a multiple, in channels_last channels.
    Halide::GeneratorParam<int> neighbours{"neighbours", 1};
    /// In channels_last 16 bytes of channels are stored at once; off: any number of channels, by pairs.
    Halide::GeneratorParam<bool> whole_rows;
    Halide::GeneratorParam<bool> tensor_cores{"tensor_cores", true};  // off: the same program without the passes

    /// Channels of a group: fewer would leave most of a tile unused.
    static constexpr int least_summed = 8, least_computed = 16;
    static constexpr bool guarded_pipeline = true;    // a phase has its own number of taps
    static constexpr bool separate_registers = true;  // see SoftwarePipelineOptions

    /// 16 bytes of a row of a tile are stored at once, or runs of those that are neighbours; set by apply().
    mutable bool row_stores = false, run_stores = false;
    mutable std::vector<std::pair<int, Halide::Expr>> runs, late_runs;
    mutable Halide::Expr centre;
    /// Less than 16 bytes are copied asynchronously; likewise.
    mutable bool small_copies = false;

    explicit CudaImplicitGemmTensorCores(bool whole_rows = false) : whole_rows("whole_rows", whole_rows) {}

    int chunk(const GemmFuncs &) const { return chunk_channels; }
    GemmTile tile(const GemmFuncs &f) const {
        const bool rows_are_positions = f.channels_last_output;
        const auto along_columns = [&](int extent, int step) {
            return GemmStoreLoop{extent, rows_are_positions ? 0 : step, rows_are_positions ? step : 0};
        };
        const auto along_rows = [&](int extent, int step) {
            return GemmStoreLoop{extent, rows_are_positions ? step : 0, rows_are_positions ? 0 : step};
        };
        GemmTile tile{.positions = positions(f), .channels = channels(f),
                      .loops = {along_columns(columns, 1), along_rows(tile_rows, 1), along_columns(column_sets, columns),
                                along_rows(row_sets, tile_rows)},
                      .phases_innermost = false};
        if (f.position_unit > 1) {
            tile.has_units = true;
            tile.loops[0] = along_columns(f.position_unit, 1);
            if (f.position_unit < columns)
                tile.loops.insert(tile.loops.begin() + 1, along_columns(columns / f.position_unit, f.position_unit));
        }
        if (neighbours > 1) {
            tile.neighbours = neighbours;
            const auto along = [&](int extent, int step) {
                return rows_are_positions ? along_columns(extent, step) : along_rows(extent, step);
            };
            const bool splits_columns = f.position_unit > 1 && f.position_unit < columns;
            const int inner = rows_are_positions ? 0 : splits_columns ? 2 : 1, all = rows_are_positions ? columns : tile_rows;
            tile.loops[inner] = along(neighbours, 1);
            tile.loops.insert(tile.loops.begin() + inner + 1, along(all / neighbours, neighbours));
        }
        return tile;
    }

    void describe(KernelDescription &description, const GemmFuncs &f) const {
        describe_gpus(description, f.format.terms > 1 || columns > 128);
        description.set("shared_bytes", shared_bytes(f));
        description.set("counts_through_images", "true");
        description.set("block_positions", 1, positions(f));
        description.set("block_channels", channels(f));
        description.set("blocks_per_multiprocessor", blocks);
        if (min_steps > 0) description.set("min_steps", min_steps);
        // Parts of a sum are float32, and groups, whose weights are packed.
        if (f.computed == Storage::f32 && !f.weights_as_given)
            description.set("split_target_blocks", machines::H200::multiprocessors * blocks);
    }

    void apply(GemmFuncs &f, const Halide::Target &) const {
        if (chunk_channels % (4 * f.values()) != 0)  // as weights are packed
            throw std::invalid_argument("chunk_channels is " + std::to_string(chunk_channels) +
                                        "; the rule is a multiple of " + std::to_string(4 * f.values()));
        small_copies = f.copied_values() < f.values();
        store_tile(f);
        multiply_in_tile(f);
        stage(f, f.picture, f.v.position, positions(f), f.input_layout == PictureLayout::channels_last);
        stage(f, f.weights, f.v.channel, channels(f), f.given_channels > 0);
    }

  protected:
    Halide::Var lane{"lane"}, warp{"warp"}, warpgroup{"warpgroup"}, rest{"rest"}, part{"part"};
    Halide::Var mma_m{"mma_m"}, mma_n{"mma_n"};
    Halide::RVar pipeline{"pipeline"};

    int warpgroups() const { return row_sets.value() * column_sets.value(); }
    int rows() const { return tile_rows.value() * row_sets.value(); }
    int all_columns() const { return columns.value() * column_sets.value(); }
    int positions(const GemmFuncs &f) const { return f.channels_last_output ? rows() : all_columns(); }
    int channels(const GemmFuncs &f) const { return f.channels_last_output ? all_columns() : rows(); }

    int shared_bytes(const GemmFuncs &f) const {
        const int row_bytes = chunk_channels / f.values() * 16 * f.format.pieces();
        const int stage = (rows() + all_columns()) * row_bytes + 128;
        // At the end eight rows of every warp pass through shared memory.
        const int turned = warpgroups() * 4 * 8 * (columns + 8) * 4;
        return std::max(stages * (stage + padded_bytes(f)), turned);
    }

    // Rows that keep banks apart take so many more.
    int padded_bytes(const GemmFuncs &f) const {
        const int operands = (f.input_layout == PictureLayout::channels_last) + (f.given_channels > 0);
        return operands * chunk_channels / f.values() * 16 * f.format.pieces();
    }

    // A warpgroup's tile is computed in one lane, as far as Halide knows.
    void tile_loops(const GemmFuncs &f, Halide::Stage s) const {
        Halide::Var column_set{"column_set"};
        const Halide::Var &m = f.channels_last_output ? f.v.position : f.v.channel;
        const Halide::Var &n = f.channels_last_output ? f.v.channel : f.v.position;
        s.split(m, warpgroup, mma_m, tile_rows * f.row_taps).split(n, column_set, mma_n, columns)
            .split(column_set, column_set, lane, 1).split(column_set, column_set, warp, 1)
            .fuse(column_set, warpgroup, warpgroup);
    }

    void store_tile(GemmFuncs &f) const {
        using namespace Halide;
        row_stores = f.computes_whole_rows;
        run_stores = !row_stores && !(neighbours > 1 && f.channels_last_output);
        runs = f.runs, late_runs = f.late_runs, centre = f.centre;
        RVar lane{"lane"}, warp{"warp"}, column{"mma_n"}, row{"mma_m"}, group_of_warps{"warpgroup"};
        const bool splits_columns =
            (f.position_unit > 1 && f.position_unit < columns) || (neighbours > 1 && f.channels_last_output);
        RVar column_outer{"mma_n_outer"}, row_outer{"mma_m_outer"};
        const int first_row = splits_columns ? 2 : 1;
        RVar column_set = f.stored.loops.rbegin()[1], row_set = f.stored.loops.back();
        // Nothing is computed there, but it has to be on the GPU.
        f.output.gpu_single_thread();
        f.output.update().allow_race_conditions().rename(f.stored.loops[0], column).rename(f.stored.loops[first_row], row);
        if (splits_columns) f.output.update().rename(f.stored.loops[1], column_outer);
        if (neighbours > 1 && !f.channels_last_output) f.output.update().rename(f.stored.loops[first_row + 1], row_outer);
        f.output.update()
            .split(column_set, column_set, lane, 1).split(column_set, column_set, warp, 1)
            .fuse(column_set, row_set, group_of_warps)
            .gpu_blocks(f.stored.block, f.stored.group).gpu_threads(lane, warp, group_of_warps)
            .never_partition_all();
    }

    void keep_in_registers(const GemmFuncs &f, Halide::Func tile) const {
        tile.store_in(Halide::MemoryType::Register)
            .bound_extent(f.v.position, positions(f)).bound_extent(f.v.channel, channels(f) * f.row_taps)
            .bound_extent(f.v.phase, 1).bound_extent(f.v.group, 1);
        tile_loops(f, tile);
        tile.reorder(mma_n, mma_m, lane, warp, warpgroup).gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void multiply_in_tile(GemmFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, tap{"tap"}, value_outer{"value_outer"}, mma_k_outer{"mma_k_outer"};
        f.sum.compute_at(f.output, f.stored.block);
        keep_in_registers(f, f.sum);
        f.sum.update().rename(f.r.step, pipeline);
        Func multiplied = f.sum;
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_m, value_outer, f.r.term, lane, warp, warpgroup};
        if (f.format.terms > 1) {
            // A sum of its own for every step, added in float32: tensor cores cut bits off (cuda_tensor_core.h).
            Var step_index{"step_index"};
            multiplied = f.sum.update().rfactor(pipeline, step_index);
            multiplied.compute_at(f.sum, pipeline).bound_extent(step_index, 1);
            keep_in_registers(f, multiplied);
            Stage add = f.sum.update();
            tile_loops(f, add);
            add.reorder(mma_n, mma_m, lane, warp, warpgroup, pipeline).gpu_threads(lane, warp, warpgroup)
                .never_partition_all();
        } else {
            order.push_back(pipeline);
        }
        Stage update = multiplied.update();
        tile_loops(f, update);
        if (f.window > 1) {
            update.split(f.r.k_group, mma_k_outer, tap, f.window);
            order.insert(order.begin() + 4, tap);
        } else {
            update.rename(f.r.k_group, mma_k_outer);
        }
        if (f.weight_run > 0) split_runs(update, order, f.channels_last_output, f.weight_run);
        if (f.position_run > 0) split_runs(update, order, !f.channels_last_output, f.position_run);
        update.split(f.r.value, value_outer, mma_k, f.values()).reorder(order);
        if (f.window > 1) update.unroll(tap);
        update.unroll(f.r.term).gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // This is for an operand whose rows in shared memory run along the tile.
    void split_runs(Halide::Stage &update, std::vector<Halide::VarOrRVar> &order, bool along_columns, int length) const {
        const Halide::Var group{along_columns ? "mma_n_group" : "mma_m_group"}, &run = along_columns ? mma_n : mma_m;
        update.split(run, group, run, length);
        const auto inner = std::find_if(order.begin(), order.end(), [&](const auto &v) { return v.name() == run.name(); });
        order.insert(inner + 1, group);
    }

    // Rows of 16 bytes. Neighbouring lanes have neighbouring positions or channels of the tile, or, `along_k`, the rows
    // of a chunk of one.
    void stage(GemmFuncs &f, Halide::Func rows, const Halide::Var &row, int extent, bool along_k) const {
        using namespace Halide;
        constexpr auto guard = TailStrategy::GuardWithIf;
        const GemmVars &v = f.v;
        rows.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .bound(v.value, 0, f.values()).bound(v.piece, 0, f.format.pieces())
            .bound(v.k_group, 0, chunk_channels / f.values())
            .bound_extent(row, extent).bound_extent(v.step, 1).bound_extent(v.phase, 1).bound_extent(v.group, 1);
        if (small_copies) rows.split(v.value, part, v.value, f.copied_values()).unroll(part);
        rows.vectorize(v.value);
        if (along_k) {
            rows.align_storage(row, extent + 1).fuse(v.k_group, row, rest).split(rest, rest, lane, 32, guard);
        } else {
            rows.split(row, row, lane, 32).fuse(row, v.k_group, rest);
        }
        std::vector<VarOrRVar> inner{v.value, v.piece, rest, lane, warp, warpgroup};
        if (small_copies) inner.insert(inner.begin() + 1, part);
        rows.split(rest, rest, warp, 4 * warpgroups(), guard).split(warp, warpgroup, warp, 4)
            .reorder(inner).unroll(rest).unroll(v.piece)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif

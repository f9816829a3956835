// Schedule: the weight gradient as a matrix product, on tensor cores (wgmma on Hopper, mma.sync elsewhere). What is staged of an
// operand are rows of 16 bytes: values of four pictures that were packed before, neighbouring positions of a picture in
// channels_first, or neighbouring channels of one in channels_last. Threads copy them, or the copy engine.
//
// H200, the sum of parts included. Packed pictures, TF32, 2026-11-21: pix2pix (k4 s2, N16 1024 to 256, 32x32) 291 TFLOP/s, 80 % of
// a plain matrix product; where kernels are short packing takes half. Float16, 2026-11-22: as channels lie, by threads, k2 s2,
// 256->256, 384x384, 49 % of the peak; by tensor maps k4 s4, N32 256->256 37x37, 610 TFLOP/s. In pairs, 2026-11-23: k2 s2,
// 256->256, 384x384, 60 %; limits are memory, and rows that the copy engine brings, one in 1.3 ns. With few positions stores take
// longest, with few blocks waits do.
//
// Order: as in tests/matrix_product, whose limit it shares, the second-level cache: a block computes as large a tile as its
// registers hold, and copies chunks of positions into several buffers, of which all but one or two are on their way.
// - Pictures: the four values that tensor cores read together are the same position of four pictures; therefore a kernel position,
//   whatever stride and dilation, is another place to copy from. A warp copies all rows of its position and finds that place once.
// - Channels, of 16 bits: rows of 16 bytes are eight channels of one position, which tensor cores take transposed. Eight lanes copy
//   128 bytes of one position, zeros outside; four positions a warp. Eights of channels lie an odd number of rows apart, in all
//   banks.
// - By tensor maps one thread starts all copies of a chunk: boxes of positions x runs of 128 bytes of channels, of the input, and of
//   the output gradient one a kernel position; in channels_first channels x 128 bytes of positions. Tensor cores take them as they
//   lie, the index that is summed over outside (compiler/ptx/tensor_core_instructions.h): of 16 bits by wgmma, in TF32 by mma.sync,
//   whose fragments lanes load themselves, which shared memory limits. Warps of 16 rows reach 160 TFLOP/s, of 32 rows 220 (k2 s2,
//   256 to 256 channels of 384x384, 0.484 and 0.352 ms; 2026-11-29). Tiles of one kernel position waste nothing of nine.
// - Windows, of all kernel positions of a line: a block stages three lines' boxes of the output gradient and one of the input, and
//   each of three warpgroups multiplies a line: a chunk is read once for nine products and more.
//
// What was tried: docs/tensor-core-experiments.md#tiles-of-weight-gradients
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_PRODUCT_TENSOR_CORE_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_PRODUCT_TENSOR_CORE_H

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithm/weight_gradient_product_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/warpgroup_tile.h"

namespace conv_transpose {

struct CudaWeightGradientProductTensorCore : WarpgroupTile {
    static constexpr const char *family = "product";
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;

    GeneratorParam<int> tile_taps{"tile_taps", 2}, tile_out{"tile_out", 64}, tile_in{"tile_in", 128};
    /// Positions (of four pictures) that are staged at once; a multiple of the warps, if a thread is to find but one place.
    GeneratorParam<int> steps{"steps", 8};
    GeneratorParam<int> stages{"stages", 3};
    GeneratorParam<int> blocks{"blocks", 2};  // on a multiprocessor
    GeneratorParam<int> wanted_blocks{"wanted_blocks", 264};
    GeneratorParam<bool> tensor_cores{"tensor_cores", true};  // off: the same program without the passes
    /// See SoftwarePipelineOptions; where pictures are packed nothing goes through registers.
    GeneratorParam<bool> separate_registers{"separate_registers", false};
    /// Pictures are read by tensor maps.
    GeneratorParam<bool> tensor_maps{"tensor_maps", false};
    GeneratorParam<bool> producer{"producer", false};  // a warpgroup of its own starts the copies
    GeneratorParam<int> producer_registers{"producer_registers", 40};
    /// The sum has one part, and the kernel stores the weights themselves, output channels innermost: these are columns of
    /// the tile then, and neighbours in memory.
    GeneratorParam<bool> writes_result{"writes_result", false};
    /// It stores 16 bytes of them at once: output channels of a group are whole eights.
    GeneratorParam<bool> row_stores{"row_stores", false};
    /// Not 0: so many blocks go through all tiles, neighbours or rounds of them (SoftwarePipelineOptions).
    GeneratorParam<int> resident_blocks{"resident_blocks", 0};
    GeneratorParam<bool> tiles_in_rounds{"tiles_in_rounds", false};
    GeneratorParam<int> window{"window", 1};  // kernel positions of a line, all of them, that share a box
    /// Twice 64 where lanes read fragments from shared memory themselves: each that they read is multiplied with twice as many.
    GeneratorParam<int> warpgroup_rows{"warpgroup_rows", 64};

    /// What reads tensor maps runs on GPUs that have clusters, whose blocks have one tile.
    bool adds_in_clusters() const { return tensor_maps && row_stores && resident_blocks == 0; }

    WeightGradientProductTile tile() const {
        return {.taps = tile_taps, .out_channels = tile_out, .in_channels = tile_in, .steps = steps,
                .in_channels_are_rows = writes_result || window > 1, .window = window, .warpgroup_rows = warpgroup_rows};
    }

    /// An operand with so many channels has so many neighbours that follow each other in shared memory: 16 bytes, or those of a
    /// box; the runtime counts so, too (input_map() and output_gradient_map() in plan/view.cpp).
    int row_channels(int channels, int values) const { return tensor_maps ? std::min(rows_of_line * values, channels) : values; }

    void describe(KernelDescription &description, const WeightGradientProductFuncs &f) const {
        // With two tiles (tf32x3) there are too few registers for mma.sync, and with more columns, or threads.
        const bool many = f.channels && (f.tile.columns() > 128 || warpgroups(f) > 2);
        describe_gpus(description, tensor_maps || f.parts == 2 || many);
        description.set("shared_bytes", shared_bytes(f));
        description.set("wanted_blocks", wanted_blocks);
        if (tensor_maps) description.set("box_positions", f.neighbours ? f.values * f.tile.steps : f.tile.steps);
        if (window > 1) description.set("window", window);
        if (row_stores) description.set("out_channel_multiple", f.values);
        if (resident_blocks > 0) description.set("resident_blocks", resident_blocks);
        if (adds_in_clusters()) description.set("adds_in_clusters", "true");
    }

    /// For packed pictures alone.
    void search_space(SearchSpace &space, const WeightGradientProductFuncs &f) const {
        using machines::Multiprocessor;
        constexpr int round = machines::H200::multiprocessors;
        space.choose(this->tile_taps, {1, 2, 4, 8});
        const int out = space.choose(this->tile_out, {16, 32, 64});
        const int in = space.choose(this->tile_in, {32, 64, 128, 256});
        space.choose(this->steps, {8, 16});
        space.choose(this->stages, {2, 3, 4, 5});
        const int blocks = space.choose(this->blocks, {1, 2, 4});
        space.choose(this->wanted_blocks, {round, 2 * round, 4 * round});
        const bool whole = f.tile.rows() % warpgroup_rows == 0 && warpgroup_rows % out == 0;
        space.require("warpgroups have whole kernel positions", whole);
        if (!whole) return;  // what follows divides by it
        constexpr int beside_sums = 60, most_warpgroups = 4;
        const int sums = in / 2 * (f.parts == 2 ? 2 : 1);
        space.require("a block has at most four warpgroups", warpgroups(f) <= most_warpgroups);
        space.require("a thread's sums fit its registers",
                      sums + beside_sums <= GpuLimits::registers(128 * warpgroups(f) * blocks));
        space.require("the stages of all blocks fit shared memory",
                      blocks * (shared_bytes(f) + Multiprocessor::reserved_shared_bytes) <=
                          machines::H200::block_shared_bytes);
    }

    void apply(WeightGradientProductFuncs &f) const {
        if (window > 1) store_lines(f);
        else if (writes_result) store_result(f);
        else store_tile(f);
        f.channels ? multiply_transposed(f) : multiply(f);
        for (const WeightGradientProductOperand &operand : f.operands()) {
            if (f.channels) tensor_maps ? stage_boxes(f, operand) : stage_channels(f, operand);
            else if (f.neighbours && tensor_maps) stage_runs(f, operand);
            else stage_by_warps(f, operand);
        }
    }

  private:
    static constexpr int rows_of_line = 8;  // of 16 bytes, in the 128 that a box has of a position at most

    int warpgroups(const WeightGradientProductFuncs &f) const { return f.tile.rows() / warpgroup_rows; }

    int shared_bytes(const WeightGradientProductFuncs &f) const {
        const bool beside_stages = resident_blocks > 0;
        const int turns = row_stores && !beside_stages ? 2 : 1;
        constexpr int alignment_of_boxes = 1024;  // as compiler/passes/software_pipeline.cpp lays out stages
        const int stage = tensor_maps ? (staged_bytes(f) + alignment_of_boxes - 1) / alignment_of_boxes * alignment_of_boxes
                                      : staged_bytes(f);
        const int staged = stages * stage;
        const int turned = turns * warpgroups(f) * 4 * 8 * (f.tile.columns() + 8) * 4;
        constexpr int barriers_and_alignment = 2048, k_of_instruction = 16;
        const int overlap = (window - 1) * (k_of_instruction - 1) * tile_out * 2;  // see software_pipeline.cpp
        return (beside_stages ? staged + turned : std::max(staged, turned)) + (tensor_maps ? barriers_and_alignment + overlap : 0);
    }

    int staged_bytes(const WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        if (tensor_maps)
            return (t.steps * t.in_channels + t.output_steps() * t.output_rows() * (t.in_pairs ? 2 : 1)) *
                   (f.neighbours ? 16 : 16 / f.values);  // of a step
        return f.channels ? (t.steps + 1) * (t.rows() + t.columns()) / f.values * 16 : f.staged_bytes();
    }

    // What threads and blocks have, outside of loops over a warpgroup's tile.
    void share_out(WeightGradientProductFuncs &f, std::vector<Halide::VarOrRVar> loops) const {
        for (const Halide::Var &d : {one, lane, warp, warpgroup, f.tap_tile, f.in_tile, f.out_tile, f.group, f.band})
            loops.push_back(d);
        f.partial.split(f.in_tile, f.in_tile, one, 1).split(one, one, lane, 1).split(one, one, warp, 1).reorder(loops)
            .fuse(f.tap_tile, f.in_tile, block).fuse(block, f.out_tile, block).fuse(block, f.group, block)
            .gpu_blocks(block, f.band).gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }

    void store_tile(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        Halide::Var mma_m_outer{"mma_m_outer"};
        f.partial.split(f.in_channel, f.in_tile, mma_n, t.in_channels, guard)
            .split(f.out_channel, f.out_tile, mma_m, t.out_channels, guard).bound(f.tap, 0, t.taps);
        if (t.shares_out_channels()) f.partial.split(mma_m, warpgroup, mma_m, warpgroup_rows).rename(f.tap, mma_m_outer);
        else f.partial.split(f.tap, warpgroup, mma_m_outer, warpgroup_rows / t.out_channels);
        share_out(f, {mma_n, mma_m, mma_m_outer});
    }

    void store_result(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        Halide::Var mma_n_outer{"mma_n_outer"};
        f.partial.split(f.in_channel, f.in_tile, mma_m, t.in_channels, guard).split(mma_m, warpgroup, mma_m, warpgroup_rows)
            .split(f.out_channel, f.out_tile, mma_n, t.out_channels, guard)
            .bound(f.tap, 0, t.taps).rename(f.tap, mma_n_outer);
        share_out(f, {mma_n, mma_n_outer, mma_m});
    }

    // A warpgroup has a line of kernel positions.
    void store_lines(WeightGradientProductFuncs &f) const {
        const WeightGradientProductTile &t = f.tile;
        if (t.in_channels != warpgroup_rows || t.out_channels > row_channels(t.out_channels, f.values))
            throw std::invalid_argument("window with tile_in " + std::to_string(t.in_channels) + " and tile_out " +
                                        std::to_string(t.out_channels) + "; the rule is 64, and 64 at most");
        Halide::Var mma_n_outer{"mma_n_outer"};
        f.partial.split(f.in_channel, f.in_tile, mma_m, t.in_channels, guard)
            .split(f.out_channel, f.out_tile, mma_n, t.out_channels, guard)
            .bound(f.tap, 0, t.taps).split(f.tap, warpgroup, mma_n_outer, t.window);
        share_out(f, {mma_n, mma_n_outer, mma_m});
    }

    void multiply(WeightGradientProductFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"}, value_outer{"value_outer"}, step_outer{"step_outer"};
        f.sum.update().rename(f.r[3], pipeline);
        Stage update = multiplied_sum(f).update();
        tile_loops(f, update);
        std::vector<VarOrRVar> order{mma_k, mma_k_outer, mma_n, mma_m, one, value_outer, step_outer, f.r[2],
                                     lane, warp, warpgroup};
        if (f.parts != 2) order.push_back(pipeline);
        update.split(f.r[0], value_outer, mma_k, f.values).split(f.r[1], step_outer, mma_k_outer, f.tile.steps)
            .reorder(order).unroll(f.r[2]).gpu_threads(lane, warp, warpgroup);
    }

    void multiply_transposed(WeightGradientProductFuncs &f) const {
        using namespace Halide;
        RVar mma_k{"mma_k"}, mma_k_outer{"mma_k_outer"};
        Var mma_m_group{"mma_m_group"}, mma_n_group{"mma_n_group"};
        const int of_input = row_channels(f.tile.in_channels, f.values),
                  of_output = row_channels(f.tile.out_channels, f.values);
        const bool turned = f.tile.in_channels_are_rows;
        f.sum.compute_at(f.partial, block);
        keep_in_registers(f, f.sum);
        f.sum.update()
            .rename(f.r[3], pipeline)
            .rename(f.r[0], mma_k)
            .rename(f.r[1], mma_k_outer)
            .split(f.m, warpgroup, mma_m_group, warpgroup_rows)
            .split(mma_m_group, mma_m_group, mma_m, turned ? of_input : of_output)
            .split(f.n, one, mma_n_group, f.tile.columns())
            .split(mma_n_group, mma_n_group, mma_n, turned ? of_output : of_input)
            .split(one, one, lane, 1)
            .split(one, one, warp, 1)
            .reorder({mma_k, mma_k_outer, mma_n, mma_n_group, mma_m, mma_m_group, one, f.r[2], lane, warp, warpgroup,
                      pipeline})
            .gpu_threads(lane, warp, warpgroup)
            .never_partition_all();
    }

    // Packed, a warp has a step, its lanes the rows: they copy what lies side by side, and find the place of a position once.
    // Pictures are staged as they lie: lanes are neighbouring positions, and warps take turns with channels of a kernel position.
    void stage_by_warps(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var round{"round"}, turn{"turn"};
        Halide::Func staged = operand.staged;
        f.bound(operand, staged, operand.rows, f.tile.steps);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared);
        std::vector<Halide::VarOrRVar> loops{f.part, round, turn, lane, warp, warpgroup};
        if (f.neighbours) {
            staged.align_storage(operand.row, f.pitch(operand.rows)).fuse(f.value, f.step, lane)
                .split(operand.row, turn, warp, operand.channels).split(warp, round, warp, 4 * warpgroups(f), guard);
        } else {
            staged.vectorize(f.value).split(operand.row, round, lane, 32).split(f.step, turn, warp, 4 * warpgroups(f), guard);
            loops.insert(loops.begin(), f.value);
        }
        staged.split(warp, warpgroup, warp, 4).reorder(loops).unroll(f.part).unroll(round).unroll(turn)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    void stage_channels(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var round{"round"}, position{"position"}, position_round{"position_round"};
        Halide::Func staged = operand.staged;
        const int rows = operand.rows / f.values, neighbours = std::gcd(rows, 8), positions = 32 / neighbours;
        staged.bound(f.value, 0, f.values).bound_extent(operand.row, rows).bound_extent(f.step, f.tile.steps);
        for (const Halide::Var &d : operand.others) staged.bound_extent(d, 1);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .reorder_storage({f.value, f.step, operand.row}).align_storage(f.step, f.tile.steps + 1)
            .vectorize(f.value).split(operand.row, round, lane, neighbours)
            .split(f.step, position_round, warp, positions * 4 * warpgroups(f), guard)
            .split(warp, warp, position, positions).fuse(lane, position, lane)
            .split(warp, warpgroup, warp, 4)
            .reorder({f.value, round, position_round, lane, warp, warpgroup})
            .unroll(round).unroll(position_round)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // As far as Halide knows, by one thread of the block's.
    void by_one_thread(const WeightGradientProductFuncs &f, Halide::Func staged, std::vector<Halide::VarOrRVar> loops) const {
        for (const Halide::Var &d : {one, lane, warp, warpgroup}) loops.push_back(d);
        staged.split(one, one, lane, 32, guard).split(one, one, warp, 4, guard)
            .split(one, one, warpgroup, producer ? 1 : warpgroups(f), guard).reorder(loops)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // A run of positions of each channel.
    void stage_runs(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var bulk_channel{"bulk_channel"}, bulk_step{"bulk_step"};
        Halide::Func staged = operand.staged;
        f.bound(operand, staged, operand.rows, f.tile.steps);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .reorder_storage({f.value, f.step, operand.row}).vectorize(f.value).rename(f.step, bulk_step)
            .split(operand.row, one, bulk_channel, operand.rows);
        by_one_thread(f, staged, {f.value, bulk_step, bulk_channel, f.part});
    }

    void stage_boxes(const WeightGradientProductFuncs &f, const WeightGradientProductOperand &operand) const {
        Halide::Var bulk_box{"bulk_box"}, bulk_step{"bulk_step"}, bulk_value{"bulk_value"}, value{"value"};
        Halide::Func staged = operand.staged;
        const int row = row_channels(operand.channels, f.values), boxes = operand.rows / row;
        staged.bound(f.value, 0, row).bound_extent(operand.row, boxes).bound_extent(f.step, operand.steps);
        for (const Halide::Var &d : operand.others) staged.bound_extent(d, 1);
        staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .reorder_storage({f.value, f.step, operand.row})
            .split(f.value, bulk_value, value, f.values).vectorize(value).rename(f.step, bulk_step)
            .split(operand.row, one, bulk_box, boxes);
        by_one_thread(f, staged, {value, bulk_value, bulk_step, bulk_box});
    }
};

}  // namespace conv_transpose

#endif

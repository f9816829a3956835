// Schedule: an implicit matrix product on tensor cores whose picture the copy engine reads, by a tensor map. The tiles are those of
// cuda_implicit_gemm_tensor_cores.h; what differs is how operands come to shared memory.
//
// NVIDIA H200, float16, packing of weights included, 2026-11-22. Channels_last: k5 at stride 1, N16 256->256 64x64: 0.318 ms, 676
// TFLOP/s, 94 % of what a plain matrix product reaches; k3, N8 64->64 1024x1024: 1.19 ms, 521 TFLOP/s; k2 s2, N8 128->64 256x256,
// phases as channels: 0.124 ms, 75 % of the memory's bandwidth. Channels_first, as it lies: the same 0.122 ms, 77 %; packed,
// KernelBench 57: 1.80 ms, 56 % of it, a third of which packing takes (2026-11-23). Taps as rows: k3 p1, 64 to 64 channels,
// 1080x1920, 0.365 ms, 35 %: both warpgroups add and store at once (2026-11-27). In clusters: the input gradient of k2 s2, 512 to
// 512, 37x37, 0.0104 ms, 28 % of the peak: products are short beside the launch and what a cluster waits for.
//
// One thread of the block starts all copies of a step: boxes of the picture, positions x a chunk of channels, as they lie in
// channels_last (compiler/passes/tensor_boxes.h), and runs of packed weights. Nobody computes addresses of pixels, no byte passes
// through a thread, and what lies outside of the picture comes as zeros. The input gradient's weights in channels_last are boxes,
// too, as they are given: rows of the channels that are summed over, one for each that is computed; so are weights in
// channels_first where taps are channels. Results in channels_first whose rows have an odd length are stored element by element, of
// neighbouring lanes.
//
// Order: a step is a window of taps along x, so that a box is fetched once for all of them: a tap is another start address in
// shared memory. From the second-level cache come (positions + window - 1) rows in place of positions * window, which is what
// limits layers of few channels.
//
// What was tried: docs/tensor-core-experiments.md#tensor-maps
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_GEMM_TENSOR_MAPS_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_IMPLICIT_GEMM_TENSOR_MAPS_H

#include "schedules/cuda_implicit_gemm_tensor_cores.h"

namespace conv_transpose {

struct CudaImplicitGemmTensorMaps : CudaImplicitGemmTensorCores {
    static constexpr bool tensor_maps = true;
    Halide::GeneratorParam<int> window{"window", 1};  // taps along x of a step
    Halide::GeneratorParam<int> boxes{"boxes", 1};    // of a step's positions; one has at most 256
    Halide::GeneratorParam<bool> producer{"producer", false};  // a warpgroup of its own starts the copies
    static constexpr int products_in_flight = 0;  // see SoftwarePipelineOptions
    Halide::GeneratorParam<int> producer_registers{"producer_registers", 40};
    /// So many blocks, those of a machine, go through all tiles: the producer begins the next while one is stored. 0: a block
    /// has one tile (see SoftwarePipelineOptions).
    Halide::GeneratorParam<int> resident_blocks{"resident_blocks", 0};
    /// Neighbouring blocks have neighbouring tiles at the same time, which see the same rows (SoftwarePipelineOptions).
    Halide::GeneratorParam<bool> tiles_in_rounds{"tiles_in_rounds", false};
    /// In rounds: a block keeps the weights of so many steps, the most that a problem may have (compiler/passes/kept_operand.h).
    Halide::GeneratorParam<int> kept_steps{"kept_steps", 0};
    Halide::GeneratorParam<int> row_taps{"row_taps", 1};  // taps along x that are rows of a tile
    /// Blocks that sum parts of the same tile are a cluster, and add them before one of them stores each of its rows.
    Halide::GeneratorParam<bool> in_clusters{"in_clusters", false};

    CudaImplicitGemmTensorMaps() : CudaImplicitGemmTensorCores(true) {}

    bool adds_in_clusters() const { return in_clusters; }
    /// Tiles leave the block by the copy engine, while it multiplies the next: of 16 bits, channels of positions, which are
    /// neighbours in the output (of a window some are not stored).
    bool stores_boxes(const GemmFuncs &f) const {
        return resident_blocks > 0 && whole_rows && window == 1 && f.channels_last_output && f.computed != Storage::f32;
    }

    void describe(KernelDescription &description, const GemmFuncs &f) const {
        CudaImplicitGemmTensorCores::describe(description, f);
        describe_gpus(description, true);
        description.set("shared_bytes", staged_bytes(f) + (resident_blocks > 0 ? scratch_bytes(f) : 1024));
        description.set("box_positions", box_positions(f));
        if (window > 1) description.set("window", window);
        if (f.row_taps > 1) {
            description.set("row_taps", f.row_taps);
            description.set("run_positions", f.position_run);
            description.set("stored_positions", f.position_run - 2 * f.run_margin);
        }
        if (resident_blocks > 0) description.set("resident_blocks", resident_blocks);
        if (kept_steps > 0) description.set("kept_steps", kept_steps);
        if (f.stored_channels > 0) description.set("stored_box_channels", f.stored_channels);
        if (f.weight_run > 0) description.set("box_channels", f.weight_run);
        if (!in_clusters) return;
        description.set("adds_in_clusters", "true");
        if (f.computed != Storage::f32) description.set("split_target_blocks", machines::H200::multiprocessors * blocks);
    }

    void apply(GemmFuncs &f, const Halide::Target &) const {
        if (in_clusters && resident_blocks > 0)
            throw std::invalid_argument("in_clusters with resident_blocks; the rule is one of them, as blocks add one tile each");
        store_tile(f);
        multiply_in_tile(f);
        stage_picture(f);
        stage_weights(f);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    Halide::Var one{"one"};

    // A box begins at a multiple of eight positions, where the pattern does that its rows are permuted by.
    int box_positions(const GemmFuncs &f) const {
        // What lanes of a quarter of a warp read of four channels lies in different banks.
        if (f.row_taps > 1) return f.position_run + 8;
        return f.position_run > 0 ? f.position_run : ((positions(f) + window - 1 + boxes - 1) / boxes + 7) / 8 * 8;
    }
    int staged_positions(const GemmFuncs &f) const {
        return f.position_run > 0 ? positions(f) / f.position_run * box_positions(f) : boxes * box_positions(f);
    }
    int staged_bytes(const GemmFuncs &f) const {
        const int row_bytes = chunk_channels / f.values() * 16;
        const int picture = staged_positions(f) * row_bytes, weights = window * f.row_taps * channels(f) * row_bytes;
        return stages * picture + (kept_steps > 0 ? kept_steps : stages) * weights;
    }

    // Eight rows of every warp, or boxes that it stores, beside barriers.
    int scratch_bytes(const GemmFuncs &f) const {
        const int warps = warpgroups() * 4, rows_of_warps = warps * 8 * (columns + (row_taps > 1 ? 12 : 8)) * 4;
        if (f.stored_channels == 0) return rows_of_warps + 64;
        return std::max(rows_of_warps, warpgroups() * f.stored_elements * 2) + 1024;
    }

    // One thread of the block starts the copies of a step, as far as Halide knows, of which `loops` are.
    void by_one_thread(Halide::Func staged, std::vector<Halide::VarOrRVar> loops) const {
        loops.insert(loops.end(), {one, lane, warp, warpgroup});
        staged.split(one, one, lane, 32, guard).split(one, one, warp, 4, guard)
            .split(one, one, warpgroup, producer ? 1 : warpgroups(), guard)
            .reorder(loops).gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // Rows of `values` neighbours, so many of each element of `row`.
    Halide::Func step_of(const GemmFuncs &f, Halide::Func staged, int values, int k_groups, const Halide::Var &row,
                         int rows) const {
        const GemmVars &v = f.v;
        return staged.compute_at(f.sum, pipeline).store_in(Halide::MemoryType::GPUShared)
            .bound(v.value, 0, values).bound(v.piece, 0, 1).bound(v.k_group, 0, k_groups).bound_extent(row, rows)
            .bound_extent(v.step, 1).bound_extent(v.phase, 1).bound_extent(v.group, 1);
    }

    // The loop over a chunk's channels of weights that stay, or do not.
    const char *weights_loop() const { return kept_steps > 0 ? "bulk_kept_k" : "bulk_k"; }

    // Rows of channels that are summed over, one for each position or computed channel: so many boxes of `box_rows`.
    void stage_boxes(const GemmFuncs &f, Halide::Func staged, const Halide::Var &row, int box_rows, int count,
                     const char *loop = "bulk_k") const {
        using namespace Halide;
        const GemmVars &v = f.v;
        Var bulk_box{"bulk_box"}, bulk_row{"bulk_row"}, bulk_k{loop};
        step_of(f, staged, f.values(), chunk_channels / f.values(), row, box_rows * count)
            .reorder_storage(v.value, v.k_group, row, v.piece, v.step, v.phase, v.group).vectorize(v.value)
            .split(row, bulk_box, bulk_row, box_rows).split(bulk_box, one, bulk_box, count).rename(v.k_group, bulk_k);
        by_one_thread(staged, {v.value, bulk_k, bulk_row, bulk_box, v.piece});
    }

    // Runs of positions or of computed channels, one for each channel that is summed over: a box is a run of all of a chunk.
    void stage_runs(const GemmFuncs &f, Halide::Func staged, const Halide::Var &row, int run, int runs,
                    const char *loop = "bulk_k") const {
        using namespace Halide;
        const GemmVars &v = f.v;
        Var bulk_box{"bulk_box"}, bulk_k{loop}, bulk_value{"bulk_value"}, value{"value"};
        step_of(f, staged, run, chunk_channels, row, runs)
            .reorder_storage(v.value, v.k_group, row, v.piece, v.step, v.phase, v.group)
            .split(v.value, bulk_value, value, f.values()).vectorize(value)
            .split(row, one, bulk_box, runs).rename(v.k_group, bulk_k);
        by_one_thread(staged, {value, bulk_value, bulk_k, bulk_box, v.piece});
    }

    void stage_picture(const GemmFuncs &f) const {
        if (f.position_run > 0) stage_runs(f, f.picture, f.v.position, box_positions(f), positions(f) / f.position_run);
        else stage_boxes(f, f.picture, f.v.position, box_positions(f), boxes);
    }

    // As they are given; packed, runs of 64 channels; of a window, where a block has as many, for all taps.
    void stage_weights(const GemmFuncs &f) const {
        using namespace Halide;
        const GemmVars &v = f.v;
        if (f.weight_run > 0)
            return stage_runs(f, f.weights, v.channel, f.weight_run, channels(f) / f.weight_run, weights_loop());
        if (f.maps_weights) return stage_boxes(f, f.weights, v.channel, channels(f), 1, weights_loop());
        Var bulk_tile{"bulk_tile"}, bulk_channel{"bulk_channel"}, bulk_k{weights_loop()}, bulk_tap{"bulk_tap"};
        const int of_tile = std::min(64, channels(f)), rows = channels(f) * f.row_taps;
        step_of(f, f.weights, f.values(), chunk_channels / f.values() * window, v.channel, rows).vectorize(v.value)
            .split(v.channel, bulk_tile, bulk_channel, of_tile).split(bulk_tile, one, bulk_tile, rows / of_tile)
            .split(v.k_group, bulk_k, bulk_tap, window);
        // Rows of all taps of a tile of channels lie side by side.
        if (f.row_taps > 1) by_one_thread(f.weights, {v.value, bulk_channel, bulk_tile, bulk_tap, bulk_k, v.piece});
        else by_one_thread(f.weights, {v.value, bulk_channel, bulk_tap, bulk_k, bulk_tile, v.piece});
    }
};

}  // namespace conv_transpose

#endif

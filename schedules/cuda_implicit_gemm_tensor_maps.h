// Schedule: an implicit matrix product on tensor cores whose picture the copy engine reads, by a tensor map. The tiles are
// those of cuda_implicit_gemm_tensor_cores.h; what differs is how operands come to shared memory.
//
// Machine: NVIDIA H200, 2026-11-22, float16, packing of weights included. Problem: k5 at stride 1, N16 256->256 64x64: 0.318
// ms, 676 TFLOP/s, 94 % of what a plain matrix product reaches. k3, N8 64->64 1024x1024: 1.19 ms, 521 TFLOP/s. U-Net's k2 s2,
// N8 128->64 256x256, phases as channels: 0.124 ms, 75 % of the memory's bandwidth (0.163 by 128 x 128 in two blocks). Others:
// docs/performance.md, "Half precision".
//
// One thread of the block starts all copies of a step: boxes of the picture, positions x a chunk of channels, as they lie
// in channels_last (compiler/passes/tensor_boxes.h), and runs of packed weights. Nobody computes addresses of pixels, no
// byte passes through a thread, and what lies outside of the picture comes as zeros.
//
// The input gradient's weights in channels_last are boxes, too, as they are given: rows of the channels that are summed
// over, one for each that is computed. Packing them took 25 of 81 us (k2 s2, 1024->1024 40x40: now 0.023 ms by 128 x 128, six
// stages deep), and one box in place of 16 runs of 1 KB lets 128 positions x 256 channels keep up with 256 x 128 (k2 s2, N16
// 256->256 80x80: 0.114 and 0.115 ms, 0.130 with packed weights). Weights in channels_first lie so, too, where taps are
// channels (k16 s8, 1536->768 of 500 positions: 0.058 ms, 0.139 with packed weights).
//
// In channels_first, with the step that packs the picture, all of it timed (2026-11-23, float16): KernelBench 57, k3 of 64
// channels, 1.80 ms, of which packing takes 0.60 and the product 1.19, as in channels_last. What is read and written, 4.3 GB with
// the packed picture, takes 1.0 ms at 4.3 TB/s: 56 % of that limit; 65 0.722 ms (0.26, 36 %), 69 1.02 (0.36, 36 %), 71 0.431 (0.25,
// 58 %). k4 s4, N32 256->256 37x37, fours of phases, 0.313. Where phases begin at odd elements of 16 bits, as with k4 s2 p1,
// runs are stored by 2 bytes, of neighbouring lanes.
//
// In channels_first as it lies (float16, 19:23): k2 s2, N8 128->64 256x256, 0.122 ms, 77 % of the memory's bandwidth; 1024->512
// 72x72 0.0419 ms, 519 TFLOP/s; 1x1, N4 64->128 248x216, 0.0288 ms, 66 % of the bandwidth. Without further tiles 1x1 took 0.038 to
// 0.043 in four other tiles, and k2 s2 0.225 (128 x 64 in four blocks, stored in runs of four).
//
// Order of the loops: a step is a window of taps along x, so that a box is fetched once for all of them: a tap is another
// start address in shared memory. From the second-level cache come (positions + window - 1) rows in place of
// positions * window, which is what limits layers of few channels.
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

    CudaImplicitGemmTensorMaps() : CudaImplicitGemmTensorCores(true) {}

    void describe(KernelDescription &description, const GemmFuncs &f) const {
        CudaImplicitGemmTensorCores::describe(description, f);
        describe_gpus(description, true);
        description.set("shared_bytes", stages * stage_bytes(f) + (resident_blocks > 0 ? scratch_bytes() : 1024));
        description.set("box_positions", box_positions(f));
        if (window > 1) description.set("window", window);
        if (resident_blocks > 0) description.set("resident_blocks", resident_blocks);
        if (f.weight_run > 0) description.set("box_channels", f.weight_run);
    }

    void apply(GemmFuncs &f, const Halide::Target &) const {
        store_tile(f);
        multiply_in_tile(f);
        f.position_run > 0 ? stage_position_runs(f) : stage_boxes(f);
        f.weight_run > 0 ? stage_weight_runs(f) : f.maps_weights ? stage_weight_boxes(f) : stage_weights(f);
    }

  private:
    static constexpr auto guard = Halide::TailStrategy::GuardWithIf;
    Halide::Var one{"one"};

    // A box begins at a multiple of eight positions, where the pattern does that its rows are permuted by.
    int box_positions(const GemmFuncs &f) const {
        return f.position_run > 0 ? f.position_run : ((positions(f) + window - 1 + boxes - 1) / boxes + 7) / 8 * 8;
    }
    int staged_positions(const GemmFuncs &f) const { return f.position_run > 0 ? positions(f) : boxes * box_positions(f); }
    int stage_bytes(const GemmFuncs &f) const {
        return (staged_positions(f) + window * channels(f)) * (chunk_channels / f.values() * 16);
    }

    // Eight rows of every warp, beside barriers.
    int scratch_bytes() const { return warpgroups() * 4 * 8 * (columns + 8) * 4 + 64; }

    // As far as Halide knows, by one thread of the block's.
    void by_one_thread(Halide::Func &rows) const {
        rows.split(one, one, lane, 32, guard).split(one, one, warp, 4, guard)
            .split(one, one, warpgroup, producer ? 1 : warpgroups(), guard);
    }

    void stage_boxes(GemmFuncs &f) const {
        using namespace Halide;
        const GemmVars &v = f.v;
        Var bulk_box{"bulk_box"}, bulk_position{"bulk_position"}, bulk_k{"bulk_k"};
        f.picture.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .reorder_storage(v.value, v.k_group, v.position, v.piece, v.step, v.phase, v.group)
            .bound(v.value, 0, f.values()).bound(v.piece, 0, 1).bound(v.k_group, 0, chunk_channels / f.values())
            .bound_extent(v.position, staged_positions(f)).bound_extent(v.step, 1).bound_extent(v.phase, 1)
            .bound_extent(v.group, 1).vectorize(v.value)
            .split(v.position, bulk_box, bulk_position, box_positions(f)).split(bulk_box, one, bulk_box, boxes)
            .rename(v.k_group, bulk_k);
        by_one_thread(f.picture);
        f.picture.reorder(v.value, bulk_k, bulk_position, bulk_box, v.piece, one, lane, warp, warpgroup)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // Runs of positions, one for each channel that is summed over: a box is a run of all of a chunk.
    void stage_position_runs(GemmFuncs &f) const {
        using namespace Halide;
        const GemmVars &v = f.v;
        Var bulk_box{"bulk_box"}, bulk_k{"bulk_k"}, bulk_value{"bulk_value"}, value{"value"};
        const int runs = positions(f) / f.position_run;
        f.picture.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .reorder_storage(v.value, v.k_group, v.position, v.piece, v.step, v.phase, v.group)
            .bound_extent(v.value, f.position_run).bound(v.piece, 0, 1).bound_extent(v.k_group, chunk_channels)
            .bound_extent(v.position, runs).bound_extent(v.step, 1).bound_extent(v.phase, 1)
            .bound_extent(v.group, 1)
            .split(v.value, bulk_value, value, f.values()).vectorize(value)
            .split(v.position, one, bulk_box, runs).rename(v.k_group, bulk_k);
        by_one_thread(f.picture);
        f.picture.reorder(value, bulk_value, bulk_k, bulk_box, v.piece, one, lane, warp, warpgroup)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // Rows of channels that are summed over, one for each computed channel.
    void stage_weight_boxes(GemmFuncs &f) const {
        using namespace Halide;
        const GemmVars &v = f.v;
        Var bulk_channel{"bulk_channel"}, bulk_k{"bulk_k"};
        f.weights.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .reorder_storage(v.value, v.k_group, v.channel, v.piece, v.step, v.phase, v.group)
            .bound(v.value, 0, f.values()).bound(v.piece, 0, 1).bound(v.k_group, 0, chunk_channels / f.values())
            .bound_extent(v.channel, channels(f)).bound_extent(v.step, 1).bound_extent(v.phase, 1)
            .bound_extent(v.group, 1).vectorize(v.value)
            .split(v.channel, one, bulk_channel, channels(f)).rename(v.k_group, bulk_k);
        by_one_thread(f.weights);
        f.weights.reorder(v.value, bulk_k, bulk_channel, v.piece, one, lane, warp, warpgroup)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // Runs of channels that are computed, one for each that is summed over: a box is a run of all of a chunk.
    void stage_weight_runs(GemmFuncs &f) const {
        using namespace Halide;
        const GemmVars &v = f.v;
        Var bulk_box{"bulk_box"}, bulk_k{"bulk_k"}, bulk_value{"bulk_value"}, value{"value"};
        const int runs = channels(f) / f.weight_run;
        f.weights.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .reorder_storage(v.value, v.k_group, v.channel, v.piece, v.step, v.phase, v.group)
            .bound_extent(v.value, f.weight_run).bound(v.piece, 0, 1).bound_extent(v.k_group, chunk_channels)
            .bound_extent(v.channel, runs).bound_extent(v.step, 1).bound_extent(v.phase, 1)
            .bound_extent(v.group, 1)
            .split(v.value, bulk_value, value, f.values()).vectorize(value)
            .split(v.channel, one, bulk_box, runs).rename(v.k_group, bulk_k);
        by_one_thread(f.weights);
        f.weights.reorder(value, bulk_value, bulk_k, bulk_box, v.piece, one, lane, warp, warpgroup)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }

    // Runs of 64 channels; of a window, where a block has as many, for all taps.
    void stage_weights(GemmFuncs &f) const {
        using namespace Halide;
        const GemmVars &v = f.v;
        Var bulk_tile{"bulk_tile"}, bulk_channel{"bulk_channel"}, bulk_k{"bulk_k"}, bulk_tap{"bulk_tap"};
        const int of_tile = std::min(64, channels(f)), all_k = chunk_channels / f.values() * window;
        f.weights.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .bound(v.value, 0, f.values()).bound(v.piece, 0, 1).bound(v.k_group, 0, all_k)
            .bound_extent(v.channel, channels(f)).bound_extent(v.step, 1).bound_extent(v.phase, 1)
            .bound_extent(v.group, 1).vectorize(v.value)
            .split(v.channel, bulk_tile, bulk_channel, of_tile).split(bulk_tile, one, bulk_tile, channels(f) / of_tile)
            .split(v.k_group, bulk_k, bulk_tap, window);
        by_one_thread(f.weights);
        f.weights.reorder(v.value, bulk_channel, bulk_tap, bulk_k, bulk_tile, v.piece, one, lane, warp, warpgroup)
            .gpu_threads(lane, warp, warpgroup).never_partition_all();
    }
};

}  // namespace conv_transpose

#endif

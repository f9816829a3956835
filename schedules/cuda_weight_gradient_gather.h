// Schedule: the weight gradient of tensors of any rank, format and layout on CUDA cores, every attribute a run-time value:
// the kernel of last resort, and that of depthwise problems.
//
// H200, 2026-11-22: depthwise 1-D k3 s2, 8 x 512 channels, 4096 samples: 0.087 ms, 2.3 TB/s, 54 % of the memory limit; 3-D
// k5 s2, 2 x 256 channels of 16^3: 0.442 ms (4 %).
//
// Order: as cuda_weight_gradient_general.h; lanes are neighbouring positions of a volume, all axes joined, so none idles
// whatever the extents. A thread keeps the sums of in_tile x out_tile channels and `taps` neighbouring taps of a row. The
// lanes' sums are added from shared memory, in the order of the lanes.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_GATHER_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_GATHER_H

#include "algorithm/gather_funcs.h"
#include "schedules/kernel_description.h"
#include "schedules/schedule_defaults.h"

namespace conv_transpose {

struct CudaWeightGradientGather : CudaSchedule {
    static constexpr const char *family = "gather";
    Halide::GeneratorParam<int> in_tile{"in_tile", 4}, out_tile{"out_tile", 4}, taps{"taps", 1};
    /// Of positions, and of output channels.
    Halide::GeneratorParam<int> lanes{"lanes", 32}, warps{"warps", 4};
    Halide::GeneratorParam<int> wanted_blocks{"wanted_blocks", 2112};

    int block_out_channels() const { return int(out_tile) * int(warps); }
    WeightTile tile() const { return {in_tile, block_out_channels(), taps, lanes, warps}; }

    void describe(KernelDescription &description) const {
        description.set("tile_taps", taps);
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", block_out_channels());
        description.set("wanted_blocks", wanted_blocks);
        description.set("chunk_rows", lanes);
    }

    void apply(AnyWeightGradientFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const auto guard = TailStrategy::GuardWithIf;
        const RDom &w = f.weights;
        Var lane{"lane"}, warp{"warp"};
        RVar step{"step"}, r_lane{"r_lane"};

        f.sum.update().split(f.positions[0], step, r_lane, lanes, guard);
        Func lane_sum = f.sum.update().rfactor(r_lane, lane);
        Func lane_sums = lane_sum.in(f.sum);

        f.partial.update().allow_race_conditions()  // no two elements are one
            .gpu_blocks(w[2], w[3], w[4]).gpu_threads(w[0], w[1]).never_partition_all();
        f.sum.compute_at(f.partial, w[0]);

        const int of_thread = tile().weights() / warps;
        lane_sums.compute_at(f.partial, w[2]).store_in(MemoryType::GPUShared)
            .bound_extent(f.weight, tile().weights()).reorder_storage(f.weight, lane)
            .align_storage(f.weight, tile().weights() + 1)
            .split(f.weight, warp, f.weight, of_thread)
            .reorder(f.weight, lane, warp).unroll(f.weight).gpu_threads(lane, warp);
        lane_sum.compute_at(lane_sums, lane).store_in(MemoryType::Register).bound_extent(f.weight, of_thread).unroll(f.weight);
        lane_sum.update().reorder(f.weight, step, f.positions[1], f.positions[2]).unroll(f.weight).never_partition_all();
    }
};

/// One input channel a group, of which a block has one weight after the other: all threads are lanes.
struct CudaDepthwiseWeightGradientGather : CudaWeightGradientGather {
    static constexpr const char *family = "depthwise";
    CudaDepthwiseWeightGradientGather() {
        in_tile.set(1), out_tile.set(1), taps.set(4), lanes.set(128), warps.set(1), wanted_blocks.set(8448);
    }
};

}  // namespace conv_transpose

#endif

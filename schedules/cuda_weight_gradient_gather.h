// Schedule: the weight gradient of tensors of any rank, format and layout on CUDA cores, every attribute a run-time value:
// the kernel of last resort, and that of depthwise problems.
//
// H200, 2026-11-22: depthwise 1-D k3 s2, 8 x 512 channels, 4096 samples: 0.099 ms, 2.0 TB/s, 47 % of the memory limit; k6
// s3, 16 x 512 channels, 32 samples: 0.0095 ms (PyTorch 0.0060; 0.0172 with images and positions one after the other).
// channels_last, float16: 2-D k4 s2, 16 x 64 channels of 64x64, 0.041 (24 %); k3 s2, 8 x 96 channels of 128x170: 0.068 (57 %;
// PyTorch 0.066) by vectors of eight and three taps, by four and four 0.133; all nine taps in a thread 0.076 to 0.10. float16, 1-D k3 s2, 512
// channels of 400: 0.0049, where one part is rounded at once, with a second launch 0.0059 (PyTorch 0.0051).
//
// Runs of eight positions of a column with windows of three taps: depthwise 3-D k5 s2, 2 x 256 channels of 16^3: 0.173 ms
// (0.515 of single positions).
//
// Order: as cuda_weight_gradient_general.h; lanes are neighbouring positions of a volume, all axes joined, so none idles
// whatever the extents. A thread keeps the sums of in_tile x out_tile channels and `taps` neighbouring taps of a row. The
// lanes' sums are added from shared memory, in the order of the lanes. In channels_last a thread has a vector of groups, and
// its neighbours in a warp the vectors beside it.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_GATHER_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WEIGHT_GRADIENT_GATHER_H

#include <algorithm>

#include "algorithm/gather_funcs.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaWeightGradientGather : CudaSchedule {
    static constexpr const char *family = "gather";
    Halide::GeneratorParam<int> in_tile{"in_tile", 4}, out_tile{"out_tile", 4}, taps{"taps", 1};
    /// Lanes have positions of their own, and warps output channels.
    Halide::GeneratorParam<int> lanes{"lanes", 32}, warps{"warps", 4};
    Halide::GeneratorParam<int> at_once{"at_once", 4};  // positions of a lane whose loads are under way together
    Halide::GeneratorParam<int> wanted_blocks{"wanted_blocks", 2112};
    Halide::GeneratorParam<int> window{"window", 1}, run{"run", 1};  // see WeightTile

    int block_out_channels() const { return int(out_tile) * int(warps); }
    WeightTile tile() const { return {in_tile, block_out_channels(), taps, lanes, warps, 1, window, run}; }

    void describe(KernelDescription &description) const {
        description.set("tile_taps", int(taps) * int(window));
        description.set("run_rows", run);
        if (run > 1) description.set("min_output", run + run / 2, 1);
        description.set("tile_in_channels", in_tile);
        description.set("tile_out_channels", block_out_channels());
        description.set("wanted_blocks", wanted_blocks);
        description.set("chunk_rows", lanes);
    }

    void apply(AnyWeightGradientFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile()); }

  protected:
    void compute_in_threads(AnyWeightGradientFuncs &f, const WeightTile &tile) const {
        using namespace Halide;
        const int lanes = tile.lanes;
        const RDom &w = f.weights;
        Var lane{"lane"}, warp{"warp"};
        RVar step{"step"}, next{"next"}, r_lane{"r_lane"};

        f.sum.update().split(f.positions.x, step, r_lane, lanes).split(step, step, next, at_once);
        Func lane_sum = f.sum.update().rfactor(r_lane, lane);
        Func lane_sums = lane_sum.in(f.sum);

        f.partial.update().allow_race_conditions()  // no two elements are one
            .gpu_blocks(w[3], w[4], w[5]).gpu_threads(w[1], w[2]).never_partition_all();
        f.sum.compute_at(f.partial, w[0]);
        f.sum.update().unroll(r_lane, std::min(lanes, 16));

        const int of_thread = tile.weights() / tile.warps;
        lane_sums.compute_at(f.partial, w[3]).store_in(MemoryType::GPUShared)
            .bound_extent(f.weight, tile.weights()).reorder_storage(f.weight, lane)
            .align_storage(f.weight, tile.weights() + 1)
            .split(f.weight, warp, f.weight, of_thread);
        if (tile.of_groups()) lane_sums.reorder(f.weight, warp, lane).gpu_threads(warp, lane);
        else lane_sums.reorder(f.weight, lane, warp).gpu_threads(lane, warp);
        lane_sums.unroll(f.weight);
        lane_sum.compute_at(lane_sums, tile.of_groups() ? warp : lane).store_in(MemoryType::Register)
            .bound_extent(f.weight, of_thread).unroll(f.weight);
        Stage update = lane_sum.update();
        update.reorder(f.weight, f.positions[1], next, step).unroll(f.positions[1]).unroll(next);
        if (tile.of_groups()) update.vectorize(f.weight, tile.vector);
        update.unroll(f.weight).never_partition_all();
    }
};

/// One input channel a group, of which a block has one weight after the other: all threads are lanes.
struct CudaDepthwiseWeightGradientGather : CudaWeightGradientGather {
    static constexpr const char *family = "depthwise";
    CudaDepthwiseWeightGradientGather() {
        in_tile.set(1), out_tile.set(1), taps.set(4), lanes.set(128), warps.set(1), wanted_blocks.set(8448);
    }
};

/// Depthwise in channels_last: neighbouring threads have neighbouring vectors of groups, and share positions.
struct CudaDepthwiseWeightGradientVectors : CudaWeightGradientGather {
    static constexpr const char *family = "depthwise";
    Halide::GeneratorParam<int> vector{"vector", 4};
    CudaDepthwiseWeightGradientVectors() {
        in_tile.set(1), out_tile.set(1), taps.set(4), lanes.set(16), warps.set(16), wanted_blocks.set(2112);
    }
    WeightTile tile() const { return {1, 1, taps, lanes, warps, vector, window, run, true}; }
    void describe(KernelDescription &description) const {
        CudaWeightGradientGather::describe(description);
        description.set("tile_out_channels", 1);
        description.set("tile_groups", tile().groups());
        description.set("group_multiple", vector);
    }
    void apply(AnyWeightGradientFuncs &f, const Halide::Target &) const { compute_in_threads(f, tile()); }
};

}  // namespace conv_transpose

#endif

// Schedules: depthwise problems of many taps on CUDA cores, of tensors of any rank, format and layout, every attribute a run-time
// value: what a block sees is staged in shared memory.
//
// NVIDIA H200, 2026-11-23, 7x7, 4 x 2048 channels of 96x96, float16, TFLOP/s of 67: weight gradient 14.2 (21 %), in channels_last
// 8.4 (13 %); forward and input gradient 13.2 (20 %). The next best kernels (cuda_gather.h) take 4.8, 1.8, 1.9 and 3.0 times as
// long. Of PTX, a run of 128 products takes 50 other instructions, an element that is staged 10. Windows of four taps take a weight
// gradient 1.26 times as long as those of eight.
//
// Order: bounds are tested, and elements converted to float32, once an element, not once a tap. A thread has neighbouring positions
// of a column and a window of taps, which see a run of a column of what is staged: it comes in vectors of four, and nothing is
// tested in the inner loops. In a weight gradient a block's threads are lanes of its windows of taps, and add what each lane has
// summed. Forward, at a stride, a thread goes through its cell's phases along columns and depth, and lanes are positions of all
// phases along rows, so that stores are dense and lanes of a cell share what they read. In channels_last groups lie side by side.
//
// Strides, H200, 2026-11-24, 3-D k5 s2, 2 x 64 channels of 64^3 (MedNeXt), windows of three taps: forward 0.680 ms, 40 % of the
// memory's bandwidth, float16 0.661 (1.77 and 1.81 of cuda_gather.h, PyTorch 37.9 and 10.5), in channels_last 1.48 and 1.59 (1.68);
// weight gradient 1.96 and 1.75 (2.46 and 2.54; PyTorch 18.1 and 8.3). Of PTX, 67 instructions for 48 products, of which 33 are
// taps', in all 66 a result (203 in cuda_gather.h); an element is staged twice.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_STAGED_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_STAGED_H

#include "algorithm/staged_funcs.h"
#include "algorithm/staged_tile.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct CudaStaged : CudaSchedule {
    static constexpr const char *family = "depthwise";
    /// See StagedShape.
    Halide::GeneratorParam<int> threads{"threads", 128}, parts{"parts", 16}, window{"window", 8}, lanes{"lanes", 32},
        elements{"elements", 10240}, others{"others", 1024}, planes{"planes", 1};

    StagedShape shape() const { return {threads, parts, window, lanes, elements, others, planes}; }

    void describe(KernelDescription &description) const {
        const StagedShape s = shape();
        std::string text;
        for (const int value : {s.threads, s.parts, s.window, s.lanes, s.elements, s.others, s.planes})
            text += (text.empty() ? "" : ", ") + std::to_string(value);
        description.set("staged_shape", "{" + text + "}");
    }

  protected:
    /// At a loop of another Func.
    static void stage(StagedPicture &picture, int elements, const Halide::Func &of, const Halide::RVar &loop) {
        using namespace Halide;
        const RDom &e = picture.elements;
        picture.staged.compute_at(of, loop).store_in(MemoryType::GPUShared).bound(picture.slot, 0, elements);
        picture.staged.update().allow_race_conditions().vectorize(e[0]).gpu_threads(e[4]).never_partition_all();
        picture.column.compute_at(picture.staged, e[3]).store_in(MemoryType::Register);
        picture.element.compute_at(picture.staged, e[1]).store_in(MemoryType::Register)
            .bound_extent(picture.in_run, StagedShape::run).unroll(picture.in_run);
    }
    /// Runs of what is staged, in fours.
    static void read(Halide::Func &run, const Halide::Var &in_run, int elements, const std::vector<Halide::Var> &loops) {
        run.store_in(Halide::MemoryType::Register).bound(in_run, 0, elements).vectorize(in_run, 4).unroll(in_run);
        for (const Halide::Var &of_loop : loops) run.bound_extent(of_loop, 1);
    }
};

struct CudaForwardStaged : CudaStaged {
    void apply(StagedForwardFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const StagedShape shape = this->shape();
        const RDom &o = f.outputs, &w = f.weights, &t = f.taps;
        f.output.update().allow_race_conditions()  // no two elements are one
            .reorder(o[0], o[1], o[2], o[3]).unroll(o[0]).gpu_blocks(o[3]).gpu_threads(o[2]).never_partition_all();
        stage(f.picture, shape.elements, f.output, o[3]);
        f.staged_weight.compute_at(f.output, o[3]).store_in(MemoryType::GPUShared).bound(f.slot, 0, shape.others);
        f.staged_weight.update().allow_race_conditions().gpu_threads(w[1]).never_partition_all();
        for (Func *in_thread : {&f.place, &f.initial}) in_thread->compute_at(f.output, o[2]).store_in(MemoryType::Register);
        for (Func *in_phase : {&f.of_phase, &f.finished, &f.sum})
            in_phase->compute_at(f.output, o[1]).store_in(MemoryType::Register);
        for (Func *of_parts : {&f.finished, &f.sum}) of_parts->bound_extent(f.part, shape.parts).unroll(f.part);
        f.finished.specialize(f.no_smooth_activation);
        f.sum.update().reorder({f.part, t[0], t[1], t[2], t[3]}).unroll(f.part).unroll(t[0]).never_partition_all();
        const std::vector<Var> loops{f.tap_window, f.tap_x, f.tap_z, f.phase, f.thread, f.block};
        read(f.seen.compute_at(f.sum, t[1]), f.part, shape.seen(), loops);
        read(f.tap_weight.compute_at(f.sum, t[1]), f.in_window, shape.window_pitch(), loops);
    }
};

/// Of rows. A thread has a tap's weight for all of its positions, and nothing is tested for each tap. Four positions a thread, of
/// 8448 elements, or 256 threads take 1.28 and 1.08 of the time (k32 s16, 1280 channels of 938, float32: 39 us, 43 % of the memory
/// limit; H200, 2026-11-28): instructions limit, and registers leave room for 48 warps.
struct CudaInputGradientStaged : CudaStaged {
    CudaInputGradientStaged() { parts.set(2), elements.set(4224); }

    void describe(KernelDescription &description) const {
        CudaStaged::describe(description);
        description.set("parts", parts);
    }

    void apply(StagedRowFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const StagedShape shape = this->shape();
        const RDom &p = f.positions, &t = f.taps, &e = f.elements;
        f.input_gradient.update().allow_race_conditions()  // no two elements are one
            .reorder(p[0], p[1], p[2]).unroll(p[0]).gpu_blocks(p[2]).gpu_threads(p[1]).never_partition_all();
        f.sum.compute_at(f.input_gradient, p[2]).store_in(MemoryType::Register).bound(f.part, 0, shape.parts)
            .bound(f.thread, 0, shape.threads).bound_extent(f.block, 1).unroll(f.part).gpu_threads(f.thread);
        f.sum.update().reorder({f.part, t[0], f.thread, t[1], t[2], f.block}).unroll(f.part).gpu_threads(f.thread)
            .never_partition_all();
        f.tap_weight.compute_at(f.sum, t[0]).store_in(MemoryType::Register);
        f.staged.compute_at(f.sum, t[1]).store_in(MemoryType::GPUShared).bound(f.slot, 0, shape.elements);
        f.staged.update().allow_race_conditions().reorder(e[0], e[1], e[2]).unroll(e[0]).gpu_threads(e[2]).never_partition_all();
        f.element.compute_at(f.staged, e[1]).store_in(MemoryType::Register).bound_extent(f.in_round, StagedShape::run)
            .unroll(f.in_round);
    }
};

struct CudaWeightGradientStaged : CudaStaged {
    Halide::GeneratorParam<int> wanted_blocks{"wanted_blocks", 1056};
    CudaWeightGradientStaged() { parts.set(8), elements.set(5120), others.set(3072); }

    void describe(KernelDescription &description) const {
        CudaStaged::describe(description);
        description.set("wanted_blocks", wanted_blocks);
    }

    void apply(StagedWeightFuncs &f, const Halide::Target &) const {
        using namespace Halide;
        const StagedShape shape = this->shape();
        const RDom &w = f.weights, &r = f.runs;
        f.partial.update().allow_race_conditions()  // no two elements are one
            .reorder(w[0], w[1], w[2], w[3], w[4]).gpu_blocks(w[2], w[3], w[4]).gpu_threads(w[1]).never_partition_all();
        f.total.compute_at(f.partial, w[0]).store_in(MemoryType::Register);
        for (Func *of_block : {&f.sum, &f.lane_sums}) {
            of_block->compute_at(f.partial, w[2]).bound(f.tap, 0, shape.window).bound(f.thread, 0, shape.threads)
                .unroll(f.tap).gpu_threads(f.thread);
            for (const Var &block : {f.tile, f.part, f.images}) of_block->bound_extent(block, 1);
        }
        f.lane_sums.store_in(MemoryType::GPUShared).align_storage(f.tap, shape.window + 4);
        f.sum.store_in(MemoryType::Register);
        f.sum.update().reorder({f.tap, r[0], r[1], f.thread, r[2], f.tile, f.part, f.images})
            .unroll(f.tap).unroll(r[0]).gpu_threads(f.thread).never_partition_all();
        stage(f.output_gradient, shape.elements, f.sum, r[2]);
        stage(f.input, shape.others, f.sum, r[2]);
        f.task.compute_at(f.sum, f.thread).store_in(MemoryType::Register);
        f.at.compute_at(f.sum, r[1]).store_in(MemoryType::Register);
        for (const Var &of_loop : {f.step, f.thread, f.tile}) f.at.bound_extent(of_loop, 1);
        const std::vector<Var> loops{f.step, f.thread, f.box, f.tile, f.part, f.images};
        read(f.seen.compute_at(f.sum, r[1]), f.place, shape.seen(), loops);
        read(f.factor.compute_at(f.sum, r[1]), f.place, shape.parts, loops);
    }
};

}  // namespace conv_transpose

#endif

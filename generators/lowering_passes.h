// The passes after Halide's lowering that a CUDA kernel needs, by what its schedule is made for.
#ifndef CONV_TRANSPOSE_GENERATORS_LOWERING_PASSES_H
#define CONV_TRANSPOSE_GENERATORS_LOWERING_PASSES_H

#include "Halide.h"
#include "compiler/passes/async_copies.h"
#include "compiler/passes/device_assertions.h"
#include "compiler/passes/guarded_pipeline.h"
#include "compiler/passes/kernel_constants.h"
#include "compiler/passes/private_accumulators.h"
#include "compiler/passes/shared_subexpressions.h"
#include "compiler/passes/software_pipeline.h"
#include "compiler/passes/tensor_boxes.h"
#include "compiler/passes/tensor_core_pass.h"
#include "compiler/passes/uniform_choices.h"

namespace conv_transpose {

/// What packs, turns or adds has no others. The last pass, as others look for divisions.
inline void add_passes_of_any_kernel(Halide::Pipeline pipeline) {
    pipeline.add_custom_lowering_pass(new RemoveDeviceAssertions);
    pipeline.add_custom_lowering_pass(new KernelConstants);
}

/// For CUDA cores. `pipelined` is for schedules whose `stages` are more than one.
template <class Schedule>
void add_cuda_core_passes(Halide::Pipeline pipeline, const Schedule &schedule, SoftwarePipelineOptions pipelined) {
    pipeline.add_custom_lowering_pass(new RemoveDeviceAssertions);
    pipeline.add_custom_lowering_pass(new PrivateAccumulators);
    if constexpr (Schedule::guarded_pipeline) pipeline.add_custom_lowering_pass(new GuardedPipelinePass);
    if constexpr (requires { schedule.stages; }) {
        pipelined.stages = schedule.stages;
        if constexpr (requires { schedule.single_floats; }) pipelined.single_floats = schedule.single_floats;
        if constexpr (requires { schedule.load_offsets; }) pipelined.load_offsets = schedule.load_offsets;
        if (pipelined.stages > 1) pipeline.add_custom_lowering_pass(new SoftwarePipelinePass(pipelined));
    }
    if constexpr (Schedule::async_copies) pipeline.add_custom_lowering_pass(new AsyncCopyPass);
}

/// For tensor cores; only the first, if the schedule is told to leave its program as it is.
template <class Schedule>
void add_tensor_core_passes(Halide::Pipeline pipeline, const Schedule &schedule, bool through_first_cache = false) {
    pipeline.add_custom_lowering_pass(new RemoveDeviceAssertions);
    if (!schedule.tensor_cores) {
        pipeline.add_custom_lowering_pass(new ElementsOfBoxes);
        return;
    }
    TensorCoreOptions options{.blocks_per_multiprocessor = schedule.blocks, .stages = schedule.stages};
    if constexpr (requires { schedule.row_stores; }) options.row_stores = schedule.row_stores;
    if constexpr (requires { schedule.run_stores; })
        options.run_stores = schedule.run_stores, options.runs = schedule.runs, options.late_runs = schedule.late_runs;
    if constexpr (requires { schedule.centre; }) options.centre = schedule.centre;
    if constexpr (requires { schedule.adds_in_clusters(); }) options.adds_in_clusters = schedule.adds_in_clusters();
    if constexpr (requires { schedule.resident_blocks; }) options.further_tiles = schedule.resident_blocks > 0;
    pipeline.add_custom_lowering_pass(new TensorCorePass(options));
    if constexpr (Schedule::guarded_pipeline) pipeline.add_custom_lowering_pass(new GuardedPipelinePass);
    SoftwarePipelineOptions pipelined{.stages = schedule.stages, .separate_registers = schedule.separate_registers};
    pipelined.through_first_cache = through_first_cache;
    if constexpr (requires { schedule.small_copies; }) pipelined.single_floats = schedule.small_copies;
    if constexpr (requires { schedule.products_in_flight; }) pipelined.products_in_flight = schedule.products_in_flight;
    if constexpr (requires { schedule.producer; }) {
        pipelined.producer = schedule.producer;
        pipelined.producer_registers = schedule.producer_registers;
        if constexpr (requires { schedule.resident_blocks; }) {
            pipelined.resident_blocks = schedule.resident_blocks;
            pipelined.tiles_in_rounds = schedule.tiles_in_rounds;
            if constexpr (requires { schedule.kept_steps; }) pipelined.kept_chunks = schedule.kept_steps;
        }
    }
    pipeline.add_custom_lowering_pass(new SoftwarePipelinePass(pipelined));
    pipeline.add_custom_lowering_pass(new KernelConstants);
}

}  // namespace conv_transpose

#endif

// How kernels for tensors of any rank, format and layout read weights: packed in float32 with channels side by side, or as
// they are given, of any strides; and what else the gathers of the forward operation and of the input gradient share.
#ifndef CONV_TRANSPOSE_GENERATORS_GATHER_WEIGHT_H
#define CONV_TRANSPOSE_GENERATORS_GATHER_WEIGHT_H

#include <vector>

#include "Halide.h"
#include "algorithm/weight_layouts.h"
#include "compiler/passes/device_assertions.h"
#include "compiler/passes/kernel_constants.h"
#include "compiler/passes/store_bases.h"
#include "compiler/passes/word_accesses.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"

namespace conv_transpose {

struct GatherWeight {
    int channel_multiple;  ///< 0: as given
    Storage storage;       ///< of weights as given
    Halide::Target target;
    bool groups_innermost = false;  ///< packed in place of channels, of which a group has one

    bool packed() const { return channel_multiple > 0; }

    template <class Weight>
    void set_type(Weight &weight) const {
        weight.set_type(packed() ? Halide::Float(32) : halide_type(storage));
    }

    /// The weight of a tap, in float32.
    template <class Weight>
    Halide::Expr at(const Weight &weight, std::vector<Halide::Expr> tap, const Halide::Expr &channel,
                    const Halide::Expr &summed, const Halide::Expr &group) const {
        std::vector<Halide::Expr> where;
        const bool by_group = packed() && groups_innermost;
        const Halide::Expr innermost = by_group ? group : channel, none = 0;
        if (packed()) where.push_back(AnyTensors::known(innermost, weight.dim(0).extent()));
        where.insert(where.end(), tap.begin(), tap.end());
        if (!packed()) where.push_back(channel);
        where.insert(where.end(), {by_group ? none : summed, by_group ? none : group});
        return loaded(weight(where), target);
    }

    /// What the runtime promises: packed channels are whole vectors.
    template <class Weight>
    void declare(Weight &weight) const {
        for (int d = 0; d < AnyTensors::dimensions; d++) weight.dim(d).set_min(0);
        if (!packed()) {
            weight.dim(0).set_stride(Halide::Expr());
            return;
        }
        weight.set_host_alignment(16);
        for (int d = 1; d < AnyTensors::dimensions; d++)
            weight.dim(d).set_stride(weight.dim(d).stride() / channel_multiple * channel_multiple);
    }

    void describe(KernelDescription &description) const {
        description.set("weight_layout",
                        enumerator(packed() ? WeightLayout::channels_innermost : WeightLayout::as_given));
        if (packed() && groups_innermost) description.set("packs_groups", "true");
        if (packed()) description.set("weight_channel_multiple", channel_multiple);
        else description.set("weight", format_text(storage));
    }
};

/// A base of generators.
struct GatherGenerator : AnyTensors {
  protected:
    using Written = Halide::GeneratorOutput<Halide::Buffer<>>;

    AnyGatherFuncs funcs_;
    AxisInputs attributes_;
    Written *written_ = nullptr;

    template <class Schedule>
    GatherWeight packed_weight(const Schedule &schedule, const Halide::Target &target) const {
        return {schedule.weight_channel_multiple(), storage, target, schedule.tile().groups > 1};
    }

    template <class Generator, class Picture, class Weight, class Attributes>
    void configure_gather(Generator &generator, const GatherWeight &packed, Picture &picture, Weight &weight,
                          const Attributes &attributes, const char *written) {
        set_format(picture);
        packed.set_type(weight);
        weight.set_dimensions(dimensions);
        attributes_ = add_axis_inputs(generator, rank, attributes);
        written_ = generator.template add_output<Halide::Buffer<>>(written, halide_type(storage), dimensions);
    }

    /// Tiles may reach beyond the last channel, group and image.
    Halide::Expr within(const Halide::Expr &i, int d) const {
        const Halide::Expr extent = written_->dim(d).extent();
        return known(min(i, extent - 1), extent);
    }
    Halide::Expr group_within(const Halide::Expr &group, const GatherTile &tile) const {
        return tile.channels_last ? known(group, written_->dim(4).extent()) : within(group, 4);
    }

    void add_passes(Halide::Pipeline pipeline, const GatherTile &tile, const Halide::Target &target, bool of_forward) const {
        if (!target.has_gpu_feature()) return;
        pipeline.add_custom_lowering_pass(new RemoveDeviceAssertions);
        // Forward kernels of vectors would have more registers than four blocks of a multiprocessor have.
        if (funcs_.place.defined() && !(tile.vector() > 1 && of_forward))
            pipeline.add_custom_lowering_pass(new StoreBases(funcs_.place.name(), funcs_.finished.name()));
        if (tile.vector() > 1) pipeline.add_custom_lowering_pass(new WordAccesses);
        pipeline.add_custom_lowering_pass(new KernelConstants);
    }

    void define_sum(const Halide::Expr &initial, const Halide::Expr &product) {
        AnyGatherFuncs &f = funcs_;
        f.initial(f.channel, f.group, f.thread, f.block, f.outer) = initial;
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) =
            f.initial(f.channel, f.group, f.thread, f.block, f.outer);
        f.sum(f.channel, f.group, f.part, f.thread, f.block, f.outer) += product;
    }

    /// 0: the number of channels is a run-time value.
    template <class Schedule, class Picture, class Weight>
    void declare(const Schedule &schedule, Picture &picture, int summed, Weight &weight, int computed,
                 const Halide::Target &target) {
        declare_strides(picture, false);
        declare_strides(*written_, true);
        packed_weight(schedule, target).declare(weight);
        if (summed) picture.dim(3).set_extent(summed);
        if (computed) written_->dim(3).set_extent(computed);
        if (const GatherTile tile = schedule.tile(); tile.channels_last) {
            const int contiguous = tile.groups > 1 ? 4 : 3;
            declare_vectors(picture, contiguous, read_vector(schedule)), declare_vectors(*written_, contiguous, tile.vector());
        }
    }

    template <class Schedule>
    void describe_gather(Family family, const Schedule &schedule, const char *summed, const char *computed,
                         const Halide::Target &target, KernelDescription &description) const {
        problem.describe(family, target, description);
        describe_tensors({"input", "output"}, description, schedule.tile().channels_last);
        packed_weight(schedule, target).describe(description);
        schedule.describe(description);
        describe_vectors(schedule, summed, computed, description);
    }
};

}  // namespace conv_transpose

#endif

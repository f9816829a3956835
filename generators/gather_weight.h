// How kernels for tensors of any rank, format and layout read weights: packed in float32 with channels side by side, or as
// they are given, of any strides.
#ifndef CONV_TRANSPOSE_GENERATORS_GATHER_WEIGHT_H
#define CONV_TRANSPOSE_GENERATORS_GATHER_WEIGHT_H

#include <vector>

#include "Halide.h"
#include "algorithm/weight_layouts.h"
#include "generators/any_tensors.h"

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

}  // namespace conv_transpose

#endif

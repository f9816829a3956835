// The generator of the forward operation as an implicit matrix product on tensor cores, every attribute a run-time
// value. Arguments as in forward.h. Template argument: the schedule.
//
// Each phase is a product of its own: rows are channels, columns are its cells, counted through the plane and through
// the images, so that small pictures fill tiles. The sum runs over the phase's live taps and chunks of input channels,
// one *step* for each pair.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_IMPLICIT_PRODUCT_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_IMPLICIT_PRODUCT_H

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "generators/forward_arguments.h"
#include "algorithm/gather.h"
#include "algorithm/implicit_product.h"
#include "generators/implicit_product_description.h"
#include "schedules/kernel_description.h"
#include "generators/lowering_passes.h"

namespace conv_transpose {

template <class Schedule>
class ForwardImplicitProduct : public Halide::Generator<ForwardImplicitProduct<Schedule>>,
      public ForwardArguments,
      public DescribedGenerator {
  public:
    /// 1: tf32. 2: tf32x3, operands split in two, all products but that of the two small parts.
    Halide::GeneratorParam<int> parts{"parts", 1};
    /// The picture comes as pack_channels packs it.
    Halide::GeneratorParam<bool> packed_channels{"packed_channels", false};
    /// Of a group, demanded of a problem: fewer would leave most of a tile unused.
    Halide::GeneratorParam<int> min_in_channels{"min_in_channels", 8}, min_out_channels{"min_out_channels", 16};
    Schedule schedule_params;

    void generate() {
        using namespace Halide;
        f_.parts = parts;
        if (packed_channels && parts != 1)
            throw std::invalid_argument("packed_channels with parts " + std::to_string(parts) +
                                        "; the rule is 1");
        const GatherAxis x_axis = this->x_axis(), y_axis = this->y_axis();
        const Expr cells_x = cells(output.dim(0).extent(), x_axis), cells_y = cells(output.dim(1).extent(), y_axis);
        const int chunk = schedule_params.chunk();
        const int planes = packed_channels ? chunk / 4 : chunk;  // of the picture, in a chunk
        const Expr chunks = (input.dim(2).extent() + planes - 1) / planes;
        const ImplicitProductVars &v = f_.v;
        const Expr live_x = x_axis.live_taps(v.phase_x), live_y = y_axis.live_taps(v.phase_y);
        // A dead phase has no step; one tap keeps divisors from being 0.
        const TapOfChunk tap = tap_of_chunk(v.step, max(live_x, 1), max(live_y, 1), chunks);

        const CellOfImage cell = cell_of_image(v.position, cells_x, cells_y);
        const Expr x = x_axis.input(cell.x, v.phase_x, tap.x), y = y_axis.input(cell.y, v.phase_y, tap.y);
        const Expr k4 = tap.chunk * (chunk / 4) + v.k4;
        f_.pixels = Func("pixels");
        f_.pixels(v.value, v.position, v.k4, v.part, v.step, v.phase_x, v.phase_y, v.group) =
            packed_channels
                ? packed_pixel_or_zero(input, x, y, v.value, k4, v.group, cell.image)
                : tf32_part(pixel_or_zero(input, x, y, k4 * 4 + v.value, v.group, cell.image,
                                          problem.in_channel_multiple % chunk == 0), v.part, this->target);
        const PackedWeights packed{x_axis.kernel(), y_axis.kernel(), output.dim(2).extent(), chunks, chunk / 4, parts,
                                   schedule_params.channel_sets};
        f_.weights = Func("staged_weights");
        f_.weights(v.value, v.row, v.k4, v.part, v.step, v.phase_x, v.phase_y, v.group) =
            weight(packed.index(v, x_axis.tap(v.phase_x, tap.x), y_axis.tap(v.phase_y, tap.y), tap.chunk), 0, 0, 0, 0);

        define_sum(f_, chunk, x_axis.taps() * y_axis.taps() * chunks, live_x * live_y * chunks);
        define_output(f_, output, schedule_params.positions(), x_axis.stride(), y_axis.stride(), cells_x, cells_y,
                      [&](const Expr &sum) { return finished(sum); });
    }

    void schedule() {
        declare_tensors();
        if (packed_channels) declare_packed_picture(input);
        // Rows of 16 bytes, at multiples of 16 bytes: they are copied asynchronously.
        weight.set_host_alignment(16);
        schedule_params.apply(f_, this->target);
        add_tensor_core_passes(this->get_pipeline(), schedule_params);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        describe_implicit_product(parts, schedule_params.chunk(), description);
        if (packed_channels) description.set("packed_channels", "true");
        description.set("min_in_channels", min_in_channels);
        description.set("min_out_channels", min_out_channels);
        schedule_params.describe(description, f_);
    }

  private:
    ImplicitProductFuncs f_;

    static Halide::Expr cells(const Halide::Expr &extent, const GatherAxis &axis) {
        return (extent + axis.stride() - 1) / axis.stride();
    }

    Halide::Expr finished(const Halide::Expr &product) {
        using namespace Halide;
        const Expr sum = product + select(has_bias != 0, bias(f_.v.channel, f_.v.group), 0.f);
        // Without an activation nothing is computed; the pass makes a version of the store for that.
        const Expr no_activation = activation == static_cast<int>(EpilogueKind::piecewise_linear) && slope == 1.f;
        return branch(no_activation, sum, activate(sum, activation, slope));
    }
};

}  // namespace conv_transpose

#endif

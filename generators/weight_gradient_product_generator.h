// What the generators of the weight gradient as a matrix product share: of pictures that were packed before
// (weight_gradient_product.h), and of pictures as they lie (weight_gradient_pictures.h, weight_gradient_implicit_gemm.h).
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PRODUCT_GENERATOR_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PRODUCT_GENERATOR_H

#include "Halide.h"
#include "algorithm/fast_division.h"
#include "algorithm/per_axis.h"
#include "algorithm/weight_gradient_product_funcs.h"
#include "generators/lowering_passes.h"
#include "generators/problem_params.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// A base of generators.
template <class Schedule>
struct WeightGradientProductGenerator : DescribedGenerator {
    /// They narrow what the kernel accepts, no more: every attribute stays a run-time value.
    ProblemParams problem;
    /// Fewer channels of a group leave too much of a tile unused.
    Halide::GeneratorParam<int> min_in_channels{"min_in_channels", 1}, min_out_channels{"min_out_channels", 1};
    Schedule schedule_params;

  protected:
    WeightGradientProductFuncs f_;

    // A channel or kernel position of a tile that reaches beyond the last: that is computed once more, and not stored.
    static Halide::Expr existing(const Halide::Expr &index, const Halide::Expr &extent) {
        return min(index, extent - 1);
    }

    template <class Output>
    void declare_partial(Output &partial) const {
        for (int d = 0; d < 6; d++) partial.dim(d).set_min(0);
        partial.dim(2).set_extent(f_.tile.taps);
    }

    void apply_schedule(Halide::Pipeline pipeline, bool through_first_cache = false) {
        schedule_params.apply(f_);
        if constexpr (Schedule::on_tensor_cores) add_tensor_core_passes(pipeline, schedule_params, through_first_cache);
        else {
            add_cuda_core_passes(pipeline, schedule_params, {.load_offsets = true});
            pipeline.add_custom_lowering_pass(new KernelConstants);
        }
    }

    void describe_product(Family family, int chunk_positions, const Halide::Target &target, KernelDescription &description) {
        const WeightGradientProductTile &t = f_.tile;
        description.set_family(family);
        description.set("operation", "Operation::weight_gradient");
        describe_target(target, description);
        problem.describe(description);
        description.set("rank", max_rank);
        description.set("strict_propagation", "false");
        description.set("min_in_channels", min_in_channels);
        description.set("min_out_channels", min_out_channels);
        description.set("tile_taps", t.taps);
        description.set("tile_in_channels", t.in_channels);
        description.set("tile_out_channels", t.out_channels);
        description.set("chunk_positions", chunk_positions);
        schedule_params.describe(description, f_);
    }
};

/// The arguments of those that read pictures as they lie: (channel, x, y, z, group, image); the output gradient's
/// coordinates begin at the padding. Positions count through images.
struct UnpackedPictures {
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    using Picture = Input<Halide::Buffer<>>;

    Picture input{"input"}, output_gradient{"output_gradient"};
    Input<int> band_positions{"band_positions"};
    Input<int> kernel_w{"kernel_width"}, stride_w{"stride_width"}, dilation_w{"dilation_width"};
    Input<int> kernel_h{"kernel_height"}, stride_h{"stride_height"}, dilation_h{"dilation_height"};
    Input<int> kernel_d{"kernel_depth"}, stride_d{"stride_depth"}, dilation_d{"dilation_depth"};
    /// As in weight_gradient_product.h.
    Halide::GeneratorOutput<Halide::Buffer<>> partial{"partial", 6};

  protected:
    void set_types(const Halide::Type &picture, const Halide::Type &result) {
        for (Picture *p : {&input, &output_gradient}) p->set_type(picture), p->set_dimensions(6);
        partial.set_type(result);
    }

    /// The place and the image of a position of a chunk, of rows with so many positions more. Bands take turns with chunks:
    /// what blocks read at a time lies together, so that lines of kernel positions find in the second-level cache what others read.
    PerAxis position(const WeightGradientProductFuncs &f, int chunk_positions, const Halide::Expr &of_chunk, int more) const {
        return digits((f.chunk * partial.dim(5).extent() + f.band) * chunk_positions + of_chunk,
                                     {input.dim(1).extent() + more, input.dim(2).extent(), input.dim(3).extent()});
    }

    /// What the first kernel position sees of the output gradient from an input's place, and how much further on another sees.
    PerAxis first_seen(const PerAxis &place) const {
        return {place[0] * stride_w, place[1] * stride_h, place[2] * stride_d};
    }
    PerAxis seen_further(const Halide::Expr &tap) const {
        const Halide::Expr line = unsigned_quotient(tap, kernel_w);
        PerAxis all = seen_further_by_line(line);
        all[0] = (tap - line * kernel_w) * dilation_w;
        return all;
    }
    PerAxis seen_further_by_line(const Halide::Expr &line) const {
        const Halide::Expr plane = unsigned_quotient(line, kernel_h);
        return {0, (line - plane * kernel_h) * dilation_h, plane * dilation_d};
    }

    void declare_origins() {
        for (Picture *picture : {&input, &output_gradient})
            for (int d = 4; d < 6; d++) picture->dim(d).set_min(0);
        for (int d = 1; d < 4; d++) input.dim(d).set_min(0);
    }
};

}  // namespace conv_transpose

#endif

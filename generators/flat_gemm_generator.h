// What the generators of flat matrix products share (algorithm/flat_gemm.h): parameters, how the funcs are filled in, and
// what the registry is told.
#ifndef CONV_TRANSPOSE_GENERATORS_FLAT_GEMM_GENERATOR_H
#define CONV_TRANSPOSE_GENERATORS_FLAT_GEMM_GENERATOR_H

#include "Halide.h"
#include "algorithm/flat_gemm.h"
#include "compiler/passes/bfloat16_rounding.h"
#include "compiler/passes/masked_copies.h"
#include "compiler/passes/matrix_tiles.h"
#include "compiler/passes/vector_transpositions.h"
#include "generators/any_tensors.h"
#include "generators/axis_inputs.h"
#include "generators/format_text.h"
#include "generators/problem_params.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// A base of generators. Tensors are (x, y, z, channel in group, group, image), of as many axes as `rank`; a kernel for
/// three computes problems of fewer as well.
template <class Schedule>
struct FlatGemmGenerator : DescribedGenerator {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;
    using Tensor = Halide::GeneratorInput<Halide::Buffer<>>;

    ProblemParams problem;
    GeneratorParam<int> rank{"rank", 2};
    /// Pictures are stored so.
    GeneratorParam<Storage> storage{"storage", Storage::f32, storage_names()};
    /// Percent of the FMA units' rate that full register tiles reach, measured.
    GeneratorParam<int> fma_percent{"fma_percent", 78};
    Schedule schedule_params;

  private:
    std::vector<Halide::GeneratorInput<int> *> tile_shape_;

  protected:
    FlatGemmFuncs funcs_;
    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<>> *result_ = nullptr;

    /// Axis d has its attributes in the order of the signature.
    Halide::Expr attribute(int d, int i) const {
        return *attributes_[d * (attributes_.size() / rank) + i];
    }

    /// Packed weights are float32, but where pairs of a picture's type are multiplied.
    template <class Generator, std::size_t count>
    void configure(Generator &generator, const Halide::Target &target, Tensor &picture, Tensor &weight,
                   const std::array<const char *, count> &attributes, const char *result) {
        const int dimensions = rank + 3;
        const Halide::Type stored = halide_type(storage);
        picture.set_type(stored), picture.set_dimensions(dimensions);
        weight.set_type(schedule_params.sizes(target).pairs ? stored : Halide::Float(32));
        weight.set_dimensions(dimensions);
        attributes_ = add_axis_inputs(generator, rank, attributes);
        for (const char *name : {"segment_cells", "tile_rows", "block_panels"})
            tile_shape_.push_back(generator.template add_input<int>(name));
        result_ = generator.template add_output<Halide::Buffer<>>(result, stored, dimensions);
    }
    flat_gemm::TileShape tile_shape() const { return {*tile_shape_[0], *tile_shape_[1], *tile_shape_[2]}; }

    static flat_gemm::Load load(const Halide::Target &target) {
        return [target](const Halide::Expr &element) { return loaded(element, target); };
    }
    /// Rounded once.
    Halide::Expr rounded(const Halide::Expr &sum, const Halide::Target &target) const {
        const Halide::Expr element = stored(sum, storage, target);
        return has_rounding(target) ? rounded_by_instruction(sum, element) : element;
    }
    bool has_rounding(const Halide::Target &target) const {
        return storage == Storage::bf16 && target.has_feature(Halide::Target::AVX512_SapphireRapids);
    }
    template <class Generator>
    void add_passes(Generator &generator, const Halide::Target &target) const {
        Halide::Pipeline pipeline = generator.get_pipeline();
        pipeline.add_custom_lowering_pass(new VectorTranspositions);
        if (funcs_.size.tile_pairs > 0) pipeline.add_custom_lowering_pass(new MatrixTiles);
        if (funcs_.size.any_layout() && target.has_feature(Halide::Target::AVX512_Skylake))
            pipeline.add_custom_lowering_pass(new MaskedCopies);
        if (has_rounding(target)) pipeline.add_custom_lowering_pass(new Bfloat16Rounding);
    }

    /// A search is for one size of picture, in float32, and its kernel stands before those of any.
    void search_product(SearchSpace &space, int channels_computed, const Halide::Target &target, bool is_gradient) const {
        if (problem.input_w == 0 || storage != Storage::f32) return;
        schedule_params.search_space(space, channels_computed, ProblemParams::vector_registers(target), is_gradient);
        space.choose(fma_percent, {0});
    }

    void declare_shapes(Tensor &picture, Tensor &weight) {
        if (funcs_.size.any_layout()) picture.dim(0).set_stride({}), result_->dim(0).set_stride({});
        if (funcs_.size.stores_sums) picture.dim(rank).set_stride(1), result_->dim(rank).set_stride(1);
        for (int d = rank; d < rank + 3; d++) picture.dim(d).set_min(0);
        for (int d = 0; d < rank + 3; d++) result_->dim(d).set_min(0);
        const int channels = funcs_.size.channels * (funcs_.size.pairs ? 2 : 1);
        weight.dim(0).set_bounds(0, channels);
        Halide::Expr stride = channels;
        for (int d = 1; d < rank + 3; d++) {
            weight.dim(d).set_min(0).set_stride(stride);
            stride = stride * weight.dim(d).extent();
        }
    }

    void describe_product(KernelDescription &description, Family operation, Family family, const Halide::Target &target) {
        problem.describe(operation, target, description);
        description.set_family(family);
        description.set("rank", rank);
        for (const char *tensor : {"input", "output"}) description.set(tensor, format_text(storage));
        description.set("any_layout", funcs_.size.any_layout() && !funcs_.size.stores_sums ? "true" : "false");
        if (funcs_.size.stores_sums) {
            for (const char *tensor : {"input", "output"}) description.set(tensor, format_text(storage, true));
            description.set("stores_sums", "true");
        }
        if (funcs_.size.places_of_any_layout) description.set("places_of_any_layout", "true");
        description.set("turns_channels", funcs_.size.turned ? "true" : "false");
        description.set("strict_propagation", "true");
        description.set("weight_layout", "WeightLayout::channel_panels");
        description.set("weight_channel_multiple", funcs_.size.channels);
        if (funcs_.size.depthwise) description.set("packs_groups", "true");
        if (funcs_.size.joins_rows()) {
            description.set("joins_row_taps", "true");
            description.set("strict_propagation", "false");
        }
        if (funcs_.size.joined_terms) description.set("joined_terms", "true");
        if (funcs_.size.pairs) description.set("sums_pairs", "true");
        if (funcs_.size.fills_tiles) description.set("filled_multiple", 2 * funcs_.size.tile_pairs);
        if (funcs_.size.taps_inside()) description.set("taps_innermost", "true");
        if (funcs_.size.only_cells) description.set("only_cells", "true");
        if (funcs_.size.entries > 0) description.set("computes_taps", "true");
        if (funcs_.size.phase_lanes > 0) {
            description.set("phase_lanes", funcs_.size.phase_lanes);
            description.set("max_out_channels", 2 * funcs_.size.phase_lanes);  // more fill register tiles phase by phase
            description.set("strict_propagation", "false");
        }
        description.set("tile_places", funcs_.size.positions);
        description.set("fma_percent", fma_percent);
    }
};

}  // namespace conv_transpose

#endif

// What the two generators of implicit matrix products share (algorithm/implicit_gemm.h): format, layouts and rank as
// parameters, how the funcs are filled in, and what the registry is told.
#ifndef CONV_TRANSPOSE_GENERATORS_IMPLICIT_GEMM_GENERATOR_H
#define CONV_TRANSPOSE_GENERATORS_IMPLICIT_GEMM_GENERATOR_H

#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/implicit_gemm.h"
#include "algorithm/implicit_gemm_picture.h"
#include "algorithm/implicit_gemm_weights.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/weight_layouts.h"
#include "generators/format_text.h"
#include "generators/implicit_gemm_boxes.h"
#include "generators/lowering_passes.h"
#include "generators/problem_params.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// A base of generators. Tensors are (x, y, z, channel in group, group, image), of as many axes as `rank`.
template <class Schedule>
struct ImplicitGemmGenerator : DescribedGenerator {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;
    using Tensor = Halide::GeneratorInput<Halide::Buffer<>>;

    ProblemParams problem;
    GeneratorParam<int> rank{"rank", 2};
    /// One of named_formats (algorithm/element_format.h).
    GeneratorParam<std::string> format{"format", Schedule::on_tensor_cores ? "tf32" : "f32"};
    /// On CUDA cores elements may lie so, and are converted as they are staged, and stored; of tensor cores the format tells.
    GeneratorParam<Storage> storage{"storage", Storage::f32, storage_names()};
    /// The picture that is summed over lies so.
    GeneratorParam<PictureLayout> input_layout{
        "input_layout",
        Schedule::tensor_maps ? PictureLayout::channels_last : PictureLayout::channels_first,
        {{"channels_first", PictureLayout::channels_first},
         {"channels_last", PictureLayout::channels_last},
         {"channel_rows", PictureLayout::channel_rows}}};
    GeneratorParam<bool> channels_last_output{"channels_last_output", false};
    /// A kernel for parts of sums, of its steps: it stores float32, and a second pass adds them and converts.
    GeneratorParam<bool> makes_parts{"makes_parts", false};
    /// Weights, too, are read by a tensor map, as they are given in channels_last.
    GeneratorParam<bool> weight_map{"weight_map", false};
    /// Kernels have one position, and strides are 1: nothing is worked out of taps and phases before the first box, which took
    /// small products a fifth of their time in channels_last.
    GeneratorParam<bool> one_position{"one_position", false};
    Schedule schedule_params;

    /// A problem's attributes narrow what a kernel accepts; to it they are run-time values. (Packed weights for tensor
    /// cores lie otherwise where a kernel is told its attributes: those schedules are not tuned.)
    void search_space(SearchSpace &space) const override {
        const int fewest = std::min<int>(problem.in_channels, problem.out_channels);
        if constexpr (requires { schedule_params.search_space(space, fewest); }) schedule_params.search_space(space, fewest);
    }

  protected:
    GemmFuncs funcs_;

    void configure_format() {
        const auto named = format_named(format.value());
        if (!named) throw std::invalid_argument("format is '" + format.value() + "', which is no name of a format");
        check_format(*named);
        funcs_.format = *named;
        if constexpr (!Schedule::on_tensor_cores) funcs_.format.storage = storage;
        funcs_.input_layout = input_layout;
        funcs_.channels_last_output = channels_last_output;
        funcs_.computed = makes_parts ? Storage::f32 : funcs_.format.storage;
        funcs_.loads_whole_tiles = Schedule::on_tensor_cores;
        if constexpr (Schedule::on_tensor_cores) funcs_.computes_whole_rows = channels_last_output && schedule_params.whole_rows;
        if constexpr (!Schedule::on_tensor_cores) funcs_.window = schedule_params.window;
        if constexpr (Schedule::tensor_maps) configure_tensor_maps();
    }

    /// Clear errors for parameters that do not go together.
    void check_format(const ElementFormat &named) const {
        if (named.on_tensor_cores() != Schedule::on_tensor_cores)
            throw std::invalid_argument("format " + format.value() + (Schedule::on_tensor_cores
                                            ? " is multiplied on CUDA cores; the schedule is for tensor cores"
                                            : " is multiplied on tensor cores; the schedule is for CUDA cores"));
        if (rank < 2 || rank > 3)
            throw std::invalid_argument("rank is " + std::to_string(rank) + "; the rule is 2 or 3");
        if (!Schedule::on_tensor_cores && (input_layout != PictureLayout::channels_first || channels_last_output))
            throw std::invalid_argument("channels_last on CUDA cores; the rule is channels_first");
        if (input_layout == PictureLayout::channel_rows && named.terms > 1)
            throw std::invalid_argument("channel_rows with format " + format.value() + "; the rule is one piece a value");
        if (Schedule::on_tensor_cores && storage != Storage::f32)
            throw std::invalid_argument("storage is given; the rule for tensor cores is a format");
        if (weight_map && !Schedule::tensor_maps)
            throw std::invalid_argument("weight_map is true; the rule is a schedule for tensor maps");
    }

    void configure_tensor_maps() {
        const bool as_it_lies = input_layout == PictureLayout::channels_first;
        if (weight_map && schedule_params.window > 1)
            throw std::invalid_argument("weight_map with a window; the rule is one of them");
        if (input_layout == PictureLayout::channel_rows || funcs_.format.terms > 1)
            throw std::invalid_argument("a tensor map reads pictures in channels_last or _first, of one piece a value");
        if (as_it_lies && (channels_last_output || schedule_params.window > 1))
            throw std::invalid_argument("channels_first as it lies to channels_last, or in windows; the rule is neither");
        funcs_.maps_weights = weight_map;
        if (as_it_lies) funcs_.position_run = elements_of_line() / (funcs_.in_pairs ? 2 : 1);
        if (schedule_params.row_taps > 1) configure_row_taps();
        funcs_.window = schedule_params.window;
        funcs_.computes_whole_rows = (channels_last_output || as_it_lies) && schedule_params.whole_rows;
        funcs_.spares_conditions = funcs_.computes_whole_rows && schedule_params.resident_blocks > 0;
        if (!schedule_params.stores_boxes(funcs_)) return;
        const StoredBoxes boxes(schedule_params.tile_rows, schedule_params.columns, stored_type().bytes());
        funcs_.stored_channels = boxes.columns, funcs_.stored_elements = boxes.elements();
    }

    /// Taps along the width as rows of the product: a run is what a warpgroup has, and begins, as those before end, at a multiple
    /// of 16 bytes.
    void configure_row_taps() {
        if (input_layout != PictureLayout::channels_first || weight_map || schedule_params.row_sets > 1 ||
            schedule_params.whole_rows)
            throw std::invalid_argument(
                "row_taps of packed pictures, with weight_map, row_sets or whole_rows; the rule is none of these");
        funcs_.row_taps = schedule_params.row_taps, funcs_.row_channels = schedule_params.tile_rows;
        funcs_.position_run = funcs_.position_unit = schedule_params.columns;
        funcs_.run_margin = (funcs_.row_taps - 1 + 3) / 4 * 4;  // of which lanes have four
    }

    /// What a box has of a run of positions or computed channels: 128 bytes.
    int elements_of_line() const { return 128 / stored_type().bytes(); }

    /// Whether a block may sum some of the steps alone: another kernel adds the parts, or the blocks of a cluster do.
    bool cuts_steps() const {
        if constexpr (Schedule::tensor_maps) return makes_parts || schedule_params.in_clusters;
        return makes_parts;
    }

    Halide::Type stored_type() const { return halide_type(funcs_.format.storage); }
    Halide::Type computed_type() const { return halide_type(funcs_.computed); }
    Halide::Type weight_type() const {
        return halide_type(funcs_.weights_as_given ? funcs_.format.storage : funcs_.format.operand());
    }

    /// Channels of the picture that is summed over, with those that fill up the last row of channel_rows.
    template <class Picture>
    Halide::Expr summed_channels(const Picture &picture) const {
        const Halide::Expr extent = picture.dim(rank).extent();
        return funcs_.input_layout == PictureLayout::channel_rows ? extent * funcs_.values() : extent;
    }

    /// A thread must not convert what is copied asynchronously: it is as tensor cores read it, or CUDA cores multiply.
    bool copies_pictures() const {
        if (!Schedule::on_tensor_cores) return funcs_.format.storage == Storage::f32;
        return Schedule::tensor_maps || funcs_.input_layout == PictureLayout::channel_rows ||
               (funcs_.input_layout == PictureLayout::channels_last && funcs_.format.multiply != Multiply::tf32);
    }

    ImplicitGemmBoxes boxes() const { return {funcs_, rank}; }

    /// `channel_multiple` is what the summed channels are known to be a multiple of.
    template <class Input, class Weight>
    void define_operands(const implicit_gemm::Geometry &g, const Input &picture, const Weight &weight,
                         const PerAxis &kernel_size, const Halide::Expr &channels, int channel_multiple,
                         const Halide::Target &target) {
        GemmFuncs &f = funcs_;
        const GemmVars &v = f.v;
        if (f.in_pairs) return define_pairs(g, picture, weight);
        const Halide::Expr element = implicit_gemm::picture_or_zero(
            f, picture, g, {.whole_chunks = channel_multiple % g.steps.chunk == 0, .asynchronous = copies_pictures()});
        // Rows that pack_channels has packed are rounded there.
        const Halide::Expr operand = !Schedule::on_tensor_cores ? loaded(element, target)
                                     : f.input_layout == PictureLayout::channel_rows
                                         ? element
                                         : operand_piece(f.format, element, v.piece, target);
        f.picture(v.value, v.position, v.k_group, v.piece, v.step, v.phase, v.group) =
            Schedule::tensor_maps ? element_of_box(boxes().picture(g, picture, operand)) : operand;
        f.weights(v.value, v.channel, v.k_group, v.piece, v.step, v.phase, v.group) =
            f.maps_weights         ? element_of_box(boxes().weights(g, weight))
            : f.given_channels > 0 ? operand_piece(f.format, implicit_gemm::given_weight_of_taps(f, weight, g, copies_pictures()),
                                                   v.piece, target)
            : Schedule::on_tensor_cores && f.weights_as_given
                ? operand_piece(f.format, implicit_gemm::given_weight_of_phases(f, weight, g), v.piece, target)
            : Schedule::on_tensor_cores
                ? implicit_gemm::tensor_core_weight(f, weight, g, kernel_size, channels,
                                                    schedule_params.tile(f).channels > 64)
            : f.computes_neighbours ? loaded(implicit_gemm::given_weight_of_phases(f, weight, g), target)
            : f.weights_as_given ? loaded(implicit_gemm::given_weight(f, weight, g), target)
                : implicit_gemm::channels_innermost_weight(f, weight, g);
    }

    /// Words of two elements, of boxes that tensor maps find. Nothing but their places matters: each is taken for its first
    /// element.
    template <class Input, class Weight>
    void define_pairs(const implicit_gemm::Geometry &g, const Input &picture, const Weight &weight) {
        GemmFuncs &f = funcs_;
        const GemmVars &v = f.v;
        const auto word = [](TensorBox box) {
            box.element = Halide::cast<float>(box.element);
            return element_of_box(box);
        };
        f.picture(v.value, v.position, v.k_group, v.piece, v.step, v.phase, v.group) = word(boxes().pairs(g, picture));
        f.weights(v.value, v.channel, v.k_group, v.piece, v.step, v.phase, v.group) = word(boxes().summed_rows(g, weight));
    }

    /// Nothing is tuned of what reads tensor maps.
    static std::optional<GeneratorFacts> facts_of_product(Family family) {
        return Schedule::tensor_maps ? std::optional<GeneratorFacts>() : facts_of<Schedule>(family, Ranks::parameter, "format");
    }

    /// Rows of channels may be stored at once.
    template <class Output>
    void declare_computed(Output &output) const {
        for (int d = 0; d < rank + 3; d++) output.dim(d).set_min(0);
        if (channels_last_output) {
            output.dim(0).set_stride(Halide::Expr());
            output.dim(rank).set_stride(1);
        }
        if (funcs_.computes_whole_rows)
            implicit_gemm::declare_aligned(output, channels_last_output ? rank.value() : 0, 16 / stored_type().bytes());
    }

    template <class Input, class Weight, class Output>
    void schedule_product(Halide::Pipeline pipeline, Input &picture, Weight &weight, Output &output, const Halide::Target &target) {
        for (int d = rank; d < rank + 3; d++) picture.dim(d).set_min(0);
        declare_computed(output);
        implicit_gemm::declare_rows(picture, funcs_.input_layout, rank, funcs_.copied_values());
        if (funcs_.maps_weights || funcs_.given_channels > 0) {
            for (int d = 0; d < rank + 3; d++) weight.dim(d).set_min(0);
            implicit_gemm::declare_rows(weight, PictureLayout::channels_last, rank, funcs_.copied_values());
        } else if (funcs_.weights_as_given) {
            for (int d = 0; d < rank + 3; d++) weight.dim(d).set_min(0);
            if (!funcs_.computes_neighbours) {
                weight.dim(0).set_stride(Halide::Expr());
                weight.dim(rank).set_stride(1);
            }
        } else {
            implicit_gemm::declare_packed_weight(weight, Schedule::on_tensor_cores ? funcs_.values() : 4);
        }
        schedule_params.apply(funcs_, target);
        // Taps see much the same rows of channels: 3x3 of 64 channels 4.42 to 2.79 ms, 3x7 4.89 to 2.68 (H200).
        const bool through_first_cache = funcs_.format.storage != Storage::f32;
        if constexpr (Schedule::on_tensor_cores) add_tensor_core_passes(pipeline, schedule_params, through_first_cache);
        else {
            add_cuda_core_passes(pipeline, schedule_params, {.single_floats = true, .load_offsets = true});
            pipeline.add_custom_lowering_pass(new UniformChoices);
            pipeline.add_custom_lowering_pass(new SharedSubexpressions);
            pipeline.add_custom_lowering_pass(new KernelConstants);
        }
    }

    /// What the registry is told beside the problem; `summed` and `computed` are the names of its tensors.
    void describe_product(const std::string &summed, const std::string &computed, KernelDescription &description) {
        const GemmFuncs &f = funcs_;
        const auto tensor = [&](bool channels_last) { return format_text(f.format.storage, channels_last); };
        if (f.format.storage != Storage::f32 || f.input_layout == PictureLayout::channels_last || f.channels_last_output) {
            description.set(summed, tensor(f.input_layout == PictureLayout::channels_last));
            description.set(computed, tensor(f.channels_last_output));
        }
        if (makes_parts) description.set("makes_parts", "true");
        if (one_position) description.set("one_position", "true");
        if constexpr (Schedule::tensor_maps)
            if (f.channels_last_output && !f.computes_whole_rows) description.set("stores_single_channels", "true");
        if (!Schedule::tensor_maps && f.computes_whole_rows) description.set("vectors_of_channels", "true");
        if (rank != 2) description.set("rank", rank);
        // A block has one phase, and its steps are that phase's live taps; where weights fill up chunks of channels with
        // zeros, the picture is zero as well.
        description.set("strict_propagation", "true");
        if (f.input_layout == PictureLayout::channel_rows) description.set("packed_channels", "true");
        if constexpr (Schedule::on_tensor_cores) {
            // Operands of 16 bits need no permission to be rounded.
            if (f.format.multiply == Multiply::tf32) description.set("precision", tensor_core_precision(f.format.pieces()));
            description.set("weight_in_channel_multiple", schedule_params.chunk(f) * (f.in_pairs ? 2 : 1));
        }
        describe_weights(description);
        schedule_params.describe(description, f);
    }

    void describe_weights(KernelDescription &description) const {
        const GemmFuncs &f = funcs_;
        const auto as_given = [&](bool channels_last) {
            description.set("weight_layout", enumerator(WeightLayout::as_given));
            description.set("weight", format_text(f.format.storage, channels_last));
        };
        if (f.maps_weights || f.given_channels > 0) return as_given(!f.in_pairs);
        if (f.weights_as_given) return as_given(false);
        if (Schedule::on_tensor_cores) {
            description.set("weight_layout", enumerator(gemm_weight_layout(f.format)));
            description.set("weight_channel_multiple", 64);
            description.set("weight_tile", 64 * f.format.pieces());  // at every kernel position
            return;
        }
        description.set("weight_layout", enumerator(WeightLayout::channels_innermost));
    }
};

}  // namespace conv_transpose

#endif

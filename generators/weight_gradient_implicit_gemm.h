// The generator of the weight gradient as an implicit matrix product, of pictures with channels innermost, every attribute a
// run-time value, for up to three axes. For each kernel position it is
//     partial[input channel, output channel] = sum over positions i of input[i] * output_gradient[i * stride + k * dilation]
// Positions count through images. Eight channels of 16 bits of a position, or four of 32, are the 16 bytes that are copied and
// read at once: tensor cores take such operands with the index that is summed over outside, and so do CUDA cores, so both tensors
// are read where they are, with zeros beside them. Channels come in whole 16 bytes, or one by one; of 16 bits others are packed
// before (channels_last_packing.cpp). Bands of the sum are added by weight_gradient_sum.cpp; where there is but one, a kernel may write
// weights with output channels innermost themselves.
// Template argument: the schedule, as for weight_gradient_product.h.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_IMPLICIT_GEMM_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_IMPLICIT_GEMM_H

#include <stdexcept>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "compiler/passes/tensor_boxes.h"
#include "generators/format_text.h"
#include "generators/weight_gradient_product_generator.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientImplicitGemm : public Halide::Generator<WeightGradientImplicitGemm<Schedule>>,
      public WeightGradientProductGenerator<Schedule>,
      public UnpackedPictures {
    using Product = WeightGradientProductGenerator<Schedule>;

  public:
    /// One of named_formats (algorithm/element_format.h).
    Halide::GeneratorParam<std::string> format{"format", "f16"};
    /// A result that it writes itself is float32: of mixed precision.
    Halide::GeneratorParam<bool> in_float32{"in_float32", false};
    using Product::schedule_params;

    void configure() {
        const auto named = format_named(format.value());
        const bool fits = named && (bytes_of(named->operand()) == 2 || (Schedule::on_tensor_cores ? *named == formats::tf32
                                                                                                 : *named == formats::f32));
        if (!fits) throw std::invalid_argument("format is '" + format.value() + "'; the rule is one of 16 bits, f32 on CUDA cores, "
                                               "and tf32 on tensor cores");
        format_ = *named;
        set_types(halide_type(format_.storage), result_type());
    }

    void generate() {
        WeightGradientProductFuncs &f = f_;
        f.tile = schedule_params.tile();
        f.parts = format_.on_tensor_cores() ? 1 : 0;
        f.channels = true;
        f.values = format_.values_of_16_bytes();
        const WeightGradientProductTile &t = f.tile;
        stage_operands();

        f.r = Halide::RDom({{0, f.values}, {0, t.steps / f.values}, {0, 1}, {0, band_positions / t.steps}}, "r");
        const Halide::RDom &r = f.r;
        const Halide::Expr step = r[1] * f.values + r[0];
        const int in_row = input_row(), out_row = output_row(), in_boxes = t.in_channels / in_row;
        const Halide::Var &in = f.input_row(), &out = f.output_row();
        f.sum = Halide::Func("sum");
        f.sum(f.n, f.m, f.in_tile, f.out_tile, f.tap_tile, f.group, f.band) = 0.f;
        // A row tells the line of a window, whose columns have all of its positions.
        const bool window = t.window > 1;
        const Halide::Expr step_of_output = window ? step + out / out_row : step;
        const Halide::Expr out_box = window ? in / in_row / in_boxes : out / out_row;
        const Halide::Expr in_box = window ? in / in_row % in_boxes : in / in_row;
        f.sum(f.n, f.m, f.in_tile, f.out_tile, f.tap_tile, f.group, f.band) +=
            load(f.output_gradient(out % out_row, step_of_output, out_box, r[3], f.out_tile, f.tap_tile, f.group, f.band)) *
            load(f.input(in % in_row, step, in_box, r[3], f.in_tile, f.group, f.band));
        const Halide::Expr tap_of_columns = window ? f.tap % t.window : Halide::Expr(f.tap);
        const Halide::Expr out_of_tile = tap_of_columns * t.out_channels + f.out_channel % t.out_channels;
        const Halide::Expr out_tile = f.out_channel / t.out_channels, in_tile = f.in_channel / t.in_channels;
        // Rows that warpgroups share out count through all tiles: a remainder of them would be no affine index. The
        // instruction that stores a tile converts it (compiler/passes/tile_store.h).
        partial(f.in_channel, f.out_channel, f.tap, f.tap_tile, f.group, f.band) =
            window ? Halide::Expr(f.sum(out_of_tile, f.tap / t.window * t.in_channels + f.in_channel % t.in_channels, in_tile,
                                        out_tile, f.tap_tile, f.group, f.band))
            : t.in_channels_are_rows
                ? cast(result_type(), f.sum(out_of_tile, f.in_channel, 0, out_tile, f.tap_tile, f.group, f.band))
            : t.shares_out_channels()
                ? Halide::Expr(f.sum(f.in_channel % t.in_channels, f.out_channel, in_tile, 0, f.tap_tile, f.group, f.band))
                : Halide::Expr(f.sum(f.in_channel % t.in_channels, out_of_tile, in_tile, out_tile, f.tap_tile, f.group, f.band));
        f.partial = partial;
    }

    void schedule() {
        declare_shapes();
        // Neighbouring kernel positions read much the same positions.
        this->apply_schedule(this->get_pipeline(), true);
    }

    std::optional<GeneratorFacts> facts() const override {
        auto facts = facts_of<Schedule>(Family::weight_gradient, Ranks::two, "format");
        facts->family = "implicit_gemm";
        return facts;
    }

    void describe(KernelDescription &description) override {
        this->describe_product(Family::weight_gradient_implicit_gemm, f_.tile.steps, this->target, description);
        for (const char *tensor : {"input", "output"}) description.set(tensor, format_text(format_.storage, true));
        description.set("weight", format_text(in_float32 ? Storage::f32 : format_.storage, schedule_params.writes_result));
        if (schedule_params.writes_result) description.set("writes_result", "true");
        if (format_.storage != Storage::f32) return;
        description.set("precision", format_.on_tensor_cores() ? tensor_core_precision(1) : "Precision::float32");
        if (!whole_values()) return;
        description.set("vectors_of_channels", "true");
        for (const char *channels : {"in_channel_multiple", "out_channel_multiple"}) description.set(channels, f_.values);
    }

  private:
    using Product::f_;
    ElementFormat format_;

    /// Whether channels of a picture come in whole 16 bytes.
    bool whole_values() const {
        if constexpr (requires { schedule_params.single_floats; }) return !schedule_params.single_floats;
        return true;
    }
    /// Channels that follow each other in shared memory.
    int input_row() const { return schedule_params.row_channels(f_.tile.in_channels, f_.values); }
    int output_row() const { return schedule_params.row_channels(f_.tile.out_channels, f_.values); }

    Halide::Type result_type() const {
        return schedule_params.writes_result && !in_float32 ? halide_type(format_.storage) : Halide::Float(32);
    }

    /// picture[base + offset] of a row of channels, or zero.
    Halide::Expr element(const Picture &picture, const Halide::Expr &row, const PerAxis &base,
                         const PerAxis &offset, const Halide::Expr &image, Halide::Expr inside) const {
        using namespace Halide;
        const int in_row = &picture == &input ? input_row() : output_row();
        const Expr first = row * in_row, channels = picture.dim(0).extent();
        const Expr value = element_or_zero(picture, in_row, first, base, offset, image, inside);
        if (!schedule_params.tensor_maps) return value;
        // The map has the channels of all groups side by side, and begins at the picture's first element. Nobody stores what a box
        // beyond the last channel would give, so it is the last one once more: zeros of what lies outside take longer to copy.
        const Halide::Expr nearest = Halide::min(first, (channels - 1) / in_row * in_row);
        TensorBox box{value, {f_.group * channels + nearest}, offset, &picture == &input ? 0 : 1};
        for (int d = 0; d < 3; d++) box.coordinates.push_back(base[d] - picture.dim(d + 1).min());
        box.coordinates.push_back(image);
        return element_of_box(box);
    }

    Halide::Expr element_or_zero(const Picture &picture, int in_row, const Halide::Expr &first,
                                 const PerAxis &base, const PerAxis &offset,
                                 const Halide::Expr &image, Halide::Expr inside) const {
        using namespace Halide;
        const auto promised = [](const Expr &index, const Expr &min, const Expr &extent) {
            return unsafe_promise_clamped(index, min, min + extent - 1);
        };
        const Expr channels = picture.dim(0).extent(), images = picture.dim(5).extent();
        // Of whole 16 bytes all are inside, or none.
        const Expr channel = in_row > f_.values || !whole_values() ? first + f_.value : first;
        inside = inside && channel < channels && image < images;
        std::vector<Expr> index{promised(first + f_.value, 0, channels)};
        for (int d = 0; d < 3; d++) {
            const Expr at = base[d] + offset[d];
            const Expr min = picture.dim(d + 1).min(), extent = picture.dim(d + 1).extent();
            inside = inside && is_inside(at, min, extent);
            index.push_back(promised(at, min, extent));
        }
        index.push_back(f_.group);
        index.push_back(promised(image, 0, images));
        const Expr value = select(inside, picture(index), Internal::make_zero(halide_type(format_.storage)));
        return format_ == formats::tf32 ? round_to_tf32(value, this->target) : value;
    }

    void stage_operands() {
        using namespace Halide;
        WeightGradientProductFuncs &f = f_;
        const WeightGradientProductTile &t = f.tile;
        const int in_row = input_row(), out_row = output_row();
        // A row has as many positions more as a line has kernel positions but one: the input's are zeros, and what is next in
        // shared memory is next in the output gradient's row.
        const PerAxis at = position(f, t.steps, f.step, t.window - 1);
        f.input = Func("staged_input");
        const Var &in = f.input_row(), &out = f.output_row();
        f.input(f.value, f.step, in, f.chunk, f.in_tile, f.group, f.band) =
            element(input, f.in_tile * (t.in_channels / in_row) + in, {at[0], at[1], at[2]}, PerAxis(3, 0),
                    at[3], Internal::const_true());

        const int rows = t.out_channels / out_row;
        const bool window = t.window > 1;  // of which there is one box for a line, and lines are counted
        const Expr taps = window ? kernel_h * kernel_d : kernel_w * kernel_h * kernel_d;
        const bool shared_out = t.shares_out_channels();  // of one kernel position
        if (shared_out && t.taps != 1)
            throw std::invalid_argument("tile_taps is " + std::to_string(t.taps) + ", tile_out " + std::to_string(t.out_channels) +
                                        "; the rule above 64 is one kernel position");
        const Expr counted = f.tap_tile * (t.taps / t.window) + (shared_out ? Expr(0) : out / rows);
        const Expr out_row_of_group = shared_out ? Expr(out) : f.out_tile * rows + out % rows;
        const Expr tap = schedule_params.tensor_maps ? min(counted, taps - 1) : counted;  // of what is not used there must be a box
        f.output_gradient = Func("staged_output_gradient");
        f.output_gradient(f.value, f.step, out, f.chunk, f.out_tile, f.tap_tile, f.group, f.band) =
            element(output_gradient, out_row_of_group, first_seen(at),
                    window ? seen_further_by_line(tap) : seen_further(tap), at[3], counted < taps);
    }

    // What the runtime promises of the buffers, so that 16 bytes are known to be aligned.
    void declare_shapes() {
        const int values = whole_values() ? f_.values : 1;
        const auto multiple = [values](const Halide::Expr &e) { return e / values * values; };
        for (Picture *picture : {&input, &output_gradient}) {
            picture->dim(0).set_bounds(0, multiple(picture->dim(0).extent())).set_stride(1);
            for (int d = 1; d < 6; d++) picture->dim(d).set_stride(multiple(picture->dim(d).stride()));
            if (whole_values()) picture->set_host_alignment(16);
        }
        declare_origins();
        this->declare_partial(partial);
        if (schedule_params.writes_result) partial.dim(0).set_stride(Halide::Expr()), partial.dim(1).set_stride(1);
        if (schedule_params.row_stores) {
            for (int d = 0; d < 6; d++)
                if (d != 1) partial.dim(d).set_stride(multiple(partial.dim(d).stride()));
            partial.dim(1).set_extent(multiple(partial.dim(1).extent()));
            partial.set_host_alignment(16);
        }
    }
};

}  // namespace conv_transpose

#endif

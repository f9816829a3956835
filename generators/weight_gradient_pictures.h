// The generator of the weight gradient as an implicit matrix product of float32 pictures in channels_first, read as
// they lie, every attribute a run-time value, for up to three axes:
//     partial[input channel, output channel] = sum over positions i of input[i] * output_gradient[i * stride + k *
//     dilation]
// for each kernel position. Positions count through images, and four neighbours are a row of 16 bytes, of which each is
// copied by itself: so a kernel position is only another place to copy from, and nothing is packed before. Where
// channels are few, packing would take longer than the products (weight_gradient_product.h, whose schedules these are).
// Bands of the sum are added by weight_gradient_sum.cpp.
//
// By tensor maps, of float32 or 16 bits, a box is a run of positions of each channel of a tile: both operands have what
// is summed over innermost, as tensor cores want it of any format. All positions of an image are one row, and so are
// taps, whose places are multiples of 16 bytes apart: the runtime makes it so (choice/weight_gradient_parts.h).
//
// In pairs, of 16 bits: of kernels as large as their strides, two along the width, an output channel of the product is
// a line of the kernel (output channel, plane, row), and two kernel positions are halves of words of the output
// gradient.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PICTURES_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_PICTURES_H

#include <stdexcept>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/fast_division.h"
#include "algorithm/tensor_core_operands.h"
#include "algorithm/tf32.h"
#include "compiler/passes/pair_products.h"
#include "compiler/passes/tensor_boxes.h"
#include "generators/format_text.h"
#include "generators/operand_formats.h"
#include "generators/weight_gradient_product_generator.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientPictures : public Halide::Generator<WeightGradientPictures<Schedule>>,
      public WeightGradientProductGenerator<Schedule>,
      public UnpackedPictures {
    using Product = WeightGradientProductGenerator<Schedule>;

  public:
    Halide::GeneratorParam<Storage> storage{"storage", Storage::f32, storage_names()};
    /// As in weight_gradient_product.h.
    Halide::GeneratorParam<int> parts{"parts", 0};
    /// By tensor maps: kernels are as large as their strides, and two along the width.
    Halide::GeneratorParam<bool> in_pairs{"in_pairs", false};
    using Product::schedule_params;

    void configure() {
        if (in_pairs && (storage == Storage::f32 || !schedule_params.tensor_maps || schedule_params.tile().taps != 2))
            throw std::invalid_argument("in_pairs; the rule is 16 bits by tensor maps, and a tile of two kernel positions");
        if (storage != Storage::f32 && (!schedule_params.tensor_maps || parts != 1))
            throw std::invalid_argument("storage is of 16 bits; the rule is float32, or tensor maps and one part");
        set_types(halide_type(storage), Halide::Float(32));
    }

    void generate() {
        f_.tile = schedule_params.tile();
        f_.parts = parts;
        f_.neighbours = true;
        f_.values = 16 / bytes_of(storage);
        f_.tile.in_pairs = in_pairs;
        if (in_pairs) stage_pairs();
        else if (schedule_params.tensor_maps) stage_runs();
        else stage_operands();
        const Halide::Expr chunks = band_positions / chunk_positions();
        if (in_pairs) f_.define_sum(chunks, product_of_halves());
        else f_.define_sum(chunks);
        f_.store_sum(partial);
    }

    void schedule() {
        declare_shapes();
        this->apply_schedule(this->get_pipeline());
    }

    void describe(KernelDescription &description) override {
        this->describe_product(Family::weight_gradient_implicit_gemm, chunk_positions(), this->target, description);
        if (in_pairs) description.set("reads_pairs", "true");
        if (storage == Storage::f32) {
            description.set("precision", parts == 0 ? "Precision::float32" : tensor_core_precision(parts));
        } else {
            for (const char *tensor : {"input", "weight", "output"}) description.set(tensor, format_text(storage));
        }
    }

  private:
    using Product::existing, Product::f_;

    auto product_of_halves() const {
        const OperandFormat format = operand_format(storage);
        const Halide::Expr half = f_.m / f_.tile.out_channels;
        return [=](const Halide::Expr &word, const Halide::Expr &value) { return product_of_half({word, value, half, format}); };
    }
    int chunk_positions() const { return f_.values * f_.tile.steps; }
    /// TF32 is rounded on the way; asynchronous copies change nothing.
    bool through_registers() const { return parts > 0; }

    /// picture[place], or zero; what goes through registers is loaded in any case, from a place that there is.
    Halide::Expr element(const Picture &picture, const Halide::Expr &channel, const PerAxis &place,
                         const Halide::Expr &image) const {
        using namespace Halide;
        const auto loaded = [&](const Expr &at, const Expr &inside, const Expr &min, const Expr &extent) {
            return unsafe_promise_clamped(through_registers() ? select(inside, at, min) : at, min, min + extent - 1);
        };
        Expr inside = image < picture.dim(5).extent();
        for (int d = 0; d < 3; d++) {
            if (&picture == &input) continue;  // digits are inside
            const Expr min = picture.dim(d + 1).min(), extent = picture.dim(d + 1).extent();
            inside = inside && is_inside(place[d], min, extent);
        }
        std::vector<Expr> index{existing(channel, picture.dim(0).extent())};
        for (int d = 0; d < 3; d++)
            index.push_back(loaded(place[d], inside, picture.dim(d + 1).min(), picture.dim(d + 1).extent()));
        index.push_back(f_.group);
        index.push_back(loaded(image, inside, 0, picture.dim(5).extent()));
        const Expr value = select(inside, picture(index), 0.f);
        return through_registers() ? tf32_part(value, f_.part, this->target) : value;
    }

    void stage_operands() {
        using namespace Halide;
        WeightGradientProductFuncs &f = f_;
        const WeightGradientProductTile &t = f.tile;
        const PerAxis at = position(f, chunk_positions(), f.step * 4 + f.value, 0);
        f.input = Func("staged_input");
        f.input(f.value, f.n, f.step, f.part, f.chunk, f.in_tile, f.group, f.band) =
            element(input, f.in_tile * t.in_channels + f.n, {at[0], at[1], at[2]}, at[3]);

        const PerAxis first = first_seen(at);
        PerAxis seen = seen_further(existing(f.tap_tile * t.taps + f.m / t.out_channels, kernel_w * kernel_h * kernel_d));
        for (int d = 0; d < 3; d++) seen[d] = first[d] + seen[d];
        f.output_gradient = Func("staged_output_gradient");
        f.output_gradient(f.value, f.m, f.step, f.part, f.chunk, f.out_tile, f.tap_tile, f.group, f.band) =
            element(output_gradient, f.out_tile * t.out_channels + f.m % t.out_channels, seen, at[3]);
    }

    // A box is a run of positions of all channels of the tile, whether there are so many or not.
    void stage_runs() {
        using namespace Halide;
        WeightGradientProductFuncs &f = f_;
        const WeightGradientProductTile &t = f.tile;
        if (t.taps != 1 || parts != 1)
            throw std::invalid_argument("tile_taps is " + std::to_string(t.taps) + ", parts is " + std::to_string(parts.value()) +
                                        "; the rule of tensor maps is 1");
        // An image's last run may reach beyond it, into zeros.
        const Expr run = f.chunk * partial.dim(5).extent() + f.band;
        const Expr runs = (input.dim(1).extent() + (chunk_positions() - 1)) / chunk_positions();
        const Division at = divide(run, runs);
        const Expr position = at.rest * chunk_positions() + f.step * f.values;
        f.input = Func("staged_input");
        f.input(f.value, f.n, f.step, f.part, f.chunk, f.in_tile, f.group, f.band) =
            element_of_run(input, f.in_tile * t.in_channels + f.n, position, at.quotient, 0);
        f.output_gradient = Func("staged_output_gradient");
        f.output_gradient(f.value, f.m, f.step, f.part, f.chunk, f.out_tile, f.tap_tile, f.group, f.band) =
            element_of_run(output_gradient, f.out_tile * t.out_channels + f.m, position + f.tap_tile * dilation_w, at.quotient, 1);
    }

    /// The map begins at the picture's first element, and has the channels of all groups side by side. It rounds to TF32 itself.
    Halide::Expr element_of_run(const Picture &picture, const Halide::Expr &channel, const Halide::Expr &position,
                                const Halide::Expr &image, int map) const {
        using namespace Halide;
        const auto promised = [&](const Expr &at, int d) {
            return unsafe_promise_clamped(at, picture.dim(d).min(), picture.dim(d).max());
        };
        const Expr at = position + f_.value, channels = picture.dim(0).extent(), first = picture.dim(1).min();
        const Expr inside = is_inside(at, first, picture.dim(1).extent()) &&
                            channel < channels && image < picture.dim(5).extent();
        const Expr value = picture(std::vector<Expr>{promised(channel, 0), promised(at, 1), picture.dim(2).min(),
                                                     picture.dim(3).min(), f_.group, promised(image, 5)});
        const Expr loaded = select(inside, value, Internal::make_zero(value.type()));
        const Expr operand = storage == Storage::f32 ? tf32_part(loaded, f_.part, this->target) : loaded;
        return element_of_box({operand, {position - first, f_.group * channels + channel, image}, {}, map});
    }

    // A step is a run of positions of a row; what a row does not fill of it is zero. Words are taken for their first elements.
    void stage_pairs() {
        using namespace Halide;
        WeightGradientProductFuncs &f = f_;
        const WeightGradientProductTile &t = f.tile;
        const Expr runs = (input.dim(1).extent() + (chunk_positions() - 1)) / chunk_positions();
        const PerAxis run =
            digits(f.chunk * partial.dim(5).extent() + f.band, {runs, input.dim(2).extent(), input.dim(3).extent()});
        const Expr first = run[0] * chunk_positions(), position = first + f.step * f.values + f.value;
        const Expr channel = f.in_tile * t.in_channels, channels = input.dim(0).extent();
        f.input = Func("staged_input");
        f.input(f.value, f.n, f.step, f.part, f.chunk, f.in_tile, f.group, f.band) = element_of_box(
            {element_at(input, {channel + f.n, position, run[1], run[2]}, run[3]),
             {first, run[1], run[2], f.group * channels + channel, run[3]}, {}, 0});

        const Expr rows = kernel_h * kernel_d, output_channels = output_gradient.dim(0).extent();
        const Expr seen_channel = f.out_tile * unsigned_quotient(t.out_channels, rows), line = unsigned_quotient(f.m, kernel_h);
        const Expr word = element_at(output_gradient,
                                     {seen_channel + unsigned_quotient(line, kernel_d), 2 * position,
                                      run[1] * kernel_h + (f.m - line * kernel_h), run[2] * kernel_d + line % kernel_d}, run[3]);
        f.output_gradient = Func("staged_output_gradient");
        f.output_gradient(f.value, f.m, f.step, f.part, f.chunk, f.out_tile, f.tap_tile, f.group, f.band) = element_of_box(
            {cast<float>(word),
             {2 * first, run[1] * kernel_h, run[2] * kernel_d, f.group * output_channels + seen_channel, run[3]}, {}, 1});
    }

    /// The picture's (channel, x, y, z), which the caller knows to be inside.
    Halide::Expr element_at(const Picture &picture, const PerAxis &place, const Halide::Expr &image) const {
        std::vector<Halide::Expr> index;
        for (int d = 0; d < 4; d++)
            index.push_back(unsafe_promise_clamped(place[d], picture.dim(d).min(), picture.dim(d).max()));
        index.push_back(f_.group);
        index.push_back(unsafe_promise_clamped(image, 0, picture.dim(5).max()));
        return picture(index);
    }

    void declare_shapes() {
        for (Picture *picture : {&input, &output_gradient}) {
            picture->dim(0).set_min(0).set_stride(Halide::Expr());
            picture->dim(1).set_stride(1);
        }
        declare_origins();
        this->declare_partial(partial);
    }
};

}  // namespace conv_transpose

#endif

// The generator of the weight gradient for tensors of any rank, format and layout (any_tensors.h), every attribute a
// run-time value. Arguments as in weight_gradient.h; the sum is cut into parts in the same way, of bands of positions that
// count through all axes (on a CPU bands of rows, which count through height and depth). Parts are float32 whatever the
// tensors are, but where there is one, and the kernel writes the result. Template argument: a schedule of
// AnyWeightGradientFuncs.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_GATHER_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_GATHER_H

#include "Halide.h"
#include "algorithm/epilogue.h"
#include "algorithm/gather_funcs.h"
#include "algorithm/strided_axis.h"
#include "compiler/passes/device_assertions.h"
#include "compiler/passes/kernel_constants.h"
#include "compiler/passes/word_accesses.h"
#include "generators/any_weight_gradient.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientGather : public Halide::Generator<WeightGradientGather<Schedule>>, public AnyWeightGradient<AnyTensors> {
  public:
    Schedule schedule_params;

    void configure() { this->add_arguments(*this); }

    void generate() {
        using namespace Halide;
        AnyWeightGradientFuncs &f = funcs_;
        const auto in = [&](int d) { return input.dim(d).extent(); };
        const Place at = place(f.weight, f.tile, f.part, f.images);

        const Summed summed = summed_positions(at);
        const bool window = schedule_params.tile().has_window();
        std::vector<Expr> of_input, of_output;
        Expr inside_output = Internal::const_true();
        for (int d = 0; d < rank; d++) {
            // Positions and taps of a window are written so that what they share is one expression.
            const Expr output = window && d == 1 ? axis(d).output(summed.first_of_run, at.first_tap) +
                                                       (funcs_.positions[1] + at.in_window) * (axis(d).dilation * axis(d).stride)
                                                 : axis(d).output(summed.position[d], at.taps[d]);
            inside_output = inside_output && inside(output, output_gradient.dim(d));
            of_input.push_back(known(summed.position[d], in(d))),
                of_output.push_back(
                    clamp(output, output_gradient.dim(d).min(), output_gradient.dim(d).max()));
        }
        // Tiles may reach beyond the last channel, where nobody stores.
        const auto channel = [](const Expr &c, const Expr &extent) { return known(min(c, extent - 1), extent); };
        const Expr group = known(at.read_group, in(4)), real_image = known(summed.image, in(5));
        of_input.insert(of_input.end(), {channel(at.in_channel, in(3)), group, real_image});
        of_output.insert(of_output.end(), {channel(at.out_channel, output_gradient.dim(3).extent()), group, real_image});

        f.sum(f.weight, f.tile, f.part, f.images) = 0.f;
        // An Inf or NaN of the input stays with the taps that it is a factor of.
        const Expr of_in = loaded(input(of_input), this->get_target()),
                   of_out = loaded(output_gradient(of_output), this->get_target());
        const Expr seen = summed.exists && inside_output;
        const auto or_zero_unless = [&](const Expr &condition, const Expr &element) {
            return loaded(or_zero(condition, element), this->get_target());
        };
        // With a window each factor has conditions of its own, so that what positions and taps share is chosen once.
        Expr product;
        if (!schedule_params.tile().multiplies_zeros)
            product = window ? select(seen, of_in, 0.f) * select(seen, of_out, 0.f) : select(seen, of_in * of_out, 0.f);
        else if (window)
            product = or_zero_unless(summed.exists, input(of_input)) * or_zero_unless(inside_output, output_gradient(of_output));
        else
            product = of_in * or_zero_unless(seen, output_gradient(of_output));
        f.sum(f.weight, f.tile, f.part, f.images) += product;
        store_tiles();
    }

    void schedule() {
        declare_arguments();
        if (const int vector = schedule_params.tile().vector; vector > 1)
            declare_vectors(input, 4, vector), declare_vectors(output_gradient, 4, vector);
        if (problem.in_channels)
            input.dim(3).set_extent(problem.in_channels), partial_->dim(4).set_extent(problem.in_channels);
        if (problem.out_channels)
            output_gradient.dim(3).set_extent(problem.out_channels), partial_->dim(3).set_extent(problem.out_channels);
        schedule_params.apply(funcs_, this->target);
        if (this->get_target().has_gpu_feature())
            this->get_pipeline().add_custom_lowering_pass(new RemoveDeviceAssertions);
        if (this->get_target().has_gpu_feature() && schedule_params.tile().of_groups())
            this->get_pipeline().add_custom_lowering_pass(new WordAccesses);
        this->get_pipeline().add_custom_lowering_pass(new KernelConstants);
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::weight_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::weight_gradient, this->target, description);
        describe_tensors({"input", "output"}, description, schedule_params.tile().of_groups());
        describe_result(schedule_params.tile().of_groups(), description);
        if (schedule_params.tile().multiplies_zeros) description.set("strict_propagation", "false");
        description.set("band_axes", Schedule::on_gpu ? 3 : 2);
        schedule_params.describe(description);
    }

  private:
    /// Where a weight of a tile lies, and which part of its sum is meant.
    struct Place {
        std::vector<Halide::Expr> taps;
        Halide::Expr out_channel, in_channel, group, band, images;
        Halide::Expr read_group;  ///< the same, within the tensors
        Halide::Expr first_tap = 0, in_window = 0;  ///< of a window along y
    };

    /// A position that is summed over, x, y, z. Where it does not exist it is another one.
    struct Summed {
        std::vector<Halide::Expr> position;
        Halide::Expr image, exists;
        Halide::Expr first_of_run = 0;  ///< along y
    };

    AnyWeightGradientFuncs funcs_;

    /// An element as it lies in memory, or zero: two of 16 bits are chosen at once.
    static Halide::Expr or_zero(const Halide::Expr &condition, const Halide::Expr &element) {
        using namespace Halide;
        if (element.type() == Float(32)) return select(condition, element, 0.f);
        return reinterpret(element.type(), select(condition, reinterpret<uint16_t>(element), cast<uint16_t>(0)));
    }

    static Halide::Expr up(const Halide::Expr &number, int divisor) { return (number + divisor - 1) / divisor; }

    Place place(const Halide::Expr &weight, const Halide::Expr &tile_number, const Halide::Expr &part,
                const Halide::Expr &images) const {
        const bool on_gpu = Schedule::on_gpu;
        const WeightTile tile = schedule_params.tile();
        const Division x = divide(tile_number, up(extent(0), tile.taps), on_gpu), y = divide(x.quotient, tiles_y(), on_gpu),
                       z = divide(y.quotient, extent(2), on_gpu),
                       out = divide(z.quotient, up(extent(3), tile.out_channels), on_gpu),
                       band = divide(part, up(extent(5), tile.groups()), on_gpu);
        const int of_window = tile.taps * tile.window;
        // The tap is that of a vector of groups, which are the innermost weights, or else that of a channel.
        const Halide::Expr tap = weight / tile.vector, in_window = tap / tile.taps % tile.window;
        Halide::Expr first_tap = y.rest, tap_y = y.rest * tile.window + in_window;
        if (tile.has_window()) {
            const Halide::Expr stride = axis(1).stride;
            const Division window = divide(y.rest, first_taps(), on_gpu);
            first_tap = window.rest + window.quotient * tile.window * stride, tap_y = first_tap + in_window * stride;
        }
        const std::vector<Halide::Expr> taps{x.rest * tile.taps + tap % tile.taps, tap_y, z.rest};
        if (tile.of_groups()) {
            const Halide::Expr vector = band.rest * tile.groups() + tap / of_window * tile.vector;
            return {taps, 0, 0, vector + weight % tile.vector, band.quotient, images,
                    min(vector, extent(5) / tile.vector * tile.vector - tile.vector) + weight % tile.vector, first_tap, in_window};
        }
        const int of_channel = of_window * tile.in_channels;
        return {taps,
                out.rest * tile.out_channels + weight / of_channel,
                out.quotient * tile.in_channels + weight / of_window % tile.in_channels,
                band.rest,
                band.quotient,
                images,
                band.rest,
                first_tap,
                in_window};
    }

    /// Kernel positions along y that windows go through, and how many tiles there are of them.
    Halide::Expr first_taps() const { return Halide::min(axis(1).stride, extent(1)); }
    Halide::Expr tiles_y() const {
        const WeightTile tile = schedule_params.tile();
        if (!tile.has_window()) return up(extent(1), tile.window);
        const Halide::Expr taps = (extent(1) + axis(1).stride - 1) / axis(1).stride;
        return first_taps() * up(taps, tile.window);
    }

    Summed summed_positions(const Place &at) {
        if constexpr (Schedule::on_gpu) return summed_of_volume(at);
        else return summed_of_rows(at);
    }

    // Those of a part's band, image by image. There are whole rounds of them, and no condition but a choice of values, so that
    // the loads of several are under way together.
    Summed summed_of_volume(const Place &at) {
        using namespace Halide;
        const int run = schedule_params.tile().run;
        const Expr apart = axis(1).dilation, height = input.dim(1).extent();
        const Expr rows = run > 1 ? (height + run * apart - 1) / (run * apart) * apart : height;
        const Expr all = input.dim(0).extent() * rows * input.dim(2).extent();
        const Expr of_image = min(band_rows, all);
        const int round = schedule_params.tile().lanes * schedule_params.at_once;
        // None of an empty batch, of which there is nothing to read.
        funcs_.positions = RDom({{0, up(select(batch > 0, of_image * part_images, 0), round) * round}, {0, run}}, "positions");
        const Division image = divide(funcs_.positions.x, max(of_image, 1), true);
        const Expr number = at.band * band_rows + image.rest, of_all = at.images * part_images + image.quotient;
        const Division row = divide(min(number, all - 1), input.dim(0).extent(), true),
                       plane = divide(row.quotient, rows, true);
        const Expr exists = number < all && image.quotient < part_images && of_all < batch;
        if (run == 1) return {{row.rest, plane.rest, plane.quotient}, min(of_all, batch - 1), exists};
        const Expr first = plane.rest + divide(plane.rest, apart, true).quotient * ((run - 1) * apart),
                   y = first + funcs_.positions[1] * apart;
        return {{row.rest, min(y, height - 1), plane.quotient}, min(of_all, batch - 1), exists && y < height, first};
    }

    Summed summed_of_rows(const Place &at) {
        using namespace Halide;
        funcs_.positions = RDom({{0, input.dim(0).extent()}, {0, band_rows}, {0, part_images}}, "positions");
        const RDom &r = funcs_.positions;
        const Expr image = at.images * part_images + r[2], number = at.band * band_rows + r[1];
        only_where(funcs_.positions, {image < batch, number < input.dim(1).extent() * input.dim(2).extent()});
        const Division plane = divide(number, input.dim(1).extent(), false);
        return {{r[0], plane.rest, plane.quotient}, image, Internal::const_true()};
    }

    void store_tiles() {
        using namespace Halide;
        AnyWeightGradientFuncs &f = funcs_;
        const WeightTile tile = schedule_params.tile();
        const Expr tiles = up(extent(0), tile.taps) * tiles_y() * extent(2) * up(extent(3), tile.out_channels) *
                           up(extent(4), tile.in_channels);
        const bool of_groups = tile.of_groups();
        const int first = of_groups ? tile.warps : tile.lanes, second = of_groups ? tile.lanes : tile.warps;
        const int rounds = (tile.weights() + first * second - 1) / (first * second);
        f.weights = RDom({{0, rounds},
                          {0, first},
                          {0, second},
                          {0, tiles},
                          {0, up(extent(5), tile.groups()) * extent(6)},
                          {0, extent(7)}},
                         "weights");
        const RDom &r = f.weights;
        const Expr number = (r[0] * second + r[2]) * first + r[1], weight = min(number, tile.weights() - 1);
        const Place at = place(weight, r[3], r[4], r[5]);
        if (tile.weights() < rounds * first * second) f.weights.where(number < tile.weights());
        f.weights.where(at.taps[0] < extent(0) && at.out_channel < extent(3) && at.in_channel < extent(4));
        if (tile.window > 1) f.weights.where(at.taps[1] < extent(1));
        if (of_groups) f.weights.where(at.group < extent(5));
        std::vector<Expr> to = at.taps;
        to.insert(to.end(), {at.out_channel, at.in_channel, at.group, at.band, at.images});
        for (int d = 0; d < dimensions + 2; d++) to[d] = known(to[d], extent(d));
        (*partial_)(std::vector<Var>(dimensions + 2)) = undef(partial_->type());
        if (Schedule::on_gpu) Func(*partial_).gpu_single_thread();  // nothing, but on the host it would ask for host memory
        const Expr sum = f.sum(weight, r[3], r[4], r[5]);
        (*partial_)(to) = writes_result ? stored(sum, storage, this->get_target()) : sum;
        f.partial = *partial_;
    }

    StridedAxis axis(int d) const {
        const auto a = [&](int i) -> Halide::Expr { return *attributes_[3 * d + i]; };
        return {a(0), a(1), a(2)};
    }
};

}  // namespace conv_transpose

#endif

// The generator of the forward operation of depthwise problems whose blocks stage what they see (algorithm/staged_tile.h), for
// tensors of any rank, format and layout. Arguments as in forward.h. Template argument: a schedule of StagedForwardFuncs with
// StagedShape shape() const.
#ifndef CONV_TRANSPOSE_GENERATORS_FORWARD_STAGED_H
#define CONV_TRANSPOSE_GENERATORS_FORWARD_STAGED_H

#include "Halide.h"
#include "generators/axis_inputs.h"
#include "generators/gather_weight.h"
#include "generators/staged_pictures.h"

namespace conv_transpose {

template <class Schedule>
class ForwardStaged : public Halide::Generator<ForwardStaged<Schedule>>, public StagedPictures {
  public:
    template <typename T>
    using Input = Halide::GeneratorInput<T>;
    Schedule schedule_params;

    /// The input's coordinates begin at -padding.
    Input<Halide::Buffer<>> input{"input"}, weight{"weight"};
    Input<Halide::Buffer<float>> bias{"bias", 2};  // channel in group, group
    Input<int> has_bias{"has_bias"};
    Input<int> activation{"activation"};
    Input<float> slope{"slope"};

    void configure() {
        set_format(input);
        set_format(weight);
        attributes_ = add_axis_inputs(*this, rank, gather_attributes);
        output_ = this->template add_output<Halide::Buffer<>>("output", halide_type(storage), dimensions);
    }

    void generate() {
        const Tile tile(schedule_params.shape(), axis(0), axis(1), axis(2), number(extent(4) * extent(5)));
        stage(tile);
        place(tile);
        multiply(tile);
        store(tile);
    }

    void schedule() {
        for (int d = 0; d < 2; d++) bias.dim(d).set_min(0);
        declare_strides(input, false);
        declare_strides(*output_, true);
        GatherWeight{0, storage, this->get_target()}.declare(weight);
        input.dim(3).set_extent(1), output_->dim(3).set_extent(1);
        schedule_params.apply(funcs_, this->target);
        add_passes(this->get_pipeline());
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::forward); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::forward, this->target, description);
        describe_tensors({"input", "output"}, description);
        GatherWeight{0, storage, this->target}.describe(description);
        description.set("strict_propagation", "false");
        schedule_params.describe(description);
    }

  private:
    using Tile = StagedTile<Int>;

    StagedForwardFuncs funcs_;
    AxisInputs attributes_;
    Halide::GeneratorOutput<Halide::Buffer<>> *output_ = nullptr;

    Expr extent(int d) const { return output_->dim(d).extent(); }
    StagedOutputAxis<Int> axis(int d) {
        const AxisArguments a = gather_arguments(attributes_, d);
        return {number(max(extent(d), 1)), number(a.kernel), number(a.stride), number(a.dilation), number(a.padding_phase)};
    }

    /// A block's first cell along x, run, cell along z, and plane.
    struct Begin {
        Expr x, run, z, plane;
    };
    static Begin begin_of(const Expr &block, const Tile &tile) {
        const Division x = divide(block, tile.tiles_x()), y = divide(x.quotient, tile.tiles_y()),
                       z = divide(y.quotient, tile.tiles_z());
        return {x.rest * tile.cells_x, y.rest * tile.groups, z.rest * tile.cells_z, z.quotient * tile.planes};
    }

    bool has_planes_innermost() const { return schedule_params.shape().planes > 1; }
    /// A number that counts through planes and what each has so many of.
    struct InPlane {
        Expr plane, number;
    };
    InPlane in_plane(const Expr &number, const Tile &tile, const Int &of_plane) const {
        const Division d = by(number, has_planes_innermost() ? tile.planes : of_plane);
        return has_planes_innermost() ? InPlane{d.rest, d.quotient} : InPlane{d.quotient, d.rest};
    }
    Expr with_plane(const Expr &plane, const Expr &number, const Tile &tile, const Int &of_plane) const {
        return has_planes_innermost() ? number * tile.planes + plane : plane * of_plane + number;
    }

    void stage(const Tile &tile) {
        using namespace Halide;
        StagedForwardFuncs &f = funcs_;
        const StagedShape &shape = tile.shape;
        const Begin begin = begin_of(f.block, tile);
        const Int residues = tile.y_axis.dilation;
        const Staged what{tile.columns(), residues, tile.piece, tile.pitch, shape.elements};
        stage_picture(f.picture, input, what, shape.threads, f.thread, {f.block},
                      [&](const Expr &column) -> Column {
                          const InPlane c = in_plane(column, tile, tile.box_x * tile.box_z);
                          const Division x = by(c.number, tile.box_x);
                          const Expr plane = begin.plane + c.plane;
                          const Division image = divide(min(plane, tile.all_planes - 1), extent(4));
                          return {begin.x + x.rest - tile.x_axis.reach(), begin.z + x.quotient - tile.z_axis.reach(), image.rest,
                                  image.quotient, plane < tile.all_planes};
                      },
                      [&](const Expr &piece, const Expr &row) {
                          return piece + residues * (begin.run * shape.parts + row) - tile.y_axis.reach();
                      },
                      this->get_target());
        // Weights of a plane: by z, x, the first tap along y, and its taps, turned round.
        const Int all = tile.planes * tile.weights_of_plane;
        const Int x_taps = tile.x_axis.kernel, z_taps = tile.z_axis.kernel, first_taps = tile.y_axis.stride;
        f.weights = RDom({{0, staged::up(all, Int(shape.threads))}, {0, shape.threads}}, "weights");
        const RDom &r = f.weights;
        const Expr slot = r[0] * shape.threads + r[1];
        f.weights.where(slot < all);
        const Division plane = by(slot, tile.weights_of_plane), tap = by(plane.rest, tile.tap_pitch),
                       first_tap = by(tap.quotient, first_taps), x = by(first_tap.quotient, x_taps);
        const Expr group = divide(min(begin.plane + plane.quotient, tile.all_planes - 1), extent(4)).rest;
        const Expr y = first_tap.rest + (tile.y_axis.taps() - 1 - tap.rest) * first_taps;
        const std::vector<Expr> at{known(x.rest, x_taps), known(clamp(y, 0, tile.y_axis.kernel - 1), tile.y_axis.kernel),
                                   known(min(x.quotient, z_taps - 1), z_taps)};
        f.staged_weight(f.slot, f.block) = undef<float>();
        f.staged_weight(known(slot, shape.others), f.block) =
            select(is_inside(y, 0, tile.y_axis.kernel),
                   GatherWeight{0, storage, this->get_target()}.at(weight, at, 0, 0, known(group, extent(4))), 0.f);
    }

    // Fours from a column to the next of a plane.
    Int column_pitch(const Tile &tile) const { return has_planes_innermost() ? tile.pitch / 4 * tile.planes : tile.pitch / 4; }

    // What f.place has of a thread: `row` is the input that the first tap of the first part sees.
    enum { at_x, row, cell_z, at_group, at_image, exists, sees, weighs, taps_x };
    // What f.of_phase has of a phase.
    enum { at_y, at_z, phase_sees, phase_weighs, taps_z };

    void place(const Tile &tile) {
        using namespace Halide;
        StagedForwardFuncs &f = funcs_;
        const StagedShape &shape = tile.shape;
        const Int residues = tile.y_axis.dilation, stride = tile.x_axis.stride, first_taps = tile.y_axis.stride;
        const Int of_x_tap = first_taps * (tile.tap_pitch / 4), of_z_tap = of_x_tap * tile.x_axis.kernel;
        const Begin begin = begin_of(f.block, tile);
        {
            const InPlane own = in_plane(f.thread, tile, tile.positions());
            const Expr own_plane = min(own.plane, tile.planes - 1), plane = begin.plane + own_plane;
            const Division lane = by(min(own.number, tile.positions() - 1), tile.x),
                           y = by(lane.quotient, tile.groups * residues), run = by(y.rest, residues);
            const Expr z = y.quotient;
            const Division cell = by(lane.rest, stride),
                           first_tap = by(cell.rest * number(gather_arguments(attributes_, 0).inverse), stride);
            const Expr seen_x = cell.quotient - by(first_tap.rest * tile.x_axis.dilation - cell.rest, stride).quotient +
                                tile.x_axis.reach();
            const Expr taps = by(tile.x_axis.kernel + (stride - 1) - first_tap.rest, stride).quotient;
            const Division image = divide(min(plane, tile.all_planes - 1), extent(4));
            const Expr x = begin.x * stride + lane.rest - tile.x_axis.padding_phase;
            const Expr column =
                with_plane(own_plane, (z + tile.z_axis.reach()) * tile.box_x + seen_x, tile, tile.box_x * tile.box_z);
            const Expr has_place = own.plane < tile.planes && own.number < tile.positions();
            f.place(f.thread, f.block) =
                Tuple(x, run.rest + residues * ((begin.run + run.quotient) * shape.parts) - tile.y_axis.before_cell(),
                      begin.z + z, image.rest, image.quotient,
                      cast<int>(has_place && is_inside(x, 0, extent(0)) && plane < tile.all_planes),
                      column * (tile.pitch / 4) + run.rest * (tile.piece / 4) + run.quotient * (shape.parts / 4),
                      own_plane * (tile.weights_of_plane / 4) + first_tap.rest * of_x_tap, taps);
        }
        const auto place = [&](int i) -> Expr { return f.place(f.thread, f.block)[i]; };
        const Division z_tap = by(f.phase, first_taps), z = by(z_tap.quotient * tile.z_axis.dilation, tile.z_axis.stride);
        f.of_phase(f.phase, f.thread, f.block) =
            Tuple(place(row) * first_taps + z_tap.rest * tile.y_axis.dilation - tile.y_axis.padding_phase,
                  place(cell_z) * tile.z_axis.stride + z.rest - tile.z_axis.padding_phase,
                  place(sees) - z.quotient * (tile.box_x * column_pitch(tile)),
                  place(weighs) + z_tap.quotient * of_z_tap + z_tap.rest * (tile.tap_pitch / 4),
                  by(tile.z_axis.kernel + (tile.z_axis.stride - 1) - z_tap.quotient, tile.z_axis.stride).quotient);
    }

    void multiply(const Tile &tile) {
        using namespace Halide;
        StagedForwardFuncs &f = funcs_;
        const StagedShape &shape = tile.shape;
        const int window = shape.window;
        const Int of_x_tap = tile.y_axis.stride * (tile.tap_pitch / 4), x_step = of_x_tap * tile.x_axis.stride,
                  z_step = of_x_tap * tile.x_axis.kernel * tile.z_axis.stride;
        const auto of_phase = [&](int i) -> Expr { return f.of_phase(f.phase, f.thread, f.block)[i]; };
        const Expr column = f.tap_z * (tile.z_axis.dilation * tile.box_x) + f.tap_x * tile.x_axis.dilation,
                   in_column = f.tap_window * (window / 4);
        const Expr seen = of_phase(phase_sees) - column * column_pitch(tile) + in_column,
                   weights = of_phase(phase_weighs) + f.tap_z * z_step + f.tap_x * x_step + in_column;
        f.seen(f.part, f.tap_window, f.tap_x, f.tap_z, f.phase, f.thread, f.block) =
            f.picture.staged(known(seen, (shape.elements - shape.seen()) / 4 + 1) * 4 + f.part, f.block);
        f.tap_weight(f.in_window, f.tap_window, f.tap_x, f.tap_z, f.phase, f.thread, f.block) =
            f.staged_weight(known(weights, (shape.others - shape.window_pitch()) / 4 + 1) * 4 + f.in_window, f.block);
        f.taps = RDom({{0, window}, {0, shape.has_one_window() ? Int(1) : tile.windows}, {0, tile.x_axis.taps()},
                       {0, tile.z_axis.taps()}}, "taps");
        const RDom &r = f.taps;
        only_where(f.taps, {r[2] < Expr(f.place(f.thread, f.block)[taps_x]), r[3] < of_phase(taps_z)});
        const Expr group = f.place(f.thread, f.block)[at_group];
        f.initial(f.thread, f.block) = branch(has_bias != 0, bias(0, known(group, bias.dim(1).extent())), 0.f);
        f.sum(f.part, f.phase, f.thread, f.block) = f.initial(f.thread, f.block);
        f.sum(f.part, f.phase, f.thread, f.block) += f.seen(f.part + r[0], r[1], r[2], r[3], f.phase, f.thread, f.block) *
                                                     f.tap_weight(r[0], r[1], r[2], r[3], f.phase, f.thread, f.block);
        f.finished(f.part, f.phase, f.thread, f.block) = activate(f.sum(f.part, f.phase, f.thread, f.block), activation, slope);
        f.no_smooth_activation = activation == static_cast<int>(EpilogueKind::piecewise_linear);
    }

    void store(const Tile &tile) {
        using namespace Halide;
        StagedForwardFuncs &f = funcs_;
        f.outputs = RDom({{0, tile.shape.parts}, {0, tile.phases()}, {0, tile.shape.threads}, {0, tile.tiles()}}, "outputs");
        const RDom &o = f.outputs;
        const auto place = [&](int i) -> Expr { return f.place(o[2], o[3])[i]; };
        const auto of_phase = [&](int i) -> Expr { return f.of_phase(o[1], o[2], o[3])[i]; };
        const Expr y = of_phase(at_y) + o[0] * (tile.y_axis.dilation * tile.y_axis.stride), z = of_phase(at_z);
        f.outputs.where(place(exists) != 0 && is_inside(z, 0, extent(2)) && is_inside(y, 0, extent(1)));
        std::vector<Expr> to{place(at_x), y, z, 0, place(at_group), place(at_image)};
        for (int d = 0; d < dimensions; d++) to[d] = known(to[d], extent(d));
        (*output_)(std::vector<Var>(dimensions)) = undef(halide_type(storage));
        Func(*output_).gpu_single_thread();  // nothing, but on the host it would ask for host memory
        (*output_)(to) = stored(f.finished(o[0], o[1], o[2], o[3]), storage, this->get_target());
        f.output = *output_;
    }
};

}  // namespace conv_transpose

#endif

// The generator of the weight gradient of depthwise problems whose blocks stage what they see (algorithm/staged_weight_tile.h), for
// tensors of any rank, format and layout (any_tensors.h). Arguments as in weight_gradient.h; parts of the sum are bands of boxes of
// some of the images. Template argument: a schedule of StagedWeightFuncs with
//   StagedShape shape() const.
#ifndef CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_STAGED_H
#define CONV_TRANSPOSE_GENERATORS_WEIGHT_GRADIENT_STAGED_H

#include "Halide.h"
#include "algorithm/staged_weight_tile.h"
#include "generators/any_weight_gradient.h"
#include "generators/staged_pictures.h"

namespace conv_transpose {

template <class Schedule>
class WeightGradientStaged : public Halide::Generator<WeightGradientStaged<Schedule>>, public AnyWeightGradient<StagedPictures> {
  public:
    Schedule schedule_params;

    void configure() { this->add_arguments(*this); }

    void generate() {
        using namespace Halide;
        const StagedShape shape = schedule_params.shape();
        const Tile tile(shape, axis(0), axis(1), axis(2));
        const Int images = tile.images(number(part_images));
        stage(tile, images);
        multiply(tile, images);
        store(tile);
    }

    void schedule() {
        declare_arguments();
        input.dim(3).set_extent(1), output_gradient.dim(3).set_extent(1);
        partial_->dim(3).set_extent(1), partial_->dim(4).set_extent(1);
        schedule_params.apply(funcs_, this->target);
        add_passes(this->get_pipeline());
    }

    std::optional<GeneratorFacts> facts() const override { return facts_of<Schedule>(Family::weight_gradient); }

    void describe(KernelDescription &description) override {
        problem.describe(Family::weight_gradient, this->target, description);
        const bool channels_last = schedule_params.shape().planes > 1;
        description.set("rank", rank);
        if (!channels_last) description.set("any_layout", "true");
        for (const char *picture : {"input", "output"}) description.set(picture, format_text(storage, channels_last));
        describe_result(channels_last, description);
        description.set("strict_propagation", "false");
        schedule_params.describe(description);
    }

  private:
    using Tile = StagedWeightTile<Int>;

    StagedWeightFuncs funcs_;

    Expr a(int d, int i) const { return *attributes_[3 * d + i]; }
    StagedAxis<Int> axis(int d) {
        return {number(max(input.dim(d).extent(), 1)), number(a(d, 0)), number(a(d, 1)), number(a(d, 2))};
    }
    Expr group_tiles() const { return staged::up(extent(5), Expr(schedule_params.shape().planes)); }
    Division group_and_band(const Expr &part) const { return divide(part, group_tiles()); }

    /// Where taps of a task lie in the kernel.
    struct Task {
        Expr kx, first, window, kz;
    };
    static Task task_of(const Expr &number, const Tile &tile) {
        const Division x = divide(number, tile.x_axis.kernel), window = divide(x.quotient, tile.windows),
                       first = divide(window.quotient, tile.first_taps);
        return {x.rest, first.rest, window.rest, first.quotient};
    }

    void stage(const Tile &tile, const Int &images) {
        using namespace Halide;
        StagedWeightFuncs &f = funcs_;
        const StagedShape shape = schedule_params.shape();
        const Division image = divide(f.box, band_rows);
        const Expr number = group_and_band(f.part).quotient * band_rows + image.rest;
        const Division x = divide(min(number, tile.tiles() - 1), tile.tiles_x()), y = divide(x.quotient, tile.tiles_y());
        const Expr x0 = x.rest * tile.x, z0 = y.quotient * tile.z, first = y.rest * tile.groups * shape.parts,
                   first_image = f.images * part_images + image.quotient * images, exists = number < tile.tiles();
        const Int residues = tile.y_axis.dilation, planes = shape.planes;
        // Columns of neighbouring groups are neighbours.
        const auto stage = [&](StagedPicture &staged, const auto &picture, const Staged &what, const Int &box_x, const Int &box_z,
                               const Expr &lower_x, const Expr &lower_z, const auto &row_of) {
            stage_picture(staged, picture, what, shape.threads, f.thread, {f.box, f.part, f.images},
                          [&](const Expr &column) -> Column {
                              const Division plane = by(column, planes), x = by(plane.quotient, box_x), z = by(x.quotient, box_z);
                              const Expr group = group_and_band(f.part).rest * planes + plane.rest,
                                         image = first_image + z.quotient;
                              return {lower_x + x.rest, lower_z + z.rest, min(group, extent(5) - 1), min(image, max(batch, 1) - 1),
                                      exists && group < extent(5) && image < min(batch, (f.images + 1) * part_images)};
                          },
                          row_of, this->get_target());
        };
        const Int columns = images * planes;
        stage(f.output_gradient, output_gradient,
              {tile.box_x * tile.box_z * columns, residues * tile.first_taps, tile.piece, tile.pitch, shape.elements},
              tile.box_x, tile.box_z, x0 * tile.x_axis.stride, z0 * tile.z_axis.stride,
              [&](const Expr &piece, const Expr &row) {
                  const Division first_tap = by(piece, residues);
                  return (first_tap.rest + residues * (first + row)) * tile.y_axis.stride +
                         first_tap.quotient * tile.y_axis.dilation;
              });
        stage(f.input, input, {tile.x * tile.z * columns, residues, tile.input_piece, tile.input_pitch, shape.others},
              tile.x, tile.z, x0, z0, [&](const Expr &piece, const Expr &row) { return piece + residues * (first + row); });
    }

    void multiply(const Tile &tile, const Int &images) {
        using namespace Halide;
        StagedWeightFuncs &f = funcs_;
        const StagedShape shape = schedule_params.shape();
        const int parts = shape.parts, window = shape.window;
        const Int apart = tile.y_axis.dilation, rows = tile.groups * apart, runs = tile.x * rows * tile.z * images;
        {
            const Division plane = by(f.thread, shape.planes), task = by(plane.quotient, tile.tasks_of_block);
            const Task t = task_of(min(f.tile * tile.tasks_of_block + task.rest, tile.tasks - 1), tile);
            const Expr column = t.kz * tile.z_axis.dilation * tile.box_x + t.kx * tile.x_axis.dilation;
            const Expr seen = (column * shape.planes + plane.rest) * (tile.pitch / 4) + t.first * apart * (tile.piece / 4) +
                              t.window * (window / 4);
            f.task(f.thread, f.tile) = Tuple(seen, plane.rest * (tile.input_pitch / 4),
                                             select(task.quotient < tile.lanes, task.quotient, runs));
        }
        const auto task = [&](const Expr &thread, int i) -> Expr { return f.task(thread, f.tile)[i]; };
        {
            const Expr run = min(task(f.thread, 2) + f.step * tile.lanes, runs - 1);
            const Division x = by(run, tile.x), y = by(x.quotient, rows), z = by(y.quotient, tile.z), row = by(y.rest, apart);
            const Expr seen = ((z.quotient * tile.box_z + z.rest * tile.z_axis.stride) * tile.box_x + x.rest * tile.x_axis.stride) *
                                  shape.planes * (tile.pitch / 4) +
                              row.rest * (tile.piece / 4) + row.quotient * (parts / 4);
            const Expr factor = ((z.quotient * tile.z + z.rest) * tile.x + x.rest) * shape.planes * (tile.input_pitch / 4) +
                                row.rest * (tile.input_piece / 4) + row.quotient * (parts / 4);
            f.at(f.step, f.thread, f.tile) = Tuple(seen + task(f.thread, 0), factor + task(f.thread, 1));
        }
        const auto slot = [&](int i, int elements, int run) {
            return known(Expr(f.at(f.step, f.thread, f.tile)[i]), (elements - run) / 4 + 1) * 4 + f.place;
        };
        f.seen(f.place, f.step, f.thread, f.box, f.tile, f.part, f.images) =
            f.output_gradient.staged(slot(0, shape.elements, shape.seen()), f.box, f.part, f.images);
        f.factor(f.place, f.step, f.thread, f.box, f.tile, f.part, f.images) =
            f.input.staged(slot(1, shape.others, parts), f.box, f.part, f.images);

        // None of an empty batch, of which there is nothing to read.
        f.runs = RDom({{0, parts}, {0, staged::up(runs, tile.lanes)},
                       {0, select(batch > 0, staged::up(number(part_images), images) * band_rows, 0)}}, "runs");
        const RDom &r = f.runs;
        f.runs.where(task(f.thread, 2) + r[1] * tile.lanes < runs);
        f.sum(f.tap, f.thread, f.tile, f.part, f.images) = 0.f;
        f.sum(f.tap, f.thread, f.tile, f.part, f.images) +=
            f.factor(r[0], r[1], f.thread, r[2], f.tile, f.part, f.images) *
            f.seen(r[0] + f.tap, r[1], f.thread, r[2], f.tile, f.part, f.images);
        f.lane_sums(f.tap, f.thread, f.tile, f.part, f.images) = f.sum(f.tap, f.thread, f.tile, f.part, f.images);
    }

    void store(const Tile &tile) {
        using namespace Halide;
        StagedWeightFuncs &f = funcs_;
        const StagedShape shape = schedule_params.shape();
        const Int of_block = shape.planes * tile.tasks_of_block;
        const auto thread_of = [&](const Expr &round, const Expr &thread) {
            return by(round * shape.threads + thread, shape.window);
        };
        f.lanes = RDom(0, tile.lanes, "lanes");
        const Division summed = thread_of(f.round, f.thread);
        f.total(f.round, f.thread, f.tile, f.part, f.images) = 0.f;
        f.total(f.round, f.thread, f.tile, f.part, f.images) +=
            f.lane_sums(known(summed.rest, shape.window),
                        known(min(summed.quotient, of_block - 1) + f.lanes * of_block, shape.threads), f.tile, f.part, f.images);

        f.weights = RDom({{0, staged::up(Int(of_block * shape.window), Int(shape.threads))}, {0, shape.threads},
                          {0, tile.task_tiles()}, {0, group_tiles() * extent(6)}, {0, extent(7)}}, "weights");
        const RDom &r = f.weights;
        const Division in_block = thread_of(r[0], r[1]), plane = by(in_block.quotient, shape.planes),
                       part = group_and_band(r[3]);
        const Expr number = r[2] * tile.tasks_of_block + plane.quotient, group = part.rest * shape.planes + plane.rest;
        const Task t = task_of(number, tile);
        const Expr ky = t.first + (t.window * shape.window + in_block.rest) * tile.y_axis.stride;
        f.weights.where(in_block.quotient < of_block && number < tile.tasks && ky < extent(1) && group < extent(5));
        std::vector<Expr> to{t.kx, ky, t.kz, 0, 0, group, part.quotient, r[4]};
        for (int d = 0; d < dimensions + 2; d++) to[d] = known(to[d], extent(d));
        (*partial_)(std::vector<Var>(dimensions + 2)) = undef(partial_->type());
        Func(*partial_).gpu_single_thread();  // nothing, but on the host it would ask for host memory
        const Expr sum = f.total(r[0], r[1], r[2], r[3], r[4]);
        (*partial_)(to) = writes_result ? stored(sum, storage, this->get_target()) : sum;
        f.partial = *partial_;
    }
};

}  // namespace conv_transpose

#endif

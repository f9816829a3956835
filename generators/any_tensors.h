// What generators share whose kernels take tensors of any rank, element type and layout. A tensor has three axes, of which
// some may have one position, and every stride is a run-time value: one kernel serves channels_first and channels_last.
#ifndef CONV_TRANSPOSE_GENERATORS_ANY_TENSORS_H
#define CONV_TRANSPOSE_GENERATORS_ANY_TENSORS_H

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/epilogue.h"
#include "algorithm/gather_funcs.h"
#include "algorithm/tap_walk.h"
#include "generators/format_text.h"
#include "generators/problem_params.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// A base of generators.
struct AnyTensors : DescribedGenerator {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;
    static constexpr int rank = 3, dimensions = rank + 3;  // x, y, z, channel in group, group, image

    ProblemParams problem;
    /// Pictures are stored so, and weights that are read as they are given.
    GeneratorParam<Storage> storage{"storage", Storage::f32, storage_names()};

    /// A position in a picture of which that is known.
    static Halide::Expr known(const Halide::Expr &i, const Halide::Internal::Dimension &d) {
        return Halide::unsafe_promise_clamped(i, d.min(), d.max());
    }
    static Halide::Expr known(const Halide::Expr &i, const Halide::Expr &extent) {
        return Halide::unsafe_promise_clamped(i, 0, extent - 1);
    }

  protected:
    /// Where an element lies in the tensor that is computed.
    struct Place {
        std::vector<Halide::Expr> axes;  ///< x, y, z; they may lie beyond the last where `exists` is false
        Halide::Expr channel, group, image, exists;

        std::vector<Halide::Expr> coordinates() const {
            std::vector<Halide::Expr> all = axes;
            all.insert(all.end(), {channel, group, image});
            return all;
        }
    };

    /// How many tiles there are, and where their elements lie. Parts begin a multiple of `part_step` apart, or, with a window,
    /// just that.
    template <class Tensor>
    struct Tiles {
        const Tensor &tensor;
        GatherTile tile;
        bool on_gpu;
        Halide::Func of_thread;  ///< AnyGatherFuncs::place, where keep_places() defined it
        Halide::Expr part_step = 1;

        Halide::Expr extent(int d) const { return tensor.dim(d).extent(); }
        bool of_rows() const { return tile.threads == 0; }
        /// In steps; where that is more than the axis has, only the first part has any.
        Halide::Expr part_steps() const { return up(up(extent(tile.part_axis), tile.parts), part_step); }
        /// Positions of an axis that threads count.
        Halide::Expr positions(int axis) const {
            if (tile.parts == 1 || axis != tile.part_axis) return extent(axis);
            if (tile.has_window(axis)) return up(extent(axis), tile.parts * part_step) * part_step;
            return Halide::min(part_steps() * part_step, extent(axis));
        }
        Halide::Expr threads() const { return of_rows() ? extent(0) : Halide::Expr(tile.threads); }
        Halide::Expr blocks() const {
            if (of_rows()) return extent(1) * extent(2) * channel_tiles();
            return up(positions(0) * positions(1) * extent(2) * first_tiles() * group_tiles() * extent(5), tile.threads);
        }
        Halide::Expr outer() const {
            if (of_rows()) return group_tiles() * extent(5);
            return tile.channels_last ? Halide::Expr(1) : channel_tiles();
        }

        Place place(const Halide::Expr &channel, const Halide::Expr &group, const Halide::Expr &part,
                    const Halide::Expr &thread, const Halide::Expr &block, const Halide::Expr &outer) const {
            Place p = of_rows() ? of_row(thread, block, outer) : of_part(part, thread, block, outer);
            p.channel = p.channel * tile.channels + channel, p.group = p.group * tile.groups + group;
            p.exists = p.axes[tile.part_axis] < extent(tile.part_axis) && p.image < extent(5);
            if (!tile.channels_last) p.exists = p.exists && p.channel < extent(3) && p.group < extent(4);
            return p;
        }

        /// Lets a thread find its place once, not for each of its parts.
        void keep_places(const Halide::Var &thread, const Halide::Var &block) {
            const Place p = of_number(0, block * tile.threads + thread, 0);
            of_thread(thread, block) = Halide::Tuple(p.axes[0], p.axes[1], p.axes[2], p.channel, p.group, p.image);
        }

      private:
        static Halide::Expr up(const Halide::Expr &number, const Halide::Expr &divisor) {
            return (number + divisor - 1) / divisor;
        }
        Halide::Expr first_tiles() const {
            return tile.channels_last && tile.groups == 1 ? channel_tiles() : Halide::Expr(1);
        }
        Halide::Expr channel_tiles() const { return up(extent(3), tile.channels); }
        Halide::Expr group_tiles() const { return up(extent(4), tile.groups); }
        Division by(const Halide::Expr &number, const Halide::Expr &divisor) const {
            return Halide::Internal::is_const_one(divisor) ? Division{number, 0} : divide(number, divisor, on_gpu);
        }

        // With the tiles of channels and groups in place of channel and group.
        Place of_row(const Halide::Expr &x, const Halide::Expr &block, const Halide::Expr &outer) const {
            const Division row = by(block, extent(1) * extent(2)), plane = by(row.rest, extent(1)),
                           image = by(outer, group_tiles());
            return {{x, plane.rest, plane.quotient}, row.quotient, image.rest, image.quotient, {}};
        }
        Place of_part(const Halide::Expr &part, const Halide::Expr &thread, const Halide::Expr &block,
                      const Halide::Expr &channel_tile) const {
            if (!of_thread.defined()) return of_number(part, block * tile.threads + thread, channel_tile);
            const Halide::FuncRef at = of_thread(thread, block);
            std::vector<Halide::Expr> axes{at[0], at[1], at[2]};
            if (tile.parts > 1) axes[tile.part_axis] += part * (tile.window > 0 ? part_step : positions(tile.part_axis));
            return {axes, tile.channels_last && tile.groups == 1 ? Halide::Expr(at[3]) : channel_tile, at[4], at[5], {}};
        }
        Place of_number(const Halide::Expr &part, const Halide::Expr &number, const Halide::Expr &channel_tile) const {
            const bool last = tile.channels_last;
            const Division position = last ? by(number, first_tiles() * group_tiles()) : Division{number, 0};
            const Division row = by(position.quotient, positions(0)), plane = by(row.quotient, positions(1)),
                           volume = by(plane.quotient, extent(2));
            std::vector<Halide::Expr> axes{row.rest, plane.rest, volume.rest};
            Halide::Expr &along = axes[tile.part_axis];
            if (tile.parts > 1 && tile.window > 0)
                along += (by(along, part_step).quotient * (tile.parts - 1) + part) * part_step;
            else if (tile.parts > 1) along += part * positions(tile.part_axis);
            const Division channel = by(position.rest, first_tiles()), image = by(volume.quotient, group_tiles());
            if (last) return {axes, channel.rest, channel.quotient, volume.quotient, {}};
            return {axes, channel_tile, image.rest, image.quotient, {}};
        }
    };

    /// Lets Func `written` store f.finished at every element.
    template <class Tensor>
    void store_tiles(AnyGatherFuncs &f, Tensor &tensor, const Tiles<Tensor> &tiles, const Halide::Target &target) const {
        using namespace Halide;
        const GatherTile &tile = tiles.tile;
        f.elements = RDom({{0, tile.channels}, {0, tile.groups}, {0, tile.parts}, {0, tiles.threads()}, {0, tiles.blocks()},
                           {0, tiles.outer()}}, "elements");
        const RDom &r = f.elements;
        const Place p = tiles.place(r[0], r[1], r[2], r[3], r[4], r[5]);
        f.elements.where(p.exists);
        std::vector<Expr> to = p.coordinates();
        for (int d = 0; d < dimensions; d++) to[d] = known(to[d], tensor.dim(d).extent());
        tensor(std::vector<Var>(dimensions)) = undef(halide_type(storage));
        if (tiles.on_gpu) Func(tensor).gpu_single_thread();  // nothing, but on the host it would ask for host memory
        tensor(to) = stored(f.finished(r[0], r[1], r[2], r[3], r[4], r[5]), storage, target);
        f.output = tensor;
    }

    template <class Tensor>
    void set_format(Tensor &tensor) const {
        tensor.set_type(halide_type(storage));
        tensor.set_dimensions(dimensions);
    }

    template <class Tensor>
    static void declare_strides(Tensor &tensor, bool axes_begin_at_0) {
        for (int d = axes_begin_at_0 ? 0 : rank; d < dimensions; d++) tensor.dim(d).set_min(0);
        tensor.dim(0).set_stride(Halide::Expr());
    }

    /// A condition as a whole, which goes out of the loops that it does not depend on; of its parts Halide leaves some in
    /// each of the unrolled channels, so that no two loads are under way at once.
    static Halide::Expr all_of(const std::vector<Halide::Expr> &conditions) {
        Halide::Expr all = 1;
        for (const Halide::Expr &condition : conditions) all = all & Halide::cast<int>(condition);
        return all > 0;
    }
    static void only_where(Halide::RDom &domain, const std::vector<Halide::Expr> &conditions) {
        domain.where(all_of(conditions));
    }

    /// One axis of the picture that taps see, at the tap variable of that axis: the position, and whether it is there.
    struct SeenAxis {
        Halide::Expr position, live;
    };

    /// What the taps of a gather go through: of x, y and z `taps` (of the axis with a window: of each of `first_taps`), and of
    /// that axis so many at once.
    static Halide::RDom taps_of_windows(const GatherTile &tile, const Halide::Expr &summed, std::vector<Halide::Expr> taps,
                                        const Halide::Expr &first_taps) {
        const int at_once = tile.taps_at_once();
        Halide::Expr &windows = taps[tile.part_axis];
        if (at_once > 1) windows = (windows + at_once - 1) / at_once;
        return Halide::RDom({{0, summed}, {0, taps[0]}, {0, taps[1]}, {0, taps[2]}, {0, at_once}, {0, first_taps}}, "taps");
    }

    /// The number of a tap: of a window's, or of another axis'.
    static Halide::Expr tap_number(const GatherTile &tile, int axis, const Halide::Expr &tap, const Halide::Expr &in_window) {
        return tile.has_window(axis) ? tap * tile.taps_at_once() + in_window : tap;
    }

    /// Lets f.seen be the picture at three positions that follow from the vars of its taps. Where a thread has one position
    /// a row, a tap that sees nothing is left out as a whole; of several each is zero where it lies outside.
    template <class Picture, class Seen>
    void define_seen(AnyGatherFuncs &f, const Picture &picture, const GatherTile &tile, const Halide::Expr &group,
                     const Halide::Expr &image, Seen seen) const {
        using namespace Halide;
        const bool several = tile.parts > 1;
        const auto at = [&](int d, const Expr &tap, const Expr &first_tap) {
            return seen(d, tap, several && d == tile.part_axis ? Expr(f.part) : Expr(0), first_tap);
        };
        std::vector<Expr> from;
        const Var taps[] = {f.tap_x, f.tap_y, f.tap_z};
        const Expr of_part = at(tile.part_axis, taps[tile.part_axis], f.first_tap).position;
        // A load that is always there and a select of what it brings is faster than a test before it where all else is
        // known (vectors of groups: 5 to 8 %); of single elements far apart as much slower.
        const bool clamps = several && (tile.groups > 1 || tile.window > 0);
        for (int d = 0; d < rank; d++) {
            const Expr position = at(d, taps[d], f.first_tap).position;
            from.push_back(!clamps ? known(position, picture.dim(d))
                           : tile.multiplies_zeros ? known(first_if_outside(position, picture.dim(d)), picture.dim(d))
                                                   : clamp(position, picture.dim(d).min(), picture.dim(d).max()));
        }
        from.insert(from.end(), {f.summed, group, image});
        // As it lies in memory: a conversion behind the test would wait there for its load.
        const Expr element = storage == Storage::f32 ? picture(from) : reinterpret<uint16_t>(picture(from));
        const auto conditions = [&](const Expr &tap_x, const Expr &tap_y, const Expr &tap_z, const Expr &first_tap) {
            const SeenAxis axes[] = {at(0, tap_x, first_tap), at(1, tap_y, first_tap), at(2, tap_z, first_tap)};
            std::vector<Expr> all;
            for (int d = 0; d < rank; d++) {
                all.push_back(axes[d].live);
                if (d != tile.part_axis || !several) all.push_back(inside(axes[d].position, picture.dim(d)));
            }
            return all;
        };
        only_where(f.taps, conditions(f.taps[1], f.taps[2], f.taps[3], f.taps[5]));
        // Halide may compute what is seen for taps that are left out; at clamped positions it may be anything.
        const Expr nothing = Internal::make_zero(element.type()), is_inside = inside(of_part, picture.dim(tile.part_axis));
        const Expr is_there = all_of(conditions(f.tap_x, f.tap_y, f.tap_z, f.first_tap)) && is_inside;
        f.seen(f.group, f.part, f.thread, f.block, f.outer, f.summed, f.tap_x, f.tap_y, f.tap_z, f.first_tap) =
            !several ? element : clamps ? zero_unless(is_inside, element) : branch(is_there, element, nothing);
    }
    /// Elements of 16 bits are masked, two at once: a choice would be made of each, behind the conversion.
    static Halide::Expr zero_unless(const Halide::Expr &condition, const Halide::Expr &element) {
        using namespace Halide;
        if (element.type() != UInt(16)) return select(condition, element, Internal::make_zero(element.type()));
        return element & select(condition, cast<uint16_t>(0xffff), cast<uint16_t>(0));
    }

    /// What a tap's weight is, by the numbers of a tap as f.taps has them; with a window kept in f.tap_weight, where a tap that is
    /// left out has that of another.
    template <class WeightAt>
    Halide::Expr weight_of_tap(AnyGatherFuncs &f, const GatherTile &tile, WeightAt at) const {
        const Halide::RDom &r = f.taps;
        if (tile.window == 0) return at(std::vector<Halide::Expr>{r[1], r[2], r[3]}, r[4], r[5], r[0]);
        f.tap_weight(f.channel, f.group, f.in_window, f.thread, f.block, f.outer, f.summed, f.tap_x, f.tap_y, f.tap_z,
                     f.first_tap) =
            at(std::vector<Halide::Expr>{f.tap_x, f.tap_y, f.tap_z}, f.in_window, f.first_tap, f.summed);
        return f.tap_weight(f.channel, f.group, r[4], f.thread, f.block, f.outer, r[0], r[1], r[2], r[3], r[5]);
    }

    /// In float32, at a place of the window.
    Halide::Expr what_is_seen(const AnyGatherFuncs &f, const Halide::Expr &place, const Halide::Target &target) const {
        const Halide::Expr element = f.seen(f.group, place, f.thread, f.block, f.outer, f.taps[0], f.taps[1], f.taps[2],
                                            f.taps[3], f.taps[5]);
        return loaded(storage == Storage::f32 ? element : reinterpret(halide_type(storage), element), target);
    }

    /// Whether a position lies in a picture.
    static Halide::Expr inside(const Halide::Expr &i, const Halide::Internal::Dimension &d) {
        return is_inside(i, d.min(), d.extent());
    }

    /// The picture's first position in place of one outside: a comparison, which is there already, and a choice. Where few taps of
    /// a window exist the nearest is better, which neighbours read as well (k8 s8 in float32: 0.7 of the time).
    static Halide::Expr first_if_outside(const Halide::Expr &i, const Halide::Internal::Dimension &d) {
        return d.min() + select(inside(i, d), i - d.min(), 0);
    }

    /// `pictures` are the names of the tensors in the registry.
    void describe_tensors(std::initializer_list<const char *> pictures, KernelDescription &description,
                          bool channels_last = false) const {
        description.set("rank", rank);
        description.set(channels_last ? "vectors_of_channels" : "any_layout", "true");
        for (const char *picture : pictures) description.set(picture, format_text(storage, channels_last));
    }

    /// A schedule for channels_last has vectors that are computed, and vectors that are read.
    template <class Schedule>
    static int read_vector(const Schedule &schedule) {
        if constexpr (requires { schedule.read; }) return schedule.read;
        else return schedule.tile().vector();
    }
    template <class Schedule>
    static void describe_vectors(const Schedule &schedule, const char *summed, const char *computed,
                                 KernelDescription &description) {
        if constexpr (requires { schedule.read; }) {
            description.set(summed, schedule.read);
            description.set(computed, schedule.tile().vector());
        }
    }

    /// What the runtime promises in channels_last: so many channels in dimension `contiguous` are a vector.
    template <class Tensor>
    static void declare_vectors(Tensor &tensor, int contiguous, int values) {
        for (int d = 0; d < dimensions; d++)
            if (d < rank || d > contiguous) tensor.dim(d).set_stride(tensor.dim(d).stride() / values * values);
        tensor.dim(contiguous).set_stride(1).set_extent(tensor.dim(contiguous).extent() / values * values);
        tensor.set_host_alignment(16);
    }
};

}  // namespace conv_transpose

#endif

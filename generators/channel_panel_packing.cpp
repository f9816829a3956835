// Weight packing for matrix products on the CPU, of any rank: see WeightLayout::channel_panels.
#include "Halide.h"
#include "algorithm/weight_layouts.h"
#include "compiler/passes/vector_transpositions.h"
#include "generators/any_tensors.h"
#include "generators/format_text.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// (element of a run, 0, channel, run, group) -> (lane, summed channel, tap, 0, panel + panels * group), float32. A run is what
/// lies side by side of a channel: all taps of a summed channel, or of all of them; with tap and summed channel exchanged, all
/// channels of a tap. Channels beyond the last are zero.
///
/// Elements are turned a vector's square at a time, or 4 x 4 where lanes or runs fill none (8 MB of k4, 512 to 256 channels, by
/// AVX-512 0.6 ms, by SSE 1.8; EPYC, Zen 4, 2026-11-28): some of a run for those lanes, then for the next, since what lanes read
/// may lie at multiples of a power of two, more of them than a set of the cache holds.
class PackChannelPanels : public Halide::Generator<PackChannelPanels>, public DescribedGenerator {
  public:
    /// What the weights are given in.
    GeneratorParam<Storage> given{"given", Storage::f32, storage_names()};
    /// For kernels that multiply pairs of what is given, not float32: two summed channels lie side by side, along dimension 3.
    /// They are counted by that of dimensions 1 and 2 whose steps are shorter: the runtime exchanges those where channels lie
    /// inside of taps. What the last pair of an odd number lacks is zero.
    GeneratorParam<bool> pairs{"pairs", false};

    Input<Halide::Buffer<>> weight{"weight"};
    Output<Halide::Buffer<>> packed{"packed", 5};

    void configure() {
        weight.set_type(halide_type(given)), weight.set_dimensions(5);
        packed.set_type(pairs ? halide_type(given) : Float(32));
    }

    void generate() {
        using namespace Halide;
        read_shapes();
        place_(element_) = Tuple(element_ / inner_, element_ % inner_);
        packed(lane_, Var(), Var(), Var(), Var()) = undef(pairs ? halide_type(given) : Float(32));
        const Expr in_vectors = run_ >= width && weight.dim(0).stride() == 1;
        pack_turned(in_vectors);
        // Channels may be neighbours: some rows of all panels, then the next ones.
        const Expr in_lanes = !in_vectors && weight.dim(2).stride() == 1 && channels_ % width == 0 && lanes_ % width == 0;
        pack_rows(in_lanes);
        rest_ = RDom({{0, select(in_vectors || in_lanes, 0, run_)}, {0, runs_}, {0, all_panels_}}, "rest");
        pack(lane_, rest_[0], rest_[1], rest_[2], given_at(rest_[0], existing(rest_[2]), rest_[1], rest_[2]));
        if (pairs) clear_what_lacks();
    }

    void schedule() {
        using namespace Halide;
        weight.dim(0).set_stride(Expr()), weight.dim(1).set_extent(1), packed.dim(3).set_extent(pairs ? 2 : 1);
        if (pairs) packed.dim(0).set_stride(2), packed.dim(3).set_stride(1);
        for (int d = 0; d < 5; d++) weight.dim(d).set_min(0), packed.dim(d).set_min(0);
        place_.compute_root();
        Var lanes{"lanes"};
        RVar chunk{"chunk"}, vector{"vector"}, some{"some"}, runs{"runs"}, work{"work"};
        const auto share_out = [&](Stage stage, const RVar &of_run, const RVar &panel, std::vector<VarOrRVar> inner) {
            inner.insert(inner.end(), {some, runs, panel});
            stage.allow_race_conditions().split(of_run, runs, some, 16, TailStrategy::GuardWithIf).reorder(inner)
                .fuse(runs, panel, work).parallel(work, 4, TailStrategy::GuardWithIf);
        };
        int update = 0;
        for (Turns &t : turns_) {
            Stage turns = Func(packed).update(update++);
            turns.split(t.vectors[1], chunk, vector, 64 / t.width, TailStrategy::GuardWithIf)
                .split(lane_, lanes, lane_, t.width, TailStrategy::GuardWithIf);
            share_out(turns, t.vectors[2], t.vectors[3], {lane_, t.vectors[0], vector, lanes, chunk});
            turns.specialize(weight.dim(0).stride() == 1 && packed.dim(0).extent() % t.width == 0).vectorize(lane_)
                .unroll(t.vectors[0]);
            turns.specialize(weight.dim(0).stride() == 1);
            t.turned.compute_at(packed, vector).reorder_storage(lane_, element_).bound_extent(element_, t.width)
                .bound_extent(lane_, t.width).vectorize(element_).unroll(lane_);
        }
        Stage copies = Func(packed).update(update++);
        copies.allow_race_conditions().fuse(rows_[3], rows_[4], work).parallel(work, 16, TailStrategy::GuardWithIf);
        copies.specialize(weight.dim(2).stride() == 1).vectorize(rows_[0]);
        share_out(Func(packed).update(update++), rest_[1], rest_[2], {lane_, rest_[0]});
        if (pairs) Func(packed).update(update).unscheduled();
        get_pipeline().add_custom_lowering_pass(new VectorTranspositions);
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::weight_packing, get_target());
        description.set("weight_layout", enumerator(WeightLayout::channel_panels));
        description.set("weight", format_text(given));
        if (pairs) description.set("sums_pairs", "true"), description.set("output", format_text(given));
    }

  private:
    using Expr = Halide::Expr;
    static constexpr int width = 4, some_rows = 16;
    Halide::Var element_{"element"}, lane_{"lane"}, of_run_{"of_run"}, panel_{"panel"};
    /// Elements that are turned by vectors of one width.
    struct Turns {
        int width;
        Halide::RDom vectors;
        Halide::Func turned;
    };
    Halide::Func place_{"place"};
    std::vector<Turns> turns_;
    Halide::RDom rows_, rest_, single_;
    /// Channels, lanes and panels of a group, panels of all; elements of a run, and runs.
    Expr channels_, lanes_, panels_, all_panels_, run_, runs_;
    /// Summed channels and taps, the inner of which is the one of dimension 2; of pairs, whether dimension 1 counts taps.
    Expr summed_, taps_, outer_, inner_, pairs_inside_;

    static Expr known(const Expr &i, const Expr &extent) { return Halide::unsafe_promise_clamped(i, 0, extent - 1); }

    void read_shapes() {
        channels_ = weight.dim(2).extent(), lanes_ = packed.dim(0).extent();
        panels_ = packed.dim(4).extent() / weight.dim(4).extent(), all_panels_ = panels_ * weight.dim(4).extent();
        run_ = weight.dim(0).extent(), runs_ = weight.dim(3).extent();
        // Of a single pair steps are the same, and the other dimension is that of taps.
        const Expr step = packed.dim(1).stride(), inner_step = packed.dim(2).stride();
        pairs_inside_ = step > inner_step || (step == inner_step && packed.dim(1).extent() > packed.dim(2).extent());
        // The last pair may have one channel.
        taps_ = select(pairs_inside_, packed.dim(1).extent(), packed.dim(2).extent()), summed_ = run_ * runs_ / taps_;
        outer_ = pairs ? select(pairs_inside_, taps_, summed_) : packed.dim(1).extent();
        inner_ = pairs ? select(pairs_inside_, summed_, taps_) : packed.dim(2).extent();
    }

    Expr channel(const Expr &panel, const Expr &lane) const { return panel % panels_ * lanes_ + lane; }
    Expr existing(const Expr &panel) const { return min(channel(panel, lane_), channels_ - 1); }
    Expr given_at(const Expr &element, const Expr &of_channel, const Expr &of_run, const Expr &panel) const {
        const Expr value = weight(known(element, run_), 0, known(of_channel, channels_), known(of_run, runs_),
                                  known(panel / panels_, weight.dim(4).extent()));
        return pairs ? Halide::reinterpret<uint16_t>(value) : loaded(value, get_target());
    }

    /// `value` is an element of a run, of the channel of a panel's lane.
    void pack(const Expr &lane, const Expr &element, const Expr &of_run, const Expr &panel, const Expr &value) {
        const Expr outside = known(of_run * (run_ / inner_) + place_(element)[0], outer_);
        const Expr inside = known(place_(element)[1], inner_);
        const Expr outer_pair = pairs ? select(pairs_inside_, 1, 2) : Expr(1);
        const Expr inner_pair = pairs ? select(pairs_inside_, 2, 1) : Expr(1);
        const Expr of_pair = pairs ? select(pairs_inside_, inside % 2, outside % 2) : Expr(0);
        const Expr kept = select(channel(panel, lane) < channels_, value, cast(value.type(), 0));
        packed(lane, outside / outer_pair, inside / inner_pair, of_pair, panel) =
            pairs ? Halide::reinterpret(halide_type(given), kept) : kept;
    }

    // Runs, by vectors of elements, of which the last begins early.
    void pack_turned(const Expr &in_vectors) {
        using namespace Halide;
        const int natural = get_target().natural_vector_size<float>();
        const Expr is_wide = in_vectors && run_ >= natural && lanes_ % natural == 0;  // which registers hold as a whole
        for (const int vector : natural > width ? std::vector<int>{natural, width} : std::vector<int>{width}) {
            const Expr turns = natural == width ? in_vectors : vector == natural ? is_wide : in_vectors && !is_wide;
            const Expr vectors = select(turns, (run_ + vector - 1) / vector, 0);
            Turns t{vector, RDom({{0, vector}, {0, vectors}, {0, runs_}, {0, all_panels_}}, "vectors"), Func("turned")};
            t.turned(element_, lane_, of_run_, panel_) = given_at(element_, existing(panel_), of_run_, panel_);
            const Expr at = known(min(t.vectors[1] * vector, run_ - vector) + t.vectors[0], run_);
            pack(lane_, at, t.vectors[2], t.vectors[3], t.turned(at, lane_, t.vectors[2], t.vectors[3]));
            turns_.push_back(t);
        }
    }

    // Elements of neighbouring channels.
    void pack_rows(const Expr &in_lanes) {
        using namespace Halide;
        const Expr rows = select(in_lanes, run_ * runs_, 0);
        rows_ = RDom({{0, width}, {0, lanes_ / width}, {0, some_rows}, {0, all_panels_}, {0, (rows + some_rows - 1) / some_rows}},
                     "rows");
        const Expr row = min(rows_[4] * some_rows + rows_[2], rows - 1), panel = rows_[3];
        const Expr first = min(channel(panel, rows_[1] * width), channels_ - width);
        pack(rows_[1] * width + rows_[0], row % run_, row / run_, panel,
             given_at(row % run_, first + rows_[0], row / run_, panel));
    }

    // The second of a last pair of one channel is zero.
    void clear_what_lacks() {
        using namespace Halide;
        single_ = RDom({{0, select(summed_ % 2 == 1, taps_, 0)}, {0, all_panels_}}, "single");
        const auto at = [&](int d, const Expr &is_pair) -> Expr {
            return known(select(is_pair, summed_ / 2, single_[0]), packed.dim(d).extent());
        };
        packed(lane_, at(1, !pairs_inside_), at(2, pairs_inside_), 1, single_[1]) = Internal::make_zero(halide_type(given));
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelPanels, pack_channel_panels)

// The sums of flat matrix products (flat_places.h says what those are) over channels and taps.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_GEMM_H

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"
#include "algorithm/flat_staging.h"
#include "algorithm/flat_storing.h"
#include "algorithm/flat_tables.h"

namespace conv_transpose::flat_gemm {

/// So much is summed of a tap for a register tile: nothing where it sees zeros alone.
inline void define_seen_terms(FlatGemmFuncs &f, const Places &places, const Expr &terms) {
    const FlatGemmVars &v = f.v;
    const int rank = static_cast<int>(places.axes().size());
    Expr sees = v.tap < f.live_taps(v.phase) && v.register_tile * f.size.positions < f.cell_count(v.tile);
    for (int d = 0; d < rank; d++) {
        const Expr first = d == 0 ? places.first_cell(v.segment) : Expr(0);
        const auto tap = [&](int i) -> Expr { return f.taps(v.tap, v.phase)[2 + rank + 2 * d + i]; };
        const auto cell = [&](int i) -> Expr { return first + f.cell_boxes(v.register_tile, v.tile)[2 * d + i]; };
        sees = sees && cell(1) >= tap(0) && cell(0) <= tap(1);
    }
    tabulate(f.seen_terms, {v.tap, v.register_tile, v.phase, v.segment, v.tile}, {select(sees, terms, 0)});
}

/// What is summed beyond the last channel gives nothing.
template <class Tensor>
Halide::Func define_filled_panel(FlatGemmFuncs &f, const Tensor &panels) {
    using namespace Halide;
    std::vector<Var> vars{f.v.lane, f.v.pair};
    for (int d = 2; d < panels.dimensions(); d++) vars.emplace_back("panel_" + std::to_string(d));
    std::vector<Expr> index(vars.begin(), vars.end());
    index[1] = promised(min(f.v.pair, panels.dim(1).extent() - 1), panels.dim(1).extent());
    f.filled_panel(vars) = select(f.v.pair < panels.dim(1).extent(), panels(index), Internal::make_zero(BFloat(16)));
    return f.filled_panel;
}

/// The same of rows of the kernel, each of which has the summed channels of one tap after the other.
template <class Tensor>
Halide::Func define_joined_panel(FlatGemmFuncs &f, const Tensor &panels, const Expr &summed) {
    using namespace Halide;
    const FlatGemmVars &v = f.v;
    const Expr kernel_x = panels.dim(2).extent(), terms = summed * kernel_x, number = v.pair * 2 + v.lane % 2;
    const Expr term = min(number, terms - 1), channel = term % summed;
    std::vector<Expr> index{v.lane / 2 * 2 + channel % 2, promised(channel / 2, panels.dim(1).extent()),
                            promised(term / summed, kernel_x)};
    PerAxis rows;
    for (int d = 3; d < panels.dimensions() - 1; d++) rows.push_back(panels.dim(d).extent());
    const PerAxis row = digits(v.row, rows, divide_plainly);
    for (size_t i = 0; i < rows.size(); i++) index.push_back(promised(row[i], rows[i]));
    index.push_back(v.panel);
    f.filled_panel(v.lane, v.pair, v.row, v.panel) =
        select(number < terms, panels(index), Internal::make_zero(BFloat(16)));
    return f.filled_panel;
}

/// The sum over summed channels and live taps; where a channel sees itself alone, over taps. Panels (lane, summed, kx, ky, kz,
/// panel + panels * group) are of `channels` channels of a group.
template <class Tensor>
class Sum {
  public:
    Sum(FlatGemmFuncs &f, const Places &places, const Tensor &panels, const Expr &most_taps, const Expr &summed,
        const Expr &channels)
        : f_(f), places_(places), panels_(panels), most_taps_(most_taps), summed_(summed), channels_(channels),
          rank_(static_cast<int>(places.axes().size())) {}

    /// `initial` is what is added to the sum of a channel of a group.
    void define(const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const FlatGemmSizes &size = f_.size;
        if (size.joins_rows()) sum_rows_of_taps();
        else if (size.joined_terms) sum_joined_terms();
        else sum_taps();
        if (size.leaves_out_vectors())
            f_.reduced.domain.where(v.panel * size.channels + v.lane / size.vector * size.vector < channels_);
        const Expr panel = v.panel + rounded_up(channels_, size.channels) * v.group;
        multiplied_.push_back(promised(panel, panels_.dim(rank_ + 2).extent()));
        const Expr first = initial(promised(min(v.panel * size.channels + v.lane, channels_ - 1), channels_), v.group);
        // Tile registers are cleared sooner than loaded.
        const bool adds_first = size.tile_pairs > 0;
        f_.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) =
            adds_first ? Expr(0.f) : select(v.chunk == 0, first, 0.f);
        f_.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) +=
            cast<float>(seen()) * cast<float>(multiplied());
        const Expr of_first_chunk = f_.sum(v.place, v.lane, v.panel, v.phase, 0, v.segment, v.tile, v.group);
        f_.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
            adds_first ? of_first_chunk + first : of_first_chunk;
        if (f_.chunks.defined())
            f_.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) +=
                f_.sum(v.place, v.lane, v.panel, v.phase, f_.chunks.x, v.segment, v.tile, v.group);
    }

  private:
    FlatGemmFuncs &f_;
    const Places &places_;
    const Tensor &panels_;
    const Expr most_taps_, summed_, channels_;
    const int rank_;

    /// A product's factors: of a panel, an element; of what is staged, as spots of so many elements, what a place sees so far
    /// behind it, where a window has some elements more.
    std::vector<Expr> multiplied_;
    Expr channel_ = 0, shift_, plane_, of_spot_ = 1, beyond_ = 0;

    Expr seen() const {
        const FlatGemmVars &v = f_.v;
        const Expr place = f_.size.only_cells ? f_.cell_places(v.place, v.tile) : Expr(v.place);
        const Expr at = places_.seen(place, 0) * of_spot_ + shift_;
        return f_.staged(promised(at, places_.window() * of_spot_ + beyond_), channel_, promised(plane_, places_.planes()),
                         v.segment, v.tile, v.group);
    }
    Expr multiplied() const {
        return f_.size.joins_rows()  ? Expr(define_joined_panel(f_, panels_, summed_)(multiplied_))
               : f_.size.fills_tiles ? Expr(define_filled_panel(f_, panels_)(multiplied_))
                                     : Expr(panels_(multiplied_));
    }

    // Rows of the kernel by matrix instructions: the channels of a row's taps lie side by side.
    void sum_rows_of_taps() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int together = 2 * f_.size.tile_pairs;
        const Expr kernel_x = panels_.dim(2).extent();
        RDom &r = f_.reduced.domain;
        r = RDom({{0, rounded_up(summed_ * kernel_x, together) * f_.size.tile_pairs}, {0, most_taps_ / kernel_x}, {0, 2}},
                 "reduced");
        f_.reduced.summed = r[0], f_.reduced.tap = r[1], f_.reduced.pair = r[2];
        f_.staged_channels = 1, f_.staged_planes = places_.planes();
        const auto tap = [&](int i) -> Expr { return f_.taps(promised(r[1] * kernel_x, most_taps_), v.phase)[i]; };
        of_spot_ = summed_, beyond_ = together;
        shift_ = tap(0) * of_spot_ + r[0] * 2 + r[2], plane_ = tap(1);
        multiplied_ = {v.lane * 2 + r[2], r[0], r[1]};
    }

    // One index counts through channels and taps, or planes: panels, and what is staged, are dense.
    void sum_joined_terms() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const bool in_spots = !f_.size.taps_inside(), is_turned = in_spots && f_.size.turned;
        const int together = f_.size.pairs ? 2 : 1;  // of spots, whose channels follow each other
        const Expr terms = summed_ / together;
        const Expr tap = in_spots ? v.term / terms : v.term % most_taps_;
        const Expr channel = in_spots ? v.term % terms : v.term / most_taps_;
        if (in_spots) of_spot_ = is_turned ? rounded_up(summed_, f_.size.vector) * f_.size.vector : summed_;
        f_.staged_channels = is_turned ? of_spot_ : in_spots ? Expr(1) : summed_, f_.staged_planes = places_.planes();
        const Expr of_channel = in_spots ? Expr(together) : places_.planes() * places_.window();
        tabulate(f_.terms, {v.term},
                 {(f_.taps(tap, 0)[0] + f_.taps(tap, 0)[1] * places_.window()) * of_spot_ + channel * of_channel});
        // In chunks where neighbouring terms read lines of the cache that are far apart.
        const Expr all = terms * most_taps_, chunk = in_spots ? all : share_of(all, f_.size.chunk);
        f_.reduced.domain = RDom({{0, chunk}, {0, together}}, "reduced");
        f_.reduced.summed = f_.reduced.domain.x, f_.reduced.pair = f_.reduced.domain.y;
        // Halide's bounds of a tile's cells count rows that lie between planes and images; what stores sums ends with the last cell.
        const Expr first_place = v.place / f_.size.positions * f_.size.positions;
        if (f_.size.only_cells && !f_.size.stores_sums)
            f_.reduced.domain.where(f_.reduced.summed < select(first_place < f_.cell_count(v.tile), chunk, 0));
        const Expr term = v.chunk * chunk + f_.reduced.summed;
        if (!in_spots) {
            f_.reduced.domain.where(term < all);
            f_.chunks = RDom(1, rounded_up(all, chunk) - 1, "chunks");
        }
        shift_ = f_.terms(promised(term, all)), plane_ = 0;
        multiplied_ = {v.lane};
        if (f_.size.pairs) shift_ = shift_ + f_.reduced.pair, multiplied_[0] = v.lane * 2 + f_.reduced.pair;
        if (is_turned) channel_ = promised(shift_, of_spot_), shift_ = 0, of_spot_ = 1;
        multiplied_.push_back(promised(term, terms));
        multiplied_.insert(multiplied_.end(), rank_, 0);
    }

    void sum_taps() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        RDom &r = f_.reduced.domain;
        const int together = std::max(f_.size.tile_pairs, 1);  // their number is a multiple
        const Expr pairs = (summed_ + (f_.size.fills_tiles ? 2 * together - 1 : 0)) / (2 * together) * together;
        r = f_.size.pairs ? RDom({{0, pairs}, {0, most_taps_}, {0, 2}}, "reduced")
                          : RDom({{0, summed_}, {0, most_taps_}}, "reduced");
        f_.reduced.summed = r[0], f_.reduced.tap = r[1];
        if (f_.size.skips_zeros()) {
            define_seen_terms(f_, places_, f_.size.pairs ? summed_ / 2 : summed_);
            r.where(r[0] < f_.seen_terms(r[1], v.place / f_.size.positions, v.phase, v.segment, v.tile));
        } else {
            r.where(r[1] < f_.live_taps(v.phase));
        }
        const auto tap = [&](int i) -> Expr { return f_.taps(r[1], v.phase)[i]; };
        channel_ = f_.size.depthwise ? v.panel * f_.size.channels + v.lane : Expr(r[0]);
        shift_ = tap(0), plane_ = tap(1);
        multiplied_ = {v.lane, r[0]};
        if (f_.size.pairs) {
            // The most that a copy by vectors writes; no product that a factor of two can be taken from.
            f_.staged_channels = max(rounded_up(summed_, f_.size.vector) * f_.size.vector, 1);
            f_.reduced.pair = r[2];
            channel_ = r[0] * 2 + r[2], multiplied_[0] = v.lane * 2 + r[2];
        }
        for (int d = 0; d < rank_; d++) multiplied_.push_back(promised(tap(2 + d), panels_.dim(2 + d).extent()));
    }
};

}  // namespace conv_transpose::flat_gemm

#endif

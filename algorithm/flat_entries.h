// The sum of a flat matrix product as two (flat_places.h says what that is). Few channels would fill little of a register tile,
// and the gaps of small pictures would be much of it. So first the picture's positions, as they lie, without gaps, are multiplied
// with all taps of all channels, the entries, in the order in which those lie; then a channel's entries are copied as rows with
// their gaps, and the output adds up those of its live taps.
#ifndef CONV_TRANSPOSE_ALGORITHM_FLAT_ENTRIES_H
#define CONV_TRANSPOSE_ALGORITHM_FLAT_ENTRIES_H

#include <functional>
#include <vector>

#include "Halide.h"
#include "algorithm/flat_places.h"
#include "algorithm/flat_staging.h"

namespace conv_transpose::flat_gemm {

/// A panel of results is one channel: panels (0, summed, kx, ky, kz, channel + channels * group).
template <class Tensor>
class SumOfEntries {
  public:
    SumOfEntries(FlatGemmFuncs &f, const Places &places, const Tensor &picture, const PerAxis &kernel, const Load &load)
        : f_(f), places_(places), picture_(picture), load_(load), taps_(product(kernel)), kernel_(kernel),
          rank_(static_cast<int>(kernel.size())) {}

    void define(const Tensor &panels, const Expr &channels,
                const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
        const FlatGemmVars &v = f_.v;
        Staging<Tensor> staging(f_, places_, picture_, load_);
        f_.room_of_positions = places_.room_of_positions();
        staging.find_places(false);
        find_positions(staging);
        read();
        multiply(panels, channels);
        // What is `summed` is an entry.
        staging.copy_found_places([&](const Expr &cell, const Expr &row) {
            return f_.products(promised(staging.position(cell, row), places_.most_positions()),
                               v.summed % f_.size.entries, v.summed / f_.size.entries, v.segment, v.tile, v.group);
        });
        add(channels, initial);
    }

  private:
    FlatGemmFuncs &f_;
    const Places &places_;
    const Tensor &picture_;
    const Load &load_;
    const Expr taps_;
    const PerAxis kernel_;
    const int rank_;

    // Finds where the positions of a tile are in the picture. Register tiles are whole: positions beyond the last repeat another.
    void find_positions(const Staging<Tensor> &staging) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        tabulate(f_.position_count, {v.segment, v.tile}, {places_.seen_positions(v.segment, v.tile)});
        f_.offsets(v.place, v.plane, v.segment, v.tile) = 0;
        f_.positions = RDom({{0, places_.most_seen_cells()}, {0, places_.seen_rows()}}, "positions");
        const RDom &r = f_.positions;
        const Expr cell = staging.first_cell() + r[0];
        Expr at = cell - places_.axes()[0].min;
        for (int d = 1; d < rank_; d++)
            at = at + (staging.coordinate(r[1], d) - places_.axes()[d].min) * picture_.dim(d).stride();
        at = at + staging.coordinate(r[1], rank_) * picture_.dim(rank_ + 2).stride();
        f_.positions.where(r[0] < staging.cells(r[1]));
        f_.offsets(promised(staging.position(cell, r[1]), places_.most_positions()), v.plane, v.segment, v.tile) = at;
        const Expr first = v.vector * f_.size.vector;
        Expr in_a_run = Internal::const_true();
        for (int i = 1; i < f_.size.vector; i++) in_a_run = in_a_run && offset(first + i) == offset(first) + i;
        f_.runs(v.vector, v.segment, v.tile) = cast<int>(in_a_run);
        count_tiles_of_run();
    }

    // Counts how many register tiles of a block, from the first on, lie side by side.
    void count_tiles_of_run() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector, positions = f_.size.positions, tiles = f_.size.read_tiles;
        f_.tiles_of_block = RDom(0, tiles, "tiles_of_block");
        const RVar tile = f_.tiles_of_block.x;
        const Expr first = v.register_tile * (positions * tiles), place = first + tile * positions;
        f_.one_run(v.register_tile, v.segment, v.tile) = 0;
        const Expr so_far = f_.one_run(v.register_tile, v.segment, v.tile);
        Expr goes_on = so_far == tile && offset(place) == offset(first) + tile * positions;
        for (int i = 0; i < positions; i += vector)
            goes_on = goes_on && offset(place + i) == offset(place) + i &&
                      f_.runs((place + i) / vector, v.segment, v.tile) != 0;
        f_.one_run(v.register_tile, v.segment, v.tile) = so_far + cast<int>(goes_on);
    }

    Expr offset(const Expr &place) const { return f_.offsets(place, 0, f_.v.segment, f_.v.tile); }

    // Reads the positions of a block of register tiles. Those that lie side by side from the first on come first, all of a channel
    // before the next: a line at a time of each channel would take twice as long, as many channels meet in one set of the cache.
    // Then come vectors that lie side by side, and others.
    void read() {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int vector = f_.size.vector, positions = f_.size.positions, tiles = f_.size.read_tiles;
        const auto element = [&](const Expr &at) {
            std::vector<Expr> index{promised(at, picture_.dim(0).extent()) + picture_.dim(0).min()};
            for (int d = 1; d < rank_; d++) index.push_back(picture_.dim(d).min());
            index.insert(index.end(), {promised(v.summed, picture_.dim(rank_).extent()), v.group, 0});
            return load_(picture_(index));
        };
        const Expr first = v.register_tile * (positions * tiles);
        f_.inputs(v.lane, v.summed, v.element, v.register_tile, v.segment, v.tile, v.group) = undef<float>();
        const auto read = [&](const RDom &r, const Expr &lane, const Expr &tile, const Expr &at) {
            f_.inputs(lane, v.summed, tile, v.register_tile, v.segment, v.tile, v.group) = element(at);
            f_.reads.push_back(r);
        };
        const Expr in_one_run = f_.one_run(v.register_tile, v.segment, v.tile);
        RDom all({{0, positions}, {0, tiles}}, "all");
        all.where(all.y < in_one_run);
        read(all, all.x, all.y, offset(first) + all.y * positions + all.x);
        for (const bool in_a_run : {true, false}) {
            RDom r({{0, vector}, {0, positions / vector}, {0, tiles}}, "read");
            const Expr tile = first + r[2] * positions, place = tile + r[1] * vector;
            // The last register tile is read as a whole, as it is multiplied.
            r.where(r[2] >= in_one_run && tile < f_.position_count(v.segment, v.tile));
            r.where((f_.runs(place / vector, v.segment, v.tile) != 0) == in_a_run);
            read(r, r[1] * vector + r[0], r[2], in_a_run ? offset(place) + r[0] : offset(place + r[0]));
        }
    }

    // Sums in chunks of channels, whose operands stay in the first cache.
    void multiply(const Tensor &panels, const Expr &channels) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        const int lanes = f_.size.entries, positions = f_.size.positions, tiles = f_.size.read_tiles;
        const Expr summed = picture_.dim(rank_).extent(), all_entries = taps_ * channels, chunk = share_of(summed, f_.size.chunk);
        RDom of_chunk(0, chunk, "of_chunk");
        const Expr counted = v.chunk * chunk + of_chunk.x, number = promised(counted, summed);
        // Tiles at an edge have fewer positions.
        of_chunk.where(counted < select(v.place / positions * positions < f_.position_count(v.segment, v.tile), summed, 0));
        f_.summed_entries = of_chunk;
        // Entries of all taps, and of all channels, lie side by side.
        std::vector<Expr> index(rank_ + 3, 0);
        index[1] = number;
        index[2] = promised(min(v.panel * lanes + v.lane, all_entries - 1), kernel_[0]);
        index.back() = channels * v.group;
        f_.product(v.place, v.lane, v.panel, v.chunk, v.segment, v.tile, v.group) +=
            f_.inputs(v.place % positions, number, v.place / positions % tiles, v.place / (positions * tiles), v.segment, v.tile,
                      v.group) * panels(index);
        f_.chunks = RDom(0, rounded_up(summed, chunk), "chunks");
        f_.products(v.place, v.lane, v.panel, v.segment, v.tile, v.group) = 0.f;
        f_.products(v.place, v.lane, v.panel, v.segment, v.tile, v.group) +=
            f_.product(v.place, v.lane, v.panel, f_.chunks.x, v.segment, v.tile, v.group);
    }

    void add(const Expr &channels, const std::function<Expr(const Expr &channel, const Expr &group)> &initial) {
        using namespace Halide;
        const FlatGemmVars &v = f_.v;
        f_.reduced.domain = RDom({{0, taps_}}, "reduced");
        f_.reduced.tap = f_.reduced.domain.x;
        f_.reduced.domain.where(f_.reduced.tap < f_.live_taps(v.phase));
        const auto tap = [&](int i) -> Expr { return f_.taps(f_.reduced.tap, v.phase)[i]; };
        Expr at = 0;
        for (int d = rank_; d-- > 0;) at = at * kernel_[d] + tap(2 + d);
        const Expr channel = v.panel + v.lane;
        f_.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) =
            initial(promised(min(channel, channels - 1), channels), v.group);
        f_.sum(v.place, v.lane, v.panel, v.phase, v.chunk, v.segment, v.tile, v.group) +=
            f_.staged(promised(places_.seen(v.place, tap(0)), places_.window()), channel * taps_ + promised(at, taps_), 0,
                      v.segment, v.tile, v.group);
        f_.result(v.place, v.lane, v.panel, v.phase, v.segment, v.tile, v.group) =
            f_.sum(v.place, v.lane, v.panel, v.phase, 0, v.segment, v.tile, v.group);
    }
};

}  // namespace conv_transpose::flat_gemm

#endif

// Stores of a tile in runs (TileStore, TensorCoreOptions::run_stores), where columns of a tile, or rows of neighbouring
// columns, are neighbours in the output as a rule, but not where rows or pictures end: positions of a channel in
// channels_first, of which rows may be phases of a stride. Or they are neighbours, but fill no 16 bytes: channels.
//
// Eight rows of a warp at a time are turned through shared memory, as in tile_pairs.cpp. They are *lines*: a row, or as many
// rows as alternate in the output. Neighbouring lanes store neighbouring elements of a line, each one by one, or, where a
// condition of the whole output says so, two or four at once, from the line's first on (TensorCoreOptions::runs) or from half as
// many elements later (late_runs). What an index, a guard or a value takes from the line alone, as where a channel lies and its
// bias, one lane works out for each and leaves behind it in shared memory, as far as there is room; what comes from the place in
// the line alone, as where a position lies, each lane works out once for all lines.
#include <algorithm>

#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_expressions.h"
#include "compiler/passes/tile_parts.h"
#include "compiler/passes/tile_store.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int numbers_behind_row = 8;  // of shared memory's pitch
constexpr int slots_at_once = 4;

}  // namespace

void TileStore::check_runs() const {
    const bool plain = interleaved_ == 1 && tile_->groups == 1 && tile_->repeats == 1 && !splits_columns_ &&
                       middle_rows_ == tile_->rows && stored_rows_ == tile_->rows;
    if (!plain || rows_per_turn % rows_of_line() != 0 || !fills_lanes(1) || pitch_ < tile_->columns + numbers_behind_row)
        refuse_tile(nest_.name, "runs are stored of tiles whose columns are one run, a multiple of " +
                                    std::to_string(lanes_of_warp) + ", with " + std::to_string(numbers_behind_row) +
                                    " places behind it, and of 1, 2, 4 or 8 neighbouring rows");
}

/// Whether all lanes have as many of a line's elements, so many at once.
bool TileStore::fills_lanes(int values) const { return tile_->columns * rows_of_line() % (values * lanes_of_warp) == 0; }

/// A version of the store, of so many elements at once.
class TileStore::Runs {
  public:
    enum class Pieces {
        of_line,   ///< neighbouring lanes store neighbours of a line
        late,      ///< likewise, from half a piece on; the last lane's last is of both ends of the line
        of_lanes,  ///< lanes store what they have, of a tile of which they have neighbours
    };
    Runs(const TileStore &tile, const Version &version, int values, Pieces pieces = Pieces::of_line)
        : tile_(tile), unrolled_(version.unrolled), pieces_(pieces), values_(values), rows_(tile.rows_of_line()),
          lines_(rows_per_turn / rows_), slots_(tile.tile_->columns * rows_ / (values * lanes_of_warp)),
          parts_(tile.nest_.name, true) {
        take_apart(version);
    }

    Stmt statement() const { return pieces_ == Pieces::of_lanes ? of_lanes() : turned(); }

  private:
    Stmt turned() const {
        std::vector<Stmt> brought, stored, by_turns;
        for (int turn = 0; turn < tile_.rows_of_warp() / rows_per_turn; turn++) {
            const int row_tile = turn / 2, half = turn % 2;
            PlaceholderCall bring = tile_.turn_call(row_tile, 0, half);
            if (tile_.cluster_) bring.fields["rows"] = tile_.rows_of_warp();
            const auto of_turn = [&](const Stmt &s) {
                return substitute({{first_row_name(), first_row(row_tile, half)}, {turn_name(), Expr(turn)}}, s);
            };
            brought.push_back(of_turn(Block::make(find_numbers(), placeholder(bring))));
            stored.push_back(of_turn(stores()));
            by_turns.insert(by_turns.end(), {brought.back(), stored.back(), placeholder({"turn_end", {}})});
        }
        if (!tile_.cluster_) return Block::make(by_turns);
        brought.push_back(tile_.of_cluster(Block::make(stored)));
        return Block::make(brought);
    }

    std::string first_row_name() const { return tile_.nest_.name + ".first_row"; }
    std::string turn_name() const { return tile_.nest_.name + ".turn"; }
    Expr first_row(int row_tile, int half) const {
        const int of_warp = std::min(tile_.rows_of_warp(), rows_of_warp_and_set);
        return row_tile * rows_of_instruction + integer(".thread_id_y") * of_warp + half * rows_per_turn;
    }
    /// `row` is one of a turn's.
    Expr scratch(const Expr &row) const {
        const Expr of_warp = tile_.cluster_ ? integer(turn_name()) * rows_per_turn + row : row;
        return tile_.place_of_row(of_warp, tile_.rows_at_a_time(), tile_.pitch_);
    }

    Expr place_of_number(const Expr &line, int number) const {
        return simplify(scratch(line * rows_ + number / numbers_behind_row) + tile_.tile_->columns + number % numbers_behind_row);
    }

    /// The nest's loop variables at an element of a line: `row_name` is the line, `piece_name` the place in it.
    std::map<std::string, Expr> coordinates() const {
        const Expr place = integer(piece_name) + (tile_.tile_->taps > 1 ? tile_.centre() : Expr(0));
        auto at = tile_.coordinates(integer(first_row_name()) + integer(row_name) * rows_, place / rows_, 0);
        for (const TileLoop &loop : tile_.nest_.loops) {
            // The first row of a turn is known to be a multiple.
            if (rows_ > 1 && loop.role == "mma_m") at[loop.name] = place % rows_;
            if (rows_ > 1 && loop.role == "mma_m_outer")
                at[loop.name] = integer(first_row_name()) / rows_ + integer(row_name);
        }
        return at;
    }

    /// A comparison of two sums as one of a number of the place with one of the line, where they have no other terms.
    Expr apart(const Expr &condition) {
        const LT *less = condition.as<LT>();
        const LE *no_more = condition.as<LE>();
        if (!less && !no_more) return parts_.mutate(condition);
        const Expr difference = parts_.mutate(less ? less->a - less->b : no_more->a - no_more->b);
        const Add *sum = difference.as<Add>();
        const bool swapped = sum && is_of_line(sum->a);
        const Expr place = !sum ? difference : swapped ? sum->b : sum->a, line = !sum ? Expr(0) : swapped ? sum->a : sum->b;
        return less ? place < 0 - line : place <= 0 - line;
    }
    bool is_of_line(const Expr &e) const {
        const Variable *variable = e.as<Variable>();
        return variable && std::any_of(parts_.of_rows.begin(), parts_.of_rows.end(),
                                       [&](const auto &part) { return part.first == variable->name; });
    }

    void take_apart(const Version &version) {
        const auto here = coordinates();
        // A let would hide what its variable depends on.
        const auto plain = [&](const Expr &e) { return substitute_in_all_lets(simplify(substitute(here, e))); };
        Expr of_line = const_true(), of_place = const_true();
        std::vector<Expr> of_both;
        for (const Expr &condition : parts_of(tile_.conditions_)) {
            const Expr tested = plain(condition);
            const bool line = expr_uses_var(tested, row_name) || expr_uses_var(tested, first_row_name());
            if (line && expr_uses_var(tested, piece_name)) {
                const Expr comparison = apart(tested);
                if (std::none_of(of_both.begin(), of_both.end(), [&](const Expr &e) { return equal(e, comparison); }))
                    of_both.push_back(comparison);
            } else {
                Expr &all = line ? of_line : of_place;
                all = all && tested;
            }
        }
        inside_ = parts_.mutate(simplify(of_line)) && parts_.mutate(simplify(of_place));
        for (const Expr &condition : of_both) inside_ = inside_ && condition;
        if (const Expr line = integer(turn_name()) * lines_ + integer(row_name); tile_.cluster_)
            inside_ = inside_ && line >= tile_.first_own() && line < tile_.end_of_own();
        index_ = parts_.mutate(plain(tile_.index_));
        value_ = parts_.mutate(simplify(tile_.value_at(version, here, Variable::make(Float(32), sum_name))));
    }

    /// Numbers of a line that have a place behind it; each lane works out those beyond (one of nine, where three axes have phases).
    std::size_t kept_numbers() const {
        return std::min(parts_.of_rows.size(), static_cast<std::size_t>(numbers_behind_row * rows_));
    }

    /// So many lanes find those of a line each.
    Stmt find_numbers() const {
        const Expr lane = integer(".thread_id_x");
        std::vector<Stmt> all;
        for (std::size_t i = 0; i < kept_numbers(); i++) {
            const Expr value = substitute(row_name, lane, parts_.of_rows[i].second);
            all.push_back(tile_.left_at(place_of_number(lane, static_cast<int>(i)), value));
        }
        return all.empty() ? Evaluate::make(0) : IfThenElse::make(lane < lines_, Block::make(all));
    }

    Stmt stores() const {
        if (!unrolled_) {
            const std::string slot = tile_.nest_.name + ".slot", line = tile_.nest_.name + ".line";
            const Stmt lines = serial(line, lines_, of_line(integer(line), 0, 1));
            return serial(slot, slots_, substitute(slot_name(0), integer(slot), at_places(0, 1, lines)));
        }
        std::vector<Stmt> all;
        for (int first = 0; first < slots_; first += slots_at_once) {
            const int count = std::min(slots_at_once, slots_ - first);
            std::vector<Stmt> lines;
            for (int line = 0; line < lines_; line++) lines.push_back(of_line(line, first, count));
            Stmt stores = at_places(first, count, Block::make(lines));
            for (int slot = first; slot < first + count; slot++) stores = substitute(slot_name(slot), slot, stores);
            all.push_back(stores);
        }
        return Block::make(all);
    }

    static Stmt serial(const std::string &name, int extent, const Stmt &body) {
        return For::make(name, 0, extent, ForType::Serial, Partition::Never, DeviceAPI::None, body);
    }

    std::string slot_name(int slot) const { return tile_.nest_.name + ".slot." + std::to_string(slot); }
    /// The place in its line of an element of those that a lane stores at once.
    Expr place(int slot, int i) const {
        if (pieces_ == Pieces::of_lanes)
            return (integer(".thread_id_y") * columns_of_group + integer(".thread_id_x") / 4) * columns_of_lane() +
                   slot * values_ + i;
        const Expr place = (integer(slot_name(slot)) * lanes_of_warp + integer(".thread_id_x")) * values_ + i;
        return pieces_ == Pieces::late ? (place + values_ / 2) % (tile_.tile_->columns * rows_) : place;
    }
    std::string of_element(const std::string &name, int slot, int i) const {
        return name + "." + std::to_string(slot * values_ + i);
    }

    /// Behind what comes from the places of elements.
    Stmt at_places(int first, int count, Stmt body) const {
        for (int slot = first; slot < first + count; slot++) {
            for (int i = 0; i < values_; i++) {
                for (auto part = parts_.of_pieces.rbegin(); part != parts_.of_pieces.rend(); ++part) {
                    const std::string name = of_element(part->first, slot, i);
                    if (stmt_uses_var(body, name))
                        body = LetStmt::make(name, substitute(piece_name, place(slot, i), part->second), body);
                }
            }
        }
        return body;
    }

    Stmt of_line(const Expr &line, int first, int count) const {
        std::vector<Stmt> all;
        for (int slot = first; slot < first + count; slot++) all.push_back(store(line, slot));
        Stmt stores = substitute(row_name, line, Block::make(all));
        for (std::size_t i = 0; i < parts_.of_rows.size(); i++) {
            const auto &[name, value] = parts_.of_rows[i];
            const bool is_kept = i < kept_numbers();
            const Expr number = is_kept ? tile_.number_at(place_of_number(line, static_cast<int>(i)), value.type())
                                        : substitute(row_name, line, value);
            stores = LetStmt::make(name, number, stores);
        }
        return stores;
    }

    Stmt store(const Expr &line, int slot) const {
        const std::vector<Expr> sums = copies(line, slot);
        if (pieces_ != Pieces::late || slot + 1 < slots_) return store(slot, sums);
        const Expr of_both_ends = integer(".thread_id_x") == lanes_of_warp - 1;
        std::vector<Stmt> all{store(slot, sums, !of_both_ends)};
        const auto middle = sums.begin() + values_ / 2;
        all.push_back(store(slot, {sums.begin(), middle}, of_both_ends));
        all.push_back(store(slot, {middle, sums.end()}, of_both_ends, values_ / 2));
        return Block::make(all);
    }
    /// At once, from `first` on, as that one says where they lie and whether they are inside.
    Stmt store(int slot, const std::vector<Expr> &sums, const Expr &by_lane = const_true(), int first = 0) const {
        const auto of = [&](const Expr &e, int i) {
            std::map<std::string, Expr> values{{piece_name, place(slot, i)}};
            for (const auto &[name, value] : parts_.of_pieces)
                values[name] = Variable::make(value.type(), of_element(name, slot, i));
            return substitute(values, e);
        };
        const int values = static_cast<int>(sums.size());
        const Expr inside = is_const_one(by_lane) ? of(inside_, first) : of(inside_, first) && by_lane;
        std::vector<Expr> arguments{tile_.target_of(of(index_, first)), select(inside, 1, 0)};
        for (int i = 0; i < values; i++) arguments.push_back(substitute(sum_name, sums[i], of(value_, first + i)));
        PlaceholderCall run{"store_run", tile_.format_fields()};
        run.fields["values"] = values;
        return placeholder(run, arguments);
    }

    int columns_of_lane() const { return tile_.tile_->columns / (warps_of_warpgroup * columns_of_group); }

    /// Lanes have neighbouring columns of two neighbouring rows of every eight (tensor_core_instructions.h). What comes from
    /// some rows is worked out before they are stored.
    Stmt of_lanes() const {
        constexpr int eights_at_once = 2;
        const int count = columns_of_lane() / values_, eights = tile_.tile_->rows / columns_of_group;
        const auto of_row = [](const std::string &name, int eight, int second) {
            return name + ".row." + std::to_string(2 * eight + second);
        };
        std::vector<Stmt> all;
        for (int first = 0; first < eights; first += eights_at_once) {
            std::vector<Stmt> stores;
            const auto for_each_row = [&](const auto &function) {
                for (int eight = first; eight < std::min(first + eights_at_once, eights); eight++)
                    for (int second = 0; second < 2; second++) function(eight, second);
            };
            for_each_row([&](int eight, int second) {
                for (int slot = 0; slot < count; slot++) {
                    std::vector<Expr> sums;
                    for (int i = 0; i < values_; i++) sums.push_back(sum_of_lane(eight, second, slot * values_ + i));
                    Stmt store_of_row = store(slot, sums);
                    for (const auto &[name, value] : parts_.of_rows)
                        store_of_row = substitute(name, Variable::make(value.type(), of_row(name, eight, second)), store_of_row);
                    stores.push_back(store_of_row);
                }
            });
            Stmt some = Block::make(stores);
            for_each_row([&](int eight, int second) {
                const Expr row = columns_of_group * eight + integer(".thread_id_x") % 4 * 2 + second;
                for (const auto &[name, value] : parts_.of_rows)
                    some = LetStmt::make(of_row(name, eight, second),
                                         substitute({{row_name, row}, {first_row_name(), Expr(0)}}, value), some);
            });
            all.push_back(some);
        }
        Stmt stores = at_places(0, count, Block::make(all));
        return stores;
    }
    Expr sum_of_lane(int eight, int second, int column) const {
        const PlaceholderCall sum{"sum", {{"tile", tile_.tile_->id}, {"m", tile_.tile_->rows * tile_.tile_->taps},
                                          {"n", tile_.tile_->columns}, {"r", 1}, {"taps", tile_.tile_->taps}, {"eight", eight},
                                          {"second", second}, {"column", column}}};
        return Call::make(Float(32), sum.name(), {Expr(0)}, Call::Extern);
    }

    /// Elements of a line in shared memory. Columns of a row are read at once.
    std::vector<Expr> copies(const Expr &line, int slot) const {
        std::vector<Expr> all;
        const int columns = pieces_ == Pieces::late ? 1 : std::max(values_ / rows_, 1);
        for (int i = 0; i < values_; i++) {
            if (columns == 1) {
                const Expr at = place(slot, i);
                all.push_back(tile_.load_of_copy(simplify(scratch(line * rows_ + at % rows_) + at / rows_)));
                continue;
            }
            const Expr copy = simplify(scratch(line * rows_ + i % rows_) + place(slot, 0) / rows_);
            const Expr of_row = Load::make(Float(32, columns), tile_.shared_, Ramp::make(copy, 1, columns), Buffer<>(), Parameter(),
                                           const_true(columns), ModulusRemainder(columns, 0));
            all.push_back(Shuffle::make_extract_element(of_row, i / rows_));
        }
        return all;
    }

    const TileStore &tile_;
    const bool unrolled_;
    const Pieces pieces_;
    const int values_, rows_, lines_, slots_;
    RowsAndPieces parts_;
    Expr inside_, index_, value_;
};

Stmt TileStore::runs(const Version &version) const {
    Stmt all = Runs(*this, version, 1).statement();
    for (const auto &[values, condition] : late_runs_)
        if (fills_lanes(values) && version.unrolled)
            all = IfThenElse::make(runs_of(values, true), Runs(*this, version, values, Runs::Pieces::late).statement(), all);
    for (const auto &[values, condition] : runs_) {
        // All that it has of a row: with fewer, lanes would write to each sector one after the other.
        const bool in_lanes = tile_->taps > 1 && values == tile_->columns / (warps_of_warpgroup * columns_of_group);
        const Runs::Pieces pieces = in_lanes ? Runs::Pieces::of_lanes : Runs::Pieces::of_line;
        if (fills_lanes(values) && (version.unrolled || in_lanes))
            all = IfThenElse::make(runs_of(values, false), Runs(*this, version, values, pieces).statement(), all);
    }
    return all;
}

Expr TileStore::runs_of(int values, bool late) const {
    return Variable::make(Bool(), name_of_runs(nest_.store->name, values, late));
}

Expr TileStore::centre() const { return integer(name_of_centre(nest_.store->name)); }

std::string TileStore::name_of_runs(const std::string &output, int values, bool late) {
    return output + (late ? ".late_runs_of_" : ".runs_of_") + std::to_string(values);
}

Stmt TileStore::with_runs(const Stmt &kernel, const std::string &output, OperandFormat format,
                          const TensorCoreOptions &options) {
    const Expr buffer = Variable::make(type_of<struct halide_buffer_t *>(), output + ".buffer");
    const Expr address = Call::make(UInt(64), Call::buffer_get_device, {buffer}, Call::Extern);
    Stmt all = options.centre.defined() ? LetStmt::make(name_of_centre(output), options.centre, kernel) : kernel;
    for (const bool late : {false, true})
        for (const auto &[values, condition] : late ? options.late_runs : options.runs) {
            const int piece = values * bytes_of(format);
            const Expr first = late ? address + make_const(UInt(64), piece / 2) : address;
            const Expr aligned = first % make_const(UInt(64), piece) == make_zero(UInt(64));
            all = LetStmt::make(name_of_runs(output, values, late), condition && aligned, all);
        }
    return all;
}

}  // namespace conv_transpose

// Stores of a tile by rows (TileStore, TensorCoreOptions::row_stores), where 16 bytes of a row of the tile are neighbours in
// the output: channels of a position, in channels_last.
//
// A warp brings all of its rows to shared memory, or, where a block has further tiles, 8 at a time. Then neighbouring lanes
// store neighbouring 16 bytes of a row, each lane always the same columns, until all rows are stored. What an address or a
// condition takes from the row alone, as where a position lies in the output, one lane works out for each row and leaves behind
// the row in shared memory; what comes from the columns alone, as a bias, each lane works out once. Where 2, 4 or 8
// neighbouring rows alternate in the output, phases of a stride, the same is done of such *lines* in place of rows. (One copy
// by the copy engine for each row took longer: about 45 cycles a row of 256 bytes, H200, 2026-11-22.)
//
#include "compiler/passes/tile_store.h"

#include <numeric>

#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_expressions.h"
#include "compiler/passes/tile_parts.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int columns_behind_row = 8;  // free in shared memory; they keep rows in different banks, too

/// So many 16 bytes of a row are stored together, by neighbouring lanes: then no lane is idle.
int pieces_together(int pieces) { return std::gcd(pieces, lanes_of_warp); }

/// An index in which strides that the pipeline promises to be multiples of `values` are seen to be.
Expr with_known_strides(Expr index, const Store *store, int values) {
    for (int d = 0; d < store->param.dimensions(); d++) {
        const Expr promised = store->param.stride_constraint(d);
        if (!promised.defined()) continue;
        const ModulusRemainder known = modulus_remainder(promised);
        if (known.modulus % values != 0 || known.remainder % values != 0) continue;
        const std::string name = store->name + ".stride." + std::to_string(d);
        index = substitute(name, Variable::make(Int(32), name + ".multiple") * values, index);
    }
    return index;
}

}  // namespace

void TileStore::check_rows() const {
    const int values = bytes_of_row / bytes_of(format_), pieces = line() * rows_of_line() / values;
    const bool alternate = along_rows_ && values % inner_rows_ == 0 && inner_rows_ <= rows_per_turn;
    const bool plain = interleaved_ == 1 && tile_->groups == 1 && tile_->repeats == 1 &&
                       inner_columns_ % (alternate ? values / inner_rows_ : values) == 0 &&
                       middle_rows_ == tile_->rows && (inner_rows_ == tile_->rows || alternate);
    const int rows = rows_of_warp();
    if (!plain || (along_rows_ && !alternate) || !adjacent_ || column_sets_ > 0 ||
        (rows != lanes_of_warp && rows != lanes_of_warp / 2) ||
        (lanes_of_warp % pieces != 0 && pieces_together(pieces) < 4))
        refuse_tile(
            nest_.name,
            "row stores are of tiles of 64 or 128 rows, whose columns are neighbours in the output, at "
            "least 16 bytes of them, or alternate with 2, 4 or 8 rows, and fill 16, 32 or a multiple of 64 bytes");
    if (further_tiles_ && pieces > lanes_of_warp)
        refuse_tile(nest_.name, "while a block's further tiles are on their way, row stores are of at most 32 times 16 bytes, "
                                "not " + std::to_string(pieces));
}

int TileStore::pitch_of_rows() const { return line() + columns_behind_row; }

/// "it, or else" is a condition of its own, and the rest.
void TileStore::take_spared_conditions() {
    std::vector<Expr> all, left;
    for (const Expr &part : parts_of(conditions_)) {
        const Expr condition = part.as<Let>() ? substitute_in_all_lets(part) : part;
        const Or *either = condition.as<Or>();
        const bool first = either && is_uniform(either->a), spares = first || (either && is_uniform(either->b));
        const Expr spared_if = !spares ? Expr() : first ? either->a : either->b;
        if (!spares || (spared_if_.defined() && !equal(spared_if_, spared_if))) {
            all.push_back(condition), left.push_back(condition);
            continue;
        }
        spared_if_ = spared_if;
        all.push_back(first ? either->b : either->a);
    }
    conditions_ = all, conditions_left_ = left;
}

/// Where the first element of 16 bytes is.
std::map<std::string, Expr> TileStore::first_of_piece(int values) const {
    const int rows = rows_of_line();
    return coordinates(row_of_tile(integer(row_name) * rows), integer(piece_name) * (values / rows), 0);
}

/// Where another element of these 16 bytes is.
std::map<std::string, Expr> TileStore::element_of_piece(int values, int row, int column) const {
    if (rows_of_line() == 1) return coordinates(row_of_tile(integer(row_name)), integer(piece_name) * values + column, 0);
    auto at = first_of_piece(values);
    for (const TileLoop &loop : nest_.loops) {
        if (loop.role == "mma_m") at[loop.name] = at.at(loop.name) + row;
        if (loop.role == "mma_n") at[loop.name] = at.at(loop.name) + column;
    }
    return at;
}

/// Whether 16 bytes lie inside; they do with the first of them.
Expr TileStore::is_inside(int values, const std::vector<Expr> &conditions) const {
    const auto first = first_of_piece(values);
    // A condition does so that is the same for all of them, or is "less than" an end that is a multiple of them, counted in the
    // output or in columns.
    const auto leaves_none_out = [&](const Expr &condition, const char *role, int step) {
        auto next = first;
        for (const TileLoop &loop : nest_.loops)
            if (loop.role == role) next[loop.name] = first.at(loop.name) + 1;
        if (equal(simplify(substitute(first, condition)), simplify(substitute(next, condition)))) return true;
        const Expr plain = substitute_in_all_lets(condition);
        const LT *less = plain.as<LT>();
        if (!less) return false;
        const Expr moves = simplify(substitute(next, less->a) - substitute(first, less->a));
        return (is_const_one(moves) || is_const(moves, step)) &&
               is_const_zero(simplify(substitute(next, less->b) - substitute(first, less->b)));
    };
    Expr inside = const_true();
    for (const Expr &condition : parts_of(conditions)) {
        const bool whole = leaves_none_out(condition, "mma_n", rows_of_line()) &&
                           (rows_of_line() == 1 || leaves_none_out(condition, "mma_m", 1));
        if (!whole)
            refuse_tile(nest_.name, "a row store cannot leave out columns by the condition " +
                                        text(condition).substr(0, 300));
        inside = inside && simplify(substitute(first, condition));
    }
    return inside;
}

/// Whether sums are converted to 16 bits as they come to shared memory, and no more than moved from there.
bool TileStore::moves_sums(const Version &version) const {
    const Load *load = version.value.as<Load>();
    return further_tiles_ && format_ != OperandFormat::float32 && line() >= 64 && load && load->name == accumulator_;
}

/// The index of the first of 16 bytes, which the output's strides are promised to keep aligned.
Expr TileStore::index_of_piece(int values) const {
    const Expr index = simplify(substitute(first_of_piece(values), index_));
    const ModulusRemainder known = modulus_remainder(with_known_strides(index, nest_.store, values));
    if (known.modulus % values != 0 || known.remainder % values != 0 || nest_.store->param.host_alignment() < bytes_of_row)
        refuse_tile(nest_.name, "a row store to " + text(index).substr(0, 300) + " of " + nest_.store->name +
                                    "; the rule is 16 aligned bytes");
    return index;
}

/// `row` is one of the warp.
Expr TileStore::row_of_tile(const Expr &row) const {
    const Expr warp = Variable::make(Int(32), ".thread_id_y");
    return row / rows_of_warp_and_set * rows_of_instruction + warp * rows_of_warp_and_set + row % rows_of_warp_and_set;
}

/// A version of the store. Rows are counted in a warp; those that are in shared memory together begin with `first_row`.
class TileStore::Rows {
  public:
    Rows(const TileStore &tile, const Version &version)
        : tile_(tile), unrolled_(version.unrolled), moves_(tile.moves_sums(version)), rows_(tile.rows_at_a_time()),
          values_(bytes_of_row / bytes_of(tile.format_)), rows_of_line_(tile.rows_of_line()),
          lines_of_turn_(rows_per_turn / rows_of_line_), pieces_(tile.line() * rows_of_line_ / values_),
          pieces_at_once_(pieces_together(pieces_)), lines_at_once_(lanes_of_warp / pieces_at_once_),
          swapped_(!moves_ && rows_of_line_ == 1 && values_ > bytes_of_row / 4), words_(moves_ ? tile.line() / 2 : tile.line()),
          // Sums of 32 bits, or halves: the rows that lanes write together lie in different banks.
          pitch_(moves_ ? words_ + lanes_of_warp + 4 : tile.pitch_), parts_(tile.nest_.name, tile.further_tiles_) {
        take_apart(version);
    }

    Stmt statement() const { return tile_.further_tiles_ ? turn_by_turn() : all_together(); }

  private:
    Expr first_line() const { return integer(tile_.nest_.name + ".first_row"); }
    Stmt with_first_line(const Expr &line, const std::vector<Stmt> &statements) const {
        return substitute(tile_.nest_.name + ".first_row", line, Block::make(statements));
    }
    Expr scratch(const Expr &row) const { return tile_.place_of_row(row, rows_, pitch_); }

    /// Finds what depends on rows, and on pieces of columns, and makes the store of one piece of a row.
    void take_apart(const Version &version) {
        Expr inside =
            parts_of_whole(tile_.is_inside(values_, version.whole ? tile_.conditions_left_ : tile_.conditions_));
        if (tile_.cluster_) inside = inside && line() >= tile_.first_own() && line() < tile_.end_of_own();
        const Expr index = parts_of_whole(tile_.index_of_piece(values_));
        std::vector<Expr> arguments{tile_.target_of(index), select(inside, 1, 0)};
        for (int i = 0; moves_ && i < 4; i++) arguments.push_back(moved_word(i));
        for (int i = 0; !moves_ && i < values_; i++) arguments.push_back(value(version, i));
        const auto format = static_cast<int>(moves_ ? OperandFormat::float32 : tile_.format_);
        store_ = placeholder({"row_store", {{format_field, format}}}, arguments);
        take_numbers_of_rows();
    }

    static Expr line() { return integer(row_name); }
    static Expr piece() { return integer(piece_name); }
    /// Where the first element is that shared memory has of a row.
    Expr copy_of_row(int row) const { return scratch((line() - first_line()) * rows_of_line_ + row); }

    /// A let would hide what its variable depends on; with plain rows few are left.
    Expr parts_of_whole(const Expr &e) {
        return parts_.mutate(rows_of_line_ > 1 ? simplify(substitute_in_all_lets(e)) : e);
    }

    /// One of the elements that are stored together.
    Expr value(const Version &version, int i) {
        const int row = i % rows_of_line_, column = i / rows_of_line_, columns = values_ / rows_of_line_;
        const Expr sum = Variable::make(Float(32), sum_name);
        const Expr value = parts_of_whole(simplify(tile_.value_at(version, tile_.element_of_piece(values_, row, column), sum)));
        // Eight lanes read together: 16 of each's 32 bytes, so that they meet all banks once.
        const Expr half = swapped_ ? (column / 4 + piece() / 4) % 2 : Expr(column / 4);
        return substitute(sum_name, tile_.load_of_copy(copy_of_row(row) + piece() * columns + half * 4 + column % 4), value);
    }

    /// The store finds the numbers of its row where they were left.
    void take_numbers_of_rows() {
        const auto numbers = static_cast<int>(parts_.of_rows.size());
        if (numbers > columns_behind_row)
            refuse_tile(tile_.nest_.name, "a row store takes " + std::to_string(numbers) +
                                              " numbers from a row alone; the rule is at most " +
                                              std::to_string(columns_behind_row));
        while (tile_.further_tiles_ && turns_with_places_ > 1 && columns_behind_row / turns_with_places_ < numbers)
            turns_with_places_ /= 2;
        for (int i = 0; i < numbers; i++) {
            const auto &[name, value] = parts_.of_rows[i];
            const Expr place = place_of(tile_.further_tiles_ ? line() : line() - first_line(), i);
            store_ = LetStmt::make(name, tile_.number_at(place, value.type()), store_);
        }
    }

    /// Two elements that are stored side by side, of sums that were converted: of one row, or of two that alternate.
    Expr moved_word(int word) const {
        if (rows_of_line_ == 1) return tile_.load_of_copy(copy_of_row(0) + piece() * 4 + word);
        const int columns = values_ / rows_of_line_, column = 2 * word / rows_of_line_;
        const auto half = [&](int row) {
            const Expr place = columns > 1 ? piece() * (columns / 2) + column / 2 : piece() / 2;
            const Expr bits = reinterpret(UInt(32), tile_.load_of_copy(copy_of_row(row) + place));
            const Expr shift = columns > 1 ? Expr(column % 2) : piece() % 2;
            return (bits >> cast(UInt(32), shift * 16)) & Expr(0xffffu);
        };
        const int row = 2 * word % rows_of_line_;
        return reinterpret(Float(32), half(row) | (half(row + 1) << Expr(16u)));
    }

    /// Where a number of a line is left. Behind 8 rows that are turned together there is room for those of further turns.
    Expr place_of(const Expr &line, int number) const {
        const Expr row = line * rows_of_line_;
        if (!tile_.further_tiles_) return scratch(row) + words_ + number;
        const Expr turn = row / rows_per_turn % turns_with_places_;
        return scratch(row % rows_per_turn) + words_ + turn * (columns_behind_row / turns_with_places_) + number;
    }

    /// So many lanes find them, each those of a line, from the first on.
    void find_places(int lines, std::vector<Stmt> &all) const {
        const Expr lane = integer(".thread_id_x");
        for (std::size_t i = 0; lines > 0 && i < parts_.of_rows.size(); i++) {
            const Expr value = substitute(row_name, first_line() + lane, parts_.of_rows[i].second);
            const Expr place =
                simplify(place_of(tile_.further_tiles_ ? first_line() + lane : lane, static_cast<int>(i)));
            const Stmt store = tile_.left_at(place, value);
            all.push_back(lines == lanes_of_warp ? store : IfThenElse::make(lane < lines, store));
        }
    }

    Stmt turned(int turn) const {
        PlaceholderCall call = tile_.turn_call(turn / 2, 0, turn % 2);
        call.fields["rows"] = rows_;
        if (swapped_) call.fields["swapped"] = 1;
        if (moves_) call.fields[format_field] = static_cast<int>(tile_.format_), call.fields["pitch"] = pitch_;
        return placeholder(call);
    }

    Stmt stores() const {
        const auto lines_of = [&](const Expr &step) {
            const Expr first = first_line() + step * lines_at_once_;
            const Stmt lines = LetStmt::make(row_name, first + integer(".thread_id_x") / pieces_at_once_, store_);
            if (!tile_.cluster_) return lines;
            return IfThenElse::make(first < tile_.end_of_own() && first + lines_at_once_ > tile_.first_own(), lines);
        };
        const int steps = rows_ / rows_of_line_ / lines_at_once_;
        if (!unrolled_) {
            const std::string name = tile_.nest_.name + ".rows";
            return For::make(name, 0, steps, ForType::Serial, Partition::Never, DeviceAPI::None, lines_of(integer(name)));
        }
        std::vector<Stmt> all;
        for (int step = 0; step < steps; step++) all.push_back(lines_of(step));
        return Block::make(all);
    }

    /// A lane's piece, from the first of those that lanes have together.
    Stmt of_pieces(int first, Stmt statement) const {
        for (auto part = parts_.of_pieces.rbegin(); part != parts_.of_pieces.rend(); ++part)
            statement = LetStmt::make(part->first, part->second, statement);
        return LetStmt::make(piece_name, integer(".thread_id_x") % pieces_at_once_ + first, statement);
    }

    Stmt stores_of_all_pieces() const {
        std::vector<Stmt> pieces;
        for (int first = 0; first < pieces_; first += pieces_at_once_) pieces.push_back(of_pieces(first, stores()));
        return Block::make(pieces);
    }

    Stmt all_together() const {
        std::vector<Stmt> all;
        find_places(rows_ / rows_of_line_, all);
        for (int turn = 0; turn < rows_ / rows_per_turn; turn++) all.push_back(turned(turn));
        all.push_back(tile_.cluster_ ? tile_.of_cluster(stores_of_all_pieces()) : stores_of_all_pieces());
        return with_first_line(0, all);
    }

    /// Each by lanes that keep their columns, where they store all of a row.
    Stmt turn_by_turn() const {
        const int turns = tile_.rows_of_warp() / rows_per_turn;
        const bool whole_rows = pieces_ == pieces_at_once_;
        const auto of_all_turns = [&](const Stmt &turns) { return whole_rows ? of_pieces(0, turns) : turns; };
        const auto a_turn = [&](const Expr &number, const Stmt &turn, int lines_with_places) {
            std::vector<Stmt> steps;
            find_places(lines_with_places, steps);
            steps.insert(steps.end(), {turn, whole_rows ? stores() : stores_of_all_pieces(), placeholder({"turn_end", {}})});
            return with_first_line(number * lines_of_turn_, steps);
        };
        if (!unrolled_) {
            const std::string name = tile_.nest_.name + ".turn";
            Stmt one = turned(turns - 1);
            for (int turn = turns - 2; turn >= 0; turn--) one = IfThenElse::make(integer(name) == turn, turned(turn), one);
            return of_all_turns(For::make(name, 0, turns, ForType::Serial, Partition::Never, DeviceAPI::None,
                                          a_turn(integer(name), one, lines_of_turn_)));
        }
        std::vector<Stmt> all;
        for (int turn = 0; turn < turns; turn++) {
            const int with_places = turn % turns_with_places_ == 0 ? std::min(turns_with_places_, turns - turn) : 0;
            all.push_back(a_turn(turn, turned(turn), with_places * lines_of_turn_));
        }
        return of_all_turns(Block::make(all));
    }

    const TileStore &tile_;
    const bool unrolled_, moves_;
    const int rows_, values_, rows_of_line_, lines_of_turn_, pieces_, pieces_at_once_, lines_at_once_;
    const bool swapped_;
    const int words_, pitch_;
    int turns_with_places_ = columns_behind_row;
    RowsAndPieces parts_;
    Stmt store_;
};

Stmt TileStore::rows(const Version &version) const { return Rows(*this, version).statement(); }

}  // namespace conv_transpose

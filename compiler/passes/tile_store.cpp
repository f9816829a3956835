// How a tile is stored: see tile_store.h.
//
// A *line* is what one row of the tile gives to the output: its columns, or, where two tiles of 64 rows
// alternate (mma_m_tile), column 0 of both, column 1 of both, and so on. A *turn* brings 8 lines of every
// warp to shared memory; then each lane stores pairs of elements that are neighbours in the output, if there
// are such. Where neighbours lie in the rows of a column, neighbouring lanes take neighbouring rows first.
#include "compiler/passes/tile_store.h"

#include <algorithm>

#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Loads of accumulators in an expression.
class LoadsOfTiles : public IRVisitor {
  public:
    explicit LoadsOfTiles(const WarpTiles &tiles) : tiles_(tiles) {}
    std::vector<const Load *> found;

  private:
    using IRVisitor::visit;
    void visit(const Load *load) override {
        const bool known =
            std::any_of(found.begin(), found.end(), [&](const Load *f) { return equal(f, load); });
        if (tiles_.count(load->name) && !known) {
            found.push_back(load);
        }
        IRVisitor::visit(load);
    }
    const WarpTiles &tiles_;
};

/// Replaces the loads of one array.
class ReplaceLoad : public IRMutator {
  public:
    ReplaceLoad(std::string name, Expr replacement)
        : name_(std::move(name)), replacement_(std::move(replacement)) {}

  private:
    using IRMutator::visit;
    Expr visit(const Load *load) override {
        return load->name == name_ ? replacement_ : IRMutator::visit(load);
    }
    std::string name_;
    Expr replacement_;
};

/// What is converted to 16 bits at last, before that: the instruction that stores it converts it, too.
Expr as_float(const Expr &value) {
    if (value.type() == Float(32)) {
        return value;
    }
    if (const Cast *conversion = value.as<Cast>(); conversion && conversion->value.type() == Float(32)) {
        return conversion->value;
    }
    if (const Call *choice = value.as<Call>();
        choice && choice->is_intrinsic(Call::if_then_else) && choice->args.size() == 3) {
        return Call::make(Float(32), Call::if_then_else,
                          {choice->args[0], as_float(choice->args[1]), as_float(choice->args[2])},
                          Call::PureIntrinsic);
    }
    if (const Select *choice = value.as<Select>()) {
        return Select::make(choice->condition, as_float(choice->true_value), as_float(choice->false_value));
    }
    return cast<float>(value);
}

/// cast<uint32_t>(e) < 2^31 is how a schedule says e >= 0 so that Halide trims no loop by it. The latter has bounds.
Expr as_signed_comparison(const Expr &condition) {
    if (const And *both = condition.as<And>()) {
        return as_signed_comparison(both->a) && as_signed_comparison(both->b);
    }
    const LT *less = condition.as<LT>();
    const Cast *cast = less ? less->a.as<Cast>() : nullptr;
    const auto limit = less ? as_const_uint(less->b) : std::nullopt;
    const bool is_natural =
        cast && cast->type == UInt(32) && cast->value.type() == Int(32) && limit == uint64_t{1} << 31;
    return is_natural ? cast->value >= 0 : condition;
}

/// A line's distance in shared memory. Lanes write pairs of columns of 4 rows at once, or two such pairs of 2
/// rows: rows must lie 8, or 16, banks apart.
int pitch_of(int line, int interleaved) {
    const int apart = 8 * interleaved;
    return line % (2 * apart) == apart ? line : line + apart;
}

/// Where a lane has neighbouring columns of two neighbouring rows, four pairs of rows and 32 bytes of each lie in all banks.
int pitch_of_positions(int line) { return line + 12; }

}  // namespace

std::vector<Expr> parts_of(const std::vector<Expr> &conditions) {
    std::vector<Expr> parts, left = conditions;
    while (!left.empty()) {
        const Expr condition = left.back();
        left.pop_back();
        if (const And *both = condition.as<And>()) {
            left.push_back(both->a), left.push_back(both->b);
        } else if (const Let *let = condition.as<Let>()) {
            for (const Expr &part : parts_of({let->body})) {
                parts.push_back(expr_uses_var(part, let->name) ? Let::make(let->name, let->value, part) : part);
            }
        } else {
            parts.push_back(condition);
        }
    }
    return parts;
}

TileStore::TileStore(const Nest &nest, const WarpTiles &tiles, std::string shared, int warpgroups,
                     const TensorCoreOptions &options, const For *cluster)
    : nest_(nest), tiles_(tiles), shared_(std::move(shared)), warpgroups_(warpgroups),
      value_(at_lane_zero(substitute_in_all_lets(resolve(nest.store->value, nest.lets)))),
      index_(at_lane_zero(resolve(nest.store->index, nest.lets))), conditions_(nest.guards),
      by_rows_(options.row_stores), in_runs_(options.run_stores), further_tiles_(options.further_tiles),
      runs_(options.runs), cluster_(cluster) {
    if (cluster_ && (!(by_rows_ || in_runs_) || further_tiles_)) {
        refuse_tile(nest.name, "blocks of a cluster add tiles that are stored by rows or in runs, one tile each");
    }
    const auto format = operand_format(nest.store->value.type());
    if (!format) {
        refuse_tile(nest.name, "a tile is stored as " + names_of_operand_formats() + ", not as " + text(nest.store->value));
    }
    format_ = *format;
    value_ = as_float(value_);
    if (nest.store->name == shared_) {
        refuse_tile(nest.name, "the tile is stored to shared memory; store it to the output");
    }
    find_accumulator();
    for (Expr &condition : conditions_) {
        condition = as_signed_comparison(condition);
    }
    add_loops_of_one_step();
    for (const TileLoop &loop : nest_.loops) {
        if (!can_prove(loop.extent >= full_extent(loop.role))) {
            conditions_.push_back(Variable::make(Int(32), loop.name) < loop.extent);
        }
    }
    find_neighbours();
    if (by_rows_) {
        check_rows();
        pitch_ = pitch_of_rows();
        if (further_tiles_) take_spared_conditions();
    }
    if (in_runs_) {
        check_runs();
    }
}

void TileStore::find_accumulator() {
    LoadsOfTiles loads(tiles_);
    value_.accept(&loads);
    if (loads.found.size() != 1 || !tiles_.at(loads.found[0]->name).known()) {
        refuse_tile(nest_.name,
                    "a store out of a warp tile reads one element of one accumulator, not " + text(value_));
    }
    accumulator_ = loads.found[0]->name;
    tile_ = &tiles_.at(accumulator_);
    interleaved_ = nest_.find("mma_m_tile") ? tile_->rows / rows_of_instruction : 1;
    check_covers(loads.found[0]);
}

/// Which elements of a tile are neighbours in the output, and how far apart its lines lie in shared memory.
void TileStore::find_neighbours() {
    pitch_ = tile_->taps > 1 ? pitch_of_positions(line()) : pitch_of(line(), interleaved_);
    const std::string along = interleaved_ > 1 ? "mma_m_tile" : "mma_n";
    along_rows_ = neighbours_along("mma_m") && !neighbours_along(along);
    adjacent_ = along_rows_ ? inner_rows_ % 2 == 0 : neighbours_along(along);
    // Column 0 of all sets, then column 1 of all, if those are neighbours in the output.
    if (splits_columns_ && !adjacent_ && neighbours_along("mma_n_outer")) {
        column_sets_ = nest_.constant_extent("mma_n_outer");
        adjacent_ = column_sets_ % 2 == 0;
    }
}

int TileStore::scratch_floats() const {
    return warpgroups_ * warps_of_warpgroup * rows_at_a_time() * pitch_;
}

/// A store's loops must run over the tile as the accumulator is laid out. Finds how rows and columns are
/// split.
void TileStore::check_covers(const Load *load) {
    const Affine from = affine_index(nest_, load->index);
    const auto covers = [&](const std::string &role, int stride) {
        return !nest_.find(role) || constant_stride(nest_, from, role, "the accumulator") == stride;
    };
    if (interleaved_ > 2) {
        refuse_tile(nest_.name, "mma_m_tile runs over " + std::to_string(tile_->rows) +
                                    " rows of a tile; the rule is 128");
    }
    const int rows = tile_->rows / interleaved_;
    middle_rows_ = inner_extent(from, "mma_m_outermost", tile_->row_stride, rows);
    inner_rows_ = inner_extent(from, "mma_m_outer", tile_->row_stride, middle_rows_);
    if (middle_rows_ < rows && middle_rows_ % inner_rows_ != 0) {
        refuse_tile(nest_.name, "mma_m_outer steps over " + std::to_string(inner_rows_) +
                                    " rows; the rule is a divisor of mma_m_outermost's " +
                                    std::to_string(middle_rows_));
    }
    stored_rows_ = rows / middle_rows_ * (middle_rows_ / inner_rows_ * inner_rows_);
    splits_columns_ = tile_->repeats == 1 && tile_->groups == 1 && nest_.find("mma_n_outer");
    inner_columns_ = splits_columns_ ? inner_extent(from, "mma_n_outer", tile_->column_stride, tile_->columns)
                                     : tile_->run();
    if (!covers("mma_m", tile_->row_stride) || !covers("mma_n", tile_->column_stride) ||
        !covers("mma_n_group", tile_->group_stride) ||
        !(splits_columns_ || covers("mma_n_outer", tile_->repeat_stride)) ||
        !covers("mma_m_tile", rows_of_instruction * tile_->row_stride) ||
        !are_equal(from.base, tile_->base)) {
        refuse_tile(nest_.name, "the store does not run over the tile as the accumulator is laid out");
    }
}

/// How many rows or columns one step of the loop over their slower part covers: all of them without such a
/// loop.
int TileStore::inner_extent(const Affine &from, const std::string &role, int element_stride, int all) const {
    if (!nest_.find(role)) {
        return all;
    }
    const int stride = constant_stride(nest_, from, role, "the accumulator");
    const int inner = element_stride == 0 ? 0 : stride / element_stride;
    if (inner <= 0 || inner * element_stride != stride) {
        refuse_tile(nest_.name, role + " steps over " + std::to_string(stride) +
                                    " accumulators; the rule is whole rows or columns");
    }
    return inner;
}

/// Where one step of a loop covers the whole output, Halide leaves the loop away. The tile may still have more
/// than that, which must not be stored.
void TileStore::add_loops_of_one_step() {
    for (const char *role : {"mma_m", "mma_n", "mma_n_group", "mma_n_outer"}) {
        if (!nest_.find(role) && full_extent(role) > 1) {
            nest_.loops.push_back({role, nest_.name + "." + role, 1});
        }
    }
}

bool TileStore::neighbours_along(const std::string &role) const {
    const TileLoop *loop = nest_.find(role);
    if (!loop) {
        return false;
    }
    const Expr next = substitute(loop->name, Variable::make(Int(32), loop->name) + 1, index_);
    return is_const_one(simplify(next - index_));
}

/// The extent of a store's loop in a tile that lies inside of the output.
int TileStore::full_extent(const std::string &role) const {
    const int column_sets = (tile_->run() + inner_columns_ - 1) / inner_columns_;
    return role == "mma_n"             ? inner_columns_
           : role == "mma_n_group"     ? tile_->groups
           : role == "mma_n_outer"     ? (splits_columns_ ? column_sets : tile_->repeats)
           : role == "mma_m_tile"      ? interleaved_
           : role == "mma_m_outermost" ? tile_->rows / interleaved_ / middle_rows_
           : role == "mma_m_outer"     ? middle_rows_ / inner_rows_
                                       : inner_rows_;
}

Stmt TileStore::lowered() const {
    const Stmt stores = versions(value_, tile_->taps > 1 ? 2 : 1);  // the first of them has no bias
    if (tile_->taps == 1) return stores;
    if (!in_runs_) refuse_tile(nest_.name, "sums of taps that are rows are stored in runs");
    return Block::make(placeholder({"add_shifted", turn_call(0, 0, 0).fields}, {centre()}), stores);
}

/// A value that is a choice by a condition which is the same for all elements becomes two versions of the
/// store. Only the first is unrolled, once with guards and once without: it is the one that was written
/// first, and code has a price, too. (And two more behind one that only moves sums: without an activation, and with one that
/// is piecewise linear, which took 0.483 ms rolled and 0.415 unrolled, of 64 channels at 1080p.)
Stmt TileStore::versions(const Expr &value, int to_unroll) const {
    const bool unrolled = to_unroll > 0;
    if (const Call *choice = value.as<Call>(); choice && choice->is_intrinsic(Call::if_then_else) &&
                                               choice->args.size() == 3 && is_uniform(choice->args[0])) {
        const int then_to_unroll = unrolled && moves_sums({choice->args[1]}) ? 2 : to_unroll - 1;
        return IfThenElse::make(choice->args[0], versions(choice->args[1], to_unroll),
                                versions(choice->args[2], then_to_unroll));
    }
    if (by_rows_ && spared_if_.defined()) {
        return IfThenElse::make(spared_if_, rows({value, unrolled, true}), rows({value, false, false}));
    }
    if (by_rows_) {
        return rows({value, unrolled, false});
    }
    if (in_runs_) {
        return runs({value, unrolled, false});
    }
    return in_turns(value, unrolled);
}

Stmt TileStore::in_turns(const Expr &value, bool unrolled) const {
    const Expr whole = unrolled ? is_whole() : const_false();
    const Stmt with_guards = is_const_one(whole) ? Evaluate::make(0) : turns({value, unrolled, false});
    if (is_const_zero(whole)) {
        return with_guards;
    }
    const Stmt without = turns({value, unrolled, true});
    return is_const_one(whole) ? without : IfThenElse::make(whole, without, with_guards);
}

/// A condition that is enough for every element's conditions to hold.
Expr TileStore::is_whole() const {
    Scope<Interval> everywhere;
    for (const TileLoop &loop : nest_.loops) {
        everywhere.push(loop.name, Interval(0, full_extent(loop.role) - 1));
    }
    Expr whole = const_true();
    for (const Expr &condition : conditions_) {
        const Interval bounds = bounds_of_expr_in_scope(condition, everywhere);
        whole = whole && (bounds.has_lower_bound() ? bounds.min : const_false());
    }
    return simplify(whole);
}

bool TileStore::is_uniform(const Expr &condition) const {
    LoadsOfTiles loads(tiles_);
    condition.accept(&loads);
    return loads.found.empty() &&
           std::none_of(nest_.loops.begin(), nest_.loops.end(),
                        [&](const TileLoop &loop) { return expr_uses_var(condition, loop.name); });
}

Stmt TileStore::turns(const Version &version) const {
    std::vector<Stmt> all;
    for (int row_tile = 0; row_tile < tile_->rows / interleaved_ / rows_of_instruction; row_tile++) {
        for (int repeat = 0; repeat < tile_->repeats; repeat++) {
            for (int half = 0; half < 2; half++) {
                all.push_back(turn(version, row_tile, repeat, half));
            }
        }
    }
    return Block::make(all);
}

PlaceholderCall TileStore::turn_call(int row_tile, int repeat, int half) const {
    PlaceholderCall turn{"turn",
                         {{"tile", tile_->id}, {"m", tile_->rows * tile_->taps}, {"n", tile_->columns}, {"r", tile_->repeats},
                          {"row", row_tile}, {"rep", repeat}, {"half", half}, {"pitch", pitch_}, {"tiles", interleaved_}}};
    if (tile_->taps > 1) turn.fields["taps"] = tile_->taps;
    return turn;
}

/// A warp's rows 64 row_tile + 16 warp + 8 half + 0..7 of the tile.
Stmt TileStore::turn(const Version &version, int row_tile, int repeat, int half) const {
    const Expr lane = Variable::make(Int(32), ".thread_id_x"), warp = Variable::make(Int(32), ".thread_id_y");
    const Expr warpgroup = warpgroups_ > 1 ? Variable::make(Int(32), ".thread_id_z") : Expr(0);
    const Expr first_row = row_tile * rows_of_instruction + warp * rows_of_warp_and_set + half * rows_per_turn;
    const Expr scratch = (warpgroup * warps_of_warpgroup + warp) * (rows_per_turn * pitch_);
    const int steps = (pairs_a_line() + lanes_of_warp - 1) / lanes_of_warp;

    std::vector<Stmt> all = {placeholder(turn_call(row_tile, repeat, half))};
    const auto store = [&](const Expr &line, int step) {
        Element elements[2];
        for (int i = 0; i < 2; i++) {
            const auto [row, place] = position(lane, line, step, i);
            elements[i] = element(version, first_row + row, place, repeat,
                                  scratch + row * pitch_ + place_of_copy(place));
        }
        const Stmt stores = stores_of_pair(elements[0], elements[1]);
        const bool all_lanes = (step + 1) * lanes_of_warp <= pairs_a_line();
        return all_lanes ? stores : IfThenElse::make(lane + step * lanes_of_warp < pairs_a_line(), stores);
    };
    const auto whole_line = [&](const Expr &line) {
        std::vector<Stmt> stores;
        for (int step = 0; step < steps; step++) {
            stores.push_back(store(line, step));
        }
        return Block::make(stores);
    };
    if (version.unrolled) {
        for (int i = 0; i < lines(); i++) {
            all.push_back(whole_line(i));
        }
    } else {
        const std::string name = nest_.name + ".line";
        all.push_back(For::make(name, 0, lines(), ForType::Serial, Partition::Never, DeviceAPI::None,
                                whole_line(Variable::make(Int(32), name))));
    }
    all.push_back(placeholder({"turn_end", {}}));
    return Block::make(all);
}

int TileStore::places() const { return column_sets_ > 1 ? column_sets_ * inner_columns_ : line(); }

/// Rows, or pairs of them, that lie side by side in the output, as far as a turn has them: neighbouring lanes take
/// them before they go to the next column.
int TileStore::units_side_by_side() const {
    if (!along_rows_) {
        return 1;
    }
    if (!adjacent_) {
        return rows_per_turn;
    }
    return rows_per_turn % inner_rows_ == 0 ? inner_rows_ / 2 : rows_per_turn / 2;
}

/// In how many parts a turn is stored.
int TileStore::lines() const {
    const int units = along_rows_ && adjacent_ ? rows_per_turn / 2 : rows_per_turn;
    return units / units_side_by_side();
}

int TileStore::pairs_a_line() const { return (places() * rows_per_turn / lines() + 1) / 2; }

/// The row of a turn and the place in its line of one of the two elements that a lane stores in a step.
std::pair<Expr, Expr> TileStore::position(const Expr &lane, const Expr &line, int step, int i) const {
    const Expr pair = lane + step * lanes_of_warp;
    const int units = units_side_by_side();
    if (!along_rows_) {
        return {line, pair * 2 + i};
    }
    if (adjacent_) {
        return {(line * units + pair % units) * 2 + i, pair / units};
    }
    const Expr single = lane + (step * 2 + i) * lanes_of_warp;
    return {single % units, single / units};
}

/// Where the turn has put the element at a place of a line.
Expr TileStore::place_of_copy(const Expr &place) const {
    return column_sets_ > 1 ? place % column_sets_ * inner_columns_ + place / column_sets_ : place;
}

/// The nest's loop variables at a place of a line.
std::map<std::string, Expr> TileStore::coordinates(const Expr &row, const Expr &place, int repeat) const {
    const Expr column = place_of_copy(place) / interleaved_;
    const Expr column_set = column_sets_ > 1  ? place % column_sets_
                            : splits_columns_ ? column / inner_columns_
                                              : Expr(repeat);
    const Expr column_of_set = column_sets_ > 1 ? place / column_sets_ : column % inner_columns_;
    const bool three_levels = middle_rows_ < tile_->rows / interleaved_;
    const Expr row_of_middle = three_levels ? row % middle_rows_ : row;
    std::map<std::string, Expr> at;
    for (const TileLoop &loop : nest_.loops) {
        at[loop.name] = loop.role == "mma_n"         ? column_of_set
                        : loop.role == "mma_n_group" ? column / tile_->run()
                        : loop.role == "mma_n_outer" ? column_set
                        : loop.role == "mma_m_tile"  ? place % interleaved_
                        : loop.role == "mma_m_outermost" ? row / middle_rows_
                        : loop.role == "mma_m_outer" ? row_of_middle / inner_rows_
                                                     : row_of_middle % inner_rows_;
        if (loop.role == "mma_n" && tile_->groups == 1 && !splits_columns_) {
            at[loop.name] = column;
        }
    }
    return at;
}

/// One element of the store: the nest's expressions there, with `copy` the place of the value in shared
/// memory.
TileStore::Element TileStore::element(const Version &version, const Expr &row, const Expr &place, int repeat,
                                      const Expr &copy) const {
    const auto at = coordinates(row, place, repeat);
    Expr guard = stored_rows_ * interleaved_ == tile_->rows ? const_true() : row < stored_rows_;
    if (!version.whole) {
        for (const Expr &condition : conditions_) {
            guard = guard && substitute(at, condition);
        }
    }
    return {simplify(guard), value_at(version, at, load_of_copy(copy)), simplify(substitute(at, index_))};
}

/// The nest's value, of a sum.
Expr TileStore::value_at(const Version &version, const std::map<std::string, Expr> &at, const Expr &sum) const {
    ReplaceLoad replace(accumulator_, sum);
    return substitute(at, replace.mutate(version.value));
}

Expr TileStore::load_of_copy(const Expr &copy) const {
    return Load::make(Float(32), shared_, simplify(copy), Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

Stmt TileStore::stores_of_pair(const Element &first, const Element &second) const {
    if (!adjacent_) {
        return Block::make(store_single(first), store_single(second));
    }
    const Stmt both = placeholder({"store_pair", format_fields()}, {target_of(first.index), first.value, second.value});
    const Expr inside = simplify(first.guard && second.guard);
    return is_const_one(inside) ? both
                                : IfThenElse::make(inside, both, Block::make(store_single(first), store_single(second)));
}

std::map<std::string, int> TileStore::format_fields() const {
    if (format_ == OperandFormat::float32) return {};
    return {{format_field, static_cast<int>(format_)}};
}

/// What the address is taken of is never loaded.
Expr TileStore::target_of(const Expr &index) const {
    const Store *store = nest_.store;
    return Load::make(format_ == OperandFormat::float32 ? Float(32) : Float(16), store->name, index, Buffer<>(), store->param,
                      const_true(), ModulusRemainder());
}

Stmt TileStore::store_single(const Element &e) const {
    const Store *store = nest_.store;
    const Stmt alone =
        format_ == OperandFormat::float32
            ? Store::make(store->name, e.value, e.index, store->param, const_true(), ModulusRemainder())
            : placeholder({"store_single", format_fields()}, {target_of(e.index), e.value});
    return is_const_one(e.guard) ? alone : IfThenElse::make(e.guard, alone);
}

}  // namespace conv_transpose

// Stores of a tile by the copy engine (TileStore, stored_in_box() in tensor_boxes.h): of 16 bits, where channels of a position are
// neighbours in the output, in channels_last.
//
// A lane finishes the sums that it has, of the registers that they are in, and brings pairs of neighbours to shared memory, as many
// boxes of 64 rows x 64 columns of the warpgroup's tile as have room there. Lanes of one warp then start the boxes' stores, and the
// warpgroup goes on with the block's next tile; before more is brought the copy engine must have read what was there. (When all
// threads stored what they read from shared memory, it passed the pipe of that and the first-level cache three times, which was 68
// to 76 % busy, and tensor cores waited until all stores were issued: k2 s2, 256 to 256.)
//
// In shared memory 16 bytes of a row are permuted as maps say, so that the lanes of a warp meet all banks: those of rows of 128
// bytes by the row, of 64 bytes by pairs of rows.
#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/tile_expressions.h"
#include "compiler/passes/tile_parts.h"
#include "compiler/passes/tile_store.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

void TileStore::check_boxes() const {
    const bool plain = interleaved_ == 1 && tile_->groups == 1 && tile_->repeats == 1 && !along_rows_ &&
                       inner_rows_ == tile_->rows && middle_rows_ == tile_->rows && tile_->columns % 32 == 0;
    if (!plain || !by_rows_ || !further_tiles_ || format_ == OperandFormat::float32)
        refuse_tile(nest_.name, "boxes are stored of 16 bits, of tiles of plain rows of a multiple of 32 columns that are stored "
                                "by rows elsewhere, while a block's further tiles are on their way");
    if (!is_uniform(box_->stored_if) || !is_uniform(box_->positions))
        refuse_tile(nest_.name, "whether boxes are stored, and of how many positions, must be the same for all elements");
}

/// A version of the store.
class TileStore::Boxes {
  public:
    Boxes(const TileStore &tile, const Version &version) : tile_(tile), parts_(tile.nest_.name), boxes_(tile.stored_boxes()) {
        const auto here = tile.coordinates(tile.row_of_tile(integer(row_name)), integer(piece_name), 0);
        value_ = parts_.mutate(simplify(tile.value_at(version, here, Variable::make(Float(32), sum_name))));
        if (!parts_.of_rows.empty() || expr_uses_var(value_, row_name))
            refuse_tile(tile.nest_.name, "what boxes store may depend on the column, not on the row, as " + text(value_) + " does");
    }

    Stmt statement() const {
        std::vector<Stmt> all;
        for (int first = 0; first < boxes_.count; first += boxes_.at_once) all.push_back(brought_and_started(first));
        return with_coordinates(Block::make(all));
    }

  private:
    static Expr lane() { return integer(".thread_id_x"); }
    static Expr warp() { return integer(".thread_id_y"); }
    int groups() const { return boxes_.columns / columns_of_group; }
    int boxes_of_set() const { return tile_.line() / boxes_.columns; }
    int first_column(int box) const { return box % boxes_of_set() * boxes_.columns; }
    int set(int box) const { return box / boxes_of_set(); }

    /// A row of a box in shared memory, in words of 4 bytes.
    Expr copy_of_row(int box, const Expr &row) const {
        const int words = boxes_.columns / 2;
        const Expr warpgroup = tile_.warpgroups_ > 1 ? integer(".thread_id_z") : Expr(0);
        return warpgroup * (boxes_.elements() / 2) + box % boxes_.at_once * (StoredBoxes::rows * words) + row * words;
    }

    /// As many boxes as there is shared memory for, when the copy engine has read those that were there.
    Stmt brought_and_started(int first) const {
        std::vector<Stmt> all{placeholder({"box_wait", {}})}, stores;
        for (int box = first; box < first + boxes_.at_once; box++) {
            for (int group = 0; group < groups(); group++) all.push_back(brought(box, group));
            stores.push_back(started(box));
        }
        stores.push_back(placeholder({"box_commit", {}}));
        all.push_back(placeholder({"box_publish", {}}));
        all.push_back(IfThenElse::make(warp() == 0 && lane() < StoredBoxes::rows / tile_.box_->positions, Block::make(stores)));
        return Block::make(all);
    }

    /// Pairs of neighbours of eight columns, of both rows that a lane has. What comes from the column alone is worked out once.
    Stmt brought(int box, int group) const {
        std::vector<Stmt> stores;
        for (int half = 0; half < 2; half++) {
            const PlaceholderCall pair{"pair_of_sums", {{format_field, static_cast<int>(tile_.format_)}}};
            const Expr word = Call::make(Float(32), pair.name(), {finished(box, group, half, 0), finished(box, group, half, 1)},
                                         Call::Extern);
            const Expr of_eight = lane() / 4, row = warp() * rows_of_warp_and_set + half * rows_per_turn + of_eight,
                       piece = Expr(group) ^ (of_eight / (8 / groups()) % groups());
            stores.push_back(tile_.left_at(simplify(copy_of_row(box, row) + piece * 4 + lane() % 4), word));
        }
        Stmt all = Block::make(stores);
        for (int i = 0; i < 2; i++) {
            const Expr column = first_column(box) + group * columns_of_group + lane() % 4 * 2 + i;
            for (auto part = parts_.of_pieces.rbegin(); part != parts_.of_pieces.rend(); ++part)
                all = LetStmt::make(name_of(part->first, i), simplify(substitute(piece_name, column, part->second)), all);
        }
        return all;
    }
    static std::string name_of(const std::string &part, int column) { return part + "." + std::to_string(column); }

    /// The value of one of a pair.
    Expr finished(int box, int group, int half, int i) const {
        const int column = first_column(box) + group * columns_of_group;
        const int sum = (set(box) * tile_.line() + column) / 2 + 2 * half + i;
        const PlaceholderCall call{"sum_of_register", {{"tile", tile_.tile_->id}, {"sum", sum}}};
        std::map<std::string, Expr> values{{sum_name, Call::make(Float(32), call.name(), {Expr(0)}, Call::Extern)}};
        for (const auto &[name, value] : parts_.of_pieces) values[name] = Variable::make(value.type(), name_of(name, i));
        return substitute(values, value_);
    }

    /// Lanes have a box each, of as many positions as are neighbours. What that takes they work out before they bring sums: the
    /// others wait for whoever starts the stores.
    Stmt with_coordinates(Stmt statement) const {
        for (int box = 0; box < boxes_.count; box++) {
            const Expr row = set(box) * StoredBoxes::rows + lane() * tile_.box_->positions;
            const auto here = tile_.coordinates(row, first_column(box), 0);
            for (std::size_t i = 0; i < tile_.box_->coordinates.size(); i++)
                statement = LetStmt::make(coordinate(box, i), found_here(simplify(substitute(here, tile_.box_->coordinates[i]))),
                                          statement);
        }
        return statement;
    }
    /// LLVM would move it to where it is used.
    static Expr found_here(const Expr &number) {
        return Call::make(Int(32), PlaceholderCall{"found_here", {}}.name(), {number}, Call::Extern);
    }
    std::string coordinate(int box, std::size_t i) const {
        return tile_.nest_.name + ".box." + std::to_string(box) + "." + std::to_string(i);
    }
    Stmt started(int box) const {
        std::vector<Expr> arguments{simplify(copy_of_row(box, lane() * tile_.box_->positions) * 4)};
        for (std::size_t i = 0; i < tile_.box_->coordinates.size(); i++) arguments.push_back(integer(coordinate(box, i)));
        return placeholder({"box_store", {{"map", tile_.box_->map}}}, arguments);
    }

    const TileStore &tile_;
    RowsAndPieces parts_;
    const StoredBoxes boxes_;
    Expr value_;
};

Stmt TileStore::boxes(const Version &version) const { return Boxes(*this, version).statement(); }

}  // namespace conv_transpose

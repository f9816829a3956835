// Stores of a tile by the copy engine (TileStore, stored_in_box() in tensor_boxes.h): of 16 bits, where channels of a position are
// neighbours in the output, in channels_last.
//
// A lane finishes the sums that it has, of the registers that they are in, and brings pairs of neighbours to shared memory, a box
// of 16 rows x 64 columns of the warp's tile at a time. One lane then starts the box's store, and the warp goes on with the next
// box, for which the copy engine must have read an earlier one, and with the block's next tile. (When all threads stored what they
// read from shared memory, it passed the pipe of that and the first-level cache three times, which was 68 to 76 % busy, and tensor
// cores waited until all stores were issued: k2 s2, 256 to 256.)
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
        for (int box = 0; box < boxes_.of_warp; box++) {
            all.push_back(placeholder({"box_wait", {{"pending", boxes_.at_once - 1}}}));
            for (int group = 0; group < groups(); group++) all.push_back(brought(box, group));
            all.push_back(placeholder({"box_publish", {}}));
            all.push_back(IfThenElse::make(lane() == 0, started(box)));
        }
        return Block::make(all);
    }

  private:
    static Expr lane() { return integer(".thread_id_x"); }
    int groups() const { return boxes_.columns / columns_of_group; }
    int boxes_of_set() const { return tile_.line() / boxes_.columns; }
    int first_column(int box) const { return box % boxes_of_set() * boxes_.columns; }
    int set(int box) const { return box / boxes_of_set(); }

    /// A row of a box in shared memory, in words of 4 bytes.
    Expr copy_of_row(int box, const Expr &row) const {
        const int words = boxes_.columns / 2;
        return tile_.place_of_row(0, 1, tile_.words_of_boxes()) + box % boxes_.at_once * (StoredBoxes::rows * words) + row * words;
    }

    /// Pairs of neighbours of eight columns, of both rows that a lane has. What comes from the column alone is worked out once.
    Stmt brought(int box, int group) const {
        std::vector<Stmt> stores;
        for (int half = 0; half < 2; half++) {
            const PlaceholderCall pair{"pair_of_sums", {{format_field, static_cast<int>(tile_.format_)}}};
            const Expr word = Call::make(Float(32), pair.name(), {finished(box, group, half, 0), finished(box, group, half, 1)},
                                         Call::Extern);
            const Expr row = lane() / 4, piece = Expr(group) ^ (row / (8 / groups()) % groups());
            stores.push_back(tile_.left_at(
                simplify(copy_of_row(box, half * rows_per_turn + row) + piece * 4 + lane() % 4), word));
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

    /// Of one box, or of two of half as many positions.
    Stmt started(int box) const {
        const std::string part = tile_.nest_.name + ".part";
        const Expr first = integer(part) * tile_.box_->positions;
        const auto here = tile_.coordinates(tile_.row_of_tile(set(box) * rows_of_warp_and_set) + first, first_column(box), 0);
        std::vector<Expr> arguments{simplify(copy_of_row(box, first) * 4)};
        for (const Expr &coordinate : tile_.box_->coordinates) arguments.push_back(simplify(substitute(here, coordinate)));
        const Stmt parts = For::make(part, 0, StoredBoxes::rows / tile_.box_->positions, ForType::Serial, Partition::Never,
                                     DeviceAPI::None, placeholder({"box_store", {{"map", tile_.box_->map}}}, arguments));
        return Block::make(parts, placeholder({"box_commit", {}}));
    }

    const TileStore &tile_;
    RowsAndPieces parts_;
    const StoredBoxes boxes_;
    Expr value_;
};

Stmt TileStore::boxes(const Version &version) const { return Boxes(*this, version).statement(); }

int TileStore::words_of_boxes() const { return stored_boxes().at_once * StoredBoxes::rows * stored_boxes().columns / 2; }

}  // namespace conv_transpose

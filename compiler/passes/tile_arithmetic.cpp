// From a nest over an accumulator tile to calls: see tile_arithmetic.h.
#include "compiler/passes/tile_arithmetic.h"

#include <utility>

#include "compiler/passes/placeholder_calls.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int most_columns = 256;
constexpr int bytes_of_group = columns_of_group * bytes_of_row;
constexpr int most_accumulators = 232;  // registers of a thread, with some left for addresses

bool is_same_element(const Nest &nest, const Expr &e) {
    const Expr resolved = resolve(e, nest.lets);
    const Load *load = resolved.as<Load>();
    return load && load->name == nest.store->name &&
           are_equal(resolve(load->index, nest.lets), resolve(nest.store->index, nest.lets));
}

void check_same_tile(const Nest &nest, const WarpTile &known, const WarpTile &read) {
    if (known.rows != read.rows || !known.same_columns(read) || !are_equal(known.base, read.base))
        refuse_tile(nest.name, "it does not cover the same tile as the nest that clears the accumulator");
}

/// Which of the tile's sets of 64 rows is the first that a product adds to.
int first_row_tile(const Nest &nest, const WarpTile &tile, const WarpTile &read) {
    const auto distance = as_const_int(simplify(read.base - tile.base));
    const int step = rows_of_instruction * tile.row_stride;
    if (!tile.known() || !read.same_columns(tile) || !distance || *distance < 0 || *distance % step != 0 ||
        (read.rows != tile.rows && read.rows % rows_of_instruction != 0) ||
        *distance / step * rows_of_instruction + read.rows > tile.rows)
        refuse_tile(nest.name,
                    "it does not cover the tile that a nest before it clears, or sets of 64 rows of it");
    return static_cast<int>(*distance / step);
}

PlaceholderCall tile_call(const std::string &kind, const WarpTile &tile) {
    return {kind, {{"tile", tile.id}, {"m", tile.rows}, {"n", tile.columns}, {"r", tile.repeats}}};
}

/// Whether a row of memory holds neighbouring rows of the tile, of one k, in place of neighbouring k of one row: tensor
/// cores take operands of 16 bits either way, and those of 32 by fragments (tensor_core_instructions.h).
bool is_transposed(const Nest &nest, const TileOperand &operand, const std::string &row) {
    return constant_stride(nest, operand.place, row, "an operand") == 1 &&
           constant_stride(nest, operand.place, "mma_k", "an operand") == nest.constant_extent(row);
}

/// Bytes from one k to the next where columns of a k lie side by side, and something behind them; 0 where they do not.
int line_of_columns(const Nest &nest, const TileOperand &operand) {
    const int pitch = constant_stride(nest, operand.place, "mma_k", "an operand");
    const bool is_line = constant_stride(nest, operand.place, "mma_n", "an operand") == 1 && pitch > nest.constant_extent("mma_n");
    if (!is_line) return 0;
    const int columns = nest.constant_extent("mma_n"), bytes = pitch * bytes_of(operand.format);
    if ((columns != 64 && columns != 128) || nest.find("mma_n_outer") || pitch % 32 != 8 ||
        constant_stride(nest, operand.place, "mma_k_outer", "an operand") != operand.values_of_row() * pitch)
        refuse_tile(nest.name, "columns are " + std::to_string(columns) + " neighbours in lines of " + std::to_string(pitch) +
                                   "; the rule is 64 or 128, in lines of 8 more than a multiple of 32");
    return bytes;
}

/// An operand's rows are 16 bytes each, one after the other, or each has all k of the nest, as boxes of tensors have
/// (tensor_boxes.h). They do not depend on the other operand's loops.
void check_rows(const Nest &nest, TileOperand &operand, const std::string &row, const std::string &other) {
    const Affine &place = operand.place;
    if (!is_const_zero(place.stride(other + "_group")))
        refuse_tile(nest.name, "the operand with the loop " + row + " depends on " + other + "_group");
    if (is_transposed(nest, operand, row) && is_const_zero(place.stride(other))) {
        const int run = nest.constant_extent(row), bytes = run * bytes_of(operand.format);
        const bool by_fragments = operand.format == OperandFormat::float32;
        if (bytes != 128 && (by_fragments || (bytes != bytes_of_row && bytes != 32 && bytes != 64)))
            refuse_tile(nest.name, row + " has extent " + std::to_string(run) + " where it runs along a row; the rule is " +
                                       (by_fragments ? "128 bytes" : "16, 32, 64 or 128 bytes"));
        operand.swizzled_row = bytes == bytes_of_row ? 0 : bytes;
        return;
    }
    const int values = operand.values_of_row(), step = constant_stride(nest, place, row, "an operand");
    const int all_k = values * nest.constant_extent("mma_k_outer"), bytes_of_k = all_k * bytes_of(operand.format);
    if (step != values && step == all_k && (bytes_of_k == 32 || bytes_of_k == 64 || bytes_of_k == 128) &&
        constant_stride(nest, place, "mma_k_outer", "an operand") == values)
        operand.swizzled_row = bytes_of_k;
    if ((step != values && operand.swizzled_row == 0) ||
        constant_stride(nest, place, "mma_k", "an operand") != 1 ||
        constant_stride(nest, place, other, "an operand") != 0)
        refuse_tile(nest.name, "an operand has strides " + text(place.stride(row)) + " along " + row + ", " +
                                   text(place.stride("mma_k")) + " along mma_k and " +
                                   text(place.stride(other)) + " along " + other + "; the rule is " +
                                   std::to_string(operand.values_of_row()) + ", 1 and 0");
}

/// In bytes.
int operand_stride(const Nest &nest, const TileOperand &operand, const std::string &role) {
    const int stride = constant_stride(nest, operand.place, role, "an operand");
    if (stride < 0 || stride % operand.values_of_row() != 0)
        refuse_tile(nest.name, "an operand has stride " + std::to_string(stride) + " along " + role +
                                   "; the rule is a multiple of " + std::to_string(operand.values_of_row()) +
                                   " values, not negative");
    return stride * bytes_of(operand.format);
}

/// In rows of 16 bytes: what a matrix descriptor counts in.
Expr row_address(const Nest &nest, const TileOperand &operand) {
    const Expr &base = operand.place.base;
    const ModulusRemainder known = modulus_remainder(base);
    if (known.modulus % operand.values_of_row() != 0 || known.remainder % operand.values_of_row() != 0)
        refuse_tile(nest.name, "the operand at " + text(base) + " is not known to be aligned to 16 bytes");
    return simplify(base / operand.values_of_row());
}

Stmt multiplied(const Stmt &product) {
    return Block::make({placeholder({"begin", {}}), product, placeholder({"commit", {}}), placeholder({"wait", {{"pending", 0}}})});
}

}  // namespace

Stmt TileArithmetic::lowered(const Nest &nest) {
    WarpTile &tile = tiles_.at(nest.store->name);
    if (!nest.guards.empty()) refuse_tile(nest.name, "the condition " + text(nest.guards[0]) + " inside an accumulating tile");
    const Add *sum = nest.store->value.as<Add>();
    if (!sum) return clear(nest, tile);
    const bool left = is_same_element(nest, sum->a), right = is_same_element(nest, sum->b);
    if (left == right)
        refuse_tile(nest.name,
                    "the sum " + text(nest.store->value) + " does not add to the element that it stores");
    const Expr term = resolve(left ? sum->b : sum->a, nest.lets);
    if (const Mul *product = term.as<Mul>()) return multiply(nest, tile, product->a, product->b, {});
    if (const auto product = pair_product(term)) return multiply(nest, tile, product->a, product->b, product->format);
    if (const auto product = half_product(term)) return multiply_half(nest, tile, *product);
    if (const Load *load = term.as<Load>(); load && tiles_.count(load->name))
        return promote(nest, tile, tiles_.at(load->name), load);
    refuse_tile(nest.name, "a tile can add a product of two loads or another tile, not " + text(term));
}

Stmt TileArithmetic::clear(const Nest &nest, WarpTile &tile) {
    WarpTile read = WarpTile::read(nest, nest.store->index);
    read.id = tile.id;
    if (read.rows % rows_of_turn != 0)
        refuse_tile(nest.name, "mma_m has extent " + std::to_string(read.rows) + "; the rule is a multiple of 64, or of 32, of "
                               "products of lines");
    if (read.run() % columns_of_group != 0 || read.columns > most_columns)
        refuse_tile(nest.name, "mma_n has extent " + std::to_string(read.run()) +
                                   "; the rule is a multiple of 8, at most 256");
    if (read.groups > 1 && read.run() != columns_of_group)
        refuse_tile(nest.name, "mma_n has extent " + std::to_string(read.run()) +
                                   " beside mma_n_group; the rule is 8");
    if (tile.known()) {
        check_same_tile(nest, tile, read);
    } else {
        accumulators_ += read.rows * read.columns / (2 * rows_of_instruction) * read.repeats;
    }
    if (accumulators_ > most_accumulators)
        refuse_tile(nest.name, "the tiles need " + std::to_string(accumulators_) +
                                   " registers of every thread; at most " +
                                   std::to_string(most_accumulators) + " fit");
    tile = read;
    const Expr value = resolve(nest.store->value, nest.lets);
    if (!is_const_zero(value))
        refuse_tile(nest.name,
                    "a tile begins as 0, not as " + text(value) + "; add that where the tile is stored");
    return placeholder(tile_call("clear", tile));
}

Stmt TileArithmetic::multiply(const Nest &nest, const WarpTile &tile, const Expr &left, const Expr &right,
                              const std::optional<OperandFormat> &of_pairs) const {
    WarpTile read = WarpTile::read(nest, nest.store->index);
    if (tile.groups == 1 && read.groups > 1 && read.group_stride == read.run() * read.column_stride) {
        read.groups = tile.groups, read.group_stride = tile.group_stride;  // one run, in two loops
    }
    const int first = first_row_tile(nest, tile, read);
    TileOperand a = read_operand(nest, left), b = read_operand(nest, right);
    if (a.format != b.format) refuse_tile(nest.name, "the operands " + text(left) + " and " + text(right) + " are of two formats");
    if (is_const_zero(a.place.stride("mma_m"))) std::swap(a, b);
    check_rows(nest, a, "mma_m", "mma_n");
    const int line = line_of_columns(nest, b);
    if (line == 0) check_rows(nest, b, "mma_n", "mma_m");
    if (line == 0 && read.rows % rows_of_instruction != 0)
        refuse_tile(nest.name, "mma_m has extent " + std::to_string(read.rows) + "; the rule is a multiple of 64");
    if (!is_const_zero(a.place.stride("mma_n_outer")))
        refuse_tile(nest.name, "the operand with the rows of the tile depends on mma_n_outer");
    const int inner = nest.constant_extent("mma_k"), groups = nest.constant_extent("mma_k_outer");
    if (inner != a.values_of_row() || groups % rows_of_instruction_k != 0)
        refuse_tile(nest.name, "mma_k has extent " + std::to_string(inner) + " and mma_k_outer " +
                                   std::to_string(groups) + "; the rule is " +
                                   std::to_string(a.values_of_row()) + ", and an even number");
    PlaceholderCall call = tile_call("multiply", tile);
    call.fields["m"] = read.rows;
    call.fields["row"] = first;
    call.fields["k"] = inner * groups;
    call.fields["ak"] = operand_stride(nest, a, "mma_k_outer");
    call.fields["bk"] = operand_stride(nest, b, "mma_k_outer");
    call.fields["bs"] = nest.find("mma_n_group") ? operand_stride(nest, b, "mma_n_group")
                        : b.swizzled_row         ? columns_of_group * b.swizzled_row
                                                 : bytes_of_group;
    call.fields["br"] = operand_stride(nest, b, "mma_n_outer");
    if (a.swizzled_row) call.fields["asw"] = a.swizzled_row;
    if (b.swizzled_row) call.fields["bsw"] = b.swizzled_row;
    if (line > 0) call.fields["bl"] = line;
    if (is_transposed(nest, a, "mma_m")) call.fields["at"] = 1, call.fields["as"] = operand_stride(nest, a, "mma_m_group");
    if (line == 0 && is_transposed(nest, b, "mma_n")) call.fields["bt"] = 1;
    if (of_pairs) {
        if (!call.fields.count("bt") || call.fields.count("at"))
            refuse_tile(nest.name, "of products of pairs columns lie transposed, and rows do not");
        call.fields["pairs"] = 1, call.fields["k"] *= 2, call.fields[format_field] = static_cast<int>(*of_pairs);
    } else if (a.format != OperandFormat::float32) {
        call.fields[format_field] = static_cast<int>(a.format);
    }
    return multiplied(placeholder(call, {row_address(nest, a), row_address(nest, b)}));
}

Stmt TileArithmetic::multiply_half(const Nest &nest, const WarpTile &tile, const HalfProduct &product) const {
    const WarpTile read = WarpTile::read(nest, nest.store->index);
    const TileOperand a = read_operand(nest, product.word);
    TileOperand b = read_operand(nest, product.value);
    check_rows(nest, b, "mma_n", "mma_m");
    constexpr int words_of_line = 32;
    const int inner = nest.constant_extent("mma_k"), all_k = inner * nest.constant_extent("mma_k_outer");
    const auto stride = [&](const char *role) { return constant_stride(nest, a.place, role, "an operand"); };
    const bool lines_of_words = a.format == OperandFormat::float32 && stride("mma_k") == 1 && stride("mma_m") == words_of_line &&
                                (all_k == inner || stride("mma_k_outer") == inner) && is_const_zero(a.place.stride("mma_n"));
    if (!lines_of_words || b.format != product.format || inner != b.values_of_row() || all_k != words_of_line ||
        b.swizzled_row == 0 || is_transposed(nest, b, "mma_n") || tile.repeats > 1 || read.rows != rows_of_instruction ||
        nest.find("mma_n_group"))
        refuse_tile(
            nest.name,
            "of products of halves the rule is 64 rows of lines of 32 words, and columns of boxes of as many values");
    PlaceholderCall call = tile_call("multiply", tile);
    call.fields["m"] = read.rows;
    call.fields["row"] = first_row_tile(nest, tile, read);
    call.fields["k"] = all_k;
    call.fields["halves"] = 1, call.fields[format_field] = static_cast<int>(product.format);
    call.fields["asw"] = words_of_line * bytes_of(a.format), call.fields["bsw"] = b.swizzled_row;
    return multiplied(placeholder(
        call, {row_address(nest, a), row_address(nest, b), at_lane_zero(resolve(product.half, nest.lets))}));
}

/// A float32 from shared memory, or one of 16 bits there that is converted to float32.
TileOperand TileArithmetic::read_operand(const Nest &nest, const Expr &factor) const {
    const Cast *conversion = factor.as<Cast>();
    const Load *load = (conversion && conversion->type == Float(32) ? conversion->value : factor).as<Load>();
    if (!load || load->name != shared_) refuse_tile(nest.name, "the factor " + text(factor) + " is not a load from shared memory");
    const auto format = operand_format(load->type);
    if (!format)
        refuse_tile(nest.name, "the factor " + text(factor) +
                                   " is no number that tensor cores take: the rule is " + names_of_operand_formats());
    return {affine_index(nest, load->index), *format, 0};
}

Stmt TileArithmetic::promote(const Nest &nest, const WarpTile &tile, const WarpTile &partial,
                             const Load *load) const {
    check_same_tile(nest, tile, WarpTile::read(nest, nest.store->index));
    check_same_tile(nest, partial, WarpTile::read(nest, load->index));
    if (tile.rows != partial.rows || tile.columns != partial.columns || tile.groups != partial.groups ||
        tile.repeats != partial.repeats)
        refuse_tile(nest.name, "the two tiles differ in size");
    PlaceholderCall call = tile_call("promote", tile);
    call.fields["from"] = partial.id;
    return placeholder(call);
}

}  // namespace conv_transpose

// Tensor-core instructions as PTX text, and the layouts that they need.
//
// OPERANDS lie in shared memory as rows of 16 bytes: four consecutive k of one m (operand A) or one n
// (operand B); of 16-bit operands eight. Rows follow each other without gaps, so that row i is at base + 16 i, and the next four k
// are at base + K4:
//
//     byte       0    4    8   12 | 16   20   24   28 | 32 ...
//     k = 0..3   row 0            | row 1             | row 2 ...
//     K4 + byte  0    4    8   12 | 16   20   24   28 | 32 ...
//     k = 4..7   row 0            | row 1             | row 2 ...
//
// This is at once
//   - wgmma's K-major layout without swizzle: core matrices of 8 rows x 16 bytes; "stride offset" (from one group of 8
//     rows to the next) 128 bytes, "leading offset" (from one group of 4 k to the next) K4 bytes. Any row may be the
//     first, so moving a window over a staged picture is only another start address.
//   - what ldmatrix reads: 8 rows of 16 bytes a matrix, all 32 banks once, hence without conflicts.
// What a tensor map brings (compiler/passes/tensor_boxes.h) is wgmma's K-major layout with a swizzle: rows of 32, 64 or 128
// bytes, one after the other, of which the 16 bytes number g lie at place g ^ (address / 128 mod 2, 4 or 8). That is counted
// in addresses of shared memory, whatever the start; the next k begin 32 bytes further on.
//
// Operand B may also be groups of 8 rows at any constant distance (mma_n_group): that is the "stride offset"
// then.
//
// Operands of 16 bits may lie the other way, MN-major ("transposed"): 16 bytes are eight m of one k, the next k follows, and
// a core matrix is 8 k of 8 m. The leading offset again is from one group of 8 k to the next, the stride offset from one
// group of 8 m to the next. ldmatrix turns such a matrix on the way (.trans). What a tensor map brings, whose rows are
// runs of 16, 32 or 64 m of one k, is swizzled as above: then the leading offset is from one run to the next, the stride
// offset from one group of 8 k to the next.
//
// wgmma takes no operands of 32 bits that lie so, but its rows from registers. So where columns do, the tile is computed
// turned, columns x rows: columns are read element by element as wgmma's rows, and each of the four warps has some columns of
// all rows, which change hands when they are stored. Where rows do, too, both are read as fragments of mma.sync, of which a
// lane's two k may be any, if they are the same of both operands: here 2t and 2t+1 in place of t and t+4. Then lines that
// lanes read together are every second, whose swizzles differ: 4 x 32 bytes lie in all banks.
// Words of two neighbouring k of 16 bits are columns that lie so, too: a fragment of 16 bits has 2t and 2t+1, or 2t+8 and 2t+9, in
// the registers where one of 32 bits has t and t+4.
//
// ACCUMULATORS of a tile are 32-bit registers of kernel scope that LLVM never sees. Warp w of the warpgroup
// holds rows 16w..16w+15 of every 64 rows, for both instructions in the same layout (lane = 4 g + t):
//
//     register   4j       4j+1       4j+2      4j+3
//     row        g        g          g+8       g+8        (+ 16w + 64i)
//     column     8j+2t    8j+2t+1    8j+2t     8j+2t+1
//
// FRAGMENTS of mma.sync.m16n8k8, as ldmatrix delivers them (register: row, k):
//
//     A   a0: g, t    a1: g+8, t    a2: g, t+4    a3: g+8, t+4
//     B   b0: g, t    b1: g, t+4                                    (row of B = column of the tile)
//
// In m16n8k16, whose operands have 16 bits, each register holds k = 2t and 2t+1 in place of t, 2t+8 and 2t+9 in place
// of t+4.
//
// STORES. A warp's fragments are 8 rows x 32 bytes an instruction; written so, global memory sees quarters of
// lines. Each warp therefore turns 8 rows at a time through shared memory that the operands no longer need;
// the lowering pass stores from there, pairs of neighbouring elements, 256 bytes an instruction where rows
// begin on 8 bytes.
#include "compiler/ptx/tensor_core_instructions.h"

#include "compiler/passes/operand_format.h"
#include "compiler/passes/warpgroup.h"

namespace conv_transpose {

namespace {

/// What follows the shape in the name of a product: k and the types.
struct ProductType {
    explicit ProductType(const PlaceholderCall &call)
        : format(static_cast<OperandFormat>(call.field_or(format_field, 0))),
          name(named(format).ptx),
          k(rows_of_instruction_k * bytes_of_row / bytes_of(format)) {}
    OperandFormat format;
    std::string name;
    int k;
};

/// Register names of a tile. Tiles of 64 rows and repeats each have columns / 2 registers, in this order.
struct Tile {
    explicit Tile(const PlaceholderCall &call)
        : id(call.field("tile")), rows(call.field("m")), row_tiles(rows / rows_of_instruction), columns(call.field("n")),
          repeats(call.field("r")) {}
    int size() const { return rows * columns / (2 * rows_of_instruction) * repeats; }
    int first(int row_tile, int repeat) const { return (row_tile * repeats + repeat) * columns / 2; }
    std::string at(int index) const { return "%tc_tile" + std::to_string(id) + "_" + std::to_string(index); }
    std::string list(int begin, int count) const {
        std::string text = "{";
        for (int i = 0; i < count; i++) {
            text += (i ? "," : "") + at(begin + i);
        }
        return text + "}";
    }
    int id, rows, row_tiles, columns, repeats;
};

/// A tile whose columns are wgmma's rows, of which a lane has neighbours, `of_lane` of them: 0, 1 are rows g and g + 8 of the first
/// 64, 2 and 3 those of the next.
struct TileOfLines : Tile {
    explicit TileOfLines(const PlaceholderCall &call)
        : Tile(call), of_lane(columns / (warps_of_warpgroup * lanes_of_warp / 4)), taps(call.field_or("taps", 1)),
          rows_of_tap(rows / taps) {}
    /// The sum at a lane's column, and the second or first row of a pair, of eight of a tap.
    std::string sum(int column, int tap, int eight, int second) const {
        const int eight_of_all = tap * rows_of_tap / columns_of_group + eight;
        return at(column / 2 * rows / 2 + 4 * eight_of_all + column % 2 * 2 + second);
    }
    int of_lane, taps, rows_of_tap;
};

}  // namespace

void TensorCoreInstructions::clear(const PlaceholderCall &call, PtxWriter &out) {
    const Tile tile(call);
    accumulators_[tile.id] = tile.size();
    for (int i = 0; i < tile.size(); i++) {
        out.line("\tmov.f32 ", tile.at(i), ", 0f00000000;");
    }
}

void TensorCoreInstructions::promote(const PlaceholderCall &call, PtxWriter &out) const {
    const Tile to(call);
    Tile from(call);
    from.id = call.field("from");
    for (int i = 0; i < to.size(); i++) {
        out.line("\tadd.rn.f32 ", to.at(i), ", ", to.at(i), ", ", from.at(i), ";");
    }
}

namespace {

/// Values of 32 bits, or words of two (compiler/passes/pair_products.h).
bool has_words(const PlaceholderCall &call) {
    return ProductType(call).format == OperandFormat::float32 || call.field_or("pairs", 0);
}

}  // namespace

void TensorCoreInstructions::announce(const PlaceholderCall &multiply) {
    const bool columns = has_words(multiply) && multiply.field_or("bt", 0),
               rows = has_words(multiply) && multiply.field_or("at", 0);
    asynchronous_ = asynchronous_ || (wgmma_ && !rows);
    in_lines_ = in_lines_ || multiply.field_or("bl", 0) > 0;
    turned_ = turned_ || (wgmma_ && columns && !rows) || in_lines_;
}

void TensorCoreInstructions::multiply(const CallSite &site, PtxWriter &out) const {
    if (in_lines_) multiply_lines(site, out);
    else if (turned_) multiply_turned(site, out);
    else if (site.call.field_or("halves", 0)) multiply_halves(site, out);
    else if (has_words(site.call) && site.call.field_or("at", 0)) multiply_fragments(site, out);
    else wgmma_ ? multiply_wgmma(site, out) : multiply_mma_sync(site, out);
}

void TensorCoreInstructions::multiply_wgmma(const CallSite &site, PtxWriter &out) const {
    const PlaceholderCall &call = site.call;
    const Tile tile(call);
    const int a_k4 = call.field("ak"), b_k4 = call.field("bk"), b_repeat = call.field("br");
    const int first = call.field("row");
    const ProductType type(call);
    // Operands are K-major, or transposed, which those of 16 bits may be.
    const std::string transposed =
        type.format == OperandFormat::float32
            ? ""
            : ", " + std::to_string(call.field_or("at", 0)) + ", " + std::to_string(call.field_or("bt", 0));
    const int a_swizzle = call.field_or("asw", 0), b_swizzle = call.field_or("bsw", 0);
    const int a_group = call.field_or("as", columns_of_group * (a_swizzle ? a_swizzle : bytes_of_row));
    // Descriptor, in units of 16 bytes: start address at bit 0, leading offset at bit 16 (swizzled rows have none), stride
    // offset at bit 32; the swizzle at bit 62.
    const bool a_turned = call.field_or("at", 0), b_turned = call.field_or("bt", 0);
    const auto descriptor = [&](const char *name, const std::string &start, int k4, int group, int offset,
                                int swizzle, bool turned) {
        const int leading = !swizzle ? k4 / bytes_of_row : turned ? group / bytes_of_row : 1;
        out.line("add.u32 low, ", start, ", ", (leading << 16) + offset / bytes_of_row,
                 at_base_ ? "; add.u32 low, low, %tc_begin; mov.b64 " : "; mov.b64 ", name, ", {low, high_", name, "};");
    };
    const auto upper_half = [](int stride, int swizzle) {
        const int64_t kind = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
        return stride / bytes_of_row + (kind << 30);
    };
    out.line("{ .reg .b32 low, high_a, high_b; .reg .b64 a, b; .reg .pred accumulate;");
    const int b_group = call.field("bs");
    out.line("setp.eq.u32 accumulate, 0, 0; mov.b32 high_a, ", upper_half(a_swizzle && a_turned ? a_k4 : a_group, a_swizzle),
             "; mov.b32 high_b, ", upper_half(b_swizzle && b_turned ? b_k4 : b_group, b_swizzle), ";");
    const int a_run = a_swizzle && a_turned ? a_swizzle / 2 : columns_of_group;  // rows of the tile
    for (int k = 0; k < call.field("k") / type.k; k++) {
        for (int r = 0; r < tile.repeats; r++) {
            descriptor("b", site.arguments.at(1), b_k4, b_group, 2 * k * b_k4 + r * b_repeat, b_swizzle, b_turned);
            for (int i = 0; i < tile.row_tiles; i++) {
                descriptor("a", site.arguments.at(0), a_k4, a_group, 2 * k * a_k4 + i * rows_of_instruction / a_run * a_group,
                           a_swizzle, a_turned);
                out.line("wgmma.mma_async.sync.aligned.m64n", tile.columns, "k", type.k, ".f32.",
                         type.name, ".", type.name, " ", tile.list(tile.first(first + i, r), tile.columns / 2),
                         ", a, b, accumulate, 1, 1", transposed, ";");
            }
        }
    }
    out.line("}");
}

namespace {

void place_fragments(const CallSite &site, int a_k4, int a_group, int b_k4, int b_group, bool a_transposed, PtxWriter &out) {
    // ldmatrix takes the address of one 16-byte row from every lane: lanes 0..7 for the first matrix, and so
    // on.
    out.line("mov.u32 lane, %tid.x;");
    if (a_transposed) {
        out.line("and.b32 row, lane, 7; add.u32 a_at, row, ", site.arguments.at(0), "; shl.b32 a_at, a_at, 4;");
        out.line(
            "mov.u32 part, %tid.y; shl.b32 part, part, 1; shr.u32 row, lane, 3; and.b32 row, row, 1; add.u32 "
            "row, row, part;");
        out.line("mad.lo.u32 a_at, row, ", a_group, ", a_at; shr.u32 part, lane, 4; mad.lo.u32 a_at, part, ",
                 a_k4, ", a_at;");
    } else {
        out.line(
            "and.b32 row, lane, 15; mov.u32 part, %tid.y; mad.lo.u32 row, part, 16, row; shr.u32 part, lane, 4;");
        out.line("add.u32 a_at, row, ", site.arguments.at(0), "; shl.b32 a_at, a_at, 4; mad.lo.u32 a_at, part, ",
                 a_k4, ", a_at;");
    }
    out.line("and.b32 row, lane, 7; add.u32 b_at, row, ", site.arguments.at(1), "; shl.b32 b_at, b_at, 4;");
    out.line("mad.lo.u32 b_at, part, ", b_group, ", b_at; shr.u32 part, lane, 3; and.b32 part, part, 1;");
    out.line("mad.lo.u32 b_at, part, ", b_k4, ", b_at;");
}

}  // namespace

void TensorCoreInstructions::multiply_mma_sync(const CallSite &site, PtxWriter &out) const {
    const PlaceholderCall &call = site.call;
    const Tile tile(call);
    const int a_k4 = call.field("ak"), b_k4 = call.field("bk"), b_repeat = call.field("br");
    const int fragments = tile.columns / columns_of_group;
    const int b_group = call.field("bs"), first = call.field("row");
    const bool a_transposed = call.field_or("at", 0);
    const int a_group = call.field_or("as", columns_of_group * bytes_of_row);
    const char *const b_turn = call.field_or("bt", 0) ? ".trans" : "";
    const ProductType type(call);
    if (call.field_or("asw", 0) || call.field_or("bsw", 0))
        throw PtxExpansionError(
            "PTX expansion: operands that come by a tensor map are multiplied by wgmma, which only sm_90a "
            "has");
    out.line("{ .reg .b32 lane, row, part, a_at, b_at, a<", 4 * tile.row_tiles, ">, b<4>;");
    place_fragments(site, a_k4, a_group, b_k4, b_group, a_transposed, out);
    for (int k = 0; k < call.field("k") / type.k; k++) {
        for (int i = 0; i < tile.row_tiles; i++) {
            out.line("ldmatrix.sync.aligned.m8n8.x4", a_transposed ? ".trans" : "", ".shared.b16 {a", 4 * i,
                     ",a", 4 * i + 1, ",a", 4 * i + 2, ",a", 4 * i + 3, "}, [a_at+",
                     2 * k * a_k4 + i * rows_of_instruction / columns_of_group * a_group, "];");
        }
        for (int r = 0; r < tile.repeats; r++) {
            for (int j = 0; j < fragments; j += 2) {
                const bool pair = j + 1 < fragments;
                out.line("ldmatrix.sync.aligned.m8n8.", pair ? "x4" : "x2", b_turn, ".shared.b16 ",
                         pair ? "{b0,b1,b2,b3}" : "{b0,b1}", ", [b_at+",
                         2 * k * b_k4 + r * b_repeat + j * b_group, "];");
                for (int half = 0; half < (pair ? 2 : 1); half++) {
                    for (int i = 0; i < tile.row_tiles; i++) {
                        const std::string sums = tile.list(tile.first(first + i, r) + 4 * (j + half), 4);
                        out.line("mma.sync.aligned.m16n8k", type.k, ".row.col.f32.", type.name, ".",
                                 type.name, ".f32 ", sums, ", {a", 4 * i, ",a", 4 * i + 1, ",a", 4 * i + 2,
                                 ",a", 4 * i + 3, "}, {b", 2 * half, ",b", 2 * half + 1, "}, ", sums, ";");
                    }
                }
            }
        }
    }
    out.line("}");
}

// An element's place among the first eight k and `rows` rows of a run of a transposed operand, and those of further rows, eight
// each, and of another k, which lies in a line so many further.
namespace {

constexpr int line = 128, run = line / 4, lines = 8 * line;  // bytes of memory and values in them; all k of an instruction

void place_elements(const std::string &name, const std::string &operand, int rows, int first_k, int other_k, const char *shift,
                    PtxWriter &out) {
    out.line("shr.u32 part, g, 2; mul.lo.u32 at, t, ", first_k,
             "; xor.b32 part, part, at; shl.b32 part, part, 4; mad.lo.u32 at, t, ", first_k * line,
             ", part; and.b32 part, g, 3; mad.lo.u32 at, part, 4, at; ", shift);
    for (int i = 0; i < 2 * rows; i++)
        out.line("xor.b32 part, at, ", i / 2 * 2 * bytes_of_row + i % 2 * other_k * (line + bytes_of_row), "; mad.lo.u32 ", name, i,
                 ", ", operand, ", 16, part;");
}

/// Of warps that have 16 rows each.
constexpr const char *to_rows_of_warp = "and.b32 part, warp, 1; shl.b32 part, part, 6; xor.b32 at, at, part;";

}  // namespace

// Both operands are transposed.
void TensorCoreInstructions::multiply_fragments(const CallSite &site, PtxWriter &out) const {
    const PlaceholderCall &call = site.call;
    const Tile tile(call);
    const int a_group = call.field("as"), b_group = call.field("bs"), first = call.field("row");
    if (!call.field_or("bt", 0) || call.field_or("bsw", 0) != line || call.field_or("asw", 0) != line || tile.repeats > 1)
        throw PtxExpansionError(
            "PTX expansion: of operands of 32 bits, rows are transposed in lines of 128 bytes, and columns are not");
    out.line("{ .reg .b32 g, t, warp, at, part, a_at<4>, b_at<8>, a<", 4 * tile.row_tiles, ">, b<2>;");
    out.line("mov.u32 t, %tid.x; shr.u32 g, t, 2; and.b32 t, t, 3; mov.u32 warp, %tid.y;");
    place_elements("b_at", site.arguments.at(1), run / columns_of_group, 2, 1, "", out);
    place_elements("a_at", site.arguments.at(0), 2, 2, 1, to_rows_of_warp, out);
    out.line("shr.u32 warp, warp, 1;");
    for (int i = 0; i < 4; i++) out.line("mad.lo.u32 a_at", i, ", warp, ", a_group, ", a_at", i, ";");
    for (int k = 0; k < call.field("k") / ProductType(call).k; k++) {
        for (int i = 0; i < 4 * tile.row_tiles; i++)
            out.line("ld.shared.b32 a", i, ", [a_at", i % 2 * 2 + i / 2 % 2, "+",
                     k * lines + i / 4 * (rows_of_instruction / run) * a_group, "];");
        for (int j = 0; j < tile.columns / columns_of_group; j++) {
            const int in_run = j % (run / columns_of_group), at = k * lines + j * columns_of_group / run * b_group;
            for (int second = 0; second < 2; second++)
                out.line("ld.shared.b32 b", second, ", [b_at", 2 * in_run + second, "+", at, "];");
            for (int i = 0; i < tile.row_tiles; i++) {
                const std::string sums = tile.list(tile.first(first + i, 0) + 4 * j, 4);
                out.line("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ", sums, ", {a", 4 * i, ",a", 4 * i + 1, ",a",
                         4 * i + 2, ",a", 4 * i + 3, "}, {b0,b1}, ", sums, ";");
            }
        }
    }
    out.line("}");
}

// The tile's columns are wgmma's rows, of which it takes fragments from registers, and the other way around: sums of a column
// are in one warp.
void TensorCoreInstructions::multiply_turned(const CallSite &site, PtxWriter &out) const {
    const PlaceholderCall &call = site.call;
    const Tile tile(call);
    const int k4 = call.field("ak"), group = call.field("bs"), swizzle = call.field_or("asw", 0);
    const ProductType type(call);
    const int steps = call.field("k") / type.k, parts = tile.columns / rows_of_instruction, rows = call.field("m");
    if (call.field("bsw") != line || tile.repeats > 1 || call.field("row") != 0 || tile.columns % rows_of_instruction != 0)
        throw PtxExpansionError("PTX expansion: columns of 32 bits lie in lines of 128 bytes, and fill sets of 64");
    out.line("{ .reg .b32 g, t, warp, at, part, at_<4>, a<", 4 * steps * parts,
             ">, low, high; .reg .b64 b; .reg .pred accumulate;");
    out.line("mov.u32 t, %tid.x; shr.u32 g, t, 2; and.b32 t, t, 3; mov.u32 warp, %tid.y;");
    place_elements("at_", site.arguments.at(1), 2, 1, 4, to_rows_of_warp, out);
    out.line("shr.u32 warp, warp, 1;");
    for (int i = 0; i < 4; i++) out.line("mad.lo.u32 at_", i, ", warp, ", group, ", at_", i, ";");
    const int of_eight = columns_of_group * (swizzle ? swizzle : bytes_of_row);
    out.line("setp.eq.u32 accumulate, 0, 0; mov.b32 high, ",
             of_eight / bytes_of_row + (int64_t{swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0} << 30), ";");
    // Half of the fragments are loaded while the others are multiplied.
    for (int half = 0; half < 2; half++) {
        const int begin = half * steps / 2, end = (half + 1) * steps / 2;
        if (half > 0) out.line("wgmma.commit_group.sync.aligned;");
        out.line("wgmma.wait_group.sync.aligned 1;");
        for (int k = begin; k < end; k++)
            for (int i = 0; i < 4 * parts; i++)
                out.line("ld.shared.b32 a", 4 * k * parts + i, ", [at_", i % 2 * 2 + i / 2 % 2, "+",
                         k * lines + i / 4 * (rows_of_instruction / run) * group, "];");
        out.line("wgmma.fence.sync.aligned;");
        for (int k = begin; k < end; k++) {
            out.line("add.u32 low, ", site.arguments.at(0), ", ",
                     ((swizzle ? 1 : k4 / bytes_of_row) << 16) + 2 * k * k4 / bytes_of_row,
                     at_base_ ? "; add.u32 low, low, %tc_begin; mov.b64 b, {low, high};" : "; mov.b64 b, {low, high};");
            for (int part = 0; part < parts; part++) {
                const int a = 4 * (k * parts + part);
                out.line("wgmma.mma_async.sync.aligned.m64n", rows, "k", type.k, ".f32.", type.name, ".", type.name,
                         " ", tile.list(part * rows / 2, rows / 2), ", {a", a, ",a", a + 1, ",a", a + 2, ",a", a + 3,
                         "}, b, accumulate, 1, 1", type.format == OperandFormat::float32 ? ";" : ", 0;");
            }
        }
    }
    out.line("}");
}

// Likewise of columns that lie side by side, so many behind each other that a lane loads all that it has of a k at once. Of 16
// bits neighbouring k share a register. Registers of one step are loaded while the one before is multiplied.
void TensorCoreInstructions::multiply_lines(const CallSite &site, PtxWriter &out) const {
    const PlaceholderCall &call = site.call;
    const TileOfLines tile(call);
    const ProductType type(call);
    const int line = call.field("bl"), k4 = call.field("ak"), swizzle = call.field_or("asw", 0);
    const int steps = call.field("k") / type.k, of_lane = tile.of_lane, bytes = bytes_of(type.format);
    const bool is_float = type.format == OperandFormat::float32;
    if (!wgmma_ || at_base_ || tile.repeats > 1 || call.field("row") != 0 || call.field_or("at", 0))
        throw PtxExpansionError("PTX expansion: lines of columns are multiplied by wgmma, with rows from shared memory");
    out.line("{ .reg .b32 g, t, at, low, high, a<", 4 * of_lane, ">, w<", 2 * of_lane,
             ">; .reg .b64 b; .reg .pred accumulate;");
    out.line("mov.u32 t, %tid.x; shr.u32 g, t, 2; and.b32 t, t, 3; mov.u32 at, %tid.y; mad.lo.u32 g, at, ", columns_of_group,
             ", g; mul.lo.u32 at, ", site.arguments.at(1), ", 16; mad.lo.u32 at, g, ", of_lane * bytes, ", at; mad.lo.u32 at, t, ",
             line * 4 / bytes, ", at;");
    const int of_eight = columns_of_group * (swizzle ? swizzle : bytes_of_row);
    out.line("setp.eq.u32 accumulate, 0, 0; mov.b32 high, ",
             of_eight / bytes_of_row + (int64_t{swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0} << 30), ";");
    const auto list = [](const char *name, int first, int count) {
        std::string text = count > 1 ? "{" : "";
        for (int i = 0; i < count; i++) text += (i ? "," : "") + std::string(name) + std::to_string(first + i);
        return text + (count > 1 ? "}" : "");
    };
    const auto load = [&](const char *name, int first, int words, int k) {
        out.line("ld.shared.", words == 4 ? "v4." : words == 2 ? "v2." : "", "b32 ", list(name, first, words), ", [at+", k * line,
                 "];");
    };
    for (int step = 0; step < steps; step++) {
        const int first = step % 2 * 2 * of_lane, k = step * type.k, words = of_lane / 2;  // of 16 bits
        if (step > 0) out.line("wgmma.commit_group.sync.aligned;");
        for (int i = 0; !is_float && i < 4; i++) load("w", i * words, words, k + i / 2 * 8 + i % 2);
        out.line("wgmma.wait_group.sync.aligned 1;");
        for (int half = 0; half < 2; half++) {
            if (is_float) load("a", first + half * of_lane, of_lane, k + 4 * half);
            for (int i = 0; !is_float && i < of_lane; i++)
                out.line("prmt.b32 a", first + half * of_lane + i, ", w", 2 * half * words + i / 2, ", w",
                         (2 * half + 1) * words + i / 2, i % 2 ? ", 0x7632;" : ", 0x5410;");
        }
        out.line("wgmma.fence.sync.aligned; add.u32 low, ", site.arguments.at(0), ", ",
                 ((swizzle ? 1 : k4 / bytes_of_row) << 16) + 2 * step * k4 / bytes_of_row, "; mov.b64 b, {low, high};");
        for (int part = 0; part < of_lane / 2; part++) {
            const int a = first + 2 * part;
            out.line("wgmma.mma_async.sync.aligned.m64n", tile.rows, "k", type.k, ".f32.", type.name, ".", type.name, " ",
                     tile.list(part * tile.rows / 2, tile.rows / 2), ", {a", a, ",a", a + 1, ",a", a + of_lane, ",a",
                     a + of_lane + 1, "}, b, accumulate, 1, 1", is_float ? ";" : ", 0;");
        }
    }
    out.line("}");
}

// What a tap adds to is as many columns further as it is behind the centre: taps behind it go right, from the last on, each to the
// sums of the one before; those before it left, from the first on. They go to columns of the lane's own, of a neighbouring lane's, or
// of a neighbouring warp's: of those the centre's sums get what they lack at last, by shared memory.
void TensorCoreInstructions::add_shifted(const CallSite &site, const std::string &label, PtxWriter &out) const {
    const PlaceholderCall &call = site.call;
    const TileOfLines tile(call);
    if (!in_lines_ || tile.taps * tile.rows_of_tap > rows_per_turn * call.field("pitch"))
        throw PtxExpansionError("PTX expansion: taps that are rows are added in tiles of lines of columns, as far as there is room");
    out.line("{ .reg .b32 at, warp, lane, first, second, moved<", tile.rows_of_tap / 4,
             ">; .reg .pred there, is_first, is_last, is_mine;");
    out.line("mov.u32 at, %tid.z; mov.u32 warp, %tid.y; mad.lo.u32 at, at, ", warps_of_warpgroup, ", warp; mov.u32 lane, %tid.x; "
             "and.b32 first, lane, 3; shl.b32 first, first, 3; mad.lo.u32 at, at, ", 4 * rows_per_turn * call.field("pitch"),
             ", first; shr.u32 lane, lane, 2; setp.eq.u32 is_first, lane, 0; setp.eq.u32 is_last, lane, 7;");
    for (int centre = 0; centre < tile.taps; centre++) {
        out.line("setp.ne.s32 there, ", site.arguments.at(0), ", ", centre, "; @there bra.uni ", label, "_", centre, ";");
        add_shifted_to(centre, call, out);
        out.line("bra.uni ", label, ";");
        out.line(label, "_", centre, ":");
    }
    out.line(label, ":");
    meet(out);
    out.line("}");
}

void TensorCoreInstructions::add_shifted_to(int centre, const PlaceholderCall &call, PtxWriter &out) const {
    const TileOfLines tile(call);
    const int of_warp = 4 * rows_per_turn * call.field("pitch"), last = tile.of_lane - 1, eights = tile.rows_of_tap / columns_of_group;
    const auto place = [&](int tap, int eight) {
        return call.field_or("at", 0) + 4 * (tap * tile.rows_of_tap + columns_of_group * eight);
    };
    const auto add = [&](const std::string &to, const std::string &sum, const char *where) {
        out.line(where, "add.rn.f32 ", to, ", ", to, ", ", sum, ";");
    };
    // All are under way before the first is added.
    const auto move = [&](int tap, int to) {
        const int from_column = to < tap ? last : 0;  // which leaves the lane
        for (int eight = 0; eight < eights; eight++) {
            for (int second = 0; second < 2; second++)
                out.line("shfl.sync.", to < tap ? "up" : "down", ".b32 moved", 2 * eight + second, ", ",
                         tile.sum(from_column, tap, eight, second), ", 4, ", to < tap ? "0" : "31", ", 0xffffffff;");
            out.line(to < tap ? "@is_last" : "@is_first", " st.shared.v2.f32 [at+", place(tap, eight), "], {",
                     tile.sum(from_column, tap, eight, 0), ",", tile.sum(from_column, tap, eight, 1), "};");
        }
        for (int eight = 0; eight < eights; eight++)
            for (int second = 0; second < 2; second++) {
                for (int column = 0; column < last; column++)
                    if (to < tap) add(tile.sum(column + 1, to, eight, second), tile.sum(column, tap, eight, second), "");
                    else add(tile.sum(column, to, eight, second), tile.sum(column + 1, tap, eight, second), "");
                add(tile.sum(last - from_column, to, eight, second), "moved" + std::to_string(2 * eight + second),
                    to < tap ? "@!is_first " : "@!is_last ");
            }
    };
    for (int tap = tile.taps - 1; tap > centre; tap--) move(tap, tap - 1);
    for (int tap = 0; tap < centre; tap++) move(tap, tap + 1);
    meet(out);
    // Of the warpgroup's first and last columns nothing comes: they are not stored.
    const auto from_neighbour = [&](int tap, int column, int neighbour) {
        for (int eight = 0; eight < eights; eight++) {
            out.line("@is_mine ld.shared.v2.b32 {first, second}, [at+", place(tap, eight) + neighbour * of_warp, "];");
            add(tile.sum(column, centre, eight, 0), "first", "@is_mine ");
            add(tile.sum(column, centre, eight, 1), "second", "@is_mine ");
        }
    };
    const auto of_warp_but = [&](int lane, const char *but) {
        out.line("setp.eq.u32 is_mine, lane, ", lane, "; setp.ne.u32 there, warp, ", but, "; and.pred is_mine, is_mine, there;");
    };
    for (int tap = centre + 1; tap < tile.taps; tap++) {
        const int column = tap - centre - 1;
        of_warp_but(column / tile.of_lane, "0");
        from_neighbour(tap, column % tile.of_lane, -1);
    }
    for (int tap = centre - 1; tap >= 0; tap--) {
        const int column = centre - 1 - tap;
        of_warp_but(columns_of_group - 1 - column / tile.of_lane, "3");
        from_neighbour(tap, last - column % tile.of_lane, 1);
    }
    for (int eight = 0; centre > 0 && eight < eights; eight++)
        for (int second = 0; second < 2; second++)
            for (int column = 0; column < tile.of_lane; column++)
                out.line("mov.f32 ", tile.sum(column, 0, eight, second), ", ", tile.sum(column, centre, eight, second), ";");
}

void TensorCoreInstructions::read_sum(const CallSite &site, PtxWriter &out) const {
    if (!in_lines_) throw PtxExpansionError("PTX expansion: lanes have sums that they store of tiles of lines of columns");
    const PlaceholderCall &call = site.call;
    out.line("\tmov.f32 ", site.result, ", ",
             TileOfLines(call).sum(call.field("column"), 0, call.field("eight"), call.field("second")), ";");
}

// Every warp has some columns of the rows that each stores: two neighbouring rows, of each of which a lane has neighbours.
void TensorCoreInstructions::turn_lines(const PlaceholderCall &call, PtxWriter &out) const {
    const TileOfLines tile(call);
    const int pitch = 4 * call.field("pitch");
    if (call.field("tiles") != 1 || call.field_or(format_field, 0) != 0 || call.field_or("rows", rows_per_turn) != rows_per_turn)
        throw PtxExpansionError("PTX expansion: sums of lines of columns are stored one tile at a time, in runs");
    out.line("{ .reg .b32 at, part, lane; mov.u32 lane, %tid.x; mov.u32 part, %tid.z; and.b32 at, lane, 3; shl.b32 at, at, 1; "
             "mad.lo.u32 at, part, ", warps_of_warpgroup * rows_per_turn, ", at; mul.lo.u32 at, at, ", pitch,
             "; mov.u32 part, %tid.y; shr.u32 lane, lane, 2; mad.lo.u32 lane, part, ", columns_of_group, ", lane; mad.lo.u32 at, lane, ",
             4 * tile.of_lane, ", at;");
    for (int warp = 0; warp < warps_of_warpgroup; warp++)
        for (int second = 0; second < 2; second++) {
            const int row = call.field("row") * rows_of_instruction + warp * rows_of_warp_and_set + call.field("half") * rows_per_turn;
            std::string sums;
            for (int column = 0; column < tile.of_lane; column++)
                sums += (column ? "," : "") + tile.sum(column, 0, row / columns_of_group, second);
            out.line("st.shared.v", tile.of_lane, ".f32 [at+", call.field_or("at", 0) + (warp * rows_per_turn + second) * pitch, "], {",
                     sums, "};");
        }
    meet(out);
    out.line("}");
}

// Rows are of words, of which every thread loads two neighbours at once, and takes the halves that its warpgroup multiplies: so a
// register has two neighbours of what is summed over. Lanes of odd rows begin with the later half of a line, so that 16 lanes read
// all banks.
void TensorCoreInstructions::multiply_halves(const CallSite &site, PtxWriter &out) const {
    const PlaceholderCall &call = site.call;
    const Tile tile(call);
    const ProductType type(call);
    const int swizzle = call.field("bsw"), steps = call.field("k") / type.k, of_step = type.k * bytes_of(type.format);
    if (!wgmma_ || at_base_ || steps != 2)
        throw PtxExpansionError("PTX expansion: halves of words are multiplied by wgmma, of lines of 32 words, without clusters");
    out.line("{ .reg .b32 g, t, at, part, halves, at_<4>, w<16>, a<8>, low, high; .reg .b64 b; .reg .pred accumulate, odd;");
    out.line("mov.u32 t, %tid.x; shr.u32 g, t, 2; and.b32 t, t, 3; mad.lo.u32 halves, ", site.arguments.at(2), ", 0x2222, 0x5410;");
    out.line("mov.u32 at, %tid.y; mad.lo.u32 at, at, ", rows_of_warp_and_set, ", g; shl.b32 at, at, 3; add.u32 at, at, ",
             site.arguments.at(0), "; shl.b32 at, at, 4; and.b32 part, t, 1; mad.lo.u32 at, part, 8, at;");
    out.line(
        "and.b32 low, g, 1; setp.ne.u32 odd, low, 0; shl.b32 low, low, 2; shr.u32 part, t, 1; xor.b32 part, part, g; xor.b32 part, "
        "part, low;");
    for (int i = 0; i < 4; i++)
        out.line("xor.b32 low, part, ", 2 * i, "; mad.lo.u32 at_", i, ", low, 16, at;");
    out.line("setp.eq.u32 accumulate, 0, 0; mov.b32 high, ",
             columns_of_group * swizzle / bytes_of_row + (int64_t{swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3} << 30), ";");
    // Of a step, its first and its last eight k, of row g and of row g + 8.
    for (int i = 0; i < 4; i++)
        for (int row = 0; row < 2; row++)
            out.line("ld.shared.v2.b32 {w", 4 * i + 2 * row, ",w", 4 * i + 2 * row + 1, "}, [at_", i, "+",
                     row * columns_of_group * line, "];");
    for (int i = 0; i < 8; i++) out.line("prmt.b32 w", 2 * i, ", w", 2 * i, ", w", 2 * i + 1, ", halves;");
    // Products of the chunk before read the registers that follow.
    out.line("wgmma.wait_group.sync.aligned 0;");
    for (int i = 0; i < 4; i++)
        out.line("selp.b32 a", i, ", w", 2 * i + 8, ", w", 2 * i, ", odd; selp.b32 a", i + 4, ", w", 2 * i, ", w",
                 2 * i + 8, ", odd;");
    out.line("wgmma.fence.sync.aligned;");
    for (int k = 0; k < steps; k++) {
        out.line("add.u32 low, ", site.arguments.at(1), ", ", (1 << 16) + k * of_step / bytes_of_row, "; mov.b64 b, {low, high};");
        const int a = 4 * k;
        out.line("wgmma.mma_async.sync.aligned.m64n", tile.columns, "k", type.k, ".f32.", type.name, ".", type.name, " ",
                 tile.list(tile.first(call.field("row"), 0), tile.columns / 2), ", {a", a, ",a", a + 1, ",a", a + 2, ",a", a + 3,
                 "}, b, accumulate, 1, 1, 0;");
    }
    out.line("}");
}

// Every warp has some columns of the rows that each stores. Those of 16 bits change hands, so that lanes have neighbours of a row.
void TensorCoreInstructions::turn_turned(const PlaceholderCall &call, PtxWriter &out) const {
    const Tile tile(call);
    const int pitch = 4 * call.field("pitch"), rows = call.field_or("rows", rows_per_turn);
    if (call.field("tiles") != 1)
        throw PtxExpansionError("PTX expansion: sums of columns that are wgmma's rows are stored one tile at a time");
    const ProductType type(call);
    const bool is_float = type.format == OperandFormat::float32;
    const int set = call.field("row"), half = call.field("half");
    const int first_row = rows == rows_per_turn ? 0 : set * rows_of_warp_and_set + half * rows_per_turn;
    out.line("{ .reg .b32 at, part, column, word; mov.u32 at, %tid.x; ",
             is_float ? "shr.u32 column, at, 2; and.b32 at, at, 3; shl.b32 at, at, 1;"
                      : "and.b32 column, at, 3; shl.b32 column, column, 1; shr.u32 at, at, 2;");
    out.line("mov.u32 part, %tid.z; mad.lo.u32 at, part, ", 4 * rows, ", at; mul.lo.u32 at, at, ", pitch,
             "; mov.u32 part, %tid.y; mad.lo.u32 column, part, 16, column; mad.lo.u32 at, column, ",
             bytes_of(type.format), ", at;");
    const int begin = call.field_or("at", 0) + first_row * pitch;
    for (int warp = 0; warp < warps_of_warpgroup; warp++)
        for (int part = 0; part < tile.columns / rows_of_instruction; part++) {
            const int eight = (set * rows_of_instruction + warp * rows_of_warp_and_set + half * rows_per_turn) / columns_of_group;
            for (int i = 0; i < 4; i += is_float ? 1 : 2) {
                const int column = part * rows_of_instruction + i / 2 * columns_of_group;
                const int at = begin + (warp * rows + i % 2) * pitch + column * bytes_of(type.format);
                const int sum = part * call.field("m") / 2 + 4 * eight + i;
                if (is_float) out.line("st.shared.f32 [at+", at, "], ", tile.at(sum), ";");
                else out.line("cvt.rn.", type.name, "x2.f32 word, ", tile.at(sum + 1), ", ", tile.at(sum),
                              "; movmatrix.sync.aligned.m8n8.trans.b16 word, word; st.shared.b32 [at+", at, "], word;");
            }
        }
    meet(out);
    out.line("}");
}

void TensorCoreInstructions::end_turn(PtxWriter &out) const { meet(out); }

void TensorCoreInstructions::meet(PtxWriter &out) const {
    if (!turned_) out.line("bar.warp.sync 0xffffffff;");
    else
        out.line("{ .reg .b32 barrier; mov.u32 barrier, %tid.z; sub.u32 barrier, 15, barrier; bar.sync barrier, ",
                 4 * lanes_of_warp, "; }");
}

void TensorCoreInstructions::turn(const PlaceholderCall &call, PtxWriter &out) const {
    if (in_lines_) return turn_lines(call, out);
    if (turned_) return turn_turned(call, out);
    const Tile tile(call);
    const int pitch = 4 * call.field("pitch"), tiles = call.field("tiles");
    out.line("{ .reg .b32 lane, group, mine;");
    out.line(
        "mov.u32 mine, %tid.z; mov.u32 lane, %tid.y; mad.lo.u32 mine, mine, 4, lane; mov.u32 lane, %tid.x;");
    // A warp has so many rows in shared memory: all of its rows, or 8 of them.
    const int rows = call.field_or("rows", rows_per_turn);
    const int first_row = rows == rows_per_turn
                              ? 0
                              : call.field("row") * rows_of_warp_and_set + call.field("half") * rows_per_turn;
    out.line("shr.u32 group, lane, 2; and.b32 lane, lane, 3; mad.lo.u32 group, mine, ", rows,
             ", group;", first_row ? " add.u32 group, group, " + std::to_string(first_row) + ";" : "");
    const int begin = call.field_or("at", 0);  // bytes, where stages lie before
    const bool is_float = call.field_or(format_field, 0) == 0;  // or what it is converted to
    out.line("mul.lo.u32 mine, group, ", pitch, "; mad.lo.u32 mine, lane, ", is_float ? 8 * tiles : 4, ", mine;",
             begin ? " add.u32 mine, mine, " + std::to_string(begin) + ";" : "");
    // Halves of every second 128 bytes change places, where lanes are to read 32 bytes each: see tile_rows.cpp.
    const bool swapped = call.field_or("swapped", 0) != 0;
    if (swapped) out.line("xor.b32 lane, mine, 16;");
    const auto pair = [&](int row_tile, int j) {
        return tile.first(row_tile, call.field("rep")) + 2 * call.field("half") + 4 * j;
    };
    for (int j = 0; j < tile.columns / columns_of_group; j++) {
        const int first = pair(call.field("row"), j), second = tiles == 2 ? pair(1, j) : 0;
        if (!is_float) {
            out.line("cvt.rn.", ProductType(call).name, "x2.f32 lane, ", tile.at(first + 1), ", ", tile.at(first),
                     "; st.shared.b32 [mine+", 16 * j, "], lane;");
        } else if (tiles == 2) {
            out.line("st.shared.v4.f32 [mine+", 64 * j, "], {", tile.at(first), ",", tile.at(second), ",",
                     tile.at(first + 1), ",", tile.at(second + 1), "};");
        } else {
            out.line("st.shared.v2.f32 [", swapped && j / 4 % 2 ? "lane+" : "mine+", 32 * j, "], {", tile.at(first), ",",
                     tile.at(first + 1), "};");
        }
    }
    meet(out);
    out.line("}");
}

// A lane adds four neighbouring floats, in the order of the blocks, whose loads are all under way at once. The more blocks there
// are the fewer rounds a warp's own rows take: later rounds ask for no more blocks than may come to them.
void TensorCoreInstructions::add_of_cluster(const CallSite &site, PtxWriter &out) const {
    if (!wgmma_ || in_lines_) throw PtxExpansionError("PTX expansion: only sm_90a has clusters, which add what is no taps' sums");
    constexpr int most_blocks = 8, fours = 4;
    const int pitch = 4 * site.call.field("pitch"), of_row = site.call.field("n") / fours, rows = site.call.field("rows");
    const auto rounds_of = [&](int blocks) {
        const int own_rows = (rows + blocks - 1) / blocks;
        return (of_row * own_rows + lanes_of_warp - 1) / lanes_of_warp;
    };
    const auto four = [&](int block) {
        std::string list;
        for (int i = 0; i < fours; i++) list += (i ? "," : "{") + std::string("part") + std::to_string(fours * block + i);
        return list + "}";
    };
    out.line("{ .reg .b32 next, end, rows, row, column, at, there; .reg .f32 part<", fours * most_blocks,
             ">; .reg .pred own, block<", most_blocks, ">;");
    out.line("mov.u32 next, %tid.x; mad.lo.u32 next, ", site.arguments.at(0), ", ", of_row, ", next; mul.lo.u32 end, ",
             site.arguments.at(1), ", ", of_row, ";");
    out.line("mov.u32 rows, %tid.z; mov.u32 row, %tid.y; mad.lo.u32 rows, rows, ", warps_of_warpgroup,
             ", row; mul.lo.u32 rows, rows, ", rows, ";");
    int blocks = most_blocks;
    for (int i = 0; i < rounds_of(2); i++) {
        while (rounds_of(blocks) <= i) blocks--;
        out.line("setp.lt.u32 own, next, end; div.u32 row, next, ", of_row, "; mul.lo.u32 column, row, ", of_row,
                 "; sub.u32 column, next, column; add.u32 row, rows, row; add.u32 next, next, ", lanes_of_warp, ";");
        out.line("mul.lo.u32 at, row, ", pitch, "; mad.lo.u32 at, column, 16, at; add.u32 there, at, %tc_base;");
        for (int from = 0; from < blocks; from++) {
            out.line("setp.gt.u32 block", from, ", ", site.arguments.at(2), ", ", from, "; and.pred block", from, ", block", from,
                     ", own; { .reg .b32 other; @block", from, " mapa.shared::cluster.u32 other, there, ", from, "; @block", from,
                     " ld.shared::cluster.v4.f32 ", four(from), ", [other]; }");
        }
        for (int from = 1; from < blocks; from++)
            for (int sum = 0; sum < fours; sum++)
                out.line("@block", from, " add.rn.f32 part", sum, ", part", sum, ", part", fours * from + sum, ";");
        out.line("@own st.shared.v4.f32 [at], ", four(0), ";");
    }
    meet(out);
    out.line("}");
}

void TensorCoreInstructions::declare_accumulators(PtxWriter &out) const {
    for (const auto &[tile, count] : accumulators_) {
        out.line("\t.reg .f32 %tc_tile", tile, "_<", count, ">;");
    }
}

}  // namespace conv_transpose

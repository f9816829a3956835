// Products of transposed words in swizzled lines of 128 bytes, which tensor cores take from registers alone: lanes read their
// fragments element by element.
#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/product_text.h"
#include "compiler/ptx/products.h"
#include "compiler/ptx/tile_registers.h"

namespace conv_transpose {

namespace {

constexpr int line = 128, run = line / 4, lines = 8 * line;  // bytes of memory and values in them; all k of an instruction

/// Which k of the first eight a lane has, of its fragments: those of the first register lie `first` k apart from lane to lane, that
/// of the second `other` behind it.
struct FragmentOrder {
    int first, other;
};
constexpr FragmentOrder as_wgmma{1, 4}, neighbouring_k{2, 1};

/// The addresses `name`0, 1, ...: of an element's place among the first eight k and `rows` rows of a run, and of further rows,
/// eight each, and of the other k.
void place_elements(const std::string &name, const SharedOperand &operand, int rows, FragmentOrder order, const char *shift,
                    PtxWriter &out) {
    out.line("shr.u32 part, g, 2; mul.lo.u32 at, t, ", order.first,
             "; xor.b32 part, part, at; shl.b32 part, part, 4; mad.lo.u32 at, t, ", order.first * line,
             ", part; and.b32 part, g, 3; mad.lo.u32 at, part, 4, at; ", shift);
    for (int i = 0; i < 2 * rows; i++)
        out.line("xor.b32 part, at, ", i / 2 * 2 * bytes_of_row + i % 2 * order.other * (line + bytes_of_row), "; mad.lo.u32 ",
                 name, i, ", ", operand.start, ", 16, part;");
}

/// The addresses of the 16 rows that a warp has: two warps share a run of 32, and the next two have the next.
void place_rows_of_warp(const std::string &name, const SharedOperand &operand, FragmentOrder order, PtxWriter &out) {
    place_elements(name, operand, 2, order, "and.b32 part, warp, 1; shl.b32 part, part, 6; xor.b32 at, at, part;", out);
    out.line("shr.u32 warp, warp, 1;");
    for (int i = 0; i < 4; i++) out.line("mad.lo.u32 ", name, i, ", warp, ", operand.group, ", ", name, i, ";");
}

/// Loads a fragment of each set of 64 rows into `first_a` and those that follow.
void load_rows_of_warp(const std::string &name, const SharedOperand &operand, int sets, int step, int first_a, PtxWriter &out) {
    for (int i = 0; i < 4 * sets; i++)
        out.line("ld.shared.b32 a", first_a + i, ", [", name, i % 2 * 2 + i / 2 % 2, "+",
                 step * lines + i / 4 * (rows_of_instruction / run) * operand.group, "];");
}

constexpr const char *numbers_of_thread = "mov.u32 t, %tid.x; shr.u32 g, t, 2; and.b32 t, t, 3; mov.u32 warp, %tid.y;";

}  // namespace

void multiply_fragments(const CallSite &site, PtxWriter &out) {
    const PlaceholderCall &call = site.call;
    const TileRegisters tile(call);
    const ProductType type(call);
    const SharedOperand a = SharedOperand::a(site), b = SharedOperand::b(site);
    if (!b.is_transposed || b.swizzle != line || a.swizzle != line || tile.repeats > 1)
        throw PtxExpansionError(
            "PTX expansion: of operands of 32 bits, rows are transposed in lines of 128 bytes, and columns are not");
    out.line("{ .reg .b32 g, t, warp, at, part, a_at<4>, b_at<8>, a<", 4 * tile.row_tiles, ">, b<2>;");
    out.line(numbers_of_thread);
    place_elements("b_at", b, run / columns_of_group, neighbouring_k, "", out);
    place_rows_of_warp("a_at", a, neighbouring_k, out);
    for (int k = 0; k < steps_of(call); k++) {
        load_rows_of_warp("a_at", a, tile.row_tiles, k, 0, out);
        for (int j = 0; j < tile.columns / columns_of_group; j++) {
            const int in_run = j % (run / columns_of_group), at = k * lines + j * columns_of_group / run * b.group;
            for (int second = 0; second < 2; second++)
                out.line("ld.shared.b32 b", second, ", [b_at", 2 * in_run + second, "+", at, "];");
            for (int i = 0; i < tile.row_tiles; i++)
                mma_sync(type, tile.list(tile.first(call.field("row") + i, 0) + 4 * j, 4), 4 * i, 0, out);
        }
    }
    out.line("}");
}

// Sums of a column are in one warp.
void multiply_turned(const CallSite &site, bool at_base, PtxWriter &out) {
    const PlaceholderCall &call = site.call;
    const TileRegisters tile(call);
    const ProductType type(call);
    const SharedOperand rows = SharedOperand::a(site), columns = SharedOperand::b(site);
    const int steps = steps_of(call), parts = tile.columns / rows_of_instruction;
    if (columns.swizzle != line || tile.repeats > 1 || call.field("row") != 0 || tile.columns % rows_of_instruction != 0)
        throw PtxExpansionError("PTX expansion: columns of 32 bits lie in lines of 128 bytes, and fill sets of 64");
    out.line("{ .reg .b32 g, t, warp, at, part, at_<4>, a<", 4 * steps * parts,
             ">, low, high; .reg .b64 b; .reg .pred accumulate;");
    out.line(numbers_of_thread);
    place_rows_of_warp("at_", columns, as_wgmma, out);
    begin_wgmma_of_registers(rows, out);
    // Half of the fragments are loaded while the others are multiplied.
    for (int half = 0; half < 2; half++) {
        const int begin = half * steps / 2, end = (half + 1) * steps / 2;
        if (half > 0) out.line("wgmma.commit_group.sync.aligned;");
        out.line("wgmma.wait_group.sync.aligned 1;");
        for (int k = begin; k < end; k++) load_rows_of_warp("at_", columns, parts, k, 4 * k * parts, out);
        out.line("wgmma.fence.sync.aligned;");
        for (int k = begin; k < end; k++) {
            place_descriptor(rows, k, out, at_base);
            for (int part = 0; part < parts; part++) {
                const std::string sums = tile.list(part * tile.rows / 2, tile.rows / 2);
                wgmma_of_registers(type, tile.rows, sums, braced("a", 4 * (k * parts + part), 4), out);
            }
        }
    }
    out.line("}");
}

}  // namespace conv_transpose

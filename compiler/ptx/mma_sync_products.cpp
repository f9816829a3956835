// Products of operands that ldmatrix reads from shared memory, for mma.sync.
#include <algorithm>

#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/product_text.h"
#include "compiler/ptx/products.h"
#include "compiler/ptx/tile_registers.h"

namespace conv_transpose {

namespace {

/// ldmatrix takes the address of one row of 16 bytes from every lane: lanes 0..7 for the first matrix, and so on.
void place_rows(const SharedOperand &a, PtxWriter &out) {
    if (a.is_transposed) {
        out.line("and.b32 row, lane, 7; add.u32 a_at, row, ", a.start, "; shl.b32 a_at, a_at, 4;");
        out.line("mov.u32 part, %tid.y; shl.b32 part, part, 1; shr.u32 row, lane, 3; and.b32 row, row, 1; add.u32 row, row, part;");
        out.line("mad.lo.u32 a_at, row, ", a.group, ", a_at; shr.u32 part, lane, 4;");
    } else {
        out.line("and.b32 row, lane, 15; mov.u32 part, %tid.y; mad.lo.u32 row, part, 16, row; shr.u32 part, lane, 4;");
        out.line("add.u32 a_at, row, ", a.start, "; shl.b32 a_at, a_at, 4;");
    }
    out.line("mad.lo.u32 a_at, part, ", a.next_k, ", a_at;");
}

/// Behind place_rows, which leaves the half of the warp in `part`.
void place_columns(const SharedOperand &b, PtxWriter &out) {
    out.line("and.b32 row, lane, 7; add.u32 b_at, row, ", b.start, "; shl.b32 b_at, b_at, 4;");
    out.line("mad.lo.u32 b_at, part, ", b.group, ", b_at; shr.u32 part, lane, 3; and.b32 part, part, 1;");
    out.line("mad.lo.u32 b_at, part, ", b.next_k, ", b_at;");
}

void load_rows(const SharedOperand &a, int row_tiles, int step, PtxWriter &out) {
    for (int i = 0; i < row_tiles; i++)
        out.line("ldmatrix.sync.aligned.m8n8.x4", a.is_transposed ? ".trans" : "", ".shared.b16 ", braced("a", 4 * i, 4),
                 ", [a_at+", a.at_step(step) + i * rows_of_instruction / columns_of_group * a.group, "];");
}

void load_columns(const SharedOperand &b, int groups, int at, PtxWriter &out) {
    out.line("ldmatrix.sync.aligned.m8n8.", groups == 2 ? "x4" : "x2", b.is_transposed ? ".trans" : "", ".shared.b16 ",
             braced("b", 0, 2 * groups), ", [b_at+", at, "];");
}

}  // namespace

void multiply_mma_sync(const CallSite &site, PtxWriter &out) {
    const PlaceholderCall &call = site.call;
    const TileRegisters tile(call);
    const ProductType type(call);
    const SharedOperand a = SharedOperand::a(site), b = SharedOperand::b(site);
    if (a.swizzle || b.swizzle)
        throw PtxExpansionError(
            "PTX expansion: operands that come by a tensor map are multiplied by wgmma, which only sm_90a has");
    out.line("{ .reg .b32 lane, row, part, a_at, b_at, a<", 4 * tile.row_tiles, ">, b<4>; mov.u32 lane, %tid.x;");
    place_rows(a, out);
    place_columns(b, out);
    const int groups = tile.columns / columns_of_group, first = call.field("row");
    for (int k = 0; k < steps_of(call); k++) {
        load_rows(a, tile.row_tiles, k, out);
        for (int r = 0; r < tile.repeats; r++)
            for (int j = 0; j < groups; j += 2) {
                const int loaded = std::min(2, groups - j);
                load_columns(b, loaded, b.at_step(k) + r * call.field("br") + j * b.group, out);
                for (int half = 0; half < loaded; half++)
                    for (int i = 0; i < tile.row_tiles; i++)
                        mma_sync(type, tile.list(tile.first(first + i, r) + 4 * (j + half), 4), 4 * i, 2 * half, out);
            }
    }
    out.line("}");
}

}  // namespace conv_transpose

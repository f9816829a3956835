// Products of rows of words, of which every thread loads two neighbours at once, and takes the halves that its warpgroup
// multiplies: so a register has two neighbours of what is summed over.
#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/product_text.h"
#include "compiler/ptx/products.h"
#include "compiler/ptx/tile_registers.h"

namespace conv_transpose {

namespace {

constexpr int line = 128, steps = 2;  // bytes of 32 words; all k of a call

/// Lanes of odd rows begin with the later half of a line, so that 16 lanes read all banks.
void place_words(const CallSite &site, PtxWriter &out) {
    out.line("mov.u32 t, %tid.x; shr.u32 g, t, 2; and.b32 t, t, 3; mad.lo.u32 halves, ", site.arguments.at(2), ", 0x2222, 0x5410;");
    out.line("mov.u32 at, %tid.y; mad.lo.u32 at, at, ", rows_of_warp_and_set, ", g; shl.b32 at, at, 3; add.u32 at, at, ",
             site.arguments.at(0), "; shl.b32 at, at, 4; and.b32 part, t, 1; mad.lo.u32 at, part, 8, at;");
    out.line("and.b32 low, g, 1; setp.ne.u32 odd, low, 0; shl.b32 low, low, 2; shr.u32 part, t, 1; xor.b32 part, part, g; "
             "xor.b32 part, part, low;");
    for (int i = 0; i < 4; i++) out.line("xor.b32 low, part, ", 2 * i, "; mad.lo.u32 at_", i, ", low, 16, at;");
}

/// A step has its first and its last eight k, of row g and of row g + 8.
void load_halves(PtxWriter &out) {
    for (int i = 0; i < 4; i++)
        for (int row = 0; row < 2; row++)
            out.line("ld.shared.v2.b32 ", braced("w", 4 * i + 2 * row, 2), ", [at_", i, "+", row * columns_of_group * line, "];");
    for (int i = 0; i < 8; i++) out.line("prmt.b32 w", 2 * i, ", w", 2 * i, ", w", 2 * i + 1, ", halves;");
}

void put_in_order(PtxWriter &out) {
    for (int i = 0; i < 4; i++)
        out.line("selp.b32 a", i, ", w", 2 * i + 8, ", w", 2 * i, ", odd; selp.b32 a", i + 4, ", w", 2 * i, ", w", 2 * i + 8,
                 ", odd;");
}

}  // namespace

void multiply_halves(const CallSite &site, PtxWriter &out) {
    const TileRegisters tile(site.call);
    const ProductType type(site.call);
    const SharedOperand columns = SharedOperand::b(site);
    if (steps_of(site.call) != steps)
        throw PtxExpansionError("PTX expansion: halves of words are multiplied by wgmma, of lines of 32 words, without clusters");
    out.line("{ .reg .b32 g, t, at, part, halves, at_<4>, w<16>, a<8>, low, high; .reg .b64 b; .reg .pred accumulate, odd;");
    place_words(site, out);
    begin_wgmma_of_registers(columns, out);
    load_halves(out);
    // Products of the chunk before read the registers that follow.
    out.line("wgmma.wait_group.sync.aligned 0;");
    put_in_order(out);
    out.line("wgmma.fence.sync.aligned;");
    const std::string sums = tile.list(tile.first(site.call.field("row"), 0), tile.columns / 2);
    for (int k = 0; k < steps; k++) {
        place_descriptor(columns, k, out);
        wgmma_of_registers(type, tile.columns, sums, braced("a", 4 * k, 4), out);
    }
    out.line("}");
}

}  // namespace conv_transpose

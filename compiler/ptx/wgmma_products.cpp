// Products of operands that wgmma reads from shared memory.
#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/product_text.h"
#include "compiler/ptx/products.h"
#include "compiler/ptx/tile_registers.h"

namespace conv_transpose {

namespace {

/// What tells whether operands are transposed, which those of 16 bits may be.
std::string order_of(const ProductType &type, const SharedOperand &a, const SharedOperand &b) {
    if (type.format == OperandFormat::float32) return "";
    return ", " + std::to_string(a.is_transposed) + ", " + std::to_string(b.is_transposed);
}

}  // namespace

void multiply_wgmma(const CallSite &site, bool at_base, PtxWriter &out) {
    const PlaceholderCall &call = site.call;
    const TileRegisters tile(call);
    const ProductType type(call);
    const SharedOperand a = SharedOperand::a(site), b = SharedOperand::b(site);
    const auto place = [&](const char *name, const SharedOperand &operand, int offset) {
        out.line("add.u32 low, ", operand.start, ", ", lower_half_of_descriptor(operand, offset),
                 at_base ? "; add.u32 low, low, %tc_begin; mov.b64 " : "; mov.b64 ", name, ", {low, high_", name, "};");
    };
    out.line("{ .reg .b32 low, high_a, high_b; .reg .b64 a, b; .reg .pred accumulate;");
    out.line("setp.eq.u32 accumulate, 0, 0; mov.b32 high_a, ", upper_half_of_descriptor(a), "; mov.b32 high_b, ",
             upper_half_of_descriptor(b), ";");
    const int rows_of_group = a.swizzle && a.is_transposed ? a.swizzle / 2 : columns_of_group;
    for (int k = 0; k < steps_of(call); k++)
        for (int r = 0; r < tile.repeats; r++) {
            place("b", b, b.at_step(k) + r * call.field("br"));
            for (int i = 0; i < tile.row_tiles; i++) {
                place("a", a, a.at_step(k) + i * rows_of_instruction / rows_of_group * a.group);
                const std::string sums = tile.list(tile.first(call.field("row") + i, r), tile.columns / 2);
                wgmma(type, tile.columns, sums, "a", order_of(type, a, b), out);
            }
        }
    out.line("}");
}

}  // namespace conv_transpose

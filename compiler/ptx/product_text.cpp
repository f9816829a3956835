#include "compiler/ptx/product_text.h"

#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/tile_registers.h"

namespace conv_transpose {

ProductType::ProductType(const PlaceholderCall &call)
    : format(static_cast<OperandFormat>(call.field_or(format_field, 0))), name(named(format).ptx),
      k(rows_of_instruction_k * bytes_of_row / bytes_of(format)) {}

int steps_of(const PlaceholderCall &multiply) { return multiply.field("k") / ProductType(multiply).k; }

SharedOperand::SharedOperand(const CallSite &site, int argument, const std::string &name)
    : start(site.arguments.at(argument)), next_k(site.call.field_or(name + "k", bytes_of_row)),
      swizzle(site.call.field_or(name + "sw", 0)),
      group(site.call.field_or(name + "s", columns_of_group * (swizzle ? swizzle : bytes_of_row))),
      is_transposed(site.call.field_or(name + "t", 0)) {}

int SharedOperand::at_step(int steps) const { return rows_of_instruction_k * steps * next_k; }

int64_t upper_half_of_descriptor(const SharedOperand &operand) {
    const int stride = operand.swizzle && operand.is_transposed ? operand.next_k : operand.group;
    const int64_t kind = operand.swizzle == 128 ? 1 : operand.swizzle == 64 ? 2 : operand.swizzle == 32 ? 3 : 0;
    return stride / bytes_of_row + (kind << 30);
}

int lower_half_of_descriptor(const SharedOperand &operand, int offset) {
    const int leading = !operand.swizzle         ? operand.next_k / bytes_of_row
                        : operand.is_transposed ? operand.group / bytes_of_row
                                                 : 1;
    return (leading << 16) + offset / bytes_of_row;
}

void wgmma(const ProductType &type, int columns, const std::string &sums, const std::string &a, const std::string &flags,
           PtxWriter &out) {
    out.line("wgmma.mma_async.sync.aligned.m64n", columns, "k", type.k, ".f32.", type.name, ".", type.name, " ", sums, ", ", a,
             ", b, accumulate, 1, 1", flags, ";");
}

void wgmma_of_registers(const ProductType &type, int columns, const std::string &sums, const std::string &a, PtxWriter &out) {
    wgmma(type, columns, sums, a, type.format == OperandFormat::float32 ? "" : ", 0", out);
}

void begin_wgmma_of_registers(const SharedOperand &b, PtxWriter &out) {
    out.line("setp.eq.u32 accumulate, 0, 0; mov.b32 high, ", upper_half_of_descriptor(b), ";");
}

void place_descriptor(const SharedOperand &b, int steps, PtxWriter &out, bool at_base) {
    out.line("add.u32 low, ", b.start, ", ", lower_half_of_descriptor(b, b.at_step(steps)),
             at_base ? "; add.u32 low, low, %tc_begin" : "", "; mov.b64 b, {low, high};");
}

void mma_sync(const ProductType &type, const std::string &sums, int first_a, int first_b, PtxWriter &out) {
    out.line("mma.sync.aligned.m16n8k", type.k, ".row.col.f32.", type.name, ".", type.name, ".f32 ", sums, ", ",
             braced("a", first_a, 4), ", ", braced("b", first_b, 2), ", ", sums, ";");
}

}  // namespace conv_transpose

// Products of columns that lie side by side in lines, so many behind each other that a lane loads all that it has of a k at once.
// The tile is computed turned: columns are wgmma's rows. Registers of one step are loaded while the one before is multiplied.
#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/product_text.h"
#include "compiler/ptx/products.h"
#include "compiler/ptx/tile_registers.h"

namespace conv_transpose {

namespace {

/// What a lane has of a line, of `count` words.
void load(const std::string &name, int first, int count, int at, PtxWriter &out) {
    const std::string size = count == 1 ? "" : "v" + std::to_string(count) + ".";
    const std::string to = count == 1 ? name + std::to_string(first) : braced(name, first, count);
    out.line("ld.shared.", size, "b32 ", to, ", [at+", at, "];");
}

/// Neighbouring k of 16 bits share a register: lines of two k are loaded before, and halves of their words joined.
struct JoinedLines {
    int line, words;

    void load_of_step(int k, PtxWriter &out) const {
        for (int i = 0; i < 4; i++) load("w", i * words, words, (k + i / 2 * 8 + i % 2) * line, out);
    }
    void join(int half, int first, PtxWriter &out) const {
        for (int i = 0; i < 2 * words; i++)
            out.line("prmt.b32 a", first + i, ", w", 2 * half * words + i / 2, ", w", (2 * half + 1) * words + i / 2,
                     i % 2 ? ", 0x7632;" : ", 0x5410;");
    }
};

}  // namespace

void multiply_lines(const CallSite &site, PtxWriter &out) {
    const PlaceholderCall &call = site.call;
    const RegistersOfLines tile(call);
    const ProductType type(call);
    const SharedOperand rows = SharedOperand::a(site);
    const int line = call.field("bl"), of_lane = tile.of_lane, bytes = bytes_of(type.format);
    const bool of_floats = is_float(call);
    const JoinedLines joined{line, of_lane / 2};
    if (tile.repeats > 1 || call.field("row") != 0 || rows.is_transposed)
        throw PtxExpansionError("PTX expansion: lines of columns are multiplied by wgmma, with rows from shared memory");
    out.line("{ .reg .b32 g, t, at, low, high, a<", 4 * of_lane, ">, w<", 2 * of_lane,
             ">; .reg .b64 b; .reg .pred accumulate;");
    out.line("mov.u32 t, %tid.x; shr.u32 g, t, 2; and.b32 t, t, 3; mov.u32 at, %tid.y; mad.lo.u32 g, at, ", columns_of_group,
             ", g; mul.lo.u32 at, ", site.arguments.at(1), ", 16; mad.lo.u32 at, g, ", of_lane * bytes, ", at; mad.lo.u32 at, t, ",
             line * 4 / bytes, ", at;");
    begin_wgmma_of_registers(rows, out);
    for (int step = 0; step < steps_of(call); step++) {
        const int first = step % 2 * 2 * of_lane, k = step * type.k;
        if (step > 0) out.line("wgmma.commit_group.sync.aligned;");
        if (!of_floats) joined.load_of_step(k, out);
        out.line("wgmma.wait_group.sync.aligned 1;");
        for (int half = 0; half < 2; half++) {
            const int of_half = first + half * of_lane;
            if (of_floats) load("a", of_half, of_lane, (k + 4 * half) * line, out);
            else joined.join(half, of_half, out);
        }
        out.line("wgmma.fence.sync.aligned;");
        place_descriptor(rows, step, out);
        for (int part = 0; part < of_lane / 2; part++) {
            const int a = first + 2 * part;
            wgmma_of_registers(type, tile.rows, tile.list(part * tile.rows / 2, tile.rows / 2),
                               braced("a", {a, a + 1, a + of_lane, a + of_lane + 1}), out);
        }
    }
    out.line("}");
}

}  // namespace conv_transpose

// Blocks of a cluster add what they have of the same sums. A lane adds four neighbouring floats, in the order of the blocks, whose
// loads are all under way at once.
#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/tile_registers.h"
#include "compiler/ptx/tile_turns.h"

namespace conv_transpose {

namespace {

constexpr int most_blocks = 8, fours = 4;

std::string four(int block) { return braced("part", fours * block, fours); }

/// How often a warp's lanes read, of so many blocks, each of which adds its part of the rows.
int rounds_of(int blocks, int rows, int fours_of_row) {
    const int own_rows = (rows + blocks - 1) / blocks;
    return (fours_of_row * own_rows + lanes_of_warp - 1) / lanes_of_warp;
}

void begin_rows(const CallSite &site, int rows, int fours_of_row, PtxWriter &out) {
    out.line("{ .reg .b32 next, end, rows, row, column, at, there; .reg .f32 part<", fours * most_blocks,
             ">; .reg .pred own, block<", most_blocks, ">;");
    out.line("mov.u32 next, %tid.x; mad.lo.u32 next, ", site.arguments.at(0), ", ", fours_of_row, ", next; mul.lo.u32 end, ",
             site.arguments.at(1), ", ", fours_of_row, ";");
    out.line("mov.u32 rows, %tid.z; mov.u32 row, %tid.y; mad.lo.u32 rows, rows, ", warps_of_warpgroup,
             ", row; mul.lo.u32 rows, rows, ", rows, ";");
}

void place_next(int pitch, int fours_of_row, PtxWriter &out) {
    out.line("setp.lt.u32 own, next, end; div.u32 row, next, ", fours_of_row, "; mul.lo.u32 column, row, ", fours_of_row,
             "; sub.u32 column, next, column; add.u32 row, rows, row; add.u32 next, next, ", lanes_of_warp, ";");
    out.line("mul.lo.u32 at, row, ", pitch, "; mad.lo.u32 at, column, 16, at; add.u32 there, at, %tc_base;");
}

void add_of_blocks(const CallSite &site, int blocks, PtxWriter &out) {
    for (int from = 0; from < blocks; from++)
        out.line("setp.gt.u32 block", from, ", ", site.arguments.at(2), ", ", from, "; and.pred block", from, ", block", from,
                 ", own; { .reg .b32 other; @block", from, " mapa.shared::cluster.u32 other, there, ", from, "; @block", from,
                 " ld.shared::cluster.v4.f32 ", four(from), ", [other]; }");
    for (int from = 1; from < blocks; from++)
        for (int sum = 0; sum < fours; sum++)
            out.line("@block", from, " add.rn.f32 part", sum, ", part", sum, ", part", fours * from + sum, ";");
    out.line("@own st.shared.v4.f32 [at], ", four(0), ";");
}

}  // namespace

// The more blocks there are the fewer rounds a warp's own rows take: later rounds ask for no more blocks than may come to them.
void add_of_cluster(const CallSite &site, PtxWriter &out) {
    const int rows = site.call.field("rows"), fours_of_row = site.call.field("n") / fours;
    begin_rows(site, rows, fours_of_row, out);
    int blocks = most_blocks;
    for (int i = 0; i < rounds_of(2, rows, fours_of_row); i++) {
        while (rounds_of(blocks, rows, fours_of_row) <= i) blocks--;
        place_next(4 * site.call.field("pitch"), fours_of_row, out);
        add_of_blocks(site, blocks, out);
    }
    wait_for_warp(out);
    out.line("}");
}

}  // namespace conv_transpose

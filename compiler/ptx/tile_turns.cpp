// A warp's fragments are 8 rows x 32 bytes an instruction; written so, global memory would see quarters of lines. Each warp
// therefore turns 8 rows at a time through shared memory that the operands no longer need; the lowering pass stores from there,
// pairs of neighbouring elements, 256 bytes an instruction where rows begin on 8 bytes.
#include "compiler/ptx/tile_turns.h"

#include <algorithm>

#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/product_text.h"
#include "compiler/ptx/tile_registers.h"

namespace conv_transpose {

namespace {

/// The part of a call that says where a warp's rows lie: behind stages that end at `begin`, `pitch` bytes apart.
struct TurnedRows {
    explicit TurnedRows(const PlaceholderCall &call)
        : set(call.field("row")), half(call.field("half")), pitch(4 * call.field("pitch")), tiles(call.field("tiles")),
          begin(call.field_or("at", 0)), rows(call.field_or("rows", rows_per_turn)),
          first(rows == rows_per_turn ? 0 : set * rows_of_warp_and_set + half * rows_per_turn) {}

    int first_row_of(int warp, int of_warp = rows_of_warp_and_set) const {
        return set * rows_of_instruction + warp * of_warp + half * rows_per_turn;
    }

    int set, half, pitch, tiles, begin;
    int rows;   // that a warp has in shared memory: all of its rows, or 8 of them
    int first;  // of those is turned
};

std::string plus(const char *name, int number) {
    return number ? " add.u32 " + std::string(name) + ", " + name + ", " + std::to_string(number) + ";" : "";
}

/// Two neighbouring columns of a row, which are two registers, and of a second tile those that lie between them.
void store_pair_of_row(const PlaceholderCall &call, int column_pair, int first, int second, PtxWriter &out) {
    const TileRegisters tile(call);
    const bool swapped = call.field_or("swapped", 0) != 0;
    if (!is_float(call))
        out.line("cvt.rn.", ProductType(call).name, "x2.f32 lane, ", tile.at(first + 1), ", ", tile.at(first),
                 "; st.shared.b32 [mine+", 16 * column_pair, "], lane;");
    else if (call.field("tiles") == 2)
        out.line("st.shared.v4.f32 [mine+", 64 * column_pair, "], {", tile.at(first), ",", tile.at(second), ",", tile.at(first + 1),
                 ",", tile.at(second + 1), "};");
    else
        out.line("st.shared.v2.f32 [", swapped && column_pair / 4 % 2 ? "lane+" : "mine+", 32 * column_pair, "], {", tile.at(first),
                 ",", tile.at(first + 1), "};");
}

}  // namespace

void wait_for_warp(PtxWriter &out) { out.line("bar.warp.sync 0xffffffff;"); }

void wait_for_warpgroup(PtxWriter &out) {
    out.line("{ .reg .b32 barrier; mov.u32 barrier, %tid.z; sub.u32 barrier, 15, barrier; bar.sync barrier, ",
             warps_of_warpgroup * lanes_of_warp, "; }");
}

void turn_rows(const PlaceholderCall &call, PtxWriter &out) {
    const TileRegisters tile(call);
    const TurnedRows turned(call);
    out.line("{ .reg .b32 lane, group, mine;");
    out.line("mov.u32 mine, %tid.z; mov.u32 lane, %tid.y; mad.lo.u32 mine, mine, 4, lane; mov.u32 lane, %tid.x;");
    out.line("shr.u32 group, lane, 2; and.b32 lane, lane, 3; mad.lo.u32 group, mine, ", turned.rows, ", group;",
             plus("group", turned.first));
    out.line("mul.lo.u32 mine, group, ", turned.pitch, "; mad.lo.u32 mine, lane, ", is_float(call) ? 8 * turned.tiles : 4,
             ", mine;", plus("mine", turned.begin));
    // Halves of every second 128 bytes change places, where lanes are to read 32 bytes each: see tile_rows.cpp.
    if (call.field_or("swapped", 0)) out.line("xor.b32 lane, mine, 16;");
    const auto pair = [&](int row_tile, int j) { return tile.first(row_tile, call.field("rep")) + 2 * turned.half + 4 * j; };
    for (int j = 0; j < tile.columns / columns_of_group; j++)
        store_pair_of_row(call, j, pair(turned.set, j), turned.tiles == 2 ? pair(1, j) : 0, out);
    wait_for_warp(out);
    out.line("}");
}

// Every warp has some columns of the rows that each stores. Those of 16 bits change hands, so that lanes have neighbours of a row.
void turn_columns(const PlaceholderCall &call, PtxWriter &out) {
    const TileRegisters tile(call);
    const TurnedRows turned(call);
    const ProductType type(call);
    const int bytes = bytes_of(type.format);
    if (turned.tiles != 1)
        throw PtxExpansionError("PTX expansion: sums of columns that are wgmma's rows are stored one tile at a time");
    out.line("{ .reg .b32 at, part, column, word; mov.u32 at, %tid.x; ",
             is_float(call) ? "shr.u32 column, at, 2; and.b32 at, at, 3; shl.b32 at, at, 1;"
                            : "and.b32 column, at, 3; shl.b32 column, column, 1; shr.u32 at, at, 2;");
    out.line("mov.u32 part, %tid.z; mad.lo.u32 at, part, ", 4 * turned.rows, ", at; mul.lo.u32 at, at, ", turned.pitch,
             "; mov.u32 part, %tid.y; mad.lo.u32 column, part, 16, column; mad.lo.u32 at, column, ", bytes, ", at;");
    const auto store = [&](int warp, int part, int i) {
        const int eight = turned.first_row_of(warp) / columns_of_group;
        const int column = part * rows_of_instruction + i / 2 * columns_of_group, row = warp * turned.rows + turned.first + i % 2;
        const int at = turned.begin + row * turned.pitch + column * bytes, sum = part * tile.rows / 2 + 4 * eight + i;
        if (is_float(call)) out.line("st.shared.f32 [at+", at, "], ", tile.at(sum), ";");
        else out.line("cvt.rn.", type.name, "x2.f32 word, ", tile.at(sum + 1), ", ", tile.at(sum),
                      "; movmatrix.sync.aligned.m8n8.trans.b16 word, word; st.shared.b32 [at+", at, "], word;");
    };
    for (int warp = 0; warp < warps_of_warpgroup; warp++)
        for (int part = 0; part < tile.columns / rows_of_instruction; part++)
            for (int i = 0; i < 4; i += is_float(call) ? 1 : 2) store(warp, part, i);
    wait_for_warpgroup(out);
    out.line("}");
}

// Every warp has some columns of the rows that each stores: two neighbouring rows, of each of which a lane has neighbours.
void turn_lines(const PlaceholderCall &call, PtxWriter &out) {
    const RegistersOfLines tile(call);
    const TurnedRows turned(call);
    if (turned.tiles != 1 || !is_float(call) || turned.rows != rows_per_turn)
        throw PtxExpansionError("PTX expansion: sums of lines of columns are stored one tile at a time, in runs");
    out.line("{ .reg .b32 at, part, lane; mov.u32 lane, %tid.x; mov.u32 part, %tid.z; and.b32 at, lane, 3; shl.b32 at, at, 1; "
             "mad.lo.u32 at, part, ", warps_of_warpgroup * rows_per_turn, ", at; mul.lo.u32 at, at, ", turned.pitch,
             "; mov.u32 part, %tid.y; shr.u32 lane, lane, 2; mad.lo.u32 lane, part, ", columns_of_group,
             ", lane; mad.lo.u32 at, lane, ", 4 * tile.of_lane, ", at;");
    const int of_warp = std::min(tile.rows_of_tap / warps_of_warpgroup, rows_of_warp_and_set);
    for (int warp = 0; warp < warps_of_warpgroup; warp++)
        for (int second = 0; second < 2; second++) {
            const int eight = turned.first_row_of(warp, of_warp) / columns_of_group;
            std::string sums;
            for (int column = 0; column < tile.of_lane; column++)
                sums += (column ? "," : "") + tile.sum(column, 0, eight, second);
            const int at = turned.begin + (warp * rows_per_turn + second) * turned.pitch;
            out.line("st.shared.v", tile.of_lane, ".f32 [at+", at, "], {", sums, "};");
        }
    wait_for_warpgroup(out);
    out.line("}");
}

}  // namespace conv_transpose

// The registers that hold a warpgroup's tile, by name: LLVM never sees them. tensor_core_instructions.h draws which sum lies where.
#ifndef CONV_TRANSPOSE_COMPILER_TILE_REGISTERS_H
#define CONV_TRANSPOSE_COMPILER_TILE_REGISTERS_H

#include <initializer_list>
#include <string>

#include "compiler/passes/placeholder_calls.h"
#include "compiler/passes/warpgroup.h"

namespace conv_transpose {

/// "{a0,a2}", as instructions take several registers.
inline std::string braced(const std::string &name, std::initializer_list<int> indices) {
    std::string text;
    for (const int i : indices) text += (text.empty() ? "{" : ",") + name + std::to_string(i);
    return text + "}";
}

/// "{a0,a1}": registers whose numbers follow each other.
inline std::string braced(const std::string &name, int first, int count) {
    std::string text;
    for (int i = 0; i < count; i++) text += (i ? "," : "{") + name + std::to_string(first + i);
    return text + "}";
}

/// Tiles of 64 rows and repeats each have columns / 2 registers, in this order.
struct TileRegisters {
    explicit TileRegisters(const PlaceholderCall &call) : TileRegisters(call, call.field("tile")) {}
    TileRegisters(const PlaceholderCall &call, int id)
        : id(id), rows(call.field("m")), row_tiles(rows / rows_of_instruction), columns(call.field("n")),
          repeats(call.field("r")) {}

    int size() const { return rows * columns / (2 * rows_of_instruction) * repeats; }
    int first(int row_tile, int repeat) const { return (row_tile * repeats + repeat) * columns / 2; }
    std::string name() const { return "%tc_tile" + std::to_string(id) + "_"; }
    std::string at(int index) const { return name() + std::to_string(index); }
    std::string list(int begin, int count) const { return braced(name(), begin, count); }

    int id, rows, row_tiles, columns, repeats;
};

/// A tile whose columns are wgmma's rows, of which a lane has neighbours, `of_lane` of them: 0, 1 are rows g and g + 8 of the first
/// 64, 2 and 3 those of the next.
struct RegistersOfLines : TileRegisters {
    explicit RegistersOfLines(const PlaceholderCall &call)
        : TileRegisters(call), of_lane(columns / (warps_of_warpgroup * lanes_of_warp / 4)), taps(call.field_or("taps", 1)),
          rows_of_tap(rows / taps) {}

    /// The sum at a lane's column, and the second or first row of a pair, of eight of a tap.
    std::string sum(int column, int tap, int eight, int second) const {
        const int eight_of_all = tap * rows_of_tap / columns_of_group + eight;
        return at(column / 2 * rows / 2 + 4 * eight_of_all + column % 2 * 2 + second);
    }

    int of_lane, taps, rows_of_tap;
};

}  // namespace conv_transpose

#endif

// The shape of a warpgroup and of what it multiplies at once: lowering passes and PTX expansion agree on it.
#ifndef CONV_TRANSPOSE_COMPILER_WARPGROUP_H
#define CONV_TRANSPOSE_COMPILER_WARPGROUP_H

namespace conv_transpose {

constexpr int lanes_of_warp = 32, warps_of_warpgroup = 4;
constexpr int rows_of_instruction = 64;  // wgmma: m64; mma.sync: four warps of m16
constexpr int columns_of_group = 8;      // neighbours in an operand; groups of them may lie anywhere
constexpr int bytes_of_row = 16;         // of an operand: four consecutive k of float32, eight of 16 bits
constexpr int rows_of_instruction_k = 2;  // so many of these are the k of an instruction
constexpr int rows_of_warp_and_set = 16;  // a warp has so many of every 64 rows; of a tile of 32, eight
constexpr int rows_per_turn = 8;          // of a warp, on their way through shared memory to where the tile is stored
constexpr int rows_of_turn = warps_of_warpgroup * rows_per_turn;  // the least that a tile has, which all warps store

}  // namespace conv_transpose

#endif

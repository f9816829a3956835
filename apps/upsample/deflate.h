// Filters and compresses rows of a PNG. Blocks of rows are independent of one another, so several threads may
// work, and join to one zlib stream.
#ifndef UPSAMPLE_DEFLATE_H
#define UPSAMPLE_DEFLATE_H

#include <cstdint>

#include "picture_file.h"

namespace upsample {

/// Rows of samples in the machine's byte order, and the row before them; that is empty before the first.
struct PngRows {
    Bytes rows, before;
    std::size_t row_bytes = 0;
    int channels = 0, bits = 8;
};

struct DeflatedBlock {
    Bytes data;
    uint32_t adler = 1;
    uint64_t plain_bytes = 0;
};

/// Levels: 0 stores; 1 is ISA-L's fast compression; 2 takes that or run lengths with Huffman codes (zlib's
/// Z_RLE), whichever makes a sample of the block smaller; 3 to 9 are zlib's. Up to 2 rows have Paeth's filter,
/// above the one of five with the least sum.
DeflatedBlock deflate_rows(const PngRows &rows, int level);

/// What stands before and after the blocks of a zlib stream.
Bytes deflate_begin();
Bytes deflate_end(uint32_t adler);

}  // namespace upsample

#endif

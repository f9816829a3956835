// PNG's filters, and blocks of deflate: see deflate.h for the levels. On 12 megapixels doubled by Lanczos
// (144 MB of rows; Zen 5, one thread, 2026-11-22) zlib at level 4 made 49.6 MB at 33 MB/s, run lengths 45.8 MB
// at 105 MB/s, ISA-L 55.8 MB at 500 MB/s; of a page of text run lengths made 1.4 times as much as ISA-L.
#include "deflate.h"

#include <isa-l/igzip_lib.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

namespace upsample {
namespace {

enum RowFilter { filter_none, filter_sub, filter_up, filter_average, filter_paeth };

int paeth(int left, int up, int corner) {
    const int p = up - corner, q = left - corner;
    const int to_left = std::abs(p), to_up = std::abs(q), to_corner = std::abs(p + q);
    return to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
}

/// `row` and `up` have `pixel` zeros before them, as the specification has it.
void filter_row(RowFilter filter, const uint8_t *row, const uint8_t *up, std::size_t bytes, int pixel,
                uint8_t *output) {
    *output++ = filter;
    const uint8_t *left = row - pixel, *corner = up - pixel;
    switch (filter) {
        case filter_none:
            std::copy_n(row, bytes, output);
            return;
        case filter_sub:
            for (std::size_t i = 0; i < bytes; ++i) output[i] = row[i] - left[i];
            return;
        case filter_up:
            for (std::size_t i = 0; i < bytes; ++i) output[i] = row[i] - up[i];
            return;
        case filter_average:
            for (std::size_t i = 0; i < bytes; ++i) output[i] = row[i] - (left[i] + up[i]) / 2;
            return;
        case filter_paeth:
            for (std::size_t i = 0; i < bytes; ++i)
                output[i] = static_cast<uint8_t>(row[i] - paeth(left[i], up[i], corner[i]));
            return;
    }
}

int64_t magnitude(const Bytes &filtered) {
    int64_t sum = 0;
    for (std::size_t i = 1; i < filtered.size(); ++i) sum += std::abs(static_cast<int8_t>(filtered[i]));
    return sum;
}

/// A row in the file's byte order, after a pixel of zeros.
void copy_row(const uint8_t *from, const PngRows &rows, Bytes &to) {
    uint8_t *row = to.data() + rows.channels * rows.bits / 8;
    std::copy_n(from, rows.row_bytes, row);
    if (rows.bits == 16 && std::endian::native == std::endian::little) {
        for (std::size_t i = 0; i + 1 < rows.row_bytes; i += 2) std::swap(row[i], row[i + 1]);
    }
}

Bytes filtered_rows(const PngRows &rows, bool adaptive) {
    const int pixel = rows.channels * rows.bits / 8;
    const std::size_t length = rows.row_bytes + 1, count = rows.rows.size() / rows.row_bytes;
    Bytes row(pixel + rows.row_bytes), up(row.size()), candidate(adaptive ? length : 0), result(length * count);
    if (!rows.before.empty()) copy_row(rows.before.data(), rows, up);
    for (std::size_t y = 0; y < count; ++y) {
        copy_row(rows.rows.data() + y * rows.row_bytes, rows, row);
        uint8_t *output = result.data() + y * length;
        if (!adaptive) {
            filter_row(filter_paeth, row.data() + pixel, up.data() + pixel, rows.row_bytes, pixel, output);
        } else {
            int64_t least = -1;
            for (const RowFilter filter : {filter_none, filter_sub, filter_up, filter_average, filter_paeth}) {
                filter_row(filter, row.data() + pixel, up.data() + pixel, rows.row_bytes, pixel, candidate.data());
                const int64_t sum = magnitude(candidate);
                if (least >= 0 && sum >= least) continue;
                least = sum;
                std::copy(candidate.begin(), candidate.end(), output);
            }
        }
        std::swap(row, up);
    }
    return result;
}

/// Ends on a whole byte, so that another block may follow.
Bytes by_zlib(const uint8_t *data, std::size_t bytes, int level, int strategy) {
    z_stream stream{};
    constexpr int raw_deflate = -15;
    if (deflateInit2(&stream, level, Z_DEFLATED, raw_deflate, 9, strategy) != Z_OK) throw std::bad_alloc();
    const std::unique_ptr<z_stream, int (*)(z_stream *)> end(&stream, deflateEnd);
    Bytes result(deflateBound(&stream, bytes) + 16);  // with room for the mark of a flush
    stream.next_in = const_cast<Bytef *>(data);
    stream.avail_in = static_cast<uInt>(bytes);
    stream.next_out = result.data();
    stream.avail_out = static_cast<uInt>(result.size());
    if (deflate(&stream, Z_FULL_FLUSH) != Z_OK || stream.avail_in > 0 || stream.avail_out == 0)
        throw PictureError("zlib could not compress a block");
    result.resize(result.size() - stream.avail_out);
    return result;
}

Bytes by_isal(const uint8_t *data, std::size_t bytes) {
    const auto stream = std::make_unique<isal_zstream>();
    Bytes buffer(ISAL_DEF_LVL2_DEFAULT), result(bytes + bytes / 8 + 4096);
    isal_deflate_init(stream.get());
    stream->level = 2;
    stream->level_buf = buffer.data();
    stream->level_buf_size = static_cast<uint32_t>(buffer.size());
    stream->flush = FULL_FLUSH;
    stream->next_in = const_cast<uint8_t *>(data);
    stream->avail_in = static_cast<uint32_t>(bytes);
    stream->next_out = result.data();
    stream->avail_out = static_cast<uint32_t>(result.size());
    if (isal_deflate(stream.get()) != COMP_OK || stream->avail_in > 0 || stream->avail_out == 0)
        throw PictureError("ISA-L could not compress a block");
    result.resize(stream->total_out);
    return result;
}

Bytes compressed(const Bytes &data, int level) {
    if (level == 0) return by_zlib(data.data(), data.size(), 0, Z_DEFAULT_STRATEGY);
    if (level == 1) return by_isal(data.data(), data.size());
    if (level > 2) return by_zlib(data.data(), data.size(), level, Z_FILTERED);
    // From the middle of the block: at its start there is nothing yet to refer to.
    const std::size_t sample = std::min<std::size_t>(data.size(), 1 << 15), at = (data.size() - sample) / 2;
    const bool runs = by_zlib(data.data() + at, sample, 1, Z_RLE).size() < by_isal(data.data() + at, sample).size();
    return runs ? by_zlib(data.data(), data.size(), 1, Z_RLE) : by_isal(data.data(), data.size());
}

}  // namespace

DeflatedBlock deflate_rows(const PngRows &rows, int level) {
    const Bytes plain = filtered_rows(rows, level > 2);
    return {compressed(plain, level), static_cast<uint32_t>(adler32_z(1, plain.data(), plain.size())), plain.size()};
}

Bytes deflate_begin() {
    return {0x78, 0x9C};  // a window of 32 KiB, no dictionary
}

Bytes deflate_end(uint32_t adler) {
    Bytes end = {0x03, 0x00};  // an empty block that is the last
    for (int shift = 24; shift >= 0; shift -= 8) end.push_back(static_cast<uint8_t>(adler >> shift));
    return end;
}

}  // namespace upsample

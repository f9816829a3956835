// Pieces joined to rows: see picture.h.
#include "picture.h"

#include <algorithm>

namespace upsample {

Span span_around(int64_t first, int64_t last, int64_t reach, int64_t length) {
    return {std::max<int64_t>(0, first - reach), std::min(length, last + reach), first, last};
}

Rows WholeRows::next() {
    const Shape &shape = source_.shape();
    int64_t rows = 0;
    while (true) {
        const Piece piece = source_.next();
        if (piece.count == 0) return {};
        rows = piece.count;
        planes_.resize(shape.channels * rows * shape.width);
        for (int c = 0; c < shape.channels; ++c) {
            for (int64_t y = 0; y < rows; ++y)
                std::copy_n(piece.data + c * piece.plane_stride + y * piece.row_stride, piece.columns,
                            planes_.data() + (c * rows + y) * shape.width + piece.column);
        }
        if (piece.column + piece.columns == shape.width) return {planes_.data(), rows * shape.width, rows};
    }
}

}  // namespace upsample

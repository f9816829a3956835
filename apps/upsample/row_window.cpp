#include "row_window.h"

#include <algorithm>

namespace upsample {

const float *RowWindow::move_to(int64_t begin, int64_t end) {
    const Shape &shape = source_.shape();
    const int64_t width = shape.width;
    const int64_t count = end - begin;
    if (begin == begin_ && end == end_) return rows_.data();
    std::swap(rows_, previous_);
    rows_.reserve(shape.channels * count * width);

    int64_t filled = std::max<int64_t>(0, end_ - begin), skipped = std::max<int64_t>(0, begin - end_);
    for (int c = 0; c < shape.channels; ++c) {
        if (filled == 0) break;
        const float *kept = previous_.data() + (c * (end_ - begin_) + end_ - filled - begin_) * width;
        std::copy_n(kept, filled * width, rows_.data() + c * count * width);
    }
    while (filled < count) {
        if (pending_.count == 0) pending_ = source_.next();
        if (pending_.count == 0) throw PictureError("the picture has fewer rows than it says");
        const int64_t taken = std::min(pending_.count, skipped > 0 ? skipped : count - filled);
        for (int c = 0; c < shape.channels && skipped == 0; ++c)
            std::copy_n(pending_.data + c * pending_.plane_stride, taken * width,
                        rows_.data() + (c * count + filled) * width);
        (skipped > 0 ? skipped : filled) += skipped > 0 ? -taken : taken;
        pending_.data += taken * width;
        pending_.count -= taken;
    }
    begin_ = begin;
    end_ = end;
    return rows_.data();
}

}  // namespace upsample

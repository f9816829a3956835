#include "row_window.h"

#include <algorithm>

namespace upsample {

const float *RowWindow::move_to(int64_t begin, int64_t end) {
    const Shape &shape = source_.shape();
    const int64_t width = shape.width;
    const int64_t count = end - begin;
    std::swap(rows_, previous_);
    rows_.resize(shape.channels * count * width);

    int64_t filled = end_ - begin;
    for (int c = 0; c < shape.channels; ++c) {
        const float *kept = previous_.data() + (c * (end_ - begin_) + end_ - filled - begin_) * width;
        std::copy_n(kept, filled * width, rows_.data() + c * count * width);
    }
    while (filled < count) {
        if (pending_.count == 0) pending_ = source_.next();
        if (pending_.count == 0) throw PictureError("the picture has fewer rows than it says");
        const int64_t taken = std::min(pending_.count, count - filled);
        for (int c = 0; c < shape.channels; ++c) {
            std::copy_n(pending_.data + c * pending_.plane_stride, taken * width,
                        rows_.data() + (c * count + filled) * width);
        }
        filled += taken;
        pending_.data += taken * width;
        pending_.count -= taken;
    }
    begin_ = begin;
    end_ = end;
    return rows_.data();
}

}  // namespace upsample

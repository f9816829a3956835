// A window of consecutive rows that slides down a picture, for steps that need neighbours above and below.
#ifndef UPSAMPLE_ROW_WINDOW_H
#define UPSAMPLE_ROW_WINDOW_H

#include "buffer.h"
#include "picture.h"

namespace upsample {

class RowWindow {
  public:
    explicit RowWindow(RowSource &source) : source_(source) {}

    /// Moves on to rows [begin, end): neither may decrease. The result is dense:
    /// (channels, end - begin, width).
    const float *move_to(int64_t begin, int64_t end);

  private:
    RowSource &source_;
    Buffer<float> rows_, previous_;
    int64_t begin_ = 0, end_ = 0;
    Rows pending_;  // what the source gave and the window has not reached
};

}  // namespace upsample

#endif

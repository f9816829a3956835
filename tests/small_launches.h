// Limits of a launch so small that little problems are cut as those of 2^31 elements are.
#ifndef CONV_TRANSPOSE_TESTS_SMALL_LAUNCHES_H
#define CONV_TRANSPOSE_TESTS_SMALL_LAUNCHES_H

#include <cstdint>

#include "runtime/src/choice/launch_limits.h"

namespace conv_transpose::testing {

/// Holds for plans that are made and run while it lives.
class SmallLaunches {
  public:
    SmallLaunches(int64_t elements, int64_t grid) { limit_launches(elements, grid); }
    ~SmallLaunches() { restore_launch_limits(); }
    SmallLaunches(const SmallLaunches &) = delete;
    SmallLaunches &operator=(const SmallLaunches &) = delete;
};

}  // namespace conv_transpose::testing

#endif

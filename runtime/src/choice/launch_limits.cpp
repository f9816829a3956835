// The limits of a launch: see launch_limits.h.
#include "choice/launch_limits.h"

#include <atomic>

namespace conv_transpose {

namespace {

constexpr int64_t most_elements = (int64_t{1} << 31) - 1, most_of_a_grid = 65535;

std::atomic<int64_t> elements_limit{most_elements}, grid_limit{most_of_a_grid};

}  // namespace

int64_t max_elements_32bit() noexcept { return elements_limit.load(std::memory_order_relaxed); }

int64_t max_grid() noexcept { return grid_limit.load(std::memory_order_relaxed); }

void limit_launches(int64_t elements, int64_t grid) noexcept {
    elements_limit = elements;
    grid_limit = grid;
}

void restore_launch_limits() noexcept { limit_launches(most_elements, most_of_a_grid); }

}  // namespace conv_transpose

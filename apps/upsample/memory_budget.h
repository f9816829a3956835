// Memory that pictures share which are enlarged at the same time: each claims what it will need beforehand.
#ifndef UPSAMPLE_MEMORY_BUDGET_H
#define UPSAMPLE_MEMORY_BUDGET_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "picture.h"

namespace upsample {

class MemoryBudget {
  public:
    explicit MemoryBudget(uint64_t bytes) : total_(bytes), free_(bytes) {}

    uint64_t total() const { return total_; }

    /// A share of the memory, given back at its end.
    class Share {
      public:
        /// Waits until so much is free. Throws PictureError where it never will be.
        Share(MemoryBudget &budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {
            if (bytes > budget.total_)
                throw PictureError("the picture would take " + std::to_string((bytes >> 20) + 1) +
                                   " MiB of memory, over the limit of " + std::to_string(budget.total_ >> 20) +
                                   " (--memory raises it)");
            std::unique_lock lock(budget.mutex_);
            budget.changed_.wait(lock, [&] { return budget.free_ >= bytes; });
            budget.free_ -= bytes;
        }
        ~Share() {
            const std::lock_guard lock(budget_.mutex_);
            budget_.free_ += bytes_;
            budget_.changed_.notify_all();
        }
        Share(const Share &) = delete;
        Share &operator=(const Share &) = delete;

      private:
        MemoryBudget &budget_;
        uint64_t bytes_;
    };

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t total_, free_;
};

}  // namespace upsample

#endif

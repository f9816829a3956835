// Wall-clock time since a moment.
#ifndef UPSAMPLE_STOPWATCH_H
#define UPSAMPLE_STOPWATCH_H

#include <chrono>

namespace upsample {

class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point started_ = Clock::now();
};

}  // namespace upsample

#endif

// A progress bar on standard error, for people who wait at a terminal.
#ifndef UPSAMPLE_PROGRESS_H
#define UPSAMPLE_PROGRESS_H

#include <cstdint>
#include <mutex>
#include <string>

#include "stopwatch.h"

namespace upsample {

/// Shows nothing unless standard error is a terminal. Several pictures may be on their way, in several threads.
class Progress {
  public:
    Progress(bool wanted, std::size_t pictures);

    /// A picture begins. Its name is shown until another's begins.
    void start(const std::string &name);

    /// Some rows of a picture that has so many are done.
    void advance(int64_t rows, int64_t of_rows);

    /// Removes the bar, so that other text can be written.
    void clear();

  private:
    void draw();

    std::mutex mutex_;
    bool on_;
    bool drawn_ = false;
    std::string name_;
    double pictures_, done_ = 0, rows_ = 0;
    Stopwatch since_start_, since_drawn_;
};

}  // namespace upsample

#endif

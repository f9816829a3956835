// A progress bar with rate and time left, on a terminal only.
#ifndef UPSAMPLE_PROGRESS_H
#define UPSAMPLE_PROGRESS_H

#include <cstdint>
#include <string>

#include "stopwatch.h"

namespace upsample {

class Progress {
  public:
    /// Draws on standard error when it is a terminal and `wanted`; does nothing otherwise.
    explicit Progress(bool wanted);
    ~Progress() { clear(); }

    void start(const std::string &name, int64_t rows);
    void advance(int64_t rows);

    /// Takes the bar away, so that something else can be printed.
    void clear();

  private:
    void draw();

    bool on_;
    bool drawn_ = false;
    std::string name_;
    int64_t rows_ = 0, done_ = 0;
    Stopwatch since_start_, since_drawn_;
};

}  // namespace upsample

#endif

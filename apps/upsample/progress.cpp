#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "printable.h"

namespace upsample {
namespace {

constexpr double redraw_seconds = 0.1;
constexpr int bar_width = 24;

int terminal_width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string clock_time(double seconds) {
    char text[32];
    const long total = static_cast<long>(seconds + 0.5);
    if (total >= 3600) {
        std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
    } else {
        std::snprintf(text, sizeof text, "%ld:%02ld", total / 60, total % 60);
    }
    return text;
}

}  // namespace

Progress::Progress(bool wanted, std::size_t pictures)
    : on_(wanted && isatty(STDERR_FILENO)), pictures_(static_cast<double>(pictures)) {}

void Progress::start(const std::string &name) {
    const std::lock_guard lock(mutex_);
    name_ = printable(name);
    if (on_) draw();
}

void Progress::advance(int64_t rows, int64_t of_rows) {
    const std::lock_guard lock(mutex_);
    rows_ += static_cast<double>(rows);
    done_ += static_cast<double>(rows) / static_cast<double>(of_rows);
    if (on_ && (since_drawn_.seconds() >= redraw_seconds || done_ > pictures_ - 1e-9)) draw();
}

void Progress::draw() {
    since_drawn_ = Stopwatch();
    drawn_ = true;
    const double share = std::min(1.0, done_ / pictures_ + 1e-9), elapsed = since_start_.seconds();
    std::string bar(bar_width, '.');
    std::fill_n(bar.begin(), static_cast<int>(share * bar_width), '#');
    char numbers[96];
    if (done_ > 0 && elapsed > 0) {
        std::snprintf(numbers, sizeof numbers, "%3d%% %.0f rows/s %s left", static_cast<int>(share * 100),
                      rows_ / elapsed, clock_time(elapsed * (1 / share - 1)).c_str());
    } else {
        std::snprintf(numbers, sizeof numbers, "%3d%%", static_cast<int>(share * 100));
    }
    const std::string tail = " [" + bar + "] " + numbers;
    const int room = std::max(0, terminal_width() - 1 - static_cast<int>(tail.size()));
    const std::string line = (name_.substr(0, room) + tail).substr(0, terminal_width() - 1);
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
}

void Progress::clear() {
    const std::lock_guard lock(mutex_);
    if (!drawn_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
}

}  // namespace upsample

// A loop whose parts run on several threads.
#ifndef UPSAMPLE_PARALLEL_H
#define UPSAMPLE_PARALLEL_H

#include <cstdint>
#include <future>
#include <vector>

namespace upsample {

/// Calls work(first, last) for parts of [0, count), one of them on this thread. Throws what a part throws.
template <typename Work>
void parallel_parts(int64_t count, int threads, const Work &work) {
    const int64_t parts = threads < count ? threads : count;
    std::vector<std::future<void>> others;
    for (int64_t part = 1; part < parts; ++part)
        others.push_back(std::async(std::launch::async, [&work, first = count * part / parts,
                                                         last = count * (part + 1) / parts] { work(first, last); }));
    if (count > 0) work(int64_t{0}, count / (parts > 1 ? parts : 1));
    for (std::future<void> &other : others) other.get();
}

}  // namespace upsample

#endif

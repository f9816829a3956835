// What a schedule lets the autotuner choose: values of its GeneratorParams, and the rules between them.
//
// A schedule that can be tuned declares this once, beside its GeneratorParams:
//
//   void search_space(SearchSpace &space, const SearchedProblem &problem) const {
//       const int threads = space.choose(this->threads, {64, 128, 256});
//       const int channels = space.choose(this->channels, {4, 8, 16});
//       space.require("sums fit the registers", threads * channels <= 65536 / 2);
//   }
//
// The generator driver calls it with combinations of values set, so rules are plain C++ on the present values; it hands the
// combinations that obey all of them to the tuner (compiler/driver/search_space_listing.h). A rule stands behind all choices that
// it is about: what is chosen behind a rule that is broken is not tried, so rules should stand as early as they can.
#ifndef CONV_TRANSPOSE_SCHEDULES_SHARED_SEARCH_SPACE_H
#define CONV_TRANSPOSE_SCHEDULES_SHARED_SEARCH_SPACE_H

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "Halide.h"
#include "algorithm/gather.h"
#include "algorithm/machine_facts.h"

namespace conv_transpose {

/// What tiles of this size compute on an axis, with what lies outside of the picture.
inline int covered(int size, int tile) { return (size + tile - 1) / tile * tile; }

/// Whether they leave at most an eighth of that outside, small ones less than half. The least tile that
/// schedules have always fits, and every one where the picture's size is not known.
inline bool tiles_fit_axis(int size, int tile, int least) {
    constexpr int small = 16;
    return size == 0 || tile <= least || covered(size, tile) * 7 <= size * 8 ||
           (tile <= small && covered(size, tile) < 2 * size);
}

/// What a search is for. 0 stands for a run-time value.
struct SearchedProblem {
    int in_channels, out_channels;  ///< of one group
    int kernel_x, kernel_y, stride_x, stride_y;
    GatherAxis x_axis, y_axis;
    /// The CPU target has so many: 32 for AVX-512.
    int vector_registers;
    int output_width, output_height;

    int taps() const { return kernel_x * kernel_y; }

    bool tiles_fit(int width, int height) const { return columns_fit(width) && rows_fit(height); }
    bool columns_fit(int width) const { return tiles_fit_axis(output_width, width, 8); }
    bool rows_fit(int height) const { return tiles_fit_axis(output_height, height, 1); }
};

class SearchSpace {
  public:
    struct Choice {
        std::string parameter;
        std::vector<int> values;
        bool is_bool;
        int present;
    };

    /// The values that the tuner may give a parameter (0 and 1 for a bool). The schedule's default need not be among
    /// them. Returns the present value.
    template <class T>
    int choose(const Halide::GeneratorParam<T> &parameter, const std::vector<int> &values) {
        const int present = static_cast<T>(parameter);
        number_++;
        if (listing_) choices_.push_back({parameter.name(), values, std::is_same_v<T, bool>, present});
        return present;
    }

    /// A rule, and whether the present values obey it.
    void require([[maybe_unused]] const char *rule, bool holds) {
        if (!holds) broken_ = std::min(broken_, number_);
    }

    const std::vector<Choice> &choices() const { return choices_; }
    bool obeyed() const { return broken_ == none; }
    /// So many choices stand before the first rule that is broken.
    std::size_t chosen_before_broken() const { return broken_; }

    /// Asks for the rules alone: there are millions of combinations.
    static SearchSpace rules_only() {
        SearchSpace space;
        space.listing_ = false;
        return space;
    }

  private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    bool listing_ = true;
    std::size_t number_ = 0, broken_ = none;  ///< of choices
    std::vector<Choice> choices_;
};

/// Limits of the GPUs that the rules of CUDA schedules count with.
struct GpuLimits {
    static constexpr int threads = machines::Multiprocessor::block_threads, warp = machines::Multiprocessor::warp;
    /// Registers that a thread can spare for sums.
    static constexpr int sums = 144;
    static constexpr int shared_bytes = machines::Multiprocessor::least_shared_bytes;
    /// Multiply-adds in a straight line; beyond that ptxas takes minutes and the instruction cache misses.
    static constexpr int unrolled = 12000;

    /// Registers of each thread, where so many threads share a multiprocessor.
    static int registers(int threads_on_multiprocessor) {
        using machines::Multiprocessor;
        return std::min(Multiprocessor::registers / threads_on_multiprocessor, Multiprocessor::thread_registers);
    }
};

}  // namespace conv_transpose

#endif

// Problems and data for the tests, drawn from a seed: every attribute varies, and awkward values come often.
#ifndef CONV_TRANSPOSE_TESTS_RANDOM_PROBLEMS_H
#define CONV_TRANSPOSE_TESTS_RANDOM_PROBLEMS_H

#include <random>
#include <vector>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose::testing {

class RandomProblems {
  public:
    explicit RandomProblems(unsigned seed) : random_(seed) {}

    /// A valid problem of sizes 1 to 40, small enough for the oracle. Padding may exceed the kernel, the stride the
    /// kernel, output_padding the stride (where dilation is larger), and the batch may be 0.
    Problem next() {
        for (;;) {
            const Problem p = draw();
            if (is_valid(p) && products(p) < 4e5 && p.output_elements() < 200000) return p;
        }
    }

    /// Likewise, of rank 1 to 3.
    Problem next_of_rank(int rank) {
        for (;;) {
            Problem p = draw();
            p.rank = rank;
            if (rank == 1) p.height() = {};
            if (rank == 3) p.depth().input = between(1, 6), draw_attributes(p.depth());
            if (is_valid(p) && products(p) < 4e5 && p.output_elements() < 200000) return p;
        }
    }

    /// A valid problem of so many channels that they fill tiles of matrix products, or go a little beyond
    /// them, of small pictures and any attributes.
    Problem next_with_many_channels() {
        for (;;) {
            Problem p = draw();
            p.batch = between(1, 9);
            p.groups = one_in(3) ? 2 : 1;
            p.in_channels = p.groups * (one_in(3) ? 32 * between(1, 4) : between(16, 150));
            p.out_channels = p.groups * (one_in(3) ? 32 * between(1, 4) : between(12, 150));
            p.height().input = between(1, 5), p.width().input = between(1, 7);
            if (is_valid(p) && products(p) < 5e6 && p.output_elements() < 200000) return p;
        }
    }

    /// A valid problem with the attributes and channels of `like` and another batch and size. Whole strides
    /// are added to the padding, so that it keeps its phase.
    Problem resized(const Problem &like) {
        for (;;) {
            Problem p = like;
            p.batch = between(1, 2);
            p.height().input = one_in(3) ? between(1, 90) : between(1, 20), p.width().input = one_in(3) ? between(1, 90) : between(1, 20);
            for (Axis *axis : {&p.height(), &p.width()}) {
                axis->padding += axis->stride * (one_in(2) ? 0 : between(1, 3));
                axis->output_padding = one_in(2) ? 0 : between(0, std::max(axis->stride, axis->dilation) - 1);
            }
            if (is_valid(p) && products(p) < 4e7) return p;
        }
    }

    /// Small integers: every sum is exact in float32 whatever its order, and in TF32 as well.
    std::vector<float> integers(int64_t count) {
        std::vector<float> values(count);
        for (float &v : values) v = static_cast<float>(between(-4, 4));
        return values;
    }

    /// Uniform in [-1, 1).
    std::vector<float> reals(int64_t count) {
        std::uniform_real_distribution<float> uniform(-1, 1);
        std::vector<float> values(count);
        for (float &v : values) v = uniform(random_);
        return values;
    }

    int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
    bool one_in(int n) { return between(1, n) == 1; }

  private:
    std::mt19937 random_;

    int64_t size() { return one_in(3) ? between(1, 40) : between(1, 12); }

    static bool is_valid(const Problem &p) {
        try {
            p.validate();
            return true;
        } catch (const InvalidProblem &) {
            return false;
        }
    }

    static double products(const Problem &p) {
        double all = double(p.batch) * p.in_channels * (p.out_channels / p.groups);
        for (const Axis &axis : p.axes) all *= double(axis.input) * axis.kernel;
        return all;
    }

    void draw_attributes(Axis &axis) {
        axis.kernel = one_in(8) ? between(8, 12) : between(1, 5);
        axis.stride = one_in(2) ? 1 : between(1, 6);
        axis.dilation = one_in(2) ? 1 : between(1, 4);
        axis.padding = one_in(2) ? 0 : between(0, 8);
        axis.output_padding = one_in(2) ? 0 : between(0, std::max(axis.stride, axis.dilation) - 1);
    }

    Problem draw() {
        Problem p;
        p.batch = one_in(40) ? 0 : between(1, 3);
        p.groups = one_in(2) ? 1 : between(1, 6);
        p.in_channels = p.groups * (one_in(3) ? 1 : between(1, 9));
        p.out_channels = p.groups * (one_in(3) ? 1 : between(1, 20));
        p.height().input = size(), p.width().input = size();
        draw_attributes(p.height());
        draw_attributes(p.width());
        return p;
    }
};

}  // namespace conv_transpose::testing

#endif

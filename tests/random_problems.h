// Problems and data for the tests, drawn from a seed: every attribute varies, and awkward values come often.
#ifndef CONV_TRANSPOSE_TESTS_RANDOM_PROBLEMS_H
#define CONV_TRANSPOSE_TESTS_RANDOM_PROBLEMS_H

#include <algorithm>
#include <iterator>
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

    /// A valid problem of a kernel of two or three strides, or of one along the height, and enough channels for Winograd's
    /// algorithm on CPUs.
    Problem next_of_few_strides() {
        for (;;) {
            Problem p = Problem::parse("kh1kw1");
            p.groups = one_in(4) ? 2 : 1, p.batch = between(1, 4);
            p.in_channels = p.groups * between(16, 20), p.out_channels = p.groups * between(16, 27);
            const bool is_row = one_in(3);
            const int64_t taps = between(2, 3);
            for (Axis *axis : {&p.height(), &p.width()}) {
                const int64_t strides = axis == &p.height() && is_row ? 1 : taps;
                axis->stride = between(1, 5);
                axis->kernel = axis->stride * strides - between(0, axis->stride - 1);
                axis->input = axis == &p.height() ? between(1, is_row ? 2 : 10) : between(1, is_row ? 200 : 20);
                axis->padding = between(0, axis->kernel), axis->output_padding = between(0, axis->stride - 1);
            }
            if (is_valid(p)) return p;
        }
    }

    /// A layer with attributes that kernels are made for, channels on either side of tiles, and sizes from one pixel to a few
    /// tiles. Takes so many products at most.
    Problem next_layer(int rank, double most_products) {
        static constexpr const char *attributes[] = {
            "kh3kw3", "kh3kw5", "kh3kw7", "kh2kw2sh2sw2", "kh3kw3sh2sw2ph1pw1", "kh4kw4sh2sw2ph1pw1",
            "kh9kw9sh2sw2ph4pw4", "kh9kw9sh3sw3ph4pw4", "kh9kw9sh4sw4ph4pw4", "kh3kw5sh2sw3ph1pw2dh2",
            "kh3kw3sh5sw5ph1pw1dh2dw2", "kh4kw4sh4sw4ph1pw2", "kh1kw4sh1sw2pw1", "kh5kw5sh2sw2ph2pw2",
            "kh1kw8sh1sw4pw2", "kh1kw10sh1sw5pw3", "kh1kw16sh1sw8pw4", "kh16kw16sh8sw8ph4pw7",
            "kh1kw8sh1sw2pw3", "kh18kw1sh3sw1ph7", "kh1kw24sh1sw4pw10", "kh30kw1sh5sw1ph12",
            "kh1kw36sh1sw6pw15", "kh42kw1sh7sw1ph17", "kh1kw48sh1sw8pw20", "kh1kw1",
            "kh3kw4sh4sw6ph1pw2dh2dw4", "kh2kw3sh3sw2dh2dw3", "kh16kw1sh2sw1ph3", "kh1kw12sh1sw3pw3",
            "kh16kw1sh4sw1", "kh1kw20sh1sw5", "kh24kw1sh6sw1", "kh1kw14sh1sw7", "kh16kw1sh8sw1"};
        static constexpr const char *channels[] = {
            "ic64oc64", "ic64oc128", "ic32oc32", "ic16oc32g2", "ic32oc64", "ic64oc3", "ic56oc1",
            "ic512oc256", "ic128oc64", "ic64oc32", "ic128oc96", "ic64oc96"};
        for (;;) {
            Problem p = one_in(6) ? next() : Problem::parse(attributes[between(0, std::size(attributes) - 1)]);
            p.batch = one_in(3) ? between(2, 5) : 1;
            if (one_in(3)) {
                const Problem exact = Problem::parse(channels[between(0, std::size(channels) - 1)]);
                p.groups = exact.groups, p.in_channels = exact.in_channels * exact.groups,
                p.out_channels = exact.out_channels * exact.groups;
            } else {
                const bool depthwise = one_in(5);
                p.groups = depthwise ? between(1, 9) : one_in(4) ? between(2, 4) : 1;
                p.in_channels = p.groups * (depthwise ? 1 : some_channels());
                p.out_channels = p.groups * (depthwise ? 1 : some_channels());
            }
            p.height().input = std::min(extent(), extent()), p.width().input = extent();
            // Rows of whole tiles, of up to 256 positions.
            if (one_in(5)) p.height().input = between(1, 5), p.width().input = between(120, 330);
            p.rank = rank;
            if (rank == 1) p.height() = {};
            if (rank == 3) {
                p.depth() = p.height();
                p.depth().input = between(1, 4), p.depth().kernel = std::min<int64_t>(p.depth().kernel, between(1, 5));
            }
            for (int i = 3 - rank; i < 3; i++) {
                Axis &axis = p.axes[i];
                axis.padding += axis.stride * between(0, 1);
                axis.output_padding = one_in(2) ? 0 : between(0, axis.stride - 1);
            }
            if (is_valid(p) && products(p) < most_products && 75. * double(p.output_elements()) < most_products) return p;
        }
    }

    /// A valid problem with the attributes and channels of `like` and another batch and size. Whole strides
    /// are added to the padding, so that it keeps its phase.
    Problem resized(const Problem &like) {
        for (;;) {
            Problem p = like;
            p.batch = between(1, 2);
            p.height().input = one_in(3) ? between(1, 90) : between(1, 20),
            p.width().input = one_in(3) ? between(1, 90) : between(1, 20);
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

    /// The sum's products; taps that see nothing count as well.
    static double products(const Problem &p) {
        double all = double(p.batch) * p.in_channels * (p.out_channels / std::max<int64_t>(p.groups, 1));
        for (const Axis &axis : p.axes) all *= double(axis.input) * axis.kernel;
        return all;
    }

    int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
    bool one_in(int n) { return between(1, n) == 1; }

  private:
    std::mt19937 random_;

    int64_t size() { return one_in(3) ? between(1, 40) : between(1, 12); }

    int64_t extent() { return one_in(3) ? between(1, 4) : one_in(2) ? between(5, 20) : between(20, 140); }

    int64_t some_channels() {
        if (one_in(3)) return between(1, 9);
        if (one_in(3)) return between(10, 40);
        return one_in(2) ? 32 * between(1, 4) : between(41, 150);
    }

    static bool is_valid(const Problem &p) {
        try {
            p.validate();
            return true;
        } catch (const InvalidProblem &) {
            return false;
        }
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

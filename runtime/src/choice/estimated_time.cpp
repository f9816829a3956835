// An estimate of time: see estimated_time.h.
#include "choice/estimated_time.h"

#include <algorithm>
#include <numeric>

#include "algorithm/machine_facts.h"
#include "problem/counting.h"
#include "choice/product_blocks.h"
#include "plan/reduction_parts.h"
#include "choice/weight_gradient_time.h"

namespace conv_transpose {

namespace {

using machines::H200;

// The tensor that is computed, and its sum, of one group.
struct Work {
    Size2 picture;
    int64_t channels;
    double products;  // for an element, on average
    double longest = 1;  // block, in such averages: phases of their own blocks may differ in taps

    Work(const KernelTraits &k, const Problem &p) {
        const bool forward = k.operation == Operation::forward;
        const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups,
                      chunk = k.weight_in_channel_multiple;
        const int64_t summed = forward ? in : out;
        picture = forward ? spanned_output(k, p) : p.input;
        channels = forward ? out : in;
        const int64_t phases = forward ? p.stride.height * p.stride.width : 1;
        products = double(p.kernel.height) * p.kernel.width / phases * round_up(summed, chunk);
        if (forward && k.counts_through_images)
            longest = most_taps(p) * phases / (double(p.kernel.height) * p.kernel.width);
    }

  private:
    // Of a phase.
    static double most_taps(const Problem &p) {
        const auto of_axis = [](int64_t kernel, int64_t stride, int64_t dilation) {
            return double(ceil_divide(kernel, stride / std::gcd(stride, dilation)));
        };
        return of_axis(p.kernel.height, p.stride.height, p.dilation.height) *
               of_axis(p.kernel.width, p.stride.width, p.dilation.width);
    }
};

int64_t blocks_of(const KernelTraits &k, const Problem &p, const Work &work) {
    if (k.counts_through_images) return ProductBlocks(k, p).blocks;
    const Size2 tile = k.block_positions;
    const int64_t tiles = ceil_divide(work.picture.height, tile.height) * ceil_divide(work.picture.width, tile.width);
    return p.batch * tiles * ceil_divide(work.channels, k.block_channels) * p.groups;
}

// What a block does before and behind its loop, which may be short where any attributes are allowed: 13 us of
// c128's blocks, two of which share a multiprocessor, and 17 of large ones (H200, strides 2 to 5). Rates of
// the others have it in them.
double block_overhead(const KernelTraits &k) {
    return k.counts_through_images ? 8e-6 * (1 + 1.0 / k.blocks_per_multiprocessor) : 0;
}

// Outputs of one phase lie a stride apart. Beyond 16 bytes every one costs a transaction more of the
// second-level cache than the overhead of blocks has in it (1-D, stride 8: 37 us for 8 million outputs).
double scattered_stores_time(const KernelTraits &k, const Problem &p) {
    if (!k.counts_through_images || k.operation != Operation::forward) return 0;
    const int64_t apart = std::min<int64_t>(4 * p.stride.width, 32);
    return static_cast<double>(p.output_elements()) * std::max<int64_t>(apart - 16, 0) / H200::second_level_bytes_per_second;
}

// Of a picture that is packed before: it is read and written once.
double packing_time(const KernelTraits &k, const Problem &p) {
    if (!k.packed_channels) return 0;
    return 8.0 * p.input_elements() / H200::second_level_bytes_per_second;
}

}  // namespace

double estimated_time(const KernelTraits &k, const Problem &p, const Machine &machine) {
    if (k.operation == Operation::weight_gradient) return weight_gradient_time(k, p, machine);
    const Work work(k, p);
    const int64_t parts = ReductionParts::parts(k, p);
    const int64_t blocks = blocks_of(k, p, work) * parts;
    const double flop =
        2.0 * k.block_positions.height * k.block_positions.width * k.block_channels * work.products / parts;
    const int64_t multiprocessors = std::max(machine.multiprocessors, 1);
    const int64_t slots = multiprocessors * k.blocks_per_multiprocessor;
    double rounds = static_cast<double>(blocks / slots);
    if (const int64_t rest = blocks % slots; rest > 0) {
        // Blocks with fewer neighbours on their multiprocessor are faster, but each alone does not fill it.
        constexpr double alone = 0.4;
        rounds += work.longest * (alone + (1 - alone) * ceil_divide(rest, multiprocessors) / k.blocks_per_multiprocessor);
    }
    // Of a round: a multiprocessor is as fast as an H200's, whatever the number of them.
    const double round_flop = H200::multiprocessors * k.blocks_per_multiprocessor * flop;
    return rounds * (round_flop / (k.h200_tflops * 1e12) + block_overhead(k)) + packing_time(k, p) +
           scattered_stores_time(k, p);
}

}  // namespace conv_transpose

// Waves of a launch: the blocks that a GPU runs at the same time. Rates were measured on an H200, and a multiprocessor of another
// GPU is taken to be as fast, whatever their number is.
#ifndef CONV_TRANSPOSE_RUNTIME_WAVES_H
#define CONV_TRANSPOSE_RUNTIME_WAVES_H

#include <algorithm>
#include <cmath>

#include "algorithm/machine_facts.h"
#include "choice/kernel_traits.h"
#include "device/machine.h"

namespace conv_transpose {

/// At least 1, also where there is no GPU.
inline int64_t multiprocessors(const Machine &machine) { return std::max(machine.multiprocessors, 1); }

/// How many H200s the GPU is worth.
inline double share_of_h200(const Machine &machine) {
    return double(multiprocessors(machine)) / machines::H200::multiprocessors;
}

/// Blocks of the multiprocessor that has most of them.
inline double most_blocks(double blocks, const Machine &machine) {
    return std::ceil(blocks / double(multiprocessors(machine)));
}

struct Waves {
    double full;  ///< waves of as many blocks as fit
    double rest;  ///< blocks of a last wave that is not full

    Waves(double blocks, const Tile &kernel, const Machine &machine) {
        const auto slots = double(multiprocessors(machine) * kernel.blocks_per_multiprocessor);
        full = std::floor(blocks / slots), rest = blocks - full * slots;
    }
};

/// The share of a full wave's time that a multiprocessor takes for fewer blocks; one block takes the share `alone`.
inline double partial_wave(double blocks, double alone, const Tile &kernel) {
    return alone + (1 - alone) * blocks / double(kernel.blocks_per_multiprocessor);
}

}  // namespace conv_transpose

#endif

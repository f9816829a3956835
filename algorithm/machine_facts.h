// Facts of the GPUs that kernels are made for, in one place: what schedules count with, and where rates were
// measured. No Halide, no runtime types.
#ifndef CONV_TRANSPOSE_ALGORITHM_MACHINE_FACTS_H
#define CONV_TRANSPOSE_ALGORITHM_MACHINE_FACTS_H

namespace conv_transpose::machines {

/// Compute capability 80 is that of sm_80, the least of the GPUs that kernels are for. Hopper alone has warpgroups'
/// products and tensor maps.
inline constexpr int least_compute_capability = 80, hopper_compute_capability = 90;

/// A multiprocessor of any GPU since compute capability 8.0.
struct Multiprocessor {
    static constexpr int warp = 32, block_threads = 1024;
    /// A register has 32 bits; a thread addresses at most 255 of them.
    static constexpr int registers = 65536, thread_registers = 255;
    /// Bytes of shared memory that every one of them grants two blocks, or one block.
    static constexpr int least_shared_bytes = 99 * 1024;
    /// Bytes that the driver takes of a block's share.
    static constexpr int reserved_shared_bytes = 1024;
};

/// Where rates were measured: they are the whole machine's. What a multiprocessor of it does another is taken to do as
/// well, so that kernels are compared by proportion on GPUs of another size.
struct H200 {
    static constexpr int multiprocessors = 132;
    /// Shared memory that a block may have, as on other GPUs of compute capability 9.0 and 10.0.
    static constexpr int block_shared_bytes = 227 * 1024;
    /// Measured: what passes over a tensor reach, and stores that scatter into the second-level cache.
    static constexpr double memory_bytes_per_second = 3.4e12, second_level_bytes_per_second = 4e12;
    /// A multiprocessor serves one load of a warp a cycle, from a line of the first-level cache.
    static constexpr double loads_per_second = 1.7e9;
};

}  // namespace conv_transpose::machines

#endif

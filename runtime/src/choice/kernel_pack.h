// Kernel packs: shared objects with kernels and their rows, which an installed library loads at run time. The
// autotuner makes them (apps/autotune). A pack carries Halide's runtime of its own, with our replacements,
// and exports one symbol.
#ifndef CONV_TRANSPOSE_RUNTIME_KERNEL_PACK_H
#define CONV_TRANSPOSE_RUNTIME_KERNEL_PACK_H

#include <cstdint>

#include "choice/kernel_traits.h"
#include "device/cpu_threads.h"

namespace conv_transpose {

/// What a pack exports as `conv_transpose_kernel_pack`. The first four fields never change: the library reads others
/// only if they are its own.
struct KernelPack {
    /// Differs where kernels take other arguments.
    std::uint64_t signatures;
    std::uint32_t traits_bytes, context_bytes;
    const char *library_version;
    const KernelTraits *rows;
    std::size_t count;
    /// Makes the pack's kernels use the library's threads instead of threads of their own.
    void (*use_threads)(ParallelFor);
};

/// Loads the packs of the directory that CONV_TRANSPOSE_KERNEL_PATH names, once. Throws Unsupported as load_kernels()
/// does, every time that it is called, until they can be loaded.
void load_kernels_from_environment();

}  // namespace conv_transpose

#endif

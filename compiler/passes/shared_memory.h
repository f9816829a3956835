// What lowered code does with a block's shared memory. Halide puts all that a kernel keeps there into one
// allocation, so a place in it is an index, and an operand gets a second buffer by adding to that index.
#ifndef CONV_TRANSPOSE_COMPILER_SHARED_MEMORY_H
#define CONV_TRANSPOSE_COMPILER_SHARED_MEMORY_H

#include <optional>
#include <string>

#include "Halide.h"

namespace conv_transpose {

/// How many floats of 32 bits it has room for; nothing if it is not one array of constant size.
std::optional<int> shared_floats(const Halide::Internal::Allocate *allocate);

/// By how many floats accesses are moved: those from `begin` to before `end`, in floats, by `others`.
struct SharedMemoryShift {
    Halide::Expr floats;
    int begin = 0, end = 0;
    Halide::Expr others = Halide::Expr();

    SharedMemoryShift(const Halide::Expr &floats) : floats(floats) {}
    SharedMemoryShift(const Halide::Expr &floats, int begin, int end, const Halide::Expr &others)
        : floats(floats), begin(begin), end(end), others(others) {}
    /// That of an access to an index in elements of so many bytes, which counts up from a constant.
    const Halide::Expr &of(const Halide::Expr &index, int bytes) const;
};

/// The statement with every access to the allocation, and every shared address in a placeholder, moved. `constants_last`: see
/// SoftwarePipelineOptions::load_offsets.
Halide::Internal::Stmt shifted_in_shared_memory(const Halide::Internal::Stmt &statement,
                                                const std::string &allocation, const SharedMemoryShift &shift,
                                                bool constants_last);

/// A barrier among the threads of a block, behind which all see what was written to shared memory.
Halide::Internal::Stmt shared_memory_barrier();

}  // namespace conv_transpose

#endif

// The rows and the one symbol of a kernel pack. The autotuner compiles it for each pack, with CONV_TRANSPOSE_PACK_ROWS
// naming the file of rows.
#include "choice/kernel_pack.h"
#include "choice/kernel_rows.h"
#include "device/run_context.h"

#define CONV_TRANSPOSE_KERNEL CONV_TRANSPOSE_DECLARE_KERNEL
#include CONV_TRANSPOSE_PACK_ROWS
#undef CONV_TRANSPOSE_KERNEL

namespace {

using namespace conv_transpose;

constexpr KernelTraits rows[] = {
#define CONV_TRANSPOSE_KERNEL CONV_TRANSPOSE_KERNEL_ROW
#include CONV_TRANSPOSE_PACK_ROWS
#undef CONV_TRANSPOSE_KERNEL
};

}  // namespace

extern "C" const KernelPack conv_transpose_kernel_pack = {
    signatures_hash, sizeof(KernelTraits), sizeof(RunContext), CONV_TRANSPOSE_VERSION, rows, std::size(rows),
    run_parallel_loops_by};

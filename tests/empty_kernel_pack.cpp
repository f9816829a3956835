// A kernel pack without kernels, for kernel_pack_test.cpp: compiled once as a pack of this build, and once as one whose
// signatures are others.
#include "choice/kernel_pack.h"
#include "device/run_context.h"

namespace {
using namespace conv_transpose;
void use_no_threads(ParallelFor) {}
}  // namespace

extern "C" const KernelPack conv_transpose_kernel_pack = {
    signatures_hash ^ CONV_TRANSPOSE_OTHER_SIGNATURES, sizeof(KernelTraits), sizeof(RunContext), CONV_TRANSPOSE_VERSION,
    nullptr, 0, use_no_threads};

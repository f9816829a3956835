// Whether a kernel takes the arguments that its family's signature says.
#ifndef CONV_TRANSPOSE_COMPILER_SIGNATURE_CHECK_H
#define CONV_TRANSPOSE_COMPILER_SIGNATURE_CHECK_H

#include "Halide.h"
#include "algorithm/signature.h"

namespace conv_transpose {

/// Compares Halide's own list of the arguments of the module's function of the module's name with the signature, for
/// problems of `rank` axes. Throws std::runtime_error that names the first argument that differs, what the generator
/// has and what the signature says.
void check_signature(const Halide::Module &module, const Signature &signature, int rank);

}  // namespace conv_transpose

#endif

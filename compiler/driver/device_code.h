// The device code that Halide embeds in a lowered module: reading its PTX, and putting machine code in its
// place.
//
// Halide embeds PTX text and hands it, with its size, to halide_cuda_initialize_kernels. The driver takes a
// fat binary in place of the text as it is, and then neither compiles at start-up nor caps registers at 64.
#ifndef CONV_TRANSPOSE_COMPILER_DEVICE_CODE_H
#define CONV_TRANSPOSE_COMPILER_DEVICE_CODE_H

#include <string>

#include "Halide.h"

namespace conv_transpose {

bool has_device_code(const Halide::Module &module);

/// The PTX text, without the NUL characters that end it.
std::string device_ptx(const Halide::Module &module);

/// Embeds `binary` instead, in every function that hands the device code to the runtime.
void replace_device_code(Halide::Module &module, const std::string &binary);

}  // namespace conv_transpose

#endif

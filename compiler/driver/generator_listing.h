// The registered generators, listed for the autotuner.
#ifndef CONV_TRANSPOSE_COMPILER_GENERATOR_LISTING_H
#define CONV_TRANSPOSE_COMPILER_GENERATOR_LISTING_H

#include <string>

namespace conv_transpose {

/// A JSON array of objects, one a generator: "name", and of one that computes an operation by a schedule of ours
/// "operation", "device", "family", "tensor_cores" and "format_parameter" (GeneratorFacts).
std::string generator_listing();

}  // namespace conv_transpose

#endif

// Addresses of shared memory in kernels whose blocks may be launched as clusters.
#ifndef CONV_TRANSPOSE_COMPILER_CLUSTER_ADDRESSES_H
#define CONV_TRANSPOSE_COMPILER_CLUSTER_ADDRESSES_H

#include <string>

namespace conv_transpose {

/// A kernel's body whose addresses of shared memory, which count from 0, begin with that of the block's memory: in a cluster they
/// tell the block, too.
std::string counted_from_base(const std::string &kernel, const std::string &body);

}  // namespace conv_transpose

#endif

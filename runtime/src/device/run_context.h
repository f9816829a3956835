// What a run hands to Halide as its user_context: where the work goes, and where an error message comes back.
#ifndef CONV_TRANSPOSE_RUNTIME_RUN_CONTEXT_H
#define CONV_TRANSPOSE_RUNTIME_RUN_CONTEXT_H

namespace conv_transpose {

struct TensorMap;

struct RunContext {
    void *stream = nullptr;
    /// Load the kernel's machine code but launch nothing: planning rehearses the run, so that a kernel that rejects
    /// the problem's shapes throws while planning, and the first run finds everything loaded.
    bool rehearsal = false;
    /// So little to compute that waking other threads takes longer: CPU kernels stay on the caller's.
    bool serial = false;
    char message[256] = "";
    /// The last parameter of the kernel that is launched, where it reads tensors by maps: one after the other.
    const TensorMap *tensor_maps = nullptr;
    /// The kernel's blocks along y are a cluster.
    bool in_clusters = false;
};

}  // namespace conv_transpose

#endif

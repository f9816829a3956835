// What tests need of the CUDA driver beyond the library: streams, graphs and contexts as an application makes them.
// Found in libcuda at run time, so that the tests build and start where there is no CUDA.
#ifndef CONV_TRANSPOSE_TESTS_CUDA_FOR_TESTS_H
#define CONV_TRANSPOSE_TESTS_CUDA_FOR_TESTS_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace conv_transpose::testing {

/// Calls a function of the driver by name; throws unless it returns CUDA_SUCCESS.
template <class... Args>
void cuda(const char *function, Args... args) {
    static void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const auto call = reinterpret_cast<int (*)(Args...)>(driver ? dlsym(driver, function) : nullptr);
    if (!call) throw std::runtime_error(std::string("no ") + function + " in the driver");
    if (const int result = call(args...))
        throw std::runtime_error(std::string(function) + " returned " + std::to_string(result));
}

/// Makes device 0's primary context current in this thread, as CUDA's runtime does.
inline void use_primary_context() {
    void *context = nullptr;
    cuda("cuInit", 0u);
    cuda("cuDevicePrimaryCtxRetain", &context, 0);
    cuda("cuCtxSetCurrent", context);
}

/// A stream that does not wait for the default stream.
class CudaStream {
  public:
    CudaStream() { cuda("cuStreamCreate", &handle_, 1u); }
    ~CudaStream() { cuda("cuStreamDestroy_v2", handle_); }
    CudaStream(const CudaStream &) = delete;
    CudaStream &operator=(const CudaStream &) = delete;
    void *handle() const { return handle_; }
    void wait() const { cuda("cuStreamSynchronize", handle_); }

  private:
    void *handle_ = nullptr;
};

}  // namespace conv_transpose::testing

#endif

// A plain matrix product through the tensor-core pass: right, and the rate that convolutions are compared with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "HalideRuntime.h"
#include "HalideRuntimeCuda.h"
#include "conv_transpose/device_memory.h"
#include "conv_transpose/device_timer.h"
#include "matrix_product_mma_sync.h"
#include "matrix_product_narrow.h"
#include "matrix_product_pack.h"
#include "matrix_product_wgmma.h"
#include "runtime/src/device/cuda_driver.h"
#include "runtime/src/plan/run_context.h"

namespace conv_transpose {
namespace {

/// On the GPU; extents from the innermost dimension to the outermost.
class Tensor {
  public:
    explicit Tensor(std::vector<int> extents) : dimensions_(extents.size()) {
        int stride = 1;
        for (size_t d = 0; d < extents.size(); d++) {
            dimensions_[d] = {0, extents[d], stride};
            stride *= extents[d];
        }
        memory_ = DeviceMemory(Device::cuda, stride * sizeof(float));
        buffer_.type = halide_type_of<float>();
        buffer_.dimensions = static_cast<int>(extents.size()), buffer_.dim = dimensions_.data();
        buffer_.device = reinterpret_cast<uint64_t>(memory_.data());
        buffer_.device_interface = halide_cuda_device_interface();
    }
    Tensor(std::vector<int> extents, const std::vector<float> &values) : Tensor(std::move(extents)) {
        memory_.copy_from_host(values.data(), memory_.bytes());
    }
    halide_buffer_t *buffer() { return &buffer_; }
    std::vector<float> values() const {
        std::vector<float> values(memory_.bytes() / sizeof(float));
        memory_.copy_to_host(values.data(), memory_.bytes());
        return values;
    }

  private:
    std::vector<halide_dimension_t> dimensions_;
    DeviceMemory memory_;
    halide_buffer_t buffer_{};
};

/// Enqueues a kernel: with launches by this library's runtime, on any stream.
template <class Kernel, class... Tensors>
Status run(Kernel kernel, Stream stream, Tensors &...tensors) {
    const ScopedCudaContext scope(stream.handle);
    RunContext context;
    context.stream = stream.handle;
    if (kernel(&context, tensors.buffer()...) == 0) return {};
    return {Status::Code::device_error, context.message};
}

Status pack(Tensor &operand, Tensor &packed, Stream stream = {}) {
    return run(matrix_product_pack, stream, operand, packed);
}

using Kernel = int (*)(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *);

/// Small integers, of which sums are exact.
std::vector<float> integers(size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 29) - 3.f;
    }
    return values;
}

/// Of all digits, as tensor cores draw more power for: evenly from -1 to 1.
std::vector<float> reals(size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) * 0x1p-23f - 1.f;
    }
    return values;
}

void expect_exact(Kernel kernel, int rows, int columns, int terms) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << columns << " of " << terms << " terms");
    const std::vector<float> a = integers(size_t(rows) * terms, 1);
    const std::vector<float> b = integers(size_t(columns) * terms, 2);
    Tensor device_a({terms, rows}, a), device_b({terms, columns}, b);
    Tensor packed_a({4, rows, terms / 4}), packed_b({4, columns, terms / 4});
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    Tensor device_c({columns, rows}, std::vector<float>(size_t(rows) * columns, nan));
    for (const Status &status : {pack(device_a, packed_a), pack(device_b, packed_b),
                                 run(kernel, {}, packed_a, packed_b, device_c)})
        ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<float> c = device_c.values();
    for (int m = 0; m < rows; m++)
        for (int n = 0; n < columns; n++) {
            float sum = 0;
            for (int k = 0; k < terms; k++) sum += a[size_t(m) * terms + k] * b[size_t(n) * terms + k];
            ASSERT_EQ(c[size_t(m) * columns + n], sum) << "row " << m << ", column " << n;
        }
}

class MatrixProduct : public ::testing::TestWithParam<const char *> {
  protected:
    void SetUp() override {
        if (!cuda_driver()) GTEST_SKIP() << "no GPU";
        const int capability = compute_capability();
        if (is_wgmma() ? capability != 90 : capability < 80)
            GTEST_SKIP() << "not for compute capability " << capability;
    }
    bool is_wgmma() const { return GetParam() == std::string("wgmma"); }
    Kernel kernel() const { return is_wgmma() ? matrix_product_wgmma : matrix_product_mma_sync; }
};

TEST_P(MatrixProduct, IsExactAtAnySize) {
    const int sizes[][3] = {{1, 1, 32}, {64, 8, 64}, {129, 257, 96}, {200, 530, 352}};
    for (const auto &[rows, columns, terms] : sizes) expect_exact(kernel(), rows, columns, terms);
}

// The loop over the tiles has one step, which is none in the lowered code.
TEST(NarrowMatrixProduct, StoresTheFirstTileAlone) {
    if (!cuda_driver()) GTEST_SKIP() << "no GPU";
    if (compute_capability() != 90) GTEST_SKIP() << "not for compute capability " << compute_capability();
    expect_exact(matrix_product_narrow, 200, 40, 96);
}

/// The median, in milliseconds.
template <class Enqueue>
double time_of(Enqueue enqueue) {
    constexpr int runs = 10, repeats = 11;
    TimedWork work(Device::cuda, [&](Stream stream) {
        Status status;
        for (int i = 0; i < runs && status.ok(); i++) status = enqueue(stream);
        return status;
    });
    std::vector<double> milliseconds;
    for (int i = 0; i < repeats; i++) milliseconds.push_back(work.run() / runs);
    std::nth_element(milliseconds.begin(), milliseconds.begin() + repeats / 2, milliseconds.end());
    return milliseconds[repeats / 2];
}

TEST_P(MatrixProduct, PrintsItsRate) {
    if (device_facts(Device::cuda).name == "ptx_machine") GTEST_SKIP() << "a GPU without time";
    constexpr int size = 4096;
    Tensor a({size, size}, reals(size_t(size) * size, 1)), b({size, size}, reals(size_t(size) * size, 2));
    Tensor packed_a({4, size, size / 4}), packed_b({4, size, size / 4}), c({size, size});
    for (const Status &status : {pack(a, packed_a), pack(b, packed_b)})
        ASSERT_TRUE(status.ok()) << status.message();
    const double ms = time_of([&](Stream stream) { return run(kernel(), stream, packed_a, packed_b, c); });
    const double packing_ms = time_of([&](Stream stream) { return pack(a, packed_a, stream); });
    const double tflops = 2.0 * size * size * size / ms * 1e-9;
    std::cout << "matrix product of " << size << " by " << GetParam() << ": " << ms << " ms, " << tflops
              << " TF/s; packing an operand: " << packing_ms << " ms\n";
    RecordProperty("tflops", std::to_string(tflops));
}

INSTANTIATE_TEST_SUITE_P(By, MatrixProduct, ::testing::Values("wgmma", "mma_sync"),
                         [](const auto &info) { return std::string(info.param); });

}  // namespace
}  // namespace conv_transpose

// A plain matrix product through the tensor-core pass: right, and the rate that convolutions are compared with.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "HalideRuntime.h"
#include "HalideRuntimeCuda.h"
#include "conv_transpose/device_memory.h"
#include "conv_transpose/device_timer.h"
#include "matrix_product_bulk.h"
#include "matrix_product_bulk_f16.h"
#include "matrix_product_bulk_mma_sync_f16.h"
#include "matrix_product_bulk_producer.h"
#include "matrix_product_bulk_producer_f16.h"
#include "matrix_product_bulk_rounds_f16.h"
#include "matrix_product_bulk_tiles_f16.h"
#include "matrix_product_gathers_f16.h"
#include "matrix_product_mma_sync.h"
#include "matrix_product_mma_sync_bf16.h"
#include "matrix_product_mma_sync_f16.h"
#include "matrix_product_narrow.h"
#include "matrix_product_pack.h"
#include "matrix_product_pack_bf16.h"
#include "matrix_product_pack_f16.h"
#include "matrix_product_wgmma.h"
#include "matrix_product_wgmma_bf16.h"
#include "matrix_product_wgmma_f16.h"
#include "runtime/src/device/cuda_driver.h"
#include "runtime/src/device/run_context.h"

namespace conv_transpose {
namespace {

/// A format of numbers on the GPU, and on the host, where they are bits.
struct Format {
    halide_type_t type;
    double (*value_of)(uint32_t bits);
    uint32_t (*rounded)(float);  ///< to nearest even
};

const Format float32{halide_type_of<float>(),
                     [](uint32_t bits) -> double { return std::bit_cast<float>(bits); },
                     [](float value) { return std::bit_cast<uint32_t>(value); }};
const Format float16{halide_type_t(halide_type_float, 16),
                     [](uint32_t bits) -> double { return std::bit_cast<_Float16>(static_cast<uint16_t>(bits)); },
                     [](float value) -> uint32_t { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }};
const Format bfloat16{halide_type_t(halide_type_bfloat, 16),
                      [](uint32_t bits) -> double { return std::bit_cast<float>(bits << 16); },
                      [](float value) {
                          const auto bits = std::bit_cast<uint32_t>(value);
                          return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
                      }};

/// On the GPU; extents from the innermost dimension to the outermost.
class Tensor {
  public:
    Tensor(const Format &format, std::vector<int> extents) : format_(format), dimensions_(extents.size()) {
        int stride = 1;
        for (size_t d = 0; d < extents.size(); d++) {
            dimensions_[d] = {0, extents[d], stride};
            stride *= extents[d];
        }
        elements_ = stride;
        memory_ = DeviceMemory(Device::cuda, elements_ * format.type.bytes());
        buffer_.type = format.type;
        buffer_.dimensions = static_cast<int>(extents.size()), buffer_.dim = dimensions_.data();
        buffer_.device = reinterpret_cast<uint64_t>(memory_.data());
        buffer_.device_interface = halide_cuda_device_interface();
    }
    Tensor(const Format &format, std::vector<int> extents, const std::vector<float> &values)
        : Tensor(format, std::move(extents)) {
        std::vector<uint8_t> bytes(memory_.bytes());
        for (size_t i = 0; i < elements_; i++) {
            const uint32_t bits = format.rounded(values[i]);
            std::memcpy(&bytes[i * format.type.bytes()], &bits, format.type.bytes());
        }
        memory_.copy_from_host(bytes.data(), memory_.bytes());
    }
    halide_buffer_t *buffer() { return &buffer_; }
    std::vector<double> values() const {
        std::vector<uint8_t> bytes(memory_.bytes());
        memory_.copy_to_host(bytes.data(), memory_.bytes());
        std::vector<double> values(elements_);
        for (size_t i = 0; i < elements_; i++) {
            uint32_t bits = 0;
            std::memcpy(&bits, &bytes[i * format_.type.bytes()], format_.type.bytes());
            values[i] = format_.value_of(bits);
        }
        return values;
    }

  private:
    Format format_;
    std::vector<halide_dimension_t> dimensions_;
    size_t elements_ = 0;
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

/// Kernels for one format.
struct Product {
    const char *name;
    const Format &format;
    int (*multiply)(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *);
    int (*pack)(const void *, halide_buffer_t *, halide_buffer_t *);
    bool is_wgmma;
    bool gathers = false;  ///< b has columns innermost, and is not packed

    /// Values of a row of 16 bytes.
    int packed_values() const { return 16 / format.type.bytes(); }
    /// Rows fill whole tiles, which bulk copies need.
    Tensor packed(int rows, int terms) const {
        constexpr int rows_of_tiles = 256;
        const int all_rows = (rows + rows_of_tiles - 1) / rows_of_tiles * rows_of_tiles;
        return {format, {packed_values(), all_rows, terms / packed_values()}};
    }
};

void PrintTo(const Product &product, std::ostream *out) { *out << product.name; }

const Product narrow{"narrow", float32, matrix_product_narrow, matrix_product_pack, true};
const Product gathers{"gathers", float16, matrix_product_gathers_f16, matrix_product_pack_f16, true, true};
const Product products[] = {{"wgmma", float32, matrix_product_wgmma, matrix_product_pack, true},
                            {"mma_sync", float32, matrix_product_mma_sync, matrix_product_pack, false},
                            {"wgmma_f16", float16, matrix_product_wgmma_f16, matrix_product_pack_f16, true},
                            {"mma_sync_f16", float16, matrix_product_mma_sync_f16, matrix_product_pack_f16, false},
                            {"wgmma_bf16", bfloat16, matrix_product_wgmma_bf16, matrix_product_pack_bf16, true},
                            {"mma_sync_bf16", bfloat16, matrix_product_mma_sync_bf16, matrix_product_pack_bf16, false},
                            {"wgmma_bulk", float32, matrix_product_bulk, matrix_product_pack, true},
                            {"wgmma_bulk_producer", float32, matrix_product_bulk_producer, matrix_product_pack, true},
                            {"wgmma_bulk_f16", float16, matrix_product_bulk_f16, matrix_product_pack_f16, true},
                            {"wgmma_bulk_producer_f16", float16, matrix_product_bulk_producer_f16, matrix_product_pack_f16, true},
                            {"wgmma_bulk_tiles_f16", float16, matrix_product_bulk_tiles_f16, matrix_product_pack_f16, true},
                            {"wgmma_bulk_rounds_f16", float16, matrix_product_bulk_rounds_f16, matrix_product_pack_f16, true},
                            {"mma_sync_bulk_f16", float16, matrix_product_bulk_mma_sync_f16, matrix_product_pack_f16, false}};

/// Small integers, of which sums are exact.
std::vector<float> integers(size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 29) - 3.f;
    }
    return values;
}

/// They have all digits, for which tensor cores draw more power, and lie evenly from -1 to 1.
std::vector<float> reals(size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) * 0x1p-23f - 1.f;
    }
    return values;
}

std::vector<float> transposed(const std::vector<float> &values, int width) {
    const size_t height = values.size() / width;
    std::vector<float> result(values.size());
    for (size_t i = 0; i < values.size(); i++) result[i % width * height + i / width] = values[i];
    return result;
}

/// The sum is exact in float32, and rounded once.
void expect_exact(const Product &product, int rows, int columns, int terms) {
    SCOPED_TRACE(::testing::Message() << product.name << ", " << rows << " x " << columns << " of " << terms << " terms");
    const std::vector<float> a = integers(size_t(rows) * terms, 1);
    const std::vector<float> b = integers(size_t(columns) * terms, 2);
    const Format &format = product.format;
    Tensor device_a(format, {terms, rows}, a), device_b(format, {terms, columns}, b);
    Tensor gathered_b(format, {columns, terms}, product.gathers ? transposed(b, terms) : b);
    Tensor packed_a = product.packed(rows, terms), packed_b = product.packed(columns, terms);
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    Tensor device_c(format, {columns, rows}, std::vector<float>(size_t(rows) * columns, nan));
    for (const Status &status :
         {run(product.pack, {}, device_a, packed_a), run(product.pack, {}, device_b, packed_b),
          run(product.multiply, {}, packed_a, product.gathers ? gathered_b : packed_b, device_c)})
        ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<double> c = device_c.values();
    for (int m = 0; m < rows; m++)
        for (int n = 0; n < columns; n++) {
            float sum = 0;
            for (int k = 0; k < terms; k++) sum += a[size_t(m) * terms + k] * b[size_t(n) * terms + k];
            ASSERT_EQ(c[size_t(m) * columns + n], format.value_of(format.rounded(sum)))
                << "row " << m << ", column " << n;
        }
}

class MatrixProduct : public ::testing::TestWithParam<Product> {
  protected:
    void SetUp() override {
        if (!cuda_driver()) GTEST_SKIP() << "no GPU";
        const int capability = compute_capability();
        if (GetParam().is_wgmma ? capability != 90 : capability < 80)
            GTEST_SKIP() << "not for compute capability " << capability;
    }
};

TEST_P(MatrixProduct, IsExactAtAnySize) {
    const int sizes[][3] = {{1, 1, 1}, {64, 8, 2}, {129, 257, 3}, {200, 530, 11}};
    const int chunk = 128 / GetParam().format.type.bytes();
    for (const auto &[rows, columns, chunks] : sizes) expect_exact(GetParam(), rows, columns, chunks * chunk);
}

// The loop over the tiles has one step, which is none in the lowered code.
TEST(NarrowMatrixProduct, StoresTheFirstTileAlone) {
    if (!cuda_driver()) GTEST_SKIP() << "no GPU";
    if (compute_capability() != 90) GTEST_SKIP() << "not for compute capability " << compute_capability();
    expect_exact(narrow, 200, 40, 96);
}

TEST(GatheringMatrixProduct, IsExactAtAnySize) {
    if (!cuda_driver()) GTEST_SKIP() << "no GPU";
    if (compute_capability() != 90) GTEST_SKIP() << "not for compute capability " << compute_capability();
    for (const auto &[rows, columns, chunks] : {std::tuple(1, 1, 1), {64, 9, 2}, {129, 131, 5}})
        expect_exact(gathers, rows, columns, 64 * chunks);
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
    const Product &product = GetParam();
    Tensor a(product.format, {size, size}, reals(size_t(size) * size, 1));
    Tensor b(product.format, {size, size}, reals(size_t(size) * size, 2)), c(product.format, {size, size});
    Tensor packed_a = product.packed(size, size), packed_b = product.packed(size, size);
    for (const Status &status : {run(product.pack, {}, a, packed_a), run(product.pack, {}, b, packed_b)})
        ASSERT_TRUE(status.ok()) << status.message();
    const double ms =
        time_of([&](Stream stream) { return run(product.multiply, stream, packed_a, packed_b, c); });
    const double packing_ms = time_of([&](Stream stream) { return run(product.pack, stream, a, packed_a); });
    const double tflops = 2.0 * size * size * size / ms * 1e-9;
    std::cout << "matrix product of " << size << " by " << product.name << ": " << ms << " ms, " << tflops
              << " TF/s; packing an operand: " << packing_ms << " ms\n";
    RecordProperty("tflops", std::to_string(tflops));
}

INSTANTIATE_TEST_SUITE_P(By, MatrixProduct, ::testing::ValuesIn(products),
                         [](const auto &info) { return std::string(info.param.name); });

}  // namespace
}  // namespace conv_transpose

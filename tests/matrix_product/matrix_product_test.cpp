// A plain matrix product through the tensor-core pass: right, and the rate that convolutions are compared with.
#include <HalideBuffer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "../cuda_for_tests.h"
#include "matrix_product_mma_sync.h"
#include "matrix_product_wgmma.h"

namespace {

constexpr int size = 4096;
using Matrix = Halide::Runtime::Buffer<float, 2>;

// Small integers, of which sums are exact.
Matrix integers(unsigned seed) {
    Matrix m(size, size);
    m.for_each_value([&](float &value) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 29) - 3.f;
    });
    m.set_host_dirty();
    return m;
}

// Halide's runtime ends the program when there is none.
bool has_gpu() {
    try {
        conv_transpose::testing::use_primary_context();
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

using Kernel = int (*)(halide_buffer_t *, halide_buffer_t *, halide_buffer_t *);

void expect_exact_and_print_rate(const char *name, Kernel kernel) {
    if (!has_gpu()) GTEST_SKIP() << "no GPU";
    Matrix a = integers(1), b = integers(2), c(size, size);
    ASSERT_EQ(kernel(a, b, c), 0);
    c.copy_to_host();
    for (int i = 0; i < 1000; i++) {
        const int m = i * 4057 % size, n = i * 2903 % size;
        float sum = 0;
        for (int k = 0; k < size; k++) sum += a(k, m) * b(k, n);
        ASSERT_EQ(c(n, m), 2 * sum) << "row " << m << ", column " << n;
    }
    constexpr int runs = 20;
    c.device_sync();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; i++) kernel(a, b, c);
    c.device_sync();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double tflops = 2.0 * size * size * size * runs / seconds.count() / 1e12;
    std::cout << "matrix product of " << size << " by " << name << ": " << tflops << " TF/s\n";
    ::testing::Test::RecordProperty("tflops", std::to_string(tflops));
}

TEST(MatrixProduct, OnHopper) { expect_exact_and_print_rate("wgmma", matrix_product_wgmma); }

TEST(MatrixProduct, Portable) {
    // Halide's runtime lets the driver compile PTX for 64 registers a thread otherwise.
    setenv("HL_CUDA_JIT_MAX_REGISTERS", "255", 1);
    expect_exact_and_print_rate("mma.sync", matrix_product_mma_sync);
}

}  // namespace

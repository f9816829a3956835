// What is the same for all threads is computed on the host, and divisions by it are products: here on the host, the same quotients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "Halide.h"
#include "compiler/passes/kernel_constants.h"

namespace conv_transpose::testing {
namespace {

using namespace Halide;
using namespace Halide::Internal;

struct Found {
    int divisions = 0, products = 0, signs = 0;
};

// A loop as if it were a kernel's, back as the host runs it.
class RunOnHost : public IRMutator {
  public:
    explicit RunOnHost(Found &found) : found_(found) {}

  private:
    using IRMutator::visit;
    Stmt visit(const For *op) override {
        const auto loop = [&](ForType type, DeviceAPI device, const Stmt &body) {
            return For::make(op->name, op->min, op->extent, type, op->partition_policy, device, body);
        };
        if (in_kernel_) return loop(ForType::Serial, DeviceAPI::None, mutate(op->body));
        in_kernel_ = true;
        Stmt kernel = KernelConstants().mutate(loop(ForType::GPUBlock, DeviceAPI::CUDA, op->body));
        kernel = mutate(kernel);
        in_kernel_ = false;
        return kernel;
    }
    // Not those of the host, before the loop.
    Stmt visit(const LetStmt *op) override {
        return LetStmt::make(op->name, op->value, mutate(op->body));
    }
    Expr visit(const Div *op) override { return found_.divisions++, IRMutator::visit(op); }
    Expr visit(const Mod *op) override { return found_.divisions++, IRMutator::visit(op); }
    Expr visit(const Call *op) override {
        found_.signs += op->is_intrinsic(Call::bitwise_xor);
        if (op->name != "llvm.nvvm.mulhi.ui") return IRMutator::visit(op);
        found_.products++;
        return cast<uint32_t>((cast<uint64_t>(mutate(op->args[0])) * cast<uint64_t>(mutate(op->args[1]))) >> 32);
    }

    Found &found_;
    bool in_kernel_ = false;
};

template <class T>
struct Quotients {
    std::vector<T> of, rest;
    Found found;
};

// Of these numbers, or of what a loop over them counts.
template <class T>
Quotients<T> divide_all(const std::vector<T> &numbers, T by, bool counted = false) {
    ImageParam input(type_of<T>(), 1);
    Param<T> divisor("divisor");
    Func all("all");
    Var x("x");
    const Expr n = counted ? cast<T>(x * 3) : input(x);
    all(x) = {n / divisor, n % divisor};
    all.bound(x, 0, static_cast<int>(numbers.size()));
    Quotients<T> result;
    Pipeline pipeline(all);
    pipeline.add_custom_lowering_pass(new RunOnHost(result.found));
    Buffer<T> data(static_cast<int>(numbers.size())), quotients(data.width()), rests(data.width());
    std::copy(numbers.begin(), numbers.end(), data.begin());
    input.set(data), divisor.set(by);
    pipeline.realize({quotients, rests});
    result.of.assign(quotients.begin(), quotients.end()), result.rest.assign(rests.begin(), rests.end());
    return result;
}

// The largest and the least, those beside multiples, and others.
template <class T>
std::vector<T> numbers_for(T by) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> numbers{Limits::min(), Limits::min() + 1, 0, 1, 2, Limits::max() - 1, Limits::max()};
    std::mt19937_64 random(by);
    for (int i = 0; i < 300; i++) {
        const auto any = static_cast<T>(random() >> (i % 32));
        const T multiple = any / by * by;
        for (const T n : {any, multiple, T(multiple - (multiple > Limits::min())), T(multiple + (multiple < Limits::max()))})
            numbers.push_back(n);
    }
    return numbers;
}

template <class T>
T rounded_down(T n, T by) {
    return static_cast<T>(n / by - (n % by != 0 && n < 0));
}

template <class T>
void expect_quotients(T by) {
    const std::vector<T> numbers = numbers_for(by);
    const Quotients<T> got = divide_all(numbers, by);
    for (size_t i = 0; i < numbers.size(); i++) {
        const T quotient = rounded_down(numbers[i], by);
        ASSERT_EQ(got.of[i], quotient) << numbers[i] << " / " << by;
        ASSERT_EQ(got.rest[i], T(numbers[i] - quotient * by)) << numbers[i] << " % " << by;
    }
    EXPECT_EQ(got.found.divisions, 0);
    EXPECT_GT(got.found.products, 0);
}

TEST(KernelConstants, QuotientsOfSignedNumbersAreExact) {
    for (const int by : {1, 2, 3, 5, 6, 7, 10, 28, 641, 65535, 65536, 65537, 1000003, 1 << 30, (1 << 30) + 1, 2147483646,
                         2147483647})
        expect_quotients<int32_t>(by);
}

TEST(KernelConstants, QuotientsOfUnsignedNumbersAreExact) {
    for (const uint32_t by : {1u, 2u, 3u, 5u, 7u, 10u, 641u, 65537u, 1u << 30, (1u << 30) + 1, 1u << 31, (1u << 31) + 1,
                              4294967295u})
        expect_quotients<uint32_t>(by);
}

TEST(KernelConstants, NumbersThatAreFromZeroOnHaveTheShorterProduct) {
    const std::vector<int32_t> numbers(100);
    const Quotients<int32_t> counted = divide_all<int32_t>(numbers, 7, true);
    for (int i = 0; i < 100; i++) EXPECT_EQ(counted.of[i], 3 * i / 7) << i;
    EXPECT_EQ(counted.found.signs, 0);
    EXPECT_GT(counted.found.products, 0);
    EXPECT_GT(divide_all<int32_t>(numbers, 7).found.signs, 0);
}

TEST(KernelConstants, AQuotientByZeroIsZero) {
    for (const int32_t quotient : divide_all<int32_t>({0, 5, 2147483647}, 0).of) EXPECT_EQ(quotient, 0);
}

TEST(KernelConstants, WhatChangesIsDividedAsItIs) {
    ImageParam input(Int(32), 1);
    Func all("all");
    Var x("x");
    all(x) = 1000 / input(x);
    Found found;
    Pipeline pipeline(all);
    pipeline.add_custom_lowering_pass(new RunOnHost(found));
    Buffer<int> data(3);
    for (int i = 0; i < 3; i++) data(i) = i + 3;
    input.set(data);
    const Buffer<int> result = pipeline.realize({3});
    for (int i = 0; i < 3; i++) EXPECT_EQ(result(i), 1000 / (i + 3));
    EXPECT_EQ(found.divisions, 1);
    EXPECT_EQ(found.products, 0);
}

}  // namespace
}  // namespace conv_transpose::testing

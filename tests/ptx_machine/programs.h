// Small programs for tests of ptx_machine: what stands around them, and the lines that many of them have.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_PROGRAMS_H
#define CONV_TRANSPOSE_PTX_MACHINE_PROGRAMS_H

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "ptx_machine.h"
#include "tensor_map.h"

namespace ptx_machine {

/// Runs one block of `threads` threads, or a cluster of such along y. The program has two parameters, the address of `floats`
/// and a tensor map. %rd3 is the address of its thread's float, %r2 that of its thread's word in shared memory.
void run_program(const std::string &body, std::vector<float> &floats, unsigned threads, int shared_bytes = 0,
                 Timing timing = Timing::early, const TensorMap &map = {}, unsigned blocks = 1);

/// What is wrong with a program, or "none".
std::string error_of(const std::string &body, unsigned threads, int shared_bytes = 0, Timing timing = Timing::early);

/// Whether an error has these words.
::testing::AssertionResult tells(const std::string &error, const std::string &words);

std::string replaced(std::string text, const std::string &part, const std::string &other);

/// 0, 1, 2, ...
std::vector<float> counting(size_t n);

inline const Timing timings[] = {Timing::early, Timing::late, Timing::late_copies, Timing::late_products};

inline const std::string load = "ld.global.f32 %f1, [%rd3];\n", store = "st.global.f32 [%rd3], %f2;\n";
inline const std::string to_shared = "st.shared.f32 [%r2], %f1;\n", barrier = "bar.sync 0;\n";
/// From the thread 32 further on, of 64.
inline const std::string from_shared = "xor.b32 %r3, %r2, 128;\nld.shared.f32 %f2, [%r3];\n";
inline const std::string fence = "fence.proxy.async.shared::cta;\n";

}  // namespace ptx_machine

#endif

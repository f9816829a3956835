#!/usr/bin/env python3
"""Prints the rates of matrix_product_test beside those of cuBLAS, through PyTorch, measured in turns on one GPU.

    python3 tests/matrix_product/beside_cublas.py build/tests/matrix_product/matrix_product_test [GTEST_FILTER]
"""

import re
import subprocess
import sys

import torch

SIZE, RUNS, REPEATS = 4096, 10, 11
FORMATS = {"": torch.float32, "_f16": torch.float16, "_bf16": torch.bfloat16}


def tflops_of_cublas(dtype):
    """The median, of products as in a linear layer: both operands have k innermost."""
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = (torch.rand(SIZE, SIZE, device="cuda").mul(2).sub(1).to(dtype) for _ in range(2))
    times = []
    for _ in range(REPEATS + 1):  # the first one warms up
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(RUNS):
            torch.nn.functional.linear(a, b)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / RUNS)
    return 2 * SIZE**3 / sorted(times[1:])[REPEATS // 2] * 1e-9


def format_of(kernel):
    return next((suffix for suffix in FORMATS if suffix and kernel.endswith(suffix)), "")


def main():
    command = [sys.argv[1], "--gtest_filter=" + (sys.argv[2] if len(sys.argv) > 2 else "*PrintsItsRate*")]
    before = {suffix: tflops_of_cublas(dtype) for suffix, dtype in FORMATS.items()}
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    after = {suffix: tflops_of_cublas(dtype) for suffix, dtype in FORMATS.items()}
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {SIZE} x {SIZE} x {SIZE}")
    for suffix in FORMATS:
        print(f"cuBLAS{suffix}: {before[suffix]:.0f} TFLOP/s before, {after[suffix]:.0f} after")
    for kernel, rate in re.findall(r" by (\w+): .* ms, ([\d.]+) TF/s", output):
        suffix = format_of(kernel)
        share = float(rate) / max(before[suffix], after[suffix])
        print(f"{kernel}: {float(rate):.0f} TFLOP/s, {100 * share:.0f} % of cuBLAS")


if __name__ == "__main__":
    main()

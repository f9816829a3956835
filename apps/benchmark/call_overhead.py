#!/usr/bin/env python3
"""Times calls of the Python package on a problem so small that only the call itself takes time, beside PyTorch's own
calls of the same problem, in alternation. On CUDA the work is only enqueued, so this is the processor's time a call.

  PYTHONPATH=python CONV_TRANSPOSE_LIBRARY=build/python/libconv_transpose.so call_overhead.py
"""
import argparse
import statistics
import time

import torch
from torch import nn

import conv_transpose.torch


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--calls", type=int, default=500, help="in one timing (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=21,
                        help="timings, of which the median counts (default: %(default)s)")
    return parser.parse_args()


def contenders(device):
    """name -> (ours, PyTorch's), functions without arguments."""
    x = torch.randn(1, 4, 4, 4, device=device)
    theirs = nn.ConvTranspose2d(4, 4, 4, stride=2, padding=1).to(device)
    ours = conv_transpose.torch.ConvTranspose2d(4, 4, 4, stride=2, padding=1).to(device)
    functions = (conv_transpose.torch.conv_transpose2d, nn.functional.conv_transpose2d)
    w, b = theirs.weight, theirs.bias

    def without_gradients(call):
        def run():
            with torch.no_grad():
                call()
        return run

    def train(module):
        def run():
            module(x).sum().backward()
        return run

    return {
        "function, no gradients": [without_gradients(lambda f=f: f(x, w, b, 2, 1)) for f in functions],
        "function, with autograd": [lambda f=f: f(x, w, b, 2, 1) for f in functions],
        "module, with autograd": [lambda m=m: m(x) for m in (ours, theirs)],
        "module, forward, sum and backward": [train(m) for m in (ours, theirs)],
    }


def seconds_a_call(function, calls, device):
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    end = time.perf_counter()
    if device == "cuda":
        torch.cuda.synchronize()
    return (end - begin) / calls


def main():
    arguments = parse_arguments()
    # Small enough that the queue of launches, which makes the caller wait when it is full, does not fill.
    calls = arguments.calls
    print(f"{'call':<36} {'ours us':>9} {'PyTorch us':>11} {'ratio':>6}   ({arguments.device}, PyTorch {torch.__version__})")
    for name, pair in contenders(arguments.device).items():
        for function in pair:
            seconds_a_call(function, calls, arguments.device)
        times = [[seconds_a_call(function, calls, arguments.device) for function in pair]
                 for _ in range(arguments.rounds)]
        ours, theirs = (statistics.median(column) * 1e6 for column in zip(*times))
        print(f"{name:<36} {ours:>9.2f} {theirs:>11.2f} {ours / theirs:>6.2f}")


if __name__ == "__main__":
    main()

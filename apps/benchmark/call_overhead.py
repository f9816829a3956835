#!/usr/bin/env python3
"""Times calls of the Python package on a problem so small that only the call itself takes time, beside PyTorch's own
calls of the same problem, in alternation. On CUDA the work is only enqueued, so this is the processor's time a call.

  PYTHONPATH=python CONV_TRANSPOSE_LIBRARY=build/python/libconv_transpose.so call_overhead.py

Of problems that are given (a step of a stream, say) without gradients until the last call has ended: the larger of the
processor's time and the device's.
"""
import argparse
import re
import statistics
import time

import torch
from torch import nn

import conv_transpose.torch
from conv_transpose._library import Plan
from conv_transpose._problem import make_problem
from conv_transpose.torch._calls import ARGUMENTS, Arguments


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help="problem strings")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    # Small enough that the queue of launches, which makes the caller wait when it is full, does not fill.
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


def prepared(input, weight, attributes):
    """A plan that is made once, and runs on tensors that stay where they are."""
    problem = make_problem(input.shape, weight.shape, None, *attributes)
    precision = "tf32" if torch.backends.cudnn.allow_tf32 else "float32"
    plan = Plan(problem, device=input.device.type, precision=precision)
    output = torch.empty_like(getattr(nn.functional, f"conv_transpose{input.dim() - 2}d")(input, weight, None, *attributes))
    workspace = torch.empty(max(plan.workspace_bytes, 1), dtype=torch.uint8, device=input.device)
    arguments = Arguments()
    for name, tensor in (("input", input), ("weight", weight), ("output", output)):
        arguments[ARGUMENTS.index(name)] = tensor.data_ptr()
    stream = torch.cuda.current_stream().cuda_stream if input.is_cuda else 0
    keep = input, weight, output
    return lambda: plan.run(arguments, workspace.data_ptr(), stream) or keep


def contenders_of(text, device):
    """Likewise of a problem: a call, and a plan that is prepared."""
    fields = {name: int(value) for name, value in re.findall(r"([a-z]+)(\d+)", text)}
    axes = [axis for axis in "dhw" if "i" + axis in fields]
    given = lambda name, default: tuple(fields.get(name + axis, default) for axis in axes)
    groups = fields.get("g", 1)
    x = torch.randn(fields["n"], fields["ic"], *given("i", 1), device=device)
    w = torch.randn(fields["ic"], fields["oc"] // groups, *given("k", 1), device=device)
    attributes = given("s", 1), given("p", 0), given("op", 0), groups, given("d", 1)
    name = f"conv_transpose{len(axes)}d"
    theirs = getattr(nn.functional, name)
    call = getattr(conv_transpose.torch, name)
    return {
        f"{text}": [lambda: call(x, w, None, *attributes), lambda: theirs(x, w, None, *attributes)],
        "    the same, a prepared plan": [prepared(x, w, attributes), lambda: theirs(x, w, None, *attributes)],
    }


def seconds_a_call(function, calls, device, to_the_end=False):
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    if to_the_end and device == "cuda":
        torch.cuda.synchronize()
    end = time.perf_counter()
    if device == "cuda":
        torch.cuda.synchronize()
    return (end - begin) / calls


def compare(name, pair, arguments, to_the_end=False):
    for function in pair:
        seconds_a_call(function, arguments.calls, arguments.device)
    times = [[seconds_a_call(function, arguments.calls, arguments.device, to_the_end) for function in pair]
             for _ in range(arguments.rounds)]
    ours, theirs = (statistics.median(column) * 1e6 for column in zip(*times))
    print(f"{name:<36} {ours:>9.2f} {theirs:>11.2f} {ours / theirs:>6.2f}")


def main():
    arguments = parse_arguments()
    print(f"{'call':<36} {'ours us':>9} {'PyTorch us':>11} {'ratio':>6}   ({arguments.device}, PyTorch {torch.__version__})")
    if arguments.problems:
        torch.backends.cudnn.benchmark = True
        with torch.no_grad():
            for problem in arguments.problems:
                for name, pair in contenders_of(problem, arguments.device).items():
                    compare(name, pair, arguments, to_the_end=True)
        return
    for name, pair in contenders(arguments.device).items():
        compare(name, pair, arguments)


if __name__ == "__main__":
    main()

"""The PyTorch function: results and gradients, on CPU and CUDA."""

import copy
import itertools
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import conv_transpose
import conv_transpose.torch as ct
from conv_transpose.torch import _calls, _operators
from conftest import random_problems
from problems import random_case
from torch_cases import DEVICES, device, equal, expected, integers, seed_and_switches  # noqa: F401  (fixtures)


def test_random_problems_equal_pytorch_forward_and_backward(rng, device):
    for _ in range(random_problems()):
        case = random_case(rng)
        x, w, b = (integers(shape, device, True) for shape in (case.input_shape, case.weight_shape, case.bias_shape))
        if rng.randint(0, 1):
            b = None
        y = ct.conv_transpose2d(x, w, b, **case.arguments)
        reference = [None if t is None else t.detach().cpu().double().requires_grad_() for t in (x, w, b)]
        z = F.conv_transpose2d(*reference, **case.arguments)
        equal(y, z, str(case))
        g = integers(y.shape)
        y.backward(g.to(device))
        z.backward(g.double())
        for name, ours, theirs in zip(("input", "weight", "bias"), (x, w, b), reference):
            if ours is not None:
                equal(ours.grad, theirs.grad, f"{name} gradient of {case}")


@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=3)))
def test_only_the_wanted_gradients(needs):
    tensors = [integers(shape, requires_grad=n) for shape, n in zip([(1, 2, 3, 3), (2, 4, 2, 2), (4,)], needs)]
    y = ct.conv_transpose2d(*tensors)
    assert y.requires_grad == any(needs)
    if any(needs):
        y.sum().backward()
    assert [t.grad is not None for t in tensors] == list(needs)


ATTRIBUTES = [
    {},
    dict(stride=2, padding=1, output_padding=1),
    dict(stride=(1, 3), padding=(2, 1), dilation=(2, 1), groups=2),
]


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("through_operator", [False, True])
def test_first_and_second_derivatives(device, attributes, through_operator, monkeypatch):
    """Every derivative is linear in each operand, so with integers and a step of 1 differences are exact in float32."""
    if through_operator:
        monkeypatch.setattr(_operators, "looked_into", lambda: True)
    groups = attributes.get("groups", 1)
    tensors = (integers((2, 4, 3, 4), device, True), integers((4, 2, 3, 2), device, True),
               integers((2 * groups,), device, True))

    def function(*operands):
        return ct.conv_transpose2d(*operands, **attributes)

    tolerance = dict(eps=1.0, atol=1e-3, rtol=1e-4)
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradcheck(function, tensors, check_forward_ad=True, check_batched_grad=True,
                                        check_batched_forward_grad=True, **tolerance)
    shape = function(*tensors).shape
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradgradcheck(function, tensors, integers(shape, device, True), check_fwd_over_rev=True,
                                            check_rev_over_rev=True, **tolerance)


def test_gradients_are_bitwise_repeatable(device):
    x = torch.randn(4, 8, 33, 31, device=device, requires_grad=True)
    w = torch.randn(8, 6, 3, 3, device=device, requires_grad=True)
    g = torch.randn(4, 6, 65, 61, device=device)
    runs = [torch.autograd.grad(ct.conv_transpose2d(x, w, stride=2, padding=1), (x, w), g) for _ in range(3)]
    for run in runs[1:]:
        assert torch.equal(run[0], runs[0][0]) and torch.equal(run[1], runs[0][1])


@pytest.mark.parametrize("make", [
    lambda x: x.to(memory_format=torch.channels_last),
    lambda x: x.flip(2)[:, :, ::2],
    lambda x: x.transpose(2, 3),
    lambda x: x[:1].expand_as(x),
    lambda x: x[..., 1:],
    lambda x: torch.complex(x, x).conj().imag,  # a view that negates
    lambda x: torch._neg_view(x),  # the same, and contiguous
], ids=["channels_last", "strided", "transposed", "expanded", "offset", "negated", "negated_contiguous"])
def test_any_memory_layout(device, make):
    leaf = integers((2, 4, 6, 6), device, True)
    x, w = make(leaf), integers((4, 3, 3, 3), device)
    equal(ct.conv_transpose2d(x, w, stride=2), expected(x, w, stride=2))  # one of them alone: two negations cancel
    y = ct.conv_transpose2d(x, make(w) if make(w).shape == w.shape else w, stride=2)
    equal(y, expected(x, make(w) if make(w).shape == w.shape else w, stride=2))
    y.backward(make(integers(y.shape, device)) if make(y).shape == y.shape else integers(y.shape, device))
    assert leaf.grad.shape == leaf.shape


def test_expanded_output_gradient(device):
    x, w = integers((2, 4, 5, 5), device, True), integers((4, 3, 3, 3), device, True)
    ct.conv_transpose2d(x, w).sum().backward()  # sum's gradient is one number with strides of 0
    reference = x.detach().cpu().requires_grad_(), w.detach().cpu().requires_grad_()
    F.conv_transpose2d(*reference).sum().backward()
    equal(x.grad, reference[0].grad)
    equal(w.grad, reference[1].grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_formats(device, dtype):
    x = torch.randn(2, 16, 6, 7, device=device).to(dtype).requires_grad_()
    w = torch.randn(16, 4, 3, 3, device=device).to(dtype).requires_grad_()
    b = torch.randn(4, device=device).to(dtype).requires_grad_()
    y = ct.conv_transpose2d(x, w, b, stride=2)
    assert y.dtype == dtype
    unit = torch.finfo(dtype).eps
    torch.testing.assert_close(y.cpu().float(), expected(x, w, b, stride=2), rtol=unit, atol=1e-4)
    y.backward(torch.ones_like(y))
    reference = [t.detach().cpu().double().requires_grad_() for t in (x, w, b)]
    F.conv_transpose2d(*reference, stride=2).sum().backward()
    for ours, theirs in zip((x, w, b), reference):
        assert ours.grad.dtype == dtype
        torch.testing.assert_close(ours.grad.cpu().double(), theirs.grad, rtol=unit, atol=1e-3)


def test_defaults_of_pytorch_change_nothing(device):
    x, w = integers((1, 64, 9, 10), device, True), integers((64, 64, 3, 3), device, True)  # needs a workspace
    reference = expected(x, w)
    try:
        torch.set_default_device("meta")
        torch.set_default_dtype(torch.float64)
        _calls._scratch.__init__()
        y = ct.conv_transpose2d(x, w)
        y.backward(torch.ones_like(y))
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    equal(y, reference)
    assert y.dtype == x.grad.dtype == torch.float32


def test_unbatched(device):
    x, w = integers((4, 5, 6), device), integers((4, 3, 3, 3), device)
    equal(ct.conv_transpose2d(x, w), expected(x, w))


def test_generic_function_with_activation(device):
    x, w = integers((2, 4, 5, 6), device, True), integers((4, 3, 3, 3), device)
    y = conv_transpose.conv_transpose2d(x, w, activation="leaky_relu", negative_slope=0.5)
    equal(y, F.leaky_relu(expected(x, w), 0.5))
    y.sum().backward()
    with torch.no_grad():
        equal(conv_transpose.conv_transpose2d(x, w, activation="relu"), F.relu(expected(x, w)))


def test_many_threads(device):
    x, w = integers((2, 8, 20, 20), device), integers((8, 8, 3, 3), device)
    reference = expected(x, w, stride=2)
    failures = []

    def work():
        try:
            for _ in range(20):
                equal(ct.conv_transpose2d(x, w, stride=2), reference)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_cpu_threads_follow_pytorchs(monkeypatch):
    x, w, seen = integers((1, 4, 5, 5)), integers((4, 3, 3, 3)), []
    set_threads = _calls._library.library.conv_transpose_set_cpu_threads
    monkeypatch.setattr(_calls._library.library, "conv_transpose_set_cpu_threads",
                        lambda threads: (seen.append(threads), set_threads(threads)))
    conv_transpose.set_cpu_threads(0)
    before = torch.get_num_threads()
    try:
        for threads in (3, 3, 2):
            torch.set_num_threads(threads)
            equal(ct.conv_transpose2d(x, w), expected(x, w))
        assert seen == [0, 3, 2]
        conv_transpose.set_cpu_threads(5)
        torch.set_num_threads(4)
        ct.conv_transpose2d(x, w)
        assert seen == [0, 3, 2, 5]
        conv_transpose.set_cpu_threads(0)
        ct.conv_transpose2d(x, w)
        assert seen == [0, 3, 2, 5, 0, 4]
    finally:
        conv_transpose.set_cpu_threads(0)
        torch.set_num_threads(before)


def test_cpu_loops_run_on_pytorchs_threads_but_in_forked_children():
    program = """
import os, signal, torch
import conv_transpose.torch as ct
torch.set_num_threads(3)
x, w = torch.randn(1, 8, 64, 64), torch.randn(8, 8, 3, 3)
torch.nn.functional.conv_transpose2d(x, w)
threads = len(os.listdir("/proc/self/task"))
there = ct.conv_transpose2d(x, w).numpy()
assert len(os.listdir("/proc/self/task")) == threads >= 3
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if (ct.conv_transpose2d(x, w).numpy() == there).all() else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_gives_what_pytorch_gives(device, dtype):
    layer = nn.ConvTranspose2d(4, 3, 3, stride=2).to(device)
    ours = copy.deepcopy(layer)
    ct.convert(ours)
    x = torch.randn(2, 4, 6, 6, device=device)
    with torch.autocast(device, dtype=dtype):
        y, z = ours(x), layer(x)
    assert y.dtype == z.dtype == dtype
    torch.testing.assert_close(y, z, rtol=2 * torch.finfo(dtype).eps, atol=1e-2)
    y.float().sum().backward()
    assert ours.weight.grad.dtype == torch.float32

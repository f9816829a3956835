"""The short way of plain eager calls: that they take it, that it gives what Python's way gives, and what it leaves to that."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest
import torch
from torch.nn import functional as F

import conv_transpose
import conv_transpose.torch as ct
from conv_transpose.torch import _calls, _function, _operators, _short_calls
from problems import random_case
from torch_cases import DEVICES, device, equal, expected, integers, seed_and_switches  # noqa: F401  (fixtures)

pytestmark = pytest.mark.skipif(_short_calls.extension is None, reason="no extension for this Python and PyTorch")


@pytest.fixture
def long_ways(monkeypatch):
    """What came to Python."""
    taken = []
    execute = _calls._execute
    monkeypatch.setattr(_calls, "_execute", lambda *arguments: taken.append(arguments[0]) or execute(*arguments))
    return taken


def test_plain_calls_do_not_come_to_python(device, long_ways):
    x, w, b = integers((2, 3, 4, 4), device, True), integers((3, 5, 3, 3), device, True), integers((5,), device, True)
    for _ in range(2):
        y = ct.conv_transpose2d(x, w, b, 2, (1, 0))
        y.sum().backward()  # expanded: is made dense first
        y = ct.conv_transpose2d(x, w, None, 2, (1, 0))
        y.backward(torch.ones_like(y))
        with torch.no_grad():
            equal(ct.conv_transpose2d(x, w, b, stride=(2, 2), padding=(1, 0)), expected(x, w, b, 2, (1, 0)))
        layer = ct.ConvTranspose2d(3, 5, 3, device=device)
        layer(x).sum().backward()
    assert not long_ways


def test_autocast_casts_and_takes_it(device, long_ways):
    x, w, b = integers((2, 3, 4, 4), device, True), integers((3, 5, 3, 3), device, True), integers((5,), device, True)
    for _ in range(2):
        with torch.autocast(device, torch.bfloat16):
            y = ct.conv_transpose2d(x, w, b, 2)
        assert y.dtype == torch.bfloat16
        equal(y.float(), expected(x, w, b, 2))
        y.sum().backward()
        assert x.grad.dtype == torch.float32
        with torch.no_grad(), torch.autocast(device, torch.bfloat16):
            equal(ct.conv_transpose2d(x, w, b, 2), y)
    assert not long_ways


def results(case, x, w, b, g):
    tensors = [t.detach().requires_grad_() for t in (x, w, b)]
    y = ct.conv_transpose2d(*tensors, **case.arguments)
    y.backward(g)
    return [y, *(t.grad for t in tensors)]


def test_both_ways_give_the_same_bits(rng, device, monkeypatch):
    for _ in range(40):
        case = random_case(rng)
        x, w, b = (torch.randn(shape, device=device) for shape in (case.input_shape, case.weight_shape, case.bias_shape))
        g = torch.randn_like(ct.conv_transpose2d(x, w, b, **case.arguments))
        short = results(case, x, w, b, g)
        with monkeypatch.context() as patch:
            patch.setattr(_function, "_short_forward", None)
            patch.setattr(_operators.forward, "apply", lambda *a: PythonsFunction.apply(*a))
            long = results(case, x, w, b, g)
        for ours, theirs in zip(short, long):
            assert ours.stride() == theirs.stride(), case
            equal(ours, theirs, str(case))


class PythonsFunction(torch.autograd.Function):
    """The autograd function as it is without the extension."""

    @staticmethod
    def forward(ctx, *arguments):
        *operands, attributes = arguments
        ctx.save_for_backward(*operands[:2])
        ctx.attributes = attributes
        return _operators.forward.run(*operands, *attributes)

    @staticmethod
    def backward(ctx, gradient):
        return _operators.forward.run_backward(ctx, gradient)


@pytest.mark.parametrize("shape, stride", [((2, 1, 3, 3), (9, 1, 3, 1)), ((2, 1, 3, 3), (9, 9, 3, 1)),
                                           ((1, 4, 3, 3), (1, 9, 3, 1)), ((2, 4, 3, 3), (36, 1, 12, 4)),
                                           ((2, 4, 3, 3), (0, 0, 0, 0)), ((2, 4, 3, 3), (36, 9, 1, 3))])
def test_calls_are_found_by_strides_too(device, shape, stride):
    memory = integers((100,), device)
    for layout in (memory.as_strided(shape, stride), memory.as_strided(shape, stride).contiguous()):
        w = integers((shape[1], 2, 2, 2), device)
        y = ct.conv_transpose2d(layout, w)
        equal(y, expected(layout, w))
        assert y.stride() == F.conv_transpose2d(layout, w).stride()


def test_negated_tensors(device):
    x = torch.randn(1, 2, 3, 3, dtype=torch.complex64, device=device).conj().imag
    assert x.is_neg()
    w = integers((2, 2, 2, 2), device)
    for tensor in (x.clone(), x):  # of the same key
        torch.testing.assert_close(ct.conv_transpose2d(tensor, w), F.conv_transpose2d(x.clone(), w))


class Mode(torch.overrides.TorchFunctionMode):
    seen = 0

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        self.seen += function is ct.conv_transpose2d
        return function(*arguments, **(keywords or {}))


def test_what_looks_into_a_call_sees_it(device):
    x, w = integers((1, 2, 3, 3), device), integers((2, 2, 2, 2), device)
    ct.conv_transpose2d(x, w)  # its key is known
    with Mode() as mode:
        ct.conv_transpose2d(x, w)
    assert mode.seen == 1
    with torch.profiler.profile() as profile:
        ct.conv_transpose2d(x, w)
    assert any("conv_transpose2d" in event.key for event in profile.key_averages())
    with torch.autocast(device, torch.bfloat16):
        assert ct.conv_transpose2d(x, w).dtype == torch.bfloat16
    with torch._subclasses.FakeTensorMode() as fake:
        assert type(ct.conv_transpose2d(fake.from_tensor(x), fake.from_tensor(w))).__name__ == "FakeTensor"


def test_errors_are_pythons(device):
    x, w = integers((1, 2, 3, 3), device), integers((2, 2, 2, 2), device)
    for _ in range(2):
        with pytest.raises(conv_transpose.InvalidProblem, match="stride.height is 0"):
            ct.conv_transpose2d(x, w, stride=0)
        with pytest.raises(conv_transpose.InvalidProblem, match="padding is"):
            ct.conv_transpose2d(x, w, padding=2**70)
        with pytest.raises(TypeError, match="stride must be an int"):
            ct.conv_transpose2d(x, w, stride=1.0)
        with pytest.raises(ValueError, match="precision is 'half'"):
            ct.conv_transpose2d(x, w, precision="half")
        with pytest.raises(TypeError, match="weight must be a Tensor, not NoneType"):
            ct.conv_transpose2d(x, None)
        y = ct.conv_transpose2d(x.requires_grad_(), w)
        with pytest.raises(RuntimeError, match="[Ss]hape|size"):
            y.backward(torch.ones(1, device=device))
    with pytest.raises(TypeError):
        _short_calls.extension.forward(2, x, w)
    with pytest.raises(AttributeError):
        _short_calls.extension.backward(None, x)


def test_second_derivatives_and_saved_tensor_hooks(device):
    x, w = integers((1, 2, 3, 3), device, True), integers((2, 2, 2, 2), device, True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.to(device)):
        y = ct.conv_transpose2d(x, w, stride=2)
    gx, gw = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
    assert gx.requires_grad and gw.requires_grad
    theirs = torch.autograd.grad(F.conv_transpose2d(x, w, stride=2).sum(), (x, w), create_graph=True)
    for ours, expectation in zip((gx, gw), theirs):
        equal(ours, expectation)
    equal(torch.autograd.grad(gx.square().sum(), w)[0], torch.autograd.grad(theirs[0].square().sum(), w)[0])


def test_nothing_is_kept_but_plans(device):
    x, w = integers((1, 2, 3, 3), device, True), integers((2, 2, 2, 2), device, True)

    def step():
        y = ct.conv_transpose2d(x, w)
        y.sum().backward()
        return weakref.ref(y)

    step()
    counts = [sys.getrefcount(t) for t in (x, w)]
    gone = [step() for _ in range(50)]
    gc.collect()
    assert all(reference() is None for reference in gone)
    assert [sys.getrefcount(t) for t in (x, w)] == counts
    if device == "cpu":  # on CUDA, the engine's thread allocates, too

        def growth():
            allocated = sys.getallocatedblocks()
            for _ in range(500):
                step()
            gc.collect()
            return sys.getallocatedblocks() - allocated

        # What a step keeps is there in every round, 500 blocks at least; threads and caches of others are not.
        assert min(growth() for _ in range(3)) < 100


def test_more_keys_than_are_kept():
    w = integers((1, 1, 1, 1))
    for width in (*range(1, 2200), *range(1, 200)):  # the first ones once more
        x = torch.full((1, 1, 1, width), float(width))
        with torch.no_grad():
            assert ct.conv_transpose2d(x, w)[0, 0, 0, -1] == width * w
            assert ct.conv_transpose2d(x, w, None, 1, 0, 0, 1, 2)[0, 0, 0, 0] == width * w


def test_threads_share_the_table(device):
    x, w = integers((1, 2, 3, 3), device), integers((2, 2, 2, 2), device)
    wrong = []

    def work(number):
        for size in range(3, 60):
            picture = x.new_full((1, 2, size, 3), number)
            if not torch.equal(ct.conv_transpose2d(picture, w), F.conv_transpose2d(picture, w)):
                wrong.append(size)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_without_the_extension():
    """Everything works by Python alone, as with an older PyTorch."""
    program = """if True:
        import torch, conv_transpose.torch as ct
        from conv_transpose.torch import _short_calls
        assert _short_calls.extension is None
        x, w = torch.ones(1, 2, 3, 3, requires_grad=True), torch.ones(2, 2, 2, 2)
        y = ct.conv_transpose2d(x, w, stride=2)
        y.sum().backward()
        assert torch.equal(y, torch.full((1, 2, 6, 6), 2.)) and torch.equal(x.grad, torch.full_like(x, 8))
        """
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ, CONV_TRANSPOSE_SHORT_CALLS="0"))


@pytest.mark.parametrize("lacking", ["torch._C._is_any_autocast_enabled", "torch.Tensor.__dlpack_c_exchange_api__"])
def test_another_pytorch(lacking):
    program = f"import torch; del {lacking}; import conv_transpose.torch; " \
        "assert conv_transpose.torch._short_calls.extension is None"
    subprocess.run([sys.executable, "-c", program], check=True)

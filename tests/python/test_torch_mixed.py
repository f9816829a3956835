"""Mixed precision: parameters in float32 beside pictures of 16 bits, as autocast has them. Nothing casts them before a call, and
their gradients are float32 sums that are rounded once."""

import copy

import pytest
import torch
from torch import nn

import conv_transpose
import conv_transpose.torch as ct
from torch_cases import device, equal, expected, integers, seed_and_switches  # noqa: F401  (fixtures)

HALF = pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
SHAPES = [((2, 3, 5, 4), (3, 5, 3, 3)), ((2, 16, 4, 4), (16, 32, 2, 2)), ((1, 64, 6, 6), (64, 8, 4, 4)),
          ((3, 8, 5, 5), (8, 1, 3, 3))]


def operands(shape, weight_shape, groups, device, order):
    x = integers(shape, device).to(memory_format=order).requires_grad_()
    w = integers(weight_shape, device).to(memory_format=order).requires_grad_()
    return x, w, integers((weight_shape[1] * groups,), device, True)


@HALF
@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("short", [True, False], ids=["short", "long"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_is_exact(shapes, short, order, half, device, monkeypatch):
    groups = shapes[0][1] if shapes[1][1] == 1 else 1
    if not short:
        monkeypatch.setattr("conv_transpose.torch._function._short_forward", None)
    x, w, b = operands(*shapes, groups, device, order)
    with torch.autocast(device, half):
        y = ct.conv_transpose2d(x, w, b, 2, 1, 1, groups)
    wanted = expected(x, w, b, 2, 1, 1, groups)
    assert y.dtype == half and y.is_contiguous(memory_format=order)
    equal(y, wanted.to(half))
    g = integers(y.shape, device).to(half)
    gradients = torch.autograd.grad(y, (x, w, b), g)
    xd, wd, bd = (t.detach().cpu().double().requires_grad_() for t in (x, w, b))
    reference = torch.nn.functional.conv_transpose2d(xd, wd, bd, 2, 1, 1, groups)
    theirs = torch.autograd.grad(reference, (xd, wd, bd), g.cpu().double())
    assert [t.dtype for t in gradients] == [torch.float32] * 3
    equal(gradients[0], theirs[0].to(half).float())
    for ours, exact in zip(gradients[1:], theirs[1:]):
        equal(ours, exact.float())  # not rounded to 16 bits


def test_nothing_is_cast_but_the_picture(device):
    layer = ct.ConvTranspose2d(8, 16, 2, stride=2, device=device)
    x = torch.randn(2, 8, 4, 4, device=device, dtype=torch.bfloat16, requires_grad=True)
    casts = []

    class Casts(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            if function is torch.ops.aten._to_copy.default:
                casts.append(arguments[0].shape)
            return function(*arguments, **(keywords or {}))

    with Casts():
        with torch.autocast(device, torch.bfloat16):
            y = layer(x)
        y.backward(torch.ones_like(y))
    assert not casts and layer.weight.grad.dtype == layer.bias.grad.dtype == torch.float32


@HALF
def test_a_gradient_does_not_overflow_where_a_sum_of_16_bits_would(half, device):
    x = torch.full((1, 1, 64, 64), 8.0, device=device, dtype=half)
    w = torch.ones(1, 1, 1, 1, device=device, requires_grad=True)
    with torch.autocast(device, half):
        y = ct.conv_transpose2d(x, w)
    y.backward(torch.full_like(y, 8.0))
    assert w.grad.item() == 8 * 8 * 64 * 64


@HALF
def test_second_derivatives_and_tangents(half, device):
    x, w, b = (t.detach() for t in operands((1, 4, 4, 4), (4, 3, 3, 3), 1, device, torch.contiguous_format))

    def convolve(w, b):
        with torch.autocast(device, half):
            return ct.conv_transpose2d(x.to(half), w, b, 2).float()

    def square(w, b):
        return (convolve(w, b) / 16).square().sum()

    exact = torch.func.hessian(lambda w, b: (torch.nn.functional.conv_transpose2d(x, w, b, 2) / 16).square().sum(), (0, 1))(w, b)
    for ours, theirs in zip(torch.func.hessian(square, (0, 1))(w, b), exact):
        for a, e in zip(ours, theirs):
            torch.testing.assert_close(a, e, rtol=0.02, atol=0.02)
    y, t = torch.func.jvp(convolve, (w, b), (w, b))
    equal(y, t)  # it is linear


@HALF
def test_mapped_and_compiled(half, device):
    layer = ct.ConvTranspose2d(4, 6, 3, stride=2, device=device)
    with torch.no_grad():
        layer.weight.copy_(integers(layer.weight.shape, device)), layer.bias.copy_(integers(layer.bias.shape, device))
    x = integers((3, 2, 4, 5, 5), device)

    def step(x):
        with torch.autocast(device, half):
            return layer(x)

    wanted = torch.stack([step(part) for part in x])
    equal(torch.func.vmap(step)(x), wanted)
    biases = integers((3, 6), device)
    with torch.autocast(device, half):
        mapped = torch.func.vmap(lambda b: ct.conv_transpose2d(x[0], layer.weight, b, 2))(biases)
        assert mapped.dtype == half
        equal(mapped[1], ct.conv_transpose2d(x[0], layer.weight, biases[1], 2))
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    gradients = [torch.autograd.grad(f(x[0]).sum(), tuple(layer.parameters())) for f in (step, compiled)]
    for eager, other in zip(*gradients):
        assert other.dtype == torch.float32
        equal(eager, other)


def test_without_autocast_types_must_be_one_as_pytorchs(device):
    x, w, b = operands((1, 2, 3, 3), (2, 2, 2, 2), 1, device, torch.contiguous_format)
    for _ in range(2):
        with pytest.raises(conv_transpose.InvalidProblem,
                           match="weight is torch.float32, but it must be torch.float16, as input is"):
            ct.conv_transpose2d(x.half(), w, b)
        with pytest.raises(conv_transpose.InvalidProblem,
                           match="bias is torch.float32, but it must be torch.float16, as weight is"):
            ct.conv_transpose2d(x.half(), w.half(), b)
        with torch.autocast(device, torch.bfloat16):  # is known by its key, and yet refused without
            ct.conv_transpose2d(x, w, b)


def test_parameters_of_two_types_are_cast(device):
    x, w, b = operands((1, 2, 3, 3), (2, 2, 2, 2), 1, device, torch.contiguous_format)
    with torch.autocast(device, torch.bfloat16):
        equal(ct.conv_transpose2d(x, w, b.bfloat16()), expected(x, w, b).bfloat16())


def test_gradients_are_close_to_those_with_pytorchs_casts(device):
    layer = nn.ConvTranspose2d(16, 8, 4, 2, 1).to(device)
    ours = copy.deepcopy(layer)
    ct.convert(ours)
    x = torch.randn(4, 16, 8, 8, device=device)
    for model in (layer, ours):
        with torch.autocast(device, torch.bfloat16):
            model(x).float().square().mean().backward()
    torch.testing.assert_close(ours.weight.grad, layer.weight.grad, rtol=0.02, atol=2e-4)
    torch.testing.assert_close(ours.bias.grad, layer.bias.grad, rtol=0.02, atol=2e-4)

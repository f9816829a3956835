"""One and three axes in PyTorch, function and module."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import conv_transpose.torch as ct
from conv_transpose.torch import _operators
from conftest import random_problems
from torch_cases import DEVICES, device, equal, integers, seed_and_switches  # noqa: F401  (fixtures)


def test_one_axis_equals_pytorchs_forward_and_backward(rng, device):
    for _ in range(random_problems() // 5):
        groups, stride = rng.randint(1, 3), rng.randint(1, 4)
        attributes = dict(stride=stride, padding=rng.randint(0, 2), output_padding=rng.randint(0, stride - 1),
                          groups=groups, dilation=rng.randint(1, 2))
        shapes = (rng.randint(1, 3), 2 * groups, rng.randint(4, 30)), (2 * groups, 3, rng.randint(1, 5)), (3 * groups,)
        tensors = [integers(shape, device, True) for shape in shapes]
        reference = [t.detach().cpu().double().requires_grad_() for t in tensors]
        y, z = ct.conv_transpose1d(*tensors, **attributes), F.conv_transpose1d(*reference, **attributes)
        equal(y, z, f"{shapes} {attributes}")
        g = integers(y.shape)
        for ours, theirs in zip(torch.autograd.grad(y, tensors, g.to(device)),
                                torch.autograd.grad(z, reference, g.double())):
            equal(ours, theirs, f"gradient of {shapes} {attributes}")


@pytest.mark.parametrize("through_operator", [False, True])
def test_derivatives_of_one_axis(device, through_operator, monkeypatch):
    if through_operator:
        monkeypatch.setattr(_operators, "looked_into", lambda: True)
    tensors = (integers((2, 4, 5), device, True), integers((4, 2, 3), device, True), integers((2,), device, True))
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradcheck(lambda *t: ct.conv_transpose1d(*t, stride=2, padding=1), tensors, eps=1.0, atol=1e-3,
                                        rtol=1e-4, check_forward_ad=True, check_batched_grad=True)


def test_module_of_one_axis_is_pytorchs(device):
    theirs = nn.ConvTranspose1d(4, 6, 4, 2, 1, groups=2).to(device)
    ours = copy.deepcopy(theirs)
    assert ct.convert(ours).converted == [""] and type(ours) is ct.ConvTranspose1d
    assert repr(ct.ConvTranspose1d(4, 6, 4, 2, 1, groups=2)) == repr(theirs)
    x = torch.randn(2, 4, 9, device=device)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    torch.testing.assert_close(ours(x[0], [19]), theirs(x[0], [19]), rtol=1.3e-6, atol=1e-5)
    torch.testing.assert_close(torch.jit.script(ours)(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    ct.revert(ours)
    assert type(ours) is nn.ConvTranspose1d


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_three_axes_with_gradients_are_pytorchs(device, dtype):
    x, w, b = (integers(shape, device, True) for shape in ((2, 4, 3, 4, 5), (4, 3, 2, 3, 2), (6,)))
    arguments = dict(stride=(2, 1, 2), padding=(0, 1, 0), groups=2)
    exact = torch.nn.functional.conv_transpose3d(x.double(), w.double(), b.double(), **arguments)
    y = ct.conv_transpose3d(x.to(dtype), w.to(dtype), b.to(dtype), **arguments)
    assert y.dtype == dtype and torch.equal(y, exact.to(dtype))
    upstream = torch.ones_like(exact)
    wanted = torch.autograd.grad(exact, (x, w, b), upstream)
    for ours, theirs in zip(torch.autograd.grad(y, (x, w, b), upstream.to(dtype)), wanted):
        assert torch.equal(ours, theirs.to(dtype).to(ours.dtype))


def test_errors_of_three_axes():
    x, layer = torch.zeros(1, 4, 3, 3, 3), ct.ConvTranspose3d(4, 4, 3)
    with pytest.raises(RuntimeError, match="stride is"):
        ct.conv_transpose3d(x, layer.weight, stride=(1, 2))
    with pytest.raises(RuntimeError, match="input has 3 dimensions"):
        ct.conv_transpose3d(x[0, 0], layer.weight)


@pytest.mark.filterwarnings("ignore:conv_transpose has no kernel")
def test_module_of_three_axes_is_pytorchs(device):
    theirs = nn.ConvTranspose3d(4, 6, 4, 2, 1, groups=2).to(device)
    ours = copy.deepcopy(theirs)
    assert ct.convert(ours).converted == [""] and type(ours) is ct.ConvTranspose3d
    x = integers((2, 4, 3, 4, 5), device, True)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    gradients = [torch.autograd.grad(layer(x).square().sum(), (x, *layer.parameters())) for layer in (ours, theirs)]
    for our, their in zip(*gradients):
        torch.testing.assert_close(our, their, rtol=1e-4, atol=1e-4)
    ct.revert(ours)
    assert type(ours) is nn.ConvTranspose3d

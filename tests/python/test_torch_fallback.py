"""What is left to PyTorch's own operator: formats that the library does not know, and what it has no kernel for."""

import warnings

import pytest
import torch
from torch.nn import functional as F

import conv_transpose
import conv_transpose.torch as ct
from conv_transpose.torch import _calls, _fallback, _function
from torch_cases import DEVICES, device, equal, integers, seed_and_switches  # noqa: F401  (fixtures)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.complex128, torch.int64])
def test_other_formats_are_left_to_pytorch_and_told_once(dtype, monkeypatch):
    monkeypatch.setattr(_function, "_told", set())
    x, w = integers((2, 4, 5, 5)).to(dtype), integers((4, 3, 3, 3)).to(dtype)
    with pytest.warns(UserWarning, match=f"{dtype} is left to PyTorch"):
        y = ct.conv_transpose2d(x, w, stride=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(y, ct.conv_transpose2d(x, w, stride=2))
    assert torch.equal(y, F.conv_transpose2d(x, w, stride=2))
    if dtype == torch.float64:
        assert torch.autograd.gradcheck(ct.conv_transpose2d, (x.requires_grad_(), w.requires_grad_()))


@pytest.fixture
def no_kernels(monkeypatch):
    """As if the library had none at all; with sizes that no other test has."""
    caches = (_calls._forward_call, _calls._gradient_call, _calls._bias_gradient_call)

    def refuse(*_, **__):
        raise conv_transpose.Unsupported("no kernel")

    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(_calls, "Plan", refuse)
    monkeypatch.setattr(_fallback, "_told", set())
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_what_there_is_no_kernel_for_is_left_to_pytorch(rank, device, no_kernels):
    arguments = dict(stride=2, padding=1, output_padding=1, groups=2, dilation=(2, 1, 2)[:rank])
    shapes = (2, 4, *(11, 7, 13)[:rank]), (4, 3, *(3, 5, 2)[:rank]), (6,)
    ours = [integers(shape, device, True) for shape in shapes]
    theirs = [t.detach().cpu().double().requires_grad_() for t in ours]
    function = getattr(ct, f"conv_transpose{rank}d")
    with pytest.warns(UserWarning, match=f"no kernel for this .* of rank {rank} in torch.float32") as told:
        for _ in range(2):
            y = function(*ours, **arguments)
            y.sum().backward()
    assert len({str(warning.message).split(" of rank")[0] for warning in told}) == len(told) == 4
    z = getattr(F, f"conv_transpose{rank}d")(*theirs, **arguments)
    equal(y, z)
    z.sum().backward()
    for our, their in zip(ours, theirs):
        equal(our.grad / 2, their.grad)
    with pytest.raises(conv_transpose.Unsupported, match="no kernel"):
        function(*ours, **arguments, strict_propagation=True)

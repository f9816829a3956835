"""Which products are computed, by the call's precision or PyTorch's switches; and how far an Inf or NaN may reach."""

import pytest
import torch
from torch import nn

import conv_transpose.torch as ct
from conv_transpose.torch import _calls
from torch_cases import DEVICES, device, integers, seed_and_switches  # noqa: F401  (fixtures)


def test_precision_is_checked():
    with pytest.raises(ValueError, match="precision is 'half'"):
        ct.conv_transpose2d(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), precision="half")


class OnCuda:
    """As much of a tensor as the choice of a precision looks at."""

    is_cuda = True

    def __init__(self, dtype):
        self.dtype = dtype


def test_precision_follows_pytorchs_switch():
    for allowed, name in ((True, "tf32"), (False, "float32")):
        torch.backends.cudnn.allow_tf32 = allowed
        assert _calls._precision("auto", OnCuda(torch.float32)) == name
        assert _calls._precision("auto", OnCuda(torch.float16)) == "tf32"
        assert _calls._precision("tf32x3", OnCuda(torch.float32)) == "tf32x3"
    assert _calls._precision("auto", torch.zeros(1)) == "float32"


@pytest.mark.skipif(not hasattr(torch.backends.cudnn, "conv"), reason="this PyTorch has the older switch only")
@pytest.mark.parametrize("general, cudnn, conv, name", [
    ("none", "none", "ieee", "float32"), ("none", "none", "tf32", "tf32"), ("tf32", "none", "none", "tf32"),
    ("ieee", "none", "none", "float32"), ("ieee", "tf32", "none", "tf32"), ("tf32", "ieee", "none", "float32"),
    ("ieee", "ieee", "tf32", "tf32"), ("tf32", "tf32", "ieee", "float32"),
])
def test_precision_follows_pytorchs_newer_switches(general, cudnn, conv, name):
    backends = torch.backends, torch.backends.cudnn, torch.backends.cudnn.conv
    before = [backend.fp32_precision for backend in backends]
    try:
        for backend, precision in zip(backends, (general, cudnn, conv)):
            backend.fp32_precision = precision
        assert _calls._precision("auto", OnCuda(torch.float32)) == name
    finally:
        for backend, precision in zip(backends, before):
            backend.fp32_precision = precision


def test_strict_propagation(device):
    """It reaches the library by every way, and gradients."""
    x, w = integers((1, 8, 6, 6), device, True), integers((8, 8, 3, 3), device, True)
    layer = ct.ConvTranspose2d(8, 8, 3, padding=1, device=device, strict_propagation=True)
    assert "strict_propagation=True" in repr(layer)
    assert ct.convert(nn.ConvTranspose2d(8, 8, 3), strict_propagation=True).model.strict_propagation
    with torch.no_grad():
        x[0, 0, 0, 0] = float("nan")
    y = ct.conv_transpose2d(x, w, padding=1, strict_propagation=True)
    assert torch.isnan(y)[0].any(0).nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    y.backward(torch.ones_like(y))
    # The NaN at the corner meets the taps that lie inside: none of the kernel's first row and column.
    expectation = torch.zeros(3, 3, dtype=torch.bool)
    expectation[1:, 1:] = True
    assert torch.equal(torch.isnan(w.grad[0]).any(0).cpu(), expectation)
    for call in (layer, torch.compile(layer, backend="eager"), torch.jit.script(layer)):
        assert torch.isnan(call(x))[0].any(0).sum() == 4

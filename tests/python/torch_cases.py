"""What the tests of PyTorch share: devices, numbers whose sums are exact, and what PyTorch gives."""

import pytest
import torch
from torch.nn import functional as F

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(autouse=True)
def seed_and_switches():
    torch.manual_seed(0)
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before  # sets the newer switches, too


def integers(shape, device="cpu", requires_grad=False):
    """Sums of small integers are exact in float32 and tf32, in any order: results must be equal."""
    return torch.randint(-4, 5, shape, device=device).float().requires_grad_(requires_grad)


def expected(x, w, b=None, *arguments, **keywords):
    """PyTorch's own, on the CPU in float64."""
    x, w, b = (None if t is None else t.detach().cpu().double() for t in (x, w, b))
    return F.conv_transpose2d(x, w, b, *arguments, **keywords).float()


def equal(a, b, text=""):
    torch.testing.assert_close(a.detach().cpu(), b.detach().cpu().to(a.dtype), rtol=0, atol=0,
                               msg=lambda message: f"{text}\n{message}")

"""Memory formats: results have PyTorch's."""

import itertools

import pytest
import torch
from torch.nn import functional as F

import conv_transpose
import conv_transpose.torch as ct
from conv_transpose.torch import _calls
from torch_cases import DEVICES, device, equal, expected, integers, seed_and_switches  # noqa: F401  (fixtures)

LAST = torch.channels_last
ORDERS = list(itertools.product([torch.contiguous_format, LAST], repeat=3))


def strides(convolve, shape, weight_shape, orders, device="cpu", dtype=torch.float32):
    """Of output, input gradient and weight gradient, from tensors in these orders, the last the output gradient's."""
    x, w = (integers(s, device).to(dtype).to(memory_format=order).requires_grad_()
            for s, order in zip((shape, weight_shape), orders))
    y = convolve(x, w)
    gradients = torch.autograd.grad(y, (x, w), torch.ones_like(y).to(memory_format=orders[2]))
    # The stride of an axis of one element says nothing, and in gradients of 1x1 kernels PyTorch's depends on the format.
    return [[stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1] for tensor in (y, *gradients)]


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: " ".join(str(o)[6:] for o in orders))
@pytest.mark.parametrize("shapes", [((2, 4, 5, 6), (4, 6, 3, 3)), ((2, 1, 5, 6), (1, 6, 3, 3)), ((2, 4, 5, 6), (4, 6, 1, 1)),
                                    ((1, 16, 1, 1), (16, 32, 4, 4)), ((2, 16, 4, 4), (16, 32, 3, 3))], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_memory_formats_are_pytorchs(shapes, orders, dtype, device):
    _, channels, *size = shapes[0]
    if device == "cuda" and (channels == 1 or size == [1, 1]):
        pytest.skip("such an input is in both orders, and of the two cuDNN's gradients take another than PyTorch's own")
    ours = strides(ct.conv_transpose2d, *shapes, orders, device, dtype)
    assert ours == strides(F.conv_transpose2d, *shapes, orders, device, dtype)


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: " ".join(str(o)[6:] for o in orders))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_results_without_data_have_the_strides_of_a_run(orders, dtype):
    shapes = (2, 4, 5, 6), (4, 6, 3, 3)
    real = strides(ct.conv_transpose2d, *shapes, orders, dtype=dtype)
    with torch._subclasses.FakeTensorMode():
        x, w = (torch.empty(s, dtype=dtype).to(memory_format=order) for s, order in zip(shapes, orders))
        y = ct.conv_transpose2d(x, w)
        g = torch.empty_like(y)
        attributes = ([1, 1], [0, 0], [0, 0], 1, [1, 1], "auto")
        fake = [y, torch.ops.conv_transpose.input_gradient(g, w, *attributes),
                torch.ops.conv_transpose.weight_gradient(g, x, *attributes)]
    assert [list(t.stride()) for t in fake] == real


def test_an_order_is_found_once(monkeypatch):
    """Ways that the library refuses are not tried again."""
    x, w = integers((2, 4, 5, 7)).half().to(memory_format=LAST), integers((4, 3, 3, 3)).half()
    plans = []

    def plan_of_float32(*arguments, **options):
        plans.append(options)
        if options["input"][0] == "float16":
            raise conv_transpose.Unsupported("as if there were none")
        return _calls._library.Plan(*arguments, **options)

    monkeypatch.setattr(_calls, "Plan", plan_of_float32)
    _calls._forward_call.cache_clear()
    first = ct.conv_transpose2d(x, w)
    tried = len(plans)
    assert plans[0]["input"] == ("float16", "channels_last") and plans[0]["weight"] == ("float16", "channels_first")
    assert plans[-1]["input"] == ("float32", "channels_first")
    equal(first, expected(x, w))
    equal(ct.conv_transpose2d(x, w), first)
    assert len(plans) == tried and first.is_contiguous(memory_format=LAST)

"""The operators without Python: a process that has never heard of the package runs models that were made with it."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

import conv_transpose.torch as ct
from conv_transpose import _library

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(_library.path)), "torch_operators", "libconv_transpose_torch_operators.so")
pytestmark = pytest.mark.skipif(not os.path.exists(LIBRARY), reason="this build has no operators without Python")


class EveryAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = ct.ConvTranspose1d(3, 4, 5, stride=3, padding=1, output_padding=2)
        self.two = ct.ConvTranspose2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2, dilation=(1, 2), bias=False)
        self.three = ct.ConvTranspose3d(6, 2, 2, stride=2)

    def forward(self, x):
        x = self.one(x)
        x = self.two(torch.stack([x, 2 * x, x - 1], 2))
        return self.three(torch.stack([x, -x], 2))


def in_a_process_of_its_own(code, folder):
    """Without the package, whose operators have the same names."""
    prelude = f"import sys, torch; torch.ops.load_library({LIBRARY!r})\n"
    subprocess.run([sys.executable, "-c", prelude + code], cwd=folder, check=True)


def test_a_traced_model(tmp_path):
    torch.manual_seed(0)
    model, x = EveryAttribute(), torch.randn(2, 3, 7)
    with torch.no_grad():
        torch.jit.trace(model, x).save(str(tmp_path / "model.pt"))
        torch.save((x, model(x)), tmp_path / "tensors.pt")
    in_a_process_of_its_own("""
x, expected = torch.load("tensors.pt")
with torch.no_grad():
    y = torch.jit.load("model.pt")(x)
assert torch.equal(y, expected), (y - expected).abs().max()
""", tmp_path)


@pytest.mark.parametrize("mixed", (False, True))
@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.bfloat16))
def test_all_operations_formats_and_layouts(tmp_path, dtype, mixed):
    torch.manual_seed(1)
    attributes = ([2, 3], [1, 0], [1, 0], 2, [1, 1], "float32")
    x, w, b = (torch.randint(-4, 5, size).to(dtype) for size in ((2, 4, 5, 6), (4, 3, 3, 4), (6,)))
    of_parameters = (torch.float32,) if mixed else ()
    if mixed:
        w, b = w.float(), b.float()
    operators, cases = torch.ops.conv_transpose, []
    for layout in (torch.contiguous_format, torch.channels_last):
        input, weight = x.contiguous(memory_format=layout), w.contiguous(memory_format=layout)
        y = operators.conv_transpose2d(input, weight, b, *attributes)
        g = torch.randint_like(y, -3, 4)
        cases.append((input, weight, b, attributes, of_parameters, g, y, operators.input_gradient(g, weight, *attributes),
                      operators.weight_gradient(g, input, *attributes, *of_parameters),
                      operators.bias_gradient(g, *of_parameters)))
    torch.save(cases, tmp_path / "cases.pt")
    in_a_process_of_its_own("""
ops = torch.ops.conv_transpose
for input, weight, bias, attributes, of_parameters, g, *expected in torch.load("cases.pt"):
    got = [ops.conv_transpose2d(input, weight, bias, *attributes), ops.input_gradient(g, weight, *attributes),
           ops.weight_gradient(g, input, *attributes, *of_parameters), ops.bias_gradient(g, *of_parameters)]
    for a, b in zip(got, expected):
        assert a.dtype == b.dtype and a.stride() == b.stride() and torch.equal(a, b), (a, b)
""", tmp_path)


def test_errors_name_what_is_wrong(tmp_path):
    in_a_process_of_its_own("""
x, w = torch.zeros(1, 4, 5, 5), torch.zeros(4, 3, 3, 3)
def refused(rule, *arguments):
    try:
        torch.ops.conv_transpose.conv_transpose2d(*arguments)
    except RuntimeError as error:
        assert rule in str(error), error
    else:
        raise AssertionError(rule)
ones, zeros = [1, 1], [0, 0]
refused("another type than float32", x.double(), w.double(), None, ones, zeros, zeros, 1, ones, "float32")
refused("must be float32, or of the picture's type", x, w.half(), None, ones, zeros, zeros, 1, ones, "float32")
refused("5 input channels", x, torch.zeros(5, 3, 3, 3), None, ones, zeros, zeros, 1, ones, "float32")
refused("3 elements of the weight's type", x, w, torch.zeros(2), ones, zeros, zeros, 1, ones, "float32")
refused("must be positive", x, w, None, ones, zeros, zeros, 0, ones, "float32")
refused("there are 2 axes", x, w, None, [1], zeros, zeros, 1, ones, "float32")
refused("precision is 'exact'", x, w, None, ones, zeros, zeros, 1, ones, "exact")
refused("stride", x, w, None, [0, 1], zeros, zeros, 1, ones, "float32")
""", tmp_path)

"""What the PyTorch function refuses: what PyTorch refuses, and no more."""

import pytest
import torch
from torch.nn import functional as F

import conv_transpose.torch as ct
from conv_transpose.torch import _operators
from conftest import random_problems
from torch_cases import equal, integers, seed_and_switches  # noqa: F401  (fixtures)


ERRORS = {
    "output padding": (dict(output_padding=1), "output_padding.height is 1"),
    "output padding, stride": (dict(stride=2, output_padding=2), "output_padding.height is 2"),
    "negative padding": (dict(padding=-1), "padding.height is -1"),
    "negative output padding": (dict(output_padding=-1), "output_padding.height is -1"),
    "stride 0": (dict(stride=0), "stride.height is 0"),
    "stride negative": (dict(stride=(1, -2)), "stride.width is -2"),
    "dilation 0": (dict(dilation=0), "dilation.height is 0"),
    "groups 0": (dict(groups=0), "groups is 0"),
    "groups negative": (dict(groups=-1), "groups is -1"),
    "groups do not divide": (dict(groups=3), "in_channels is 4"),
    "more groups than channels": (dict(groups=8), "in_channels is 4"),
    "channels": (dict(weight=torch.zeros(5, 3, 3, 3)), "has 4 channels"),
    "bias length": (dict(bias=torch.zeros(4)), "bias has shape"),
    "bias dimensions": (dict(bias=torch.zeros(3, 1)), "bias has shape"),
    "input 2-D": (dict(input=torch.zeros(4, 5)), "2 dimensions"),
    "input 5-D": (dict(input=torch.zeros(1, 2, 4, 5, 5)), "5 dimensions"),
    "weight 3-D": (dict(weight=torch.zeros(4, 3, 3)), "weight has shape"),
    "kernel 0": (dict(weight=torch.zeros(4, 3, 0, 3)), "kernel.height is 0"),
    "empty input": (dict(input=torch.zeros(2, 4, 0, 5)), "input.height is 0"),
    "no output channels": (dict(weight=torch.zeros(4, 0, 3, 3), bias=None), "out_channels is 0"),
    "output too small": (dict(padding=4), "padding.height is 4"),
    "mixed formats": (dict(weight=torch.zeros(4, 3, 3, 3, dtype=torch.half)), "weight is torch.float16"),
    "integers and floats": (dict(input=torch.zeros(2, 4, 5, 5, dtype=torch.int64)), None),
    "three strides": (dict(stride=(1, 1, 1)), r"stride is \(1, 1, 1\)"),
    "no stride": (dict(stride=()), r"stride is \(\)"),
    "float stride": (dict(stride=2.0), "stride"),
    "floats among strides": (dict(stride=(2, 2.0)), "stride"),
    "stride of 65 bits": (dict(stride=2**64 + 1), "stride is 18446744073709551617"),
    "bool padding": (dict(padding=True), "padding"),
    "padding by name": (dict(padding="same"), "padding"),
    "input not a tensor": (dict(input=None), "input must be a Tensor"),
    "bias not a tensor": (dict(bias=1.0), "bias must be a Tensor"),
}


@pytest.mark.filterwarnings("ignore:conv_transpose computes")
@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("through_operator", [False, True])
def test_errors_are_pytorchs(name, through_operator, monkeypatch):
    change, message = ERRORS[name]
    arguments = {**dict(input=torch.zeros(2, 4, 5, 5), weight=torch.zeros(4, 3, 3, 3), bias=torch.zeros(3)), **change}
    with pytest.raises(Exception) as theirs:
        F.conv_transpose2d(**arguments)
    if through_operator:
        monkeypatch.setattr(_operators, "looked_into", lambda: True)
        message = None  # PyTorch's dispatcher words some itself
    wanted = TypeError if isinstance(theirs.value, TypeError) else RuntimeError  # PyTorch has subclasses of it
    with pytest.raises(wanted, match=message):
        ct.conv_transpose2d(**arguments)


def test_random_attributes_are_accepted_as_pytorch_accepts_them(rng):
    accepted = 0
    for _ in range(4 * random_problems()):
        keywords = {name: rng.randint(low, 3) for name, low in
                    dict(stride=0, padding=-1, output_padding=-1, groups=0, dilation=0).items()}
        x, w = integers((1, rng.randint(1, 4), rng.randint(1, 3), 2)), integers((rng.randint(1, 4), 2, rng.randint(1, 3), 2))
        results = []
        for function in (F.conv_transpose2d, ct.conv_transpose2d):
            try:
                results.append(function(x, w, **keywords))
            except RuntimeError:
                results.append(None)
        assert (results[0] is None) == (results[1] is None), (x.shape, w.shape, keywords)
        if results[0] is not None:
            accepted += 1
            equal(results[1], results[0], str((x.shape, w.shape, keywords)))
    assert accepted > 0


@pytest.mark.parametrize("function", [ct.convert, ct.revert])
@pytest.mark.parametrize("model", [None, "model", torch.zeros(1)])
def test_only_modules_are_converted(function, model):
    with pytest.raises(TypeError, match=r"model must be a torch.nn.Module, not (NoneType|str|Tensor)"):
        function(model)


def test_strictness_is_true_or_false():
    arguments = torch.zeros(1, 2, 3, 3), torch.zeros(2, 2, 2, 2)
    with pytest.raises(TypeError, match="strict_propagation must be True or False, not 'no'"):
        ct.conv_transpose2d(*arguments, strict_propagation="no")
    with pytest.raises(TypeError, match="strict_propagation must be True or False, not 1"):
        ct.convert(torch.nn.ConvTranspose2d(2, 2, 2), strict_propagation=1)

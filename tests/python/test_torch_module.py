"""The PyTorch modules, and conversion of a model's."""

import copy

import pytest
import torch
from torch import nn

import conv_transpose.torch as ct
from torch_cases import DEVICES, device, seed_and_switches  # noqa: F401  (fixtures)


@pytest.mark.parametrize("arguments, keywords", [
    ((4, 3, 3), {}),
    ((4, 6, (3, 2)), dict(stride=2, padding=(1, 0), output_padding=1, groups=2, bias=False, dilation=2)),
    ((4, 3, 3, 2, 1, 1, 1, True, 1, "zeros"), dict(dtype=torch.float32)),
])
def test_module_is_pytorchs(arguments, keywords, device):
    torch.manual_seed(1)
    theirs = nn.ConvTranspose2d(*arguments, **keywords).to(device)
    torch.manual_seed(1)
    ours = ct.ConvTranspose2d(*arguments, **keywords).to(device)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        assert torch.equal(value, ours.state_dict()[name])  # the same initialisation
    ours.load_state_dict(theirs.state_dict(), strict=True)
    theirs.load_state_dict(ours.state_dict(), strict=True)
    x = torch.randn(2, 4, 6, 7, device=device)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    torch.testing.assert_close(ours(x[0]), theirs(x[0]), rtol=1.3e-6, atol=1e-5)


def test_module_output_size():
    theirs, x = nn.ConvTranspose2d(1, 1, 3, stride=2), torch.randn(1, 1, 4, 4)
    ours = copy.deepcopy(theirs)
    ct.convert(ours)
    for size in ([9, 9], [10, 9], (1, 1, 10, 10)):
        torch.testing.assert_close(ours(x, output_size=size), theirs(x, output_size=size))
    for size in ([11, 11], [8, 9], [9, 9, 9]):
        with pytest.raises(ValueError):
            ours(x, output_size=size)


def test_module_padding_mode():
    with pytest.raises(ValueError, match="zeros"):
        ct.ConvTranspose2d(1, 1, 3, padding_mode="reflect")


def test_module_precision_is_shown():
    assert "precision=tf32" in repr(ct.ConvTranspose2d(1, 1, 3, precision="tf32"))


class Special(nn.ConvTranspose2d):
    pass


def test_convert():
    model = nn.Sequential(
        nn.ConvTranspose2d(2, 4, 3), nn.Conv2d(4, 4, 1), nn.Sequential(nn.ConvTranspose2d(4, 2, 2, stride=2)),
        nn.ConvTranspose1d(1, 1, 1), Special(1, 1, 1), nn.ConvTranspose2d(1, 1, 1).double(),
        nn.LazyConvTranspose2d(1, 1),
    )
    parameters = {name: id(p) for name, p in model.named_parameters()}
    calls = []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    result = ct.convert(model, precision="tf32")
    assert result.model is model
    assert result.converted == ["0", "2.0", "3", "5"]
    assert set(result.left) == {"4", "6"}
    assert type(ct.convert(nn.ConvTranspose3d(1, 1, 1)).model) is ct.ConvTranspose3d
    assert "Special" in result.left["4"]
    assert {name: id(p) for name, p in model.named_parameters()} == parameters
    assert type(model[0]) is ct.ConvTranspose2d and model[0].precision == "tf32"
    model[:3](torch.randn(1, 2, 4, 4))
    assert calls == [1]
    assert ct.convert(model).converted == []  # twice is once


def test_convert_of_the_module_itself_and_copies():
    layer = nn.ConvTranspose2d(2, 4, 3)
    x, reference = torch.randn(1, 2, 4, 4), None
    reference = layer(x)
    assert ct.convert(layer).converted == [""]
    torch.testing.assert_close(copy.deepcopy(layer)(x), reference)

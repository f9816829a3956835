"""What packaging/wheels runs in a clean environment: the installed package computes, and refuses, as it should."""

import importlib.machinery
import importlib.util
import os
import sys

import numpy as np

import conv_transpose

assert "site-packages" in conv_transpose.__file__ or "packages" in conv_transpose.__file__, conv_transpose.__file__
x = np.arange(2 * 3 * 2 * 2, dtype="float32").reshape(2, 3, 2, 2)
w = np.arange(3 * 2 * 2 * 2, dtype="float32").reshape(3, 2, 2, 2)
# Kernel and stride are the same: each output meets one input.
expected = np.einsum("nchw,coij->nohiwj", x, w).reshape(2, 2, 4, 4)
np.testing.assert_array_equal(conv_transpose.conv_transpose2d(x, w, stride=2), expected)
try:
    conv_transpose.conv_transpose2d(x, w, stride=0)
except conv_transpose.InvalidProblem as error:
    assert "stride.height is 0" in str(error), error
else:
    raise AssertionError("stride 0 was accepted")

# The extension for PyTorch loads without it, too, into every CPython that has its stable ABI.
if sys.version_info >= (3, 10) and ".abi3.so" in importlib.machinery.EXTENSION_SUFFIXES:
    path = os.path.join(os.path.dirname(conv_transpose.__file__), "_short_calls.abi3.so")
    spec = importlib.util.spec_from_file_location("_short_calls", path)
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    assert extension.forward(2, x, w, None, 2, 0, 0, 1, 1, None, False) is NotImplemented  # nothing is connected

if "--torch" in sys.argv:
    import torch

    import conv_transpose.torch as ct
    from conv_transpose.torch import _short_calls

    lends_tensors = hasattr(torch.Tensor, "__dlpack_c_exchange_api__") and ".abi3.so" in importlib.machinery.EXTENSION_SUFFIXES
    assert bool(_short_calls.extension) == lends_tensors, (torch.__version__, _short_calls.extension)

    layers = [torch.nn.ConvTranspose2d(3, 2, 2, stride=2) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    assert ct.convert(layers[1]).converted == [""]
    losses = []
    for layer in layers:
        optimizer = torch.optim.SGD(layer.parameters(), 1e-3)
        for _ in range(5):
            optimizer.zero_grad()
            loss = layer(torch.from_numpy(x)).square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss)
    torch.testing.assert_close(losses[0], losses[1])
    torch.testing.assert_close(torch.func.vmap(layers[1])(torch.from_numpy(x)), layers[0](torch.from_numpy(x)))
print("computes and refuses as it should")

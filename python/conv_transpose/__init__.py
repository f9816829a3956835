"""Transposed convolutions without scatter, for NumPy, CuPy, JAX and PyTorch, on CPU and CUDA.

    import numpy as np, conv_transpose
    output = conv_transpose.conv_transpose(input, weight, stride=2, padding=1)

For PyTorch (autograd, modules, torch.compile) see conv_transpose.torch, which is loaded only where it is asked for.
"""

from __future__ import annotations

from typing import Any, Optional

from . import _arrays, _library
from ._library import ACTIVATIONS, PRECISIONS, Error, InvalidProblem, Unsupported, set_cpu_threads
from ._problem import IntPerAxis, flag, real

__all__ = ["Error", "InvalidProblem", "Unsupported", "conv_transpose", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d", "info", "set_cpu_threads"]
__version__ = _library.version()


def conv_transpose(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: IntPerAxis = 1,
    padding: IntPerAxis = 0,
    output_padding: IntPerAxis = 0,
    groups: int = 1,
    dilation: IntPerAxis = 1,
    *,
    precision: Optional[str] = None,
    activation: str = "none",
    negative_slope: float = 0.01,
    strict_propagation: bool = False,
) -> Any:
    """A transposed convolution with PyTorch's meaning of every argument, then an activation, in one pass; of one, two or
    three axes, as the weight has them. conv_transpose1d(), 2d() and 3d() are the same of one rank alone.

    Arrays may be NumPy's, CuPy's, JAX's, torch's, or on the CPU any other's with __dlpack__, all on one device and of
    one format; the result is of the same kind, on the same device. CuPy's and torch's current streams are used, without
    waiting; for JAX on CUDA the call waits for the result.

    Args:
        input: (batch, in_channels, size on each axis), or without batch; axes are width; height and width; or depth,
            height and width. float32, or float16 or bfloat16, which are computed through float32 and rounded once. Not
            contiguous: is copied first.
        weight: (in_channels, out_channels / groups, kernel's size on each axis).
        bias: (out_channels,), or None.
        stride, padding, output_padding, dilation: elements, an int or one for each axis. The output has
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 elements on each axis.
        groups: into which the channels are divided.
        precision: "float32" (the default, but for torch tensors), "tf32" or "tf32x3" (tensor cores, where there are;
            tf32x3 is about as exact as float32).
        activation: "none", "relu", "leaky_relu" (with negative_slope), "tanh" or "sigmoid".
        strict_propagation: an Inf or NaN reaches only the results that it is a factor of; some faster kernels, which
            multiply it by zeros as well, are not taken.

    Returns:
        (batch, out_channels, output's size on each axis).

    Raises:
        InvalidProblem, a ValueError and a RuntimeError, naming argument, value and rule; TypeError for an argument of a
        wrong type; Unsupported where this machine cannot serve the request.
    """
    return _convolve(None, input, weight, bias, stride, padding, output_padding, groups, dilation, precision, activation,
                     negative_slope, strict_propagation)


def conv_transpose1d(input: Any, weight: Any, bias: Any = None, stride: IntPerAxis = 1, padding: IntPerAxis = 0,
                     output_padding: IntPerAxis = 0, groups: int = 1, dilation: IntPerAxis = 1, *,
                     precision: Optional[str] = None, activation: str = "none", negative_slope: float = 0.01,
                     strict_propagation: bool = False) -> Any:
    """conv_transpose() of a width alone."""
    return _convolve(1, input, weight, bias, stride, padding, output_padding, groups, dilation, precision, activation,
                     negative_slope, strict_propagation)


def conv_transpose2d(input: Any, weight: Any, bias: Any = None, stride: IntPerAxis = 1, padding: IntPerAxis = 0,
                     output_padding: IntPerAxis = 0, groups: int = 1, dilation: IntPerAxis = 1, *,
                     precision: Optional[str] = None, activation: str = "none", negative_slope: float = 0.01,
                     strict_propagation: bool = False) -> Any:
    """conv_transpose() of height and width."""
    return _convolve(2, input, weight, bias, stride, padding, output_padding, groups, dilation, precision, activation,
                     negative_slope, strict_propagation)


def conv_transpose3d(input: Any, weight: Any, bias: Any = None, stride: IntPerAxis = 1, padding: IntPerAxis = 0,
                     output_padding: IntPerAxis = 0, groups: int = 1, dilation: IntPerAxis = 1, *,
                     precision: Optional[str] = None, activation: str = "none", negative_slope: float = 0.01,
                     strict_propagation: bool = False) -> Any:
    """conv_transpose() of depth, height and width. What there is no kernel for raises Unsupported."""
    return _convolve(3, input, weight, bias, stride, padding, output_padding, groups, dilation, precision, activation,
                     negative_slope, strict_propagation)


def _convolve(rank: Optional[int], input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
              groups: Any, dilation: Any, precision: Optional[str], activation: str, negative_slope: float,
              strict_propagation: bool) -> Any:
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}, but it must be one of {', '.join(ACTIVATIONS)}")
    if precision is not None and precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}, but it must be one of {', '.join(PRECISIONS)}, or None")
    strict_propagation, negative_slope = flag("strict_propagation", strict_propagation), real("negative_slope", negative_slope)
    if _arrays.is_torch_tensor(input):
        from . import torch as for_torch

        function = getattr(for_torch, f"conv_transpose{_arrays.rank_of(weight, rank)}d")
        result = function(input, weight, bias, stride, padding, output_padding, groups, dilation, precision=precision,
                          strict_propagation=strict_propagation)
        return for_torch.activate(result, activation, negative_slope)
    return _arrays.conv_transpose(rank, input, weight, bias, stride, padding, output_padding, groups, dilation,
                                  precision or "float32", strict_propagation, activation, negative_slope)


def info() -> dict[str, Any]:
    """What this installation can do: versions, devices, and the names of its kernels in order of preference."""
    return {
        "version": __version__,
        "library": _library.path,
        "devices": ["cpu", "cuda"] if _library.cuda_available() else ["cpu"],
        "precisions": list(PRECISIONS),
        "kernels": _library.kernels(),
    }


def __getattr__(name: str) -> Any:
    if name == "torch":
        import importlib

        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

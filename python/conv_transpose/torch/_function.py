"""The function, as torch.nn.functional has it."""

from __future__ import annotations

import warnings
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function_variadic

from .._library import PRECISIONS
from .._problem import IntPerAxis, attribute, flag, integer, require_input_dimensions
from . import _short_calls
from ._calls import check_formats, FORMATS, FOLLOW_PYTORCH, STRICT
from ._operators import are_plain, autocast, forward, looked_into

_short_forward: Any = _short_calls.extension and _short_calls.extension.forward
_told: set[torch.dtype] = set()  # formats of which it was told that PyTorch computes them


def _require_tensors(rank: int, **arguments: Any) -> None:
    for name, value in arguments.items():
        if not isinstance(value, Tensor) and not (name == "bias" and value is None):
            raise TypeError(f"conv_transpose{rank}d(): {name} must be a Tensor, not {type(value).__name__}")


def _pytorchs(rank: int) -> Any:
    return getattr(nn.functional, f"conv_transpose{rank}d")


def _by_pytorch(rank: int, input: Tensor, *arguments: Any) -> Tensor:
    """Formats that this library does not compute. It says so once for each."""
    if input.dtype not in _told and not torch.compiler.is_compiling():
        _told.add(input.dtype)
        warnings.warn(f"conv_transpose computes float32, float16 and bfloat16; {input.dtype} is left to PyTorch's own "
                      f"conv_transpose{rank}d", stacklevel=4)
    return _pytorchs(rank)(input, *arguments)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Optional[Tensor] = None,
    stride: IntPerAxis = 1,
    padding: IntPerAxis = 0,
    output_padding: IntPerAxis = 0,
    groups: int = 1,
    dilation: IntPerAxis = 1,
    *,
    precision: Optional[str] = None,
    strict_propagation: bool = False,
) -> Tensor:
    """torch.nn.functional.conv_transpose2d, computed by this library.

    Args:
        input: (batch, in_channels, height, width), or without batch; float32, float16 or bfloat16, on CPU or CUDA. Other
            formats are left to PyTorch's own operator; a warning says so once.
        weight: (in_channels, out_channels / groups, kernel height, kernel width), like input in format and device; under autocast
            it may stay float32.
        bias: (out_channels,), or None.
        stride, padding, output_padding, dilation: elements, an int or (height, width). The output has
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 elements on each axis.
        groups: into which the channels are divided.
        precision: "float32", "tf32" or "tf32x3"; None follows torch.backends.cudnn.conv.fp32_precision, in older
            PyTorch torch.backends.cudnn.allow_tf32.
        strict_propagation: an Inf or NaN reaches only the results that it is a factor of, in gradients, too; some
            faster kernels, which multiply it by zeros as well, are not taken.

    Returns:
        (batch, out_channels, output height, output width), in the memory format that PyTorch's own gives: channels_last where
        input or weight is; under autocast in autocast's format.

    Raises:
        InvalidProblem (a RuntimeError and a ValueError) under the conditions under which PyTorch raises; TypeError
        for an argument of a wrong type. What there is no kernel for is left to PyTorch's own operator, which a warning says
        once, or raises Unsupported where that would not keep `precision` or `strict_propagation`.
    """
    return _convolve(2, conv_transpose2d, input, weight, bias, stride, padding, output_padding, groups, dilation, precision,
                     strict_propagation)


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, stride: IntPerAxis = 1,
                     padding: IntPerAxis = 0, output_padding: IntPerAxis = 0, groups: int = 1, dilation: IntPerAxis = 1, *,
                     precision: Optional[str] = None, strict_propagation: bool = False) -> Tensor:
    """torch.nn.functional.conv_transpose1d, computed by this library: as conv_transpose2d(), with a width alone."""
    return _convolve(1, conv_transpose1d, input, weight, bias, stride, padding, output_padding, groups, dilation, precision,
                     strict_propagation)


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, stride: IntPerAxis = 1,
                     padding: IntPerAxis = 0, output_padding: IntPerAxis = 0, groups: int = 1, dilation: IntPerAxis = 1, *,
                     precision: Optional[str] = None, strict_propagation: bool = False) -> Tensor:
    """torch.nn.functional.conv_transpose3d, computed by this library: as conv_transpose2d(), with a depth before height
    and width."""
    return _convolve(3, conv_transpose3d, input, weight, bias, stride, padding, output_padding, groups, dilation, precision,
                     strict_propagation)


def _convolve(rank: int, function: Any, input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: Any, padding: Any,
              output_padding: Any, groups: Any, dilation: Any, precision: Optional[str], strict: bool) -> Tensor:
    """`function`: the public one, which tensors with a __torch_function__ are given."""
    is_short = _short_forward is not None and not strict and not torch.compiler.is_compiling()
    attributes = stride, padding, output_padding, groups, dilation, precision
    if is_short:
        output = _short_forward(rank, input, weight, bias, *attributes, False)
        if output is not NotImplemented:
            return output
    if has_torch_function_variadic(input, weight, bias):
        return handle_torch_function(function, (input, weight, bias), input, weight, bias, stride, padding,
                                     output_padding, groups, dilation, precision=precision, strict_propagation=strict)
    plain = weight is not None and are_plain(input, weight, bias)
    if not plain:
        _require_tensors(rank, input=input, weight=weight, bias=bias)
    if strict is not False:
        strict = flag("strict_propagation", strict)
    if precision is None:
        precision = FOLLOW_PYTORCH
    elif precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}, but it must be one of {', '.join(PRECISIONS)}, or None")
    if input.dtype not in FORMATS:
        return _by_pytorch(rank, input, weight, bias, stride, padding, output_padding, groups, dilation)
    if looked_into() and torch.onnx.is_in_onnx_export():  # as a ConvTranspose node
        return _pytorchs(rank)(input, weight, bias, stride, padding, output_padding, groups, dilation)
    if input.dim() != rank + 2:
        require_input_dimensions(input.dim(), rank)
        return _convolve(rank, function, input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups,
                         dilation, None if precision == FOLLOW_PYTORCH else precision, strict).squeeze(0)
    device_type = "cuda" if input.is_cuda else "cpu"
    if not torch.is_autocast_enabled(device_type):
        _require_one_type(input=input, weight=weight, bias=bias)
    else:
        input, weight, bias = autocast(torch.get_autocast_dtype(device_type), (input,), (weight, bias))
        if is_short:
            output = _short_forward(rank, input, weight, bias, *attributes, True)
            if output is not NotImplemented:
                return output
    differentiated = input.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    return forward.dispatch(plain, differentiated, (
        input, weight, bias, attribute("stride", stride, rank), attribute("padding", padding, rank),
        attribute("output_padding", output_padding, rank), groups if type(groups) is int else integer("groups", groups),
        attribute("dilation", dilation, rank), precision + STRICT if strict else precision,
    ))


def _require_one_type(**operands: Optional[Tensor]) -> None:
    """As PyTorch does; under autocast parameters in float32 stay so."""
    there = {name: tensor for name, tensor in operands.items() if tensor is not None}
    if len({tensor.dtype for tensor in there.values()}) > 1:
        check_formats({name: (tensor.dtype, tensor.device) for name, tensor in there.items()}, mixed=False)


def activate(tensor: Tensor, activation: str, negative_slope: float) -> Tensor:
    """Applied by PyTorch, which keeps what the gradient needs; in place where there is none."""
    if activation == "none":
        return tensor
    in_place = not (torch.is_grad_enabled() and tensor.requires_grad)
    if activation == "leaky_relu":
        return nn.functional.leaky_relu(tensor, negative_slope, inplace=in_place)
    return getattr(torch, activation + "_" if in_place else activation)(tensor)

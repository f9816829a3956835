"""What there is no kernel for, by PyTorch's own operators: the four operations, below autograd.

A layer that was converted works in any format, rank and place that it worked in before. A warning says once for each
operation, rank, type and device that PyTorch computes it. Where the caller asked for what PyTorch would not keep (more
exact products than its switch allows, or strict_propagation), Unsupported is raised instead.
"""

from __future__ import annotations

import warnings
from typing import Any, Optional

import torch
from torch import Tensor

from .._library import Unsupported
from .._problem import attributes_per_axis

_told: set[tuple[Any, ...]] = set()


class Missing:
    """In place of a call: why there is none."""

    def __init__(self, refusal: Unsupported) -> None:
        self.refusal = str(refusal)

    def leave(self, operation: str, like: Tensor, kept: bool) -> None:
        """To PyTorch's operator; `kept`: it keeps what the caller asked for."""
        if not kept:
            raise Unsupported(self.refusal)
        left = (operation, like.dim() - 2, like.dtype, like.device.type)
        if left not in _told:
            _told.add(left)
            warnings.warn(f"conv_transpose has no kernel for this {operation} of rank {left[1]} in {like.dtype} on "
                          f"{left[3]}, which is left to PyTorch's own operator: {self.refusal}", stacklevel=2)


def _by_axis(rank: int, stride: Any, padding: Any, output_padding: Any, groups: Any, dilation: Any) -> tuple[Any, ...]:
    """As PyTorch's operators order them."""
    stride, padding, output_padding, dilation = attributes_per_axis(rank, stride, padding, output_padding, dilation)
    return stride, padding, dilation, True, output_padding, groups


def forward(input: Tensor, weight: Tensor, bias: Optional[Tensor], *attributes: Any) -> Tensor:
    return torch.ops.aten.convolution(input, weight, bias, *_by_axis(input.dim() - 2, *attributes))


def _gradients(output_gradient: Tensor, input: Tensor, weight: Tensor, attributes: Any, of_weight: bool) -> Any:
    return torch.ops.aten.convolution_backward(output_gradient, input, weight, None,
                                               *_by_axis(input.dim() - 2, *attributes), (not of_weight, of_weight, False))


def input_gradient(output_gradient: Tensor, weight: Tensor, shape: Any, *attributes: Any) -> Tensor:
    """`shape`: the input's, which is all that is looked at of it."""
    return _gradients(output_gradient, output_gradient.new_empty(shape), weight, attributes, False)[0]


def weight_gradient(output_gradient: Tensor, input: Tensor, shape: Any, *attributes: Any) -> Tensor:
    return _gradients(output_gradient, input, output_gradient.new_empty(shape), attributes, True)[1]


def bias_gradient(output_gradient: Tensor) -> Tensor:
    return output_gradient.sum((0, *range(2, output_gradient.dim())))

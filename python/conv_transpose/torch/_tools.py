"""What PyTorch's tools ask of an operator: FlopCounterMode's count."""

from __future__ import annotations

import logging
from typing import Any

import torch

_log = logging.getLogger("torch.utils.flop_counter")
_log.disabled = True  # it tells everyone who has no Triton
from torch.utils.flop_counter import register_flop_formula  # noqa: E402

_log.disabled = False

_operators = torch.ops.conv_transpose


def _products(input_shape: Any, weight_shape: Any) -> int:
    """As PyTorch counts: each element of the input meets a kernel for each output channel of its group; a product and
    a sum are two."""
    elements = 2
    for size in (*input_shape, *weight_shape[1:]):
        elements *= size
    return elements


@register_flop_formula(_operators.conv_transpose2d)
def _forward(input_shape: Any, weight_shape: Any, *_: Any, **__: Any) -> int:
    return _products(input_shape, weight_shape)


@register_flop_formula(_operators.input_gradient)
def _input_gradient(gradient_shape: Any, weight_shape: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return _products(out_shape, weight_shape)


@register_flop_formula(_operators.weight_gradient)
def _weight_gradient(gradient_shape: Any, input_shape: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    return _products(input_shape, out_shape)

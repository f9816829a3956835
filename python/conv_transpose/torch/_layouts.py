"""Which memory format tensors have, and which a result gets: what PyTorch's own layers give."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format


def _without_memory(shape: Any, stride: Any) -> Tensor:
    return torch.empty_strided(tuple(shape), stride, device="meta")


def result_format(*operands: Tensor) -> torch.memory_format:
    """Channels last where one operand has them so; where a tensor's strides fit both, as PyTorch takes them."""
    for operand in operands:
        if operand.dim() in (4, 5):
            suggested = suggest_memory_format(operand)
            if suggested != torch.contiguous_format:
                return suggested
    return torch.contiguous_format


def common_format(*operands: tuple[Any, Any]) -> torch.memory_format:
    """result_format() of tensors of which shape and strides are known."""
    return result_format(*(_without_memory(*operand) for operand in operands))


def dense_formats(shape: Any, stride: Any) -> tuple[torch.memory_format, ...]:
    """All in which such a tensor lies without gaps."""
    tensor = _without_memory(shape, stride)
    formats = [torch.contiguous_format]
    if tensor.dim() in (4, 5):
        formats.append(torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)
    return tuple(format for format in formats if tensor.is_contiguous(memory_format=format))


def strides_of(shape: tuple[int, ...], format: torch.memory_format) -> tuple[int, ...]:
    return torch.empty(shape, device="meta", memory_format=format).stride()

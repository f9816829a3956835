"""Turning the transposed convolutions of a model into this library's."""

from __future__ import annotations

from typing import NamedTuple, Optional

import torch
from torch import nn

from .._library import PRECISIONS
from ._calls import HALF
from ._module import ConvTranspose2d


class Conversion(NamedTuple):
    """What convert() did."""

    model: nn.Module
    converted: list[str]  # names of modules
    left: dict[str, str]  # name of a module -> why it was left as it was


def _why_left(module: nn.Module) -> Optional[str]:
    """Why a transposed convolution cannot be converted, or None."""
    if isinstance(module, nn.modules.lazy.LazyModuleMixin):
        return "its sizes are not known before its first run"
    if type(module) is not nn.ConvTranspose2d:
        return f"it is a {type(module).__name__}, a subclass with a behaviour of its own"
    if module.weight.dtype != torch.float32 and module.weight.dtype not in HALF:
        return f"its weight is {module.weight.dtype}"
    return None


def convert(model: nn.Module, *, precision: Optional[str] = None) -> Conversion:
    """Turns every nn.ConvTranspose2d of a model, itself included, into this library's, in place.

    Parameters, buffers, hooks and the state_dict stay as they are, as do references that others hold to the modules.
    """
    if precision is not None and precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}, but it must be one of {', '.join(PRECISIONS)}, or None")
    converted, left = [], {}
    for name, module in model.named_modules():
        if not isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)):
            continue
        if isinstance(module, (nn.ConvTranspose1d, nn.ConvTranspose3d)):
            left[name] = f"it is a {type(module).__name__}; this library has two-dimensional ones only"
        elif isinstance(module, ConvTranspose2d):
            continue
        elif reason := _why_left(module):
            left[name] = reason
        else:
            module.__class__ = ConvTranspose2d
            module.precision = precision
            converted.append(name)
    return Conversion(model, converted, left)

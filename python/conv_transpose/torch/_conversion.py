"""Turning the transposed convolutions of a model into this library's, and back."""

from __future__ import annotations

import types
from typing import Any, Iterator, NamedTuple, Optional

import torch
from torch import nn
from torch.nn.utils import parametrize

from .._library import PRECISIONS
from .._problem import flag
from ._module import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

_OURS: dict[type, type] = {
    nn.ConvTranspose1d: ConvTranspose1d,
    nn.ConvTranspose2d: ConvTranspose2d,
    nn.ConvTranspose3d: ConvTranspose3d,
}
_PYTORCHS = tuple(_OURS)
_FUNCTIONS = {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}


class Conversion(NamedTuple):
    """What convert() or revert() did."""

    model: nn.Module
    converted: list[str]  # names of modules
    left: dict[str, str]  # name of a module -> why it was left as it was


def _own_type(module: nn.Module) -> type:
    """What it was before its weight was parametrized (weight_norm, spectral_norm, orthogonal)."""
    return parametrize.type_before_parametrizations(module)


def _set_type(module: nn.Module, to: type) -> None:
    """A parametrized module has a class of its own, with its weight as a property, under its type."""
    if parametrize.is_parametrized(module):
        own = {name: value for name, value in vars(type(module)).items() if name not in ("__dict__", "__weakref__")}
        to = type(type(module).__name__, (to,), own)
    module.__class__ = to


def _why_left(module: nn.Module) -> Optional[str]:
    """Why a transposed convolution cannot be converted, or None."""
    if isinstance(module, nn.modules.lazy.LazyModuleMixin):
        return "its sizes are not known before its first run"
    if _own_type(module) not in _OURS:
        return f"it is a {_own_type(module).__name__}, a subclass with a behaviour of its own"
    return None


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def _hidden_calls(module: nn.Module) -> Optional[str]:
    """What convert() cannot see into, or None."""
    if isinstance(module, torch.jit.ScriptModule):
        if module.original_name in {pytorchs.__name__ for pytorchs in _PYTORCHS}:
            return "it is compiled by TorchScript; convert the model before it is scripted or traced"
        return None
    code = getattr(type(module).forward, "__code__", None)
    called = sorted(_FUNCTIONS.intersection(_names_in(code))) if code else []
    if called:
        return f"its forward() calls {called[0]} as a function; call conv_transpose.torch's there"
    return None


def _is_pytorchs(module: nn.Module) -> bool:
    """Or a subclass that keeps its way to compute."""
    return isinstance(module, _PYTORCHS)


def _require_module(function: str, model: Any) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"{function}(): model must be a torch.nn.Module, not {type(model).__name__}")


def convert(model: nn.Module, *, precision: Optional[str] = None, strict_propagation: bool = False) -> Conversion:
    """Turns every nn.ConvTranspose1d, 2d and 3d of a model, itself included, into this library's, in place.

    Parameters, parametrizations, buffers, hooks and the state_dict stay as they are, as do references that others hold to
    the modules. The result names what was left, also functional calls in a forward() and scripted modules.
    """
    if precision is not None and precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}, but it must be one of {', '.join(PRECISIONS)}, or None")
    _require_module("convert", model)
    strict_propagation = flag("strict_propagation", strict_propagation)
    converted: list[str] = []
    left: dict[str, str] = {}
    for name, module in model.named_modules():
        if isinstance(module, tuple(_OURS.values())):
            continue
        reason = _why_left(module) if _is_pytorchs(module) else _hidden_calls(module)
        if reason:
            left[name] = reason
        elif _is_pytorchs(module):
            _set_type(module, _OURS[_own_type(module)])
            module.precision, module.strict_propagation = precision, strict_propagation
            converted.append(name)
    return Conversion(model, converted, left)


def revert(model: nn.Module) -> Conversion:
    """The inverse of convert(): every layer of this library becomes PyTorch's, in place."""
    _require_module("revert", model)
    converted: list[str] = []
    left: dict[str, str] = {}
    for name, module in model.named_modules():
        if not isinstance(module, tuple(_OURS.values())):
            continue
        pytorchs = {ours: theirs for theirs, ours in _OURS.items()}.get(_own_type(module))
        if pytorchs:
            _set_type(module, pytorchs)
            for name_of_ours in ("precision", "strict_propagation"):
                module.__dict__.pop(name_of_ours, None)
            converted.append(name)
        else:
            left[name] = f"it is a {_own_type(module).__name__}, a subclass with a behaviour of its own"
    return Conversion(model, converted, left)


def _teach_fuse_modules() -> Any:
    """torch.ao.quantization.fuse_modules goes by exact types. import torch imports its table."""
    import sys

    table = sys.modules.get("torch.ao.quantization.fuser_method_mappings")
    if table is not None:
        methods = table._DEFAULT_OP_LIST_TO_FUSER_METHOD
        pytorchs = methods.get((nn.ConvTranspose2d, nn.BatchNorm2d))
        if pytorchs is not None:
            methods.setdefault((ConvTranspose2d, nn.BatchNorm2d), pytorchs)


_teach_fuse_modules()

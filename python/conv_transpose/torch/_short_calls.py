"""The short way of plain eager calls: through an extension module, where there is one and PyTorch lends tensors to C.

`python/short_calls/` has the extension. It asks what _operators.looked_into() asks, finds what to do by a call's key, and
runs it; what a key does is resolved here, once. It leaves all else to Python: what has to be converted, what something
looks into, and what is wrong. PyTorch lends tensors from 2.10 on, the extension is for CPython 3.10 and later; elsewhere,
or with CONV_TRANSPOSE_SHORT_CALLS=0 in the environment, every call goes through Python.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from .. import _library
from . import _calls, _fallback
from ._layouts import dense_formats, result_format


def _load() -> Any:
    """The extension beside the library, or None."""
    exchange = getattr(Tensor, "__dlpack_c_exchange_api__", None)
    path = os.path.join(os.path.dirname(_library.path), "_short_calls.abi3.so")
    if exchange is None or os.environ.get("CONV_TRANSPOSE_SHORT_CALLS") == "0" or not os.path.exists(path):
        return None
    if ".abi3.so" not in importlib.machinery.EXTENSION_SUFFIXES:  # without the GIL
        return None
    loader = importlib.machinery.ExtensionFileLoader("_short_calls", path)
    spec = importlib.util.spec_from_file_location("_short_calls", path, loader=loader)
    assert spec
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        _asked_of_pytorch()
    except (ImportError, AttributeError):  # another Python, or a PyTorch in which something has another name
        return None
    return module if module.lends(exchange) else None


def _asked_of_pytorch() -> tuple[Any, ...]:
    _C: Any = torch._C
    return (
        Tensor, nn.Parameter, _C._has_torch_function_variadic, _C._len_torch_dispatch_stack,
        _C._functorch.peek_interpreter_stack, forward_ad, _C._get_tracing_state, _C._autograd._profiler_enabled,
        _C._is_any_autocast_enabled, torch.is_grad_enabled, _calls._allows_tf32,
        getattr(_C, "_cuda_getDevice", _nothing), getattr(_C, "_cuda_cudaCachingAllocator_raw_alloc", _nothing),
        getattr(_C, "_cuda_cudaCachingAllocator_raw_delete", _nothing),
    )


def _nothing(*_: Any) -> None:
    """In place of what only CUDA needs."""


extension = _load()


def _empty(device_index: int) -> Any:
    """A function that makes a tensor of (shape, strides, type) on that device, which is the current one. What
    torch.compile's code calls passes by the dispatcher, which costs as much as all the rest of a call."""
    guards: Any = torch._C._dynamo.guards
    function = getattr(guards, "_empty_strided_cpu" if device_index < 0 else "_empty_strided_cuda", None)
    device = torch.device("cpu") if device_index < 0 else torch.device("cuda", device_index)
    return function or (lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device=device))


def _step(call: Any, result: str, place: int) -> Optional[tuple[Any, ...]]:
    """A call that converts nothing, as the extension takes it."""
    if isinstance(call, _fallback.Missing) or call.plan is None:
        return None
    if call.result_copy is not None or any(copy is not None for copy in call.copies):
        return None
    return (call, call.plan._handle, call.workspace_bytes, _empty(call.device_index), tuple(call.result_shape),
            call.result_stride, call.result_type, _calls.SLOT[result], place)


def _steps(device_index: int, steps: list[Optional[tuple[Any, ...]]]) -> Optional[tuple[Any, ...]]:
    return None if None in steps else (device_index, tuple(steps))


def _resolve_forward(input: Tensor, weight: Tensor, bias: Optional[Tensor], attributes: tuple[Any, ...]) -> Any:
    """What run_forward() does, as steps; None: the long way, also where there is an error to tell of."""
    try:
        call = _calls.forward_call(input, weight, bias, *attributes)
    except Exception:
        return None
    return _steps(input.get_device(), [_step(call, "output", 0)])


def _resolve_backward(gradient: Tensor, input: Tensor, weight: Tensor, needed: tuple[bool, ...],
                      attributes: tuple[Any, ...]) -> Any:
    """What _forward_backward() does; a dictionary: the memory format that the gradient has to have first."""
    layout = result_format(input, weight)
    if layout not in dense_formats(gradient.shape, gradient.stride()):
        return {"memory_format": layout}
    dtype = weight.dtype  # of the parameters
    try:
        calls = [
            needed[0] and (_calls.gradient_call("input_gradient", gradient, weight, attributes), "input_gradient", 0),
            needed[1] and (_calls.gradient_call("weight_gradient", gradient, input, attributes, dtype), "weight_gradient", 1),
            needed[2] and (_calls.bias_gradient_call(gradient, dtype), "bias_gradient", 2),
        ]
    except Exception:
        return None
    return _steps(gradient.get_device(), [_step(*call) for call in calls if call])


def connect(apply: Any, run_forward: Any, run_backward: Any) -> None:
    """Gives the extension what it asks, in the order of TorchState (python/short_calls/torch_state.h). `run_forward(input,
    weight, bias, attributes)` and `run_backward(ctx, output_gradient)` are the long ways."""
    asked = (*_asked_of_pytorch(), _calls.scratch_address, _calls.follow_threads, _library.raise_for, apply,
             _resolve_forward, _resolve_backward, run_forward, run_backward)
    plan_run = ctypes.cast(_library.library.conv_transpose_plan_run, ctypes.c_void_p).value
    extension.connect(Tensor.__dlpack_c_exchange_api__, plan_run, asked)

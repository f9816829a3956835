"""The four operations on tensors, each one call of the compiled library on the current stream; no autograd here.

All that follows from shapes, formats and devices alone is found once and kept, because a call on a tiny problem takes
about as long as finding it.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor

from .. import _library
from .._library import ARGUMENTS, Arguments, InvalidProblem, Plan
from .._problem import make_problem, output_shape, pair

_SLOT = {name: slot for slot, name in enumerate(ARGUMENTS)}
HALF = (torch.float16, torch.bfloat16)
FORMATS = (torch.float32, *HALF)
FOLLOW_PYTORCH = "auto"


class _Call(NamedTuple):
    """All that depends on shapes, formats and devices alone, found once for each combination. In what it is found by, a
    device is its index, -1 for the CPU, which PyTorch tells faster than a torch.device."""

    plan: Optional[Plan]  # None where there is nothing to compute
    result_shape: tuple[int, ...]
    convert: bool  # through float32
    device_index: int  # -1: CPU
    workspace_bytes: int


def _precision(precision: str, tensor: Tensor) -> str:
    """What runs, where the caller left it to PyTorch's switch. Products of float16 or bfloat16 numbers are the same
    in tf32, which has no fewer bits than they."""
    if precision != FOLLOW_PYTORCH:
        return precision
    if not tensor.is_cuda:
        return "float32"
    return "tf32" if tensor.dtype in HALF or _allows_tf32() else "float32"


def _allows_tf32() -> bool:
    """PyTorch's switch for convolutions: fp32_precision where there is one, since then the older one may raise."""
    if _get_fp32_precision is None:
        return torch._C._get_cudnn_allow_tf32()
    return _get_fp32_precision("cuda", "conv") == "tf32"


_get_fp32_precision = getattr(torch._C, "_get_fp32_precision_getter", None)


def _place(device: Union[int, torch.device]) -> str:
    return str(device) if isinstance(device, torch.device) else "cpu" if device < 0 else f"cuda:{device}"


def check_formats(tensors: dict[str, tuple[torch.dtype, Any]]) -> None:
    """Of tensors by name; a device is a torch.device, or what get_device() gives."""
    (first, (dtype, device)), *others = tensors.items()
    if dtype not in FORMATS:
        raise InvalidProblem(f"{first} is {dtype}, but it must be torch.float32, torch.float16 or torch.bfloat16")
    for name, (other_dtype, other_device) in others:
        if other_dtype != dtype:
            raise InvalidProblem(f"{name} is {other_dtype}, but it must be {dtype}, as {first} is")
        if other_device != device:
            raise InvalidProblem(f"{name} is on {_place(other_device)}, but it must be on {_place(device)}, as {first} "
                                 "is")


def _make_call(problem: dict[str, Any], index: int, dtype: torch.dtype, result_shape: tuple[int, ...],
               **options: Any) -> _Call:
    with torch.cuda.device(index):  # -1 does nothing
        plan = Plan(problem, device="cpu" if index < 0 else "cuda", **options)
    empty = problem["batch"] == 0
    return _Call(None if empty else plan, result_shape, dtype in HALF, index, plan.workspace_bytes)


@functools.lru_cache(maxsize=4096)
def _forward_call(input_shape, input_dtype, input_device, weight_shape, weight_dtype, weight_device, bias_shape,
                  bias_dtype, bias_device, stride, padding, output_padding, groups, dilation, precision) -> _Call:
    problem = make_problem(input_shape, weight_shape, bias_shape, stride, padding, output_padding, groups, dilation)
    formats = {"input": (input_dtype, input_device), "weight": (weight_dtype, weight_device)}
    if bias_shape is not None:
        formats["bias"] = (bias_dtype, bias_device)
    check_formats(formats)
    return _make_call(problem, input_device, input_dtype, output_shape(problem), precision=precision,
                      bias=bias_shape is not None)


def _attribute_pairs(stride, padding, output_padding, dilation) -> Any:
    """(stride, padding, output padding, dilation) of each axis."""
    return zip(pair("stride", stride), pair("padding", padding), pair("output_padding", output_padding),
               pair("dilation", dilation))


def gradient_input_shape(gradient_shape, weight_shape, stride, padding, output_padding, groups,
                         dilation) -> tuple[int, ...]:
    """The input that has an output of this shape."""
    axes = zip(gradient_shape[2:], weight_shape[2:], _attribute_pairs(stride, padding, output_padding, dilation))
    return (gradient_shape[0], weight_shape[0],
            *((size - 1 - extra + 2 * p - d * (kernel - 1)) // s + 1 for size, kernel, (s, p, extra, d) in axes))


def gradient_weight_shape(gradient_shape, input_shape, stride, padding, output_padding, groups,
                          dilation) -> tuple[int, ...]:
    """The weight with which this input has an output of this shape."""
    axes = zip(gradient_shape[2:], input_shape[2:], _attribute_pairs(stride, padding, output_padding, dilation))
    return (input_shape[1], gradient_shape[1] // groups,
            *((size - 1 - extra + 2 * p - (from_size - 1) * s) // d + 1
              for size, from_size, (s, p, extra, d) in axes))


@functools.lru_cache(maxsize=4096)
def _gradient_call(operation, gradient_shape, gradient_dtype, gradient_device, other_shape, other_dtype, other_device,
                   precision, *attributes) -> _Call:
    """For the input gradient (of output gradient and weight) and the weight gradient (of output gradient and input)."""
    check_formats({"output gradient": (gradient_dtype, gradient_device),
                   "weight" if operation == "input_gradient" else "input": (other_dtype, other_device)})
    if operation == "input_gradient":
        result_shape = input_shape = gradient_input_shape(gradient_shape, other_shape, *attributes)
        weight_shape = other_shape
    else:
        result_shape = weight_shape = gradient_weight_shape(gradient_shape, other_shape, *attributes)
        input_shape = other_shape
    problem = make_problem(input_shape, weight_shape, None, *attributes)
    if tuple(gradient_shape) != output_shape(problem):
        raise InvalidProblem(
            f"output gradient has shape {tuple(gradient_shape)}, but it must be {output_shape(problem)}")
    return _make_call(problem, gradient_device, gradient_dtype, result_shape, operation=operation, precision=precision)


@functools.lru_cache(maxsize=4096)
def _bias_gradient_call(gradient_shape, dtype, device) -> _Call:
    batch, channels, *size = gradient_shape
    problem = make_problem((batch, 1, *size), (1, channels, 1, 1), None, 1, 0, 0, 1, 1)
    check_formats({"output gradient": (dtype, device)})
    return _make_call(problem, device, dtype, (channels,), operation="bias_gradient")


class _Scratch(threading.local):
    """CPU workspace of a thread, kept between calls: there the work is done when the call returns."""

    def __init__(self) -> None:
        self.bytes, self.address = 0, 0

    def address_of(self, bytes: int) -> int:
        if bytes > self.bytes:
            self.memory = torch.empty(bytes, dtype=torch.uint8, device="cpu")  # whatever the default is
            self.bytes, self.address = bytes, self.memory.data_ptr()
        return self.address


_scratch = _Scratch()

# Private, but five times faster than torch.cuda.current_stream(index).cuda_stream, and what torch.compile's code calls.
_stream_handle = torch._C._cuda_getCurrentRawStream if torch.backends.cuda.is_built() else None


def _refuse_without_memory(slot: int, tensor: Tensor, like: Tensor) -> int:
    if tensor.device != like.device:
        raise InvalidProblem(f"{ARGUMENTS[slot]} is on {tensor.device}, but it must be on {like.device}")
    return 0


def _run_on_cuda(call: _Call, arguments: Any, stream: int) -> None:
    """Workspace comes from PyTorch's allocator, in graphs from their pool, but without a tensor around it, which saves
    half a microsecond. It may be given back at once: the allocator hands it out again in the order of the stream."""
    if not call.workspace_bytes:
        call.plan.run(arguments, None, stream)
        return
    workspace = torch._C._cuda_cudaCachingAllocator_raw_alloc(call.workspace_bytes, stream)
    try:
        call.plan.run(arguments, workspace, stream)
    finally:
        torch._C._cuda_cudaCachingAllocator_raw_delete(workspace)


def _execute(call: _Call, result_slot: int, operands: tuple[tuple[int, Optional[Tensor]], ...], like: Tensor) -> Tensor:
    """Runs on the current stream; operands and result lie in `Arguments` at the slots that are given with them."""
    if call.plan is None:
        return like.new_zeros(call.result_shape)
    index = call.device_index
    if index >= 0 and index != torch._C._cuda_getDevice():
        with torch.cuda.device(index):
            return _execute(call, result_slot, operands, like)
    result = like.new_empty(call.result_shape, dtype=torch.float32) if call.convert else like.new_empty(call.result_shape)
    arguments = Arguments()
    arguments[result_slot] = result.data_ptr()
    copies = []  # kept until the launch; afterwards PyTorch's allocator reuses their memory in the order of the stream
    for slot, tensor in operands:
        if tensor is not None:
            if call.convert or not tensor.is_contiguous() or tensor.is_neg():
                tensor = tensor.resolve_neg().contiguous().float()
                copies.append(tensor)
            arguments[slot] = tensor.data_ptr() or _refuse_without_memory(slot, tensor, like)
    if index < 0:
        if torch.get_num_threads() != _library.threads and not _library.threads_are_chosen:
            _library.use_threads(torch.get_num_threads())  # as many as PyTorch's own operators use
        call.plan.run(arguments, _scratch.address_of(call.workspace_bytes), 0)
    else:
        _run_on_cuda(call, arguments, _stream_handle(index))
    return result.to(like.dtype) if call.convert else result


def run_forward(input, weight, bias, stride, padding, output_padding, groups, dilation, precision) -> Tensor:
    precision = _precision(precision, input)
    if bias is None:
        call = _forward_call(input.shape, input.dtype, input.get_device(), weight.shape, weight.dtype,
                             weight.get_device(), None, None, None, stride, padding, output_padding, groups, dilation,
                             precision)
    else:
        call = _forward_call(input.shape, input.dtype, input.get_device(), weight.shape, weight.dtype,
                             weight.get_device(), bias.shape, bias.dtype, bias.get_device(), stride, padding,
                             output_padding, groups, dilation, precision)
    return _execute(call, _SLOT["output"], ((0, input), (1, weight), (2, bias)), input)


def _run_gradient(operation: str, other_name: str, output_gradient: Tensor, other: Tensor, attributes: Any) -> Tensor:
    *attributes, precision = attributes
    call = _gradient_call(operation, output_gradient.shape, output_gradient.dtype, output_gradient.get_device(),
                          other.shape, other.dtype, other.get_device(), _precision(precision, output_gradient),
                          *attributes)
    return _execute(call, _SLOT[operation], ((_SLOT["output_gradient"], output_gradient), (_SLOT[other_name], other)),
                    output_gradient)


def run_input_gradient(output_gradient: Tensor, weight: Tensor, *attributes: Any) -> Tensor:
    return _run_gradient("input_gradient", "weight", output_gradient, weight, attributes)


def run_weight_gradient(output_gradient: Tensor, input: Tensor, *attributes: Any) -> Tensor:
    return _run_gradient("weight_gradient", "input", output_gradient, input, attributes)


def run_bias_gradient(output_gradient) -> Tensor:
    call = _bias_gradient_call(output_gradient.shape, output_gradient.dtype, output_gradient.get_device())
    return _execute(call, _SLOT["bias_gradient"], ((_SLOT["output_gradient"], output_gradient),), output_gradient)

"""The four operations on tensors, each one call of the compiled library on the current stream; no autograd here.

All that follows from shapes, formats and devices alone is found once and kept, because a call on a tiny problem takes
about as long as finding it.
"""

from __future__ import annotations

import functools
import math
import threading
from typing import Any, Iterator, NamedTuple, Optional, Union

import torch
from torch import Tensor

from .. import _library
from .._library import ARGUMENTS, Arguments, InvalidProblem, Plan, Unsupported
from .._problem import attributes_per_axis, make_problem, output_shape
from . import _fallback, _measuring
from ._layouts import common_format, dense_formats, strides_of

SLOT = {name: slot for slot, name in enumerate(ARGUMENTS)}
_INPUT, _WEIGHT, _BIAS = SLOT["input"], SLOT["weight"], SLOT["bias"]
HALF = (torch.float16, torch.bfloat16)
FORMATS = (torch.float32, *HALF)
FOLLOW_PYTORCH = "auto"
STRICT = "+strict"  # after a precision: with PlanOptions::strict_propagation


class _Signature(NamedTuple):
    """All of a tensor that a call is found by. A device is its index, -1 for the CPU, which PyTorch tells faster than a
    torch.device."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: int


_Key = tuple[tuple[int, ...], tuple[int, ...], torch.dtype, int]  # a _Signature's fields, which are faster to make


def _signature(tensor: Tensor) -> _Key:
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.get_device()


# What a tensor is before or after a call: its type, and its memory format.
_TensorFormat = tuple[torch.dtype, torch.memory_format]


class _Call(NamedTuple):
    """All that depends on shapes, strides, formats and devices alone, found once for each combination."""

    plan: Any  # a Plan; None where there is nothing to compute
    device_index: int  # -1: CPU
    workspace_bytes: int
    copies: tuple[Optional[_TensorFormat], ...]  # what each operand becomes first; None: it is read as it lies
    result_shape: tuple[int, ...]
    result_stride: tuple[int, ...]
    result_type: torch.dtype
    result_copy: Optional[_TensorFormat]  # what the result becomes at last
    result_format: torch.memory_format


def _precision(precision: str, tensor: Tensor) -> str:
    """What runs, where the caller left it to PyTorch's switch. Products of float16 or bfloat16 numbers are the same
    in tf32, which has no fewer bits than they, as in tf32x3."""
    if precision.endswith(STRICT):
        return _precision(precision[: -len(STRICT)], tensor) + STRICT
    if precision == "tf32x3" and tensor.dtype in HALF:
        return "tf32"
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


def check_formats(tensors: dict[str, tuple[torch.dtype, Any]], mixed: bool = True) -> None:
    """Of tensors by name; a device is a torch.device, or what get_device() gives. `mixed`: weight and bias may be float32
    beside a picture of 16 bits."""
    (first, (dtype, device)), *others = tensors.items()
    if dtype not in FORMATS:
        raise InvalidProblem(f"{first} is {dtype}, but it must be torch.float32, torch.float16 or torch.bfloat16")
    for name, (other_dtype, other_device) in others:
        like = "weight" if name == "bias" and "weight" in tensors else first
        may_be_float32 = mixed and name == "weight" and other_dtype == torch.float32
        if other_dtype != tensors[like][0] and not may_be_float32:
            raise InvalidProblem(f"{name} is {other_dtype}, but it must be {tensors[like][0]}, as {like} is")
        if other_device != device:
            raise InvalidProblem(f"{name} is on {_place(other_device)}, but it must be on {_place(device)}, as {first} "
                                 "is")


_FIRST = torch.contiguous_format
_Formats = tuple[_TensorFormat, ...]  # of operands and result


def _ways(operands: list[_Signature], result_type: torch.dtype, wanted: torch.memory_format) -> Iterator[_Formats]:
    """How an operation may be computed, best first: as the operands lie; with none but layouts converted; through
    float32. One layout for all but the weight, which is small, is tried before one for all."""
    types = [operand.dtype for operand in operands]
    last = torch.channels_last if len(operands[0].shape) == 4 else torch.channels_last_3d
    dense = [dense_formats(operand.shape, operand.stride) for operand in operands]
    as_they_lie = tuple(formats[0] if formats and wanted not in formats else wanted for formats in dense)
    yield (*zip(types, as_they_lie), (result_type, wanted))
    for layout in dict.fromkeys((wanted, last, _FIRST)):
        if layout == _FIRST or len(operands[0].shape) > 3:
            yield ((types[0], layout), *zip(types[1:], as_they_lie[1:]), (result_type, layout))
            yield tuple((dtype, layout) for dtype in (*types, result_type))
    yield tuple((torch.float32, _FIRST) for _ in range(len(operands) + 1))


def _library_format(format: _TensorFormat) -> _library.Format:
    dtype, layout = format
    return str(dtype).removeprefix("torch."), "channels_first" if layout == _FIRST else "channels_last"


def _library_formats(roles: tuple[str, ...], way: _Formats) -> dict[str, Any]:
    return dict(zip(roles, map(_library_format, way)))


# Products of a problem from which on copies of its tensors take less time than the kernels of last resort.
_WORTH_COPIES = 1 << 24


def _is_worth_copies(plan: Plan, problem: dict[str, Any]) -> bool:
    """Whether the plan's kernel is slow as it takes any tensors, and there is much to compute."""
    products = problem["batch"] * problem["in_channels"] * problem["out_channels"] // problem["groups"]
    return plan.is_last_resort and products * math.prod((*problem["input"], *problem["kernel"])) > _WORTH_COPIES


def _plan(problem: dict[str, Any], roles: tuple[str, ...], ways: Iterator[_Formats], options: Any) -> tuple[Plan, _Formats]:
    """The first way that the library has fast kernels for, else the first that it has any for, and its formats; `roles`
    says whose they are."""
    refusal: Optional[Unsupported] = None
    slow: Optional[tuple[Plan, _Formats]] = None
    for way in dict.fromkeys(ways):
        try:
            plan = Plan(problem, **options, **_library_formats(roles, way))
        except Unsupported as error:
            refusal = error
            continue
        if not _is_worth_copies(plan, problem):
            return plan, way
        slow = slow or (plan, way)
    if slow:
        return slow
    assert refusal
    raise refusal


def _measured(plan: Plan, problem: dict[str, Any], options: dict[str, Any], roles: tuple[str, ...], way: _Formats,
              shapes: list[tuple[int, ...]]) -> Plan:
    """The plan by the fastest kernel; `roles`, `way` and `shapes` are those of operands and result."""
    operation = options.get("operation", "forward")
    names = [role if operation == "forward" or role != "output" else "output_gradient" for role in roles[:-1]]
    names.append("output" if operation == "forward" else operation)
    bytes_of = {name: math.prod(shape) * dtype.itemsize for name, shape, (dtype, _) in zip(names, shapes, way)}
    if options["bias"]:
        bytes_of["bias"] = problem["out_channels"] * way[1][0].itemsize  # the weight's
    formats = _library_formats(roles, way)
    return _measuring.fastest(plan, lambda kernel: Plan(problem, **options, **formats, kernel=kernel), bytes_of)


_CallOrMissing = Union[_Call, _fallback.Missing]


def _kept_by_pytorch(precision: str, tensor: Tensor) -> bool:
    """Whether PyTorch's own operator computes at least as exactly, as its switch is now."""
    if precision.endswith(STRICT):
        return False
    return precision == "tf32" or not tensor.is_cuda or tensor.dtype in HALF or not _allows_tf32()


def _make_call(problem: dict[str, Any], operands: dict[str, _Signature], result: str, result_shape: tuple[int, ...],
               bias: Optional[_Signature] = None, precision: str = "float32", dtype: Optional[torch.dtype] = None,
               **options: Any) -> _CallOrMissing:
    """`operands` by what they are in a problem (input, weight or output, or a gradient of it), as is `result`, which has `dtype`,
    or that of the first operand."""
    options = dict(options, precision=precision.removesuffix(STRICT), strict_propagation=precision.endswith(STRICT))
    signatures = list(operands.values())
    dtype, index = dtype or signatures[0].dtype, signatures[0].device
    wanted = common_format(*((operand.shape, operand.stride) for operand in signatures))
    options.update(device="cpu" if index < 0 else "cuda", bias=bias is not None)
    try:
        with torch.cuda.device(index):  # -1 does nothing
            plan, way = _plan(problem, (*operands, result), _ways(signatures, dtype, wanted), options)
            if problem["batch"] and _measuring.is_wanted(index):
                shapes = [*(operand.shape for operand in signatures), result_shape]
                plan = _measured(plan, problem, options, (*operands, result), way, shapes)
    except Unsupported as refusal:
        return _fallback.Missing(refusal)
    *formats, (result_type, result_layout) = way
    copies = [None if own == operand.dtype and layout in dense_formats(operand.shape, operand.stride) else (own, layout)
              for operand, (own, layout) in zip(signatures, formats)]
    if bias is not None:
        own = formats[1][0]  # the weight's
        copies.append(None if own == bias.dtype and _FIRST in dense_formats(bias.shape, bias.stride) else (own, _FIRST))
    if len(result_shape) == 1:  # a bias
        wanted = result_layout = _FIRST
    is_wanted = (result_type, result_layout) == (dtype, wanted)
    return _Call(None if problem["batch"] == 0 else plan, index, plan.workspace_bytes, tuple(copies), result_shape,
                 strides_of(result_shape, result_layout), result_type, None if is_wanted else (dtype, wanted), wanted)


@functools.lru_cache(maxsize=4096)
def _forward_call(input_key: _Key, weight_key: _Key, bias_key: Optional[_Key], stride: Any, padding: Any,
                  output_padding: Any, groups: Any, dilation: Any, precision: str) -> _CallOrMissing:
    input, weight = _Signature(*input_key), _Signature(*weight_key)
    bias = None if bias_key is None else _Signature(*bias_key)
    problem = make_problem(input.shape, weight.shape, None if bias is None else bias.shape, stride, padding,
                           output_padding, groups, dilation)
    operands = {"input": input, "weight": weight}
    _check_signatures(operands if bias is None else {**operands, "bias": bias})
    return _make_call(problem, operands, "output", output_shape(problem), bias, precision=precision)


def _check_signatures(operands: dict[str, _Signature]) -> None:
    check_formats({name: (operand.dtype, operand.device) for name, operand in operands.items()})


def gradient_input_shape(gradient_shape, weight_shape, stride, padding, output_padding, groups,
                         dilation) -> tuple[int, ...]:
    """The input that has an output of this shape."""
    attributes = attributes_per_axis(len(gradient_shape) - 2, stride, padding, output_padding, dilation)
    return (gradient_shape[0], weight_shape[0],
            *((size - 1 - extra + 2 * p - d * (kernel - 1)) // s + 1
              for size, kernel, s, p, extra, d in zip(gradient_shape[2:], weight_shape[2:], *attributes)))


def gradient_weight_shape(gradient_shape, input_shape, stride, padding, output_padding, groups,
                          dilation) -> tuple[int, ...]:
    """The weight with which this input has an output of this shape."""
    attributes = attributes_per_axis(len(gradient_shape) - 2, stride, padding, output_padding, dilation)
    return (input_shape[1], gradient_shape[1] // groups,
            *((size - 1 - extra + 2 * p - (from_size - 1) * s) // d + 1
              for size, from_size, s, p, extra, d in zip(gradient_shape[2:], input_shape[2:], *attributes)))


@functools.lru_cache(maxsize=4096)
def _gradient_call(operation: str, gradient_key: _Key, other_key: _Key, precision: str, dtype: Optional[torch.dtype],
                   *attributes: Any) -> _CallOrMissing:
    """For the input gradient (of output gradient and weight) and the weight gradient (of output gradient and input)."""
    gradient, other = _Signature(*gradient_key), _Signature(*other_key)
    of_input = operation == "input_gradient"
    other_name, result_name = ("weight", "input") if of_input else ("input", "weight")
    _check_signatures({"output gradient": gradient, other_name: other})
    if of_input:
        result_shape = input_shape = gradient_input_shape(gradient.shape, other.shape, *attributes)
        weight_shape = other.shape
    else:
        result_shape = weight_shape = gradient_weight_shape(gradient.shape, other.shape, *attributes)
        input_shape = other.shape
    problem = make_problem(input_shape, weight_shape, None, *attributes)
    if tuple(gradient.shape) != output_shape(problem):
        raise InvalidProblem(
            f"output gradient has shape {tuple(gradient.shape)}, but it must be {output_shape(problem)}")
    return _make_call(problem, {"output": gradient, other_name: other}, result_name, result_shape, operation=operation,
                      precision=precision, dtype=dtype)


@functools.lru_cache(maxsize=4096)
def _bias_gradient_call(gradient_key: _Key, dtype: Optional[torch.dtype]) -> _CallOrMissing:
    gradient = _Signature(*gradient_key)
    batch, channels, *size = gradient.shape
    problem = make_problem((batch, 1, *size), (1, channels, *(1 for _ in size)), None, 1, 0, 0, 1, 1)
    _check_signatures({"output gradient": gradient})
    return _make_call(problem, {"output": gradient}, "weight", (channels,), operation="bias_gradient", dtype=dtype)


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


def scratch_address(bytes: int) -> int:
    return _scratch.address_of(bytes)


def follow_threads() -> None:
    """The library uses as many threads as PyTorch's own operators, unless the caller chose."""
    if torch.get_num_threads() != _library.threads and not _library.threads_are_chosen:
        _library.use_threads(torch.get_num_threads())


# Private, but five times faster than torch.cuda.current_stream(index).cuda_stream, and what torch.compile's code calls.
_stream_handle: Any = torch._C._cuda_getCurrentRawStream if torch.backends.cuda.is_built() else None


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


def _lies_askew(tensor: Tensor) -> bool:
    """Kernels for 16 bits, for channels_last and for gradients in TF32 read from multiples of 16 bytes."""
    return tensor.is_cuda and tensor.data_ptr() % 16 != 0


def _execute(call: _Call, result_slot: int, operands: tuple[tuple[int, Tensor], ...], like: Tensor) -> Tensor:
    """Runs on the current stream; operands and result lie in `Arguments` at the slots that are given with them."""
    if call.plan is None:
        dtype = call.result_copy[0] if call.result_copy else call.result_type
        return like.new_zeros(call.result_shape, dtype=dtype).contiguous(memory_format=call.result_format)
    index = call.device_index
    if index >= 0 and index != torch._C._cuda_getDevice():
        with torch.cuda.device(index):
            return _execute(call, result_slot, operands, like)
    result = like.new_empty_strided(call.result_shape, call.result_stride, dtype=call.result_type)
    arguments = Arguments()
    arguments[result_slot] = result.data_ptr()
    copies = []  # kept until the launch; afterwards PyTorch's allocator reuses their memory in the order of the stream
    for (slot, tensor), copy in zip(operands, call.copies):
        askew = _lies_askew(tensor)
        if copy is not None or askew or tensor.is_neg():
            tensor = tensor.resolve_neg()  # keeps a dense tensor's order
            if copy is not None:
                tensor = tensor.to(copy[0], copy=True, memory_format=copy[1])
            elif askew:
                tensor = tensor.clone()
            copies.append(tensor)
        arguments[slot] = tensor.data_ptr() or _refuse_without_memory(slot, tensor, like)
    if index < 0:
        follow_threads()
        call.plan.run(arguments, _scratch.address_of(call.workspace_bytes), 0)
    else:
        _run_on_cuda(call, arguments, _stream_handle(index))
    if call.result_copy is None:
        return result
    dtype, layout = call.result_copy
    return result.to(dtype, copy=True, memory_format=layout)


def forward_call(input, weight, bias, stride, padding, output_padding, groups, dilation, precision) -> _CallOrMissing:
    return _forward_call(_signature(input), _signature(weight), None if bias is None else _signature(bias), stride,
                         padding, output_padding, groups, dilation, _precision(precision, input))


def gradient_call(operation: str, output_gradient: Tensor, other: Tensor, attributes: Any,
                  dtype: Optional[torch.dtype] = None) -> _CallOrMissing:
    *attributes, precision = attributes
    return _gradient_call(operation, _signature(output_gradient), _signature(other),
                          _precision(precision, output_gradient), dtype or output_gradient.dtype, *attributes)


def bias_gradient_call(output_gradient: Tensor, dtype: Optional[torch.dtype]) -> _CallOrMissing:
    return _bias_gradient_call(_signature(output_gradient), dtype or output_gradient.dtype)


def run_forward(input, weight, bias, *attributes) -> Tensor:
    call = forward_call(input, weight, bias, *attributes)
    if isinstance(call, _fallback.Missing):
        *others, precision = attributes
        call.leave("forward operation", input, _kept_by_pytorch(_precision(precision, input), input))
        weight, bias = weight.to(input.dtype), None if bias is None else bias.to(input.dtype)
        return _fallback.forward(input, weight, bias, *others)
    operands: Any = ((_INPUT, input), (_WEIGHT, weight))
    if bias is not None:
        operands += ((_BIAS, bias),)
    return _execute(call, SLOT["output"], operands, input)


def _run_gradient(operation: str, other_name: str, output_gradient: Tensor, other: Tensor, attributes: Any,
                  dtype: Optional[torch.dtype] = None) -> Tensor:
    call = gradient_call(operation, output_gradient, other, attributes, dtype)
    if isinstance(call, _fallback.Missing):
        *others, precision = attributes
        call.leave(operation.replace("_", " "), output_gradient,
                   _kept_by_pytorch(_precision(precision, output_gradient), output_gradient))
        of_input = operation == "input_gradient"
        shape = (gradient_input_shape if of_input else gradient_weight_shape)(output_gradient.shape, other.shape, *others)
        gradient = getattr(_fallback, operation)(output_gradient, other.to(output_gradient.dtype), shape, *others)
        return gradient.to(dtype or gradient.dtype)
    return _execute(call, SLOT[operation], ((SLOT["output_gradient"], output_gradient), (SLOT[other_name], other)),
                    output_gradient)


def run_input_gradient(output_gradient: Tensor, weight: Tensor, *attributes: Any) -> Tensor:
    return _run_gradient("input_gradient", "weight", output_gradient, weight, attributes)


def run_weight_gradient(output_gradient: Tensor, input: Tensor, stride: Any, padding: Any, output_padding: Any, groups: Any,
                        dilation: Any, precision: str, dtype: Optional[torch.dtype] = None) -> Tensor:
    attributes = stride, padding, output_padding, groups, dilation, precision
    return _run_gradient("weight_gradient", "input", output_gradient, input, attributes, dtype)


def run_bias_gradient(output_gradient: Tensor, dtype: Optional[torch.dtype] = None) -> Tensor:
    call = bias_gradient_call(output_gradient, dtype)
    if isinstance(call, _fallback.Missing):
        call.leave("bias gradient", output_gradient, True)
        return _fallback.bias_gradient(output_gradient).to(dtype or output_gradient.dtype)
    return _execute(call, SLOT["bias_gradient"], ((SLOT["output_gradient"], output_gradient),), output_gradient)

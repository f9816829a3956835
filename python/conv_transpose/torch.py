"""Transposed convolutions for PyTorch: a function, a module and a converter that train.

    import conv_transpose.torch as ct
    output = ct.conv_transpose2d(input, weight, bias, stride=2, padding=1)   # as torch.nn.functional's
    layer = ct.ConvTranspose2d(64, 3, 4, stride=2, padding=1)                # as torch.nn's
    ct.convert(model)                                                       # every nn.ConvTranspose2d of a model

They work on CPU and CUDA, on the current stream, without waiting for the GPU; under autograd (also twice), autocast,
torch.compile, CUDA graphs and DistributedDataParallel. Before a CUDA graph is captured, run the same problem once, as
for PyTorch's own layers. Results are bitwise repeatable, gradients included.

Formats: float32 is computed as it is. float16 and bfloat16 are computed through float32: converted, computed, rounded
once. float64 and complex are refused, since the result would be less exact than its format says. Inputs may be
noncontiguous, expanded or channels_last; they are brought into contiguous order first, and outputs are contiguous.

Precision: None follows torch.backends.cudnn.allow_tf32, as PyTorch's own layers do; "float32", "tf32" and "tf32x3" ask
for one. It is a permission: where there is no tensor-core kernel for it, float32 runs.

How a call runs: work of torch.library's custom operators costs 10 us a call, 25 us with autograd; PyTorch's own
conv_transpose2d takes 7 us on a tiny problem. So plain eager calls go from here to the compiled library, with autograd
through a torch.autograd.Function; under anything that looks inside (torch.compile, export, modes, tensor subclasses)
the operators torch.ops.conv_transpose.* are called.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from ._library import ARGUMENTS, Arguments, InvalidProblem, PRECISIONS, Plan
from ._problem import IntOrPair, make_problem, output_shape, pair, require_input_dimensions

__all__ = ["ConvTranspose2d", "Conversion", "conv_transpose2d", "convert"]

_SLOT = {name: slot for slot, name in enumerate(ARGUMENTS)}
_HALF = (torch.float16, torch.bfloat16)
_FOLLOW_PYTORCH = "auto"

# ---------------------------------------------------------------- the four operations, run by the compiled library


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
    if precision != _FOLLOW_PYTORCH:
        return precision
    if not tensor.is_cuda:
        return "float32"
    return "tf32" if tensor.dtype in _HALF or torch._C._get_cudnn_allow_tf32() else "float32"


def _check_formats(tensors: dict[str, tuple[torch.dtype, int]]) -> None:
    (first, (dtype, device)), *others = tensors.items()
    if dtype != torch.float32 and dtype not in _HALF:
        raise InvalidProblem(f"{first} is {dtype}, but it must be torch.float32, torch.float16 or torch.bfloat16")
    for name, (other_dtype, other_device) in others:
        if other_dtype != dtype:
            raise InvalidProblem(f"{name} is {other_dtype}, but it must be {dtype}, as {first} is")
        if other_device != device:
            where, other = ("cpu" if index < 0 else f"cuda:{index}" for index in (device, other_device))
            raise InvalidProblem(f"{name} is on {other}, but it must be on {where}, as {first} is")


def _make_call(problem: dict[str, Any], index: int, dtype: torch.dtype, result_shape: tuple[int, ...],
               **options: Any) -> _Call:
    with torch.cuda.device(index):  # -1 does nothing
        plan = Plan(problem, device="cpu" if index < 0 else "cuda", **options)
    empty = problem["batch"] == 0
    return _Call(None if empty else plan, result_shape, dtype in _HALF, index, plan.workspace_bytes)


@functools.lru_cache(maxsize=4096)
def _forward_call(input_shape, input_dtype, input_device, weight_shape, weight_dtype, weight_device, bias_shape,
                  bias_dtype, bias_device, stride, padding, output_padding, groups, dilation, precision) -> _Call:
    problem = make_problem(input_shape, weight_shape, bias_shape, stride, padding, output_padding, groups, dilation)
    formats = {"input": (input_dtype, input_device), "weight": (weight_dtype, weight_device)}
    if bias_shape is not None:
        formats["bias"] = (bias_dtype, bias_device)
    _check_formats(formats)
    return _make_call(problem, input_device, input_dtype, output_shape(problem), precision=precision,
                      bias=bias_shape is not None)


@functools.lru_cache(maxsize=4096)
def _gradient_call(operation, input_shape, weight_shape, first_dtype, first_device, second_dtype, second_device,
                   gradient_shape, stride, padding, output_padding, groups, dilation, precision) -> _Call:
    """For the input gradient (of output gradient and weight) and the weight gradient (of output gradient and input)."""
    problem = make_problem(input_shape, weight_shape, None, stride, padding, output_padding, groups, dilation)
    _check_formats({"output gradient": (first_dtype, first_device), "other operand": (second_dtype, second_device)})
    if gradient_shape != output_shape(problem):
        raise InvalidProblem(f"output gradient has shape {tuple(gradient_shape)}, but it must be {output_shape(problem)}")
    result_shape = input_shape if operation == "input_gradient" else weight_shape
    return _make_call(problem, first_device, first_dtype, result_shape, operation=operation, precision=precision)


@functools.lru_cache(maxsize=4096)
def _bias_gradient_call(gradient_shape, dtype, device) -> _Call:
    batch, channels, *size = gradient_shape
    problem = make_problem((batch, 1, *size), (1, channels, 1, 1), None, 1, 0, 0, 1, 1)
    _check_formats({"output gradient": (dtype, device)})
    return _make_call(problem, device, dtype, (channels,), operation="bias_gradient")


class _Scratch(threading.local):
    """CPU workspace of a thread, kept between calls: there the work is done when the call returns."""

    def __init__(self) -> None:
        self.bytes, self.address = 0, 0

    def address_of(self, bytes: int) -> int:
        if bytes > self.bytes:
            self.memory = torch.empty(bytes, dtype=torch.uint8)
            self.bytes, self.address = bytes, self.memory.data_ptr()
        return self.address


_scratch = _Scratch()

# Private, but five times faster than torch.cuda.current_stream(index).cuda_stream, and what torch.compile's code calls.
_stream_handle = torch._C._cuda_getCurrentRawStream if torch.backends.cuda.is_built() else None


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
            if call.convert or not tensor.is_contiguous():
                tensor = tensor.resolve_neg().contiguous().float()
                copies.append(tensor)
            arguments[slot] = tensor.data_ptr()
    if index < 0:
        call.plan.run(arguments, _scratch.address_of(call.workspace_bytes), 0)
    else:
        _run_on_cuda(call, arguments, _stream_handle(index))
    return result.to(like.dtype) if call.convert else result


def _run_forward(input, weight, bias, stride, padding, output_padding, groups, dilation, precision) -> Tensor:
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


def _run_input_gradient(output_gradient, weight, input_size, stride, padding, output_padding, groups, dilation,
                        precision) -> Tensor:
    call = _gradient_call("input_gradient", tuple(input_size), weight.shape, output_gradient.dtype,
                          output_gradient.get_device(), weight.dtype, weight.get_device(), output_gradient.shape, stride, padding,
                          output_padding, groups, dilation, _precision(precision, output_gradient))
    return _execute(call, _SLOT["input_gradient"], ((_SLOT["output_gradient"], output_gradient), (1, weight)),
                    output_gradient)


def _run_weight_gradient(output_gradient, input, weight_size, stride, padding, output_padding, groups, dilation,
                         precision) -> Tensor:
    call = _gradient_call("weight_gradient", input.shape, tuple(weight_size), output_gradient.dtype,
                          output_gradient.get_device(), input.dtype, input.get_device(), output_gradient.shape, stride, padding,
                          output_padding, groups, dilation, _precision(precision, output_gradient))
    return _execute(call, _SLOT["weight_gradient"], ((_SLOT["output_gradient"], output_gradient), (0, input)),
                    output_gradient)


def _run_bias_gradient(output_gradient) -> Tensor:
    call = _bias_gradient_call(output_gradient.shape, output_gradient.dtype, output_gradient.get_device())
    return _execute(call, _SLOT["bias_gradient"], ((_SLOT["output_gradient"], output_gradient),), output_gradient)


# ---------------------------------------------------------------- their derivatives
# All derivatives come from one trilinear form of input x, weight w and output gradient g: forward(x, w) is its
# derivative by g, input_gradient(g, w) that by x, weight_gradient(g, x) that by w. So the operations are closed under
# differentiation, to any order.


def _forward_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.attributes = inputs[3:]


def _forward_backward(ctx: Any, output_gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    input, weight = ctx.saved_tensors
    needs_input, needs_weight, needs_bias = ctx.needs_input_grad[:3]
    return (
        _input_gradient(output_gradient, weight, tuple(input.shape), *ctx.attributes) if needs_input else None,
        _weight_gradient(output_gradient, input, tuple(weight.shape), *ctx.attributes) if needs_weight else None,
        _bias_gradient(output_gradient) if needs_bias else None,
    ) + (None,) * len(ctx.attributes)


def _gradient_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.attributes = inputs[3:]


def _input_gradient_backward(ctx: Any, v: Tensor) -> tuple[Optional[Tensor], ...]:
    output_gradient, weight = ctx.saved_tensors
    needs_gradient, needs_weight = ctx.needs_input_grad[:2]
    return (
        _forward(v, weight, None, *ctx.attributes) if needs_gradient else None,
        _weight_gradient(output_gradient, v, tuple(weight.shape), *ctx.attributes) if needs_weight else None,
    ) + (None,) * (1 + len(ctx.attributes))


def _weight_gradient_backward(ctx: Any, v: Tensor) -> tuple[Optional[Tensor], ...]:
    output_gradient, input = ctx.saved_tensors
    needs_gradient, needs_input = ctx.needs_input_grad[:2]
    return (
        _forward(input, v, None, *ctx.attributes) if needs_gradient else None,
        _input_gradient(output_gradient, v, tuple(input.shape), *ctx.attributes) if needs_input else None,
    ) + (None,) * (1 + len(ctx.attributes))


def _bias_gradient_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape = inputs[0].shape


def _bias_gradient_backward(ctx: Any, v: Tensor) -> Tensor:
    return v.reshape(1, -1, 1, 1).expand(ctx.shape)


# ---------------------------------------------------------------- the forms in which PyTorch wants them


_PLAIN_TYPES = (Tensor, nn.Parameter)


def _looked_into() -> bool:
    """Whether something wants to see operators: a compiler, a tracer, or a mode."""
    return (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None
        or forward_ad._current_level >= 0
    )


def _in_full(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """An operator's arguments; it wants pairs as pairs. Attributes, where there are any, are the last six."""
    if len(arguments) < 6:
        return arguments
    *operands, stride, padding, output_padding, groups, dilation, precision = arguments
    return (*operands, pair("stride", stride), pair("padding", padding), pair("output_padding", output_padding), groups,
            pair("dilation", dilation), precision)


def _hashable(value: Any) -> Any:
    return tuple(value) if type(value) is list else value


class _Operation:
    """One operation as a plain function, as an autograd function of it, and as an operator."""

    def __init__(self, name: str, operands: int, schema: str, run: Any, fake: Any, setup: Any, backward: Any) -> None:
        def run_operator(*arguments: Any) -> Tensor:
            return run(*map(_hashable, arguments))

        def setup_operator(ctx: Any, inputs: Any, output: Any) -> None:
            setup(ctx, tuple(map(_hashable, inputs)), output)

        self.name, self.operands, self.run = name, operands, run
        self.operator = torch.library.custom_op("conv_transpose::" + name, run_operator, mutates_args=(), schema=schema)
        self.operator.register_fake(fake)
        self.operator.register_autograd(backward, setup_context=setup_operator)

        def run_and_save(ctx: Any, *arguments: Any) -> Tensor:
            output = run(*arguments)
            setup(ctx, arguments, output)
            return output

        def function(**methods: Any) -> Any:
            methods["backward"] = backward
            return type(name, (torch.autograd.Function,), {name: staticmethod(m) for name, m in methods.items()})

        # The inherited, compiled apply(); the one of Function itself does first what only functorch needs.
        self.apply = super(torch.autograd.Function, function(forward=run_and_save)).apply
        self.apply_in_functorch = function(forward=run, setup_context=setup).apply

    def __call__(self, *arguments: Any) -> Tensor:
        operands = [tensor for tensor in arguments[: self.operands] if tensor is not None]
        plain = all(type(tensor) in _PLAIN_TYPES for tensor in operands)
        return self.dispatch(plain, any(tensor.requires_grad for tensor in operands), arguments)

    def dispatch(self, plain: bool, differentiated: bool, arguments: tuple[Any, ...]) -> Tensor:
        """`plain`: all operands are just tensors; `differentiated`: one of them requires a gradient."""
        device_is_known = arguments[0].is_cuda or arguments[0].is_cpu
        if not plain or not device_is_known or _looked_into():
            return self.operator(*_in_full(arguments))
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return self.apply_in_functorch(*arguments)
        if differentiated and torch.is_grad_enabled():
            return self.apply(*arguments)
        return self.run(*arguments)


_ATTRIBUTES = "SymInt[] stride, SymInt[] padding, SymInt[] output_padding, SymInt groups, SymInt[] dilation, " \
    "str precision"


def _fake_forward(input, weight, bias, *attributes):
    problem = make_problem(input.shape, weight.shape, None if bias is None else bias.shape, *attributes[:5])
    return input.new_empty(output_shape(problem))


def _fake_gradient(output_gradient, other, size, *attributes):
    return output_gradient.new_empty(size)


_forward = _Operation(
    "conv_transpose2d", 3, f"(Tensor input, Tensor weight, Tensor? bias, {_ATTRIBUTES}) -> Tensor",
    _run_forward, _fake_forward, _forward_setup, _forward_backward)
_input_gradient = _Operation(
    "input_gradient", 2, f"(Tensor output_gradient, Tensor weight, SymInt[] input_size, {_ATTRIBUTES}) -> Tensor",
    _run_input_gradient, _fake_gradient, _gradient_setup, _input_gradient_backward)
_weight_gradient = _Operation(
    "weight_gradient", 2, f"(Tensor output_gradient, Tensor input, SymInt[] weight_size, {_ATTRIBUTES}) -> Tensor",
    _run_weight_gradient, _fake_gradient, _gradient_setup, _weight_gradient_backward)
_bias_gradient = _Operation(
    "bias_gradient", 1, "(Tensor output_gradient) -> Tensor",
    _run_bias_gradient, lambda output_gradient: output_gradient.new_empty((output_gradient.shape[1],)),
    _bias_gradient_setup, _bias_gradient_backward)


# ---------------------------------------------------------------- what users call


def _autocast(tensor: Optional[Tensor], dtype: torch.dtype) -> Optional[Tensor]:
    if tensor is None or not tensor.is_floating_point() or tensor.dtype == torch.float64:
        return tensor
    return tensor.to(dtype)


def _attribute(name: str, value: Any) -> Any:
    """Hashable, and of a type that is not merely equal to a right one, as 2.0 and True are."""
    return value if type(value) is int or type(value) is tuple else pair(name, value)


def _require_tensors(**arguments: Any) -> None:
    for name, value in arguments.items():
        if not isinstance(value, Tensor) and not (name == "bias" and value is None):
            raise TypeError(f"conv_transpose2d(): {name} must be a Tensor, not {type(value).__name__}")


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Optional[Tensor] = None,
    stride: IntOrPair = 1,
    padding: IntOrPair = 0,
    output_padding: IntOrPair = 0,
    groups: int = 1,
    dilation: IntOrPair = 1,
    *,
    precision: Optional[str] = None,
) -> Tensor:
    """torch.nn.functional.conv_transpose2d, computed by this library.

    Args:
        input: (batch, in_channels, height, width), or without batch; float32, float16 or bfloat16, on CPU or CUDA.
        weight: (in_channels, out_channels / groups, kernel height, kernel width), like input in format and device.
        bias: (out_channels,), or None.
        stride, padding, output_padding, dilation: elements, an int or (height, width). The output has
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 elements on each axis.
        groups: into which the channels are divided.
        precision: "float32", "tf32" or "tf32x3"; None follows torch.backends.cudnn.allow_tf32.

    Returns:
        (batch, out_channels, output height, output width), contiguous; under autocast in autocast's format.

    Raises:
        InvalidProblem (a RuntimeError and a ValueError) under the conditions under which PyTorch raises; TypeError
        for an argument of a wrong type.
    """
    plain = (
        type(input) in _PLAIN_TYPES
        and type(weight) in _PLAIN_TYPES
        and (bias is None or type(bias) in _PLAIN_TYPES)
    )
    if not plain:
        _require_tensors(input=input, weight=weight, bias=bias)
    if precision is None:
        precision = _FOLLOW_PYTORCH
    elif precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}, but it must be one of {', '.join(PRECISIONS)}, or None")
    if input.dim() != 4:
        require_input_dimensions(input.dim())
        return conv_transpose2d(input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation,
                                precision=None if precision == _FOLLOW_PYTORCH else precision).squeeze(0)
    device_type = "cuda" if input.is_cuda else "cpu"
    if torch.is_autocast_enabled(device_type):
        dtype = torch.get_autocast_dtype(device_type)
        input, weight, bias = _autocast(input, dtype), _autocast(weight, dtype), _autocast(bias, dtype)
    differentiated = input.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    return _forward.dispatch(plain, differentiated, (
        input, weight, bias, _attribute("stride", stride), _attribute("padding", padding),
        _attribute("output_padding", output_padding), groups if type(groups) is int else pair("groups", groups)[0],
        _attribute("dilation", dilation), precision,
    ))


def activate(tensor: Tensor, activation: str, negative_slope: float) -> Tensor:
    """Applied by PyTorch, which keeps what the gradient needs; in place where there is none."""
    if activation == "none":
        return tensor
    in_place = not (torch.is_grad_enabled() and tensor.requires_grad)
    if activation == "leaky_relu":
        return nn.functional.leaky_relu(tensor, negative_slope, inplace=in_place)
    return getattr(torch, activation + "_" if in_place else activation)(tensor)


class ConvTranspose2d(nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d, computed by this library: the same arguments, parameters and state_dict.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W); weight (in_channels, out_channels / groups, *kernel_size);
    output as conv_transpose2d says. `precision` ("float32", "tf32", "tf32x3", or None to follow
    torch.backends.cudnn.allow_tf32) may be given to the constructor, or set later.
    """

    precision: Optional[str] = None

    def __init__(self, *args: Any, precision: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.precision = precision

    def forward(self, input: Tensor, output_size: Optional[list[int]] = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"padding_mode is {self.padding_mode!r}, but only 'zeros' is supported for ConvTranspose2d")
        output_padding = self.output_padding
        if output_size is not None:
            output_padding = tuple(self._output_padding(input, output_size, self.stride, self.padding,
                                                        self.kernel_size, 2, self.dilation))
        return conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups,
                                self.dilation, precision=self.precision)

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.precision is None else f"{text}, precision={self.precision}"


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
    if module.weight.dtype != torch.float32 and module.weight.dtype not in _HALF:
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

"""The four operations as PyTorch's operators torch.ops.conv_transpose.*, and the short way around them.

How a call runs: a call of an operator of torch.library costs 10 us, 25 us with autograd; PyTorch's own
conv_transpose2d takes 7 us on a tiny problem. So plain eager calls go to the compiled library, with autograd through an
autograd function: by the extension module (_short_calls.py), and where that leaves a call to Python, from here. Under
anything that looks inside (torch.compile, export, modes, functorch's transforms, forward mode, tensor subclasses, a
profiler) the operators are called, and PyTorch's dispatcher finds what it needs: derivatives (_derivatives.py), a rule
for vmap (_batching.py), shapes without data, autocast.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Iterator, Optional

import torch
from torch import Tensor, nn
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from .._library import InvalidProblem, Plan, Unsupported
from .._problem import attributes_per_axis, make_problem, output_shape
from ._calls import (check_formats, gradient_input_shape, gradient_weight_shape, run_bias_gradient, run_forward,
                     run_input_gradient, run_weight_gradient)
from ._layouts import result_format

# Results lie as operands do, so compiled code must hand them over as they lay when it was traced.
_FIXED_STRIDES = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
ATTRIBUTES = 6  # stride, padding, output_padding, groups, dilation, precision
PLAIN_TYPES = (Tensor, nn.Parameter)
_has_memory = torch._C._has_storage


def looked_into() -> bool:
    """Whether something wants to see operators: a compiler, a tracer, a mode, a transform, or a profiler."""
    return (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
        or torch._C._get_tracing_state() is not None
        or torch._C._autograd._profiler_enabled()
    )


def are_plain(first: Any, second: Any = None, third: Any = None) -> bool:
    """Whether these are just tensors, on the CPU or CUDA."""
    return (
        type(first) in PLAIN_TYPES
        and (second is None or type(second) in PLAIN_TYPES)
        and (third is None or type(third) in PLAIN_TYPES)
        and (first.is_cpu or first.is_cuda)
    )


def _have_memory(first: Tensor, second: Optional[Tensor] = None, third: Optional[Tensor] = None) -> bool:
    """Wrappers of vmap, and those that outlive a transform of functorch, look like tensors, but have none."""
    return (
        _has_memory(first)
        and (second is None or _has_memory(second))
        and (third is None or _has_memory(third))
    )


def run_at_once(*tensors: Tensor) -> bool:
    """Whether gradients may come straight from the compiled library: nothing wants to see or to differentiate them."""
    return not torch.is_grad_enabled() and are_plain(*tensors) and not looked_into() and _have_memory(*tensors)


def _in_full(operands: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    """An operator's arguments; it wants one attribute an axis. `others`: attributes, where there are any, and the result's
    type."""
    if len(others) < ATTRIBUTES:
        return (*operands, *others)
    stride, padding, output_padding, groups, dilation, precision, *dtype = others
    axes = operands[0].dim() - 2
    stride, padding, output_padding, dilation = attributes_per_axis(axes, stride, padding, output_padding, dilation)
    return (*operands, stride, padding, output_padding, groups, dilation, precision, *dtype)


def _hashable(value: Any) -> Any:
    return tuple(value) if type(value) is list else value


@contextlib.contextmanager
def _differentiating_at_outer_levels() -> Iterator[None]:
    """An autograd function switches both modes off while it runs; the outer levels of functorch need them."""
    if torch._C._functorch.peek_interpreter_stack() is None:
        yield
    else:
        with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
            yield


class Operation:
    """One operation as a plain function, as an autograd function of it, and as an operator. Its arguments are `operands`
    tensors, the first `pictures` of which are no parameters, and attributes."""

    def __init__(self, name: str, operands: int, pictures: int, schema: str, run: Any, fake: Any) -> None:
        self.name, self.operands, self.pictures, self.run = name, operands, pictures, run
        _library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag, _FIXED_STRIDES))
        self.operator = getattr(torch.ops.conv_transpose, name).default

        def run_operator(*arguments: Any) -> Tensor:
            return run(*map(_hashable, arguments))

        for device in ("CPU", "CUDA"):
            _library.impl(name, run_operator, device)
            _library.impl(name, functools.partial(self._under_autocast, device.lower()), "Autocast" + device,
                          with_keyset=True)
        torch.library.register_fake("conv_transpose::" + name, fake, lib=_library)

    def _under_autocast(self, device: str, keyset: Any, *arguments: Any) -> Tensor:
        dtype = torch.get_autocast_dtype(device)
        operands = autocast(dtype, arguments[: self.pictures], arguments[self.pictures : self.operands])
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(getattr(torch._C.DispatchKey,
                                                                              "Autocast" + device.upper()))):
            return self.operator(*operands, *arguments[self.operands :])

    def differentiate(self, save: Any, backward: Any, jvp: Any, short: Any = None) -> None:
        """`save(ctx, operands, attributes, output)` keeps what `backward(ctx, gradient)`, which returns the gradients of
        the operands, and `jvp(ctx, *tangents)` need. `short`: the extension, for the operation of which it has the short
        way (_short_calls.py).

        The autograd functions are of PyTorch's class for one level: under functorch's transforms the dispatcher calls the
        operator once for each level. They look at each argument, so all that are no tensors are one tuple.
        """
        def backward_and_nothing(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
            return (*backward(ctx, gradient), None)

        def jvp_of_one_level(ctx: Any, *tangents: Any) -> Optional[Tensor]:
            with forward_ad._set_fwd_grad_enabled(True):  # for the outer levels of functorch
                return jvp(ctx, *tangents[:-1])

        def of_one_level(forward: Any, backward: Any = backward_and_nothing) -> Any:
            methods = {"forward": forward, "backward": backward, "jvp": jvp_of_one_level}
            bases = (torch.autograd.function._SingleLevelFunction,)
            function: Any = type(self.name, bases, {name: staticmethod(method) for name, method in methods.items()})
            return function.apply

        def run_and_save(ctx: Any, *arguments: Any) -> Tensor:
            *operands, attributes = arguments
            output = self.run(*operands, *attributes)
            save(ctx, operands, attributes, output)
            return output

        def redispatch_and_save(ctx: Any, *arguments: Any) -> Tensor:
            *operands, (keyset, *attributes) = arguments
            with torch._C._AutoDispatchBelowAutograd(), _differentiating_at_outer_levels():
                output = self.operator.redispatch(keyset & torch._C._after_autograd_keyset, *operands, *attributes)
            save(ctx, operands, tuple(map(_hashable, attributes)), output)
            ctx.save_for_forward(*ctx.to_save)
            return output

        self.apply = of_one_level(short.run_and_save, short.backward) if short else of_one_level(run_and_save)
        if short:  # what the engine calls first, without PyTorch's search for backward()
            self.apply.__self__._backward_cls.apply = lambda ctx, gradient: short.backward(ctx, gradient)
        self.run_backward = backward_and_nothing
        apply = of_one_level(redispatch_and_save)

        # Always with the autograd function, which sees what an operand is differentiated by, in either mode.
        def autograd(keyset: Any, *arguments: Any) -> Tensor:
            with enable_single_level_autograd_function():
                return apply(*arguments[: self.operands], (keyset, *arguments[self.operands :]))

        _library.impl(self.name, autograd, "Autograd", with_keyset=True)

    def batch(self, rule: Any) -> None:
        """`rule(info, in_dims, *arguments)` as torch.library.register_vmap wants it."""
        torch.library.register_vmap("conv_transpose::" + self.name, rule, lib=_library)

    def __call__(self, *arguments: Any) -> Tensor:
        operands = [tensor for tensor in arguments[: self.operands] if tensor is not None]
        return self.dispatch(are_plain(*operands), any(tensor.requires_grad for tensor in operands), arguments)

    def dispatch(self, plain: bool, differentiated: bool, arguments: tuple[Any, ...]) -> Tensor:
        """`plain`: all operands are, as are_plain() says; `differentiated`: one of them requires a gradient."""
        if not plain or looked_into() or not _have_memory(*arguments[: self.operands]):
            if any(type(operand).__name__ == "DTensor" for operand in arguments[: self.operands]):
                from . import _sharding  # noqa: F401  (registers its rules)
            return self.operator(*_in_full(arguments[: self.operands], arguments[self.operands :]))
        if differentiated and torch.is_grad_enabled():
            return self.apply(*arguments[: self.operands], arguments[self.operands :])
        return self.run(*arguments)


def autocast(dtype: torch.dtype, pictures: tuple[Any, ...], parameters: tuple[Any, ...]) -> tuple[Any, ...]:
    """As autocast wants them. Parameters in float32 stay: a call converts them while it packs them, and gives their gradients in
    float32."""
    def cast(tensor: Optional[Tensor], stays: bool) -> Optional[Tensor]:
        if tensor is None or stays or not tensor.is_floating_point() or tensor.dtype == torch.float64:
            return tensor
        return tensor.to(dtype)

    stay = all(parameter is None or parameter.dtype == torch.float32 for parameter in parameters)
    return (*(cast(tensor, False) for tensor in pictures), *(cast(tensor, stay) for tensor in parameters))


# ---------------------------------------------------------------- results without data


@functools.lru_cache(maxsize=1024)
def _require_valid(problem: tuple[Any, ...]) -> None:
    """The library itself tells which problems are valid."""
    try:
        Plan(dict(problem), device="cpu")
    except Unsupported:
        pass


def _checked(problem: dict[str, Any], **operands: Optional[Tensor]) -> dict[str, Any]:
    """The problem, if its operands belong together. Symbolic sizes are left to the run."""
    there = {name: tensor for name, tensor in operands.items() if tensor is not None}
    check_formats({name: (tensor.dtype, tensor.device) for name, tensor in there.items()})
    values = [item for value in problem.values() for item in (value if type(value) is tuple else (value,))]
    if all(type(value) is int for value in values):
        _require_valid(tuple(problem.items()))
    return problem


def _empty(shape: tuple[Any, ...], like: Tensor, other: Tensor, dtype: Optional[torch.dtype] = None) -> Tensor:
    """A result of two operands; with the strides that a run gives."""
    return torch.empty(shape, dtype=dtype or like.dtype, device=like.device, memory_format=result_format(like, other))


def _fake_forward(input, weight, bias, *attributes):
    problem = make_problem(input.shape, weight.shape, None if bias is None else bias.shape, *attributes[:5])
    return _empty(output_shape(_checked(problem, input=input, weight=weight, bias=bias)), input, weight)


def _fake_input_gradient(output_gradient, weight, *attributes):
    shape = gradient_input_shape(output_gradient.shape, weight.shape, *attributes[:5])
    _checked(make_problem(shape, weight.shape, None, *attributes[:5]), **{"output gradient": output_gradient},
             weight=weight)
    return _empty(shape, output_gradient, weight)


def _fake_weight_gradient(output_gradient, input, stride, padding, output_padding, groups, dilation, precision, dtype=None):
    attributes = stride, padding, output_padding, groups, dilation
    shape = gradient_weight_shape(output_gradient.shape, input.shape, *attributes)
    _checked(make_problem(input.shape, shape, None, *attributes), **{"output gradient": output_gradient},
             input=input)
    return _empty(shape, output_gradient, input, dtype)


def _fake_bias_gradient(output_gradient, dtype=None):
    return output_gradient.new_empty((output_gradient.shape[1],), dtype=dtype)


# ---------------------------------------------------------------- the operators

_library = torch.library.Library("conv_transpose", "DEF")
_ATTRIBUTES = "SymInt[] stride, SymInt[] padding, SymInt[] output_padding, SymInt groups, SymInt[] dilation, " \
    "str precision"

# For every rank; exported programs know it by this name.
forward = Operation("conv_transpose2d", 3, 1, f"(Tensor input, Tensor weight, Tensor? bias, {_ATTRIBUTES}) -> Tensor",
                    run_forward, _fake_forward)
# What the gradients do not name follows from the sizes that they see, so that a part of a tensor is as good as a whole.
input_gradient = Operation("input_gradient", 2, 1, f"(Tensor output_gradient, Tensor weight, {_ATTRIBUTES}) -> Tensor",
                           run_input_gradient, _fake_input_gradient)
# The type of a parameter's gradient is that of the output gradient, unless it is given.
weight_gradient = Operation("weight_gradient", 2, 2,
                            f"(Tensor output_gradient, Tensor input, {_ATTRIBUTES}, ScalarType? dtype=None) -> Tensor",
                            run_weight_gradient, _fake_weight_gradient)
bias_gradient = Operation("bias_gradient", 1, 1, "(Tensor output_gradient, ScalarType? dtype=None) -> Tensor",
                          run_bias_gradient, _fake_bias_gradient)

"""Derivatives of the four operations, in both modes and to any order.

All come from one trilinear form of input x, weight w and output gradient g: forward(x, w) is its derivative by g,
input_gradient(g, w) that by x, weight_gradient(g, x) that by w. So the operations are closed under differentiation.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _short_calls
from ._layouts import result_format
from ._operators import ATTRIBUTES, bias_gradient, forward, input_gradient, run_at_once, weight_gradient


def _save(ctx: Any, operands: Any, attributes: Any, output: Any) -> None:
    """The two operands of which an operation is a product."""
    ctx.save_for_backward(operands[0], operands[1])
    ctx.attributes, ctx.shape, ctx.dtype = attributes, output.shape, output.dtype


def _sum(terms: list[Optional[Tensor]]) -> Optional[Tensor]:
    there = [term for term in terms if term is not None]
    return sum(there[1:], there[0]) if there else None


def _over_channels(bias: Tensor, shape: Any) -> Tensor:
    return bias.reshape(-1, *(1 for _ in shape[2:])).expand(shape)


def _primal(tensor: Tensor) -> Tensor:
    """Without its tangent at this level, but with those that it has at outer levels of functorch, which unpack_dual()
    would take away, too."""
    interpreter = torch._C._functorch.peek_interpreter_stack()
    if interpreter is None:
        return forward_ad.unpack_dual(tensor, level=0).primal
    level = interpreter.level()
    if torch._C._functorch.maybe_get_level(tensor) != level:
        return tensor
    return torch._C._functorch._wrap_for_grad(torch._C._functorch.get_unwrapped(tensor), level)


def _product_jvp(operation: Any, ctx: Any, first: Any, second: Any, *others: Any) -> Optional[Tensor]:
    """The tangent of operation(a, b, *others), from those of a and b, None where one has none."""
    a, b = map(_primal, ctx.saved_tensors)
    return _sum([None if first is None else operation(first, b, *others),
                 None if second is None else operation(a, second, *others)])


def _forward_jvp(ctx: Any, input: Any, weight: Any, bias: Any) -> Optional[Tensor]:
    product = _product_jvp(forward, ctx, input, weight, None, *ctx.attributes)
    if bias is None:
        return product
    of_bias = _over_channels(bias, ctx.shape).to(ctx.dtype)
    # A tangent has the strides of what it belongs to.
    return of_bias.contiguous() if product is None else product + of_bias


def _input_gradient_jvp(ctx: Any, output_gradient: Any, weight: Any) -> Optional[Tensor]:
    return _product_jvp(input_gradient, ctx, output_gradient, weight, *ctx.attributes)


def _weight_gradient_jvp(ctx: Any, output_gradient: Any, input: Any) -> Optional[Tensor]:
    return _product_jvp(weight_gradient, ctx, output_gradient, input, *ctx.attributes)


def _type_of(parameter: Tensor, picture: Tensor) -> tuple[torch.dtype, ...]:
    """What tells the type of a parameter's gradient, where it is not the picture's."""
    return () if parameter.dtype == picture.dtype else (parameter.dtype,)


def _forward_backward(ctx: Any, output_gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    input, weight = ctx.saved_tensors
    needs_input, needs_weight, needs_bias = ctx.needs_input_grad[:3]
    # Once for all three; that of a sum, say, is one element expanded. Mapped by vmap, a tensor has one order only.
    transformed = torch._C._functorch.peek_interpreter_stack() is not None
    layout = torch.contiguous_format if transformed else result_format(input, weight)
    output_gradient = output_gradient.contiguous(memory_format=layout)
    of_input, of_weight, of_bias = input_gradient, weight_gradient, bias_gradient
    if run_at_once(output_gradient, input, weight):  # asked once: asking takes as long as a call
        of_input, of_weight, of_bias = of_input.run, of_weight.run, of_bias.run
    dtype = _type_of(weight, output_gradient)
    return (
        of_input(output_gradient, weight, *ctx.attributes) if needs_input else None,
        of_weight(output_gradient, input, *ctx.attributes, *dtype) if needs_weight else None,
        of_bias(output_gradient, *dtype) if needs_bias else None,
    )


def _input_gradient_backward(ctx: Any, v: Tensor) -> tuple[Optional[Tensor], ...]:
    output_gradient, weight = ctx.saved_tensors
    needs_gradient, needs_weight = ctx.needs_input_grad[:2]
    return (
        forward(v, weight, None, *ctx.attributes) if needs_gradient else None,
        weight_gradient(output_gradient, v, *ctx.attributes, *_type_of(weight, v)) if needs_weight else None,
    )


def _weight_gradient_backward(ctx: Any, v: Tensor) -> tuple[Optional[Tensor], ...]:
    output_gradient, input = ctx.saved_tensors
    needs_gradient, needs_input = ctx.needs_input_grad[:2]
    attributes = ctx.attributes[:ATTRIBUTES]  # without the type
    return (
        forward(input, v, None, *attributes) if needs_gradient else None,
        input_gradient(output_gradient, v, *attributes) if needs_input else None,
    )


def _save_shape(ctx: Any, operands: Any, attributes: Any, output: Any) -> None:
    ctx.save_for_backward()
    ctx.attributes, ctx.shape, ctx.dtype = attributes, operands[0].shape, operands[0].dtype


def _bias_gradient_backward(ctx: Any, v: Tensor) -> tuple[Tensor]:
    return (_over_channels(v, ctx.shape).to(ctx.dtype),)


def _bias_gradient_jvp(ctx: Any, output_gradient: Tensor) -> Tensor:
    return bias_gradient(output_gradient, *ctx.attributes)


forward.differentiate(_save, _forward_backward, _forward_jvp, _short_calls.extension)
input_gradient.differentiate(_save, _input_gradient_backward, _input_gradient_jvp)
weight_gradient.differentiate(_save, _weight_gradient_backward, _weight_gradient_jvp)
bias_gradient.differentiate(_save_shape, _bias_gradient_backward, _bias_gradient_jvp)
if _short_calls.extension:
    _short_calls.connect(forward.apply, lambda input, weight, bias, attributes: forward.run(input, weight, bias, *attributes),
                         forward.run_backward)

"""The four operations in the forms in which PyTorch wants them: autograd functions and custom operators.

How a call runs: work of torch.library's custom operators costs 10 us a call, 25 us with autograd; PyTorch's own
conv_transpose2d takes 7 us on a tiny problem. So plain eager calls go from here to the compiled library, with autograd
through a torch.autograd.Function; under anything that looks inside (torch.compile, export, modes, tensor subclasses)
the operators torch.ops.conv_transpose.* are called.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from .._problem import make_problem, output_shape, pair
from ._calls import run_bias_gradient, run_forward, run_input_gradient, run_weight_gradient

# ---------------------------------------------------------------- derivatives
# All derivatives come from one trilinear form of input x, weight w and output gradient g: forward(x, w) is its
# derivative by g, input_gradient(g, w) that by x, weight_gradient(g, x) that by w. So the operations are closed under
# differentiation, to any order.


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    """The two operands of which an operation is a product."""
    ctx.save_for_backward(inputs[0], inputs[1])
    if forward_ad._current_level >= 0:
        ctx.save_for_forward(inputs[0], inputs[1])
    ctx.attributes = inputs[3:]


def _sum(terms: list[Optional[Tensor]]) -> Optional[Tensor]:
    there = [term for term in terms if term is not None]
    return sum(there[1:], there[0]) if there else None


def _product_jvp(operation: Any, ctx: Any, first: Any, second: Any, *others: Any) -> Optional[Tensor]:
    """The tangent of operation(a, b, *others), from those of a and b, None where one has none."""
    a, b = ctx.saved_tensors
    return _sum([None if first is None else operation(first, b, *others),
                 None if second is None else operation(a, second, *others)])


def _forward_jvp(ctx: Any, input: Any, weight: Any, bias: Any, *_: Any) -> Optional[Tensor]:
    product = _product_jvp(forward, ctx, input, weight, None, *ctx.attributes)
    if bias is None:
        return product
    a, b = ctx.saved_tensors
    like = forward(a, b, None, *ctx.attributes) if product is None else product
    return _sum([product, bias.reshape(1, -1, 1, 1).expand_as(like)])


def _input_gradient_jvp(ctx: Any, output_gradient: Any, weight: Any, *_: Any) -> Optional[Tensor]:
    return _product_jvp(input_gradient, ctx, output_gradient, weight, ctx.size, *ctx.attributes)


def _weight_gradient_jvp(ctx: Any, output_gradient: Any, input: Any, *_: Any) -> Optional[Tensor]:
    return _product_jvp(weight_gradient, ctx, output_gradient, input, ctx.size, *ctx.attributes)


def _forward_backward(ctx: Any, output_gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    input, weight = ctx.saved_tensors
    needs_input, needs_weight, needs_bias = ctx.needs_input_grad[:3]
    output_gradient = output_gradient.contiguous()  # once for all three; that of a sum, say, is one element expanded
    of_input, of_weight, of_bias = input_gradient, weight_gradient, bias_gradient
    if _runs_at_once(output_gradient, input, weight):  # asked once: asking takes as long as a call
        of_input, of_weight, of_bias = of_input.run, of_weight.run, of_bias.run
    return (
        of_input(output_gradient, weight, tuple(input.shape), *ctx.attributes) if needs_input else None,
        of_weight(output_gradient, input, tuple(weight.shape), *ctx.attributes) if needs_weight else None,
        of_bias(output_gradient) if needs_bias else None,
    )


def _gradient_setup(ctx: Any, inputs: Any, output: Any) -> None:
    _save(ctx, inputs, output)
    ctx.size = inputs[2]


def _input_gradient_backward(ctx: Any, v: Tensor) -> tuple[Optional[Tensor], ...]:
    output_gradient, weight = ctx.saved_tensors
    needs_gradient, needs_weight = ctx.needs_input_grad[:2]
    return (
        forward(v, weight, None, *ctx.attributes) if needs_gradient else None,
        weight_gradient(output_gradient, v, tuple(weight.shape), *ctx.attributes) if needs_weight else None,
    )


def _weight_gradient_backward(ctx: Any, v: Tensor) -> tuple[Optional[Tensor], ...]:
    output_gradient, input = ctx.saved_tensors
    needs_gradient, needs_input = ctx.needs_input_grad[:2]
    return (
        forward(input, v, None, *ctx.attributes) if needs_gradient else None,
        input_gradient(output_gradient, v, tuple(input.shape), *ctx.attributes) if needs_input else None,
    )


def _bias_gradient_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape = inputs[0].shape


def _bias_gradient_backward(ctx: Any, v: Tensor) -> tuple[Tensor]:
    return (v.reshape(1, -1, 1, 1).expand(ctx.shape),)


def _bias_gradient_jvp(ctx: Any, output_gradient: Tensor, *_: Any) -> Tensor:
    return bias_gradient(output_gradient)


# ---------------------------------------------------------------- the forms in which PyTorch wants them


PLAIN_TYPES = (Tensor, nn.Parameter)


def _looked_into() -> bool:
    """Whether something wants to see operators: a compiler, a tracer, or a mode."""
    return (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None
    )


def _runs_at_once(output_gradient: Tensor, input: Tensor, weight: Tensor) -> bool:
    """Whether gradients may come straight from the compiled library: nothing wants to see or to differentiate them."""
    return (
        not torch.is_grad_enabled()
        and type(output_gradient) in PLAIN_TYPES
        and type(input) in PLAIN_TYPES
        and type(weight) in PLAIN_TYPES
        and (output_gradient.is_cuda or output_gradient.is_cpu)
        and forward_ad._current_level < 0
        and torch._C._functorch.peek_interpreter_stack() is None
        and not _looked_into()
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
    """One operation as a plain function, as an autograd function of it, and as an operator. Its arguments are `operands`
    tensors and `others`; `backward` returns the gradients of the tensors."""

    def __init__(self, name: str, operands: int, others: int, schema: str, run: Any, fake: Any, setup: Any,
                 backward: Any, jvp: Any) -> None:
        def run_operator(*arguments: Any) -> Tensor:
            return run(*map(_hashable, arguments))

        def setup_operator(ctx: Any, inputs: Any, output: Any) -> None:
            setup(ctx, tuple(map(_hashable, inputs)), output)

        self.name, self.operands, self.run = name, operands, run
        self.operator = torch.library.custom_op("conv_transpose::" + name, run_operator, mutates_args=(), schema=schema)
        self.operator.register_fake(fake)

        def backward_in_full(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
            return backward(ctx, gradient) + (None,) * others

        def run_and_save(ctx: Any, *arguments: Any) -> Tensor:
            arguments = arguments[:-1] + arguments[-1]
            output = run(*arguments)
            setup(ctx, arguments, output)
            return output

        def function(**methods: Any) -> Any:
            methods["jvp"] = jvp
            return type(name, (torch.autograd.Function,), {name: staticmethod(m) for name, m in methods.items()})

        self.operator.register_autograd(backward_in_full, setup_context=setup_operator)
        # The inherited, compiled apply(); the one of Function itself does first what only functorch needs. It looks at
        # each argument and each result of backward(), so all that are no tensors are one tuple.
        self.apply = super(torch.autograd.Function, function(
            forward=run_and_save, backward=lambda ctx, gradient: backward(ctx, gradient) + (None,))).apply
        self.apply_in_functorch = function(forward=run, setup_context=setup, backward=backward_in_full).apply

    def __call__(self, *arguments: Any) -> Tensor:
        operands = [tensor for tensor in arguments[: self.operands] if tensor is not None]
        plain = all(type(tensor) in PLAIN_TYPES for tensor in operands)
        return self.dispatch(plain, any(tensor.requires_grad for tensor in operands), arguments)

    def dispatch(self, plain: bool, differentiated: bool, arguments: tuple[Any, ...]) -> Tensor:
        """`plain`: all operands are just tensors; `differentiated`: one of them requires a gradient."""
        device_is_known = arguments[0].is_cuda or arguments[0].is_cpu
        if not plain or not device_is_known or _looked_into():
            return self.operator(*_in_full(arguments))
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return self.apply_in_functorch(*arguments)
        if (differentiated and torch.is_grad_enabled()) or forward_ad._current_level >= 0:
            return self.apply(*arguments[: self.operands], arguments[self.operands :])
        return self.run(*arguments)


_ATTRIBUTES = "SymInt[] stride, SymInt[] padding, SymInt[] output_padding, SymInt groups, SymInt[] dilation, " \
    "str precision"


def _fake_forward(input, weight, bias, *attributes):
    problem = make_problem(input.shape, weight.shape, None if bias is None else bias.shape, *attributes[:5])
    return input.new_empty(output_shape(problem))


def _fake_gradient(output_gradient, other, size, *attributes):
    return output_gradient.new_empty(size)


forward = _Operation(
    "conv_transpose2d", 3, 6, f"(Tensor input, Tensor weight, Tensor? bias, {_ATTRIBUTES}) -> Tensor",
    run_forward, _fake_forward, _save, _forward_backward, _forward_jvp)
input_gradient = _Operation(
    "input_gradient", 2, 7, f"(Tensor output_gradient, Tensor weight, SymInt[] input_size, {_ATTRIBUTES}) -> Tensor",
    run_input_gradient, _fake_gradient, _gradient_setup, _input_gradient_backward, _input_gradient_jvp)
weight_gradient = _Operation(
    "weight_gradient", 2, 7, f"(Tensor output_gradient, Tensor input, SymInt[] weight_size, {_ATTRIBUTES}) -> Tensor",
    run_weight_gradient, _fake_gradient, _gradient_setup, _weight_gradient_backward, _weight_gradient_jvp)
bias_gradient = _Operation(
    "bias_gradient", 1, 0, "(Tensor output_gradient) -> Tensor",
    run_bias_gradient, lambda output_gradient: output_gradient.new_empty((output_gradient.shape[1],)),
    _bias_gradient_setup, _bias_gradient_backward, _bias_gradient_jvp)

"""Transposed convolutions inside of JAX's transformations: jit, grad (to any order), vmap and what is made of them.

JAX calls back with arrays on the host, also under jit on CUDA, where they are copied there and back; eager calls do not
come here and work where the arrays are. The three products differentiate into each other, as in torch/_derivatives.py.
Samples of vmap become more of the batch where they share the second operand, and groups where they do not.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy

from ._library import ARGUMENTS, Arguments, Plan
from ._problem import attributes_per_axis, integer, make_problem, output_shape, require_input_dimensions

# operation -> names of its operands, and the axis of each, and of the result, along which groups are counted
_OPERANDS = {
    "forward": (("input", 1), ("weight", 0), ("output", 1)),
    "input_gradient": (("output_gradient", 1), ("weight", 0), ("input_gradient", 1)),
    "weight_gradient": (("output_gradient", 1), ("input", 1), ("weight_gradient", 0)),
}


def is_traced(*arrays: Any) -> bool:
    return any(isinstance(array, jax.core.Tracer) for array in arrays)


class _Product:
    """One operation with its attributes; `shapes` are those of input, weight and output, and say all that the plan needs."""

    def __init__(self, operation: str, input_shape: Any, weight_shape: Any, attributes: Any) -> None:
        self.operation, self.input_shape, self.weight_shape, self.attributes = (
            operation, input_shape, weight_shape, attributes)
        self.problem = make_problem(input_shape, weight_shape, None, *attributes)
        self.shape = {"forward": output_shape(self.problem), "input_gradient": input_shape,
                      "weight_gradient": weight_shape}[operation]

    def plan(self) -> Plan:
        return _plan(self.operation, self.input_shape, self.weight_shape, self.attributes)

    def with_batch(self, times: int) -> _Product:
        """For as many samples that share the second operand."""
        batch, *others = self.input_shape
        return _Product(self.operation, (batch * times, *others), self.weight_shape, self.attributes)

    def with_groups(self, times: int) -> _Product:
        batch, channels, *size = self.input_shape
        in_channels, *others = self.weight_shape
        stride, padding, output_padding, groups, dilation = self.attributes
        return _Product(self.operation, (batch, channels * times, *size), (in_channels * times, *others),
                        (stride, padding, output_padding, groups * times, dilation))

    def __call__(self, first: Any, second: Any) -> Any:
        """JAX's callback. Dimensions in front are those of vmap: the samples', or 1 where all samples share."""
        first, second = numpy.asarray(first), numpy.asarray(second)
        extra = max(first.ndim, second.ndim) - len(self.input_shape)
        samples = numpy.broadcast_shapes(first.shape[:extra], second.shape[:extra])
        count = math.prod(samples)
        if count == 0:
            return numpy.zeros((*samples, *self.shape), "float32")
        if not extra:
            return self.run(first, second)
        if self.operation != "weight_gradient" and math.prod(second.shape[:extra]) == 1:
            result = self.with_batch(count).run(self._joined(first, samples, 0), second.reshape(second.shape[extra:]))
            return result.reshape(*samples, *self.shape)
        (_, first_axis), (_, second_axis), (_, axis) = _OPERANDS[self.operation]
        result = self.with_groups(count).run(self._joined(first, samples, first_axis),
                                             self._joined(second, samples, second_axis))
        result = result.reshape(*self.shape[:axis], count, *self.shape[axis:])
        return numpy.moveaxis(result, axis, 0).reshape(*samples, *self.shape)

    @staticmethod
    def _joined(array: Any, samples: Any, axis: int) -> Any:
        """With the samples as the outer part of an axis."""
        shape = array.shape[len(samples) :]
        array = numpy.broadcast_to(array, (*samples, *shape)).reshape(-1, *shape)
        return numpy.moveaxis(array, 0, axis).reshape(*shape[:axis], -1, *shape[axis + 1 :])

    def run(self, first: Any, second: Any) -> Any:
        result = numpy.empty(self.shape, "float32")
        if not result.size or not first.size:
            result.fill(0)
            return result
        plan, slots = self.plan(), _OPERANDS[self.operation]
        arrays = [numpy.ascontiguousarray(array, "float32") for array in (first, second)] + [result]
        arguments = Arguments()
        for (name, _), array in zip(slots, arrays):
            arguments[ARGUMENTS.index(name)] = array.ctypes.data
        workspace: Any = numpy.empty(plan.workspace_bytes + 256, "uint8")
        plan.run(arguments, -(-workspace.ctypes.data // 256) * 256, 0)
        return result


@functools.lru_cache(maxsize=1024)
def _plan(operation: str, input_shape: Any, weight_shape: Any, attributes: Any) -> Plan:
    return Plan(make_problem(input_shape, weight_shape, None, *attributes), operation=operation, device="cpu")


@functools.lru_cache(maxsize=1024)
def _product(operation: str, input_shape: Any, weight_shape: Any, attributes: Any) -> Any:
    """The operation as a function of JAX's arrays."""
    product = _Product(operation, input_shape, weight_shape, attributes)
    product.plan()  # refuses what is not valid now, not in the callback

    @jax.custom_vjp
    def call(first: Any, second: Any) -> Any:
        return jax.pure_callback(product, jax.ShapeDtypeStruct(product.shape, "float32"), first, second,
                                 vmap_method="expand_dims")

    def other(name: str) -> Any:
        return _product(name, input_shape, weight_shape, attributes)

    def backward(operands: Any, v: Any) -> Any:
        first, second = operands
        if operation == "forward":
            return other("input_gradient")(v, second), other("weight_gradient")(v, first)
        if operation == "input_gradient":
            return other("forward")(v, second), other("weight_gradient")(first, v)
        return other("forward")(second, v), other("input_gradient")(first, v)

    call.defvjp(lambda first, second: (call(first, second), (first, second)), backward)
    return call


def conv_transpose(rank: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any,
                   groups: Any, dilation: Any, activation: str, negative_slope: float) -> Any:
    require_input_dimensions(input.ndim, rank)
    batched = input if input.ndim == rank + 2 else input.reshape((1, *input.shape))
    make_problem(batched.shape, weight.shape, None if bias is None else bias.shape, stride, padding, output_padding, groups,
                 dilation)  # says what does not fit
    stride, padding, output_padding, dilation = attributes_per_axis(rank, stride, padding, output_padding, dilation)
    attributes = (stride, padding, output_padding, integer("groups", groups), dilation)
    product = _product("forward", tuple(batched.shape), tuple(weight.shape), attributes)
    result = product(batched.astype("float32"), weight.astype("float32"))
    if bias is not None:
        result = result + bias.astype("float32").reshape(-1, *(1,) * rank)
    if activation == "leaky_relu":
        result = jax.nn.leaky_relu(result, negative_slope)
    elif activation != "none":
        result = getattr(jax.nn, activation)(result)
    result = result.astype(input.dtype)
    return result if input.ndim == rank + 2 else result.reshape(result.shape[1:])

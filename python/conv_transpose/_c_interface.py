"""The structures and enumerations of the C interface (conv_transpose_c.h), for ctypes: the package's and the benchmark's."""

from __future__ import annotations

import ctypes
from typing import Any

OPERATIONS = ("forward", "input_gradient", "weight_gradient", "bias_gradient")
DEVICES = ("automatic", "cpu", "cuda")
PRECISIONS = ("float32", "tf32", "tf32x3")
ACTIVATIONS = ("none", "relu", "leaky_relu", "tanh", "sigmoid")
ELEMENT_TYPES = ("float32", "float16", "bfloat16")
LAYOUTS = ("channels_first", "channels_last")

AXES = ("depth", "height", "width")
ATTRIBUTES = ("input", "kernel", "stride", "padding", "output_padding", "dilation")

# The fields of conv_transpose_arguments, all of them pointers.
ARGUMENTS = (
    "input",
    "weight",
    "bias",
    "output",
    "output_gradient",
    "input_gradient",
    "weight_gradient",
    "bias_gradient",
    "packed_weight",
)


class Axis(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ATTRIBUTES]


class Problem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("batch", "in_channels", "out_channels", "groups", "rank")] + [
        (name, Axis) for name in AXES
    ]

    def values(self, attribute: str) -> tuple[int, ...]:
        """An attribute's value on each axis of the rank, outermost first."""
        return tuple(getattr(getattr(self, axis), attribute) for axis in AXES[-self.rank :])


class TensorFormat(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("layout", ctypes.c_int)]


class PlanOptions(ctypes.Structure):
    _fields_ = [
        ("operation", ctypes.c_int),
        ("device", ctypes.c_int),
        ("precision", ctypes.c_int),
        ("bias", ctypes.c_int),
        ("activation", ctypes.c_int),
        ("negative_slope", ctypes.c_float),
        ("kernel", ctypes.c_char_p),
        ("input", TensorFormat),
        ("weight", TensorFormat),
        ("output", TensorFormat),
        ("strict_propagation", ctypes.c_int),
    ]


def problem_structure(fields: dict[str, Any]) -> Problem:
    """From a dictionary whose attributes are tuples, one value for each axis of the rank, outermost first."""
    rank = len(fields["input"])
    problem = Problem(rank=rank, **{name: value for name, value in fields.items() if name not in ATTRIBUTES})
    for i, axis in enumerate(AXES[-rank:]):
        setattr(problem, axis, Axis(**{name: fields[name][i] for name in ATTRIBUTES}))
    return problem

"""From shapes and arguments to a problem: PyTorch's conventions, and the checks that are not the library's own."""

from __future__ import annotations

from typing import Any, Sequence, Union

from ._c_interface import ATTRIBUTES
from ._library import InvalidProblem

IntPerAxis = Union[int, Sequence[int]]
_AXES = {1: "width", 2: "height and width", 3: "depth, height and width"}


def per_axis(name: str, value: Any, rank: int) -> tuple[int, ...]:
    """As many as there are axes, from an int, or from a sequence of one or of all."""
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(items) not in (1, rank):
        raise InvalidProblem(f"{name} is {value!r}, but it must be an int, or as many ints as there are axes: {_AXES[rank]}")
    return tuple(integer(name, item) for item in (items if len(items) == rank else items * rank))


def integer(name: str, value: Any) -> int:
    if type(value) is not int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            wanted = "an int" if name == "groups" else "an int or a tuple of ints"
            raise TypeError(f"{name} must be {wanted}, not {type(value).__name__}")
        value = value.__index__()
    if not -(2**63) <= value < 2**63:  # ctypes would cut it off
        raise InvalidProblem(f"{name} is {value}, but it must be an integer of 64 bits")
    return value


def flag(name: str, value: Any) -> bool:
    """Not of any other type, or "no" would be a yes."""
    if type(value) is not bool:
        if type(value).__name__ not in ("bool", "bool_"):  # NumPy's
            raise TypeError(f"{name} must be True or False, not {value!r}")
        value = bool(value)
    return value


def real(name: str, value: Any) -> float:
    if type(value) is not float:
        if isinstance(value, (str, bytes)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            raise TypeError(f"{name} must be a number, not {type(value).__name__}")
        value = float(value)
    return value


def attributes_per_axis(rank: int, stride: Any, padding: Any, output_padding: Any, dilation: Any) -> tuple[tuple[int, ...], ...]:
    return (per_axis("stride", stride, rank), per_axis("padding", padding, rank),
            per_axis("output_padding", output_padding, rank), per_axis("dilation", dilation, rank))


def attribute(name: str, value: Any, rank: int) -> Any:
    """Hashable, and of a type that is not merely equal to a right one, as 2.0 and True are."""
    if type(value) is int or (type(value) is tuple and all(type(item) is int for item in value)):
        return value
    return per_axis(name, value, rank)


def output_extent(size: int, kernel: int, stride: int, padding: int, output_padding: int, dilation: int) -> int:
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1


def make_problem(
    input_shape: Sequence[int],
    weight_shape: Sequence[int],
    bias_shape: Sequence[int] | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
) -> dict[str, Any]:
    """The fields of a Problem for an input with batch, of one to three axes. The library checks what concerns the
    problem; here is what it cannot see: that shapes belong together."""
    rank = len(input_shape) - 2
    if rank not in _AXES:
        raise InvalidProblem(f"input has shape {tuple(input_shape)}, but it must have 3 to 5 dimensions")
    if len(weight_shape) != rank + 2:
        raise InvalidProblem(
            f"weight has shape {tuple(weight_shape)}, but it must be {rank + 2}-D: (in_channels, out_channels / groups, "
            f"kernel's {_AXES[rank]})"
        )
    in_channels, channels_a_group, *kernel = weight_shape
    groups = integer("groups", groups)
    stride, padding, output_padding, dilation = attributes_per_axis(rank, stride, padding, output_padding, dilation)
    problem = {
        "batch": input_shape[0],
        "in_channels": in_channels,
        "out_channels": channels_a_group * groups,
        "input": tuple(input_shape[2:]),
        "kernel": tuple(kernel),
        "stride": stride,
        "padding": padding,
        "output_padding": output_padding,
        "dilation": dilation,
        "groups": groups,
    }
    if groups < 1:
        raise InvalidProblem(f"groups is {groups}, but it must be at least 1")
    if input_shape[1] != in_channels:
        raise InvalidProblem(
            f"input of shape {tuple(input_shape)} has {input_shape[1]} channels, but weight of shape "
            f"{tuple(weight_shape)} needs {in_channels}"
        )
    divisible = in_channels % groups == 0  # if not, the library says so
    if divisible and bias_shape is not None and tuple(bias_shape) != (problem["out_channels"],):
        raise InvalidProblem(
            f"bias has shape {tuple(bias_shape)}, but with weight of shape {tuple(weight_shape)} and groups {groups} "
            f"it must be 1-D with {problem['out_channels']} elements"
        )
    return problem


def output_shape(problem: dict[str, Any]) -> tuple[int, ...]:
    axes = zip(*(problem[name] for name in ATTRIBUTES))
    return (problem["batch"], problem["out_channels"], *(output_extent(*axis) for axis in axes))


def require_input_dimensions(dimensions: int, rank: int) -> None:
    if dimensions not in (rank + 1, rank + 2):
        axes = _AXES[rank].replace(" and", ",")
        raise InvalidProblem(
            f"input has {dimensions} dimensions, but it must be {rank + 2}-D, (batch, channels, {axes}), or {rank + 1}-D "
            "without the batch"
        )

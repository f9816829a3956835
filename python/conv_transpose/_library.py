"""The compiled library: its C interface (conv_transpose_c.h), seen through ctypes.

Why ctypes and not an extension module: a plain C library serves every Python version with one file and one build, and
a call with ten arguments takes 0.55 us (an extension of the stable ABI: 0.06 us), of the 8 us that PyTorch's own
conv_transpose2d takes on a tiny problem (Python 3.11, PyTorch 2.15, 2026-11-21). What costs time in such a call is
elsewhere: see torch/_operators.py. ctypes also lets other Python threads run meanwhile, as long CPU kernels need.
"""

from __future__ import annotations

import ctypes
import operator
import os
import threading
from typing import Any

from ._c_interface import (
    ACTIVATIONS,
    ARGUMENTS,
    DEVICES,
    ELEMENT_TYPES,
    LAYOUTS,
    OPERATIONS,
    PRECISIONS,
    PlanOptions,
    TensorFormat,
    problem_structure,
)

_OK, _INVALID_ARGUMENT, _OUT_OF_MEMORY, _UNSUPPORTED = 0, 1, 3, 6  # of conv_transpose_status
_MESSAGE_BYTES = 1024
_NAME_BYTES = 256  # of a kernel


class InvalidProblem(RuntimeError, ValueError):
    """A rejected argument; the message names field, value and rule.

    Both RuntimeError, which PyTorch raises under the same conditions, and ValueError, which suits NumPy.
    """


class Unsupported(RuntimeError):
    """The request is valid, but this machine or this build cannot serve it (no GPU, say)."""


class Error(RuntimeError):
    """Running failed: a device error, for example."""


Format = tuple[str, str]  # of a tensor: element type and layout
FLOAT32: Format = ("float32", "channels_first")

# conv_transpose_arguments: pointers alone, in the order of ARGUMENTS.
Arguments = ctypes.c_void_p * len(ARGUMENTS)


class _Message(threading.local):
    """Where the library writes what went wrong, one buffer a thread."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(_MESSAGE_BYTES)


_message = _Message()


def _find() -> str:
    """The wheel holds the library beside this file; a build tree is named by an environment variable."""
    return os.environ.get("CONV_TRANSPOSE_LIBRARY") or os.path.join(os.path.dirname(__file__), "libconv_transpose.so")


def _load(path: str) -> ctypes.CDLL:
    try:
        return _declared(ctypes.CDLL(path))
    except (OSError, AttributeError) as error:  # no shared object; or another one
        raise ImportError(
            f"conv_transpose cannot load its compiled library {path}: {error}; install the wheel, or set "
            "CONV_TRANSPOSE_LIBRARY to the libconv_transpose.so of a build"
        ) from error


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """With the types of its functions."""
    pointer, integer, size, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p

    def declare(name: str, result: Any, *arguments: Any) -> None:
        function = getattr(library, "conv_transpose_" + name)
        function.restype, function.argtypes = result, arguments

    declare("plan_create", integer, pointer, pointer, pointer, pointer, size)
    declare("plan_destroy", None, pointer)
    declare("plan_kernel", text, pointer)
    declare("plan_is_last_resort", integer, pointer)
    declare("plan_workspace_bytes", size, pointer, integer)
    declare("plan_run", integer, pointer, pointer, pointer, size, pointer, pointer, size)
    declare("fastest_kernel", integer, pointer, pointer, pointer, pointer, text, size, pointer, size)
    declare("synchronize", integer, integer, pointer, pointer, size)
    declare("cuda_available", integer)
    declare("version", text)
    declare("kernel_name", text, size)
    declare("set_cpu_threads", None, integer)
    return library


path = _find()
library = _load(path)
_run = library.conv_transpose_plan_run
_destroy = library.conv_transpose_plan_destroy


def _raise(status: int) -> None:
    raise_for(status, _message.buffer.value.decode(errors="replace"))


def raise_for(status: int, text: str) -> None:
    if status == _INVALID_ARGUMENT:
        raise InvalidProblem(text)
    if status == _OUT_OF_MEMORY:
        raise MemoryError(text)
    raise Unsupported(text) if status == _UNSUPPORTED else Error(text)


class Plan:
    """A problem bound to the kernel that was chosen for it. Immutable; runs from any thread."""

    __slots__ = ("_handle", "_request", "is_last_resort", "kernel", "workspace_bytes")

    def __init__(
        self,
        problem: dict[str, Any],
        *,
        operation: str = "forward",
        device: str = "automatic",
        precision: str = "float32",
        bias: bool = False,
        activation: str = "none",
        negative_slope: float = 0.01,
        strict_propagation: bool = False,
        input: Format = FLOAT32,
        weight: Format = FLOAT32,
        output: Format = FLOAT32,
        kernel: str = "",
    ) -> None:
        """`problem` holds the fields of Problem, attributes as tuples: (height, width), or as many as there are axes.
        A gradient has its tensor's format, a bias and its gradient the weight's element type. `kernel` names the one to use."""
        fields = problem_structure(problem)
        options = PlanOptions(
            OPERATIONS.index(operation),
            DEVICES.index(device),
            PRECISIONS.index(precision),
            bias,
            ACTIVATIONS.index(activation),
            negative_slope,
            kernel.encode(),
            *(TensorFormat(ELEMENT_TYPES.index(type), LAYOUTS.index(layout)) for type, layout in (input, weight, output)),
            strict_propagation,
        )
        self._request = fields, options
        handle, buffer = ctypes.c_void_p(), _message.buffer
        self._handle = None
        status = library.conv_transpose_plan_create(
            ctypes.byref(fields), ctypes.byref(options), ctypes.byref(handle), buffer, _MESSAGE_BYTES
        )
        if status != _OK:
            _raise(status)
        self._handle = handle.value
        self.kernel: str = library.conv_transpose_plan_kernel(handle).decode()
        self.is_last_resort = bool(library.conv_transpose_plan_is_last_resort(handle))
        self.workspace_bytes: int = library.conv_transpose_plan_workspace_bytes(handle, 0)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            _destroy(self._handle)

    def run(self, arguments: Any, workspace: int | None, stream: int) -> None:
        """Computes; `arguments` is an Arguments of addresses, `workspace` the address of workspace_bytes bytes."""
        buffer = _message.buffer
        status = _run(self._handle, arguments, workspace, self.workspace_bytes, stream, buffer, _MESSAGE_BYTES)
        if status != _OK:
            _raise(status)

    def fastest_kernel(self, arguments: Any, stream: int) -> str:
        """Name of the kernel that takes least time for this plan's problem: measured on tensors of these addresses, of which
        the result is written. Waits for the stream."""
        (fields, options), buffer = self._request, _message.buffer
        name = ctypes.create_string_buffer(_NAME_BYTES)
        status = library.conv_transpose_fastest_kernel(
            ctypes.byref(fields), ctypes.byref(options), arguments, stream, name, _NAME_BYTES, buffer, _MESSAGE_BYTES
        )
        if status != _OK:
            _raise(status)
        return name.value.decode()


def synchronize(device: str, stream: int) -> None:
    """Waits for what was enqueued on the stream."""
    buffer = _message.buffer
    status = library.conv_transpose_synchronize(DEVICES.index(device), stream, buffer, _MESSAGE_BYTES)
    if status != _OK:
        _raise(status)


def version() -> str:
    return library.conv_transpose_version().decode()


def cuda_available() -> bool:
    return bool(library.conv_transpose_cuda_available())


def kernels() -> list[str]:
    """Names of all kernels in this build, in order of preference."""
    names: list[str] = []
    while name := library.conv_transpose_kernel_name(len(names)):
        names.append(name.decode())
    return names


threads_are_chosen = False  # by set_cpu_threads(); otherwise they follow torch.set_num_threads()
threads = 0  # what the library uses; 0: one a core


def set_cpu_threads(threads: int) -> None:
    """Threads that CPU kernels use together; 0 restores the default: one a core, for torch tensors as many as PyTorch's
    own operators use."""
    global threads_are_chosen
    threads = operator.index(threads)
    if not 0 <= threads < 2**31:
        raise ValueError(f"threads is {threads}, but it must be at least 0, and an int of C")
    use_threads(threads)
    threads_are_chosen = threads > 0


def use_threads(number: int) -> None:
    global threads
    threads = number
    library.conv_transpose_set_cpu_threads(number)

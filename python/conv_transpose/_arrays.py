"""Transposed convolutions of arrays that are not PyTorch's: NumPy, CuPy, JAX, and others on the CPU, through DLPack.

An array is read where it is. What differs between array libraries is how a result is made and which stream work goes
on; each has a class here.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from typing import Any

from ._library import Arguments, InvalidProblem, Plan, synchronize
from ._problem import attribute, integer, make_problem, output_shape, require_input_dimensions

_CPU = 1  # DLDeviceType
_LEGACY_DEFAULT_STREAM = 1  # as DLPack numbers CUDA's streams


# ---------------------------------------------------------------- DLPack


class _Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):  # DLManagedTensorVersioned, up to what is read
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule_is = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is.restype, _capsule_is.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


class View:
    """An array's memory, as its library exports it. Valid while this object lives.

    The capsule is never marked as used, so it gives the memory back itself when it goes.
    """

    def __init__(self, array: Any, stream: int | None) -> None:
        keywords = {} if stream is None else {"stream": stream}
        try:
            self._capsule = array.__dlpack__(max_version=(1, 0), **keywords)
        except TypeError:  # a library from before DLPack 1.0
            self._capsule = array.__dlpack__(**keywords)
        if _capsule_is(self._capsule, b"dltensor_versioned"):
            tensor = _Versioned.from_address(_capsule_pointer(self._capsule, b"dltensor_versioned")).tensor
        else:
            tensor = _Tensor.from_address(_capsule_pointer(self._capsule, b"dltensor"))
        self.address: int = (tensor.data or 0) + tensor.byte_offset
        self.shape: tuple[int, ...] = tuple(tensor.shape[: tensor.ndim])
        self.is_contiguous: bool = self._has_dense_strides(tensor)
        self.is_float32: bool = (tensor.type_code, tensor.bits, tensor.lanes) == (2, 32, 1)

    def _has_dense_strides(self, tensor: _Tensor) -> bool:
        if not tensor.strides or 0 in self.shape:
            return True
        expected = 1
        for axis in reversed(range(tensor.ndim)):
            if self.shape[axis] != 1 and tensor.strides[axis] != expected:
                return False
            expected *= self.shape[axis]
        return True


# ---------------------------------------------------------------- array libraries


class _NumPyView:
    """A dense float32 array's memory, or a workspace's. Not by DLPack, by which NumPy 1 exports no read-only array."""

    def __init__(self, array: Any) -> None:
        self.address: int = array.__array_interface__["data"][0]
        self.shape: tuple[int, ...] = array.shape
        self.is_contiguous: bool = array.flags.c_contiguous
        self.is_float32: bool = array.dtype == "float32"


class _NumPy:
    """Also for arrays of unknown libraries on the CPU, which become NumPy's."""

    def __init__(self, array: Any) -> None:
        import numpy

        self.module = numpy

    def current_device(self) -> Any:
        """While this context is entered, the library works on the array's device."""
        return contextlib.nullcontext()

    @property
    def stream(self) -> int | None:
        """As DLPack numbers it."""
        return None

    def dense(self, array: Any) -> Any:
        """Contiguous float32; ready to be read on the stream."""
        numpy = self.module
        array = array if isinstance(array, numpy.ndarray) else numpy.from_dlpack(array)
        return numpy.ascontiguousarray(array, dtype=numpy.float32)

    def view(self, array: Any) -> Any:
        return _NumPyView(array)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.module.empty(shape, dtype)

    def finish(self, result: Any, dtype: Any) -> Any:
        return result.astype(dtype, copy=False)


class _CuPy(_NumPy):
    """On the current stream of the array's device, without waiting."""

    def __init__(self, array: Any) -> None:
        import cupy

        self.module = cupy
        self.device = array.device

    def view(self, array: Any) -> Any:
        return View(array, self.stream)

    def current_device(self) -> Any:
        return self.device

    @property
    def stream(self) -> int | None:
        # CuPy writes CUDA's legacy default stream as 0, DLPack as 1.
        return self.module.cuda.get_current_stream().ptr or _LEGACY_DEFAULT_STREAM

    def dense(self, array: Any) -> Any:
        return self.module.ascontiguousarray(array, dtype=self.module.float32)


class _Jax(_NumPy):
    """Computes eagerly; for what JAX traces see _jax.py.

    On CUDA the call waits for the result: JAX does not say which stream is the caller's.
    """

    def __init__(self, array: Any) -> None:
        import jax.numpy

        self.module = jax.numpy
        self.device = next(iter(array.devices()))

    def view(self, array: Any) -> Any:
        return View(array, self.stream)

    @property
    def stream(self) -> int | None:
        return None if self.device.platform == "cpu" else _LEGACY_DEFAULT_STREAM

    def dense(self, array: Any) -> Any:
        return self.module.asarray(array, dtype=self.module.float32)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array that nobody else has seen, so that writing into it once breaks no promise of JAX's."""
        return self.module.zeros(shape, dtype, device=self.device).block_until_ready()

    def finish(self, result: Any, dtype: Any) -> Any:
        if self.stream is not None:
            synchronize("cuda", self.stream)
        return result.astype(dtype)


def _root(array: Any) -> str:
    """The package that an array comes from."""
    return type(array).__module__.partition(".")[0]


def _library_of(array: Any) -> Any:
    root = _root(array)
    if root in ("cupy", "jax", "jaxlib"):
        return _CuPy(array) if root == "cupy" else _Jax(array)
    if array.__dlpack_device__()[0] != _CPU:
        raise TypeError(f"conv_transpose(): on CUDA, arrays of torch, cupy and jax are supported, not {type(array)}")
    return _NumPy(array)


# ---------------------------------------------------------------- the convolution


@functools.lru_cache(maxsize=1024)
def _plan(device: str, device_id: int, input_shape: Any, weight_shape: Any, bias_shape: Any, stride: Any, padding: Any,
          output_padding: Any, groups: Any, dilation: Any, precision: str, strict_propagation: bool, activation: str,
          negative_slope: float) -> Any:
    problem = make_problem(input_shape, weight_shape, bias_shape, stride, padding, output_padding, groups, dilation)
    plan = Plan(problem, device=device, precision=precision, bias=bias_shape is not None, activation=activation,
                negative_slope=negative_slope, strict_propagation=strict_propagation)
    return plan, output_shape(problem)


def _is_of_unknown_library(array: Any) -> bool:
    """On the CPU, and with nothing known but that it exports its memory."""
    return (_root(array) not in ("numpy", "cupy", "jax", "jaxlib", "torch") and hasattr(array, "__dlpack__")
            and array.__dlpack_device__()[0] == _CPU)


def _check(arrays: dict[str, Any], traced: bool = False) -> None:
    """Of arrays that JAX traces there is no memory and no device yet."""
    first_name, first = next(iter(arrays.items()))
    for name, array in arrays.items():
        if is_torch_tensor(array):
            raise TypeError(f"conv_transpose(): {name} is a torch.Tensor, but {first_name} is a {type(first).__name__}; "
                            "all must be of one library")
        if not (traced or hasattr(array, "__dlpack__")) or not hasattr(array, "dtype"):
            raise TypeError(f"conv_transpose(): {name} must be an array (NumPy, CuPy, JAX, torch or with __dlpack__), "
                            f"not {type(array).__name__}")
        if hasattr(array, "mask") and _root(array) == "numpy":
            raise TypeError(f"conv_transpose(): {name} is a masked array, whose mask would not count; fill it, as in "
                            f"{name}.filled(0)")
        if str(array.dtype) not in ("float32", "float16", "bfloat16"):
            raise InvalidProblem(f"{name} is {array.dtype}, but it must be float32, float16 or bfloat16; convert it, as "
                                 f"in {name}.astype('float32')")
        if array.dtype != first.dtype:
            raise InvalidProblem(f"{name} is {array.dtype}, but it must be {first.dtype}, as {first_name} is")
        if not traced and tuple(array.__dlpack_device__()) != tuple(first.__dlpack_device__()):
            raise InvalidProblem(f"{name} is not on the device on which {first_name} is")


def conv_transpose(rank: int | None, input: Any, weight: Any, bias: Any, *attributes: Any) -> Any:
    """`rank` None: what the weight has."""
    arrays = {"input": input, "weight": weight} if bias is None else {"input": input, "weight": weight, "bias": bias}
    if "jax" in sys.modules and any(_root(array) == "jax" for array in arrays.values()):
        from . import _jax

        if _jax.is_traced(*arrays.values()):
            _check(arrays, traced=True)
            stride, padding, output_padding, groups, dilation, _, _, activation, negative_slope = attributes
            return _jax.conv_transpose(rank_of(weight, rank), input, weight, bias, stride, padding, output_padding, groups,
                                       dilation, activation, negative_slope)
    if all(_is_of_unknown_library(array) for array in arrays.values()):
        import numpy

        result = conv_transpose(rank, numpy.from_dlpack(input), numpy.from_dlpack(weight),
                                None if bias is None else numpy.from_dlpack(bias), *attributes)
        return input.__array_namespace__().from_dlpack(result) if hasattr(input, "__array_namespace__") else result
    _check(arrays)
    rank = rank_of(weight, rank)
    require_input_dimensions(input.ndim, rank)
    library = _library_of(input)
    with library.current_device():
        return _convolve(library, rank, input, weight, bias, *attributes)


def rank_of(weight: Any, rank: int | None) -> int:
    if rank is not None:
        return rank
    if not hasattr(weight, "ndim"):
        raise TypeError(f"conv_transpose(): weight must be an array, not {type(weight).__name__}")
    if weight.ndim not in (3, 4, 5):
        raise InvalidProblem(f"weight has shape {tuple(weight.shape)}, but it must have 3 to 5 dimensions: (in_channels, "
                             "out_channels / groups, and the kernel's size on each axis)")
    return weight.ndim - 2


def _convolve(library: Any, rank: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
              output_padding: Any, groups: Any, dilation: Any, precision: str, strict_propagation: bool, activation: str,
              negative_slope: float) -> Any:
    device_type, device_id = input.__dlpack_device__()
    batched = input if input.ndim == rank + 2 else input.reshape((1, *input.shape))
    plan, shape = _plan("cpu" if device_type == _CPU else "cuda", device_id, tuple(batched.shape), tuple(weight.shape),
                        None if bias is None else tuple(bias.shape), attribute("stride", stride, rank),
                        attribute("padding", padding, rank), attribute("output_padding", output_padding, rank),
                        integer("groups", groups), attribute("dilation", dilation, rank), precision, strict_propagation,
                        activation, negative_slope)
    # Kept until the end: CuPy's pool gives memory back in the order of the stream, and JAX is waited for.
    dense = [None if array is None else library.dense(array) for array in (batched, weight, bias)]
    result = library.empty(shape, "float32")
    if batched.shape[0] > 0:
        views = [None if array is None else library.view(array) for array in (*dense, result)]
        for view in views:
            if view is not None and not (view.is_contiguous and view.is_float32):
                raise InvalidProblem(f"an array of shape {view.shape} could not be made contiguous float32")
        workspace = library.empty((plan.workspace_bytes + 256,), "uint8") if plan.workspace_bytes else None
        workspace_view = None if workspace is None else library.view(workspace)
        plan.run(Arguments(*(None if view is None else view.address for view in views)),
                 None if workspace_view is None else -(-workspace_view.address // 256) * 256, library.stream or 0)
    result = library.finish(result, input.dtype)
    return result if input.ndim == rank + 2 else result.reshape(result.shape[1:])


def is_torch_tensor(array: Any) -> bool:
    """Or something that stands for one, as torch.fx's proxies do."""
    torch = sys.modules.get("torch")
    return torch is not None and (isinstance(array, torch.Tensor) or hasattr(type(array), "__torch_function__"))

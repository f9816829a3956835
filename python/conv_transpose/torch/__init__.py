"""Transposed convolutions for PyTorch: a function, a module and a converter that train.

    import conv_transpose.torch as ct
    output = ct.conv_transpose2d(input, weight, bias, stride=2, padding=1)   # as torch.nn.functional's
    layer = ct.ConvTranspose2d(64, 3, 4, stride=2, padding=1)                # as torch.nn's
    ct.convert(model)                                                       # every nn.ConvTranspose2d of a model

They work on CPU and CUDA, on the current stream, without waiting for the GPU; under autograd in both modes and to any
order, torch.func (vmap, too), autocast, torch.compile, torch.export, ONNX export, torch.fx, torch.jit, CUDA graphs,
DistributedDataParallel and DTensor. Before a CUDA graph is captured, run the same problem once, as
for PyTorch's own layers. Results are bitwise repeatable, gradients included.

Formats: float32 is computed as it is. float16 and bfloat16 are computed through float32: converted, computed, rounded
once. Other formats (float64, complex, integers) are left to PyTorch's own operator, which a warning says once. Inputs may be
noncontiguous, expanded or channels_last; they are brought into contiguous order first, and outputs are contiguous.

Precision: None follows torch.backends.cudnn.conv.fp32_precision (in older PyTorch torch.backends.cudnn.allow_tf32), as PyTorch's own layers do; "float32", "tf32" and "tf32x3" ask
for one. It is a permission: where there is no tensor-core kernel for it, float32 runs.
"""

from ._conversion import Conversion, convert, revert
from . import _batching, _derivatives, _tools  # noqa: F401  (add to the operators)
from ._function import activate, conv_transpose2d
from ._module import ConvTranspose2d

__all__ = ["ConvTranspose2d", "Conversion", "conv_transpose2d", "convert", "revert"]

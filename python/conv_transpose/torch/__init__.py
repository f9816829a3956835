"""Transposed convolutions for PyTorch: a function, a module and a converter that train.

    import conv_transpose.torch as ct
    output = ct.conv_transpose2d(input, weight, bias, stride=2, padding=1)   # as torch.nn.functional's
    layer = ct.ConvTranspose2d(64, 3, 4, stride=2, padding=1)                # as torch.nn's
    ct.convert(model)                                                       # every nn.ConvTranspose1d to 3d of a model

They work on CPU and CUDA, on the current stream, without waiting for the GPU; under autograd in both modes and to any
order, torch.func (vmap, too), autocast, torch.compile, torch.export, ONNX export, torch.fx, torch.jit, CUDA graphs,
DistributedDataParallel and DTensor. Before a CUDA graph is captured, run the same problem once, as for PyTorch's own
layers. Results are bitwise repeatable, gradients included.

Kernels are chosen by estimate; on CUDA, while torch.backends.cudnn.benchmark is on, by measurement when a problem is first
met, unless PyTorch is asked to be deterministic. What was chosen stays for the process.

Formats: float32, float16 and bfloat16, contiguous or channels_last, are read as they are where the library has kernels for
them; otherwise layouts are converted first, then types (to float32, rounded once). Results have the memory format that
PyTorch's layers give. Other formats (float64, complex, integers) are left to PyTorch's own operator, which a warning says
once.

One and three axes: conv_transpose1d, conv_transpose3d, ConvTranspose1d, ConvTranspose3d. What there is no kernel for is
left to PyTorch's own operator, which a warning says once.

Precision: None follows torch.backends.cudnn.conv.fp32_precision (in older PyTorch torch.backends.cudnn.allow_tf32), as
PyTorch's own layers do; "float32", "tf32" and "tf32x3" ask for one. It is a permission: where there is no tensor-core
kernel for it, float32 runs.
"""

from ._conversion import Conversion, convert, revert
from . import _batching, _derivatives, _tools  # noqa: F401  (add to the operators)
from ._function import activate, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ._module import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

__all__ = ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Conversion", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d", "convert", "revert"]

"""The layers. Their annotations are read by TorchScript, so they are no strings."""

from typing import TYPE_CHECKING, Any, List, Optional

import torch
from torch import Tensor, nn

from .._problem import IntPerAxis
from ._calls import FOLLOW_PYTORCH, STRICT
from ._function import conv_transpose1d, conv_transpose2d, conv_transpose3d

_FUNCTIONS = {1: conv_transpose1d, 2: conv_transpose2d, 3: conv_transpose3d}


_Base: Any = nn.modules.conv._ConvTransposeNd if TYPE_CHECKING else object


class _ConvTranspose(_Base):
    """What the layers of all ranks share; PyTorch's own are the other base."""

    precision: Optional[str]
    strict_propagation: bool = False  # of layers that an earlier version pickled, too

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntPerAxis,
        stride: IntPerAxis = 1,
        padding: IntPerAxis = 0,
        output_padding: IntPerAxis = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: IntPerAxis = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        *,
        precision: Optional[str] = None,
        strict_propagation: bool = False,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation,
                         padding_mode, device, dtype)
        self.precision = precision
        self.strict_propagation = strict_propagation

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"padding_mode is '{self.padding_mode}', but only 'zeros' is supported for transposed convolutions")
        rank = len(self.kernel_size)
        if torch.jit.is_scripting():
            precision = self.precision
            products = "auto" if precision is None else precision
            batched = input if input.dim() == rank + 2 else input.unsqueeze(0)
            output = torch.ops.conv_transpose.conv_transpose2d(
                batched, self.weight, self.bias, self.stride, self.padding,
                self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, rank, self.dilation),
                self.groups, self.dilation, products + "+strict" if self.strict_propagation else products)
            return output if input.dim() == rank + 2 else output.squeeze(0)
        else:
            output_padding = self.output_padding
            if output_size is not None:
                output_padding = tuple(self._output_padding(input, output_size, self.stride, self.padding,
                                                            self.kernel_size, rank, self.dilation))
            return _FUNCTIONS[rank](input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups,
                                    self.dilation, precision=self.precision,
                                    strict_propagation=self.strict_propagation)

    def extra_repr(self) -> str:
        text = super().extra_repr()
        if self.precision is not None:
            text += f", precision={self.precision}"
        return text + ", strict_propagation=True" if self.strict_propagation else text


class ConvTranspose1d(_ConvTranspose, nn.ConvTranspose1d):
    """torch.nn.ConvTranspose1d, computed by this library; as ConvTranspose2d, with a width alone."""


class ConvTranspose2d(_ConvTranspose, nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d, computed by this library: the same arguments, parameters and state_dict.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W); weight (in_channels, out_channels / groups, *kernel_size);
    output as conv_transpose2d says. `precision` ("float32", "tf32", "tf32x3", or None to follow
    torch.backends.cudnn.conv.fp32_precision) and `strict_propagation` may be given to the constructor, or set later.
    """


class ConvTranspose3d(_ConvTranspose, nn.ConvTranspose3d):
    """torch.nn.ConvTranspose3d, computed by this library; as ConvTranspose2d, with a depth before height and width."""


assert (FOLLOW_PYTORCH, STRICT) == ("auto", "+strict")  # as forward() has it for scripts, which see no other module's constants

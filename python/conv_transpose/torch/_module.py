"""The layer."""

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor, nn

from ._function import conv_transpose2d


class ConvTranspose2d(nn.ConvTranspose2d):
    """torch.nn.ConvTranspose2d, computed by this library: the same arguments, parameters and state_dict.

    Shapes: input (N, in_channels, H, W) or (in_channels, H, W); weight (in_channels, out_channels / groups, *kernel_size);
    output as conv_transpose2d says. `precision` ("float32", "tf32", "tf32x3", or None to follow
    torch.backends.cudnn.allow_tf32) may be given to the constructor, or set later.
    """

    precision: Optional[str] = None

    def __init__(self, *args: Any, precision: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.precision = precision

    def forward(self, input: Tensor, output_size: Optional[list[int]] = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"padding_mode is {self.padding_mode!r}, but only 'zeros' is supported for ConvTranspose2d")
        output_padding = self.output_padding
        if output_size is not None:
            output_padding = tuple(self._output_padding(input, output_size, self.stride, self.padding,
                                                        self.kernel_size, 2, self.dilation))
        return conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups,
                                self.dilation, precision=self.precision)

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.precision is None else f"{text}, precision={self.precision}"

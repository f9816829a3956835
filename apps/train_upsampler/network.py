"""The network: FSRCNN's plan (shrink, map, expand, one transposed convolution that enlarges), in colour, where every
layer is a transposed convolution. A convolution is one of stride 1 with its kernel turned round; without padding
("valid"), so that a picture may be cut into tiles, the padding of the transposed one is kernel - 1."""

from __future__ import annotations

import torch
from torch import nn

import conv_transpose.torch

SLOPE = 0.1
SCALE = 2
# (kernel, output channels) of the layers before the last one.
LAYERS = ((5, 32), (1, 16), (3, 16), (3, 16), (3, 16), (1, 32))
LAST_KERNEL, LAST_PADDING = 6, 4
# A picture loses 10 pixels in the layers; the last one makes (n - 1) * 2 - 2 * 4 + 6 of n. So 2 * (n - 12) are left.
BORDER = 6


class Upsampler(nn.Module):
    """(batch, 3, height, width) to (batch, 3, 2 * (height - 12), 2 * (width - 12)), values 0 to 1.

    `layer` is the class of its layers: this library's, or PyTorch's own nn.ConvTranspose2d.
    """

    def __init__(self, layer: type[nn.ConvTranspose2d] = conv_transpose.torch.ConvTranspose2d) -> None:
        super().__init__()
        channels = 3
        self.layers = nn.ModuleList()
        for kernel, out_channels in LAYERS:
            self.layers.append(layer(channels, out_channels, kernel, padding=kernel - 1))
            channels = out_channels
        self.enlarge = layer(channels, 3, LAST_KERNEL, stride=SCALE, padding=LAST_PADDING)
        for module in (*self.layers, self.enlarge):
            # Keeps the variance of what passes through; each output of the last layer sees a quarter of its taps.
            fan_in = module.in_channels * module.kernel_size[0] * module.kernel_size[1] / module.stride[0] ** 2
            nn.init.normal_(module.weight, std=(2 / fan_in) ** 0.5)
            nn.init.zeros_(module.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = nn.functional.leaky_relu(layer(x), SLOPE)
        return self.enlarge(x)


def enlarge(model: nn.Module, small: torch.Tensor) -> torch.Tensor:
    """A whole picture (3, height, width), its border repeated outwards, as the application `upsample` does."""
    with torch.no_grad():
        padded = nn.functional.pad(small[None], (BORDER,) * 4, mode="replicate")
        return model(padded)[0].clamp(0, 1)

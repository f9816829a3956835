"""The network: FSRCNN's plan (shrink, map, expand, one transposed convolution that enlarges), in colour, beside a second
path that enlarges the input itself and begins as Pillow's bicubic filter. Every layer is a transposed convolution. A
convolution is one of stride 1 with its kernel turned round; without padding ("valid"), so that a picture may be cut into
tiles, the padding of the transposed one is kernel - 1."""

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
# The second path: a bicubic filter has 8 taps at scale 2; a padding of 3 centres it, and one of 12 more, twice the
# border, leaves what the first path leaves.
SKIP_KERNEL, SKIP_PADDING = 8, 3 + SCALE * BORDER


def bicubic_kernel() -> torch.Tensor:
    """(8, 8): Catmull-Rom's cubic at the distances, in pixels of the input, of an output pixel's neighbours."""
    x = ((torch.arange(SKIP_KERNEL) - (SKIP_KERNEL - 1) / 2) / SCALE).abs()
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    taps = torch.where(x < 1, near, far)
    return taps[:, None] * taps


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
        self.skip = layer(3, 3, SKIP_KERNEL, stride=SCALE, padding=SKIP_PADDING)
        for module in (*self.layers, self.enlarge, self.skip):
            # Keeps the variance of what passes through.
            fan_in = module.in_channels * module.kernel_size[0] * module.kernel_size[1]
            nn.init.normal_(module.weight, std=(2 / fan_in) ** 0.5)
            nn.init.zeros_(module.bias)
        with torch.no_grad():
            self.enlarge.weight *= 0.01  # at first a picture is enlarged by the bicubic filter
            self.skip.weight.copy_(torch.eye(3)[:, :, None, None] * bicubic_kernel())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skipped = self.skip(x)
        for layer in self.layers:
            x = nn.functional.leaky_relu(layer(x), SLOPE)
        return self.enlarge(x) + skipped


def enlarge(model: nn.Module, small: torch.Tensor) -> torch.Tensor:
    """A whole picture (3, height, width), its border repeated outwards, as the application `upsample` does."""
    with torch.no_grad():
        padded = nn.functional.pad(small[None], (BORDER,) * 4, mode="replicate")
        return model(padded)[0].clamp(0, 1)

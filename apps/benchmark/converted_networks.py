#!/usr/bin/env python3
"""Times networks before and after conv_transpose.torch.convert(): what one line changes for a whole model.

  PYTHONPATH=python CONV_TRANSPOSE_LIBRARY=build/python/libconv_transpose.so converted_networks.py

Networks have random weights and the sizes of published ones: the upsampling stacks of HiFi-GAN, EnCodec and DAC
(ConvTranspose1d), 3-D U-Nets as nnU-Net (MONAI's DynUNet: ConvTranspose3d, kernel = stride) and MONAI's UNet (kernel 3,
stride 2) make them, SAM's mask upscaling and Mask R-CNN's mask head (ConvTranspose2d). Outputs are compared first.
Ours and PyTorch's run in alternation; what is printed are medians.
"""
import argparse
import copy
import statistics
import time
import warnings

import torch
from torch import nn

import conv_transpose.torch as ct


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=7, help="timings, of which the median counts (default: %(default)s)")
    parser.add_argument("--format", default="float32", choices=("float32", "float16", "bfloat16"),
                        help="float32 is TF32 on CUDA, as PyTorch's default; others by autocast (default: %(default)s)")
    parser.add_argument("--only", choices=("inference", "training step"), help="leaves out the other")
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS))
    return parser.parse_args()


def upsampling_stack(layers):
    """A vocoder's: transposed convolutions with LeakyReLU between."""
    steps = []
    for layer in layers:
        steps += [nn.LeakyReLU(0.1), nn.ConvTranspose1d(*layer)]
    return nn.Sequential(*steps)


class UNet3d(nn.Module):
    """Two convolutions a level, halved by stride, doubled by a transposed convolution with kernel 2 and stride 2."""

    def __init__(self, channels):
        super().__init__()

        def block(inputs, outputs, stride=1):
            return nn.Sequential(nn.Conv3d(inputs, outputs, 3, stride, 1), nn.InstanceNorm3d(outputs), nn.LeakyReLU(),
                                 nn.Conv3d(outputs, outputs, 3, 1, 1), nn.InstanceNorm3d(outputs), nn.LeakyReLU())

        pairs = list(zip(channels, channels[1:]))
        self.down = nn.ModuleList([block(1, channels[0]), *(block(a, b, 2) for a, b in pairs)])
        self.up = nn.ModuleList([nn.ConvTranspose3d(b, a, 2, 2) for a, b in reversed(pairs)])
        self.join = nn.ModuleList([block(2 * a, a) for a, _ in reversed(pairs)])
        self.head = nn.Conv3d(channels[0], 3, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(x)
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, reversed(kept[:-1])):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x)


class Snake(nn.Module):
    """DAC's activation."""

    def __init__(self, channels):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1, channels, 1))

    def forward(self, x):
        return x + (self.alpha * x).sin().square() / (self.alpha + 1e-9)


def snake_stack(layers):
    """DAC's: transposed convolutions behind Snake."""
    steps = []
    for layer in layers:
        steps += [Snake(layer[0]), nn.ConvTranspose1d(*layer)]
    return nn.Sequential(*steps)


class MonaiUNet(nn.Module):
    """MONAI's UNet of three axes without residual units: a level is one convolution of stride 2, its way back a transposed
    one with kernel 3 and output padding; what lies below is joined to the input of each level."""

    def __init__(self, channels, inputs=1, outputs=2):
        super().__init__()
        first, *deeper = channels

        def step(convolution, outputs):
            return nn.Sequential(convolution, nn.InstanceNorm3d(outputs), nn.PReLU())

        self.down = step(nn.Conv3d(inputs, first, 3, 2, 1), first)
        if len(deeper) > 1:
            self.below, joined = MonaiUNet(deeper, first, first), 2 * first
        else:
            self.below, joined = step(nn.Conv3d(first, deeper[0], 3, 1, 1), deeper[0]), first + deeper[0]
        self.up = step(nn.ConvTranspose3d(joined, outputs, 3, 2, 1, 1), outputs)

    def forward(self, x):
        x = self.down(x)
        return self.up(torch.cat([x, self.below(x)], 1))


# name -> network and input
NETWORKS = {
    "HiFi-GAN V1, upsampling stack, 16 x 100 frames": lambda: (
        upsampling_stack([(512, 256, 16, 8, 4), (256, 128, 16, 8, 4), (128, 64, 4, 2, 1), (64, 32, 4, 2, 1)]),
        torch.randn(16, 512, 100)),
    "EnCodec 24 kHz, upsampling stack, 16 x 75 frames": lambda: (
        upsampling_stack([(512, 256, 16, 8), (256, 128, 10, 5), (128, 64, 8, 4), (64, 32, 4, 2)]),
        torch.randn(16, 512, 75)),
    "DAC 44.1 kHz, upsampling stack, 4 x 86 frames": lambda: (
        snake_stack([(1536, 768, 16, 8, 4), (768, 384, 16, 8, 4), (384, 192, 8, 4, 2), (192, 96, 4, 2, 1)]),
        torch.randn(4, 1536, 86)),
    "3-D U-Net as DynUNet, 32 to 256 channels, 2 x 96^3": lambda: (
        UNet3d((32, 64, 128, 256)), torch.randn(2, 1, 96, 96, 96)),
    "3-D U-Net as MONAI's UNet, 16 to 256 channels, 2 x 96^3": lambda: (
        MonaiUNet((16, 32, 64, 128, 256)), torch.randn(2, 1, 96, 96, 96)),
    "SAM, mask upscaling, 8 x 64x64": lambda: (
        nn.Sequential(nn.ConvTranspose2d(256, 64, 2, 2), nn.GroupNorm(1, 64), nn.GELU(),
                      nn.ConvTranspose2d(64, 32, 2, 2), nn.GELU()),
        torch.randn(8, 256, 64, 64)),
    "Mask R-CNN, mask predictor, 100 x 14x14": lambda: (
        nn.Sequential(nn.ConvTranspose2d(256, 256, 2, 2), nn.ReLU(), nn.Conv2d(256, 91, 1)),
        torch.randn(100, 256, 14, 14)),
}


def seconds(call, device, wanted=0.1):
    """Of one call, from as many as take a while."""
    def run(times):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    once = run(1)
    times = max(1, min(200, int(wanted / once)))
    return run(times) / times


def contenders(network, x, device, dtype):
    """(what, [PyTorch's, ours]) as functions without arguments, once their outputs are seen to agree."""
    theirs = network.to(device)
    ours = copy.deepcopy(theirs)
    assert ct.convert(ours).converted  # the one line
    x = x.to(device)

    def infer(model):
        with torch.no_grad(), torch.autocast(device, dtype, enabled=dtype != torch.float32):
            return model(x)

    def train(model):
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            output = model(x)
        output.float().square().mean().backward()

    expected, got = infer(theirs), infer(ours)
    difference = ((got - expected).abs().max() / expected.abs().max()).item()
    if difference > (1e-2 if device == "cuda" or dtype != torch.float32 else 1e-4):
        raise SystemExit(f"outputs differ by {difference}")
    return [("inference", [lambda: infer(theirs), lambda: infer(ours)]),
            ("training step", [lambda: train(theirs), lambda: train(ours)])]


def main():
    arguments = parse_arguments()
    torch.backends.cudnn.benchmark = True
    device, dtype = arguments.device, getattr(torch, arguments.format)
    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{name}, PyTorch {torch.__version__}, {arguments.format}; ms\n")
    print("| network | | PyTorch | ours | |\n|---|---|---|---|---|")
    for network in arguments.networks:
        torch.manual_seed(0)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            rows = contenders(*NETWORKS[network](), device, dtype)
            for what, calls in rows:
                if arguments.only not in (None, what):
                    continue
                for call in calls:
                    call()
                times = [[seconds(call, device) for call in calls] for _ in range(arguments.rounds)]
                theirs, ours = (statistics.median(column) * 1e3 for column in zip(*times))
                print(f"| {network} | {what} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.2f}x |", flush=True)
        for text in sorted({str(warning.message)[:150] for warning in told if "no kernel" in str(warning.message)}):
            print(f"  {text}")


if __name__ == "__main__":
    main()

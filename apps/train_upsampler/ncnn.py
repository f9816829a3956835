"""Writes a trained network in ncnn's format, as the application `upsample` reads it with --model."""

from __future__ import annotations

import struct
from pathlib import Path

import torch
from torch import nn

from network import SLOPE, Upsampler

MAGIC = 7767517
FLOAT32_WEIGHTS = struct.pack("<I", 0)
LEAKY_RELU = 2
SUM = 1


def _floats(tensor: torch.Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().numpy().astype("<f4").tobytes()


def _line(kind: str, name: str, source: str, parameters: dict[int, object]) -> str:
    written = []
    for key, value in parameters.items():
        written.append(f"-{23300 + key}={len(value)},{','.join(map(str, value))}" if isinstance(value, list)
                       else f"{key}={value}")
    return f"{kind:<16} {name:<10} 1 1 {source} {name} {' '.join(written)}"


def _layer(module: nn.ConvTranspose2d, name: str, source: str, activation: bool) -> tuple[str, bytes]:
    """A layer's line and weights. ncnn keeps both kinds of weights as (out, in, kh, kw)."""
    weight = module.weight.transpose(0, 1)
    parameters = {0: module.out_channels, 1: module.kernel_size[0], 5: 1, 6: weight.numel()}
    if module.stride[0] == 1:
        kind, weight = "Convolution", weight.flip(2, 3)
    else:
        kind = "Deconvolution"
        parameters.update({3: module.stride[0], 4: module.padding[0]})
    if activation:
        parameters.update({9: LEAKY_RELU, 10: [SLOPE]})
    return _line(kind, name, source, parameters), FLOAT32_WEIGHTS + _floats(weight) + _floats(module.bias)


def export(model: Upsampler, param_file: Path) -> None:
    """Writes NAME.param and NAME.bin; each appears whole or not at all."""
    lines = [
        "Input            input      0 1 input",
        "Split            split      1 2 input input_a input_b",
    ]
    blobs, weights, source = 3, b"", "input_a"
    for i, module in enumerate((*model.layers, model.enlarge, model.skip)):
        if module is model.skip:
            enlarged, source = source, "input_b"
        name = f"layer{i + 1}"
        line, data = _layer(module, name, source, activation=module not in (model.enlarge, model.skip))
        lines.append(line)
        weights += data
        source = name
        blobs += 1
    lines.append(f"Eltwise          sum        2 1 {enlarged} {source} sum 0={SUM}")
    text = f"{MAGIC}\n{len(lines)} {blobs + 1}\n" + "\n".join(lines) + "\n"
    for path, content in ((param_file.with_suffix(".bin"), weights), (param_file, text.encode())):
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(content)
        partial.replace(path)

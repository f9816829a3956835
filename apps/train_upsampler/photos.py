"""Photos to train on and photos to judge by, and patches of them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy
import torch
from PIL import Image

# Colour photos in scikit-image's package; these two are what users' photos look like.
HELD_OUT = ("chelsea", "coffee")
TRAINING = ("astronaut", "color", "hubble_deep_field", "ihc", "motorcycle_left", "retina", "rocket")


def default_folder() -> Path:
    """Where scikit-image keeps its sample photos; it need not be importable."""
    here = Path(__file__).resolve().parents[2] / ".venv/demo-data/skimage/data"
    if here.is_dir():
        return here
    package = importlib.util.find_spec("skimage")
    if package is None or package.origin is None:
        raise SystemExit("no photos: install scikit-image, or name a folder with --photos")
    return Path(package.origin).parent / "data"


def read(path: Path) -> torch.Tensor:
    """(3, height, width) in 0 to 1; sides even, so that it can be halved."""
    picture = Image.open(path).convert("RGB")
    picture = picture.crop((0, 0, picture.width // 2 * 2, picture.height // 2 * 2))
    return torch.from_numpy(numpy.asarray(picture).copy()).permute(2, 0, 1).float() / 255


def as_picture(tensor: torch.Tensor) -> Image.Image:
    return Image.fromarray((tensor.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).cpu().numpy())


def halved(photo: torch.Tensor) -> torch.Tensor:
    """By Pillow's bicubic filter, rounded to 8 bits, as a small photo would come."""
    picture = as_picture(photo)
    small = picture.resize((picture.width // 2, picture.height // 2), Image.Resampling.BICUBIC)
    return torch.from_numpy(numpy.asarray(small).copy()).permute(2, 0, 1).float() / 255


def lanczos(small: torch.Tensor) -> torch.Tensor:
    picture = as_picture(small)
    return torch.from_numpy(numpy.asarray(picture.resize((picture.width * 2, picture.height * 2),
                                                         Image.Resampling.LANCZOS)).copy()).permute(2, 0, 1).float() / 255


def load(folder: Path, names: tuple[str, ...] | None) -> dict[str, torch.Tensor]:
    """The named photos, or all in the folder but those held out."""
    found = {}
    for path in sorted(folder.iterdir()):
        wanted = path.stem in names if names is not None else path.stem not in HELD_OUT
        if wanted and path.suffix.lower() in (".png", ".jpg", ".jpeg"):
            found[path.stem] = read(path)
    if not found:
        raise SystemExit(f"no photos in {folder}")
    return found


class Patches:
    """Draws batches of pairs: small patches with a border, and what their middle should become."""

    def __init__(self, photos: list[torch.Tensor], size: int, border: int, device: str, seed: int) -> None:
        self.pairs = [(halved(photo).to(device), photo.to(device)) for photo in photos]
        self.size, self.border, self.device = size, border, device
        self.generator = numpy.random.default_rng(seed)

    def draw(self, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        """(batch, 3, size, size), and (batch, 3, inner, inner) with inner = 2 * (size - 2 * border)."""
        inputs, targets = [], []
        areas = numpy.array([small.shape[1] * small.shape[2] for small, _ in self.pairs], dtype=float)
        for index in self.generator.choice(len(self.pairs), batch, p=areas / areas.sum()):
            small, large = self.pairs[index]
            y = int(self.generator.integers(0, small.shape[1] - self.size + 1))
            x = int(self.generator.integers(0, small.shape[2] - self.size + 1))
            b, inner = self.border, 2 * (self.size - 2 * self.border)
            pair = [small[:, y : y + self.size, x : x + self.size],
                    large[:, 2 * (y + b) : 2 * (y + b) + inner, 2 * (x + b) : 2 * (x + b) + inner]]
            flip, turn = self.generator.integers(0, 2), int(self.generator.integers(0, 4))
            pair = [torch.rot90(p.flip(2) if flip else p, turn, (1, 2)) for p in pair]
            inputs.append(pair[0])
            targets.append(pair[1])
        return torch.stack(inputs), torch.stack(targets)

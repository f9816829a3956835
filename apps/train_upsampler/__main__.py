"""Trains a small network that doubles photos, every layer of it through conv_transpose.

    python apps/train_upsampler --steps 20000 --out trained/            train; again to go on where it was stopped
    python apps/train_upsampler --steps 2000 --compare                 and train the same with PyTorch's own layers
    upsample --model trained/upsampler.param -i photo.png -o large.png  use it

Prints loss, PSNR on photos that it never trains on, and time; --out gets a checkpoint, the network in ncnn's format
and the loss of every step.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

import conv_transpose.torch
import photos
from ncnn import export
from network import BORDER, Upsampler, enlarge


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="train_upsampler", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, metavar="FOLDER",
                        help="photos to train on; chelsea and coffee are held out (default: scikit-image's samples)")
    parser.add_argument("--out", type=Path, default=Path("trained"), metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=20000,
                        help="in all, those before a resume too (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="patches a step (default: %(default)s)")
    parser.add_argument("--patch", type=int, default=48, help="side of a small patch in pixels (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=1e-3, help="Adam's highest learning rate (default: %(default)s)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save-every", type=int, default=1000, metavar="STEPS", help="default: %(default)s")
    parser.add_argument("--fp32", action="store_true", help="no TF32, which is PyTorch's default on NVIDIA GPUs")
    parser.add_argument("--compare", action="store_true", help="train with PyTorch's layers too, from the same numbers")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(arguments)


class Training:
    """A network, its optimizer and its place in the sequence of patches."""

    def __init__(self, options: argparse.Namespace, layer: type[nn.ConvTranspose2d], name: str) -> None:
        self.options, self.name, self.step = options, name, 0
        self.losses: list[float] = []
        torch.manual_seed(options.seed)
        self.model = Upsampler(layer).to(options.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), options.rate)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, options.rate, total_steps=options.steps, pct_start=0.1)
        folder = options.photos or photos.default_folder()
        training = photos.load(folder, None if options.photos else photos.TRAINING)
        self.patches = photos.Patches(list(training.values()), options.patch, BORDER, options.device, options.seed)
        self.held_out = photos.load(photos.default_folder(), photos.HELD_OUT)

    @property
    def checkpoint(self) -> Path:
        return self.options.out / f"{self.name}.checkpoint"

    def save(self) -> None:
        partial = self.checkpoint.with_suffix(".partial")
        torch.save({
            "step": self.step, "losses": self.losses, "steps": self.options.steps, "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(), "scheduler": self.scheduler.state_dict(),
            "patches": self.patches.generator.bit_generator.state,
        }, partial)
        partial.replace(self.checkpoint)

    def resume(self) -> bool:
        if not self.checkpoint.exists():
            return False
        state = torch.load(self.checkpoint, map_location=self.options.device, weights_only=True)
        if state["steps"] != self.options.steps:
            raise SystemExit(f"{self.checkpoint} is of a training of {state['steps']} steps, whose learning rates "
                             f"differ; give --steps {state['steps']}, or another --out")
        self.step, self.losses = state["step"], state["losses"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.patches.generator.bit_generator.state = state["patches"]
        return True

    def run_step(self) -> torch.Tensor:
        small, large = self.patches.draw(self.options.batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.l1_loss(self.model(small), large)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.step += 1
        return loss.detach()

    def run(self) -> None:
        """To the last step, or to an interrupt, which keeps what was reached."""
        pending: list[torch.Tensor] = []
        begin = time.perf_counter()
        try:
            while self.step < self.options.steps:
                pending.append(self.run_step())
                last = self.step == self.options.steps
                if self.step % 100 == 0 or last:
                    self.losses += torch.stack(pending).tolist()  # waits for the GPU, so not in every step
                    self.tell(len(pending), time.perf_counter() - begin)
                    pending, begin = [], time.perf_counter()
                    if self.step % self.options.save_every == 0 or last:
                        self.save()
        except KeyboardInterrupt:
            self.losses += [loss.item() for loss in pending]
            self.save()
            raise SystemExit(f"\nstopped at step {self.step}; the same command goes on from there") from None
        if not self.options.quiet:
            print()

    def tell(self, steps: int, seconds: float) -> None:
        if self.options.quiet:
            return
        recent = sum(self.losses[-100:]) / len(self.losses[-100:])
        end = "\r" if sys.stdout.isatty() else "\n"
        print(f"{self.name:>14}: step {self.step}/{self.options.steps}, loss {recent:.5f}, "
              f"{seconds / steps * 1e3:.2f} ms a step", end=end, flush=True)

    def time_of_step(self) -> float:
        """Milliseconds of forward, backward and update on one batch, without drawing patches."""
        small, large = self.patches.draw(self.options.batch)
        model, optimizer = Upsampler(type(self.model.enlarge)).to(self.options.device), None
        optimizer = torch.optim.Adam(model.parameters(), 1e-5)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            nn.functional.l1_loss(model(small), large).backward()
            optimizer.step()

        times = []
        for _ in range(30 if self.options.device != "cpu" else 5):
            begin = time.perf_counter()
            step()
            if self.options.device != "cpu":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        return sorted(times)[len(times) // 2] * 1e3


def psnr(a: torch.Tensor, b: torch.Tensor) -> float:
    """Of pictures in 8 bits, in dB."""
    difference = (a.clamp(0, 1) * 255).round() - (b.clamp(0, 1) * 255).round()
    return float(10 * torch.log10(255**2 / difference.square().mean()))


def judge(training: Training) -> list[dict[str, Any]]:
    rows = []
    for name, photo in training.held_out.items():
        small = photos.halved(photo)
        large = enlarge(training.model, small.to(training.options.device)).cpu()
        rows.append({"photo": name, "lanczos": psnr(photos.lanczos(small), photo), "network": psnr(large, photo)})
    return rows


def write_losses(path: Path, trainings: list[Training]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", *(training.name for training in trainings)])
        for step, losses in enumerate(zip(*(training.losses for training in trainings)), 1):
            writer.writerow([step, *(f"{loss:.9g}" for loss in losses)])


def compare(trainings: list[Training]) -> None:
    """How far apart the loss curves of this library's layers and PyTorch's are, at the ends of tenths of the way."""
    ours, theirs = (training.losses for training in trainings)
    print(f"\n{'step':>8} {trainings[0].name:>15} {trainings[1].name:>15} {'difference':>11}")
    window = max(1, len(ours) // 100)
    for tenth in range(1, 11):
        end = max(window, len(ours) * tenth // 10)
        a, b = (sum(losses[end - window : end]) / window for losses in (ours, theirs))
        print(f"{end:>8} {a:>15.6f} {b:>15.6f} {(a - b) / b:>+10.2%}")


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.fp32:
        torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    kinds = [("conv_transpose", conv_transpose.torch.ConvTranspose2d)]
    if options.compare:
        kinds.append(("PyTorch", nn.ConvTranspose2d))
    trainings = []
    for name, layer in kinds:
        training = Training(options, layer, name)
        if training.resume() and not options.quiet:
            print(f"{name}: going on at step {training.step} of {training.checkpoint}")
        training.run()
        trainings.append(training)
    export(trainings[0].model, options.out / "upsampler.param")
    write_losses(options.out / "losses.csv", trainings)
    for training in trainings:
        print(f"\n{training.name}: {training.time_of_step():.3f} ms a step (forward, backward, update)")
        for row in judge(training):
            print(f"  {row['photo']:<10} PSNR {row['network']:.2f} dB, Lanczos {row['lanczos']:.2f} dB")
    if options.compare:
        compare(trainings)


if __name__ == "__main__":
    main()

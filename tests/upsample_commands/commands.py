"""What tests that run the program upsample as people do have in common. Each is called

  NAME_test.py PROGRAM MODELS PICTURES     (unittest's options may follow)

MODELS is the folder of waifu2x's models and PICTURES that of libpng's test pictures; tests that need what is not there
are skipped.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
from PIL import Image

PROGRAM, MODELS, PICTURES = (pathlib.Path(argument).absolute() for argument in sys.argv[1:4])
FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
SUCCESS, PICTURE_FAILED, WRONG_COMMAND_LINE, NOT_AVAILABLE = range(4)


def run(*arguments, **options):
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    else:
        options.pop("stdin", None)
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, **options)


# A process's peak begins with that of the one which started it: this one is small, a test with its pictures is not.
STARTER = """import os, sys
_, status, usage = os.wait4(os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]), 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))"""


def peak_kilobytes(*arguments, **options):
    """The most memory that a run of the program has."""
    done = subprocess.run([sys.executable, "-S", "-c", STARTER, PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE,
                          check=True, **options)
    return int(done.stdout.split()[-1])


def read(path):
    with Image.open(path) as picture:
        picture.load()
    return picture


def photo(width, height, channels, seed=0):
    """Smooth shapes and some noise, with values away from the ends so that no filter's overshoot is clipped."""
    y, x = numpy.mgrid[0:height, 0:width]
    noise = numpy.random.default_rng(seed)
    planes = [128 + 50 * numpy.sin(x / (3 + c) + seed) * numpy.cos(y / (5 - c)) + noise.normal(0, 4, x.shape)
              for c in range(channels)]
    return numpy.clip(numpy.rint(numpy.stack(planes, -1)), 50, 205).astype(numpy.uint8).squeeze()


def pillow_resize(samples, scale, method):
    """Pillow's own resize of every channel in floating point: its 8-bit one also rounds and clips between its passes."""
    size = (samples.shape[1] * scale, samples.shape[0] * scale)
    planes = samples.reshape(samples.shape[0], samples.shape[1], -1)
    resized = [numpy.asarray(Image.fromarray(planes[..., c].astype(numpy.float32)).resize(size, method))
               for c in range(planes.shape[2])]
    return numpy.stack(resized, -1).squeeze()


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return self.folder / name

    def save(self, name, samples, **options):
        Image.fromarray(samples).save(self.path(name), **options)
        return self.path(name)

    def succeed(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, SUCCESS, result.stderr.decode())
        return result

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

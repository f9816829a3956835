"""Runs the program upsample as people do, and compares its pictures with Pillow's.

  upsample_command_test.py PROGRAM MODELS PICTURES     (unittest's options may follow)

MODELS is the folder of waifu2x's models and PICTURES that of libpng's test pictures; tests that need what is not there
are skipped.
"""

import io
import json
import os
import pathlib
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
from PIL import Image, ImageCms, PngImagePlugin

PROGRAM, MODELS, PICTURES = (pathlib.Path(argument).absolute() for argument in sys.argv[1:4])
FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
SUCCESS, PICTURE_FAILED, WRONG_COMMAND_LINE, NOT_AVAILABLE = range(4)


def run(*arguments, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, **options)


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


class Pictures(Command):
    def test_filters_equal_pillows(self):
        for channels in (1, 3):
            samples = photo(61, 47, channels)
            source = self.save("in.png", samples)
            for name, method in FILTERS.items():
                for scale in range(2, 9):
                    with self.subTest(filter=name, scale=scale, channels=channels):
                        self.succeed("-i", source, "-o", self.path("out.png"), "-s", scale, "-f", name, "--overwrite")
                        result = numpy.asarray(read(self.path("out.png"))).astype(float)
                        self.assertLessEqual(abs(result - pillow_resize(samples, scale, method)).max(), 0.501)
                        size = (61 * scale, 47 * scale)
                        eight_bits = numpy.asarray(Image.fromarray(samples).resize(size, method)).astype(float)
                        self.assertLessEqual(abs(result - eight_bits).max(), 1)

    def test_sixteen_bits_equal_pillows(self):
        samples = photo(40, 30, 1).astype(numpy.uint16) * 257
        source = self.save("in.png", samples)
        for name, method in FILTERS.items():
            self.succeed("-i", source, "-o", self.path("out.png"), "-s", 3, "-f", name, "--overwrite")
            result = read(self.path("out.png"))
            self.assertEqual(result.mode, "I;16")
            difference = numpy.asarray(result).astype(float) - pillow_resize(samples, 3, method)
            self.assertLessEqual(abs(difference).max(), 0.52, name)

    def test_alpha_equals_premultiplied_filtering(self):
        samples = photo(50, 40, 4)
        source = self.save("in.png", samples)
        self.succeed("-i", source, "-o", self.path("out.png"), "-f", "bicubic")
        alpha = samples[..., 3:].astype(float)
        color = pillow_resize(samples[..., :3] * alpha, 2, FILTERS["bicubic"])
        resized_alpha = pillow_resize(alpha.astype(numpy.float32), 2, FILTERS["bicubic"])[..., None]
        expected = numpy.concatenate([color / resized_alpha, resized_alpha], -1)
        self.assertLessEqual(abs(numpy.asarray(read(self.path("out.png"))) - expected).max(), 0.51)

    def test_profiles_are_kept(self):
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        source = self.save("in.png", photo(20, 20, 3), icc_profile=profile, dpi=(100, 100))
        self.succeed("-i", source, "-o", self.path("out.png"), "-s", 2)
        result = read(self.path("out.png"))
        self.assertEqual(result.info["icc_profile"], profile)
        self.assertAlmostEqual(result.info["dpi"][0], 200, delta=0.1)
        self.succeed("-i", source, "-o", self.path("bare.png"), "-s", 2, "--strip")
        self.assertNotIn("icc_profile", read(self.path("bare.png")).info)

    def test_linear_light_through_the_profile(self):
        """A profile whose curve is the identity makes linear light the same as no conversion."""
        samples = photo(30, 20, 3)
        source = self.save("in.png", samples)
        chunk = PngImagePlugin.PngInfo()
        chunk.add(b"gAMA", (100000).to_bytes(4, "big"))
        linear_source = self.save("gamma1.png", samples, pnginfo=chunk)
        self.succeed("-i", source, "-o", self.path("plain.png"))
        self.succeed("-i", linear_source, "-o", self.path("gamma1-out.png"), "--linear")
        self.succeed("-i", source, "-o", self.path("srgb-out.png"), "--linear")
        plain, gamma1, srgb = (numpy.asarray(read(self.path(name))).astype(int)
                               for name in ("plain.png", "gamma1-out.png", "srgb-out.png"))
        self.assertLessEqual(abs(plain - gamma1).max(), 1)
        self.assertGreater(abs(plain - srgb).max(), 1)

    def test_memory_does_not_grow_with_the_height(self):
        # The address sanitizer would keep back what is freed.
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0"}
        peaks = []
        for height in (1000, 16000):
            source = self.path("in.png")
            Image.new("L", (1500, height), 128).save(source, compress_level=1)
            process = subprocess.Popen([PROGRAM, "-i", source, "-o", self.path("out.png"), "--overwrite", "--compression", "1"],
                                       env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, SUCCESS)
            peaks.append(usage.ru_maxrss)
        self.assertLess(peaks[1], peaks[0] * 1.3 + 4096, f"KiB: {peaks}")


class Networks(Command):
    model = MODELS / "models-upconv_7_photo/scale2.0x_model.param"

    def setUp(self):
        super().setUp()
        if not self.model.is_file():
            self.skipTest(f"{self.model} is not there")

    def enlarge(self, samples, *options):
        source = self.save("in.png", samples)
        self.succeed("-i", source, "-o", self.path("out.png"), "-m", self.model, "--overwrite", *options)
        return numpy.asarray(read(self.path("out.png")))

    def test_tiles_change_nothing(self):
        samples = photo(75, 101, 3)
        whole = self.enlarge(samples, "-t", 128)
        for side in (1, 37, 64):
            self.assertTrue((self.enlarge(samples, "-t", side) == whole).all())

    def test_repeated_runs_enlarge_four_times(self):
        twice = self.enlarge(photo(14, 10, 3))
        again = self.enlarge(twice)
        at_once = self.enlarge(photo(14, 10, 3), "-s", 4)
        self.assertEqual(at_once.shape, (40, 56, 3))
        self.assertLessEqual(abs(at_once.astype(int) - again).max(), 3)  # which was rounded in between

    def test_all_kinds_of_pictures(self):
        for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
            with self.subTest(mode=mode):
                picture = Image.new(mode, (9, 8), 1 if mode == "1" else None)
                picture.save(self.path("in.png"))
                self.succeed("-i", self.path("in.png"), "-o", self.path("out.png"), "-m", self.model, "--overwrite")
                self.assertEqual(read(self.path("out.png")).size, (18, 16))

    def test_opaque_stays_opaque(self):
        samples = photo(20, 20, 4)
        samples[..., 3] = 255
        self.assertTrue((self.enlarge(samples)[..., 3] == 255).all())
        self.assertTrue((self.enlarge(samples)[..., :3] == self.enlarge(samples[..., :3])).all())

    def test_models_are_found_by_name(self):
        listed = self.succeed("--list-models", "--model-folder", MODELS).stdout.decode().split()
        self.assertIn("models-upconv_7_photo/scale2.0x_model", listed)
        source = self.save("in.png", photo(8, 8, 3))
        self.succeed("-i", source, "-o", self.path("out.png"), "-m", "models-upconv_7_photo/scale2.0x_model",
                     env=dict(os.environ, UPSAMPLE_MODELS=str(MODELS)))

    def test_cunet(self):
        self.model = MODELS / "models-cunet/scale2.0x_model.param"
        self.assertEqual(self.enlarge(photo(15, 11, 3)).shape, (22, 30, 3))


class Behaviour(Command):
    def test_exit_codes(self):
        source = self.save("in.png", photo(8, 8, 3))
        target = self.path("out.png")
        wrong = [(), ("-i", source), ("-i", source, "-o", target, "-s", 1), ("-i", source, "-o", target, "-s", 2.5),
                 ("-i", source, "-o", target, "-f", "box"), ("-i", source, "-o", target, "--unknown"),
                 ("-i", source, "-o", target, "-m", "x", "-f", "bicubic"), ("-i", source, "-o", target, "-m", "x", "-s", 3),
                 ("-i", source, "-o", "-", "--json"), ("-i", source, "-o", target, "--overwrite", "--skip-existing")]
        for arguments in wrong:
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, WRONG_COMMAND_LINE)
                self.assertTrue(result.stderr)
        self.assertEqual(run("-i", source, "-o", target, "-m", self.path("none.param")).returncode, NOT_AVAILABLE)
        self.assertEqual(run("-i", self.path("none.png"), "-o", target).returncode, PICTURE_FAILED)
        self.assertEqual(run("--help").returncode, SUCCESS)
        self.assertEqual(run("--version").returncode, SUCCESS)
        self.assertEqual(self.names(), ["in.png"])

    def test_existing_files(self):
        source, target = self.save("in.png", photo(8, 8, 3)), self.path("out.png")
        target.write_text("mine")
        self.assertEqual(run("-i", source, "-o", target).returncode, PICTURE_FAILED)
        self.succeed("-i", source, "-o", target, "--skip-existing")
        self.assertEqual(target.read_text(), "mine")
        self.succeed("-i", source, "-o", target, "--overwrite")
        self.assertEqual(read(target).size, (16, 16))
        self.succeed("-i", source, "-o", source, "--overwrite")
        self.assertEqual(read(source).size, (16, 16))

    def test_pipes(self):
        source = self.save("in.png", photo(8, 8, 3))
        with source.open("rb") as stream:
            result = self.succeed("-i", "-", "-o", "-", stdin=stream)
        self.assertEqual(Image.open(io.BytesIO(result.stdout)).size, (16, 16))
        cut = subprocess.run([PROGRAM, "-i", "-", "-o", "-"], input=source.read_bytes()[:-20], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.assertEqual((cut.returncode, cut.stdout), (PICTURE_FAILED, b""))

    def test_a_folder_goes_on_after_a_bad_file(self):
        pictures = self.path("pictures")
        pictures.mkdir()
        for name in ("a.png", "c.PNG"):
            Image.fromarray(photo(8, 8, 3)).save(pictures / name)
        (pictures / "b.png").write_bytes(b"no picture")
        (pictures / "notes.txt").write_text("no picture either")
        result = run("-i", pictures, "-o", self.path("large"), "--json")
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertEqual(sorted(p.name for p in self.path("large").iterdir()), ["a.png", "c.PNG"])
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["status"] for line in lines], ["enlarged", "failed", "enlarged"])
        self.assertEqual((lines[0]["width"], lines[0]["channels"], lines[0]["bits"]), (16, 3, 8))
        self.assertIn("b.png", result.stderr.decode().splitlines()[-1])
        again = run("-i", pictures, "-o", self.path("large"), "--json", "--skip-existing")
        self.assertEqual([json.loads(line)["status"] for line in again.stdout.splitlines()], ["skipped", "failed", "skipped"])

    def test_a_signal_leaves_nothing(self):
        whole = self.save("in.png", photo(400, 400, 3)).read_bytes()
        whole_name = self.path("in.png")
        whole_name.unlink()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([PROGRAM, "-i", "-", "-o", self.path("out.png")], stdin=subprocess.PIPE,
                                       preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))  # nohup may ignore it
            process.stdin.write(whole[: len(whole) // 2])
            process.stdin.flush()  # the rest never comes
            deadline = time.monotonic() + 60
            while not self.names() and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(len(self.names()), 1)
            process.send_signal(number)
            self.assertEqual(process.wait(60), -number)
            process.stdin.close()
            self.assertEqual(self.names(), [])

    def test_a_full_disk_leaves_nothing(self):
        source = self.save("in.png", photo(300, 300, 3))

        def limit_file_size():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

        result = run("-i", source, "-o", self.path("out.png"), preexec_fn=limit_file_size)
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("File too large", result.stderr.decode())
        self.assertEqual(self.names(), ["in.png"])
        with open("/dev/full", "wb") as full:
            piped = subprocess.run([PROGRAM, "-i", source, "-o", "-"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(piped.returncode, PICTURE_FAILED)
        self.assertIn("No space left", piped.stderr.decode())

    def test_a_folder_that_cannot_be_written(self):
        source = self.save("in.png", photo(8, 8, 3))
        result = run("-i", source, "-o", self.path("none/out.png"))
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("No such file or directory", result.stderr.decode())

    def test_limits(self):
        source = self.save("in.png", photo(40, 40, 3))
        result = run("-i", source, "-o", self.path("out.png"), "--max-pixels", 1599)
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("--max-pixels", result.stderr.decode())
        self.succeed("-i", source, "-o", self.path("out.png"), "--max-pixels", 1600)

    def test_manual_and_completion_name_every_option(self):
        sources = pathlib.Path(__file__).parents[1] / "apps/upsample"
        options = set(re.findall(r"--[a-z-]+", self.succeed("--help").stdout.decode()))
        self.assertGreater(len(options), 20)
        manual = (sources / "upsample.1").read_text().replace("\\-", "-")
        completion = (sources / "upsample.bash").read_text()
        self.assertEqual(options - set(re.findall(r"--[a-z-]+", manual)) - {"--help", "--version", "--input", "--output"}, set())
        self.assertEqual(options - set(re.findall(r"--[a-z-]+", completion)), set())

    def terminal_output(self, *arguments):
        parent, child = pty.openpty()
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stderr=child, stdout=subprocess.DEVNULL)
        os.close(child)
        output = b""
        while select.select([parent], [], [], 60)[0]:
            try:
                data = os.read(parent, 4096)
            except OSError:  # the other end was closed
                break
            if not data:
                break
            output += data
        os.close(parent)
        self.assertEqual(process.wait(60), SUCCESS)
        return output.decode()

    def test_progress_is_for_terminals(self):
        source = self.save("in.png", photo(200, 200, 3))
        arguments = ("-i", source, "-o", self.path("out.png"), "--overwrite")
        self.assertEqual(self.succeed(*arguments).stderr, b"")
        shown = self.terminal_output(*arguments)
        self.assertIn("in.png [", shown)
        self.assertIn("100%", shown)
        self.assertIn("rows/s", shown)
        self.assertTrue(shown.endswith("\r\033[K"), repr(shown[-40:]))
        self.assertEqual(self.terminal_output(*arguments, "-q"), "")


class LibpngPictures(Command):
    """PngSuite, libpng's own test pictures, and files that crashed decoders once."""

    def setUp(self):
        super().setUp()
        if not (PICTURES / "complete").is_file():
            self.skipTest(f"libpng's pictures are not in {PICTURES}")

    def test_enlarged_pictures_equal_pillows(self):
        compared = 0
        pictures = sorted(path for path in PICTURES.rglob("*.png") if "crashers" not in path.parts)
        self.assertGreater(len(pictures), 150)
        for path in pictures:
            with self.subTest(picture=path.relative_to(PICTURES)):
                self.succeed("-i", path, "-o", self.path("out.png"), "-f", "nearest", "--overwrite")
                picture = read(path)
                result = read(self.path("out.png"))
                self.assertEqual(result.size, (picture.width * 2, picture.height * 2))
                depth, color_type = path.read_bytes()[24:26]
                if depth == 16 or (color_type == 0 and depth < 8 and "transparency" in picture.info):
                    continue  # Pillow reduces them to 8 bits, or misses the transparent gray; upsample_png_test has them
                expected = numpy.asarray(picture.convert("RGBA")).copy()
                expected[expected[..., 3] == 0] = 0
                expected = expected.repeat(2, 0).repeat(2, 1)
                self.assertTrue((numpy.asarray(result.convert("RGBA")) == expected).all())
                compared += 1
        self.assertGreater(compared, 90)

    def test_crashers(self):
        files = sorted((PICTURES / "testpngs/crashers").glob("*.png"))
        self.assertGreater(len(files), 20)
        for path in files:
            with self.subTest(picture=path.name):
                result = run("-i", path, "-o", self.path("out.png"), "--overwrite")
                self.assertIn(result.returncode, (SUCCESS, PICTURE_FAILED), result.stderr.decode())
                self.assertEqual(result.returncode == SUCCESS, self.path("out.png").exists())
                self.path("out.png").unlink(missing_ok=True)
                self.assertEqual(self.names(), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

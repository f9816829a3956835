"""JPEG, WebP, raw frames and sizes that are no whole multiple."""

import shutil
import subprocess
import unittest

import numpy
from PIL import Image, ImageCms

from commands import Command, FILTERS, main, photo, PICTURE_FAILED, pillow_resize, PROGRAM, read, run


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


if __name__ == "__main__":
    main()

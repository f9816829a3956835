"""Folders of pictures."""

import json

from PIL import Image

from commands import Command, main, photo, PICTURE_FAILED, run


class Folders(Command):
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
        self.assertEqual([json.loads(line)["status"] for line in again.stdout.splitlines()],
                         ["skipped", "failed", "skipped", "failed"])
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


if __name__ == "__main__":
    main()

"""The command line, what it tells, and the terminal."""

import io
import os
import pathlib
import pty
import re
import select
import subprocess

from PIL import Image

from commands import Command, main, NOT_AVAILABLE, photo, PICTURE_FAILED, PROGRAM, run, SUCCESS, WRONG_COMMAND_LINE


class CommandLine(Command):
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

    def test_pipes(self):
        source = self.save("in.png", photo(8, 8, 3))
        with source.open("rb") as stream:
            result = self.succeed("-i", "-", "-o", "-", stdin=stream)
        self.assertEqual(Image.open(io.BytesIO(result.stdout)).size, (16, 16))
        cut = subprocess.run([PROGRAM, "-i", "-", "-o", "-"], input=source.read_bytes()[:-20], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.assertEqual((cut.returncode, cut.stdout), (PICTURE_FAILED, b""))

    def test_names_cannot_command_the_terminal(self):
        name = self.path("a\x1b]0;title\x07\n.png")
        name.write_bytes(b"no picture")
        result = run("-i", name, "-o", self.path("out.png"))
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("a\\x1b]0;title\\x07\\x0a.png", result.stderr.decode())
        self.assertNotIn("\x1b", result.stderr.decode())

    def test_completion_of_names_with_spaces(self):
        self.path("a name with spaces.png").touch()
        script = pathlib.Path(__file__).parents[2] / "apps/upsample/upsample.bash"
        command = 'source "$0"; COMP_WORDS=(upsample -i a); COMP_CWORD=2; _upsample; printf "%s\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", command, script], stdout=subprocess.PIPE, check=True, cwd=self.folder)
        self.assertEqual(done.stdout.decode(), "a name with spaces.png\n")

    def test_memory_is_bound(self):
        Image.new("RGBA", (200000, 8)).save(self.path("long.png"))
        result = run("-i", self.path("long.png"), "-o", self.path("out.png"), "-s", 8, "--memory", "64M")
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("--memory", result.stderr.decode())

    def test_memory_is_a_size(self):
        source = self.save("in.png", photo(8, 8, 3))
        for wrong in ("-5", "much", "9" * 20, "9999999999G", "5X", "1.5G"):
            result = run("-i", source, "-o", self.path("out.png"), f"--memory={wrong}")
            self.assertEqual(result.returncode, WRONG_COMMAND_LINE, wrong)
            self.assertIn(f"must be a number of bytes, such as 512M or 4G, up to 4E, not {wrong}", result.stderr.decode())
        for size in ("67108864", "65536K", "64m", "64MB"):
            self.succeed("-i", source, "-o", self.path("out.png"), "--overwrite", "--memory", size)

    def test_limits(self):
        source = self.save("in.png", photo(40, 40, 3))
        result = run("-i", source, "-o", self.path("out.png"), "--max-pixels", 1599)
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("--max-pixels", result.stderr.decode())
        self.succeed("-i", source, "-o", self.path("out.png"), "--max-pixels", 1600)

    def test_manual_and_completion_name_every_option(self):
        sources = pathlib.Path(__file__).parents[2] / "apps/upsample"
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


if __name__ == "__main__":
    main()

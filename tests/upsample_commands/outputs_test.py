"""Where pictures are written to: files that exist, links, pipes, full disks, signals."""

import io
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

from PIL import Image

from commands import Command, main, photo, PICTURE_FAILED, PROGRAM, read, run


class Outputs(Command):
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
            json_lines = subprocess.run([PROGRAM, "-i", source, "-o", self.path("out.png"), "--json"], stdout=full,
                                        stderr=subprocess.PIPE)
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
        substituted = subprocess.run(["bash", "-c", '"$0" -i "$1" -o >(cat); wait', PROGRAM, source], stdout=subprocess.PIPE,
                                     check=True)
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
        # The address sanitizer wants to be the first library otherwise.
        environment = dict(os.environ, LD_PRELOAD=str(shim), ASAN_OPTIONS="verify_asan_link_order=0")
        self.succeed("-i", source, "-o", self.path("out.png"), env=environment)
        self.assertEqual(read(self.path("out.png")).size, (16, 16))
        self.assertEqual(run("-i", source, "-o", self.path("out.png"), env=environment).returncode, PICTURE_FAILED)
        self.assertEqual(self.names(), ["in.png", "out.png", "shim.so"])

    def test_spooled_output_goes_where_tmpdir_says(self):
        source = self.save("in.png", photo(8, 8, 3))
        result = run("-i", source, "-o", "-", env=dict(os.environ, TMPDIR=str(self.path("none"))))
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("temporary", result.stderr.decode())

    def test_a_folder_that_is_to_be_made(self):
        self.succeed("-i", self.save("in.png", photo(8, 8, 3)), "-o", f"{self.path('new/folder')}/")
        self.assertEqual(read(self.path("new/folder/in.png")).size, (16, 16))

    def test_a_folder_that_cannot_be_written(self):
        source = self.save("in.png", photo(8, 8, 3))
        result = run("-i", source, "-o", self.path("none/out.png"))
        self.assertEqual(result.returncode, PICTURE_FAILED)
        self.assertIn("No such file or directory", result.stderr.decode())


if __name__ == "__main__":
    main()

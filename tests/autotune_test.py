"""The autotuner on the CPU, end to end, and each of its errors. Run by ctest; needs requirements-autotune.txt."""
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
AUTOTUNE = SOURCE / "apps/autotune/autotune.py"
TOOLCHAIN = pathlib.Path(os.environ["CONV_TRANSPOSE_TOOLCHAIN"])
PROBLEM = "n1g1ic8oc8ih40iw40kh4kw4sh2sw2ph1pw1dh1dw1oph0opw0"
KEY = f"{PROBLEM}_forward_float32"
VOLUMES = "n1g1ic16oc8id4ih10iw12kd2kh2kw2sd2sh2sw2pd0ph0pw0dd1dh1dw1opd0oph0opw0"
SIGNALS = "n2g1ic16oc8iw200kw4sw2pw1dw1opw0"

sys.path.insert(0, str(AUTOTUNE.parent))
import autotune as application  # noqa: E402
import candidates  # noqa: E402
import measuring  # noqa: E402
import running  # noqa: E402


def autotune(*words, **options):
    return subprocess.run([sys.executable, AUTOTUNE, *map(str, words)], capture_output=True, text=True, **options)


class Folder(unittest.TestCase):
    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self._temporary.cleanup)
        self.folder = pathlib.Path(self._temporary.name)
        self.cache = self.folder / "cache"

    def run_words(self, name="run", candidates=8, problem=PROBLEM):
        # Ends by the number of candidates: no limit of time that a slow machine might meet.
        return ("run", problem, "--toolchain", TOOLCHAIN, "--device", "cpu", "--folder", self.folder / name,
                "--cache", self.cache,
                "--candidates", candidates, "--batch", 4, "--jobs", 2, "--seconds", 1200, "--compile-limit", 600,
                "--measure-limit", 600)

    def chosen_kernel(self, pack, problem=PROBLEM, **options):
        """The library's choice with a folder of packs, which the benchmark has found to be right."""
        task = candidates.Task(problem, **options)
        row, = measuring.measure(candidates.Toolchain(TOOLCHAIN).benchmark, task, [""], pack_folder=str(pack))
        self.assertNotIn("error", row)
        return row["kernel"]

    def rows(self, name="run"):
        path = self.folder / name / KEY / "measurements.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Search(Folder):
    def test_finds_a_kernel_that_the_library_then_uses(self):
        done = autotune(*self.run_words(candidates=3), "--save", self.folder / "saved", "--baselines", "Mullapudi2016", "random")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        run = self.folder / "run" / KEY
        result = json.loads((run / "result.json").read_text())
        self.assertEqual(len(self.rows()), 3)
        self.assertGreater(result["ms"], 0)
        self.assertIn(f"forward_f32_cpu_{result['family']}_k4x4_s2x2_p1x1_nchw_c8x8_i40x40_tuned_", result["kernel"])
        self.assertEqual(set(result["baselines"]), {"Mullapudi2016", "random"})
        for name, baseline in result["baselines"].items():
            self.assertNotIn("error", baseline, name)
            self.assertGreater(baseline["ms"], 0)
        self.assertEqual(len((run / "random" / "measurements.jsonl").read_text().splitlines()), 3)
        saved = list(self.folder.glob("saved/*/*.json"))
        self.assertEqual(len(saved), 1 if result["speedup"] > 1.02 else 0)
        report = (self.folder / "run" / "report.md").read_text()
        self.assertIn(f"{result['speedup']:.2f}x", report)
        self.assertTrue((run / "search.svg").exists())

        # Whether a few candidates beat the library's own kernel is a matter of luck; the pack says which it was.
        chosen = self.chosen_kernel(self.folder / "run" / "pack")
        self.assertEqual(chosen, result["kernel" if result["speedup"] >= 1 else "default_kernel"])

    def test_gradients_of_any_rank(self):
        for operation, problem in (("input_gradient", PROBLEM), ("weight_gradient", SIGNALS), ("input_gradient", VOLUMES)):
            done = autotune(*self.run_words(operation, 2, problem), "--operation", operation)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            run = self.folder / operation / f"{problem}_{operation}_float32"
            rows = [json.loads(line) for line in (run / "measurements.jsonl").read_text().splitlines()]
            self.assertEqual([row.get("error") for row in rows], [None] * 2)
            result = json.loads((run / "result.json").read_text())
            chosen = self.chosen_kernel(self.folder / operation / "pack", problem, operation=operation)
            self.assertEqual(chosen, result["kernel" if result["speedup"] >= 1 else "default_kernel"])

    def search(self, **rules):
        from searching import Rules, Search as TheSearch
        toolchain, task = candidates.Toolchain(TOOLCHAIN), candidates.Task(PROBLEM)
        device = candidates.this_device(toolchain, "cpu")
        cache = candidates.Cache(str(self.cache), toolchain, device, seconds=600)
        rules = Rules(**{"seconds": 1200, "jobs": 2, "batch": 4, "compile_limit": 600, "measure_limit": 600} | rules)
        return TheSearch(toolchain, task, device, candidates.spaces(toolchain, task, device), self.folder / "run",
                         cache, rules,
                         say=lambda text: None)

    def test_a_candidate_that_takes_long_to_compile_delays_no_other(self):
        search, others, slow = self.search(candidates=5), threading.Event(), []
        compile, add = search._cache.compile, search.measurements.add

        def slowly(candidate, *limits):
            slow.append(candidate)
            if candidate is slow[0]:
                self.assertTrue(others.wait(timeout=1200), "no other was measured meanwhile")
            return compile(candidate, *limits)

        def note(candidate, **facts):
            others.set()
            add(candidate, **facts)

        search._cache.compile, search.measurements.add = slowly, note
        search.run()
        self.assertEqual(len(search.measurements.rows), 5)
        self.assertIn(slow[0], search.measurements)

    def test_what_was_not_compiled_in_time_is_not_known(self):
        search = self.search()
        candidate, = search._ask(1)
        reason = search._compile(candidate, lambda: time.monotonic() - 1)
        search._measure({candidate: reason})
        self.assertEqual((search.measurements.rows, search._pending), ([], {}))

    def test_small_spaces_are_searched_to_the_end(self):
        search = self.search(batch=10**6)
        size = sum(len(space) for space in search.spaces.values())
        self.assertEqual(len(set(search._ask(10**6))), size)
        self.assertEqual(search._ask(10**6), [])

    def test_a_winner_takes_the_place_of_the_earlier_one_of_its_task(self):
        result = {"device": "A GPU", "problem": PROBLEM, "operation": "forward", "precision": "tf32"}
        for kernel, speedup, precision in (("a", 1.1, "tf32"), ("b", 1.1, "float32"), ("c", 1.2, "tf32"),
                                           ("d", 1.01, "tf32")):
            application.save(result | {"kernel": kernel, "speedup": speedup, "precision": precision}, self.folder)
        self.assertEqual(sorted(path.name for path in self.folder.glob("a_gpu/*")), ["b.json", "c.json"])

    def begun(self, rows):
        """A run that will not end by itself, once it has measured so many candidates."""
        process = subprocess.Popen([sys.executable, AUTOTUNE, *map(str, self.run_words(candidates=10**6))],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(process.stderr.close)
        deadline = time.monotonic() + 900  # a minute does where the machine has nothing else to do
        while len(self.rows()) < rows and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        return process

    def expect_to_go_on(self):
        before = self.rows()
        done = autotune(*self.run_words(candidates=len(before) + 2))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        after = self.rows()
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(len(after), len(before) + 2)
        self.assertEqual(len({row["kernel"] for row in after}), len(after), "a candidate was measured twice")

    def test_a_killed_run_goes_on_without_losing_a_measurement(self):
        process = self.begun(rows=3)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertGreaterEqual(len(self.rows()), 3)
        self.expect_to_go_on()

    def test_an_interrupt_ends_everything_and_is_no_failure_of_candidates(self):
        for number in (signal.SIGINT, signal.SIGTERM):  # to the whole group, as Ctrl-C does
            process = self.begun(rows=len(self.rows()) + 1)
            os.killpg(process.pid, number)
            message = process.communicate(timeout=300)[1]
            self.assertEqual((process.returncode, message.splitlines()[-1:]),
                             (130, ["autotune: interrupted; the same command goes on from here"]), message)
            self.assertNotIn("Traceback", message)
        self.assertEqual([row["error"] for row in self.rows() if "error" in row], [])
        self.assertEqual(list(self.cache.glob("*.failed")), [])
        self.expect_to_go_on()

    def test_compile_and_measure_apart(self):
        pack = self.folder / "pack"
        common = dict(cwd=self.folder)  # as people type it: with names relative to where they are
        made = autotune("compile", PROBLEM, "--toolchain", TOOLCHAIN.resolve(), "--device", "cpu", "--cache", "cache",
                        "--out", "pack",
                        "--count", 3, **common)
        self.assertEqual(made.returncode, 0, made.stderr)
        done = autotune("measure", "pack", "--toolchain", TOOLCHAIN.resolve(), **common)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in (pack / "measurements.jsonl").read_text().splitlines()]
        kernels = {row["kernel"] for row in rows}
        self.assertEqual(kernels, set(json.loads((pack / "manifest.json").read_text())["kernels"]))
        self.assertTrue(all("error" not in row for row in rows), rows)

        # They compute on the library's threads.
        program = textwrap.dedent("""
            import os, numpy, conv_transpose
            before = len(os.listdir("/proc/self/task"))
            conv_transpose.set_cpu_threads(1)
            x, w = numpy.ones((1, 8, 40, 40), "f"), numpy.ones((8, 8, 4, 4), "f")
            conv_transpose.conv_transpose2d(x, w, stride=2, padding=1)
            assert any("tuned" in kernel for kernel in conv_transpose.info()["kernels"])
            print(len(os.listdir("/proc/self/task")) - before, "more threads")
        """)
        library = TOOLCHAIN.resolve().parents[2] / "python/libconv_transpose.so"
        environment = dict(CONV_TRANSPOSE_KERNEL_PATH=pack, CONV_TRANSPOSE_LIBRARY=library,
                           PYTHONPATH=SOURCE / "python")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              env=os.environ | environment)
        self.assertEqual(done.stdout, "0 more threads\n", done.stderr)

        # The library prefers them, for their own size alone.
        self.assertIn(self.chosen_kernel(pack), kernels)
        self.assertIn(self.chosen_kernel(pack, precision="tf32"), kernels)
        self.assertNotIn(self.chosen_kernel(pack, PROBLEM.replace("ih40", "ih41")), kernels)


class Spaces(unittest.TestCase):
    """Listing them needs no GPU, but seconds: tests share problems."""

    ROW = "n16g1ic128oc64ih1iw8192kh1kw4sh1sw2pw1"

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def spaces(problem, precision):
        toolchain = candidates.Toolchain(TOOLCHAIN)
        task = candidates.Task(candidates.problem_string(candidates.parse_problem(problem)), precision=precision,
                               device="cuda")
        return candidates.spaces(toolchain, task, candidates.device(toolchain, "cuda", "", 90))

    def test_tensor_cores_where_they_are_allowed_and_filled(self):
        few = "n1g1ic32oc3ih16iw16kh4kw4sh2sw2ph1pw1"
        for problem, precision, parts in ((self.ROW, "float32", None), (self.ROW, "tf32", 1), (self.ROW, "tf32x3", 2),
                                          (few, "tf32", None)):
            for space in self.spaces(problem, precision):
                self.assertEqual(space.facts.tensor_cores, parts is not None, (problem, precision))
                self.assertEqual(space.fixed, {"parts": parts} if parts else {})

    def test_a_dilated_stride_is_not_for_tensor_cores(self):
        space, = self.spaces("n1g1ic512oc64ih8iw8kh7kw7sh7sw7dh2dw2", "tf32")
        self.assertFalse(space.facts.tensor_cores)

    def test_strides_above_2_are_sub_pixels(self):
        for problem in ("n1g1ic64oc64ih8iw8kh4kw4sh4sw4", "n1g1ic64oc64ih1iw40kh1kw10sh1sw5pw2"):
            space, = self.spaces(problem, "tf32")
            self.assertEqual({values["sub_pixel"] for values in map(space.values, space)}, {1}, problem)

    def test_tiles_lie_in_a_picture_of_one_row(self):
        space, = self.spaces(self.ROW, "tf32")
        for values in map(space.values, space):
            self.assertEqual(values["warpgroups"], values["warpgroups_x"] * values["channel_sets"])
            self.assertEqual((values["tile_rows"], values["tiles"]), (1, 1))
            # Tiles of sub-pixels have half of the 64 channels.
            self.assertLessEqual(values["channel_sets"], 1 + values["sub_pixel"])
        for space in self.spaces(self.ROW, "float32"):
            self.assertGreater(len(space), 0)
            if space.facts.family == "implicit_gemm":
                continue  # its tiles have no rows
            for i in range(0, len(space), 997):
                values = space.values(space[i])
                rows = ("cells_y", "stagings") if space.facts.family == "phases" else ("lanes_y", "thread_rows")
                self.assertEqual([values[name] for name in rows], [1, 1], space.generator)

    def test_volumes_have_products_and_signals_what_one_row_has(self):
        of_volume, = self.spaces("n1g1ic64oc64id4ih16iw16kd2kh2kw2sd2sh2sw2", "float32")
        self.assertEqual((of_volume.facts.family, of_volume.fixed), ("implicit_gemm", {"rank": 3}))
        signal, row = "n16g1ic128oc64iw8192kw4sw2pw1", self.ROW
        feasible = lambda problem: {space.generator: len(space) for space in self.spaces(problem, "float32")}
        self.assertEqual(feasible(signal), feasible(row))

    def test_tiles_are_not_much_larger_than_the_picture(self):
        space, = self.spaces("n64g1ic512oc256ih8iw8kh5kw5sh2sw2ph2pw2oph1opw1", "tf32")
        self.assertEqual({values["columns"] for values in map(space.values, space)}, {8})

    def test_generators_take_what_spaces_let_choose(self):
        toolchain = candidates.Toolchain(TOOLCHAIN)
        device = candidates.device(toolchain, "cpu", "")
        for operation in ("forward", "input_gradient", "weight_gradient"):
            for space in candidates.spaces(toolchain, candidates.Task(PROBLEM, operation), device):
                arguments = candidates.Candidate.at(space, space[0]).arguments()
                run = running.run([toolchain.generate, space.generator, "--search-space", f"--target={device.target}", *arguments])
                self.assertEqual((run.returncode, run.stderr), (0, ""), space.generator)

    def test_any_kernel_has_a_product_that_can_be_tuned(self):
        generators = lambda problem: [space.generator for space in self.spaces(problem, "float32")]
        self.assertEqual(generators("n1g1ic512oc64ih8iw8kh7kw7sh7sw7"), ["forward_cuda_implicit_gemm_cuda_cores"])
        self.assertEqual(generators("n1g1ic512oc4ih8iw8kh7kw7sh7sw7"), [])  # most of a tile would be empty

    def test_tiles_of_one_channel_and_the_picture(self):
        dense, = (s for s in self.spaces("n1g1ic8oc1ih10iw10kh9kw9sh2sw2ph4pw4oph1opw1", "float32") if s.facts.family == "dense")
        self.assertEqual(dense.choices["thread_channels"], [1])
        for i in range(0, len(dense), 97):
            values = dense.values(dense[i])
            self.assertLessEqual(values["lanes_x"] * values["vector"] * values["thread_vectors"], 20)


class Errors(Folder):
    def fails(self, *words, **options):
        done = autotune(*words, **options)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_no_gpu(self):
        words = ["cuda" if word == "cpu" else word for word in self.run_words()]
        message = self.fails(*words, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertIn("no usable GPU", message)

    def test_baseline_that_there_is_none_of(self):
        self.assertIn("--baselines names Mullapudi, random2",
                      self.fails(*self.run_words(), "--baselines", "random2", "Mullapudi"))

    def test_autoscheduler_that_fails_is_told_with_its_message(self):
        from baselines import Autoscheduling
        toolchain = candidates.Toolchain(TOOLCHAIN)
        toolchain.autoschedulers["Mullapudi2016"] = "/no/such/plugin.so"
        device = candidates.this_device(toolchain, "cpu")
        cache = candidates.Cache(str(self.cache), toolchain, device, seconds=600)
        autoscheduling, task = Autoscheduling(toolchain, device, cache, seconds=600, gigabytes=4, jobs=1), candidates.Task(PROBLEM)
        autoscheduling.start(task, ["Mullapudi2016", "Anderson2021"])  # the second is for GPUs
        (name, (_, reason)), = autoscheduling.finish(task).items()
        self.assertEqual(name, "Mullapudi2016")
        self.assertIn("/no/such/plugin.so", reason)

    def test_generator_that_takes_too_much_memory_is_stopped(self):
        generator = self.folder / "generator"
        generator.write_text(f"#!{sys.executable}\nimport sys\ntry: bytearray(2 << 30)\n"
                             "except MemoryError: sys.exit('generate: std::bad_alloc')\n")
        generator.chmod(0o755)
        toolchain = candidates.Toolchain(TOOLCHAIN)
        toolchain.generate = str(generator)
        cache = candidates.Cache(str(self.cache), toolchain, candidates.this_device(toolchain, "cpu"), seconds=600)
        candidate = candidates.Candidate(candidates.Task(PROBLEM), "forward_cpu_tiles", "tiles", ())
        self.assertEqual(cache.compile(candidate, gigabytes=1), "compiling took more than 1 GB of memory")

    def test_python_without_the_packages(self):
        for missing in ("numpy", "optuna"):
            (self.folder / f"{missing}.py").write_text(f"raise ModuleNotFoundError(name='{missing}')")
            message = self.fails(*self.run_words(), env=os.environ | {"PYTHONPATH": str(self.folder)})
            self.assertIn(f"this Python has no {missing}", message)
            (self.folder / f"{missing}.py").unlink()

    def test_report_of_nothing(self):
        self.assertIn("/no/such/run/report.md", self.fails("report", "/no/such/run"))

    def words_with_tool(self, name, path):
        """A run's, with another tool than the build's."""
        toolchain = self.folder / "toolchain.json"
        toolchain.write_text(json.dumps(json.loads(TOOLCHAIN.read_text()) | {name: path}))
        return [toolchain if word == TOOLCHAIN else word for word in self.run_words()]

    def test_no_benchmark(self):
        self.assertIn("/no/such/benchmark cannot be started",
                      self.fails(*self.words_with_tool("benchmark", "/no/such/benchmark")))

    def test_no_generator(self):
        self.assertIn("/no/such/generator", self.fails(*self.words_with_tool("generate", "/no/such/generator")))

    def test_no_compiler(self):
        self.assertIn("/no/such/compiler", self.fails(*self.words_with_tool("compiler", "/no/such/compiler")))

    def test_malformed_problem(self):
        self.assertIn("'n1x' is no problem string", self.fails(*self.run_words(problem="n1x")))

    def test_numbers_below_one(self):
        for option in ("--jobs", "--candidates", "--baseline-jobs"):
            self.assertIn(f"argument {option}: 0 is less than 1", autotune(*self.run_words(), option, 0).stderr)

    def test_problem_that_no_library_accepts(self):
        self.assertIn("padding.height is 99", self.fails(*self.run_words(problem=PROBLEM.replace("ph1", "ph99"))))

    def test_broken_pack(self):
        pack = self.folder / "pack"
        pack.mkdir()
        self.assertIn("is no pack of candidates", self.fails("measure", pack, "--toolchain", TOOLCHAIN))
        (pack / "candidates.so").write_text("garbage")
        row, = measuring.measure(candidates.Toolchain(TOOLCHAIN).benchmark, candidates.Task(PROBLEM),
                                 ["forward_f32_cpu_gather_any_any_large"], pack_folder=str(pack))
        self.assertIn("candidates.so' cannot be used", row["error"])

    def benchmark(self, script):
        """A program in the benchmark's place."""
        path = self.folder / "benchmark"
        path.write_text("#!/bin/bash\n" + script)
        path.chmod(0o755)
        return str(path)

    def test_kernel_that_hangs_or_crashes_ends_only_itself(self):
        program = self.benchmark('''
            [[ " $* " == *" --kernel hangs"* ]] && exec sleep 600
            [[ " $* " == *" --kernel crashes"* ]] && kill -SEGV $$
            echo '{"kernel": "fine", "ms_median": 1}'
        ''')
        rows = list(measuring.measure(program, candidates.Task(PROBLEM), ["hangs", "crashes", "fine"], time_limit=3))
        self.assertEqual(rows[0]["error"], "took more than 3 s")
        self.assertIn("died", rows[1]["error"])
        self.assertEqual(rows[2]["ms_median"], 1)

    def test_wrong_result_is_never_chosen(self):
        from searching import Measurements
        measurements = Measurements(self.folder / "measurements.jsonl")
        task = candidates.Task(PROBLEM)
        right = candidates.Candidate(task, "forward_cpu_tiles", "tiles", (("vectors", 1),))
        wrong = candidates.Candidate(task, "forward_cpu_tiles", "tiles", (("vectors", 2),))
        measurements.add(wrong, error="wrong result: element 5 is 3 instead of 4")
        self.assertIsNone(measurements.best())
        measurements.add(right, ms_median=9.0)
        self.assertEqual(measurements.best()["kernel"], right.name())

    def test_what_only_took_too_long_is_tried_again(self):
        toolchain = candidates.Toolchain(TOOLCHAIN)
        device = candidates.this_device(toolchain, "cpu")
        space = candidates.spaces(toolchain, candidates.Task(PROBLEM), device)[0]
        candidate = candidates.Candidate.at(space, space[0])
        cache = candidates.Cache(str(self.cache), toolchain, device, seconds=600)
        self.assertIn("took more than", cache.compile(candidate, seconds=0.001))
        self.assertEqual(cache.compile(candidate), "")

    def test_disk_full(self):
        from searching import Measurements
        measurements = Measurements(self.folder / "none")
        measurements._path = pathlib.Path("/dev/full")
        with self.assertRaisesRegex(candidates.TuningError, "No space left"):
            measurements.add(candidates.Candidate(candidates.Task(PROBLEM), "forward_cpu_tiles", "tiles", ()), ms_median=1.0)

    def test_model_that_is_none(self):
        text = self.folder / "model.txt"
        text.write_text("")
        self.assertIn("neither an ONNX file", self.fails("model", text))


class Models(Folder):
    def test_onnx(self):
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is not installed")
        tensor = lambda name, shape: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, (8, 2, 4, 4), [0.0] * 256)
        node = onnx.helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1], group=2)
        graph = onnx.helper.make_graph([node], "g", [tensor("x", (3, 8, 5, 6))], [tensor("y", None)], [weight])
        path = self.folder / "model.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), path)
        done = autotune("model", path)
        self.assertEqual(done.stdout.strip(), "n3g2ic8oc4ih5iw6kh4kw4sh2sw2ph1pw1dh1dw1oph0opw0", done.stderr)

    def test_script(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("torch is not installed")
        path = self.folder / "model.py"
        path.write_text("import torch\n"
                        "def model():\n    return torch.nn.Sequential(torch.nn.ConvTranspose2d(4, 2, 3, 2, 1, 1))\n"
                        "def example_inputs():\n    return (torch.zeros(1, 4, 7, 7),)\n")
        done = autotune("model", path)
        self.assertEqual(done.stdout.strip(), "n1g1ic4oc2ih7iw7kh3kw3sh2sw2ph1pw1dh1dw1oph1opw1", done.stderr)
        path.write_text("import torch\n"
                        "def model():\n    return torch.nn.Sequential(torch.nn.ConvTranspose1d(4, 2, 5, 3), torch.nn.ReLU())\n"
                        "def example_inputs():\n    return (torch.zeros(2, 4, 9),)\n")
        self.assertEqual(autotune("model", path).stdout.strip(), "n2g1ic4oc2iw9kw5sw3pw0dw1opw0")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Candidates: points of the schedules' search spaces, compiled to kernels, kept in a cache, linked to kernel packs."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time

import numpy

import running


class TuningError(RuntimeError):
    """Something that the user has to know of; the message says what to do."""


class Toolchain:
    """Programs and files of a build, from the toolchain.json that CMake writes; relative paths are relative to it."""

    def __init__(self, path: str) -> None:
        try:
            values = json.loads(pathlib.Path(path).read_text())
        except (OSError, ValueError) as error:
            raise TuningError(
                f"cannot read the toolchain {path}: {error}; build the target 'benchmark' first") from error
        folder = pathlib.Path(path).resolve().parent
        located = lambda value: str(folder / value) if "/" in value else value
        self.targets = values["targets"]
        self.version = values["version"]
        # The library's own kernels: generator and parameters of each.
        self.kernels = [(line.split()[0], _settings(line.split()[1:])) for line in values.get("kernels", [])]
        self.autoschedulers = {name: located(path) for name, path in values.get("autoschedulers", {}).items()}
        self.include = [located(p) for p in values["include"]]
        for name in ("generate", "benchmark", "compiler", "pack_source", "pack_exports", "pack_support", "ptxas",
                     "fatbinary"):
            setattr(self, name, located(values[name]))

    def require_generator(self) -> None:
        if not os.path.exists(self.generate):
            raise TuningError(f"there is no generator {self.generate}: compiling candidates needs a build with Halide")

    def plugin(self, autoscheduler: str) -> list[str]:
        """Option of the generator driver, for an autoscheduler with its parameters."""
        return [f"--plugin={self.autoschedulers[autoscheduler.split(',')[0]]}"] if autoscheduler else []

    def fingerprint(self) -> str:
        """Changes whenever a generator or a schedule does."""
        return hashlib.sha256(pathlib.Path(self.generate).read_bytes()).hexdigest()


def _settings(words: list[str]) -> dict[str, int]:
    """The whole numbers and booleans among the generator driver's arguments; --registers=N is `registers`."""
    pairs = (word.removeprefix("--").partition("=") for word in words)
    named = {"true": 1, "false": 0}
    return {key: named[value] if value in named else int(value)
            for key, _, value in pairs if value.isdigit() or value in named}


# What a problem string says of each axis, in its order, and what it may leave unsaid.
OF_AN_AXIS = {"i": None, "k": None, "s": 1, "p": 0, "d": 1, "op": 0}


def axes(rank: int) -> str:
    """Of depth, height and width those that a problem has."""
    return "dhw"[3 - rank:]


def rank_of(fields: dict[str, int]) -> int:
    return sum("i" + axis in fields for axis in axes(3))


def problem_keys(rank: int) -> list[str]:
    """Of a problem string, in its order."""
    return ["n", "g", "ic", "oc", *(key + axis for key in OF_AN_AXIS for axis in axes(rank))]


def unsaid(rank: int) -> dict[str, int]:
    return {key + axis: value for key, value in OF_AN_AXIS.items() if value is not None for axis in axes(rank)}


def parse_problem(text: str) -> dict[str, int]:
    """The fields of a problem string, by their keys: of as many axes as it names."""
    fields = {key: int(value) for key, value in re.findall(r"([a-z]+)(\d+)", text)}
    rank = max(rank_of(fields), 1)
    problem = {"n": 1, "g": 1} | unsaid(rank) | fields
    if re.sub(r"[a-z]+\d+", "", text) or set(problem) != set(problem_keys(rank)):
        raise TuningError(f"'{text}' is no problem string: write it as in n1g1ic64oc64ih32iw32kh4kw4sh2sw2ph1pw1")
    return problem


def problem_string(problem: dict[str, int]) -> str:
    return "".join(f"{key}{problem[key]}" for key in problem_keys(rank_of(problem)))


OPERATIONS = ("forward", "input_gradient", "weight_gradient")
PRECISIONS = ("float32", "tf32", "tf32x3")


@dataclasses.dataclass(frozen=True)
class Task:
    """What a kernel is wanted for: a problem, what to compute of it, the precision that the caller allows, the
    device."""
    problem: str
    operation: str = "forward"
    precision: str = "float32"
    device: str = "cpu"

    @property
    def fields(self) -> dict[str, int]:
        return parse_problem(self.problem)

    @property
    def rank(self) -> int:
        return rank_of(self.fields)

    @property
    def plane(self) -> dict[str, int]:
        """The same, of height and width: a signal's height is one."""
        return {"ih": 1, "kh": 1} | unsaid(2) | self.fields

    @property
    def key(self) -> str:
        """Names files and folders."""
        return f"{self.problem}_{self.operation}_{self.precision}"

    def attributes(self) -> dict[str, int]:
        """The generator parameters that stand for the problem's attributes; of three axes those are run-time values."""
        p = self.plane
        channels = {"in_channels": p["ic"] // p["g"], "out_channels": p["oc"] // p["g"]}
        if self.rank == 3:
            return channels
        return {"kernel_h": p["kh"], "kernel_w": p["kw"], "stride_h": p["sh"], "stride_w": p["sw"],
                "dilation_h": p["dh"], "dilation_w": p["dw"],
                "padding_phase_h": p["ph"] % p["sh"], "padding_phase_w": p["pw"] % p["sw"], **channels}

    def sizes(self) -> dict[str, int]:
        """The generator parameters that make a kernel one for this size of picture, of volumes for this size of plane."""
        p = self.plane
        output = lambda axis: ((p["i" + axis] - 1) * p["s" + axis] - 2 * p["p" + axis]
                               + p["d" + axis] * (p["k" + axis] - 1) + p["op" + axis] + 1)
        return {"input_h": p["ih"], "input_w": p["iw"], "output_h": output("h"), "output_w": output("w")}


@dataclasses.dataclass(frozen=True)
class Device:
    """What candidates are compiled for."""
    kind: str  # cpu or cuda
    name: str
    target: str
    compute_capability: int = 0
    parallelism: int = 1  # multiprocessors or cores

    @property
    def options(self) -> list[str]:
        """Of the generator driver."""
        if self.kind == "cpu":
            return []
        return [f"--gpu=sm_{self.compute_capability}", f"--exact-gpu={self.compute_capability}"]


def this_device(toolchain: Toolchain, kind: str) -> Device:
    try:
        run = running.run([toolchain.benchmark, "--device", kind, "--device-facts"])
    except OSError as error:
        raise TuningError(f"the benchmark {toolchain.benchmark} cannot be started: {error}") from error
    if run.returncode != 0:
        raise TuningError(f"device {kind} cannot be used: {run.stderr.strip()}")
    facts = json.loads(run.stdout)
    return device(toolchain, kind, facts["name"], facts["compute_capability"], facts["multiprocessors"])


def device(toolchain: Toolchain, kind: str, name: str, compute_capability: int = 0, multiprocessors: int = 1) -> Device:
    if kind == "cuda":
        return Device(kind, name, toolchain.targets["cuda"], compute_capability, multiprocessors)
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    level = "avx512" if "avx512dq" in flags else "avx2" if "avx2" in flags else "baseline"
    return Device(kind, name, toolchain.targets[level], parallelism=usable_cores())


def usable_cores() -> int:
    """Of those that the machine has, a container or taskset may grant few."""
    return len(os.sched_getaffinity(0))


# A thread's, at most; 0 leaves it to the assembler, which then must not spill. Kernels for tensor cores have a limit of
# their own, and may.
REGISTERS = (0, 96, 128, 168, 232)


@dataclasses.dataclass(frozen=True)
class Generator:
    """What the generator driver lists of a generator that computes an operation."""
    name: str
    operation: str
    device: str
    family: str
    tensor_cores: bool
    format_parameter: str
    ranks: str  # two, any, or as its parameter says

    def fixed(self, task: "Task") -> dict[str, int | str]:
        """The generator parameters that follow from the task."""
        of_rank = {"rank": 3} if task.rank == 3 and self.ranks == "parameter" else {}
        return self.format_of(task.precision) | of_rank

    def format_of(self, precision: str) -> dict[str, int | str]:
        """The generator parameter by which tensor cores reach the precision: tf32x3 splits operands in two."""
        if not self.tensor_cores:
            return {}
        return {self.format_parameter: precision if self.format_parameter == "format" else 2 if precision == "tf32x3" else 1}


def generators(toolchain: Toolchain, task: Task) -> list[Generator]:
    """Those of the task's operation, device and axes."""
    listed = json.loads(running.run([toolchain.generate, "list"]).stdout)
    found = [Generator(**facts) for facts in listed if "operation" in facts]
    return [g for g in found if (g.operation, g.device) == (task.operation, task.device)
            and (task.rank < 3 or g.ranks != "two")]


class Space:
    """The feasible points of one generator for one task, a sequence."""

    def __init__(self, toolchain: Toolchain, facts: Generator, task: Task, device: Device) -> None:
        self.facts, self.generator, self.task = facts, facts.name, task
        generator = facts.name
        self.fixed = facts.fixed(task)
        parameters = [f"{k}={v}" for k, v in (task.attributes() | task.sizes() | self.fixed).items()]
        run = running.run([toolchain.generate, generator, "--search-space", f"--target={device.target}", *parameters])
        if run.returncode != 0:
            raise TuningError(f"the search space of {generator} cannot be listed: {run.stderr.strip()}")
        listing = json.loads(run.stdout)
        self.choices: dict[str, list[int]] = listing["choices"]
        self.default: dict[str, int] = listing["default"]
        self.booleans = frozenset(listing["booleans"])
        points = listing["feasible"]
        self._feasible = numpy.array(points, dtype=numpy.int16).reshape(len(points), len(self.choices)).T.copy()
        # The assembler's choice: fewer registers let more blocks run at once, at the price of spills.
        self._registers = REGISTERS if device.kind == "cuda" and self.choices and not facts.tensor_cores else ()
        if self._registers:
            self.choices["registers"] = list(self._registers)
            self.default["registers"] = 0

    def __len__(self) -> int:
        return self._feasible.shape[1] * max(1, len(self._registers))

    def __getitem__(self, i: int) -> tuple[int, ...]:
        """The i-th feasible point."""
        if i >= len(self):
            raise IndexError(i)
        base, registers = divmod(i, max(1, len(self._registers)))
        return (*map(int, self._feasible[:, base]), *((registers,) if self._registers else ()))

    def values(self, point: tuple[int, ...]) -> dict[str, int]:
        return {name: values[i] for (name, values), i in zip(self.choices.items(), point)}

    def own(self, kernels: list[tuple[str, dict[str, int]]]) -> list[tuple[int, ...]]:
        """The points of the library's own kernels of this generator for such problems, and the schedule's defaults."""
        fitting = [settings for generator, settings in kernels if generator == self.generator
                   and all(settings.get(name) in (None, 0, value) for name, value in self.task.attributes().items())
                   and all(settings.get(name, 1) == value for name, value in self.fixed.items())]
        points = []
        for settings in (*fitting, {}):
            wanted = {name: settings.get(name, self.default[name]) for name in self.choices}
            point = tuple(min(range(len(v)), key=lambda i: abs(v[i] - wanted[k])) for k, v in self.choices.items())
            points.append(self.nearest(point))
        return list(dict.fromkeys(points))

    def neighbour(self, point: tuple[int, ...], generator: random.Random) -> tuple[int, ...]:
        """A feasible point a step or two from this one."""
        moved, sizes = list(point), [len(values) for values in self.choices.values()]
        for _ in range(generator.choice((1, 1, 2))):
            i = generator.randrange(len(moved))
            moved[i] = min(max(moved[i] + generator.choice((-1, 1)), 0), sizes[i] - 1)
        return self.nearest(tuple(moved))

    def nearest(self, point: tuple[int, ...]) -> tuple[int, ...]:
        """The feasible point with the fewest steps from this one."""
        distance = numpy.zeros(self._feasible.shape[1], dtype=numpy.int16)
        for positions, wanted in zip(self._feasible, point):
            distance += numpy.abs(positions - numpy.int16(wanted))
        return (*map(int, self._feasible[:, int(distance.argmin())]), *point[len(self._feasible):])


def spaces(toolchain: Toolchain, task: Task, device: Device) -> list[Space]:
    """One for each generator of the operation, device and precision that can be tuned for the problem: those for tensor
    cores where they are allowed and the problem fills their tiles, otherwise those for float32."""
    toolchain.require_generator()
    all_of_task = generators(toolchain, task)

    def listed(wanted: list[Generator]) -> list[Space]:
        with concurrent.futures.ThreadPoolExecutor(max(1, len(wanted))) as pool:
            return [space for space in pool.map(lambda g: Space(toolchain, g, task, device), wanted) if len(space)]

    found = listed([g for g in all_of_task if g.tensor_cores]) if task.precision != "float32" else []
    return found or listed([g for g in all_of_task if not g.tensor_cores])


@dataclasses.dataclass(frozen=True)
class Candidate:
    task: Task
    generator: str
    family: str
    parameters: tuple[tuple[str, int], ...]  # of the schedule
    booleans: frozenset[str] = frozenset()
    tensor_cores: bool = False
    autoscheduler: str = ""  # its name and parameters, where one finds the schedule

    @staticmethod
    def at(space: Space, point: tuple[int, ...]) -> "Candidate":
        return Candidate(space.task, space.generator, space.facts.family,
                         tuple((space.fixed | space.values(point)).items()), space.booleans, space.facts.tensor_cores)

    def arguments(self) -> list[str]:
        """Of the generator driver."""
        text = lambda name, value: ("true" if value else "false") if name in self.booleans else str(value)
        registers = dict(self.parameters).get("registers", 0)
        return ([f"{k}={v}" for k, v in (self.task.attributes() | self.task.sizes()).items()]
                + [f"{k}={text(k, v)}" for k, v in self.parameters if k != "registers"]
                + ([f"--autoscheduler={self.autoscheduler}"] if self.autoscheduler else [])
                + ([f"--registers={registers}"] if registers else [])
                + (["--allow-spills"] if registers or self.tensor_cores else []))

    @property
    def format(self) -> str:
        """Of its products, as names have it."""
        return self.task.precision if self.tensor_cores else "f32"

    def name(self) -> str:
        """As cmake/ConvTransposeKernels.cmake names kernels, and different for different candidates."""
        p, task = self.task.plane, self.task
        facts = [task.problem, task.operation, task.precision, self.generator, self.parameters, self.autoscheduler]
        digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:10]
        pairs = (("k", p["kh"], p["kw"]), ("s", p["sh"], p["sw"]), ("d", p["dh"], p["dw"]),
                 ("p", p["ph"] % p["sh"], p["pw"] % p["sw"]))
        unsaid = ("d", 1, 1), ("p", 0, 0)
        window = "_".join(f"{letter}{height}x{width}" for letter, height, width in pairs
                          if (letter, height, width) not in unsaid)
        of_axes, size = (window + "_nchw", "") if task.rank < 3 else ("any_ncdhw", f"{p['id']}x")
        return (f"{task.operation}_{self.format}_{task.device}_{self.family}_{of_axes}"
                f"_c{p['ic'] // p['g']}x{p['oc'] // p['g']}_i{size}{p['ih']}x{p['iw']}_tuned_{digest}")


class Cache:
    """Compiled candidates by their content: what was compiled once is never compiled again, and what cannot be
    compiled is known. Where only time or memory were short, another try may do better."""

    def __init__(self, folder: str, toolchain: Toolchain, device: Device, seconds: float) -> None:
        self._folder = pathlib.Path(folder).expanduser()
        self._toolchain, self._device, self._seconds = toolchain, device, seconds
        self._fingerprint = toolchain.fingerprint()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TuningError(f"the cache {self._folder} cannot be used: {error}") from error

    def _stem(self, candidate: Candidate) -> pathlib.Path:
        key = json.dumps([self._fingerprint, self._device.target, self._device.options, candidate.name(),
                          candidate.arguments()])
        return self._folder / hashlib.sha256(key.encode()).hexdigest()[:32]

    def object_and_row(self, candidate: Candidate) -> tuple[pathlib.Path, pathlib.Path]:
        stem = self._stem(candidate)
        return stem.with_suffix(".o"), stem.with_suffix(".kernel.inc")

    def compile(self, candidate: Candidate, seconds: float | None = None, gigabytes: float | None = None) -> str:
        """Returns why the candidate is dropped, or an empty string. `gigabytes` limits the generator's memory."""
        seconds = seconds or self._seconds
        object_file, row = self.object_and_row(candidate)
        failure = self._stem(candidate).with_suffix(".failed")
        if object_file.exists():
            return ""
        if failure.exists():
            return failure.read_text()
        t = self._toolchain
        try:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                command = [t.generate, candidate.generator, f"--name={candidate.name()}",
                           f"--target={self._device.target}", f"--out={folder}", f"--ptxas={t.ptxas}",
                           f"--fatbinary={t.fatbinary}", *self._device.options, *t.plugin(candidate.autoscheduler),
                           *candidate.arguments()]
                reason, lasting = _failure(command, seconds, gigabytes)
                if reason:
                    if lasting:
                        failure.write_text(reason)
                    return reason
                made = pathlib.Path(folder) / candidate.name()
                os.replace(f"{made}.kernel.inc", row)
                os.replace(f"{made}.o", object_file)  # last: its presence says that both are there
                return ""
        except OSError as error:
            raise TuningError(f"cannot write to the cache {self._folder}: {error}") from error

    def compile_all(self, candidates: list[Candidate], jobs: int, progress) -> dict[Candidate, str]:
        """Compiles in parallel; `progress(done, of, seconds left)` is called after each."""
        start, reasons = time.monotonic(), {}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            futures = {pool.submit(self.compile, c): c for c in candidates}
            for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                reasons[futures[future]] = future.result()
                elapsed = time.monotonic() - start
                progress(done, len(candidates), elapsed / done * (len(candidates) - done))
        return reasons

    def link_pack(self, candidates: list[Candidate], output: pathlib.Path) -> None:
        """A kernel pack (runtime/src/choice/kernel_pack.h) of compiled candidates."""
        t = self._toolchain
        objects, rows = zip(*(self.object_and_row(c) for c in candidates))
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=output.parent) as folder:
                table = pathlib.Path(folder).resolve() / "rows.inc"  # included: not relative to the working directory
                table.write_text("".join(row.read_text() for row in rows))
                made = pathlib.Path(folder) / "pack.so"
                command = [t.compiler, "-std=c++20", "-O1", "-fPIC", "-shared", "-o", made,
                           *(f"-I{p}" for p in t.include),
                           f"-DCONV_TRANSPOSE_PACK_ROWS=\"{table}\"", f"-DCONV_TRANSPOSE_VERSION=\"{t.version}\"",
                           t.pack_source, *objects, t.pack_support, f"-Wl,--version-script={t.pack_exports}",
                           "-static-libstdc++", "-static-libgcc", "-lpthread", "-ldl"]
                try:
                    run = running.run(command)
                except FileNotFoundError as error:
                    raise TuningError(f"there is no compiler {t.compiler}: kernel packs need a C++ compiler") from error
                if run.returncode != 0:
                    raise TuningError(f"the kernel pack {output} cannot be linked: {run.stderr.strip()}")
                os.replace(made, output)
        except OSError as error:
            raise TuningError(f"cannot write the kernel pack {output}: {error}") from error


def _failure(command: list[str], seconds: float, gigabytes: float | None) -> tuple[str, bool]:
    """Runs the generator; why it failed, or an empty string, and whether it always will."""
    if gigabytes:  # set before the generator starts, so that it cannot be faster
        command = ["/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"', str(int(gigabytes * 2**20)), *command]
    try:
        done = running.run(command, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"compiling took more than {seconds:g} s", False
    if done.returncode < 0:
        return f"the generator was ended by signal {-done.returncode}", False
    if gigabytes and "std::bad_alloc" in done.stderr:
        return f"compiling took more than {gigabytes:g} GB of memory", False
    if done.returncode == 0:
        return "", False
    lines = [line.removeprefix("generate: ").removeprefix("Error: ").strip() for line in done.stderr.splitlines()]
    return next(filter(None, lines), "the generator failed without a message")[:300], True

"""The search for one task: Optuna asks for points, candidates are compiled, measured, told.

Compilers always have candidates waiting. What they have finished meanwhile is linked and measured, round after round,
so that one candidate that takes long to compile delays no other.

Everything lives in the run's folder, so that a killed run goes on where it was: trials.log is Optuna's journal (several
processes, GPUs or hosts may share it), measurements.jsonl has a line for each candidate as soon as it is known.
"""
from __future__ import annotations

import concurrent.futures
import dataclasses
import itertools
import json
import math
import pathlib
import random
import time

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import running
from candidates import Cache, Candidate, Device, Space, Task, Toolchain, TuningError
from measuring import measure

optuna.logging.set_verbosity(optuna.logging.ERROR)
STUDY = "search"  # its name in the journal
NO_TIME = "the search ended before it was compiled"


@dataclasses.dataclass
class Rules:
    seconds: float = 300.0          # of the whole search
    candidates: int = 10**6         # at most
    batch: int = 32                 # being compiled or waiting for it
    jobs: int = 2                   # compilers at a time
    compile_limit: float = 60.0     # seconds for one candidate
    measure_limit: float = 60.0
    give_up_ratio: float = 1.5      # a candidate that is this much slower than the best is timed no further
    sampler: str = "tpe"            # or random
    threads: int = 0
    seed: int = 1


class Measurements:
    """What is known of candidates: milliseconds or an error, in memory and in a file with one line each."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self.rows: list[dict] = []
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    self.rows.append(json.loads(line))
                except ValueError:
                    pass  # the line that was being written when a run was killed
        self._by_kernel = {row["kernel"]: row for row in self.rows}

    def __contains__(self, candidate: Candidate) -> bool:
        return candidate.name() in self._by_kernel

    def of(self, candidate: Candidate) -> dict:
        return self._by_kernel[candidate.name()]

    def add(self, candidate: Candidate, **facts) -> None:
        row = {"kernel": candidate.name(), **dataclasses.asdict(candidate.task), "generator": candidate.generator,
               "parameters": dict(candidate.parameters), "time": time.time(), **facts}
        try:
            with open(self._path, "a") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise TuningError(f"cannot write {self._path}: {error}") from error
        self.rows.append(row)
        self._by_kernel[row["kernel"]] = row

    def right(self) -> list[dict]:
        """Those that were timed, the fastest first."""
        return sorted((row for row in self.rows if "error" not in row), key=lambda row: row["ms_median"])

    def best(self) -> dict | None:
        return next(iter(self.right()), None)


class Search:
    def __init__(self, toolchain: Toolchain, task: Task, device: Device, spaces: list[Space], folder: pathlib.Path,
                 cache: Cache, rules: Rules, say=print) -> None:
        self._toolchain, self._rules, self._say, self._cache = toolchain, rules, say, cache
        self.task, self.device, self.folder = task, device, folder
        self.spaces = {space.generator: space for space in spaces}
        if not spaces:
            raise TuningError(f"no schedule for {device.kind} can be tuned for {task.problem}, {task.operation}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TuningError(f"the folder {folder} cannot be used: {error}") from error
        self.measurements = Measurements(folder / "measurements.jsonl")
        # Being compiled or measured, with what asked for them.
        self._pending: dict[Candidate, optuna.trial.Trial | None] = {}
        self._intervals: list[float] = []  # seconds between measurements of a round
        self._random = random.Random(rules.seed + len(self.measurements.rows))
        self._study = self._load_study()

    def _load_study(self) -> optuna.Study:
        sampler = (optuna.samplers.RandomSampler(seed=self._rules.seed) if self._rules.sampler == "random" else
                   optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=True, n_startup_trials=24,
                                              seed=self._rules.seed))
        storage = JournalStorage(JournalFileBackend(str(self.folder / "trials.log")))
        return optuna.create_study(storage=storage, study_name=STUDY, sampler=sampler, load_if_exists=True)

    def run(self, reserve=lambda a_candidate: 0.0) -> dict | None:
        """The best measurement, or None where no candidate is right. `reserve`: seconds to leave at the end, by those
        that measuring a candidate takes."""
        end, longest_round = time.monotonic() + self._rules.seconds, 0.0
        a_candidate = lambda: sum(self._intervals) / max(1, len(self._intervals))
        # What is not compiled by then could not be measured.
        last_round = lambda: end - longest_round - min(reserve(a_candidate()), self._rules.seconds / 2)
        compiling: dict[concurrent.futures.Future, Candidate] = {}
        pool = concurrent.futures.ThreadPoolExecutor(self._rules.jobs)
        try:
            while True:
                reasons = self._finished(compiling)
                if time.monotonic() < last_round():
                    for candidate in self._ask(self._rules.batch - len(compiling)):
                        compiling[pool.submit(self._compile, candidate, last_round)] = candidate
                if not reasons and not compiling:
                    return self.measurements.best()
                start = time.monotonic()
                self._measure(reasons)
                longest_round = max(longest_round, time.monotonic() - start)
        finally:
            pool.shutdown(cancel_futures=True)

    def _finished(self, compiling: dict[concurrent.futures.Future, Candidate]) -> dict[Candidate, str]:
        """Takes a round of compiled candidates, as soon as there is one, with the reasons why they could not be."""
        wanted = min(len(compiling), max(1, self._rules.batch // 2))
        for _ in itertools.islice(concurrent.futures.as_completed(list(compiling)), wanted):
            pass
        return {compiling.pop(future): future.result() for future in list(compiling) if future.done()}

    def _compile(self, candidate: Candidate, end) -> str:
        seconds = min(self._rules.compile_limit, end() - time.monotonic())
        reason = self._cache.compile(candidate, seconds) if seconds > 0 else NO_TIME
        return NO_TIME if reason and time.monotonic() > end() else reason

    # ---- asking

    def _ask(self, size: int) -> list[Candidate]:
        """At most so many new candidates."""
        size = min(size, self._rules.candidates - len(self.measurements.rows) - len(self._pending))
        unknown = sum(map(len, self.spaces.values())) - len(self.measurements.rows) - len(self._pending)
        if unknown <= size:
            return self._all_unknown(size)
        batch: list[Candidate] = []
        for space, point in self._proposals(size):
            self._enqueue(space, point)
        for _ in range(8 * size):  # what is known already costs nothing but an attempt
            if len(batch) == size:
                break
            running.require_not_interrupted()
            trial = self._study.ask()
            candidate = self._candidate(trial)
            if candidate in self.measurements:
                self._tell(trial, self.measurements.of(candidate))
            elif candidate in self._pending:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                self._pending[candidate] = trial
                batch.append(candidate)
        return batch or self._all_unknown(min(size, 1))

    def _all_unknown(self, size: int) -> list[Candidate]:
        """At most so many that Optuna did not think of."""
        candidates = (Candidate.at(space, point) for space in self.spaces.values() for point in space)
        unknown = (c for c in candidates if c not in self.measurements and c not in self._pending)
        batch = list(itertools.islice(unknown, max(size, 0)))
        self._pending |= dict.fromkeys(batch)
        return batch

    def _proposals(self, size: int) -> list[tuple[Space, tuple[int, ...]]]:
        """Points to try beside those of the sampler. The first are the library's own kernels and random ones; later
        they are around the best: spaces are large and candidates few, too few for a sampler alone."""
        spaces = list(self.spaces.values())
        weights = [math.log(1 + len(space)) for space in spaces]  # a schedule of few choices needs few trials
        at_random = lambda: (space := self._random.choices(spaces, weights)[0], self._random.choice(space))
        if self._rules.sampler == "random":
            return [at_random() for _ in range(size)]
        if not self.measurements.rows and not self._pending:
            own = [(space, point) for space in self.spaces.values() for point in space.own(self._toolchain.kernels)]
            return own + [at_random() for _ in range(size // 2 - len(own))]
        best = [(self.spaces[row["generator"]], self._point(row)) for row in self.measurements.right()[:3]]
        return [(space, space.neighbour(point, self._random))
                for space, point in (self._random.choice(best) for _ in range(size // 2 if best else 0))]

    def _enqueue(self, space: Space, point: tuple[int, ...]) -> None:
        values = {f"{space.generator}.{name}": value for name, value in space.values(point).items()}
        self._study.enqueue_trial({"generator": space.generator, **values})

    def _candidate(self, trial: optuna.trial.Trial) -> Candidate:
        space = self.spaces[trial.suggest_categorical("generator", list(self.spaces))]
        point = tuple(values.index(trial.suggest_categorical(f"{space.generator}.{name}", values))
                      for name, values in space.choices.items())
        return Candidate.at(space, space.nearest(point))

    # ---- measuring

    def _tell(self, trial: optuna.trial.Trial | None, row: dict) -> None:
        if trial is None:
            return
        if "error" in row:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, row["ms_median"])

    def _note(self, candidate: Candidate, **facts) -> None:
        self.measurements.add(candidate, **facts)
        self._tell(self._pending.pop(candidate), self.measurements.of(candidate))

    def _measure(self, reasons: dict[Candidate, str]) -> None:
        """Those that could be compiled; of the others the reasons are noted."""
        for candidate, reason in reasons.items():
            if reason == NO_TIME:
                self._tell(self._pending.pop(candidate), {"error": reason})  # another search may find out
            elif reason:
                self._note(candidate, error=f"not compiled: {reason}")
        by_name = {c.name(): c for c, reason in reasons.items() if not reason}
        if by_name:
            pack = self.folder / "candidates" / "candidates.so"
            self._cache.link_pack(list(by_name.values()), pack)
            self._measure_pack(by_name, pack)
        best = self.measurements.best()
        if reasons:
            self._say(f"  {len(self.measurements.rows)} candidates, best "
                      + (f"{best['ms_median']:.4g} ms by {best['kernel']}" if best else "none yet"))

    def _measure_pack(self, by_name: dict[str, Candidate], pack: pathlib.Path) -> None:
        last = None
        facts = ("ms_median", "ms_min", "repeats", "flops", "bytes")
        for row in measure(self._toolchain.benchmark, self.task, list(by_name), pack_folder=str(pack.parent),
                           seconds=0.05, give_up_ratio=self._rules.give_up_ratio,
                           time_limit=self._rules.measure_limit, threads=self._rules.threads):
            if row.get("error", "").startswith("kernel pack "):  # not the candidate's fault, nor to be remembered
                raise TuningError(row["error"])
            if last:
                self._intervals.append(time.monotonic() - last)
            last = time.monotonic()
            self._note(by_name[row["kernel"]],
                       **({"error": row["error"]} if "error" in row else {k: row[k] for k in facts}))

    def _point(self, row: dict) -> tuple[int, ...]:
        choices = self.spaces[row["generator"]].choices
        return tuple(values.index(row["parameters"][name]) for name, values in choices.items())

    def candidate_of(self, row: dict) -> Candidate:
        return Candidate.at(self.spaces[row["generator"]], self._point(row))

"""The search for one task, round after round: Optuna asks for points, candidates are compiled, measured, told.

Everything lives in the run's folder, so that a killed run goes on where it was: trials.log is Optuna's journal (several
processes, GPUs or hosts may share it), measurements.jsonl has a line for each candidate as soon as it is known.
"""
from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import math
import pathlib
import random
import time

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import running
from candidates import Cache, Candidate, Device, Space, Task, Toolchain, TuningError, spaces
from measuring import measure

optuna.logging.set_verbosity(optuna.logging.ERROR)
STUDY = "search"  # its name in the journal


@dataclasses.dataclass
class Rules:
    seconds: float = 300.0          # of the whole search
    candidates: int = 10**6         # at most
    batch: int = 32                 # compiled and measured together
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
    def __init__(self, toolchain: Toolchain, task: Task, device: Device, folder: pathlib.Path, cache: Cache, rules: Rules,
                 say=print) -> None:
        self._toolchain, self._rules, self._say, self._cache = toolchain, rules, say, cache
        self.task, self.device, self.folder = task, device, folder
        self._spaces = {space.generator: space for space in spaces(toolchain, task, device)}
        if not self._spaces:
            raise TuningError(f"no schedule for {device.kind} can be tuned for {task.problem}, {task.operation}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TuningError(f"the folder {folder} cannot be used: {error}") from error
        self.measurements = Measurements(folder / "measurements.jsonl")
        self._packs = 0
        self._random = random.Random(rules.seed + len(self.measurements.rows))
        self._study = self._load_study()

    def _load_study(self) -> optuna.Study:
        sampler = (optuna.samplers.RandomSampler(seed=self._rules.seed) if self._rules.sampler == "random" else
                   optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=True, n_startup_trials=24,
                                              seed=self._rules.seed))
        storage = JournalStorage(JournalFileBackend(str(self.folder / "trials.log")))
        return optuna.create_study(storage=storage, study_name=STUDY, sampler=sampler, load_if_exists=True)

    def run(self) -> dict | None:
        """The best measurement, or None where no candidate is right. The next batch is compiled while one is measured."""
        end = time.monotonic() + self._rules.seconds
        with concurrent.futures.ThreadPoolExecutor(1) as compiler:
            batch = self._ask(())
            compiled = compiler.submit(self._compile, batch)
            while batch:
                pack, reasons = compiled.result()
                over = time.monotonic() > end
                following = {} if over else self._ask(batch)
                compiled = compiler.submit(self._compile, following)
                self._measure_batch(batch, pack, reasons)
                batch = following
                best = self.measurements.best()
                self._say(f"  {len(self.measurements.rows)} candidates, best "
                          + (f"{best['ms_median']:.4g} ms by {best['kernel']}" if best else "none yet"))
        return self.measurements.best()

    # ---- asking

    def _ask(self, pending) -> dict[Candidate, optuna.trial.Trial | None]:
        """New candidates, none of them `pending`, with the trials that asked for them."""
        batch: dict[Candidate, optuna.trial.Trial | None] = {}
        size = min(self._rules.batch, self._rules.candidates - len(self.measurements.rows) - len(pending))
        for space, point in self._proposals(size, first=not self.measurements.rows and not pending):
            self._enqueue(space, point)
        for _ in range(8 * size):  # what is known already costs nothing but an attempt
            if len(batch) == size:
                break
            running.require_not_interrupted()
            trial = self._study.ask()
            candidate = self._candidate(trial)
            if candidate in self.measurements:
                self._tell(trial, self.measurements.of(candidate))
            elif candidate in batch or candidate in pending:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                batch[candidate] = trial
        return batch or (self._any_unknown(pending) if size > 0 else {})

    def _proposals(self, size: int, first: bool) -> list[tuple[Space, tuple[int, ...]]]:
        """Points to try beside those of the sampler. The first round starts from the library's own kernels and is random
        otherwise; later ones look around the best: spaces are large and batches few, too few for a sampler alone."""
        spaces = list(self._spaces.values())
        weights = [math.log(1 + len(space)) for space in spaces]  # a schedule of few choices needs few trials
        at_random = lambda: (space := self._random.choices(spaces, weights)[0], self._random.choice(space))
        if self._rules.sampler == "random":
            return [at_random() for _ in range(size)]
        if first:
            own = [(space, point) for space in self._spaces.values() for point in space.own(self._toolchain.kernels)]
            return own + [at_random() for _ in range(size // 2 - len(own))]
        best = [(self._spaces[row["generator"]], self._point(row)) for row in self.measurements.right()[:3]]
        return [(space, space.neighbour(point, self._random))
                for space, point in (self._random.choice(best) for _ in range(size // 2 if best else 0))]

    def _any_unknown(self, pending) -> dict[Candidate, None]:
        """A candidate that Optuna did not think of, where there is one left."""
        for space in self._spaces.values():
            for point in space:
                candidate = Candidate.at(space, point)
                if candidate not in self.measurements and candidate not in pending:
                    return {candidate: None}
        return {}

    def _enqueue(self, space: Space, point: tuple[int, ...]) -> None:
        values = {f"{space.generator}.{name}": value for name, value in space.values(point).items()}
        self._study.enqueue_trial({"generator": space.generator, **values})

    def _candidate(self, trial: optuna.trial.Trial) -> Candidate:
        space = self._spaces[trial.suggest_categorical("generator", list(self._spaces))]
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

    def _note(self, candidate: Candidate, trial: optuna.trial.Trial | None, **facts) -> None:
        self.measurements.add(candidate, **facts)
        self._tell(trial, self.measurements.of(candidate))

    def _compile(self, batch) -> tuple[pathlib.Path, dict[Candidate, str]]:
        """A pack of those that could be compiled, in a folder of its own, and why the others could not."""
        reasons = self._cache.compile_all(list(batch), self._rules.jobs, self._progress)
        self._packs += 1
        pack = self.folder / f"pack{self._packs % 2}" / "candidates.so"
        compiled = [c for c, reason in reasons.items() if not reason]
        if compiled:
            self._cache.link_pack(compiled, pack)
        return pack, reasons

    def _measure_batch(self, batch: dict[Candidate, optuna.trial.Trial | None], pack: pathlib.Path,
                       reasons: dict[Candidate, str]) -> None:
        for candidate, reason in reasons.items():
            if reason:
                self._note(candidate, batch[candidate], error=f"not compiled: {reason}")
        by_name = {c.name(): c for c in batch if not reasons[c]}
        for row in measure(self._toolchain.benchmark, self.task, list(by_name), pack_folder=str(pack.parent), seconds=0.05,
                           give_up_ratio=self._rules.give_up_ratio, time_limit=self._rules.measure_limit,
                           threads=self._rules.threads):
            if row.get("error", "").startswith("kernel pack "):  # not the candidate's fault, nor to be remembered
                raise TuningError(row["error"])
            candidate = by_name[row["kernel"]]
            facts = {"error": row["error"]} if "error" in row else {k: row[k] for k in ("ms_median", "ms_min", "repeats", "flops", "bytes")}
            self._note(candidate, batch[candidate], **facts)

    def _progress(self, done: int, of: int, seconds_left: float) -> None:
        if done == of or done % max(1, of // 4) == 0:
            self._say(f"  compiled {done} of {of}, {seconds_left:.0f} s left")

    def _point(self, row: dict) -> tuple[int, ...]:
        choices = self._spaces[row["generator"]].choices
        return tuple(values.index(row["parameters"][name]) for name, values in choices.items())

    def candidate_of(self, row: dict) -> Candidate:
        return Candidate.at(self._spaces[row["generator"]], self._point(row))

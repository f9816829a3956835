"""The search for one problem, round after round: Optuna asks for points, candidates are compiled, measured, told.

Everything lives in the run's folder, so that a killed run goes on where it was: trials.log is Optuna's journal (several
processes, GPUs or hosts may share it), measurements.jsonl has a line for each candidate as soon as it is known.
"""
from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import pathlib
import random
import time

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from candidates import Cache, Candidate, Device, Space, Toolchain, TuningError, parse_problem, spaces
from measuring import measure

optuna.logging.set_verbosity(optuna.logging.ERROR)


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
    precision: str = "float32"
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
        row = {"kernel": candidate.name(), "problem": candidate.problem, "generator": candidate.generator,
               "parameters": dict(candidate.parameters), "time": time.time(), **facts}
        try:
            with open(self._path, "a") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise TuningError(f"cannot write {self._path}: {error}") from error
        self.rows.append(row)
        self._by_kernel[row["kernel"]] = row

    def best(self) -> dict | None:
        measured = [row for row in self.rows if "error" not in row]
        return min(measured, key=lambda row: row["ms_median"], default=None)


class Search:
    def __init__(self, toolchain: Toolchain, problem: str, device: Device, folder: pathlib.Path, cache: str, rules: Rules,
                 say=print) -> None:
        self._toolchain, self._device, self._rules, self._say = toolchain, device, rules, say
        self.text, self.problem, self.folder = problem, parse_problem(problem), folder
        self._spaces = {space.generator: space for space in spaces(toolchain, self.problem, device)}
        if not self._spaces:
            raise TuningError(f"no schedule for {device.kind} can be tuned for {problem}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TuningError(f"the folder {folder} cannot be used: {error}") from error
        self.measurements = Measurements(folder / "measurements.jsonl")
        self._cache = Cache(cache, toolchain, device, rules.compile_limit)
        self._packs = 0
        self._random = random.Random(rules.seed + len(self.measurements.rows))
        self._study = self._load_study()

    def _load_study(self) -> optuna.Study:
        sampler = (optuna.samplers.RandomSampler(seed=self._rules.seed) if self._rules.sampler == "random" else
                   optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=True, n_startup_trials=24,
                                              seed=self._rules.seed))
        storage = JournalStorage(JournalFileBackend(str(self.folder / "trials.log")))
        return optuna.create_study(storage=storage, study_name=self.text, sampler=sampler, load_if_exists=True)

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
        """New candidates, none of them `pending`, with the trials that asked for them; the first round is random, but starts
        from the library's own kernels."""
        batch: dict[Candidate, optuna.trial.Trial | None] = {}
        size = min(self._rules.batch, self._rules.candidates - len(self.measurements.rows) - len(pending))
        if not self.measurements.rows and not pending:
            for space in self._spaces.values():
                for point in space.own(self._toolchain.kernels, self.problem):
                    self._enqueue(space, point)
            while len(self._study.get_trials(states=[optuna.trial.TrialState.WAITING])) < size // 2:
                space = self._random.choice(list(self._spaces.values()))
                self._enqueue(space, self._random.choice(space))
        for _ in range(8 * size):  # what is known already costs nothing but an attempt
            if len(batch) == size:
                break
            trial = self._study.ask()
            candidate = self._candidate(trial)
            if candidate in self.measurements:
                self._tell(trial, self.measurements.of(candidate))
            elif candidate in batch or candidate in pending:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                batch[candidate] = trial
        return batch or (self._any_unknown(pending) if size > 0 else {})

    def _any_unknown(self, pending) -> dict[Candidate, None]:
        """A candidate that Optuna did not think of, where there is one left."""
        for space in self._spaces.values():
            for point in space:
                candidate = Candidate.at(space, point, self.problem)
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
        return Candidate.at(space, space.nearest(point), self.problem)

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
        for row in measure(self._toolchain.benchmark, self.text, list(by_name), device=self._device.kind, pack_folder=str(pack.parent),
                           precision=self._rules.precision, seconds=0.05, give_up_ratio=self._rules.give_up_ratio,
                           time_limit=self._rules.measure_limit, threads=self._rules.threads):
            if row.get("error", "").startswith("kernel pack "):  # not the candidate's fault, nor to be remembered
                raise TuningError(row["error"])
            candidate = by_name[row["kernel"]]
            facts = {"error": row["error"]} if "error" in row else {k: row[k] for k in ("ms_median", "ms_min", "repeats", "flops", "bytes")}
            self._note(candidate, batch[candidate], **facts)

    def _progress(self, done: int, of: int, seconds_left: float) -> None:
        if done == of or done % max(1, of // 4) == 0:
            self._say(f"  compiled {done} of {of}, {seconds_left:.0f} s left")

    # ---- the end

    def candidate_of(self, row: dict) -> Candidate:
        space = self._spaces[row["generator"]]
        point = tuple(values.index(row["parameters"][name]) for name, values in space.choices.items())
        return Candidate.at(space, point, self.problem)

    def link_winner(self, result: dict, pack: pathlib.Path) -> None:
        self._cache.link_pack([self.candidate_of(result)], pack)

    def compare_with_default(self, rounds: int = 5) -> dict:
        """The best candidates and the library's own choice once more, in turns, and longer: the search's single times pick
        the lucky among equals."""
        measured = sorted((r for r in self.measurements.rows if "error" not in r), key=lambda r: r["ms_median"])[:3]
        if not measured:
            raise TuningError(f"no candidate for {self.text} was right: see {self.folder}/measurements.jsonl")
        finalists = [self.candidate_of(row) for row in measured]
        pack = self.folder / "finalists" / "finalists.so"
        self._cache.link_pack(finalists, pack)
        common = dict(device=self._device.kind, precision=self._rules.precision, threads=self._rules.threads,
                      time_limit=self._rules.measure_limit)
        default = next(measure(self._toolchain.benchmark, self.text, [""], seconds=0, **common))
        if "error" in default:
            raise TuningError(f"the library's own kernel failed: {default['error']}")
        names = [c.name() for c in finalists] + [default["kernel"]]
        times: dict[str, list[float]] = {name: [] for name in names}
        for row in measure(self._toolchain.benchmark, self.text, names * rounds, pack_folder=str(pack.parent), seconds=0.1,
                           give_up_ratio=1e30, **common):
            if "error" in row:
                raise TuningError(f"{row['kernel']} failed when it was measured again: {row['error']}")
            times[row["kernel"]].append(row["ms_min" if self._device.kind == "cpu" else "ms_median"])
        middle = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
        best = min(finalists, key=lambda c: middle[c.name()])
        row = self.measurements.of(best)
        return {"problem": self.text, "operation": "forward", "precision": self._rules.precision, "device": self._device.name,
                "kind": self._device.kind, "compute_capability": self._device.compute_capability,
                "kernel": best.name(), "generator": best.generator, "parameters": dict(best.parameters),
                "arguments": best.arguments(), "ms": middle[best.name()],
                "default_kernel": default["kernel"], "default_ms": middle[default["kernel"]],
                "speedup": middle[default["kernel"]] / middle[best.name()], "candidates": len(self.measurements.rows),
                "flops": row["flops"], "bytes": row["bytes"],
                "date": time.strftime("%Y-%m-%d", time.gmtime()), "version": self._toolchain.version}

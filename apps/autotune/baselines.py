"""What a search is compared with, beside the library's own kernel: schedules by Halide's autoschedulers, and a search
that chooses at random.

Autoschedulers take minutes and gigabytes for a problem, so theirs are compiled in the background of all searches.
"""
from __future__ import annotations

import concurrent.futures
import dataclasses
import pathlib

from candidates import Cache, Candidate, Device, Task, Toolchain, TuningError
from searching import Rules, Search

AUTOSCHEDULERS = {"Anderson2021": "cuda", "Adams2019": "cpu", "Mullapudi2016": "cpu"}
RANDOM = "random"
NAMES = (*AUTOSCHEDULERS, RANDOM)


def autoscheduled(toolchain: Toolchain, task: Task, device: Device, autoscheduler: str) -> Candidate:
    """The same gather, without a schedule of ours."""
    if autoscheduler not in toolchain.autoschedulers:
        raise TuningError(f"the toolchain names no plugin for the autoscheduler {autoscheduler}")
    size = task.fields
    return Candidate(task, "forward_autoscheduled", "autoscheduled", (("batch", size["n"]), ("groups", size["g"])),
                     autoscheduler=f"{autoscheduler},parallelism={device.parallelism}")


class Autoscheduling:
    """Compiles autoscheduled kernels of many tasks while something else goes on."""

    def __init__(self, toolchain: Toolchain, device: Device, cache: Cache, seconds: float, gigabytes: float,
                 jobs: int) -> None:
        self._toolchain, self._device, self._cache, self._limits = toolchain, device, cache, (seconds, gigabytes)
        self._pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self._started: dict[Task, dict[str, tuple[Candidate, concurrent.futures.Future]]] = {}

    def start(self, task: Task, names: list[str]) -> None:
        """Those of `names` that schedule for the device: forward operations of up to two axes."""
        if task.operation != "forward" or task.rank > 2:
            return
        for name in names:
            if AUTOSCHEDULERS.get(name) == task.device:
                candidate = autoscheduled(self._toolchain, task, self._device, name)
                future = self._pool.submit(self._cache.compile, candidate, *self._limits)
                self._started.setdefault(task, {})[name] = (candidate, future)

    def finish(self, task: Task) -> dict[str, tuple[Candidate, str]]:
        """By the autoscheduler's name: its kernel, and why there is none, or an empty string."""
        return {name: (candidate, future.result()) for name, (candidate, future) in self._started.get(task, {}).items()}


def random_search(search: Search, toolchain: Toolchain, cache: Cache, rules: Rules, folder: pathlib.Path,
                  say) -> Candidate | None:
    """The best of as many random candidates as the search tried."""
    rules = dataclasses.replace(rules, sampler=RANDOM, candidates=len(search.measurements.rows))
    random = Search(toolchain, search.task, search.device, list(search.spaces.values()), folder, cache, rules, say)
    best = random.run()
    return random.candidate_of(best) if best else None

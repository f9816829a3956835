"""Measuring kernels by the benchmark program, in a process of its own: a kernel that hangs or crashes ends only
that."""
from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from typing import Iterator

import running
from candidates import Task, TuningError


def measure(benchmark: str, task: Task, kernels: list[str], *, pack_folder: str | None = None, seconds: float = 0.1,
            give_up_ratio: float = 1.5, time_limit: float = 60, threads: int = 0) -> Iterator[dict]:
    """One dictionary for each kernel, as it is measured: the benchmark's JSON, with "error" where the kernel failed to
    start, gave a wrong result, crashed or took longer than `time_limit` seconds. An empty name is the plan's choice."""
    remaining = list(kernels)
    while remaining:
        with _start(benchmark, task, remaining, pack_folder, seconds, give_up_ratio, threads) as process:
            try:
                yield from _rows(process, task, remaining, time_limit)
            except GeneratorExit:  # nobody wants the rest
                running.end(process)
                raise


def _rows(process, task: Task, remaining: list[str], time_limit: float) -> Iterator[dict]:
    """One process's measurements, up to the kernel that it does not survive; takes what is known from `remaining`."""
    failed = lambda reason: {"kernel": remaining.pop(0), "problem": task.problem, "error": reason}
    lines = _lines(process)
    while remaining:
        try:
            line = lines.get(timeout=time_limit)
        except queue.Empty:
            running.end(process)
            yield failed(f"took more than {time_limit:g} s")
            return
        if line is None:
            running.require_not_interrupted()
            message = process.stderr.read().strip()
            if process.wait() >= 0 and message:  # it refuses to start
                raise TuningError(message)
            yield failed(f"the process died ({process.returncode})")
            return
        remaining.pop(0)
        yield json.loads(line)


def _start(benchmark, task, kernels, pack_folder, seconds, give_up_ratio, threads):
    environment = dict(os.environ)
    environment.pop("CONV_TRANSPOSE_KERNEL_PATH", None)
    if pack_folder:
        environment["CONV_TRANSPOSE_KERNEL_PATH"] = str(pack_folder)
    # Any limits do: only times are used.
    command = [benchmark, task.problem, "--json-lines", "--device", task.device, "--precision", task.precision,
               "--operation", task.operation, "--seconds", str(seconds), "--give-up-ratio", str(give_up_ratio),
               "--threads", str(threads), "--peak-tflops", "1", "--peak-gb-per-second", "1"]
    if kernels != [""]:
        command += ["--kernel", *kernels]
    try:
        return running.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    except OSError as error:
        raise TuningError(f"the benchmark {benchmark} cannot be started: {error}") from error


def _lines(process) -> queue.Queue:
    """Its output by lines, then None."""
    lines: queue.Queue = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines

"""Programs that run for the tuner. An interrupt ends them all, and what they then return is no result.

The handler of the signal raises nothing: an exception may not appear wherever the main thread happens to be, for
example while Optuna holds the lock of its journal. The main thread only ever waits for programs, so it hears of the
interrupt from the first that has ended. A second interrupt does not wait for that.
"""
from __future__ import annotations

import os
import signal
import subprocess
import threading

_lock = threading.RLock()  # the handler of a signal may find its own thread inside
_running: set[subprocess.Popen] = set()
_interrupted = False


class Interrupted(Exception):
    """Whoever ran the tuner has ended it."""


def start(command: list, **options) -> subprocess.Popen:
    """Like Popen, but out of reach of the terminal's Ctrl-C: by that alone a program would seem to have failed."""
    with _lock:
        require_not_interrupted()
        process = subprocess.Popen(command, start_new_session=True, **options)
        _running.difference_update([p for p in _running if p.returncode is not None])
        _running.add(process)
        if _interrupted:  # while it started
            end(process)
        return process


def run(command: list, timeout: float | None = None, **options) -> subprocess.CompletedProcess:
    """Like subprocess.run with the output captured as text."""
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            output, message = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end(process)
            raise
    require_not_interrupted()
    return subprocess.CompletedProcess(command, process.returncode, output, message)


def end(process: subprocess.Popen) -> None:
    """Ends it and what it has started: that would hold its output open."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def require_not_interrupted() -> None:
    """Before what a program returned is believed."""
    if _interrupted:
        raise Interrupted


def _interrupt(number, frame) -> None:
    global _interrupted
    if _interrupted:
        raise KeyboardInterrupt
    _interrupted = True
    with _lock:
        for process in _running:
            end(process)


def end_all_when_interrupted() -> None:
    """By Ctrl-C, or by whoever ends the tuner in an orderly way. What a shell told it to ignore stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)

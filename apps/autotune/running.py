"""Programs that run for the tuner. An interrupt ends them all, and what they then return is no result."""
from __future__ import annotations

import signal
import subprocess
import threading

_lock = threading.RLock()  # the handler of a signal may find its own thread inside
_running: set[subprocess.Popen] = set()
_interrupted = False


class Interrupted(Exception):
    """In the tuner's threads; its main thread gets KeyboardInterrupt."""


def start(command: list[str], **options) -> subprocess.Popen:
    """Like Popen, but out of reach of the terminal's Ctrl-C: by that alone a program would seem to have failed."""
    with _lock:
        if _interrupted:
            raise Interrupted
        process = subprocess.Popen(command, start_new_session=True, **options)
        _running.difference_update([p for p in _running if p.returncode is not None])
        _running.add(process)
        return process


def require_not_interrupted() -> None:
    """Before what a program returned is believed."""
    if _interrupted:
        raise Interrupted


def _interrupt(number, frame) -> None:
    global _interrupted
    _interrupted = True
    with _lock:
        for process in _running:
            process.kill()
    raise KeyboardInterrupt


def end_all_when_interrupted() -> None:
    """By Ctrl-C, or by whoever ends the tuner in an orderly way. What a shell told it to ignore stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)

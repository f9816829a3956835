"""The end of a search: its best candidates and the library's own choice once more, in turns and longer, and the
baselines. The search's single times pick the lucky among equals."""
from __future__ import annotations

import dataclasses
import time

from candidates import Cache, Candidate, Toolchain, TuningError
from measuring import measure
from searching import Search

FINALISTS = 3
FAR_SLOWER = 3
ROUNDS = 5


def expected_seconds(a_candidate: float) -> float:
    """That `compare` takes, about, where measuring a candidate took so long in the search."""
    linking, processes = 1, 2
    return linking + processes + ROUNDS * (FINALISTS + 1) * (a_candidate + 0.05)


def compare(search: Search, toolchain: Toolchain, cache: Cache, end: float, *, time_limit: float, threads: int) -> dict:
    """What result.json holds, but for the baselines. `end`, of the monotonic clock: no round begins after that but the
    first."""
    right = search.measurements.right()
    if not right:
        raise TuningError(f"no candidate for {search.task.key} was right: see {search.folder}/measurements.jsonl")
    finalists = [search.candidate_of(row) for row in right[:FINALISTS]]
    pack = search.folder / "finalists" / "finalists.so"
    cache.link_pack(finalists, pack)
    common = dict(threads=threads, time_limit=time_limit)
    default = next(measure(toolchain.benchmark, search.task, [""], seconds=0, **common))
    if "error" in default:
        raise TuningError(f"the library's own kernel failed: {default['error']}")
    common |= dict(pack_folder=str(pack.parent), give_up_ratio=1e30)
    names, default_ms = [c.name() for c in finalists], _milliseconds(search, default)
    if default_ms > FAR_SLOWER * _milliseconds(search, right[0]):  # once is enough
        middle = {default["kernel"]: default_ms} | _in_turns(toolchain, search, names, end, common)
    else:
        middle = _in_turns(toolchain, search, [*names, default["kernel"]], end, common)
    best = min(finalists, key=lambda c: middle[c.name()])
    row = search.measurements.of(best)
    return {**dataclasses.asdict(search.task), "device": search.device.name, "kind": search.device.kind,
            "compute_capability": search.device.compute_capability,
            "kernel": best.name(), "generator": best.generator, "family": best.family, "format": best.format,
            "parameters": dict(best.parameters),
            "arguments": best.arguments(), "ms": middle[best.name()],
            "default_kernel": default["kernel"], "default_ms": middle[default["kernel"]],
            "speedup": middle[default["kernel"]] / middle[best.name()],
            "baselines": {}, "candidates": len(search.measurements.rows), "flops": row["flops"], "bytes": row["bytes"],
            "date": time.strftime("%Y-%m-%d", time.gmtime()), "version": toolchain.version}


def measure_baselines(search: Search, toolchain: Toolchain, cache: Cache, baselines: dict[str, tuple[Candidate, str]],
                      *, time_limit: float, threads: int) -> dict[str, dict]:
    """By name, as `baselines`: each with the reason why it failed, or an empty string."""
    pack = search.folder / "baselines" / "baselines.so"
    if compiled := {name: candidate for name, (candidate, failure) in baselines.items() if not failure}:
        cache.link_pack(list(dict.fromkeys(compiled.values())), pack)
    facts = {name: {"error": failure} for name, (_, failure) in baselines.items() if failure}
    for name, candidate in compiled.items():
        row = next(measure(toolchain.benchmark, search.task, [candidate.name()], seconds=0.1, give_up_ratio=1e30,
                           pack_folder=str(pack.parent), time_limit=time_limit, threads=threads))
        facts[name] = {"error": row["error"]} if "error" in row else {"ms": _milliseconds(search, row)}
    return facts


def _in_turns(toolchain: Toolchain, search: Search, kernels: list[str], end: float, common: dict) -> dict[str, float]:
    """The middle of each kernel's times."""
    times: dict[str, list[float]] = {name: [] for name in kernels}
    rows = measure(toolchain.benchmark, search.task, list(times) * ROUNDS, seconds=0.1, **common)
    for i, row in enumerate(rows, 1):
        if "error" in row:
            raise TuningError(f"{row['kernel']} failed when it was measured again: {row['error']}")
        times[row["kernel"]].append(_milliseconds(search, row))
        if i % len(times) == 0 and time.monotonic() > end:
            break
    rows.close()
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}


def _milliseconds(search: Search, row: dict) -> float:
    # On a CPU other programs only ever add.
    return row["ms_min" if search.device.kind == "cpu" else "ms_median"]

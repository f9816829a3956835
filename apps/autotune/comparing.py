"""The end of a search: its best candidates, the library's own choice and the baselines once more, in turns and longer.
The search's single times pick the lucky among equals."""
from __future__ import annotations

import dataclasses
import time

from candidates import Cache, Candidate, Toolchain, TuningError
from measuring import measure
from searching import Search

FINALISTS = 3


def compare(search: Search, toolchain: Toolchain, cache: Cache, baselines: dict[str, tuple[Candidate, str]], *,
            time_limit: float, threads: int, rounds: int = 5) -> dict:
    """What result.json holds. `baselines` by name, each with the reason why it failed, or an empty string."""
    right = search.measurements.right()
    if not right:
        raise TuningError(f"no candidate for {search.task.key} was right: see {search.folder}/measurements.jsonl")
    finalists = [search.candidate_of(row) for row in right[:FINALISTS]]
    pack = search.folder / "finalists" / "finalists.so"
    compiled = [candidate for candidate, failure in baselines.values() if not failure]
    cache.link_pack(list(dict.fromkeys(finalists + compiled)), pack)
    common = dict(threads=threads, time_limit=time_limit)
    default = next(measure(toolchain.benchmark, search.task, [""], seconds=0, **common))
    if "error" in default:
        raise TuningError(f"the library's own kernel failed: {default['error']}")
    common |= dict(pack_folder=str(pack.parent), give_up_ratio=1e30)
    middle = _in_turns(toolchain, search, [c.name() for c in finalists] + [default["kernel"]], rounds, common)
    best = min(finalists, key=lambda c: middle[c.name()])
    row = search.measurements.of(best)
    return {**dataclasses.asdict(search.task), "device": search.device.name, "kind": search.device.kind,
            "compute_capability": search.device.compute_capability,
            "kernel": best.name(), "generator": best.generator, "parameters": dict(best.parameters),
            "arguments": best.arguments(), "ms": middle[best.name()],
            "default_kernel": default["kernel"], "default_ms": middle[default["kernel"]],
            "speedup": middle[default["kernel"]] / middle[best.name()],
            "baselines": {name: {"error": failure} if failure else _baseline(toolchain, search, candidate, common)
                          for name, (candidate, failure) in baselines.items()},
            "candidates": len(search.measurements.rows), "flops": row["flops"], "bytes": row["bytes"],
            "date": time.strftime("%Y-%m-%d", time.gmtime()), "version": toolchain.version}


def _in_turns(toolchain: Toolchain, search: Search, kernels: list[str], rounds: int, common: dict) -> dict[str, float]:
    """The middle of each kernel's times."""
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for row in measure(toolchain.benchmark, search.task, list(times) * rounds, seconds=0.1, **common):
        if "error" in row:
            raise TuningError(f"{row['kernel']} failed when it was measured again: {row['error']}")
        times[row["kernel"]].append(_milliseconds(search, row))
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}


def _baseline(toolchain: Toolchain, search: Search, candidate: Candidate, common: dict) -> dict:
    row = next(measure(toolchain.benchmark, search.task, [candidate.name()], seconds=0.1, **common))
    return {"error": row["error"]} if "error" in row else {"ms": _milliseconds(search, row)}


def _milliseconds(search: Search, row: dict) -> float:
    # On a CPU other programs only ever add.
    return row["ms_min" if search.device.kind == "cpu" else "ms_median"]

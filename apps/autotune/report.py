"""The report of a run: report.md with plots beside it."""
from __future__ import annotations

import json
import math
import pathlib
import statistics

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from candidates import TuningError
from searching import STUDY


def write_report(folder: pathlib.Path) -> pathlib.Path:
    """For every problem of the run that has a result."""
    results = [json.loads(path.read_text()) | {"folder": path.parent} for path in sorted(folder.glob("*/result.json"))]
    lines = ["# Autotuning report", ""]
    if not results:
        lines.append("No problem has a result yet.")
    else:
        lines += _summary(results)
        for result in results:
            lines += _problem(folder, result)
    path = folder / "report.md"
    try:
        path.write_text("\n".join(lines) + "\n")
    except OSError as error:
        raise TuningError(f"cannot write {path}: {error}") from error
    return path


def _summary(results: list[dict]) -> list[str]:
    baselines = sorted({name for r in results for name in r["baselines"]})
    heading = ["problem", "precision", "best of the search, ms", "default ms", "over default", "PyTorch ms",
               "in use over PyTorch", *(f"best over {name}" for name in baselines), "candidates"]
    lines = [f"{results[0]['device']}, version {results[0]['version']}, {results[-1]['date']}. Where the default is "
             "faster, it stays in use.", "", "| " + " | ".join(heading) + " |", "|---" * len(heading) + "|"]
    for r in results:
        peer = r.get("pytorch_ms")
        what = r.get("name") or r["problem"]
        cells = [what if r["operation"] == "forward" else f"{what}, {r['operation']}", r["precision"], f"{r['ms']:.4g}",
                 f"{r['default_ms']:.4g}", f"{r['speedup']:.2f}x",
                 *((f"{peer:.4g}", f"{peer / r['pytorch_run_ms']:.2f}x") if peer else ("–", "–")),
                 *(_baseline_cell(r, name) for name in baselines), str(r["candidates"])]
        lines.append("| " + " | ".join(cells) + " |")
    over_default = statistics.geometric_mean(max(r["speedup"], 1) for r in results)
    lines += ["", f"Geometric mean over the default: {over_default:.2f}x."]
    ratios = {"PyTorch": [r["pytorch_ms"] / r["pytorch_run_ms"] for r in results if r.get("pytorch_ms")]}
    for name in baselines:
        ratios[name] = [r["baselines"][name]["ms"] / r["ms"] for r in results if "ms" in r["baselines"].get(name, {})]
    return lines + [f"Geometric mean over {name}: {statistics.geometric_mean(values):.2f}x."
                    for name, values in ratios.items() if values] + [""]


def _baseline_cell(result: dict, name: str) -> str:
    baseline = result["baselines"].get(name)
    if not baseline:
        return "–"
    return f"{baseline['ms'] / result['ms']:.2f}x" if "ms" in baseline else "failed"


def _problem(folder: pathlib.Path, result: dict) -> list[str]:
    rows = [json.loads(line) for line in (result["folder"] / "measurements.jsonl").read_text().splitlines()]
    measured = [row for row in rows if "error" not in row]
    plot = result["folder"] / "search.svg"
    _plot(rows, result, plot)
    reasons: dict[str, int] = {}
    for row in rows:
        if "error" in row:
            kind = row["error"].replace(row["kernel"], "it").split(" (")[0].split(" is ")[0][:100]
            reasons[kind] = reasons.get(kind, 0) + 1
    lines = [f"## {result.get('name') or result['problem']}", "", f"`{result['problem']}`", "",
             f"Best of {len(measured)} right candidates (of {len(rows)}): `{result['generator']}` with "
             + ", ".join(f"{k}={v}" for k, v in result["parameters"].items())
             + f"; default: `{result['default_kernel']}`.", "",
             f"![best so far and rates]({plot.relative_to(folder)})", ""]
    for name, baseline in result["baselines"].items():
        what = f": {baseline['ms']:.4g} ms" if "ms" in baseline else f" failed: {baseline['error']}"
        lines.append(f"- {name}{what}")
    lines += [f"- dropped: {count} × {reason}" for reason, count in sorted(reasons.items(), key=lambda i: -i[1])]
    importance = _importance(result)
    if importance:
        lines += ["", "| parameter | importance |", "|---|---|"] + [f"| {k} | {v:.2f} |" for k, v in importance.items()]
    return lines + [""]


def _plot(rows: list[dict], result: dict, path: pathlib.Path) -> None:
    figure, (search, roof) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    times = [row.get("ms_median", math.nan) for row in rows]
    best = [min((t for t in times[:i + 1] if t == t), default=math.nan) for i in range(len(times))]
    search.plot(times, ".", alpha=0.4, label="candidate")
    search.plot(best, label="best so far")
    search.axhline(result["default_ms"], color="black", linestyle=":", label="default")
    for i, (name, baseline) in enumerate(result["baselines"].items()):
        if "ms" in baseline:
            search.axhline(baseline["ms"], color=f"C{i + 2}", linestyle="--", label=name)
    search.set(xlabel="candidate", ylabel="ms", yscale="log")
    search.legend(fontsize=8)
    rates = lambda ms: (result["flops"] / ms * 1e-9, result["bytes"] / ms * 1e-6)
    for row in rows:
        if "error" not in row:
            roof.plot(*rates(row["ms_median"]), ".", color="tab:blue", alpha=0.4)
    roof.plot(*rates(result["ms"]), "*", color="tab:red", markersize=12, label="tuned")
    roof.plot(*rates(result["default_ms"]), "o", color="black", label="default")
    roof.set(xlabel="TF/s", ylabel="GB/s", xlim=(0, None), ylim=(0, None))
    roof.legend(fontsize=8)
    figure.savefig(path)
    plt.close(figure)


def _importance(result: dict) -> dict[str, float]:
    """Of the winner's schedule's parameters; empty where there are too few trials to tell."""
    storage = JournalStorage(JournalFileBackend(str(result["folder"] / "trials.log")))
    study = optuna.load_study(storage=storage, study_name=STUDY)
    prefix = result["generator"] + "."
    trials = [t for t in study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
              if t.params.get("generator") == result["generator"]]
    if len(trials) < 10:
        return {}
    part = optuna.create_study()
    for t in trials:
        own = lambda values: {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
        part.add_trial(optuna.trial.create_trial(params=own(t.params), distributions=own(t.distributions),
                                                 value=t.value))
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    try:
        return optuna.importance.get_param_importances(part, evaluator=evaluator)
    except (ValueError, RuntimeError):
        return {}

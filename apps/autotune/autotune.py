#!/usr/bin/env python3
"""Finds the best kernel for a problem on this machine's GPU or CPU, and leaves it for the library to use.

  autotune.py run PROBLEM... --folder tuning     searches, round after round, and writes results, packs and a report
  autotune.py compile PROBLEM --out PACK         makes a pack of candidates where Halide is
  autotune.py measure PACK                       measures it where the GPU is
  autotune.py model FILE                         prints the problems of an ONNX file or of a script's torch module
  autotune.py report FOLDER                      writes the report of a run again

A tuned kernel is used by a program when CONV_TRANSPOSE_KERNEL_PATH names the folder of its pack, and by the next build
when `run --save schedules/tuned` has recorded it.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import sys
import time


def missing_package(error: ModuleNotFoundError) -> str:
    return (f"autotune: this Python has no {error.name}: use .venv/bin/python, which ./run sets up, or install what "
            "requirements-autotune.txt lists")


try:
    import candidates
    import measuring
    import running
    from candidates import TuningError
except ModuleNotFoundError as error:
    sys.exit(missing_package(error))

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT_TOOLCHAIN = HERE.parent.parent / "build/apps/autotune/toolchain.json"
# What comparing with PyTorch takes, about: a problem, and its start (H200, 2026-11-21: 17 s for twelve).
PYTORCH_SECONDS, PYTORCH_START_SECONDS = 2, 8
DEFAULT_CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "conv_transpose", "autotune")


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, help, *, problems=False, device=False):
        sub = commands.add_parser(name, help=help)
        sub.add_argument("--toolchain", default=str(DEFAULT_TOOLCHAIN), help="toolchain.json of a build")
        if problems:
            sub.add_argument("problems", nargs="*", help="problem strings")
            sub.add_argument("--shapes", action="append", default=[],
                             help="file with a problem string and a name a line")
            sub.add_argument("--model", action="append", default=[], help="ONNX file or script: see the command model")
        if device:
            sub.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
            sub.add_argument("--operation", default="forward", choices=candidates.OPERATIONS)
            sub.add_argument("--precision", default="float32", choices=candidates.PRECISIONS,
                             help="that the caller allows")
            sub.add_argument("--cache", default=DEFAULT_CACHE, help="folder of compiled candidates (%(default)s)")
            sub.add_argument("--jobs", type=positive, default=candidates.usable_cores(), help="compilers at a time")
            sub.add_argument("--compile-limit", type=float, default=60, help="seconds for one candidate")
        return sub

    run = command("run", "search on this machine", problems=True, device=True)
    run.add_argument("--folder", required=True, help="the run's folder; a run that was killed goes on there")
    run.add_argument("--seconds", type=float, default=300, help="for each problem, comparisons included")
    run.add_argument("--candidates", type=positive, default=10**6, help="for each problem, at most")
    run.add_argument("--batch", type=int, default=0, help="candidates in hand; 0 is two a job")
    run.add_argument("--measure-limit", type=float, default=60, help="seconds for one kernel")
    run.add_argument("--sampler", default="tpe", choices=("tpe", "random"))
    run.add_argument("--threads", type=int, default=0, help="CPU threads of the kernels")
    run.add_argument("--baselines", nargs="+", default=[], metavar="NAME",
                     help="compare also with these: Anderson2021 (cuda), Adams2019, Mullapudi2016 (cpu), random")
    run.add_argument("--baseline-limit", type=float, default=600, help="seconds for one autoscheduler")
    run.add_argument("--baseline-memory", type=float, default=12, help="gigabytes for one autoscheduler (%(default)g)")
    run.add_argument("--baseline-jobs", type=positive, default=1, help="autoschedulers at a time")
    run.add_argument("--save", help="record winners that beat the default under this folder: schedules/tuned")
    run.add_argument("--pytorch", metavar="LIBRARY", help="libconv_transpose.so: also compare winners with PyTorch")

    compile = command("compile", "make a pack of candidates", problems=True, device=True)
    compile.add_argument("--out", required=True, help="the pack's folder")
    compile.add_argument("--count", type=positive, default=64, help="random candidates for each problem")
    compile.add_argument("--gpu", type=int, help="compute capability, such as 90, of the machine that will measure")
    compile.add_argument("--seed", type=int, default=1)

    measure = command("measure", "measure a pack")
    measure.add_argument("pack", help="the pack's folder")
    measure.add_argument("--out", help="result file (default: measurements.jsonl in the pack's folder)")
    measure.add_argument("--measure-limit", type=float, default=60, help="seconds for one kernel")
    measure.add_argument("--threads", type=int, default=0)

    command("model", "print the problems of a model").add_argument("file")
    command("report", "write the report of a run").add_argument("folder")
    return parser.parse_args(words)


def named_problems(arguments) -> list[tuple[str, str]]:
    """Pairs (name, problem string)."""
    found = [("", text) for text in arguments.problems]
    for path in arguments.shapes:
        try:
            lines = pathlib.Path(path).read_text().splitlines()
        except OSError as error:
            raise TuningError(f"cannot read {path}: {error}") from error
        for line in lines:
            text, _, name = line.split("#")[0].strip().partition(" ")
            if text:
                found.append((name.strip(), text))
    for path in arguments.model:
        from model_problems import of_model
        found += [("", text) for text in of_model(path)]
    if not found:
        raise TuningError("give problem strings, --shapes or --model")
    return [(name, candidates.problem_string(candidates.parse_problem(text))) for name, text in found]


def search_each(tasks, arguments, toolchain, device, cache, rules, limits, say) -> tuple[list[tuple], list[str]]:
    """(search, result, baselines that were found by then) of each task that could be searched, and why others could not."""
    from baselines import RANDOM, random_search
    from comparing import compare, expected_seconds
    from searching import Search
    # What follows a search must fit its seconds, too.
    pytorch_seconds = (PYTORCH_SECONDS + PYTORCH_START_SECONDS / len(tasks)) if arguments.pytorch else 0
    failures: list[str] = []
    done: list[tuple[Search, dict, dict]] = []
    run_folder = pathlib.Path(arguments.folder)
    # A large space takes seconds to list: only the first search waits for its own.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        spaces = {task: pool.submit(candidates.spaces, toolchain, task, device) for task in tasks}
        for task, name in tasks.items():
            say(f"{name or task.problem} on {device.name}")
            end, folder, baselines = time.monotonic() + arguments.seconds - pytorch_seconds, run_folder / task.key, {}
            try:
                found = spaces[task].result()
                rules.seconds = max(end - time.monotonic(), arguments.seconds / 3)
                search = Search(toolchain, task, device, found, folder, cache, dataclasses.replace(rules), say)
                search.run(expected_seconds)
                result = {"name": name, **compare(search, toolchain, cache, end, **limits)}
                keep(result, search, cache, run_folder / "pack", arguments.save, say)
                if RANDOM in arguments.baselines:
                    best = random_search(search, toolchain, cache, rules, folder / RANDOM, say)
                    baselines |= {RANDOM: (best, "")} if best else {}
                done.append((search, result, baselines))
            except TuningError as error:
                failures.append(f"{task.key}: {error}")
                say(f"  {error}")
    return done, failures


def run(arguments) -> None:
    from baselines import NAMES, Autoscheduling
    from comparing import measure_baselines
    from report import write_report
    from searching import Rules
    if unknown := set(arguments.baselines) - set(NAMES):
        raise TuningError(f"--baselines names {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    toolchain = candidates.Toolchain(arguments.toolchain)
    toolchain.require_generator()
    device = candidates.this_device(toolchain, arguments.device)
    rules = Rules(seconds=arguments.seconds, candidates=arguments.candidates, jobs=arguments.jobs,
                  batch=arguments.batch or 2 * arguments.jobs, compile_limit=arguments.compile_limit,
                  measure_limit=arguments.measure_limit, sampler=arguments.sampler, threads=arguments.threads)
    cache = candidates.Cache(arguments.cache, toolchain, device, arguments.compile_limit)
    run_folder = pathlib.Path(arguments.folder)
    limits = dict(time_limit=arguments.measure_limit, threads=arguments.threads)
    say = lambda text: print(text, flush=True)
    tasks = {candidates.Task(problem, arguments.operation, arguments.precision, arguments.device): name
             for name, problem in named_problems(arguments)}
    autoscheduling = Autoscheduling(toolchain, device, cache, arguments.baseline_limit, arguments.baseline_memory,
                                    arguments.baseline_jobs)
    for task in tasks:
        autoscheduling.start(task, arguments.baselines)

    done, failures = search_each(tasks, arguments, toolchain, device, cache, rules, limits, say)
    for search, result, baselines in done:
        baselines |= autoscheduling.finish(search.task)
        result["baselines"] = measure_baselines(search, toolchain, cache, baselines, **limits)
    try:
        if arguments.pytorch and done:
            compare_with_pytorch(arguments.pytorch, [result for _, result, _ in done], run_folder)
    finally:  # an interrupt loses no problem that was compared
        for search, result, _ in done:
            write(result, search.folder)
            if arguments.save:
                save(result, pathlib.Path(arguments.save))
    if done:
        say(f"report: {write_report(run_folder)}")
    if failures:
        raise TuningError("; ".join(failures))


def keep(result: dict, search, cache: candidates.Cache, packs: pathlib.Path, saved: str | None, say) -> None:
    """At once: whatever ends the run later, this problem has its result."""
    write(result, search.folder)
    packs.mkdir(exist_ok=True)  # a kernel path that can be used even where nothing beat the library's own kernels
    pack = packs / f"{search.task.key}.so"
    if result["speedup"] >= 1:
        cache.link_pack([search.candidate_of(result)], pack)
    else:  # the library's own kernel stays in use
        pack.unlink(missing_ok=True)
    say(f"{result['name'] or result['problem']}: {result['ms']:.4g} ms, default {result['default_ms']:.4g} ms "
        f"({result['speedup']:.2f}x)")
    if saved and (path := save(result, pathlib.Path(saved))):
        say(f"  saved as {path}")


def write(result: dict, folder: pathlib.Path) -> None:
    (folder / "result.json").write_text(json.dumps(result, indent=1))


def compare_with_pytorch(library: str, results: list[dict], folder: pathlib.Path) -> None:
    """Adds to each result PyTorch's time and ours beside it, from one run."""
    output, first = folder / "pytorch.json", results[0]
    output.unlink(missing_ok=True)
    script = HERE.parent / "benchmark" / "compare_pytorch.py"
    command = [sys.executable, str(script), "--library", library, *(result["problem"] for result in results),
               "--device", first["kind"], "--operation", first["operation"], "--precision", first["precision"],
               "--no-channels-last", "--json", str(output)]
    environment = {**os.environ, "CONV_TRANSPOSE_KERNEL_PATH": str(folder / "pack")}
    try:
        done = running.run(command, env=environment)
        if done.returncode != 0:
            print(f"PyTorch's comparison failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}", flush=True)
    finally:
        rows = json.loads(output.read_text())["problems"] if output.exists() else []
        add_pytorch(results, {row["problem"]: {c["name"]: c for c in row["field"]} for row in rows})


def add_pytorch(results: list[dict], compared: dict[str, dict[str, dict]]) -> None:
    for result in results:
        if field := compared.get(result["problem"]):
            peer = field.get("PyTorch") or field["PyTorch TF32" if result["precision"] == "tf32" else "PyTorch FP32"]
            mine = field[f"ours {result['precision']}"]
            result |= {"pytorch_ms": peer["ms"], "pytorch_run_ms": mine["ms"], "pytorch_run_kernel": mine["kernel"]}


def save(result: dict, folder: pathlib.Path) -> pathlib.Path | None:
    """For the build: cmake/ConvTransposeTuned.cmake makes a kernel of each such file. Only what clearly beats the
    default, and in place of an earlier winner of the same task, which was part of that default."""
    if result["speedup"] < 1.02:
        return None
    path = folder / re.sub(r"[^A-Za-z0-9]+", "_", result["device"]).strip("_").lower() / (result["kernel"] + ".json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
        task_of = lambda row: [row.get(field) for field in ("problem", "operation", "precision")]
        for other in set(path.parent.glob("*.json")) - {path}:
            if task_of(json.loads(other.read_text())) == task_of(result):
                other.unlink()
    except OSError as error:
        raise TuningError(f"cannot write {path}: {error}") from error
    return path


def compile(arguments) -> None:
    toolchain = candidates.Toolchain(arguments.toolchain)
    if arguments.device == "cuda" and not arguments.gpu:
        raise TuningError("--gpu is missing: the compute capability of the machine that will measure, such as 90")
    device = candidates.device(toolchain, arguments.device, "", arguments.gpu or 0)
    generator = random.Random(arguments.seed)
    wanted = []
    for _, problem in named_problems(arguments):
        task = candidates.Task(problem, arguments.operation, arguments.precision, arguments.device)
        pool = [(space, i) for space in candidates.spaces(toolchain, task, device) for i in range(len(space))]
        if not pool:
            raise TuningError(f"no schedule for {device.kind} can be tuned for {problem}, {task.operation}")
        chosen = generator.sample(pool, min(arguments.count, len(pool)))
        wanted += [candidates.Candidate.at(space, space[i]) for space, i in chosen]
    cache = candidates.Cache(arguments.cache, toolchain, device, arguments.compile_limit)

    def progress(done, of, left):
        print(f"\rcompiled {done} of {of}, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    reasons = cache.compile_all(wanted, arguments.jobs, progress)
    print(file=sys.stderr)
    compiled = [c for c in wanted if not reasons[c]]
    if not compiled:
        raise TuningError(f"no candidate could be compiled; the first says: {next(iter(reasons.values()))}")
    folder = pathlib.Path(arguments.out)
    cache.link_pack(compiled, folder / "candidates.so")
    manifest = {"version": toolchain.version, "kernels": {
        c.name(): {"task": dataclasses.asdict(c.task), "generator": c.generator, "parameters": dict(c.parameters)}
        for c in compiled}}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
    print(f"{len(compiled)} of {len(wanted)} candidates are in {folder}")


def measure(arguments) -> None:
    toolchain = candidates.Toolchain(arguments.toolchain)
    folder = pathlib.Path(arguments.pack)
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        kernels = manifest["kernels"]
    except (OSError, ValueError, KeyError) as error:
        raise TuningError(f"{folder} is no pack of candidates: {error!r}") from error
    output = pathlib.Path(arguments.out) if arguments.out else folder / "measurements.jsonl"
    done = {json.loads(line)["kernel"] for line in output.read_text().splitlines()} if output.exists() else set()
    tasks = {name: candidates.Task(**kernel["task"]) for name, kernel in kernels.items()}
    for task in dict.fromkeys(tasks.values()):
        names = [name for name in kernels if tasks[name] == task and name not in done]
        best = None
        for row in measuring.measure(toolchain.benchmark, task, names, pack_folder=str(folder),
                                     time_limit=arguments.measure_limit, threads=arguments.threads):
            with open(output, "a") as file:
                file.write(json.dumps({**kernels[row["kernel"]], **row}) + "\n")
            if "error" in row:
                print(f"{row['kernel']}: {row['error']}", file=sys.stderr)
            elif not best or row["ms_median"] < best["ms_median"]:
                best = row
        if best:
            print(f"{task.key}: {best['ms_median']:.4g} ms by {best['kernel']}")
    print(f"results: {output}")


def main(words=None) -> int:
    arguments = parse_arguments(words)
    try:
        if arguments.command == "model":
            from model_problems import of_model
            print("\n".join(of_model(arguments.file)))
        elif arguments.command == "report":
            from report import write_report
            print(write_report(pathlib.Path(arguments.folder)))
        else:
            running.end_all_when_interrupted()
            {"run": run, "compile": compile, "measure": measure}[arguments.command](arguments)
        return 0
    except TuningError as error:
        print(f"autotune: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:  # Optuna and its like are loaded where they are needed
        print(missing_package(error), file=sys.stderr)
        return 1
    except (running.Interrupted, KeyboardInterrupt):
        print("autotune: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

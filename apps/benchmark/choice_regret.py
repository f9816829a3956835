#!/usr/bin/env python3
"""How good the choice of kernels is: times every kernel that accepts each problem, and prints what the chosen one takes
over the fastest (its regret) as a Markdown table, worst first, with the mean of all.

  choice_regret.py --benchmark build/apps/benchmark/benchmark --shapes tests/shapes/typical.txt -- --precision tf32
"""
import argparse
import json
import statistics
import subprocess
import sys


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", required=True, help="the program")
    parser.add_argument("--shapes", action="append", required=True, help="file with a problem string and a name a line")
    parser.add_argument("--seconds", type=float, default=0.02, help="timed work for each kernel and problem")
    parser.add_argument("--first", type=int, default=0, help="time as many that the estimate prefers (default: all)")
    parser.add_argument("--worst", type=int, default=10, help="rows of the table")
    parser.add_argument("options", nargs="*", help="the benchmark's own: --operation, --precision, --format, --layout")
    return parser.parse_args()


def measurements(arguments, *options):
    """What the benchmark prints, by problem. It fails where one kernel does, and goes on with the others."""
    command = [arguments.benchmark, "--json-lines", "--seconds", str(arguments.seconds), *options, *arguments.options]
    for path in arguments.shapes:
        command += ["--shapes", path]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode not in (0, 1):
        sys.exit(result.returncode)
    rows = {}
    for row in map(json.loads, result.stdout.splitlines()):
        rows.setdefault(row["problem"], []).append(row)
    return rows


def regrets(of_all, of_chosen):
    """Tuples (regret, name, chosen kernel, its ms, fastest kernel, its ms), worst first."""
    found = []
    for problem, rows in of_all.items():
        times = {row["kernel"]: row["ms_median"] for row in rows if "error" not in row}
        chosen = of_chosen[problem][0]["kernel"]
        if chosen in times:
            fastest = min(times, key=times.get)
            found.append((times[chosen] / times[fastest], rows[0]["name"] or problem, chosen, times[chosen], fastest,
                          times[fastest]))
    return sorted(found, reverse=True)


def main():
    arguments = parse_arguments()
    of_all = measurements(arguments, "--kernel", "all", "--first", str(arguments.first), "--give-up-ratio", "3")
    of_chosen = measurements(arguments)
    found = regrets(of_all, of_chosen)
    if not found:
        sys.exit("choice_regret.py: no problem has a kernel that was timed")
    failures = [row for rows in of_all.values() for row in rows if "error" in row]
    for row in failures:
        print(f"{row['kernel']} on {row['problem']}: {row['error']}", file=sys.stderr)
    values = [row[0] for row in found]
    print(f"{len(values)} problems, {sum(map(len, of_all.values()))} kernels timed: regret {statistics.mean(values):.3f} on "
          f"average, {max(values):.2f} at worst\n")
    print("| problem | chosen | ms | fastest | ms | regret |\n|---|---|---|---|---|---|")
    for regret, name, chosen, ms, fastest, least in found[:arguments.worst]:
        print(f"| {name} | `{chosen}` | {ms:.4g} | `{fastest}` | {least:.4g} | {regret:.2f} |")


if __name__ == "__main__":
    main()

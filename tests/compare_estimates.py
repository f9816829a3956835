#!/usr/bin/env python3
"""Holds estimates of kernels against measurements: how each kernel's should change, and what the choice would gain.

  benchmark --shapes ... --device cuda --operation forward --format float16 --kernel all --first 10 --give-up-ratio 2 --json a.json
  LD_LIBRARY_PATH=build/tests/ptx_machine PTX_MACHINE_CODE=build/runtime/kernels \\
      tests/compare_estimates.py --list-estimates build/tests/list_estimates a.json ...

Prints measured over estimated time of each kernel, without what all kernels of a problem have in common, on which no choice
depends: so much less should its rate be (H200_TFLOPS, or fma_percent), or more what comes beside. The faster a kernel is beside
others, the more its error counts, and each factor is drawn to 1 as if some more measurements had shown no error. Kernels of float32 on
CUDA cores stay as they are. For a CPU, whose estimates have no unit, nothing but the program is needed. The last lines tell regrets,
the time of the chosen kernel over the fastest: as estimated, by these factors, and by factors that are fitted to three of four problems
each, of the fourth.
"""
import argparse
import collections
import json
import math
import statistics
import subprocess

import numpy

NO_ERROR = 3  # measurements of each kernel, beside those that there are
NO_COMMON_ERROR = 0.3  # likewise of each problem
SHARPNESS = 2  # a kernel that takes twice as long as the fastest counts a fourth
LARGEST = 0.7  # of an error's logarithm

Time = collections.namedtuple("Time", "problem kernel measured estimated")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list-estimates", required=True, help="the program")
    parser.add_argument("--threads", type=int, default=1, help="of a CPU; 0 is one a core")
    parser.add_argument("--least", type=float, default=0.05, help="do not print kernels that are this near to their estimates")
    parser.add_argument("measurements", nargs="+", help="what the benchmark wrote by --json")
    return parser.parse_args()


def requests_of(path):
    """What a file of the benchmark was asked for, with the times in microseconds of each kernel."""
    with open(path, encoding="utf-8") as file:
        rows = [row for row in json.load(file)["measurements"] if row.get("ms_median")]
    requests = {}
    for row in rows:
        request = " ".join(row[field] for field in ("device", "operation", "format", "layout", "precision", "problem"))
        # Other programs only ever add to what a CPU takes.
        requests.setdefault(request, {})[row["kernel"]] = 1000 * row["ms_min" if row["device"] == "cpu" else "ms_median"]
    return requests


def times_of(list_estimates, threads, paths):
    """A Time for each measurement of a kernel that has an estimate."""
    requests = [request for path in paths for request in requests_of(path).items()]
    asked = "".join(request + "\n" for request, _ in requests)
    listed = subprocess.run([list_estimates, str(threads)], input=asked, stdout=subprocess.PIPE, text=True, check=True).stdout
    times = []
    for number, kernel, estimated in (line.split() for line in listed.splitlines()):
        measured = requests[int(number)][1].get(kernel)
        if measured and float(estimated) > 0:
            times.append(Time(int(number), kernel, measured, float(estimated)))
    return times


def indices(values):
    """Of each value among the different ones, and these."""
    different = sorted(set(values))
    place = {value: i for i, value in enumerate(different)}
    return numpy.array([place[value] for value in values]), different


def medians(group, values):
    """Of each group's values."""
    return numpy.array([numpy.median(values[group == i]) for i in range(group.max() + 1)])


def fitted_errors(times):
    """Logarithms of the factors of each kernel."""
    fastest = {}
    for t in times:
        fastest[t.problem] = min(fastest.get(t.problem, math.inf), t.measured)
    of_cpu = numpy.array(["_cpu_" in t.kernel for t in times])
    kernel, kernels = indices([t.kernel for t in times])
    problem, problems = indices([t.problem for t in times])
    error = numpy.array([math.log(t.measured / t.estimated) for t in times])
    error = numpy.clip(error - medians(problem, error)[problem] * of_cpu, -LARGEST, LARGEST)
    weight = numpy.array([(fastest[t.problem] / t.measured) ** SHARPNESS for t in times])
    fixed = numpy.array(["_f32_cuda_" in name for name in kernels])
    of_problem = numpy.bincount(problem, weight) + NO_COMMON_ERROR
    of_kernel = numpy.bincount(kernel, weight) + NO_ERROR
    own = numpy.zeros(len(kernels))
    for _ in range(20):
        common = numpy.bincount(problem, weight * (error - own[kernel])) / of_problem
        own = numpy.where(fixed, 0, numpy.bincount(kernel, weight * (error - common[problem])) / of_kernel)
    return dict(zip(kernels, own))


def regrets(times, errors):
    by_problem = {}
    for t in times:
        by_problem.setdefault(t.problem, []).append(t)
    chosen = [min(of_it, key=lambda t: math.log(t.estimated) + errors.get(t.kernel, 0)) for of_it in by_problem.values()]
    return [c.measured / min(t.measured for t in by_problem[c.problem]) for c in chosen]


def report(name, found):
    print(f"{name}: regret {statistics.geometric_mean(found):.4f}, above 1.1 of {sum(r > 1.1 for r in found)}, above 1.3 of "
          f"{sum(r > 1.3 for r in found)}, of {len(found)} problems")


def main():
    arguments = parse_arguments()
    times = times_of(arguments.list_estimates, arguments.threads, arguments.measurements)
    errors = fitted_errors(times)
    number = collections.Counter(t.kernel for t in times)
    for kernel in sorted(errors, key=errors.get):
        if abs(errors[kernel]) > arguments.least:
            print(f"{math.exp(errors[kernel]):.2f} {kernel} ({number[kernel]} problems)")
    report("as estimated", regrets(times, {}))
    report("by these factors", regrets(times, errors))
    left_out = []
    for part in range(4):
        part_errors = fitted_errors([t for t in times if t.problem % 4 != part])
        left_out += regrets([t for t in times if t.problem % 4 == part], part_errors)
    report("by factors of others", left_out)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A table of what the tests have reached of each kernel's PTX on ptx_machine:
    PTX_MACHINE_COVERAGE=FILE ctest -R ptx_machine.shapes
    tests/ptx_machine/coverage.py FILE [--least 98] [--list KERNEL]
Ends with status 1 where a kernel has less than the least percentage of its instructions executed."""

import argparse
import re
import sys


def missing_goals(path):
    """By module, the number of instructions and what no process has reached."""
    instructions, missing, module = {}, {}, None
    with open(path) as file:
        reports = re.split(r"(?m)^(?=\w)", file.read())
    for report in filter(None, reports):
        head, *goals = report.rstrip("\n").split("\n")
        module, count = head.split()
        instructions[module] = int(count)
        missing[module] = missing.get(module, set(goals)) & set(goals)
    return instructions, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--least", type=float, default=98, help="percent of each kernel's instructions")
    parser.add_argument("--list", metavar="KERNEL", help="what was not reached of this one, such as forward_f32_cuda_general_any_nchw.sm_90")
    options = parser.parse_args()
    instructions, missing = missing_goals(options.file)
    if options.list:
        for goal in sorted(missing[options.list], key=lambda g: int(g.split()[0])):
            print(goal)
        return 0
    too_few = 0
    for module, count in sorted(instructions.items()):
        unexecuted = sum(goal.split()[1] == "executed" for goal in missing[module])
        percent = 100 * (count - unexecuted) / count
        too_few += percent < options.least
        print(f"{percent:6.2f} % of {count:5d} instructions, {len(missing[module]) - unexecuted:4d} other goals missed: {module}")
    print(f"{len(instructions)} kernels, {too_few} of them below {options.least:g} %")
    return 1 if too_few else 0


if __name__ == "__main__":
    sys.exit(main())

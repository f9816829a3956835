#!/usr/bin/env python3
"""A table of what the tests have reached of each kernel's PTX on ptx_machine:
    PTX_MACHINE_COVERAGE=FILE ctest -R ptx_machine
    tests/ptx_machine/coverage.py FILE [--least 98] [--families] [--list KERNEL]
With --families kernels whose blocks follow each other in the same way, with the same conditions in each, count together:
those of one schedule with tiles, types or layouts of their own. An instruction is reached where its block is in any of them.
Ends with status 1 where a kernel has less than the least percentage of its instructions executed."""

import argparse
import collections
import re
import sys


class Report:
    """What no process has reached of a module."""

    def __init__(self, instructions, flow):
        self.instructions, self.flow, self.missing = int(instructions), flow, None

    def add(self, goals):
        self.missing = set(goals) if self.missing is None else self.missing & set(goals)

    def unexecuted(self):
        """The places of instructions: block and condition."""
        return [goal.split()[2] for goal in self.missing if goal.split()[1] == "executed"]


def reports_of(path):
    all_reports = {}
    with open(path) as file:
        for text in filter(None, re.split(r"(?m)^(?=\w)", file.read())):
            head, *goals = text.rstrip("\n").split("\n")
            module, *facts = head.split()
            all_reports.setdefault(module, Report(*facts)).add(goals)
    return all_reports


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--least", type=float, default=98, help="percent of each kernel's instructions")
    parser.add_argument("--families", action="store_true", help="kernels with the same control flow count together")
    parser.add_argument("--list", metavar="KERNEL", help="what was not reached of this one, such as forward_f32_cuda_general_any_nchw.sm_90")
    options = parser.parse_args()
    reports = reports_of(options.file)
    if options.list:
        for goal in sorted(reports[options.list].missing, key=lambda g: int(g.split()[0])):
            print(goal)
        return 0
    families = collections.defaultdict(list)
    for module, report in sorted(reports.items()):
        families[report.flow if options.families else module].append(module)
    too_few = set()
    for flow, modules in families.items():
        nowhere = set.intersection(*(set(reports[module].unexecuted()) for module in modules))
        for module in modules:
            report = reports[module]
            percent = 100 - 100 * sum(place in nowhere for place in report.unexecuted()) / report.instructions
            if percent < options.least:
                too_few.add(flow)
            print(f"{percent:6.2f} % of {report.instructions:5d} instructions, {len(report.missing):4d} goals missed: {module}"
                  + (f", as {modules[0]}" if module != modules[0] else ""))
    kinds = "families" if options.families else "kernels"
    print(f"{len(families)} {kinds} of {len(reports)} modules, {len(too_few)} of them below {options.least:g} %")
    return 1 if too_few else 0


if __name__ == "__main__":
    sys.exit(main())

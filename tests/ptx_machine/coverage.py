#!/usr/bin/env python3
"""A table of what the tests have reached of each kernel's PTX on ptx_machine:
    PTX_MACHINE_COVERAGE=FILE ctest -R ptx_machine
    tests/ptx_machine/coverage.py FILE [--least 98] [--families] [--list KERNEL]
With --families kernels whose blocks follow each other in the same way, with the same conditions in each, count together:
those of one schedule with tiles, types or layouts of their own. An instruction is reached where its block is in any of them.
What no problem can reach, by EXPLAINED, does not count. Ends with status 1 where a kernel has less than the least percentage
of the rest executed, or where an explanation is of nothing in the report."""

import argparse
import collections
import re
import sys


def stores_second_alone(block):
    """Whether unexecuted statements of a block store one element, the second of two neighbours: they are brought there as a
    pair, by shared memory, so that its place there or in the result is an odd one."""
    text = "\n".join(block)
    if len(re.findall(r"st\.global", text)) != 1 or "st.global.v" in text:
        return False
    # Where phases are rows of a tile, a lane's piece of shared memory has the first of a pair in one half, the second in the
    # other.
    place = r"mad\.lo\.s32\s+%\w+, %\w+, (\d+), %\w+\n(?s:.*?)ld\.shared\.b32\s+%r\d+, \[%rd\d+\+(\d+)\]"
    for words, at in re.findall(place, text):
        if int(at) % (4 * int(words)) >= 2 * int(words):
            return True
    odd = [(r"st\.global\.b32\s+\[%\w+\+(\d+)\]", 8, 4), (r"add\.s64\s+%tc_address\d+, %rd\d+, (\d+)", 4, 2),
           (r"ld\.shared\.b32\s+%r\d+, \[%rd\d+\+(\d+)\]", 8, 4)]
    return any(int(at) % pair == second for pattern, pair, second in odd for at in re.findall(pattern, text))


def sets_zeros_alone(block):
    """Whether unexecuted statements begin sums, and compute nothing else but places."""
    return any(re.search(r"0f00000000|mov\.b32\s+%r\d+, 0$", text) for text in block) and \
        all(re.match(r"(mov|shl)\.b\d\d|bra", text) for text in block)


# What no problem can reach: of which kernels, which unexecuted blocks, and why.
EXPLAINED = [
    (r"_n(d?h)wc[_.]|weight_gradient_\w+_(tensor_core|product|implicit_gemm)_|_tensor_cores?_", stores_second_alone,
     "pairs of a tile begin at even channels or columns of the result, none before its first, and it has an end alone: where the "
     "second of a pair is inside, the first is"),
    (r"weight_gradient_f32_cuda_dense_", sets_zeros_alone, "sums of no positions: a part has a row of them at least"),
    (r"^input_gradient_\w+_cuda_(depthwise|gather)_any_nhwc", sets_zeros_alone,
     "sums of no taps: a kernel has one at least, where a phase may have none"),
]


def places_of_operand(blocks, at):
    """Those of unexecuted blocks right before one that stores, which compute what it does: an activation has branches."""
    entry, number = map(int, at.split(":"))
    places = set()
    while True:
        number -= 1
        before = blocks.get(f"{entry}:{number}", [])
        if not any(place.endswith(".0") for place, _ in before) or any(re.search(r"\bst\.", text) for _, text in before):
            return places
        places |= {place for place, _ in before}


class Report:
    """What no process has reached of a module."""

    def __init__(self, instructions, flow):
        self.instructions, self.flow, self.missing = int(instructions), flow, None

    def add(self, goals):
        self.missing = set(goals) if self.missing is None else self.missing & set(goals)

    def unexecuted(self):
        """The places of instructions: block and condition."""
        return [goal.split()[2] for goal in self.missing if goal.split()[1] == "executed"]

    def explained(self, module, used):
        """Those of them that no problem can reach; adds to `used` the numbers of the explanations."""
        blocks = collections.defaultdict(list)
        for goal in sorted(self.missing, key=lambda g: int(g.split()[0])):
            _, kind, place, text = goal.split(None, 3)
            if kind == "executed":
                blocks[place.split(".")[0]].append((place, text))
        places = set()
        for number, (kernels, is_out_of_reach, _) in enumerate(EXPLAINED):
            for at, block in blocks.items():
                if re.search(kernels, module) and is_out_of_reach([text for _, text in block]):
                    used.add(number)
                    places |= {place for place, _ in block} | places_of_operand(blocks, at)
        return places


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
    parser.add_argument("--list", metavar="KERNEL",
                        help="what was not reached of this one, such as forward_f32_cuda_gather_any_any.sm_90")
    options = parser.parse_args()
    reports = reports_of(options.file)
    if options.list:
        for goal in sorted(reports[options.list].missing, key=lambda g: int(g.split()[0])):
            print(goal)
        return 0
    families = collections.defaultdict(list)
    for module, report in sorted(reports.items()):
        families[report.flow if options.families else module].append(module)
    too_few, used = set(), set()
    for flow, modules in families.items():
        explained = {module: reports[module].explained(module, used) for module in modules}
        nowhere = set.intersection(*(set(reports[module].unexecuted()) for module in modules)) - set.union(*explained.values())
        for module in modules:
            report = reports[module]
            missed, reachable = (sum(place in nowhere for place in report.unexecuted()),
                                 report.instructions - len(explained[module]))
            percent = 100 - 100 * missed / reachable
            if percent < options.least:
                too_few.add(flow)
            print(f"{percent:6.2f} % of {report.instructions:5d} instructions, {len(report.missing):4d} goals missed, "
                  f"{len(explained[module]):3d} out of reach: {module}"
                  + (f", as {modules[0]}" if module != modules[0] else ""))
    kinds = "families" if options.families else "kernels"
    print(f"{len(families)} {kinds} of {len(reports)} modules, {len(too_few)} of them below {options.least:g} %")
    rotten = [reason for number, (_, _, reason) in enumerate(EXPLAINED) if number not in used]
    for reason in rotten:
        print("explains nothing any more: " + reason)
    return 1 if too_few or rotten else 0


if __name__ == "__main__":
    sys.exit(main())

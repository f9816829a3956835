#!/usr/bin/env python3
"""Puts small faults into the PTX of some kernels, one by one, and tells how many of them the shapes of shapes.txt
notice on ptx_machine: a wait deleted, a load 4 bytes off, a comparison off by one. Run by hand, from the root:
    tests/ptx_machine/mutants.py [--jobs 2] [--kernel NAME ...] [--verbose] [--seek SECONDS]
What survives is listed with its place in the text, with --seek and a problem for shapes.txt that would notice it, if
find_shapes finds one so soon; the score comes last. Mutants that change nothing, as
reason_to_survive() proves by the paths through the program, are not run and do not count."""

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import math
import operator
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

# Every family of schedules that takes any attributes, and what each synchronizes with; on GPUs without wgmma: mma.sync.
# Those with maps use the copy engine and mbarriers.
KERNELS = [
    ("forward_tf32_cuda_implicit_gemm_any_nchw", 90),
    ("forward_tf32_cuda_implicit_gemm_any_nchw", 80),
    ("forward_tf32x3_cuda_implicit_gemm_any_nchw_c128", 90),
    ("forward_f32_cuda_implicit_gemm_any_nchw_c32", 90),
    ("forward_f32_cuda_winograd_any_nchw", 90),
    ("forward_f32_cuda_small_any_nchw", 90),
    ("forward_f32_cuda_gather_any_any", 90),
    ("forward_f32_cuda_depthwise_any_any_columns", 90),
    ("forward_f16_cuda_implicit_gemm_any_nhwc_maps_256x64", 90),
    ("forward_f16_cuda_implicit_gemm_any_nchw_as_it_lies_256x64", 90),
    ("forward_f16_cuda_implicit_gemm_any_nhwc_128x64", 80),
    ("input_gradient_f16_cuda_implicit_gemm_any_nchw_maps_128x64", 90),
    ("input_gradient_f16_cuda_gather_any_nhwc_few_summed", 90),
    ("weight_gradient_tf32_cuda_product_any_nchw_c64x256", 90),
    ("weight_gradient_tf32_cuda_product_any_nchw_c16x32", 80),
    ("weight_gradient_f32_cuda_product_any_nchw_c64", 90),
    ("weight_gradient_f32_cuda_winograd_any_nchw", 90),
    ("weight_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_c64x256", 90),
]


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    pattern: str  # of one instruction
    replacement: str  # "" deletes it
    most: int  # mutants of one kernel, drawn where there are more places


def next_number(match):
    return match.group(1) + str(int(match.group(2)) + 1)


def other_comparison(match):
    other = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq", "lo": "ls", "ls": "lo", "hi": "hs", "hs": "hi"}
    return match.group(1) + other[match.group(2)] + match.group(3)


def four_bytes_on(match):
    offset = int(match.group(3) or 0) + 4
    return f"{match.group(1)}[{match.group(2)}+{offset}]"


SHAPES = pathlib.Path(__file__).with_name("shapes.txt")
ADDRESS = r"\[(%?\w+)(?:\+(\d+))?\]"
KINDS = [
    Kind("wgmma.fence deleted", r"wgmma\.fence[^;]*;", "", 20),
    Kind("wgmma.wait_group deleted", r"wgmma\.wait_group[^;]*;", "", 20),
    Kind("wgmma.wait_group for one group too few", r"(wgmma\.wait_group\.sync\.aligned )(\d+)", next_number, 20),
    Kind("wgmma.commit_group deleted", r"wgmma\.commit_group[^;]*;", "", 20),
    Kind("wgmma deleted", r"wgmma\.mma_async[^;]*;", "", 3),
    Kind("fence.proxy deleted", r"fence\.proxy[^;]*;", "", 20),
    Kind("bar.sync deleted", r"bar\.sync[^;]*;", "", 20),
    Kind("bar.arrive deleted", r"bar\.arrive[^;]*;", "", 20),
    Kind("bar.warp.sync deleted", r"bar\.warp\.sync[^;]*;", "", 20),
    Kind("mma.sync deleted", r"mma\.sync[^;]*;", "", 3),
    Kind("ldmatrix 16 bytes off", r"(ldmatrix[^;]*)\[(%?\w+)(?:\+(\d+))?\]", lambda m: f"{m.group(1)}[{m.group(2)}+{int(m.group(3) or 0) + 16}]", 3),
    Kind("cp.async.wait_group deleted", r"cp\.async\.wait_group[^;]*;", "", 20),
    Kind("cp.async.wait_group for one group too few", r"(cp\.async\.wait_group )(\d+)", next_number, 20),
    Kind("cp.async.commit_group deleted", r"cp\.async\.commit_group;", "", 20),
    Kind("cp.async deleted", r"cp\.async\.c[ag]\.[^;]*;", "", 2),
    Kind("mbarrier wait deleted", r"mbarrier\.try_wait[^;]*; @!done bra[^;]*;", "", 20),
    Kind("mbarrier arrival deleted", r"mbarrier\.arrive[^;]*;", "", 20),
    Kind("bulk copy deleted", r"cp\.async\.bulk\.(?:tensor|shared)[^;]*;", "", 3),
    Kind("box 8 bytes off", r"(cp\.async\.bulk\.tensor[^;]*\{)(%r\d+)(, [^;]*;)", r"add.s32 \2, \2, 4; \1\2\3", 2),
    Kind("load 4 bytes off", r"(ld\.global[\w.]* \t?[^;\[]*)" + ADDRESS, four_bytes_on, 4),
    Kind("load from shared memory 4 bytes off", r"(ld\.shared\.[bf]32 \t?[^;\[]*)" + ADDRESS, four_bytes_on, 3),
    Kind("store 4 bytes off", r"(st\.(?:global|shared)\.[bf]32 \t?)" + ADDRESS, four_bytes_on, 3),
    Kind("comparison off by one", r"(setp\.)(lt|le|gt|ge|eq|ne|lo|ls|hi|hs)(\.[su]\d\d)", other_comparison, 8),
    Kind("constant one too large", r"(add\.s(?:32|64) \t%\w+, %\w+, )(\d{1,7})\b", next_number, 3),
    Kind("guard negated", r"@(%p\d+) ", r"@!\1 ", 3),
]


# ---- mutants that change nothing: a barrier, fence or wait that nothing depends on, by the paths through the program

SHARED = r"(st|ld)\.shared|cp\.async\.(c[ag]|bulk)|mbarrier|wgmma\.mma_async|ldmatrix"
READS = r"ld\.shared|cp\.async\.bulk|wgmma\.mma_async|ldmatrix"
WRITES = r"st\.shared|cp\.async\.(c[ag]|bulk)|mbarrier\.(init|arrive)"
WRITTEN = r"st\.shared|cp\.async\.(c[ag]|wait)|mbarrier\.init|fence\.proxy"  # what a barrier lets others see
OTHERS = r"bar\.(sync|arrive) (?!0;)"  # barriers that let only some warps go on


class Paths:
    """The statements of a text, and which can follow which."""

    def __init__(self, ptx):
        self.ptx = ptx
        body = ptx.find("{", ptx.find(".entry"))
        plain = re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), ptx)
        self.text, self.begin, labels = [], [], {}
        for match in re.compile(r"(\$?\w+):(?!:)|[^;]*;").finditer(plain, body + 1):
            if match.group(1):
                labels[match.group(1)] = len(self.text)
                continue
            text = match.group()
            for label in re.findall(r"(?m)^\s*(\$\w+):", text):
                labels[label] = len(self.text)
            text = re.sub(r"(?m)^\s*\$\w+:", "", text)
            self.begin.append(match.start())
            self.text.append(re.sub(r"\s+", " ", text).strip(" {}\n\t"))
        self.next = [[] for _ in self.text]
        for at, text in enumerate(self.text):
            jump = re.search(r"bra(?:\.uni)? (\$\w+)", text)
            if jump:
                self.next[at].append(labels[jump.group(1)])
            if not (text.startswith(("ret", "exit")) or (jump and not text.startswith("@"))) and at + 1 < len(self.text):
                self.next[at].append(at + 1)
        self.before = [[] for _ in self.text]
        for at, following in enumerate(self.next):
            for to in following:
                self.before[to].append(at)

        self.compared, self.bounds = {}, []
        self.find_bounds()

    def at(self, position):
        return max(n for n, begin in enumerate(self.begin) if begin <= position)

    def block_of(self, at):
        """The line of the label before a statement."""
        label = re.compile(r"(?m)^\$\w+:.*$")
        return ([""] + label.findall(self.ptx, 0, self.begin[at]))[-1]

    def find_bounds(self):
        """What registers that never change are compared with, by predicate, and at each statement their bounds."""
        written = {}
        for at, text in enumerate(self.text):
            if match := re.match(r"[a-z][\w.]* (%[rp]\d+),", text):
                written.setdefault(match[1], []).append(at)
        constant = {register for register, places in written.items() if len(places) == 1 and not self.follows_itself(places[0])}
        for text in self.text:
            match = re.fullmatch(r"setp\.(lt|le|gt|ge|eq)\.([su])32 (%p\d+), (%r\d+), (-?\d+);", text)
            if match and match[4] in constant and len(written[match[3]]) == 1:
                self.compared[match[3]] = match[1], match[2] + match[4], int(match[5])  # as a number with a sign, or without
        self.bounds = [None] * len(self.text)
        todo = [(0, {})]
        while todo:
            at, bounds = todo.pop()
            before = self.bounds[at]
            if before is not None:  # what holds on every way here
                bounds = {r: (min(bounds[r][0], before[r][0]), max(bounds[r][1], before[r][1])) for r in bounds.keys() & before.keys()}
                if bounds == before:
                    continue
            self.bounds[at] = bounds
            for n, to in enumerate(self.next[at]):
                further = self.along(at, n, bounds)
                if further is not None:
                    todo.append((to, further))

    def follows_itself(self, at):
        todo, done = list(self.next[at]), set()
        while todo:
            here = todo.pop()
            if here == at:
                return True
            if here not in done:
                done.add(here)
                todo += self.next[here]
        return False

    def along(self, at, n, bounds):
        """The bounds beyond the nth way on from a statement; None where nobody with these bounds goes there."""
        jump = re.fullmatch(r"@(!?)(%p\d+) bra (\$\w+);", self.text[at])
        if not jump or jump[2] not in self.compared:
            return bounds
        relation, register, number = self.compared[jump[2]]
        if (n == 0) == (jump[1] == "!"):
            relation = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": ""}[relation]
        least, most = {"lt": (-math.inf, number - 1), "le": (-math.inf, number), "gt": (number + 1, math.inf),
                       "ge": (number, math.inf), "eq": (number, number), "": (-math.inf, math.inf)}[relation]
        before = bounds.get(register, (-math.inf, math.inf))
        now = max(least, before[0]), min(most, before[1])
        return {**bounds, register: now} if now[0] <= now[1] else None

    def after(self, at, bounds):
        return [to for n, to in enumerate(self.next[at]) if self.along(at, n, bounds) is not None]

    def earlier(self, at, bounds):
        return [before for before in self.before[at]
                if any(to == at and self.along(before, n, bounds) is not None for n, to in enumerate(self.next[before]))]

    def first(self, start, reach, without, backward=False):
        """On the paths from a statement, or to it, the first ones like `reach`; None where one like `without` comes before."""
        bounds = self.bounds[start] or {}
        edges = (lambda at: self.earlier(at, bounds)) if backward else (lambda at: self.after(at, bounds))
        todo, done, found = list(edges(start)), set(), []
        while todo:
            at = todo.pop()
            if at in done:
                continue
            done.add(at)
            if re.search(reach, self.text[at]) and at != start:
                found.append(at)
            elif re.search(without, self.text[at]):
                return None
            elif at != start:
                todo += edges(at)
        return found

    def always(self, *arguments, **options):
        """Whether every path meets one like `reach`, or the end, before one like `without`."""
        return self.first(*arguments, **options) is not None


class Values:
    """How registers that one statement writes are computed."""

    def __init__(self, statements):
        made = collections.defaultdict(list)
        for text in statements:
            if match := re.match(r"(?:@!?%p\d+ )?[a-z][\w.:]* (\{[^}]*\}|%\w+),", text):
                for register in re.findall(r"%\w+", match[1]):
                    made[register].append(text)
        self.statements, self.written = statements, made
        self.made = {register: texts[0] for register, texts in made.items() if len(texts) == 1 and not texts[0].startswith("@")}

    def parts(self, register, operation):
        """The operands of the operation that makes it; none where another one does."""
        match = re.fullmatch(rf"(?:{operation})\S* {re.escape(register)}, (\S+), (\S+);", self.made.get(register, ""))
        return match.groups() if match else ()

    def leaves(self, predicate):
        """The comparisons that a predicate is all of."""
        both = self.parts(predicate, r"and\.pred")
        return set.union(*map(self.leaves, both)) if both else {predicate}

    def less(self, predicate):
        """Smaller and larger of a comparison for less."""
        match = re.fullmatch(r"setp\.(lt|gt)\.[su]32 \S+ (\S+), (\S+);", self.made.get(predicate, ""))
        return (match[2], match[3])[:: 1 if match[1] == "lt" else -1] if match else ()

    def most_bits(self, value, depth=8):
        """Those that it may have, by whatever statement writes it."""
        if value.isdigit():
            return int(value)
        written = self.written.get(value) if depth > 0 else None
        return functools.reduce(operator.or_, (self.bits_of(text, depth - 1) for text in written)) if written else 0xffffffff

    def bits_of(self, statement, depth):
        match = re.fullmatch(r"(and|or|shl|shr|mov)\.\w+ %\w+, ([^,]+)(?:, ([^,]+))?;", statement)
        if not match:
            return 0xffffffff
        operation, first, second = match.groups()
        if operation == "mov":
            return 1023 if first.startswith("%tid") else 0xffffffff
        if operation in ("and", "or"):
            a, b = self.most_bits(first, depth), self.most_bits(second, depth)
            return a & b if operation == "and" else a | b
        if not second.isdigit():
            return 0xffffffff
        bits = self.most_bits(first, depth)
        return bits << int(second) & 0xffffffff if operation == "shl" else bits >> int(second) if bits < 1 << 31 else 0xffffffff

    def same_meaning(self, predicate, other):
        """Whether one is begin + at < end, the other at < end - begin, at most a tile, with `at` below the tile and `begin` a
        multiple of it: then both are true or both false, and with equality in one the other is still false."""
        if not self.less(predicate) or not self.less(other):
            return False
        for (place, end), (at, left) in ((self.less(predicate), self.less(other)), (self.less(other), self.less(predicate))):
            sum_ = self.parts(place, r"or\.b32|add\.s32")
            if at not in sum_:
                continue
            begin = sum_[1 - sum_.index(at)]
            shift = self.parts(begin, r"shl\.b32")
            tile = 1 << int(shift[1]) if shift and shift[1].isdigit() else 0
            for bound, constant in (("min", tile), ("max", 0)):  # of what is left
                operands = self.parts(left, rf"{bound}\.s32")
                left = operands[0] if operands and operands[1] == str(constant) else left
            if self.most_bits(at) < tile and self.parts(left, r"sub\.s32") == (end, begin):
                return True
        return False

    def compared_twice(self, text):
        compared = re.match(r"setp\.\S+ (%p\d+),", text)
        return bool(compared) and self.only_beside(compared[1], compared[1])

    def only_beside(self, all_of, predicate):
        """Whether a predicate counts only together with another one of the same meaning; `all_of`: itself and others."""
        uses = [t for t in self.statements if re.search(re.escape(all_of) + r"\b", t) and t != self.made.get(all_of)]
        made = [re.match(r"and\.pred (%p\d+),", use) for use in uses]
        return bool(uses) and all(m and m[1] in self.made and (
            any(self.same_meaning(predicate, other) for other in self.leaves(m[1]) - {predicate}) or
            self.only_beside(m[1], predicate)) for m in made)

    def is_zero(self, value):
        made = self.made.get(value, "")
        return value == "0" or bool(re.fullmatch(rf"(mov\.b32|neg\.s32) {re.escape(value)}, (\S+);", made) and self.is_zero(made.rstrip(";").split()[-1])) \
            or any(self.is_zero(part) for part in self.parts(value, r"mul\.hi\.u32|mul\.lo\.s32"))

    def never_equal(self, text):
        """Of a comparison for less or equal; where it is one that equality would decide."""
        match = re.search(r"setp\.\w+\.[su]32 %p\d+, (\S+), (\S+);", text)
        return bool(match) and any(self.is_zero(a) and "1" in self.parts(b, r"max\.s32") for a, b in (match.groups(), match.groups()[::-1]))


NEVER = r"(?!)"
BARRIER = r"bar\.sync 0;"


def reason_to_survive(paths, kind, position):
    """Why a fault of this kind cannot show; "" where it should."""
    at = paths.at(position)
    text = paths.text[at]
    # Of a barrier of the warp the compiler may have made copies, for lanes that part: then others wait for these.
    if kind == "bar.sync deleted" or (kind == "bar.warp.sync deleted" and "critedge" not in paths.block_of(at)):
        # A barrier of the same threads, or of more, does as much; but not for one with a computed name, at which others
        # arrive without waiting.
        of_all = max(map(int, re.findall(r"bar\.sync \d+, (\d+);", "\n".join(paths.text))), default=0)
        like = r"bar\.(warp\.)?sync" if "warp" in kind else BARRIER + "|" + re.escape(text)
        if re.match(r"bar\.sync \d", text):
            like += rf"|bar\.sync \d+, {of_all};"
        for backward in (False, True):
            if paths.always(at, like, SHARED + "|" + OTHERS, backward):
                return "no shared memory is used " + ("before, or since the barrier before" if backward else "after, or until the barrier after")
        if paths.always(at, like, WRITTEN + "|" + OTHERS, backward=True) and paths.always(at, like, WRITES + "|" + OTHERS):
            return "shared memory is only read between the barriers before and after"
        if "warp" in kind and all(paths.always(at, like, READS + "|" + OTHERS, backward) for backward in (False, True)):
            return "shared memory is only written between the barriers before and after"
    if kind == "fence.proxy deleted":
        written = r"st\.shared|cp\.async\.c[ag]|cp\.async\.wait"
        if paths.always(at, NEVER, r"wgmma\.mma_async|cp\.async\.bulk|" + OTHERS):
            return "neither a product nor the copy engine follows"
        if paths.always(at, r"fence\.proxy", written + r"|mbarrier\.init", backward=True):
            return "nothing was written since the fence before"
        if "mbarrier_init" in paths.text[at - 1] and paths.always(at, NEVER, written, backward=True):
            return "only mbarriers were written, and fence.mbarrier_init does as much"
        if paths.always(at, r"fence\.proxy", r"bar\.(sync|arrive)|wgmma\.mma_async"):
            return "another fence comes before the barrier"
    # Until something like this nobody may know whether a product is done: what comes before only adds to its registers.
    shows = WRITES + r"|^(?!wgmma).*%tc_tile|" + OTHERS + "|^ret|^exit"
    if kind == "wgmma.commit_group deleted":
        commits = paths.first(at, r"wgmma\.commit", shows)
        waits = commits and [paths.first(commit, r"wgmma\.wait_group\S* 0\b", shows) for commit in commits]
        if waits and all(waits) and all(paths.always(w, BARRIER, WRITES) for found in waits for w in found):
            return "its products go with the next group, which is waited for before it shows"
    if kind.startswith("wgmma.wait_group"):
        groups = int(re.search(r"wait_group\S* (\d+)", text).group(1))
        as_few = r"wgmma\.wait_group\S* ([0-%d])\b" % groups
        # And until the barrier that lets other warps go on.
        waits = paths.first(at, as_few, shows)
        if waits is not None and all(paths.always(w, BARRIER, WRITES) for w in waits):
            return "another wait for as many comes before shared memory is written or a register used"
        if paths.always(at, as_few, r"wgmma\.(mma|commit)", backward=True):
            return "no product begins since the wait before"
        before = paths.first(at, r"wgmma\.commit", NEVER, backward=True)
        none_under_way = r"wgmma\.wait_group\S* 0\b"
        if groups == 1 and all(paths.always(commit, none_under_way, r"wgmma\.commit", backward=True) for commit in before):
            return "there has been one group yet since all were waited for, which it does not wait for"
    if kind == "wgmma.fence deleted" and paths.always(at, r"wgmma\.(fence|mma)", r"%tc_tile", backward=True) and \
            not paths.always(at, NEVER, r"wgmma\.fence", backward=True):
        return "no register of a product was used since the fence before"
    if kind == "comparison off by one" and Values(paths.text).compared_twice(text):
        return "where it is asked, another comparison of the same meaning is, too"
    if kind == "comparison off by one" and Values(paths.text).never_equal(text):
        return "of what is compared one is 0, the other more"
    if kind == "comparison off by one" and re.search(r"setp\.(lt|gt)\.s32 %p\d+, %r\d+, (128|-127);", text):
        return "at the limit of exp's range, where activations have reached theirs"
    return ""


@dataclasses.dataclass(frozen=True)
class Mutant:
    kernel: str
    gpu: int
    kind: str
    line: int
    text: str  # of the line
    harmless: str  # why it changes nothing; "" where it should
    ptx: str = dataclasses.field(repr=False)

    def place(self):
        return f"{self.kernel} sm_{self.gpu}, {self.kind}, line {self.line}: {self.text}"


def path_of(folder, kernel, gpu):
    for features in ("a", ""):
        path = folder / f"{kernel}.sm_{gpu}{features}.ptx"
        if path.exists():
            return path
    raise SystemExit(f"mutants.py: no text of {kernel} for sm_{gpu} in {folder}")


def value_is_used(ptx, line):
    """Of a load: ptxas drops those whose value nobody uses; they stand for their address."""
    registers = re.findall(r"%\w+", line.split("[")[0])
    return any(len(re.findall(re.escape(r) + r"\b", ptx)) > 2 for r in registers if not r.startswith("%p"))


def mutants_of(folder, kernel, gpu):
    path = path_of(folder, kernel, gpu)
    ptx = path.read_text()
    paths = Paths(ptx)
    chance = random.Random(f"{kernel} {gpu}")
    for kind in KINDS:
        places = []
        for match in re.finditer(kind.pattern, ptx):
            begin = ptx.rfind("\n", 0, match.start()) + 1
            line = ptx[begin : ptx.find("\n", match.start())]
            if "//" in line[: match.start() - begin] or ("load 4" in kind.name and not value_is_used(ptx, line)):
                continue
            places.append((match, line))
        for match, line in sorted(chance.sample(places, min(kind.most, len(places))), key=lambda p: p[0].start()):
            new = kind.replacement(match) if callable(kind.replacement) else match.expand(kind.replacement)
            yield Mutant(kernel, gpu, kind.name, ptx.count("\n", 0, match.start()) + 1, line.strip(),
                         reason_to_survive(paths, kind.name, match.start()),
                         ptx[: match.start()] + new + ptx[match.end() :])


def interpret(build, folder, gpu, seconds, program, *arguments):
    """A program on ptx_machine, for so many seconds of a processor at most."""
    environment = dict(os.environ, LD_LIBRARY_PATH=str(build / "tests/ptx_machine"), PTX_MACHINE_GPU=str(gpu),
                       PTX_MACHINE_TIMING="late", PTX_MACHINE_CODE=f"{folder}:{build / 'runtime/kernels'}")
    limit = math.ceil(seconds)
    return subprocess.run([build / "tests/ptx_machine" / program, *arguments], env=environment, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))


def run(build, folder, kernel, gpu, seconds):
    """What the tests say, within so many seconds of a processor: "" where they notice nothing."""
    done = interpret(build, folder, gpu, seconds, "shapes_test", "--gtest_brief=1", f"--gtest_filter=*/{kernel}")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "does not end"
    if any(text in done.stdout for text in ("SKIPPED", "0 tests from", "no problem of")):
        raise SystemExit(f"mutants.py: no test of {kernel}: {done.stdout}")
    if done.returncode == 0:
        return ""
    notes = re.findall(r"ptx_machine: (.*)", done.stderr) + re.findall(r"(element .*)", done.stdout)
    return notes[0] if notes else f"exit status {done.returncode}"


def verdict(build, kernels, mutant, seconds, seek):
    """How it is noticed, "" where it is not, and then a problem that would notice it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = path_of(kernels, mutant.kernel, mutant.gpu)
        (folder / f"{mutant.kernel}.fatbin").symlink_to((kernels / f"{mutant.kernel}.fatbin").resolve())
        (folder / source.name).write_text(mutant.ptx)
        noticed = run(build, folder, mutant.kernel, mutant.gpu, seconds)
        found = ""
        if not noticed and seek:
            found = interpret(build, folder, mutant.gpu, 2 * seek, "find_shapes", "fault", str(seek), SHAPES, mutant.kernel).stdout
        return noticed, found.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kernel", action="append", default=[], help="only this one")
    parser.add_argument("--seek", type=float, default=0, help="seconds for a problem that notices what survives")
    parser.add_argument("--verbose", action="store_true", help="says how each mutant was noticed")
    options = parser.parse_args()
    build = options.build.resolve()
    kernels = build / "runtime/kernels"
    wanted = [k for k in KERNELS if not options.kernel or k[0] in options.kernel]
    killed, survivors, harmless = collections.Counter(), collections.Counter(), 0

    def seconds_as_it_is(kernel_and_gpu):
        begin = time.monotonic()
        if problem := run(build, kernels, *kernel_and_gpu, 600):
            raise SystemExit(f"mutants.py: {kernel_and_gpu[0]} fails as it is: {problem}")
        return time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        mutants, limits = [], []
        for kernel, seconds in zip(wanted, pool.map(seconds_as_it_is, wanted)):
            for mutant in mutants_of(kernels, *kernel):
                if not mutant.harmless:
                    mutants.append(mutant)
                    limits.append(2 + 4 * seconds)
                    continue
                harmless += 1
                if options.verbose:
                    print(f"changes nothing: {mutant.place()}\n    {mutant.harmless}")
        for mutant, (noticed, found) in zip(mutants, pool.map(lambda m, s: verdict(build, kernels, m, s, options.seek), mutants, limits)):
            if options.verbose or not noticed:
                word = noticed[:200] or found
                print(f"{'killed' if noticed else 'SURVIVES'}: {mutant.place()}" + (f"\n    {word}" if word else ""), flush=True)
            (killed if noticed else survivors)[mutant.kernel, mutant.gpu] += 1
    for kernel, gpu in wanted:
        of_kernel = kernel, gpu
        print(f"{kernel} sm_{gpu}: {killed[of_kernel]} of {killed[of_kernel] + survivors[of_kernel]} noticed")
    total = killed.total() + survivors.total()
    print(f"score: {killed.total()} of {total}, {100 * killed.total() / max(total, 1):.1f} %; {harmless} more change nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Small faults of PTX: a wait deleted, a load 4 bytes off, a comparison off by one; and which of them change nothing, by
the paths through the program."""

import dataclasses
import random
import re

from coverage import EXPLAINED
from ptx_paths import Paths


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
    Kind("ldmatrix 16 bytes off", r"(ldmatrix[^;]*)\[(%?\w+)(?:\+(\d+))?\]",
         lambda m: f"{m.group(1)}[{m.group(2)}+{int(m.group(3) or 0) + 16}]", 3),
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


# ---- faults that change nothing: a barrier, fence or wait that nothing depends on

SHARED = r"(st|ld)\.shared|cp\.async\.(c[ag]|bulk)|mbarrier|wgmma\.mma_async|(st|ld)matrix"
READS = r"ld\.shared|cp\.async\.bulk|wgmma\.mma_async|ldmatrix"
WRITES = r"st\.shared|stmatrix|cp\.async\.(c[ag]|bulk)|mbarrier\.(init|arrive)"
WRITTEN = r"st\.shared|stmatrix|cp\.async\.(c[ag]|wait)|mbarrier\.init|fence\.proxy"  # what a barrier lets others see
OTHERS = r"bar\.(sync|arrive) (?!0;)"  # barriers that let only some warps go on
NEVER = r"(?!)"
BARRIER = r"bar\.sync 0;"


def reason_to_survive(paths, kind, position):
    """Why a fault of this kind cannot show; "" where it should."""
    at = paths.at(position)
    text = paths.text[at]
    # The compiler may have made copies of a barrier of the warp, for lanes that part: then others wait for these.
    if kind == "bar.sync deleted" or (kind == "bar.warp.sync deleted" and "critedge" not in paths.block_of(at)):
        # A barrier of the same threads, or of more, does as much; but not for one with a computed name, at which others
        # arrive without waiting.
        of_all = max(map(int, re.findall(r"bar\.sync \d+, (\d+);", "\n".join(paths.text))), default=0)
        like = r"bar\.(warp\.)?sync" if "warp" in kind else BARRIER + "|" + re.escape(text)
        if re.match(r"bar\.sync \d", text):
            like += rf"|bar\.sync \d+, {of_all};"
        for backward in (False, True):
            if paths.always(at, like, SHARED + "|" + OTHERS, backward):
                return "no shared memory is used " + ("before, or since the barrier before" if backward
                                                      else "after, or until the barrier after")
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
        if paths.always(at, as_few, shows + "|" + BARRIER):
            return "another wait for as many comes before a barrier, a write to shared memory or a use of a register"
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
    if kind == "wgmma.fence deleted" and paths.always(at, r"wgmma\.fence", r"wgmma\.mma"):
        return "another fence comes before the next product"
    if kind == "comparison off by one" and paths.values.compared_twice(text):
        return "where it is asked, another comparison of the same meaning is, too"
    if kind == "comparison off by one" and paths.values.is_rest(text):
        return "what a division leaves is less than the divisor"
    if kind == "comparison off by one" and paths.values.never_equal(text):
        return "of what is compared one is 0, the other more"
    if kind == "comparison off by one" and re.search(r"setp\.(lt|gt)\.s32 %p\d+, %r\d+, (128|-127);", text):
        return "at the limit of exp's range, where activations have reached theirs"
    return ""


# ---- faults of what is superfluous, or guards what always is: these are run, and count where they are noticed


def begins_to_wait(paths, at):
    """Whether a branch follows, to where something is waited for."""
    targets = [to for to in paths.next[at + 1] if to != at + 2] if paths.text[at + 1].startswith("@%p") else []
    return any(re.search(r"wait_group|try_wait|bar\.sync", text) for to in targets for text in paths.text[to : to + 12])


def stores_first_alone(block):
    """Whether one float is stored, the first of two neighbours in shared memory."""
    loads = re.findall(r"ld\.shared\.b32 \S+ \[%\w+(?:\+(\d+))?\]", "\n".join(block))
    return len(loads) == 1 and int(loads[0] or 0) % 8 == 0 and sum("st.global" in text for text in block) == 1


def reason_if_unnoticed(paths, kernel, kind, position):
    """Why no run may show a fault of this kind; "" where one should."""
    at = paths.at(position)
    text, values = paths.text[at], paths.values
    for kernels, is_out_of_reach, reason in EXPLAINED:
        if re.search(kernels, kernel + ".") and is_out_of_reach(paths.statements_of_block(at)):
            return "no problem comes here: " + reason
    if kind == "bar.sync deleted" and re.fullmatch(BARRIER, text) and \
            all(paths.always(at, BARRIER, READS + "|" + OTHERS, backward) for backward in (False, True)):
        return "shared memory is only written between the barriers before and after, each word by one thread, or it would be told"
    if kind.startswith("wgmma.wait_group"):
        earlier = paths.first(at, r"wgmma\.wait_group\S* [01]\b", r"mbarrier\.try_wait|bar\.", backward=True)
        if earlier and all(paths.first(e, r"wgmma\.commit", r"mbarrier\.try_wait|bar\.", backward=True) for e in earlier):
            return "an earlier wait has left products of this chunk alone, and what follows gives back the chunk before"
    of_product = kind == "load from shared memory 4 bytes off" and "_product_" in kernel
    if of_product and stores_first_alone(paths.statements_of_block(at)):
        return "beyond a tile's last column it is read again, so that both of the pair are the same"
    compared = re.fullmatch(r"setp\.(\w+)\.[su]32 (%p\d+), (%r\d+), (\S+);", text) if kind == "comparison off by one" else None
    if not compared:
        return ""
    relation, predicate, number, limit = compared.groups()
    if values.is_of_first_tap(text):
        return "a remainder that is the divisor in place of 0 leads to the same first tap, or cannot be"
    if values.are_shares(text):
        return "a block has another tile, beyond the last, nothing of which is stored"
    if values.selects_last_again(predicate):
        return "beyond the last channel it is read again, and multiplied by a packed weight of zero"
    if relation == "gt" and limit == "0" and values.is_behind_first(number):
        return "it guards the first of a block's rows, which end behind it"
    if relation == "gt" and limit == "0" and begins_to_wait(paths, at):
        return "it guards the last step of a sum, which has one at least"
    if relation == "ge" and any(number in values.parts(part, r"add\.s32") for part in values.parts(limit, r"add\.s32")):
        return "it guards a block's tiles, of which there is one at least"
    if values.same_beside(predicate, paths.bounds[at] or {}):
        return "another comparison of the same meaning is asked, too"
    return ""


@dataclasses.dataclass(frozen=True)
class Mutant:
    kernel: str
    gpu: int
    kind: str
    line: int
    text: str  # of the line
    harmless: str  # why it changes nothing; "" where it should
    superfluous: str  # why it may not be noticed; "" where it should
    ptx: str = dataclasses.field(repr=False)

    def place(self):
        return f"{self.kernel} sm_{self.gpu}, {self.kind}, line {self.line}: {self.text}"


def value_is_used(ptx, line):
    """Of a load: ptxas drops those whose value nobody uses; they stand for their address."""
    registers = re.findall(r"%\w+", line.split("[")[0])
    return any(len(re.findall(re.escape(r) + r"\b", ptx)) > 2 for r in registers if not r.startswith("%p"))


def mutants_of(ptx, kernel, gpu):
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
                         reason_if_unnoticed(paths, kernel, kind.name, match.start()),
                         ptx[: match.start()] + new + ptx[match.end() :])

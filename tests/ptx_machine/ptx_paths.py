"""What the text of a kernel's PTX says of its runs: the paths through its statements, and how registers are computed."""

import collections
import functools
import math
import operator
import re


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
        threads = re.search(r"\.(?:maxntid|reqntid) (\d+), (\d+), (\d+)", ptx)
        self.values = Values(self.text, dict(zip("xyz", map(int, threads.groups()))) if threads else {})

    def at(self, position):
        return max(n for n, begin in enumerate(self.begin) if begin <= position)

    def block_of(self, at):
        """The line of the label before a statement."""
        label = re.compile(r"(?m)^\$\w+:.*$")
        return ([""] + label.findall(self.ptx, 0, self.begin[at]))[-1]

    def statements_of_block(self, at):
        """Those that are run together with one."""
        begin, end = at, at + 1
        while self.before[begin] == [begin - 1] and len(self.next[begin - 1]) == 1:
            begin -= 1
        while end < len(self.text) and self.next[end - 1] == [end] and len(self.before[end]) == 1:
            end += 1
        return self.text[begin:end]

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
                bounds = {r: (min(bounds[r][0], before[r][0]), max(bounds[r][1], before[r][1]))
                          for r in bounds.keys() & before.keys()}
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


def target(text):
    """The register that a statement writes."""
    return text.split()[1].rstrip(",")


class Values:
    """How registers that one statement writes are computed."""

    def __init__(self, statements, threads):
        self.threads = threads  # of a block, at most: by axis
        self.most = {}  # of registers, where a question is asked
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

    def summands(self, register):
        """What a number is the sum of, by whatever statements."""
        parts = self.parts(register, r"or\.b32|add\.s32")
        return set.union(*map(self.summands, parts)) if parts else {register}

    def uses(self, register):
        """The statements that read it."""
        return [text for text in self.statements if re.search(re.escape(register) + r"\b", text.partition(",")[2])]

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
        if value in self.most:
            return (1 << self.most[value].bit_length()) - 1
        written = self.written.get(value) if depth > 0 else None
        return functools.reduce(operator.or_, (self.bits_of(text, depth - 1) for text in written)) if written else 0xffffffff

    def bits_of(self, statement, depth):
        match = re.fullmatch(r"(add|and|or|shl|shr|mov)\.\w+ %\w+, ([^,]+)(?:, ([^,]+))?;", statement)
        if not match:
            return 0xffffffff
        operation, first, second = match.groups()
        if operation == "mov":
            if first.isdigit():
                return int(first)
            threads = self.threads.get(first[-1], 1024) if first.startswith("%tid") else 1 << 32
            return (1 << (threads - 1).bit_length()) - 1
        if operation in ("add", "and", "or"):
            a, b = self.most_bits(first, depth), self.most_bits(second, depth)
            if operation == "add" and a & b:
                return min((1 << (a + b).bit_length()) - 1, 0xffffffff)
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
            whole, inside = self.summands(place), self.summands(at)
            if not inside < whole or len(whole - inside) > 1:
                continue
            begin, = whole - inside
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

    def same_beside(self, predicate, bounds):
        """Whether there is another one of the same meaning anywhere, such as where both are flags in shared memory."""
        self.most = {register[1:]: most for register, (_, most) in bounds.items() if register[0] == "u" and most < math.inf}
        return any(self.same_meaning(predicate, other) for other in list(self.made) if other != predicate and self.less(other))

    def is_rest(self, text):
        """Of a comparison for less: whether a number is compared with the end of the divisor's multiple that it lies in, by a
        quotient that is one too small at most, or what an exact quotient leaves of it with the divisor. Then it is less,
        whatever it is."""
        match = re.fullmatch(r"setp\.lt\.s32 %p\d+, (\S+), (\S+);", text)
        if match and self.is_left_by_reciprocal(*match.groups()):
            return True
        for step, end in filter(None, (match and self.parts(match[2], r"add\.s32"),)):
            one_more = re.fullmatch(r"selp\.b32 \S+, (\S+), 0, (\S+);", self.made.get(step, ""))
            if one_more and self.made.get(one_more[2]) == f"setp.ge.s32 {one_more[2]}, {match[1]}, {end};" and \
                    one_more[1] in self.parts(end, r"add\.s32"):
                return True
        return False

    def is_left_by_reciprocal(self, rest, divisor):
        """Whether it is a number without the divisor's multiple, by the half of a number that the host has made for it
        (algorithm/fast_division.h)."""
        left = re.fullmatch(r"sub\.s32 \S+, (\S+), (\S+);", self.made.get(rest, ""))
        multiple = left and re.fullmatch(rf"mul\.lo\.s32 \S+, (\S+), {re.escape(divisor)};", self.made.get(left[2], ""))
        quotient = multiple and re.fullmatch(r"mul\.hi\.u32 \S+, (\S+), %r\d+;", self.made.get(multiple[1], ""))
        return bool(quotient) and self.made.get(quotient[1]) == f"shl.b32 {quotient[1]}, {left[1]}, 1;"

    def is_of_first_tap(self, text):
        """Whether it corrects a remainder, by a quotient that may be one too small, of what the first tap at a position is computed
        by: of a product of the position's quotient and an inverse modulo the divisor, which is a multiple of the divisor where it
        is 0 alone; or of what is divided again for that quotient, where the divisor leads to the same tap as 0."""
        match = re.fullmatch(r"setp\.lt\.s32 (%p\d+), (\S+), (\S+);", text)
        number, multiple = (match and self.parts(match[2], r"sub\.s32")) or (None, None)
        quotient, divisor = (multiple and self.parts(multiple, r"mul\.lo\.s32")) or (None, None)
        if not quotient or divisor != match[3] or self.parts(quotient, r"mul\.hi\.u32")[:1] != (number,):
            return False
        if self.parts(number, r"mul\.lo\.s32"):
            return True
        corrected = [target(use) for step in self.uses(match[1]) for use in self.uses(target(step))]
        return bool(corrected) and all(re.match(rf"mul\.hi\.u32 |sub\.s32 \S+ {re.escape(c)},", use)
                                       for c in corrected for use in self.uses(c))

    def are_shares(self, text):
        """Whether a block's number is compared with how many tiles are left, each without a multiple of as many blocks."""
        match = re.fullmatch(r"setp\.lt\.s32 \S+, (\S+), (\S+);", text)
        left = [re.fullmatch(r"mad\.lo\.s32 \S+, \S+, (-\d+), \S+;", self.made.get(number, ""))
                for number in (match.groups() if match else [""])]
        return all(left) and left[0][1] == left[1][1]

    def is_behind_first(self, number):
        """Whether it is the end of a share, of which each has one at least: where one more than the share's number is divided."""
        share = re.fullmatch(r"selp\.b32 \S+, 0, (\S+), \S+;", self.made.get(number, ""))
        divided = share and self.parts(share[1], r"div\.s32")
        end = divided and self.parts(divided[0], r"add\.s32")
        begin = end and self.parts(end[0], r"shl\.b32")
        return bool(begin) and end[1] == str(1 << int(begin[1]))

    def selects_last_again(self, predicate):
        """Whether it only tells loaded values from zeros, whose places end at the last one: beyond it the last is read again."""
        selects = [re.fullmatch(rf"selp\.f32 \S+, (%r\d+), 0f00000000, {predicate};", use) for use in self.uses(predicate)]
        if not selects or not all(selects):
            return False
        return all("ld.global" in text and self.is_limited(text) for select in selects for text in self.written[select[1]])

    def is_limited(self, text, depth=6):
        """Whether a minimum is among what its address is computed of."""
        operands = re.findall(r"%rd?\d+", text.partition(",")[2])
        return "min.s32" in text or depth > 0 and any(self.is_limited(self.made[r], depth - 1) for r in operands if r in self.made)

    def is_zero(self, value):
        made = self.made.get(value, "")
        return value == "0" or bool(re.fullmatch(rf"(mov\.b32|neg\.s32) {re.escape(value)}, (\S+);", made)
                                    and self.is_zero(made.rstrip(";").split()[-1])) \
            or any(self.is_zero(part) for part in self.parts(value, r"mul\.hi\.u32|mul\.lo\.s32"))

    def never_equal(self, text):
        """Of a comparison for less or equal; where it is one that equality would decide."""
        match = re.search(r"setp\.\w+\.[su]32 %p\d+, (\S+), (\S+);", text)
        return bool(match) and any(self.is_zero(a) and "1" in self.parts(b, r"max\.s32")
                                   for a, b in (match.groups(), match.groups()[::-1]))

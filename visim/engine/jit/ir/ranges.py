"""Ranges of numbers in the text of a loop over threads: the least and the greatest they ever have.

What a number is made of is followed back through the text, and through variables of the function,
to what stays as it is in the loop and to what the loop counts. From these the ends are computed in
front of the loop, exactly: wherever sums could wrap, code says whether they do. Paths through the
loop do not matter: a variable may have whatever anything stores into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from visim.engine.jit.ir.accesses import allocated, type_bytes
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text, signed

_WORD = 64
_MOST_DEEP = 64
"""Numbers that are made of each other in longer chains are not known: Python's stack has an end."""
_NAME = re.compile(r"%[\w.]+")
_LET = re.compile(r"  (%[\w.]+) = (.*)")
_SCALAR = re.compile(r"(?:<1 x )?i(\d+)>?")
_NUMBER = re.compile(r"(?:splat \(i\d+ )?(-?\d+)\)?")
_AT = re.compile(r"getelementptr i(8|64), ptr (%[\w.]+), i64 (-?\d+)")
_ROW = re.compile(r"getelementptr (\[\d+ x i64\]), ptr (%[\w.]+), i64 (%[\w.]+), i64 (\d+)")
_LOAD = re.compile(r"load (<1 x i\d+>|i\d+), ptr (%[\w.]+)(?:, align \d+)?")
_WATCHED = ("load volatile ", "load atomic ")
_KIND = r"i\d+|half|float|double"
_STORE = re.compile(
    rf"  store (<\d+ x (?:{_KIND})>|{_KIND}|ptr) (\S.*), ptr (%[\w.]+)(?:, align \d+)?"
)
_COPY = re.compile(
    r"  call void @llvm\.memcpy\.p0\.p0\.i64\(ptr (%[\w.]+), ptr (%[\w.]+), i64 (\d+), i1 false\)"
)
_CLEAR = re.compile(
    r"  call void @llvm\.memset\.p0\.i64\(ptr (?:align \d+ )?(%[\w.]+), i8 0, i64 (\d+), i1 false\)"
)
_TWO = r"(<1 x i\d+>|i\d+) (splat \(i\d+ -?\d+\)|[^\s,]+), (splat \(i\d+ -?\d+\)|[^\s,]+)"
_SUM = re.compile(rf"(add|sub|mul|shl|ashr|lshr|and) {_TWO}")
_COMPARED = re.compile(rf"icmp (\w+) {_TWO}")
_CAST = re.compile(r"(sext|zext|trunc) (<1 x i\d+>|i\d+) (\S+) to (<1 x i\d+>|i\d+)")
_ONE = re.compile(r"insertelement <1 x (i\d+)> poison, i\d+ (\S+), i64 0")
_CALLED = re.compile(r"call (i\d+) @llvm\.(smin|smax|usub\.sat)\.i\d+\(i\d+ (\S+), i\d+ (\S+)\)")
_BOTH = re.compile(r"and i1 (%[\w.]+), (%[\w.]+)")
_SIGNED = {"lt": ("slt", 0), "le": ("sle", 0), "gt": ("slt", 1), "ge": ("sle", 1)}
_ORDERS = {sign + word: order for word, order in _SIGNED.items() for sign in "su"}
"""A comparison as one of signed numbers, and whether its sides change places."""


@dataclass(frozen=True, slots=True)
class Range:
    """Names of the least and the greatest number, as i64, and of what has to hold for that.

    `width` is in how many bits, sign included, both are known to fit.
    """

    low: str
    high: str
    needs: tuple[str, ...] = ()
    width: int = _WORD

    def and_needs(self, *more: str) -> Range:
        """Return the range where more has to hold."""
        return replace(self, needs=(*self.needs, *filter(None, more)))


@dataclass(frozen=True, slots=True)
class _Write:
    """A write of so many bytes of a variable, from `first` on.

    `kind` is the type of the `value` that is stored; without one it is zeros, or a copy of what
    another variable has at a place (`source`).
    """

    first: int
    size: int
    kind: str = ""
    value: str = ""
    source: tuple[str, int] | None = None


class Ranges:
    """Writes the ranges of numbers of a loop into the text in front of it.

    Args:
        text: what is written in front of the loop.
        library: the functions that this calls.
        before: the lines in front of the loop, which begins where they end.
        start: the lines of the loop that begin a thread, one after the other.
        body: the lines behind them.
        known: ranges of numbers that the loop counts, by name.
        rows: the table of rows that differ from thread to thread, the number of a thread, and where
            in the table the least ones are, with the greatest ones behind them: three names.
        lasting: pointers to memory that stays as it is.
    """

    def __init__(
        self,
        text: Text,
        library: Library,
        before: Sequence[str],
        start: Sequence[str],
        body: Sequence[str],
        known: Mapping[str, Range],
        rows: tuple[str, str, str],
        lasting: Iterable[str],
    ) -> None:
        self.text = text
        self.library = library
        self._rows = rows
        self._lasting = set(lasting)
        self._lets: dict[str, str] = {}
        self._pointers = {name: (name, 0) for name in (*allocated(before), *self._lasting)}
        self._first: dict[str, list[_Write]] = {}
        self._later: dict[str, list[_Write]] = {}
        self._escaped = set[str]()
        for lines, writes in ((start, self._first), (body, self._later)):
            for line in lines:
                self._read(line, writes)
        self._written_once: dict[str, str] = {}
        self._depth = 0
        self._found: dict[tuple[str, int], Range | None] = {
            (name, _WORD): one for name, one in known.items()
        }

    # What the text says

    def _read(self, line: str, writes: dict[str, list[_Write]]) -> None:
        let = _LET.fullmatch(line)
        if let:
            self._lets[let[1]] = let[2]
            at = _AT.fullmatch(let[2])
            if at and at[2] in self._pointers:
                name, offset = self._pointers[at[2]]
                self._pointers[let[1]] = name, offset + int(at[3]) * int(at[1]) // 8
                return
            if let[2].startswith("load ") and not let[2].startswith(_WATCHED):
                return
        write = self._write(line)
        if write is not None:
            writes.setdefault(write[0], []).append(write[1])
            return
        names = _NAME.findall(line if let is None else let[2])
        self._escaped.update(self._pointers[one][0] for one in names if one in self._pointers)

    def _write(self, line: str) -> tuple[str, _Write] | None:
        """Return the variable that a line writes, and what; None if it does something else."""
        copy, clear, store = (one.fullmatch(line) for one in (_COPY, _CLEAR, _STORE))
        if copy and copy[1] in self._pointers:
            name, first = self._pointers[copy[1]]
            return name, _Write(first, int(copy[3]), source=self._pointers.get(copy[2], ("", 0)))
        if clear and clear[1] in self._pointers:
            name, first = self._pointers[clear[1]]
            return name, _Write(first, int(clear[2]))
        if store and store[3] in self._pointers and store[2] not in self._pointers:
            name, first = self._pointers[store[3]]
            return name, _Write(first, type_bytes(store[1]), store[1], store[2])
        return None

    # Conditions

    def tests(self, condition: str) -> list[str]:
        """Return the conditions that have to hold for one to do."""
        both = _BOTH.fullmatch(self._lets.get(condition, ""))
        if both is None:
            return [condition]
        return [*self.tests(both[1]), *self.tests(both[2])]

    def holds(self, condition: str) -> tuple[str, ...] | None:
        """Return what has to hold so that a comparison does in all turns; None: nobody knows."""
        found = _COMPARED.fullmatch(self._lets.get(condition, ""))
        if found is None or found[1] not in _ORDERS:
            return None
        order, turned = _ORDERS[found[1]]
        bits = _bits(found[2])
        sides = [self._range(one, bits) for one in (found[3], found[4])]
        one, other = sides[::-1] if turned else sides
        if one is None or other is None:
            return None
        if found[1].startswith("u"):
            one = self._positive(one)
            if other.low == other.high and other.low.startswith("-"):
                # A constant with the sign bit is greater than any such number.
                return one.needs
            other = self._positive(other)
        return (*one.needs, *other.needs, self._test(order, one.high, other.low))

    def _test(self, order: str, one: str, other: str) -> str:
        return self._let(f"icmp {order} i64 {one}, {other}")

    def _positive(self, found: Range) -> Range:
        """Return a range of numbers that may not be negative."""
        if not found.low.startswith("%") and int(found.low) >= 0:
            return found
        return found.and_needs(self._test("sge", found.low, "0"))

    def _let(self, code: str) -> str:
        """Return the name of a number, which is written once."""
        if code not in self._written_once:
            self._written_once[code] = self.text.let(code)
        return self._written_once[code]

    # Numbers

    def _range(self, name: str, bits: int) -> Range | None:
        """Return the range of a number of so many bits, which is taken for a signed one."""
        number = _NUMBER.fullmatch(name)
        if number:
            constant = signed(int(number[1]), bits)
            return Range(str(constant), str(constant), width=constant.bit_length() + 1)
        key = name, bits
        if key not in self._found:
            self._found[key] = None  # what follows from itself is not known
            if self._depth < _MOST_DEEP:
                self._depth += 1
                self._found[key] = self._made(name, bits)
                self._depth -= 1
        return self._found[key]

    def _made(self, name: str, bits: int) -> Range | None:
        code = self._lets.get(name)
        if code is None:
            return self._constant(name, bits) if name.startswith("%") else None
        if found := _SUM.fullmatch(code):
            return self._sum(found[1], found[3], found[4], bits)
        if found := _CAST.fullmatch(code):
            return self._cast(found[1], found[3], _bits(found[2]), bits)
        if found := _ONE.fullmatch(code):
            return self._range(found[2], bits)
        if found := _CALLED.fullmatch(code):
            return self._called(found[2], found[3], found[4], bits)
        if found := _LOAD.fullmatch(code):
            return self._loaded(found[2], bits)
        return None

    def _constant(self, name: str, bits: int) -> Range:
        """Return the range of what is known in front of the loop."""
        value = name if bits == _WORD else self._let(f"sext i{bits} {name} to i64")
        return Range(value, value, width=bits)

    def _sum(self, word: str, a: str, b: str, bits: int) -> Range | None:
        one, other = self._range(a, bits), self._range(b, bits)
        if one is None or other is None:
            return None
        number = _NUMBER.fullmatch(b)
        constant = None if number is None else signed(int(number[1]), bits)
        match word:
            case "add":
                return self._ends("add", one, other, other, bits)
            case "sub":
                return self._ends("sub", one, other, _turned(other), bits)
            case "mul":
                return self._product(one, other, bits)
            case "and":
                return self._low_bits(constant)
            case _:
                if constant is None or not 0 <= constant < bits - 1:
                    return None
                return self._shifted(word, one, constant, bits)

    def _ends(self, word: str, one: Range, other: Range, ends: Range, bits: int) -> Range:
        """Return the range of a sum: of one number's low and another one's, and of both high."""
        width = max(one.width, other.width) + 1
        made = [
            self._exact(word, *pair, width) for pair in ((one.low, ends.low), (one.high, ends.high))
        ]
        needs = (*one.needs, *other.needs, *(need for _, need in made if need))
        return self._fitting(Range(made[0][0], made[1][0], needs, width), bits)

    def _exact(self, word: str, a: str, b: str, width: int) -> tuple[str, str]:
        """Return a sum or a product that has so many bits, and whether it has not wrapped."""
        if width <= _WORD:
            return (a if word != "mul" and b == "0" else self._let(f"{word} i64 {a}, {b}")), ""
        kind = "{ i64, i1 }"
        function = self.library.intrinsic(f"llvm.s{word}.with.overflow.i64", kind, "i64", "i64")
        pair = self._let(f"call {kind} {function}(i64 {a}, i64 {b})")
        value, wraps = (self._let(f"extractvalue {kind} {pair}, {n}") for n in (0, 1))
        return value, self._let(f"xor i1 {wraps}, true")

    def _product(self, one: Range, other: Range, bits: int) -> Range:
        width = one.width + other.width
        pairs = dict.fromkeys((a, b) for a in (one.low, one.high) for b in (other.low, other.high))
        made = [self._exact("mul", *pair, width) for pair in pairs]
        values = [value for value, _ in made]
        needs = (*one.needs, *other.needs, *(need for _, need in made if need))
        low, high = (self._end(word, values) for word in ("smin", "smax"))
        return self._fitting(Range(low, high, needs, width), bits)

    def _low_bits(self, mask: int | None) -> Range | None:
        """Return the range of numbers of which only some low bits are left."""
        if mask is None or mask < 0:
            return None
        return Range("0", str(mask), width=mask.bit_length() + 1)

    def _shifted(self, word: str, one: Range, places: int, bits: int) -> Range:
        if word == "shl":
            factor = str(1 << places)
            return self._product(one, Range(factor, factor, width=places + 2), bits)
        one = self._positive(one) if word == "lshr" else one
        low, high = (self._let(f"ashr i64 {end}, {places}") for end in (one.low, one.high))
        return replace(one, low=low, high=high)

    def _cast(self, word: str, name: str, before: int, bits: int) -> Range | None:
        found = self._range(name, before)
        if found is None or word == "sext":
            return found
        return self._fitting(found, bits) if word == "trunc" else self._positive(found)

    def _called(self, word: str, a: str, b: str, bits: int) -> Range | None:
        one, other = self._range(a, bits), self._range(b, bits)
        if one is None or other is None:
            return None
        if word == "usub.sat":
            # Of two numbers that are not negative it is their difference, or zero.
            one, other = self._positive(one), self._positive(other)
            found = self._ends("sub", one, other, _turned(other), bits)
            low, high = (self._end("smax", [end, "0"]) for end in (found.low, found.high))
            return Range(low, high, found.needs, found.width)
        low, high = self._end(word, [one.low, other.low]), self._end(word, [one.high, other.high])
        return Range(low, high, (*one.needs, *other.needs), max(one.width, other.width))

    def _end(self, word: str, values: Sequence[str]) -> str:
        """Return the least or the greatest of some numbers."""
        found, *others = dict.fromkeys(values)
        for other in others:
            function = self.library.intrinsic(f"llvm.{word}.i64", "i64", "i64", "i64")
            found = self._let(f"call i64 {function}(i64 {found}, i64 {other})")
        return found

    def _fitting(self, found: Range, bits: int) -> Range:
        """Return a range that has to be one of signed numbers of so many bits."""
        if bits == _WORD or found.width <= bits:
            return replace(found, width=min(found.width, _WORD))
        least, most = str(-(1 << bits - 1)), str((1 << bits - 1) - 1)
        tests = self._test("sge", found.low, least), self._test("sle", found.high, most)
        return replace(found.and_needs(*tests), width=bits)

    # Variables

    def _loaded(self, pointer: str, bits: int) -> Range | None:
        """Return the range of what is loaded."""
        row = _ROW.fullmatch(self._lets.get(pointer, ""))
        if row:
            return self._of_threads(row[1], row[2], row[3], row[4], bits)
        if pointer not in self._pointers:
            return None
        name, first = self._pointers[pointer]
        if name in self._lasting:
            return self._kept(name, first, bits)
        if name in self._escaped:
            return None
        size = bits // 8
        writes = [one for one in self._later.get(name, ()) if _overlap(one, first, size)]
        early = [one for one in self._first.get(name, ()) if _overlap(one, first, size)]
        found = [self._written(one, first, size) for one in (*writes, *early[-1:])]
        return self._hull([one for one in found if one is not None], len(found))

    def _hull(self, found: Sequence[Range], count: int) -> Range | None:
        if not found or len(found) < count:
            return None
        lows, highs = [one.low for one in found], [one.high for one in found]
        needs = tuple(need for one in found for need in one.needs)
        width = max(one.width for one in found)
        return Range(self._end("smin", lows), self._end("smax", highs), needs, width)

    def _written(self, write: _Write, first: int, size: int) -> Range | None:
        """Return the range of some bytes that a write leaves, if it writes all of them."""
        if write.value:
            alike = (write.first, write.size) == (first, size) and _SCALAR.fullmatch(write.kind)
            return self._range(write.value, 8 * size) if alike else None
        if not (write.first <= first and first + size <= write.first + write.size):
            return None
        if write.source is None:
            return Range("0", "0", width=1)
        name, place = write.source
        writes = self._first.get(name) or self._later.get(name)
        if not name or writes or name in self._escaped:
            return None
        return self._kept(name, place + first - write.first, 8 * size)

    def _kept(self, name: str, first: int, bits: int) -> Range:
        """Return the range of what memory has that stays as it is."""
        place = self._let(f"getelementptr i8, ptr {name}, i64 {first}")
        return self._constant(self._let(f"load i{bits}, ptr {place}, align 1"), bits)

    def _of_threads(self, row: str, table: str, number: str, at: str, bits: int) -> Range | None:
        """Return the range of what is in a table that has a row for each thread."""
        if (table, number) != self._rows[:2]:
            return None
        count, ends = self._rows[2], list[str]()
        for line in (count, self._let(f"add i64 {count}, 1")):
            place = self._let(f"getelementptr {row}, ptr {table}, i64 {line}, i64 {at}")
            ends.append(self._let(f"load i64, ptr {place}, align 8"))
        # They stand there as numbers without a sign, of which the least may be a great signed one.
        found = Range(ends[0], ends[1])
        if bits == _WORD:
            return found.and_needs(self._test("sle", *ends))
        return self._fitting(found, bits)


def _bits(kind: str) -> int:
    """Return how many bits a scalar has, or the only lane of a vector."""
    found = _SCALAR.fullmatch(kind)
    return int(found[1]) if found else 0


def _overlap(write: _Write, first: int, size: int) -> bool:
    return write.first < first + size and first < write.first + write.size


def _turned(found: Range) -> Range:
    """Return a range whose ends have changed places."""
    return replace(found, low=found.high, high=found.low)

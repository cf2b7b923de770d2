"""Ramps as LLVM IR: exact numbers in the first turn of a loop, or in a later one.

Numbers are i64, one for all channels or a vector of one for each. Those of 64 bits are numbers
modulo 2**64, taken as signed ones. That nothing leaves the range of its type on the way is noted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.walks import Ramp, Walk, What
from visim.engine.jit.writing.frame import UnitFrame
from visim.types import DataType, Q

_BITS = 64
WORD = "i64"


class RampWriter:
    """Writes ramps.

    Attributes:
        fits: vectors of tests, one for each channel: whether types hold its numbers.
        all_fit: such tests of numbers that all channels share.
    """

    def __init__(self, unit: UnitFrame, walk: Walk) -> None:
        self.unit = unit
        self.text = unit.text
        self.fits: list[str] = []
        self.all_fit: list[str] = []
        self._walk = walk
        self._lanes = unit.kernel.simd_size
        self.vector = f"<{self._lanes} x {WORD}>"
        self._values: dict[tuple[Ramp, str], str] = {}

    def spread(self, number: str) -> str:
        """Return a number for each channel."""
        return self.text.spread(WORD, self._lanes, number)

    def value_of_all(self, ramp: Ramp, last: str) -> str:
        """Return what each channel has in the first turn, or in turn `last` if there is a name."""
        found = self.number(ramp, last)
        return found if ramp.is_own else self.spread(found)

    def number(self, ramp: Ramp, last: str) -> str:
        """Return a number in the first turn, or in turn `last`; note whether its type holds it."""
        key = ramp, last
        if key not in self._values:
            self._values[key] = self._made(ramp, last)
        return self._values[key]

    def difference(self, one: str, other: str, kind: str = WORD) -> str:
        """Return the difference of two numbers, or of two vectors of them."""
        return self._sum("sub", kind, [one, other], Q)

    def every_fit(self) -> str:
        """Return the vector of all that is noted for each channel."""
        return reduce(self._both, self.fits)

    def well(self) -> str:
        """Return whether all that is noted holds."""
        tests = list(self.all_fit)
        if self.fits:
            bits = self.text.let(
                f"bitcast <{self._lanes} x i1> {self.every_fit()} to i{self._lanes}"
            )
            tests.append(self.text.let(f"icmp eq i{self._lanes} {bits}, -1"))
        return self.text.all_of(tests)

    def _both(self, one: str, other: str) -> str:
        return self.text.let(f"and <{self._lanes} x i1> {one}, {other}")

    def agree(self, copies: Iterable[tuple[Ramp, Ramp]], last: str) -> None:
        """Note whether places have what a turn makes of others, in front of the first turn, too.

        Then they have it in all turns up to turn `last`.
        """
        before = self.text.let(f"sub i64 {last}, 1")
        for place, made in copies:
            self.number(made, before)
            kind = self.vector if place.is_own else WORD
            number = self.value_of_all if place.is_own else self.number
            one, other = number(place, ""), number(made, "-1")
            self._note(kind, self.text.let(f"icmp eq {kind} {one}, {other}"))

    def _made(self, ramp: Ramp, last: str) -> str:
        if ramp.word == "constant":
            return str(ramp.number)
        if ramp.word == "place":
            return self._begin(ramp, last)
        kind = self.vector if ramp.is_own else WORD
        number = self.value_of_all if ramp.is_own else self.number
        args = [number(arg, last) for arg in ramp.args]
        match ramp.word:
            case "add" | "neg":
                operands = args if ramp.word == "add" else [self._zero(kind), *args]
                return self._sum("sub" if ramp.word == "neg" else "add", kind, operands, ramp.type)
            case "mul":
                return self._sum("mul", kind, args, ramp.type)
            case "shl":
                count = self._like(kind, ramp.number)
                made = self.text.let(f"shl {kind} {args[0]}, {count}")
                back = self.text.let(f"ashr {kind} {made}, {count}")
                self._note(kind, self.text.let(f"icmp eq {kind} {back}, {args[0]}"))
                return self._held(made, kind, ramp.type)
            case "low":
                most = self._like(kind, ramp.number)
                self._note(kind, self.text.let(f"icmp ule {kind} {args[0]}, {most}"))
                return args[0]
            case "min" | "max":
                if ramp.type.bits == _BITS and not ramp.type.is_signed:
                    for arg in args:
                        self._note(
                            kind, self.text.let(f"icmp sge {kind} {arg}, {self._zero(kind)}")
                        )
                return self.combined(f"s{ramp.word}", args[0], args[1], kind)
            case _:
                source = ramp.args[0].type
                if _holds(ramp.type, source):
                    return args[0]
                return self._held(args[0], kind, ramp.type)

    def _begin(self, ramp: Ramp, last: str) -> str:
        """Return what a variable has when a turn begins."""
        text, kind, place = self.text, ramp.type, ramp.place
        if place is None or ramp.what is None:
            raise TypeError("a ramp that begins nowhere")
        own = isinstance(ramp.what, Row)
        if own:
            found, vector = self._own(ramp), self.vector
        else:
            place = replace(place, lanes=1, width=1, row_stride=0, stride=0)
            found, vector = self.unit.storage.read(place), WORD
            found = text.let(f"extractelement <1 x i{kind.bits}> {found}, i64 0")
            found = self._extended(found, kind, f"i{kind.bits}", vector)
        more = self._more(ramp.what, last) if last else None
        if more is None:
            return found
        return self._sum("add", vector, [found, self.spread(more) if own else more], kind)

    def _more(self, what: What, last: str) -> str | None:
        """Return how much more there is in turn `last` than in the first one, if that changes."""
        step, others = str(self._walk.steps[what]), self._walk.strides.get(what, ())
        if not others:
            return None if step == "0" else self.text.let(f"mul {WORD} {last}, {step}")
        for sign, ramp in others:
            word = "add" if sign > 0 else "sub"
            step = self._sum(word, WORD, [step, self.number(ramp, "")], Q)
        return self._sum("mul", WORD, [last, step], Q)

    def _own(self, ramp: Ramp) -> str:
        """Return what each channel has of a row when a turn begins."""
        if ramp.place is None:
            raise TypeError("a ramp that begins nowhere")
        found = self.unit.storage.read(ramp.place)
        narrow = f"<{self._lanes} x i{ramp.type.bits}>"
        return self._extended(found, ramp.type, narrow, self.vector)

    def _extended(self, value: str, kind: DataType, before: str, after: str) -> str:
        if kind.bits == _BITS:
            return value
        word = "sext" if kind.is_signed else "zext"
        return self.text.let(f"{word} {before} {value} to {after}")

    def _sum(self, word: str, kind: str, args: list[str], held: DataType) -> str:
        """Return a sum, a difference or a product; note whether a type holds it."""
        if held.bits < _BITS:  # the product of two numbers of 32 bits is one of 64
            return self._held(self.text.let(f"{word} {kind} {args[0]}, {args[1]}"), kind, held)
        bits = f"<{self._lanes} x i1>" if kind == self.vector else "i1"
        pair, suffix = f"{{ {kind}, {bits} }}", self._suffix(kind)
        name = f"llvm.s{word}.with.overflow.{suffix}"
        function = self.unit.module.library.intrinsic(name, pair, kind, kind)
        both = self.text.let(f"call {pair} {function}({kind} {args[0]}, {kind} {args[1]})")
        over = self.text.let(f"extractvalue {pair} {both}, 1")
        self._note(kind, self.text.let(f"icmp eq {bits} {over}, {self._zero(kind)}"))
        return self.text.let(f"extractvalue {pair} {both}, 0")

    def _held(self, value: str, kind: str, held: DataType) -> str:
        """Note whether a type holds a number, and return the number."""
        if held.bits == _BITS:
            return value
        if held.bits > _BITS:  # one of 64 bits without a sign is not what it is as a signed one
            self._note(kind, self.text.let(f"icmp sge {kind} {value}, {self._zero(kind)}"))
            return value
        low = -(1 << held.bits - 1) if held.is_signed else 0
        high = (1 << held.bits - held.is_signed) - 1
        above = self.text.let(f"icmp sge {kind} {value}, {self._like(kind, low)}")
        below = self.text.let(f"icmp sle {kind} {value}, {self._like(kind, high)}")
        self._note(kind, above)
        self._note(kind, below)
        return value

    def _note(self, kind: str, test: str) -> None:
        (self.fits if kind == self.vector else self.all_fit).append(test)

    def _like(self, kind: str, number: int) -> str:
        return f"splat (i64 {number})" if kind == self.vector else str(number)

    def _zero(self, kind: str) -> str:
        return "zeroinitializer" if kind == self.vector else "0"

    def _suffix(self, kind: str) -> str:
        return f"v{self._lanes}i64" if kind == self.vector else WORD

    def combined(self, word: str, one: str, other: str, kind: str = "") -> str:
        """Return what one of LLVM's functions of two numbers gives."""
        kind = kind or self.vector
        name = f"llvm.{word}.{self._suffix(kind)}"
        function = self.unit.module.library.intrinsic(name, kind, kind, kind)
        return self.text.let(f"call {kind} {function}({kind} {one}, {kind} {other})")


def _holds(kind: DataType, other: DataType) -> bool:
    """Whether a type holds all numbers of another one, as numbers modulo 2**64."""
    if kind.bits == _BITS:
        return True
    if kind.bits > _BITS:
        return kind.is_signed and (other.is_signed or other.bits < _BITS)
    if kind.is_signed == other.is_signed:
        return kind.bits >= other.bits
    return kind.is_signed and kind.bits > other.bits

"""Spans of counters: how many turns of a channel are in range of all arrays that they reach.

A loop over a row of a matrix loads `value[i]` and `column[i]`: two arrays, each with its own end,
but one counter. A number v is in range of an array if `v + distance` is not negative and below the
array's limit, so v has to be in one span of numbers, and all that the loads need is the part that
their spans have in common, which is found once, in front of the loop.

Sums are saturated where a span would go beyond 64 bits. Then no number is in it: an address that
only wraps around to an array is taken to be off, which those who check look into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from visim.engine.jit.analysis.counters import Multiple
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.ir.text import Text, opaque

_Combined = Callable[[str, str, str], str]


_BITS = 64


@dataclass
class _Span:
    """What is added to a number and the limits below which the sums have to be, by name."""

    name: str
    ends: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class TurnWriter:
    """Writes how many turns of a channel are in range, of loads at multiples of counters.

    A counter that begins in the span of its array's numbers, and grows by one in each turn, leaves
    it when as many turns have been made as there are numbers behind it; so nothing is checked in
    turns.
    """

    def __init__(self, text: Text, combined: _Combined) -> None:
        self.text = text
        self._combined = combined
        self._spans: dict[Multiple, _Span] = {}

    def add(self, multiple: Multiple, distance: str, limit: str) -> None:
        """Note a load: what is added to a multiple, and the limit that the sum is below."""
        if multiple not in self._spans:
            self._spans[multiple] = _Span(f"%{self.text.fresh('turns')}")
        self._spans[multiple].ends.append((distance, limit))

    def write(self) -> None:
        """Write, in front of the loop, which counters are in range."""
        text = self.text
        for multiple, span in self._spans.items():
            first, end = _ends(span, self._combined)
            low, high = (self._least(number, multiple.shift) for number in (first, end))
            if multiple.bits < _BITS:
                most = 1 << multiple.bits - multiple.signed
                high = self._combined("smin", high, str(most))
            text.do(f"{span.name}.low = {opaque(low)}")
            text.do(f"{span.name}.room = {opaque(_room(text, low, high))}")

    def _least(self, number: str, shift: int) -> str:
        """Return the least number that, shifted to the left, is not below this one."""
        below = self.text.let(f"ashr i64 {self._combined('ssub.sat', '0', number)}, {shift}")
        return self.text.let(f"sub i64 0, {below}")

    def turns(self, most: str, row: Callable[[Row], str], steps: Mapping[Row, int]) -> str:
        """Return how many turns of a channel are in range, at most `most`.

        `row` returns its element of a row, to which each turn adds what `steps` says.
        """
        text = self.text
        for multiple, span in self._spans.items():
            bits, step = multiple.bits, steps[multiple.counter]
            number = text.let(f"extractelement <1 x i{bits}> {row(multiple.counter)}, i64 0")
            if bits < _BITS:
                word = "sext" if multiple.signed else "zext"
                number = text.let(f"{word} i{bits} {number} to i64")
            behind = text.let(f"sub i64 {number}, {span.name}.low")
            left = self._combined("usub.sat", f"{span.name}.room", behind)
            if step > 1:
                whole = text.let(f"udiv i64 {left}, {step}")
                rest = text.let(f"icmp ne i64 {text.let(f'urem i64 {left}, {step}')}, 0")
                left = text.let(f"add i64 {whole}, {text.let(f'zext i1 {rest} to i64')}")
            most = self._combined("umin", most, left)
        return most


def _ends(span: _Span, combined: _Combined) -> tuple[str, str]:
    """Return the first number in range of all arrays of a span, and the one behind the last."""
    firsts = [combined("ssub.sat", "0", distance) for distance, _ in span.ends]
    ends = [combined("ssub.sat", limit, distance) for distance, limit in span.ends]
    first, end = firsts[0], ends[0]
    for other in firsts[1:]:
        first = combined("smax", first, other)
    for other in ends[1:]:
        end = combined("smin", end, other)
    return first, end


def _room(text: Text, first: str, end: str) -> str:
    """Return how many numbers there are from the first one to the end."""
    some = text.let(f"icmp slt i64 {first}, {end}")
    return text.let(f"select i1 {some}, i64 {text.let(f'sub i64 {end}, {first}')}, i64 0")

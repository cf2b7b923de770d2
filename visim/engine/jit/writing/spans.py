"""One check for loads of a block whose addresses are one number, plus what all channels share.

A loop over a row of a matrix loads `value[i]` and `column[i]`: two arrays, each with its own end,
but one index. A number v is in range of an array if `v + distance` is not negative and below the
array's limit, so v has to be in one span of numbers, and all that the loads of a block need is the
part that their spans have in common, which is found once, in front of the loop.

Sums are saturated where a span would go beyond 64 bits. Then no number is in it: an address that
only wraps around to an array is taken to be off, which those who check look into.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from visim.engine.jit.ir.text import Text, opaque


@dataclass
class _Span:
    """What is added to a number and the limits below which the sums have to be, by name."""

    name: str
    ends: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class SpanWriter:
    """Writes the checks of one loop; `combined` gives what one of LLVM's functions returns."""

    def __init__(self, text: Text, combined: Callable[[str, str, str], str]) -> None:
        self.text = text
        self._combined = combined
        self._open: dict[str, _Span] = {}
        self._all: list[_Span] = []

    def begin(self) -> None:
        """Begin a block: what has been checked in others may not have been on the way here."""
        self._open.clear()

    def test(self, number: str, distance: str, limit: str) -> str | None:
        """Return the test whether a number is in range; None if it is part of one before."""
        text, span = self.text, self._open.get(number)
        if span is not None:
            span.ends.append((distance, limit))
            return None
        span = self._open[number] = _Span(f"%{text.fresh('span')}", [(distance, limit)])
        self._all.append(span)
        behind = text.let(f"add i64 {number}, {span.name}.back")
        return text.let(f"icmp ult i64 {behind}, {span.name}.room")

    def write(self) -> None:
        """Write, in front of the loop, which numbers are in range.

        LLVM would find out in each turn what is left of a span, so it is not told.
        """
        text = self.text
        for span in self._all:
            firsts = [self._combined("ssub.sat", "0", distance) for distance, _ in span.ends]
            ends = [self._combined("ssub.sat", limit, distance) for distance, limit in span.ends]
            first, end = firsts[0], ends[0]
            for other in firsts[1:]:
                first = self._combined("smax", first, other)
            for other in ends[1:]:
                end = self._combined("smin", end, other)
            some = text.let(f"icmp slt i64 {first}, {end}")
            room = text.let(f"sub i64 {end}, {first}")
            room = text.let(f"select i1 {some}, i64 {room}, i64 0")
            back = text.let(f"sub i64 0, {first}")
            text.do(f"{span.name}.room = {opaque(room)}")
            text.do(f"{span.name}.back = {opaque(back)}")

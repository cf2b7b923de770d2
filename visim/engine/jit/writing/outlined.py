"""Loops over strips as functions, so that runs that do the same are compiled once.

What differs between such runs is where their operands are. So a function gets a frame in memory,
where it finds the rows that it reads and leaves those that it writes, and what all strips have
alike as parameters: elements of variables, the bits of predicates, the active channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Bits
from visim.engine.jit.analysis.runs import Run, loads_block
from visim.engine.jit.ir.pieces import FRAME, Given
from visim.engine.jit.ir.places import is_repeated
from visim.engine.jit.ir.storage import vector_bits
from visim.engine.jit.ir.text import Text, scalar_type
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.cuts import Cutter
from visim.engine.jit.writing.steps import StepWriter
from visim.engine.jit.writing.strips import Strip, StripWriter
from visim.sem.effects import Place
from visim.sem.expr import Expr
from visim.sem.uops import UOPS

_LINE = 64


def strip_writer(writer: StepWriter, run: Run, cut: Strip, local: set[Row]) -> StripWriter:
    """Return what writes a run's strips: a function, unless they use variables where these are."""
    in_memory = cut.in_place or any(loads_block(step) for step in run.steps)
    in_memory |= not writer.runs(Pass.OUTLINE)
    return (StripWriter if in_memory else OutlinedWriter)(writer, run, cut, local)


@dataclass
class _Cutter(Cutter):
    """Cuts expressions where what is the same for all channels is a parameter."""

    shared: Callable[[Expr], str] = str

    def _new(self, expr: Expr) -> Expr:
        if expr.uop.name == "broadcast" and expr.args[0].uop.name != "constant":
            return self._spread(expr.args[0])
        return super()._new(expr)

    def _read(self, place: Place) -> Expr:
        if not is_repeated(place):
            return super()._read(place)
        one = replace(place, lanes=1, width=1, row_stride=0, stride=0)
        return self._spread(Expr(UOPS["read"], place.type, 1, (), one))

    def _spread(self, one: Expr) -> Expr:
        text, lanes = self.values.text, self.channels.strip
        return self._known(one.type, text.spread(scalar_type(one.type), lanes, self.shared(one)))


@dataclass
class OutlinedWriter(StripWriter):
    """Writes one run as the call of a function that has its loop.

    `given` has the parameters of the function, `used` is how many bytes of the frame it takes;
    `passed_bits` are predicates that pass through the frame, with where they are there.
    """

    given: dict[object, Given] = field(default_factory=dict[object, Given])
    used: int = 0
    passed_bits: list[tuple[Bits, str]] = field(default_factory=list[tuple[Bits, str]])

    def __post_init__(self) -> None:
        super().__post_init__()
        self.outside = self.text
        self._write_to(Text(tests_bits=self.outside.tests_bits))

    def _loop(self, body: list[str]) -> None:
        super()._loop(body)
        unit = self.writer.unit
        frame = unit.frame(self.used)
        given = list(self.given.values())
        self.outside.do(unit.module.pieces.call(frame, given, self.text.lines))

    # Variables

    def _enter(self) -> None:
        super()._enter()
        for _, pointer in self.passed_bits:
            self.outside.do(f"store i64 0, ptr {pointer}")

    def _leave(self) -> None:
        super()._leave()
        for (name, offset), pointer in self.passed_bits:
            found = self.outside.let(f"load i64, ptr {pointer}")
            self.storage.write_bits(name, offset, self.run.lanes, found, None)

    def _buffer(self, size: int) -> tuple[str, str]:
        place, self.used = self.used, self.used + -(-size // _LINE) * _LINE
        frame = self.writer.unit.frame(self.used)
        return self.text.at(FRAME, place), self.outside.at(frame, place)

    def _word(self, name: str) -> str:
        return self._given(name, "i64", lambda: self.storage.load_bits(name))

    def _active(self) -> str:
        return self._given("", "i32", lambda: self.writer.active)

    def _given(self, key: object, kind: str, find: Callable[[], str]) -> str:
        """Return the function's name of a scalar that is found in front of the call."""
        if key not in self.given:
            self.given[key] = Given(f"%given.{len(self.given)}", kind, find())
        return self.given[key].name

    # Instructions

    def _cutter(self) -> Cutter:
        outer = self.writer.new_values()
        inner = replace(outer, into=self.text)

        def shared(one: Expr) -> str:
            key = one.attribute if one.uop.name == "read" else one
            return self._given(key, scalar_type(one.type), lambda: outer.scalar(one))

        return _Cutter(self, inner, shared=shared)

    def _put_bits(self, bits: Bits) -> None:
        """Put the strip's part of a predicate to those of others, in the frame."""
        text, (inside, outside) = self.text, self._buffer(8)
        self.passed_bits.append((bits, outside))
        moved = text.let(f"shl i64 {vector_bits(text, self.bits[bits], self.strip)}, {self.first}")
        others = text.let(f"load i64, ptr {inside}")
        text.do(f"store i64 {text.let(f'or i64 {others}, {moved}')}, ptr {inside}")

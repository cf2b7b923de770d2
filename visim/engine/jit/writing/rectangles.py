"""Messages that move 2D blocks: row by row where a block is wholly inside of its surface.

At the surface's edges, and where the message has not been before, `visim_rectangle` moves what is
inside between memory and the exchange area, which has the block's rows then. What is not all in
one allocation is called out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visim.engine.jit.analysis.callouts import CallOut, parts_of
from visim.engine.jit.ir.arranging import Arrangement, Arranger, arrangement_of
from visim.engine.jit.ir.text import scalar_type
from visim.engine.jit.layout import EXCHANGE_DATA, Context
from visim.engine.jit.writing.calling import CallOutWriter
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.values import Values
from visim.isa.surfaces import loaded as loaded_of
from visim.sem.effects import Load, Rectangle, Store
from visim.sem.expr import Expr, concat
from visim.types import DataType

_PITCH = 3
"""The number of a rectangle's pitch."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A block whose place has been looked at.

    Attributes:
        site: its call-out.
        number: the number of that.
        given: the values that the call-out gets.
        numbers: where the block is, as i64: `Rectangle.numbers`.
        first: the address of its first element.
        inside: whether it is wholly inside of the surface, and known to be in memory.
        rows: what stands where.
        kind: the type of its elements.
    """

    site: CallOut
    number: int
    given: list[str]
    numbers: list[str]
    first: str
    inside: str
    rows: Arrangement
    kind: DataType

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return self.rows.columns * self.kind.bytes

    @property
    def row(self) -> str:
        """The LLVM type of a row."""
        return f"<{self.rows.columns} x {scalar_type(self.kind)}>"


class RectangleWriter:
    """Writes the 2D blocks that an instruction moves."""

    def __init__(
        self, unit: FunctionFrame, values: Values, bounds: BoundsWriter, callouts: CallOutWriter
    ) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.bounds = bounds
        self.callouts = callouts
        self.arranger = Arranger(unit.text)

    def load(self, effect: Load, rectangle: Rectangle, loaded: Expr) -> None:
        """Load a block, which an expression of the instruction reads."""
        text, scalar = self.text, scalar_type(effect.type)
        vector = f"<{len(rectangle.cells)} x {scalar}>"
        answer = _answered(effect, loaded)
        block = self._look(effect, rectangle, effect.type, (), (answer,))
        skipped, end = self._enter(rectangle)
        direct, aside, host, moves, join = text.labels("direct", "aside", "host", "moves", "join")
        text.likely(block.inside, direct, aside)
        text.label(aside)
        area = self._area(block)
        text.likely(self._move_inside(block, stores=False), moves, host)
        text.label(host)
        (answered,) = self._ask(block)
        asked = text.block
        text.jump(join)
        text.label(direct)
        first = text.let(f"inttoptr i64 {block.first} to ptr")
        text.jump(moves)
        text.label(moves)
        places = self._places(block, (direct, first), (aside, area))
        rows = [text.let(f"load {block.row}, ptr {place}, align 1") for place in places]
        found = self.arranger.gathered(block.rows, rows, scalar)
        text.jump(join)
        text.label(join)
        found = text.let(f"phi {vector} [ {found}, %{moves} ], [ {answered}, %{asked} ]")
        if skipped:
            text.jump(end)
            text.label(end)
            found = text.let(f"phi {vector} [ {found}, %{join} ], [ poison, %{skipped} ]")
        self.values.loaded[id(effect)] = [found]

    def store(self, effect: Store, rectangle: Rectangle) -> None:
        """Store a block whose elements are in order."""
        text, (value,) = self.text, effect.values
        block = self._look(effect, rectangle, value.type, effect.values, ())
        given = self.values.value(value)
        skipped, end = self._enter(rectangle)
        direct, aside, host, moves, left = text.labels("direct", "aside", "host", "moves", "left")
        join = end if skipped else text.fresh("join")
        text.likely(block.inside, direct, aside)
        text.label(aside)
        area = self._area(block)
        text.jump(moves)
        text.label(direct)
        first = text.let(f"inttoptr i64 {block.first} to ptr")
        text.jump(moves)
        text.label(moves)
        places = self._places(block, (direct, first), (aside, area))
        rows = self.arranger.spread(block.rows, given, scalar_type(value.type))
        for row, place in zip(rows, places, strict=True):
            text.do(f"store {block.row} {row}, ptr {place}, align 1")
        text.likely(block.inside, join, left)
        text.label(left)
        text.likely(self._move_inside(block, stores=True), join, host)
        text.label(host)
        self._ask(block)
        text.jump(join)
        text.label(join)

    def _look(
        self,
        effect: Load | Store,
        rectangle: Rectangle,
        kind: DataType,
        stored: Sequence[Expr],
        loaded: Sequence[Expr],
    ) -> _Block:
        """Look where a block is; this branches nowhere."""
        text, unit = self.text, self.unit
        enabled = () if rectangle.enabled is None else (rectangle.enabled,)
        inputs = (*rectangle.numbers, *enabled, *stored)
        site = CallOut(unit.unit.number, unit.pc, effect, inputs, tuple(loaded))
        rows = arrangement_of(rectangle.cells)
        size = max(site.offsets()[-1], EXCHANGE_DATA + rows.rows * rows.columns * kind.bytes)
        number = unit.module.sites.add_callout(site, size)
        numbers = [self._wide(expr) for expr in rectangle.numbers]
        base, width, height, pitch, x, y = numbers
        before = text.let(f"mul i64 {x}, {kind.bytes}")
        last_byte = text.let(f"add i64 {before}, {rows.columns * kind.bytes - 1}")
        last_row = text.let(f"add i64 {y}, {rows.rows - 1}")
        tests = [
            text.let(f"icmp sge i64 {x}, 0"),
            text.let(f"icmp sge i64 {y}, 0"),
            text.let(f"icmp sle i64 {last_byte}, {width}"),
            text.let(f"icmp sle i64 {last_row}, {height}"),
        ]
        above = text.let(f"mul i64 {y}, {pitch}")
        line = text.let(f"add i64 {base}, {above}")
        first = text.let(f"add i64 {line}, {before}")
        if unit.module.version.checked:
            down = text.let(f"mul i64 {pitch}, {rows.rows - 1}")
            span = text.let(f"add i64 {down}, {rows.columns * kind.bytes - 1}")
            bounds = self.bounds.of(effect, number, 1)
            begin = text.let(f"sub i64 {first}, {bounds.start}")
            end = text.let(f"add i64 {begin}, {span}")
            tests += [text.let(f"icmp ult i64 {at}, {bounds.limit}") for at in (begin, end)]
        given = [self.values.value(expr) for expr in inputs]
        inside = text.all_of(tests)
        return _Block(site, number, given, numbers, first, inside, rows, kind)

    def _wide(self, expr: Expr) -> str:
        """Return a number of 32 or 64 bits as i64."""
        name, bits = self.values.scalar(expr), expr.type.bits
        if bits == 64:
            return name
        return self.text.let(f"{'sext' if expr.type.is_signed else 'zext'} i32 {name} to i64")

    def _enter(self, rectangle: Rectangle) -> tuple[str, str]:
        """Begin code for a message that takes place.

        Return the block that goes around it, if there is one, and the label to which.
        """
        text, end = self.text, self.text.fresh("end")
        known = self.values.mask(rectangle.enabled)
        if known is None:
            return "", end
        bit = text.let(f"extractelement <1 x i1> {known}, i64 0")
        begin, run = text.block, text.fresh("run")
        text.branch(bit, run, end)
        text.label(run)
        return begin, end

    def _area(self, block: _Block) -> str:
        """Leave a block's numbers in the exchange area; return where its rows are there."""
        area = self.unit.context_pointer(Context.EXCHANGE)
        for number, name in enumerate(block.numbers):
            self.text.do(f"store i64 {name}, ptr {self.text.at(area, 8 * number)}, align 8")
        return self.text.at(area, EXCHANGE_DATA)

    def _move_inside(self, block: _Block, *, stores: bool) -> str:
        """Move what is inside to or from the rows in the exchange area; return whether it could."""
        text, rows, checked = self.text, block.rows, self.unit.module.version.checked
        area = self.unit.context_pointer(Context.EXCHANGE)
        given = ", ".join(
            (
                f"ptr %ctx, ptr {self.bounds.cache(block.number)}",
                f"ptr {area}, ptr {text.at(area, EXCHANGE_DATA)}",
                f"i64 {block.row_bytes}, i64 {rows.rows}, i64 {block.kind.bytes}",
                f"i1 {str(stores).lower()}, i1 {str(checked).lower()}",
            )
        )
        return text.let(f"call i1 @visim_rectangle({given})")

    def _ask(self, block: _Block) -> list[str]:
        """Leave a block to the host, which answers what is loaded."""
        return self.callouts.ask(block.site, block.number, block.given, self.values.control())

    def _places(self, block: _Block, direct: tuple[str, str], aside: tuple[str, str]) -> list[str]:
        """Return where the rows are: in memory or in the exchange area.

        Either comes as the label of the code before and the pointer to the first row.
        """
        text, (here, first), (there, area) = self.text, direct, aside
        start = text.let(f"phi ptr [ {first}, %{here} ], [ {area}, %{there} ]")
        pitches = f"[ {block.numbers[_PITCH]}, %{here} ], [ {block.row_bytes}, %{there} ]"
        pitch, places = text.let(f"phi i64 {pitches}"), [start]
        for _ in range(1, block.rows.rows):
            places.append(text.let(f"getelementptr i8, ptr {places[-1]}, i64 {pitch}"))
        return places


def _answered(effect: Load, loaded: Expr) -> Expr:
    """Return what the host answers for a load: what it, or all of its parts, have loaded."""
    parts = [part for part in parts_of(effect) if isinstance(part, Load) and part is not effect]
    each = [loaded_of(part, effect.type, part.addresses.lanes) for part in parts]
    return concat(tuple(each)) if each else loaded

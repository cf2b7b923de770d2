"""Divisions of 64 bits, which Intel's compiler does in a loop over the bits, in one step.

When bit i of the number n is next, the rest is the remainder of the bits above it,
`(n >> i >> 1) % d`, which is below 2**63, so that doubling it loses nothing; where the divisor d is
0, it is these bits themselves, and d fits each time. So turns can be left out: where the rest is
that remainder when the program runs, it is set to what it is some turns later, with i to go with
it, and the quotient gets the bits that these turns find. The last turn is run as it stands, and
leaves what the loop leaves in all variables that anybody looks at. A turn has some instructions
more if d fits for any channel, so these are counted once for each bit that some quotient gets. The
turn of a thread ends at the instruction where it would have ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from visim.engine.jit.analysis.bitwise import HALF, TOP, DivisionLoop, Part, Row, Rows
from visim.engine.jit.ir.text import low_bits, signed, splat
from visim.engine.jit.writing.steps import StepWriter
from visim.sem.effects import Place
from visim.types import UD, UQ

_CHANNELS = 32


@dataclass
class BitwiseWriter:
    """Writes what leaves turns of a loop out, where a turn starts."""

    writer: StepWriter
    found: DivisionLoop

    def write(self) -> None:
        """Go on some turns later, where the loop divides."""
        text, found = self.writer.text, self.found
        now = text.let(f"zext i32 {self._load(found.bit)} to i64")
        turns = self._turns(now)
        some = text.let(f"icmp ne i64 {turns}, 0")
        divide, on = text.fresh("divide"), text.fresh("on")
        text.branch(some, divide, on)
        text.label(divide)
        verb = "bits" if found.finds_bits else "rests"
        buffers = [self.writer.unit.buffer(8 * _CHANNELS) for _ in range(5)]
        for part in found.parts:
            for buffer, rows in zip(buffers, _given(part), strict=False):
                self._store(buffer, part, self._whole(part, rows))
        pointers = ", ".join(f"ptr {buffer}" for buffer in buffers)
        lanes = sum(part.lanes for part in found.parts)
        active = text.let(f"and i32 {self.writer.active}, {signed(low_bits(lanes), 32)}")
        library = self.writer.unit.module.library
        library.intrinsic("llvm.cttz.i32", "i32", "i32", "i1")
        library.functions.setdefault(f"divide.{verb}", _divide(verb))
        done = text.let(
            f"call {{ i1, i64 }} @divide.{verb}({pointers}, i32 {active}, i64 {now}, i64 {turns})"
        )
        later = text.fresh("later")
        text.branch(text.let(f"extractvalue {{ i1, i64 }} {done}, 0"), later, on)
        text.label(later)
        for part in found.parts:
            self._write(part, buffers[0], buffers[4])
        bits = text.let(f"extractvalue {{ i1, i64 }} {done}, 1")
        self._go_on(now, turns, bits)
        text.jump(on)
        text.label(on)

    def _load(self, place: Place) -> str:
        pointer = self.writer.unit.storage.pointer(place.variable, place.offset)
        return self.writer.text.let(f"load i32, ptr {pointer}, align 1")

    def _turns(self, now: str) -> str:
        """Return how many turns can be left out: not the last, nor one that ends the thread's."""
        text, found = self.writer.text, self.found
        least = self.writer.unit.module.library.intrinsic("llvm.umin.i64", "i64", "i64", "i64")
        longest = max(cost.turn + cost.more for cost in found.costs)
        most = text.let(f"udiv i64 {self.writer.unit.room()}, {longest}")
        turns = text.let(f"call i64 {least}(i64 {now}, i64 {most})")
        fits = text.let(f"icmp ule i64 {now}, {TOP}")
        if found.one is not None:
            one = text.let(f"icmp eq i32 {self._load(found.one)}, 1")
            fits = text.let(f"and i1 {fits}, {one}")
        return text.let(f"select i1 {fits}, i64 {turns}, i64 0")

    # Numbers

    def _whole(self, part: Part, rows: Rows) -> str:
        """Return numbers of 64 bits whose halves are in two rows."""
        text, wide = self.writer.text, f"<{part.lanes} x i64>"
        whole = self._joined(part, rows)
        if not rows.magnitude:
            return whole
        name = f"llvm.abs.v{part.lanes}i64"
        function = self.writer.unit.module.library.intrinsic(name, wide, wide, "i1")
        return text.let(f"call {wide} {function}({wide} {whole}, i1 false)")

    def _joined(self, part: Part, rows: Rows) -> str:
        """Return what two rows make together, with its sign."""
        place = _adjacent(rows)
        if place is not None:
            return self.writer.unit.storage.read(place)
        text, wide = self.writer.text, f"<{part.lanes} x i64>"
        low, high = (
            text.let(f"zext <{part.lanes} x i32> {self._half(part, row)} to {wide}")
            for row in (rows.low, rows.high)
        )
        moved = text.let(f"shl {wide} {high}, {splat('i64', part.lanes, HALF)}")
        return text.let(f"or {wide} {low}, {moved}")

    def _half(self, part: Part, row: Row) -> str:
        if row.place is None:
            return splat("i32", part.lanes, signed(row.number, 32))
        return self.writer.unit.storage.read(row.place)

    def _store(self, buffer: str, part: Part, vector: str) -> None:
        pointer = self.writer.text.at(buffer, 8 * part.first)
        self.writer.text.do(f"store <{part.lanes} x i64> {vector}, ptr {pointer}, align 8")

    # What is found

    def _write(self, part: Part, rests: str, bits: str) -> None:
        """Set the rests and quotients of channels to what they are later."""
        text, wide = self.writer.text, f"<{part.lanes} x i64>"
        rest = text.let(f"load {wide}, ptr {text.at(rests, 8 * part.first)}, align 8")
        self._set(part, part.rest, rest)
        if part.quotient is not None:
            more = text.let(f"load {wide}, ptr {text.at(bits, 8 * part.first)}, align 8")
            before = self._whole(part, part.quotient)
            self._set(part, part.quotient, text.let(f"or {wide} {before}, {more}"))

    def _set(self, part: Part, rows: Rows, value: str) -> None:
        text, wide, lanes = self.writer.text, f"<{part.lanes} x i64>", part.lanes
        mask = text.shuffle(
            "i1", _CHANNELS, self.writer.channels, range(part.first, part.first + lanes)
        )
        place = _adjacent(rows)
        if place is not None:
            self.writer.unit.storage.write(place, value, mask)
            return
        moved = text.let(f"lshr {wide} {value}, {splat('i64', lanes, HALF)}")
        for row, half in ((rows.low, value), (rows.high, moved)):
            if row.place is not None:
                word = text.let(f"trunc {wide} {half} to <{lanes} x i32>")
                self.writer.unit.storage.write(row.place, word, mask)

    def _go_on(self, now: str, turns: str, bits: str) -> None:
        """Set the next bit, and the clock to what it is then; `bits` are set in some quotient."""
        text, unit, found = self.writer.text, self.writer.unit, self.found
        end = text.let(f"sub i64 {now}, {turns}")
        place = unit.storage.pointer(found.bit.variable, found.bit.offset)
        text.do(f"store i32 {text.let(f'trunc i64 {end} to i32')}, ptr {place}, align 1")
        total = text.let(f"load i64, ptr {unit.clock}")
        for passed in self._passed(now, end, turns, bits):
            total = text.let(f"add i64 {total}, {passed}")
        text.do(f"store i64 {total}, ptr {unit.clock}")

    def _passed(self, now: str, end: str, turns: str, bits: str) -> Iterator[str]:
        """Yield numbers of instructions, whose sum are those that are left out."""
        text, library, costs = self.writer.text, self.writer.unit.module.library, self.found.costs
        less = library.intrinsic("llvm.usub.sat.i64", "i64", "i64", "i64")
        count = library.intrinsic("llvm.ctpop.i64", "i64", "i64")
        above, left = (text.let(f"call i64 {less}(i64 {b}, i64 {HALF - 1})") for b in (now, end))
        high = text.let(f"sub i64 {above}, {left}")
        low = text.let(f"sub i64 {turns}, {high}")
        halves = (
            text.let(f"and i64 {bits}, {low_bits(HALF)}"),
            text.let(f"lshr i64 {bits}, {HALF}"),
        )
        for cost, passed, half in zip(costs, (low, high), halves, strict=True):
            yield text.let(f"mul i64 {passed}, {cost.turn}")
            if cost.more:
                fitting = text.let(f"call i64 {count}(i64 {half})")
                yield text.let(f"mul i64 {fitting}, {cost.more}")


def _given(part: Part) -> tuple[Rows, ...]:
    """Return what a division is made of, in the order of the function's buffers."""
    return part.rest, part.number, part.compared, part.divisor


def _adjacent(rows: Rows) -> Place | None:
    """Return the place of numbers whose halves stand beside each other, as in a row of 64 bits."""
    low, high = rows.low.place, rows.high.place
    if low is None or low.stride != UQ.bytes or high != replace(low, offset=low.offset + UD.bytes):
        return None
    return replace(low, type=UQ)


_DIVIDE = """\
define internal { i1, i64 } @divide.$VERB$(ptr %rests, ptr %numbers, ptr %compared, ptr %divisors, \
ptr %bits, i32 %active, i64 %bit, i64 %turns) noinline nounwind {
entry:
  %end = sub i64 %bit, %turns
  %starts = icmp eq i64 %bit, $TOP$
  %above = shl i64 1, %turns
  %new = sub i64 %above, 1
  %nobody = icmp eq i32 %active, 0
  br i1 %nobody, label %all, label %lane
lane:
  %left = phi i32 [ %active, %entry ], [ %others, %next ]
  %some = phi i64 [ 0, %entry ], [ %more, %next ]
  %first = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %at = zext i32 %first to i64
  %rest.at = getelementptr i64, ptr %rests, i64 %at
  %number.at = getelementptr i64, ptr %numbers, i64 %at
  %compared.at = getelementptr i64, ptr %compared, i64 %at
  %divisor.at = getelementptr i64, ptr %divisors, i64 %at
  %bits.at = getelementptr i64, ptr %bits, i64 %at
  %n = load i64, ptr %number.at
  %c = load i64, ptr %compared.at
  %d = load i64, ptr %divisor.at
  %agree = icmp eq i64 %c, %d
  br i1 %agree, label %divide, label %other
divide:
  %none = icmp eq i64 %d, 0
  %by = select i1 %none, i64 1, i64 %d
  br i1 %starts, label %compare, label %begun
begun:
  %n.now = lshr i64 %n, %bit
  %above.now = lshr i64 %n.now, 1
  %divided.now = urem i64 %above.now, %by
  %all.now = select i1 %none, i64 %above.now, i64 %divided.now
  br label %compare
compare:
  %now = phi i64 [ 0, %divide ], [ %all.now, %begun ]
  %before = load i64, ptr %rest.at
  %same = icmp eq i64 %before, %now
  br i1 %same, label %next, label %other
next:
  %n.later = lshr i64 %n, %end
  %above.later = lshr i64 %n.later, 1
  %divided = urem i64 %above.later, %by
  %later = select i1 %none, i64 %above.later, i64 %divided
  store i64 %later, ptr %rest.at
$BITS$
  %less = sub i32 %left, 1
  %others = and i32 %left, %less
  %done = icmp eq i32 %others, 0
  br i1 %done, label %all, label %lane
all:
  %total = phi i64 [ 0, %entry ], [ %more, %next ]
  %good = insertvalue { i1, i64 } { i1 true, i64 undef }, i64 %total, 1
  ret { i1, i64 } %good
other:
  ret { i1, i64 } { i1 false, i64 0 }
}""".replace("$TOP$", str(TOP))
"""Whether all rests are what a division has at a bit, and the bits that some quotient gets.

Then the rests become those some turns later; `%bits` gets those that each quotient gets, if anybody
asks for them.
"""
_BITS = {
    "rests": "  %more = or i64 %some, 0",
    "bits": """\
  %quotient = udiv i64 %above.later, %by
  %fits = select i1 %none, i64 -1, i64 %quotient
  %found = and i64 %fits, %new
  %moved = shl i64 %found, %end
  %set = shl i64 %moved, 1
  store i64 %set, ptr %bits.at
  %more = or i64 %some, %set""",
}
"""What a channel's quotient gets, and which bits some quotient has got."""


def _divide(verb: str) -> str:
    return _DIVIDE.replace("$VERB$", verb).replace("$BITS$", _BITS[verb])

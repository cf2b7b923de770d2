"""Remainders of 64 bits, which Intel's compiler finds in a loop over the bits, in one step.

When bit i of the number n is next, the rest is the remainder of the bits above it,
`(n >> i >> 1) % d`, which is below 2**63, so that doubling it loses nothing; where the divisor d is
0, it is these bits themselves. So turns can be left out: where the rest is that remainder when the
program runs, it is set to what it is some turns later, with i to go with it. The last turn is run
as it stands, and leaves what the loop leaves in all its other variables. The turn of a thread ends
at the instruction where it would have ended.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.analysis.bitwise import TOP, RemainderLoop, Row
from visim.engine.jit.ir.text import low_bits, signed, splat
from visim.engine.jit.writing.steps import StepWriter


@dataclass
class RemainderWriter:
    """Writes what leaves turns of a loop out, where a turn starts."""

    writer: StepWriter
    found: RemainderLoop

    def write(self) -> None:
        """Go on some turns later, where the loop divides."""
        text, storage, found = self.writer.text, self.writer.unit.storage, self.found
        place = storage.pointer(found.bit.variable, found.bit.offset)
        now = text.let(f"zext i32 {text.let(f'load i32, ptr {place}, align 1')} to i64")
        turns = self._turns(now)
        some = text.let(f"icmp ne i64 {turns}, 0")
        divide, on = text.fresh("divide"), text.fresh("on")
        text.branch(some, divide, on)
        text.label(divide)
        rest = self._buffer(storage.read(found.rest))
        parts = [rest, *(self._buffer(self._whole(rows)) for rows in (found.number, found.divisor))]
        pointers = ", ".join(f"ptr {part}" for part in parts)
        active = text.let(f"and i32 {self.writer.active}, {signed(low_bits(found.rest.lanes), 32)}")
        library = self.writer.unit.module.library
        library.intrinsic("llvm.cttz.i32", "i32", "i32", "i1")
        library.functions.setdefault("remainders", _REMAINDERS)
        same = text.let(f"call i1 @remainders({pointers}, i32 {active}, i64 {now}, i64 {turns})")
        later = text.fresh("later")
        text.branch(same, later, on)
        text.label(later)
        self._write(rest, text.let(f"sub i64 {now}, {turns}"), turns)
        text.jump(on)
        text.label(on)

    def _turns(self, now: str) -> str:
        """Return how many turns can be left out: not the last, nor one that ends the thread's."""
        text, found = self.writer.text, self.found
        least = self.writer.unit.module.library.intrinsic("llvm.umin.i64", "i64", "i64", "i64")
        room = self.writer.unit.room()
        most = text.let(f"udiv i64 {room}, {found.turn}")
        turns = text.let(f"call i64 {least}(i64 {now}, i64 {most})")
        fits = text.let(f"icmp ule i64 {now}, {TOP}")
        if found.one.place is not None:
            storage = self.writer.unit.storage
            place = storage.pointer(found.one.place.variable, found.one.place.offset)
            one = text.let(f"load i32, ptr {place}, align 1")
            fits = text.let(f"and i1 {fits}, {text.let(f'icmp eq i32 {one}, 1')}")
        return text.let(f"select i1 {fits}, i64 {turns}, i64 0")

    def _whole(self, rows: tuple[Row, Row]) -> str:
        """Return numbers of 64 bits whose halves are in two rows."""
        text, lanes = self.writer.text, self.found.rest.lanes
        wide = f"<{lanes} x i64>"
        low, high = (text.let(f"zext <{lanes} x i32> {self._half(row)} to {wide}") for row in rows)
        moved = text.let(f"shl {wide} {high}, {splat('i64', lanes, 32)}")
        return text.let(f"or {wide} {low}, {moved}")

    def _half(self, row: Row) -> str:
        if row.place is None:
            return splat("i32", self.found.rest.lanes, signed(row.number, 32))
        return self.writer.unit.storage.read(row.place)

    def _buffer(self, vector: str) -> str:
        lanes = self.found.rest.lanes
        pointer = self.writer.unit.buffer(8 * lanes)
        self.writer.text.do(f"store <{lanes} x i64> {vector}, ptr {pointer}, align 64")
        return pointer

    def _write(self, rest: str, bit: str, turns: str) -> None:
        """Set what a turn starts with, and the clock."""
        writer, found = self.writer, self.found
        text, storage, clock = writer.text, writer.unit.storage, writer.unit.clock
        lanes = found.rest.lanes
        value = text.let(f"load <{lanes} x i64>, ptr {rest}, align 64")
        storage.write(found.rest, value, text.shuffle("i1", 32, writer.channels, range(lanes)))
        place = storage.pointer(found.bit.variable, found.bit.offset)
        text.do(f"store i32 {text.let(f'trunc i64 {bit} to i32')}, ptr {place}, align 1")
        passed = text.let(f"mul i64 {turns}, {found.turn}")
        total = text.let(f"add i64 {text.let(f'load i64, ptr {clock}')}, {passed}")
        text.do(f"store i64 {total}, ptr {clock}")


_REMAINDERS = """\
define internal i1 @remainders(ptr %rest, ptr %number, ptr %divisor, i32 %active, i64 %bit, \
i64 %turns) noinline nounwind {
entry:
  %end = sub i64 %bit, %turns
  %starts = icmp eq i64 %bit, $TOP$
  %nobody = icmp eq i32 %active, 0
  br i1 %nobody, label %all, label %lane
lane:
  %left = phi i32 [ %active, %entry ], [ %others, %next ]
  %first = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %at = zext i32 %first to i64
  %rest.at = getelementptr i64, ptr %rest, i64 %at
  %number.at = getelementptr i64, ptr %number, i64 %at
  %divisor.at = getelementptr i64, ptr %divisor, i64 %at
  %n = load i64, ptr %number.at
  %d = load i64, ptr %divisor.at
  %none = icmp eq i64 %d, 0
  %some = select i1 %none, i64 1, i64 %d
  br i1 %starts, label %compare, label %begun
begun:
  %n.now = lshr i64 %n, %bit
  %above.now = lshr i64 %n.now, 1
  %divided.now = urem i64 %above.now, %some
  %all.now = select i1 %none, i64 %above.now, i64 %divided.now
  br label %compare
compare:
  %now = phi i64 [ 0, %lane ], [ %all.now, %begun ]
  %before = load i64, ptr %rest.at
  %same = icmp eq i64 %before, %now
  br i1 %same, label %next, label %other
next:
  %n.later = lshr i64 %n, %end
  %above.later = lshr i64 %n.later, 1
  %divided.later = urem i64 %above.later, %some
  %later = select i1 %none, i64 %above.later, i64 %divided.later
  store i64 %later, ptr %rest.at
  %less = sub i32 %left, 1
  %others = and i32 %left, %less
  %done = icmp eq i32 %others, 0
  br i1 %done, label %all, label %lane
all:
  ret i1 true
other:
  ret i1 false
}""".replace("$TOP$", str(TOP))
"""Whether all rests are what a division has at a bit; then they become those some turns later."""

"""Runs of instructions strip by strip: a loop over as many channels as a register of the host has.

A value of 32 channels takes four registers of AVX2, so that a few values fill all of them. In a
loop over strips a value takes one register, and the code is as long as for one strip. Variables
that a run shares with other code pass through buffers in memory, which the loop can index; where
more come in than registers hold, the variables themselves stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from visim.engine.jit.analysis.affine import ShapeReader
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.lanes import Row, row_of
from visim.engine.jit.analysis.lanewise import Bits
from visim.engine.jit.analysis.order import Turn, in_order, thrifty
from visim.engine.jit.analysis.runs import Run, loads_block
from visim.engine.jit.ir.storage import bits_vector, vector_bits
from visim.engine.jit.ir.text import Text
from visim.engine.jit.writing.cuts import Cutter, as_integers, place_row, put_row, take_row
from visim.engine.jit.writing.steps import StepWriter
from visim.engine.jit.writing.versions import Version
from visim.sem.effects import Place, WritePredicate, WriteRegister

LEAST_STEPS = 32
"""Runs of fewer instructions are not worth a loop."""

LONG = 128
"""Runs of so many instructions are worth a loop for the time that their code takes to compile."""

REGISTERS = 16
"""With more values at once than this a run needs strips of one register, for want of registers."""

STEPS_A_ROW = 3.0
"""How many instructions a loop needs for each row that passes through memory."""

STEPS_A_ROW_IN_PLACE = 1.0
"""How many it needs where variables stay in memory, as most do that code for all channels uses."""

_AT_WORK = 5
"""So many registers hold what an instruction or two compute with, not rows for later ones."""


def may_have_strips(steps: int, version: Version) -> bool:
    """Whether a block of so many instructions may have runs that are worth a loop.

    None has where the host has registers for masks (AVX-512): there are 32 of 64 bytes for vectors
    then, and loops brought 4 % at most and took up to 47 % (138 kernels, on an Intel server).
    """
    return steps >= LEAST_STEPS and not version.has_mask_registers


@dataclass(frozen=True, slots=True)
class Strip:
    """How a run is cut: so many channels at a time, with its variables in memory or not."""

    channels: int
    in_place: bool = False


def strip_of(run: Run, local: set[Row], lanes: int, *, repeats: bool) -> Strip | None:
    """Return the strips of a run, None where it is better without.

    Two registers a value keep the processor busier than one, where there are enough of them.

    Args:
        run: the run.
        local: rows that do not pass through memory.
        lanes: how many channels a register of the host holds.
        repeats: whether the run is in a loop.
    """
    steps = len(run.steps) - len(run.leading)
    shared = len(run.inputs) + len(run.outputs) - len(local)
    if not lanes or steps < max(LEAST_STEPS, STEPS_A_ROW_IN_PLACE * shared):
        return None
    is_crowded = most_rows(run, local) > REGISTERS
    in_place = is_crowded and repeats and stays(run)
    if not in_place and (steps < STEPS_A_ROW * shared or not (is_crowded or steps >= LONG)):
        return None
    channels = lanes if is_crowded else 2 * lanes
    if channels >= run.lanes or run.lanes % channels:
        return None
    return Strip(channels, in_place)


def stays(run: Run) -> bool:
    """Whether a run in a loop leaves variables in memory: more come in than registers hold.

    Those that are only read have mostly been loaded for it, and are stored for the loop.
    """
    only_read = len(run.inputs.keys() - run.outputs.keys())
    steps = len(run.steps) - len(run.leading)
    return len(run.inputs) > REGISTERS and steps >= STEPS_A_ROW * only_read


def most_rows(run: Run, local: set[Row]) -> int:
    """Return how many rows hold values at once that are needed later."""
    last: dict[Row, int] = {}
    for number, step in run.lane_wise():
        last.update((row, number) for row in map(row_of, step.places) if row is not None)
    last.update((row, run.end) for row in run.outputs if row not in local)
    held, most = set(run.inputs), len(run.inputs)
    for number, step in run.lane_wise():
        for row in map(row_of, step.places):
            if row is not None and last[row] > number:
                held.add(row)
            elif row is not None:
                held.discard(row)
        most = max(most, len(held))
    return most


def local_rows(run: Run, users: dict[int, set[int]]) -> set[Row]:
    """Return the rows of a run of which nothing else in the unit knows.

    `users` has for each variable the identities of the instructions that use it.
    """
    own = {id(step) for _, step in run.lane_wise()}
    return {
        row
        for row in run.outputs
        if row not in run.inputs and users.get(row.variable, set()) <= own
    }


@dataclass
class StripWriter:
    """Writes one run as a loop over strips."""

    writer: StepWriter
    run: Run
    cut: Strip
    local: set[Row]
    rows: dict[Row, str] = field(default_factory=dict[Row, str])
    bits: dict[Bits, str] = field(default_factory=dict[Bits, str])
    starts: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    buffers: dict[tuple[Row, bool], str] = field(default_factory=dict[tuple[Row, bool], str])
    channels: str | None = None
    entering: list[tuple[Row, str]] = field(default_factory=list[tuple[Row, str]])
    leaving: list[tuple[Row, str]] = field(default_factory=list[tuple[Row, str]])

    def __post_init__(self) -> None:
        self.text = self.writer.text
        self.storage = self.writer.unit.storage
        self.strip = self.cut.channels
        self._write_to(self.text)

    def _write_to(self, text: Text) -> None:
        """Let `text` be what has the loop."""
        self.text = text
        self.number = f"%{text.fresh('strip')}"
        self.first = f"{self.number}.first"
        self.loop = self.last = text.fresh("strips")

    def write(self) -> None:
        """Write the instructions that lead, the loop, and what it leaves in variables."""
        for step, number in self.run.numbered():
            if number in self.run.leading:
                self._lead(step, number)
            else:
                self._keep_shapes(number)
        self.writer.joint.flush()
        body = self._body()
        self._enter()
        self._loop(body)
        self._leave()

    def _loop(self, body: list[str]) -> None:
        """Write the loop, which does the lines of one strip for each of them."""
        text = self.text
        before, loop, done = text.block, self.loop, text.fresh("done")
        text.jump(loop)
        text.label(loop)
        text.do(f"{self.number} = phi i64 [ 0, %{before} ], [ {self.number}.next, %{self.last} ]")
        text.do(f"{self.first} = mul i64 {self.number}, {self.strip}")
        text.lines += body
        text.do(f"{self.number}.next = add i64 {self.number}, 1")
        more = text.let(f"icmp ult i64 {self.number}.next, {self.run.lanes // self.strip}")
        text.branch(more, loop, done)
        text.label(done)

    def _lead(self, step: Step, place: int) -> None:
        """Write an instruction in front; what it loads is spread from memory in each strip."""
        if loads_block(step):
            for write in step.effects:
                if isinstance(write, WriteRegister):
                    self.storage.fix(write.place.variable)
        self.writer.write_step(step, place)

    def _keep_shapes(self, place: int) -> None:
        """Note the shapes that an instruction writes: they are scalars, for all strips."""
        writer = self.writer
        number = writer.stand_at(place)
        values = writer.new_values()
        key = writer.node.key
        reader = ShapeReader(writer.text, self.storage, writer.unit.affine, key, number)
        values.shapes = reader
        step = self.run.steps[place - self.run.first]
        for slot, shape in writer.shapes(step, number, values):
            reader.keep(slot, shape)

    # Variables

    def _enter(self) -> None:
        """Put the rows that the loop reads where it can index them."""
        for row, buffer in self.entering:
            put_row(self.storage, self.run.inputs[row], buffer)

    def _leave(self) -> None:
        for row, buffer in self.leaving:
            take_row(self.storage, self.run.outputs[row], buffer)

    def _part(self, row: Row, place: Place, passing: list[tuple[Row, str]]) -> tuple[str, str, int]:
        """Return a pointer to the strip's part of a row, its type, and its alignment.

        The row is in its variable or in a buffer, which is added to those that pass rows.
        """
        kind, alignment = f"<{self.strip} x i{8 * row.size}>", min(64, self.strip * row.size)
        if self.cut.in_place and row.stride == row.size:
            self.storage.fix(place.variable)
            memory, distance = self.storage.fixed(place.variable, row.offset)
            return self.text.at(self._start(memory, kind), distance), kind, 1
        key = (row, passing is self.leaving)
        if key not in self.buffers:
            self.buffers[key], buffer = self._buffer(self.run.lanes * row.size)
            passing.append((row, buffer))
        return self._start(self.buffers[key], kind), kind, alignment

    def _start(self, memory: str, kind: str) -> str:
        """Return where the strip's part begins of what begins at a pointer."""
        found = self.starts.get((memory, kind))
        if found is None:
            found = self.text.let(f"getelementptr {kind}, ptr {memory}, i64 {self.number}")
            self.starts[memory, kind] = found
        return found

    def _buffer(self, size: int) -> tuple[str, str]:
        """Return the pointer to memory for a row, as the loop and as the code around it know it."""
        name = self.writer.unit.buffer(size)
        return name, name

    def row(self, row: Row) -> str:
        """Return the strip's elements of a row as integers."""
        found = self.rows.get(row)
        if found is None:
            pointer, kind, alignment = self._part(row, self.run.inputs[row], self.entering)
            found = self.text.let(f"load {kind}, ptr {pointer}, align {alignment}")
            self.rows[row] = found
        return found

    def predicate(self, bits: Bits) -> str:
        """Return the strip's bits of a predicate."""
        found = self.bits.get(bits)
        if found is None:
            name, offset = bits
            found = self.bits[bits] = self._strip_bits(self._word(name), offset)
        return found

    def _word(self, name: str) -> str:
        """Return all bits of a predicate as i64."""
        return self.storage.load_bits(name)

    def _active(self) -> str:
        """Return the active channels as i32."""
        return self.writer.active

    def _strip_bits(self, bits: str, offset: int) -> str:
        position = self.text.let(f"add i64 {self.first}, {offset}")
        moved = self.text.let(f"lshr i64 {bits}, {position}")
        return bits_vector(self.text, moved, 0, self.strip)

    def execution(self) -> str:
        """Return which channels of the strip are active."""
        if self.channels is None:
            wide = self.text.let(f"zext i32 {self._active()} to i64")
            self.channels = self._strip_bits(wide, 0)
        return self.channels

    # Instructions

    def _cutter(self) -> Cutter:
        """Return what cuts the expressions of the instruction that is written."""
        return Cutter(self, self.writer.new_values())

    def _body(self) -> list[str]:
        """Return the lines of one strip."""
        text = self.text
        outside = text.lines, text.block
        text.lines, text.block = [], self.loop
        for turn in self._turns():
            self._take(turn)
        for bits in sorted(self.run.written_bits):
            self._put_bits(bits)
        body, self.last = text.lines, text.block
        text.lines, text.block = outside
        return body

    def _turns(self) -> Iterator[Turn]:
        """Return the instructions in the order that is best for so many rows."""
        if self.cut.in_place:
            return thrifty(self.run, max(1, REGISTERS - _AT_WORK))
        return in_order(self.run)

    def _take(self, turn: Turn) -> None:
        """Write an instruction, and what it is the last one to write of rows that others read."""
        for row in turn.again:
            del self.rows[row]
        self.writer.stand_at(turn.number)
        strip = self._cutter()
        writes = [e for e in turn.step.effects if isinstance(e, WriteRegister | WritePredicate)]
        strip.need(write.mask for write in writes)
        found = [(write, strip.value(write.value), strip.mask(write.mask)) for write in writes]
        for write, value, mask in found:
            self._write(write, value, mask)
        for row in turn.written:
            if row not in self.local:
                pointer, kind, alignment = self._part(row, self.run.outputs[row], self.leaving)
                self.text.do(f"store {kind} {self.rows[row]}, ptr {pointer}, align {alignment}")

    def _write(self, write: WriteRegister | WritePredicate, value: str, mask: str | None) -> None:
        if isinstance(write, WritePredicate):
            bits = (write.variable.name, write.offset)
            if mask is not None:
                value = self._chosen(mask, "i1", value, self.predicate(bits))
            self.bits[bits] = value
            return
        row = place_row(write.place)
        value = as_integers(self.text, value, write.place.type, self.strip)
        if mask is not None and self.writer.unit.keeps_others(write.place):
            value = self._chosen(mask, f"i{8 * row.size}", value, self.row(row))
        self.rows[row] = value

    def _chosen(self, mask: str, kind: str, value: str, old: str) -> str:
        vector = f"<{self.strip} x {kind}>"
        return self.text.let(f"select <{self.strip} x i1> {mask}, {vector} {value}, {vector} {old}")

    def _put_bits(self, bits: Bits) -> None:
        """Put the strip's part of a predicate to the others."""
        text, (name, offset) = self.text, bits
        found = vector_bits(text, self.bits[bits], self.strip)
        position = text.let(f"add i64 {self.first}, {offset}")
        moved = text.let(f"shl i64 {found}, {position}")
        places = text.let(f"shl i64 {(1 << self.strip) - 1}, {position}")
        others = text.let(f"xor i64 {places}, -1")
        kept = text.let(f"and i64 {self.storage.load_bits(name)}, {others}")
        pointer = self.storage.bits(name)
        text.do(f"store i64 {text.let(f'or i64 {kept}, {moved}')}, ptr {pointer}")

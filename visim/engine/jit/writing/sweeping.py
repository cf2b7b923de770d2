"""Code for sweeps: what channels load along rows of their own is loaded for several turns at once.

Each channel's next sixteen bytes, or a few times as many, are one load for it. All channels' are
then transposed, so that what a turn loads is a row: hosts gather no bytes or words, and gather
larger elements one by one. The turns themselves are those of all channels together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Bits
from visim.engine.jit.analysis.sweeps import BLOCK, Stream, Sweep
from visim.engine.jit.analysis.walks import Access
from visim.engine.jit.ir.text import scalar_bytes, scalar_type
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.cuts import Cutter, as_integers, from_integers, place_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.ramps import RampWriter
from visim.engine.jit.writing.together import Together
from visim.engine.jit.writing.values import Values
from visim.engine.jit.writing.walking import WalkWriter
from visim.sem.effects import Load, LoadBlock, WritePredicate, WriteRegister

_MOST_TURNS = 256
"""How many turns an attempt has at most."""

_PAUSE = 64
"""How many turns channels make as they stand after an attempt that failed."""

_FEW_TURNS = 4
"""Loops of fewer turns are not worth what is done in front of them."""

_LONG_PAUSE = 512
"""How many turns channels then make as they stand."""

_WORD = 4


@dataclass
class _AllChannels:
    """All channels in a turn: where they have their elements of rows, and their bits."""

    unit: UnitFrame
    region: Region
    rows: dict[Row, str] = field(default_factory=dict[Row, str])
    bits: dict[Bits, str] = field(default_factory=dict[Bits, str])

    @property
    def strip(self) -> int:
        """How many channels they are."""
        return self.unit.kernel.simd_size

    def execution(self) -> str:
        """Return which channels are active: what others compute is thrown away."""
        return "splat (i1 true)"

    def own_row(self, row: Row) -> str:
        """Return the pointer to the elements of a row."""
        if row not in self.rows:
            self.rows[row] = self.unit.buffer(row.lanes * row.size)
        return self.rows[row]

    def row(self, row: Row) -> str:
        """Return the elements of a row as integers."""
        text, whole = self.unit.text, self.region.whole(row)
        found, kind = self._elements(whole), f"<{self.strip} x i{8 * whole.size}>"
        if whole == row:
            return found
        shift = 8 * (row.offset - whole.offset)
        if shift:
            found = text.let(f"lshr {kind} {found}, splat (i{8 * whole.size} {shift})")
        return text.let(f"trunc {kind} {found} to <{self.strip} x i{8 * row.size}>")

    def _elements(self, whole: Row) -> str:
        """Return the elements of a row that is no part of another one."""
        kind = f"<{self.strip} x i{8 * whole.size}>"
        return self.unit.text.let(f"load {kind}, ptr {self.own_row(whole)}, align 64")

    def _with_part(self, row: Row, value: str) -> str:
        """Return the elements of the row of which one is a part, with other values for that."""
        text, whole = self.unit.text, self.region.whole(row)
        bits, shift = 8 * whole.size, 8 * (row.offset - whole.offset)
        kind, others = f"<{self.strip} x i{bits}>", ~(((1 << 8 * row.size) - 1) << shift)
        kept = text.let(f"and {kind} {self._elements(whole)}, splat (i{bits} {others})")
        part = text.let(f"zext <{self.strip} x i{8 * row.size}> {value} to {kind}")
        if shift:
            part = text.let(f"shl {kind} {part}, splat (i{bits} {shift})")
        return text.let(f"or {kind} {kept}, {part}")

    def predicate(self, bits: Bits) -> str:
        """Return the bits of a predicate."""
        return self.unit.text.let(f"load <{self.strip} x i1>, ptr {self._own_bits(bits)}")

    def _own_bits(self, bits: Bits) -> str:
        if bits not in self.bits:
            self.bits[bits] = self.unit.buffer(8)
        return self.bits[bits]

    def write(self, write: WriteRegister | WritePredicate, value: str, mask: str | None) -> None:
        """Write the elements of a row, or the bits of a predicate."""
        text, lanes = self.unit.text, self.strip
        if isinstance(write, WritePredicate):
            bits = write.variable.name, write.offset
            kind = f"<{lanes} x i1>"
            if mask is not None:
                old = self.predicate(bits)
                value = text.let(f"select {kind} {mask}, {kind} {value}, {kind} {old}")
            text.do(f"store {kind} {value}, ptr {self._own_bits(bits)}")
            return
        row = place_row(write.place)
        kind = f"<{lanes} x i{8 * row.size}>"
        value = as_integers(text, value, write.place.type, lanes)
        if mask is not None:
            old = self.row(row)
            value = text.let(f"select <{lanes} x i1> {mask}, {kind} {value}, {kind} {old}")
        whole = self.region.whole(row)
        if whole != row:
            kind, value = f"<{lanes} x i{8 * whole.size}>", self._with_part(row, value)
        text.do(f"store {kind} {value}, ptr {self.own_row(whole)}, align 64")


@dataclass(frozen=True, slots=True)
class _Room:
    """Where a stream is: each channel's pointer in front of the first turn, and its turns' rows."""

    starts: str
    rows: str


class SweepWriter(Together):
    """Writes one sweep."""

    def __init__(self, unit: UnitFrame, region: Region, sweep: Sweep) -> None:
        paused = unit.lasting_counter()
        super().__init__(unit, region, sweep.walk, "sweep", _MOST_TURNS, _PAUSE, paused)
        self._sweep = sweep
        self._lanes = unit.kernel.simd_size
        self._all = _AllChannels(unit, region)
        self._now = ""
        self._rooms = {
            id(stream.access.effect): _Room(
                unit.buffer(8 * self._lanes),
                unit.buffer(self._lanes * sweep.turns * stream.size),
            )
            for stream in sweep.streams
        }

    # The attempt

    def write(self) -> None:
        """Write the attempt; the loop's nodes are written already."""
        text, region = self.text, self.region
        text.label(self._name)
        self._measure()
        for stream in self._sweep.streams:
            self._start(stream)
        for row, place in region.entering.items():
            found = as_integers(text, self.storage.read(place), place.type, place.lanes)
            kind = f"<{self._lanes} x i{8 * row.size}>"
            text.do(f"store {kind} {found}, ptr {self._all.own_row(row)}, align 64")
        text.do(f"store i64 0, ptr {self._turn}")
        text.jump(self._body(region.header.key[1]))
        self._nodes(self._all)
        self._finish()
        self._end()

    def _bounds_of(self, access: Access) -> Bounds:
        """Return what is in range of the bytes that are loaded with an element, too."""
        bounds, more = super()._bounds_of(access), self._sweep.more(access)
        if not more:
            return bounds
        limit = self._combined("usub.sat", bounds.limit, str(more))
        return Bounds(bounds.start, limit, bounds.host)

    def _find_turns(self, walk: WalkWriter) -> None:
        walk.write_together(self._most, self._turns, self._sweep.turns)

    def _start(self, stream: Stream) -> None:
        """Note where channels load in the first turn; those that are off, where another does."""
        text, lanes, effect = self.text, self._lanes, stream.access.effect
        vector = f"<{lanes} x i64>"
        ramps = RampWriter(self.unit, self._walk)
        found = ramps.value_of_all(stream.access.address, "")
        shift = self._shifts.get(id(effect))
        if shift is not None:
            found = text.let(f"add {vector} {found}, {ramps.spread(shift)}")
        if stream.falls:
            back = (self._sweep.turns - 1) * stream.step
            found = text.let(f"sub {vector} {found}, splat (i64 {back})")
        active = text.let("load i32, ptr %active")
        wide = text.let(f"zext i32 {active} to i64")
        first = text.let(f"call i64 @llvm.cttz.i64(i64 {wide}, i1 false)")
        within = text.let(f"urem i64 {first}, {lanes}")
        other = ramps.spread(text.let(f"extractelement {vector} {found}, i64 {within}"))
        found = text.let(
            f"select <{lanes} x i1> {self._active(active)}, {vector} {found}, {vector} {other}"
        )
        # Volatile: LLVM would keep them in vectors, and take those apart in each block.
        room = self._rooms[id(effect)]
        text.do(f"store volatile {vector} {found}, ptr {room.starts}, align 64")

    def _active(self, active: str) -> str:
        """Return which channels are active, as a vector."""
        if self._lanes < 32:
            active = self.text.let(f"trunc i32 {active} to i{self._lanes}")
        return self.text.let(f"bitcast i{self._lanes} {active} to <{self._lanes} x i1>")

    # Loading ahead

    def _begin(self, node: Node) -> None:
        """Load what some turns need, in front of the first of them."""
        if node is not self.region.header:
            return
        text, turns = self.text, self._sweep.turns
        turn = text.let(f"load i64, ptr {self._turn}")
        self._now = text.let(f"and i64 {turn}, {turns - 1}")
        fill, filled = text.labels("fill", "filled")
        text.branch(text.let(f"icmp eq i64 {self._now}, 0"), fill, filled)
        text.label(fill)
        for stream in self._sweep.streams:
            self._fill(stream, turn)
        text.jump(filled)
        text.label(filled)

    def _fill(self, stream: Stream, turn: str) -> None:
        text, room = self.text, self._rooms[id(stream.access.effect)]
        distance = text.let(f"mul i64 {turn}, {-stream.step if stream.falls else stream.step}")
        pointers: list[str] = []
        for lane in range(self._lanes):
            start = text.let(f"load ptr, ptr {text.at(room.starts, 8 * lane)}, align 8")
            pointers.append(text.let(f"getelementptr i8, ptr {start}, i64 {distance}"))
        word = max(_WORD, stream.scalar)
        for block in range(0, self._sweep.turns * stream.step, BLOCK):
            places = [text.at(pointer, block) for pointer in pointers]
            words = Weaver(text).gathered(places, f"i{8 * word}", BLOCK // word) or []
            for number, value in enumerate(words):
                self._put(stream, block + word * number, value)

    def _put(self, stream: Stream, first: int, value: str) -> None:
        """Put the rows of which a word of each channel has elements where turns look for them.

        The word begins `first` bytes behind where a channel's elements begin.
        """
        text, lanes, scalar = self.text, self._lanes, stream.scalar
        few = max(1, _WORD // scalar)
        if few > 1:
            value = self._by_rows(value, scalar, few)
        for number in range(few):
            at = first + number * scalar
            slot, component = at // stream.step, at % stream.step // scalar
            if component >= stream.components:
                continue
            turn = self._sweep.turns - 1 - slot if stream.falls else slot
            row = text.shuffle(
                f"i{8 * scalar}", few * lanes, value, range(number * lanes, (number + 1) * lanes)
            )
            there = text.at(
                self._rooms[id(stream.access.effect)].rows,
                (component * self._sweep.turns + turn) * lanes * scalar,
            )
            text.do(f"store <{lanes} x i{8 * scalar}> {row}, ptr {there}, align {8}")

    def _by_rows(self, words: str, scalar: int, few: int) -> str:
        """Return words of channels, which have `few` elements each, as rows of elements.

        First within four channels, where hosts move bytes as they like, then fours of elements.
        """
        text, lanes = self.text, self._lanes
        kind, count = f"i{8 * scalar}", few * lanes
        found = text.let(f"bitcast <{lanes} x i32> {words} to <{count} x {kind}>")
        fours = [
            first + few * channel + number
            for first in range(0, count, 4 * few)
            for number in range(few)
            for channel in range(4)
        ]
        found = text.shuffle(kind, count, found, fours)
        wide, groups = f"i{32 * scalar}", lanes // 4
        found = text.let(f"bitcast <{count} x {kind}> {found} to <{few * groups} x {wide}>")
        rows = [few * group + number for number in range(few) for group in range(groups)]
        found = text.shuffle(wide, few * groups, found, rows)
        return text.let(f"bitcast <{few * groups} x {wide}> {found} to <{count} x {kind}>")

    # Instructions

    def _step(self, node: Node, step: Step) -> None:
        writes = [e for e in step.effects if isinstance(e, WriteRegister | WritePredicate)]
        values = self._values(node)
        cutter = Cutter(self._all, values)
        for effect in step.effects:
            if isinstance(effect, Load):
                values.loaded[id(effect)] = self._loaded(cutter, effect)
            elif isinstance(effect, LoadBlock):
                values.loaded[id(effect)] = [self._block(values, effect)]
        if any(
            write.place in self.region.singles
            for write in writes
            if isinstance(write, WriteRegister)
        ):
            self._write_singles(writes, values)
            return
        for each in [(w, cutter.value(w.value), cutter.mask(w.mask)) for w in writes]:
            self._all.write(*each)

    def _loaded(self, cutter: Cutter, load: Load) -> list[str]:
        """Return what a turn loads: rows that are there, or what all channels load alike."""
        text, lanes, scalar = self.text, self._lanes, scalar_type(load.type)
        room = self._rooms.get(id(load))
        if room is not None:
            kind, size = f"<{lanes} x {scalar}>", lanes * scalar_bytes(scalar)
            first = text.let(f"getelementptr [{size} x i8], ptr {room.rows}, i64 {self._now}")
            places = [text.at(first, n * self._sweep.turns * size) for n in range(load.components)]
            return [text.let(f"load {kind}, ptr {place}, align 8") for place in places]
        if load.addresses.lanes == 1:
            return self._load(cutter.values.value(load.addresses), load)
        bits = f"i{load.addresses.type.bits}"
        one = text.shuffle(bits, lanes, cutter.value(load.addresses), [0])
        return [text.shuffle(scalar, 1, found, [0] * lanes) for found in self._load(one, load)]

    def _block(self, values: Values, load: LoadBlock) -> str:
        pointer = self._pointer(values.value(load.address), load)
        return self.text.let(
            f"load <{load.count} x {scalar_type(load.type)}>, ptr {pointer}, align 1"
        )

    # What an attempt leaves

    def _finish(self) -> None:
        """End the attempt; loops of few turns are left to the vector form for a while."""
        text = self.text
        text.label(self._label("finish"))
        turn, where = (text.let(f"load i64, ptr {name}") for name in (self._turn, self._where))
        few = text.let(f"icmp ult i64 {turn}, {_FEW_TURNS - 1}")
        gone = text.let(f"icmp ne i64 {where}, 0")
        pause = text.let(f"select i1 {text.let(f'and i1 {few}, {gone}')}, i64 {_LONG_PAUSE}, i64 0")
        text.do(f"store volatile i64 {pause}, ptr {self._pause}")
        text.jump(self._label("done"))

    def _take(self, rows: Iterable[Row]) -> None:
        text, lanes = self.text, self._lanes
        mask = self._active(text.let("load i32, ptr %active"))
        for row in rows:
            place = self.region.entering[row]
            value = from_integers(text, self._all.row(row), place.type, lanes)
            self.storage.write(place, value, mask)

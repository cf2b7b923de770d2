"""Code for walks: some channels at a time make many turns, then the next ones.

Rows that channels walk along often lie at distances of a power of two, in the same few lines of the
cache: 32 of them at once throw each other out. A few channels side by side stay there, and their
sums do not wait for each other. Each of them is computed for itself, since its elements are loaded
and stored one by one anyway.

All channels leave such a loop together, in the same turn.
"""

from __future__ import annotations

from collections.abc import Iterable

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.walks import Walk
from visim.engine.jit.ir.text import scalar_bytes, scalar_type
from visim.engine.jit.writing.attempts import OneChannel
from visim.engine.jit.writing.cuts import Cutter, put_row, take_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.together import Together
from visim.engine.jit.writing.walking import WalkWriter
from visim.sem.effects import Load, Store, WritePredicate, WriteRegister

ABREAST = 4
"""How many channels go side by side."""

_MOST_TURNS = 256
"""How many turns an attempt has at most."""

_PAUSE = 256
"""How many turns channels make together after an attempt that failed."""


class AbreastWriter(Together):
    """Writes one walk for a few channels at a time."""

    def __init__(self, unit: UnitFrame, region: Region, walk: Walk) -> None:
        super().__init__(unit, region, walk, "abreast", _MOST_TURNS, _PAUSE)
        self._channel = unit.buffer(8)
        self._lanes = [OneChannel(unit, region) for _ in range(ABREAST)]
        self._buffers = {row: unit.buffer(row.lanes * row.size) for row in region.entering}

    # The attempt

    def write(self) -> None:
        """Write the attempt; the loop's nodes are written already."""
        text, region = self.text, self.region
        text.label(self._name)
        self._measure()
        for row, place in region.entering.items():
            put_row(self.storage, place, self._buffers[row])
        before = [self.storage.read(place) for place in region.singles]
        active = text.let("load i32, ptr %active")
        ctpop = self.unit.module.library.intrinsic("llvm.ctpop.i32", "i32", "i32")
        channels = text.let(f"zext i32 {text.let(f'call i32 {ctpop}(i32 {active})')} to i64")
        text.do(f"store i64 0, ptr {self._channel}")
        text.jump(self._label("next"))
        text.label(self._label("next"))
        channel = text.let(f"load i64, ptr {self._channel}")
        some = text.let(f"icmp ult i64 {channel}, {channels}")
        text.branch(some, self._label("chosen"), self._label("done"))
        text.label(self._label("chosen"))
        self._choose(channel)
        for place, value in zip(region.singles, before, strict=True):
            self.storage.write(place, value, None)
        text.do(f"store i64 0, ptr {self._turn}")
        text.jump(self._body(region.header.key[1]))
        self._nodes(self._lanes[0])
        self._finish()
        self._end()

    def _find_turns(self, walk: WalkWriter) -> None:
        walk.write(self._most, self._turns, ABREAST)

    def _choose(self, channel: str) -> None:
        """Take what the channels from one on have."""
        for number, lane in enumerate(self._lanes):
            for row in self._buffers:
                kind = f"<1 x i{8 * row.size}>"
                one = self.text.let(f"load {kind}, ptr {self._element(row, channel, number)}")
                self.text.do(f"store {kind} {one}, ptr {lane.own_row(row)}")

    def _element(self, row: Row, channel: str, number: int) -> str:
        place = self.text.let(f"mul i64 {channel}, {row.size}")
        there = self.text.let(f"getelementptr i8, ptr {self._buffers[row]}, i64 {place}")
        return self.text.at(there, number * row.size)

    # Instructions

    def _step(self, node: Node, step: Step) -> None:
        writes = [e for e in step.effects if isinstance(e, WriteRegister | WritePredicate)]
        values = self._values(node)
        if writes and all(write.value.lanes == 1 for write in writes):
            self._write_singles(writes, values)
            return
        for lane in self._lanes:
            values = self._values(node)
            cutter = Cutter(lane, values)
            for effect in step.effects:
                if isinstance(effect, Load):
                    values.loaded[id(effect)] = self._load(cutter.value(effect.addresses), effect)
                elif isinstance(effect, Store):
                    self._store(cutter, effect)
            found = [(w, cutter.value(w.value), cutter.mask(w.mask)) for w in writes]
            for each in found:
                lane.write(*each)

    def _store(self, cutter: Cutter, store: Store) -> None:
        text, offset = self.text, 0
        pointer = self._pointer(cutter.value(store.addresses), store)
        for value in store.values:
            scalar = scalar_type(value.type)
            found = cutter.value(value)
            text.do(f"store <1 x {scalar}> {found}, ptr {text.at(pointer, offset)}, align 1")
            offset += scalar_bytes(scalar)

    # What an attempt leaves

    def _finish(self) -> None:
        """Put what the channels have changed to that of the others, and choose the next."""
        text, region = self.text, self.region
        text.label(self._label("finish"))
        channel = text.let(f"load i64, ptr {self._channel}")
        for number, lane in enumerate(self._lanes):
            for row in (*region.leaving, *region.staying):
                kind = f"<1 x i{8 * row.size}>"
                text.do(f"store {kind} {lane.row(row)}, ptr {self._element(row, channel, number)}")
        text.do(f"store i64 {text.let(f'add i64 {channel}, {ABREAST}')}, ptr {self._channel}")
        text.jump(self._label("next"))

    def _take(self, rows: Iterable[Row]) -> None:
        for row in rows:
            take_row(self.storage, self.region.entering[row], self._buffers[row])

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
from visim.engine.jit.analysis.flow import Node, passed
from visim.engine.jit.analysis.slots import Row
from visim.engine.jit.analysis.walks import Access, Walk
from visim.engine.jit.ir.text import scalar_bytes, scalar_type
from visim.engine.jit.writing.attempts import Attempt, OneChannel
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.cuts import Cutter, put_row, take_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.walking import WalkWriter, access_bytes
from visim.sem.effects import Load, Store, WritePredicate, WriteRegister

ABREAST = 4
"""How many channels go side by side."""

_MOST_TURNS = 256
"""How many turns an attempt has at most."""

_PAUSE = 256
"""How many turns channels make together after an attempt that failed."""


class AbreastWriter(Attempt):
    """Writes one walk for a few channels at a time."""

    def __init__(self, unit: UnitFrame, region: Region, walk: Walk) -> None:
        super().__init__(unit, region, "abreast", _MOST_TURNS, _PAUSE)
        self._walk = walk
        self._channel, self._last, self._where = (unit.buffer(8) for _ in range(3))
        self._lanes = [OneChannel(unit, region) for _ in range(ABREAST)]
        self._buffers = {row: unit.buffer(row.lanes * row.size) for row in region.entering}
        self._bounds: dict[int, Bounds] = {}
        self._shifts: dict[int, str] = {}

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

    def _measure(self) -> None:
        """Write how many turns can be made, and go on if there are any."""
        text = self.text
        for access in self._walk.accesses:
            bounds = self._bounds[id(access.effect)] = self._bounds_of(access)
            if bounds.host != bounds.start:
                shift = text.let(f"sub i64 {bounds.host}, {bounds.start}")
                self._shifts[id(access.effect)] = shift
        walk = WalkWriter(self.unit, self._walk, self._bounds, self._label("turns"))
        walk.write(self._most, self._turns, ABREAST)
        none = text.let(f"icmp eq i64 {text.let(f'load i64, ptr {self._most}')}, 0")
        text.branch(none, self._label("bail"), self._label("begin"))
        text.label(self._label("bail"))
        self._give_up()
        text.label(self._label("begin"))

    def _bounds_of(self, access: Access) -> Bounds:
        effect = access.effect
        site = self.unit.module.sites.number(effect, self.unit.unit.number)
        bindings = self.region.bindings[id(effect)]
        writer = BoundsWriter(self.unit, self._values(access.node), bindings)
        return writer.of(effect, site, access_bytes(effect))

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

    # Where channels leave

    def _leave_for(self, number: int, place: int) -> None:
        self._leave(number, 1 + self.region.exits.index(place))

    def _stay(self, most: str) -> None:
        self._leave(0, 0)

    def _leave(self, number: int, where: int) -> None:
        """End the run behind block `number` of its turn, 0: before the first; `where` to."""
        self.text.do(f"store i64 {number}, ptr {self._last}")
        self.text.do(f"store i64 {where}, ptr {self._where}")
        self.text.jump(self._label("finish"))

    # Instructions

    def _begin(self, node: Node) -> None:
        """Nothing is noted of blocks."""

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
                    values.loaded[id(effect)] = self._load(cutter, effect)
                elif isinstance(effect, Store):
                    self._store(cutter, effect)
            found = [(w, cutter.value(w.value), cutter.mask(w.mask)) for w in writes]
            for each in found:
                lane.write(*each)

    def _pointer(self, cutter: Cutter, effect: Load | Store) -> str:
        """Return where a channel loads or stores."""
        text, bits = self.text, effect.addresses.type.bits
        found = text.let(f"extractelement <1 x i{bits}> {cutter.value(effect.addresses)}, i64 0")
        if bits < 64:
            found = text.let(f"zext i{bits} {found} to i64")
        if id(effect) in self._shifts:
            found = text.let(f"add i64 {found}, {self._shifts[id(effect)]}")
        return text.let(f"inttoptr i64 {found} to ptr")

    def _load(self, cutter: Cutter, load: Load) -> list[str]:
        text, scalar = self.text, scalar_type(load.type)
        pointer, size = self._pointer(cutter, load), scalar_bytes(scalar)
        places = [text.at(pointer, part * size) for part in range(load.components)]
        return [text.let(f"load <1 x {scalar}>, ptr {one}, align 1") for one in places]

    def _store(self, cutter: Cutter, store: Store) -> None:
        text, offset = self.text, 0
        pointer = self._pointer(cutter, store)
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

    def _end(self) -> None:
        """Write variables and counts, and go where all channels went."""
        text, region = self.text, self.region
        text.label(self._label("done"))
        self._take(region.leaving)
        self._count()
        where = text.let(f"load i64, ptr {self._where}")
        for number, place in enumerate(region.exits, 1):
            here, other = text.labels("here", "other")
            text.branch(text.let(f"icmp eq i64 {where}, {number}"), here, other)
            text.label(here)
            self._exit(place)
            text.label(other)
        self._take(region.staying)
        text.jump(self.unit.body_label(region.header.key))

    def _take(self, rows: Iterable[Row]) -> None:
        for row in rows:
            take_row(self.storage, self.region.entering[row], self._buffers[row])

    def _exit(self, place: int) -> None:
        """Go to a place outside; where channels wait in front of it, they go first."""
        text, header = self.text, self.region.header
        between = passed(header.waiting, 0, place)
        if not between:
            text.jump(self.unit.merge_label((header.entry, place, header.after)))
            return
        self.unit.wait(header, place, text.let("load i32, ptr %active"))
        self.unit.wake(header, [*between, place])

    def _count(self) -> None:
        """Count what all channels together have executed."""
        text = self.text
        turn, last = (text.let(f"load i64, ptr {name}") for name in (self._turn, self._last))
        total = text.let(f"load i64, ptr {self.unit.clock}")
        for number, node in enumerate(self.region.nodes, 1):
            again = text.let(f"icmp uge i64 {last}, {number}")
            times = text.let(f"add i64 {turn}, {text.let(f'zext i1 {again} to i64')}")
            total = text.let(
                f"add i64 {total}, {text.let(f'mul i64 {times}, {len(node.block.forms)}')}"
            )
        text.do(f"store i64 {total}, ptr {self.unit.clock}")

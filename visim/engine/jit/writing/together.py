"""Loops that all channels leave together: how many turns are known in front of them, and their end.

What the messages reach in those turns is in range, so nothing in them ends an attempt.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.flow import Node, passed
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.walks import Walk, address_of
from visim.engine.jit.ir.text import scalar_bytes, scalar_type
from visim.engine.jit.writing.attempts import ApartAttempt
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.walking import WalkWriter
from visim.sem.effects import Load, LoadBlock, Store


class Together(ApartAttempt):
    """Writes one loop whose addresses are ramps, for channels that leave it together."""

    def __init__(
        self,
        unit: UnitFrame,
        region: Region,
        walk: Walk,
        name: str,
        most: int,
        pause: int,
        paused: str | None = None,
    ) -> None:
        super().__init__(unit, region, name, most, pause, paused)
        self._walk = walk
        self._last, self._where = unit.buffer(8), unit.buffer(8)
        self._bounds: dict[int, Bounds] = {}
        self._shifts: dict[int, str] = {}

    # How many turns

    def _measure(self) -> None:
        """Write how many turns can be made, and go on if there are any."""
        text = self.text
        for access in self._walk.accesses:
            bounds = self._bounds[id(access.effect)] = self._bounds_of(access)
            if bounds.host != bounds.start:
                shift = text.let(f"sub i64 {bounds.host}, {bounds.start}")
                self._shifts[id(access.effect)] = shift
        walk = WalkWriter(self.unit, self._walk, self._bounds, self._label("turns"))
        self._find_turns(walk)
        none = text.let(f"icmp eq i64 {text.let(f'load i64, ptr {self._most}')}, 0")
        text.branch(none, self._label("bail"), self._label("begin"))
        text.label(self._label("bail"))
        self._give_up()
        text.label(self._label("begin"))

    @abstractmethod
    def _find_turns(self, walk: WalkWriter) -> None:
        """Write how many turns of the walk can be made."""

    # Blocks

    def _begin(self, node: Node) -> None:
        """Nothing is noted of blocks."""

    def _pointer(self, address: str, effect: Load | LoadBlock | Store) -> str:
        """Return the host's pointer for an address, a vector of one."""
        text, bits = self.text, address_of(effect).type.bits
        found = text.let(f"extractelement <1 x i{bits}> {address}, i64 0")
        if bits < 64:
            found = text.let(f"zext i{bits} {found} to i64")
        if id(effect) in self._shifts:
            found = text.let(f"add i64 {found}, {self._shifts[id(effect)]}")
        return text.let(f"inttoptr i64 {found} to ptr")

    def _load(self, address: str, load: Load) -> list[str]:
        """Load what one channel loads, or all the same."""
        text, scalar = self.text, scalar_type(load.type)
        pointer, size = self._pointer(address, load), scalar_bytes(scalar)
        places = [text.at(pointer, part * size) for part in range(load.components)]
        return [text.let(f"load <1 x {scalar}>, ptr {one}, align 1") for one in places]

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

    # What an attempt leaves

    @abstractmethod
    def _take(self, rows: Iterable[Row]) -> None:
        """Write rows back to their variables."""

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

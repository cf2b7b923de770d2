"""What loops that channels run apart have in common: one channel's rows, where attempts begin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import MemoryMessage, Step
from visim.engine.jit.analysis.flow import Node, is_uniform, mode_of
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Bits
from visim.engine.jit.analysis.walks import Access, access_bytes
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.cuts import Channels, Cutter, as_integers, place_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.values import Values
from visim.sem.effects import Effect, Goto, WritePredicate, WriteRegister


@dataclass
class OneChannel:
    """A channel that runs: where it has its elements of rows, and its bits."""

    unit: UnitFrame
    region: Region
    rows: dict[Row, str] = field(default_factory=dict[Row, str])
    bits: dict[Bits, str] = field(default_factory=dict[Bits, str])
    strip: int = 1

    def execution(self) -> str:
        """Return which channels of this one are active."""
        return "splat (i1 true)"

    def own_row(self, row: Row) -> str:
        """Return the pointer to its element of a row."""
        if row not in self.rows:
            self.rows[row] = self.unit.buffer(row.size)
        return self.rows[row]

    def row(self, row: Row) -> str:
        """Return its element of a row as an integer."""
        return self.unit.text.let(f"load <1 x i{8 * row.size}>, ptr {self._element(row)}")

    def _element(self, row: Row) -> str:
        """Return the pointer to its element of a row, which may be part of another's."""
        whole = self.region.whole(row)
        return self.unit.text.at(self.own_row(whole), row.offset - whole.offset)

    def own_bit(self, bits: Bits) -> str:
        """Return the pointer to its bit of a predicate, a byte."""
        if bits not in self.bits:
            self.bits[bits] = self.unit.buffer(1)
        return self.bits[bits]

    def predicate(self, bits: Bits) -> str:
        """Return its bit of a predicate."""
        text = self.unit.text
        found = text.let(f"load i8, ptr {self.own_bit(bits)}")
        one = text.let(f"trunc i8 {found} to i1")
        return text.let(f"insertelement <1 x i1> poison, i1 {one}, i64 0")

    def write(self, write: WriteRegister | WritePredicate, value: str, mask: str | None) -> None:
        """Write its element of a row, or its bit of a predicate."""
        text = self.unit.text
        if isinstance(write, WritePredicate):
            bits = write.variable.name, write.offset
            if mask is not None:
                old = self.predicate(bits)
                value = text.let(f"select <1 x i1> {mask}, <1 x i1> {value}, <1 x i1> {old}")
            one = text.let(f"extractelement <1 x i1> {value}, i64 0")
            text.do(f"store i8 {text.let(f'zext i1 {one} to i8')}, ptr {self.own_bit(bits)}")
            return
        row = place_row(write.place)
        kind = f"<1 x i{8 * row.size}>"
        value = as_integers(text, value, write.place.type, 1)
        if mask is not None:
            value = text.let(f"select <1 x i1> {mask}, {kind} {value}, {kind} {self.row(row)}")
        text.do(f"store {kind} {value}, ptr {self._element(row)}")


class Attempt:
    """Writes where turns of a loop begin in which something else is tried.

    Args:
        unit: the unit.
        region: the loop.
        name: what its labels begin with.
        most: how many turns an attempt has at most.
        pause: how many turns are made as they stand after an attempt that failed.
        paused: where it is remembered how many of them are left; None: by each thread.
    """

    def __init__(
        self,
        unit: UnitFrame,
        region: Region,
        name: str,
        most: int,
        pause: int,
        paused: str | None = None,
    ) -> None:
        self.unit = unit
        self.region = region
        self.text = unit.text
        self.storage = unit.storage
        self._name = self.text.fresh(name)
        self._pause = paused or unit.counter()
        self._limits = most, pause
        self._bindings: Mapping[int, Bindings] = region.bindings
        self._turn, self._most = unit.buffer(8), unit.buffer(8)
        self._turns = ""

    def _label(self, what: str) -> str:
        return f"{self._name}.{what}"

    def _body(self, place: int) -> str:
        return self._label(str(place))

    def _combined(self, word: str, a: str, b: str) -> str:
        """Return what one of LLVM's functions of two numbers gives."""
        name = f"llvm.{word}.i64"
        function = self.unit.module.library.intrinsic(name, "i64", "i64", "i64")
        return self.text.let(f"call i64 {function}(i64 {a}, i64 {b})")

    # Where a turn begins

    def enter(self) -> None:
        """Write whether there is an attempt; what follows is a turn as it stands."""
        text = self.text
        paused = text.let(f"load i64, ptr {self._pause}")
        ready = self._ready(text.let(f"icmp eq i64 {paused}, 0"))
        text.branch(self._wanted(ready), self._name, self._label("pausing"))
        text.label(self._label("pausing"))
        left = self._combined("usub.sat", paused, "1")
        text.do(f"store i64 {left}, ptr {self._pause}")
        text.jump(self._label("together"))
        text.label(self._label("together"))

    def _ready(self, begins: str) -> str:
        """Return whether an attempt can be made, of a turn at least, if one `begins` here."""
        self._find_room()
        some = self.text.let(f"icmp ne i64 {self._turns}, 0")
        return self.text.let(f"and i1 {some}, {begins}")

    def _find_room(self) -> None:
        """Write how many turns an attempt can have before the thread's turn is over."""
        turns = self.text.let(f"udiv i64 {self.unit.room()}, {self.region.instructions}")
        self._turns = self._combined("umin", turns, str(self._limits[0]))

    def _wanted(self, ready: str) -> str:
        """Return whether an attempt that can be made is wanted."""
        return ready

    def _give_up(self) -> None:
        """Go on with the turn as it stands, and for some turns more."""
        self._pause_now()
        self.text.jump(self._label("together"))

    def _pause_now(self) -> None:
        """Have no attempt for some turns."""
        self.text.do(f"store volatile i64 {self._limits[1]}, ptr {self._pause}")

    # What code in it needs

    def _values(self, node: Node) -> Values:
        active = str(self.unit.all_on)
        return Values(self.unit, mode_of(node), active, "poison", dynamic=False, full=True)

    def _bounds_writer(self, node: Node, effect: MemoryMessage) -> BoundsWriter:
        """Return what writes where a message of a node may go."""
        return BoundsWriter(self.unit, self._values(node), self._bindings[id(effect)])

    def _site(self, effect: MemoryMessage) -> int:
        return self.unit.module.sites.number(effect, self.unit.unit.number)

    def _bounds_of(self, access: Access) -> Bounds:
        effect, size = access.effect, access_bytes(access.effect)
        return self._bounds_writer(access.node, effect).of(effect, self._site(effect), size)


class ApartAttempt(Attempt, ABC):
    """Writes one loop for channels that try to run apart; how they do is up to those derived."""

    # Blocks

    def _nodes(self, first: Channels) -> None:
        """Write the blocks of the loop, and where they go on, which the first channel decides."""
        for number, node in enumerate(self.region.nodes, 1):
            self.text.label(self._body(node.key[1]))
            self._begin(node)
            for step in node.block.steps:
                self._step(node, step)
            self._transfer(node, number, first)

    @abstractmethod
    def _begin(self, node: Node) -> None:
        """Begin a block."""

    def _transfer(self, node: Node, number: int, first: Channels) -> None:
        text, following = self.text, node.block.next
        match node.block.transfer:
            case Goto(label=label, mask=None):
                self._go(number, self.unit.flow.label(label))
            case Goto(label=label, mask=mask) if mask is not None:
                yes, no = text.labels("yes", "no")
                taken = mask.args[0] if is_uniform(mask) else mask
                found = Cutter(first, self._values(node)).value(taken)
                bit = text.let(f"extractelement <{first.strip} x i1> {found}, i64 0")
                text.branch(bit, yes, no)
                text.label(yes)
                self._go(number, self.unit.flow.label(label))
                text.label(no)
                self._go(number, following)
            case _:
                self._go(number, following)

    def _go(self, number: int, place: int) -> None:
        """Go from block `number` to a place."""
        text, header = self.text, self.region.header.key[1]
        if place in self.region.exits:
            self._leave_for(number, place)
            return
        if place != header:
            text.jump(self._body(place))
            return
        turn = text.let(f"add i64 {text.let(f'load i64, ptr {self._turn}')}, 1")
        text.do(f"store i64 {turn}, ptr {self._turn}")
        stays, most = text.fresh("stays"), text.let(f"load i64, ptr {self._most}")
        text.branch(text.let(f"icmp ult i64 {turn}, {most}"), self._body(header), stays)
        text.label(stays)
        self._stay(most)

    @abstractmethod
    def _leave_for(self, number: int, place: int) -> None:
        """Leave the loop behind block `number` for a place outside."""

    @abstractmethod
    def _stay(self, most: str) -> None:
        """End an attempt after so many turns, in front of the next one."""

    # Instructions

    @abstractmethod
    def _step(self, node: Node, step: Step) -> None:
        """Write an instruction."""

    def _write_singles(self, writes: Sequence[Effect], values: Values) -> None:
        """Write what all channels share."""
        singles = [write for write in writes if isinstance(write, WriteRegister)]
        for write, value in [(write, values.value(write.value)) for write in singles]:
            self.storage.write(write.place, value, None)

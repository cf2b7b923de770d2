"""Rows of elements in variables: who writes and reads them, with which channels.

A slot is a row of elements of a variable that is always written as a whole, and that no indirect
operand can reach. From the control-flow graph follows what the reads of a slot can see: where a
write comes first on every path, and no channels can have come back that were away at that write,
only channels that it wrote for are read.
Then nobody looks at the others, and the write need not keep what they had.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from visim.engine.jit.analysis.flow import Flow, Key
from visim.engine.jit.analysis.lanes import Row, channel_of, channel_within, is_between, row_of
from visim.engine.jit.analysis.paths import Paths, Spans
from visim.engine.jit.ir.places import place_span
from visim.engine.jit.ir.shapes import Form
from visim.engine.stops import go_on
from visim.linker.program import LinkedKernel
from visim.operands import FIRST_DECLARED_GENERAL, General
from visim.sem.effects import (
    Atomic,
    Effect,
    Load,
    Place,
    Store,
    WriteAddress,
    WritePredicate,
    WriteRegister,
    WriteState,
    expressions,
    operands,
)
from visim.sem.expr import WIDE, Expr
from visim.sem.uops import CROSSING
from visim.types import BOOL, DataType


@dataclass(frozen=True, slots=True)
class Definition:
    """A write of a slot: instruction `step` of a node; `key` None is the start of the thread."""

    key: Key | None
    step: int
    write: WriteRegister | None
    whole: bool
    channel: int


@dataclass
class Slot:
    """A row with its definitions.

    Attributes:
        form: the form of its shapes; None: not known yet.
        fixed: the cores of its shape where these are numbers that do not change.
        alike: for each piece of its shapes the first one whose scalars are always the same.
        dead: whether it has no shape.
        torn: whether parts of it are written, or lanes under masks of their own.
        quiet: whether nobody looks at lanes for whose channels the last write was not.
        until: the instruction that overwrites the only definition in its node; None: none does.
        steps: the first instruction that writes it in each node.
    """

    row: Row
    number: int
    definitions: list[Definition] = field(default_factory=list[Definition])
    form: Form | None = None
    fixed: tuple[str, ...] | None = None
    alike: tuple[int, ...] = ()
    dead: bool = False
    torn: bool = False
    quiet: bool = True
    until: int | None = None
    steps: dict[Key | None, int] = field(default_factory=dict[Key | None, int], init=False)
    _partial: Definition | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for one in self.definitions:
            self._note(one)

    def define(self, one: Definition) -> None:
        """Add a definition."""
        self.definitions.append(one)
        self._note(one)

    def _note(self, one: Definition) -> None:
        self.steps.setdefault(one.key, one.step)
        if self._partial is None and not one.whole:
            self._partial = one

    def redefine(self, definitions: Sequence[Definition]) -> None:
        """Have other definitions than before."""
        self.definitions, self._partial = [], None
        self.steps.clear()
        for one in definitions:
            self.define(one)

    @property
    def whole(self) -> bool:
        """Whether the shape holds for all channels, not only for active ones."""
        return self._partial is None

    @property
    def is_input(self) -> bool:
        """Whether the row has what it starts with, and nobody writes it."""
        return all(one.key is None for one in self.definitions)

    @property
    def channel(self) -> int:
        """The channel of lane 0, where the shape holds for active channels only."""
        return 0 if self._partial is None else self._partial.channel

    def pieces(self) -> range:
        """Return the numbers of the pieces."""
        return range(self.row.lanes // self.form.piece if self.form else 0)

    def firsts(self) -> list[int]:
        """Return the numbers of those pieces that are not like one before."""
        return sorted(set(self.alike))


@dataclass(frozen=True, slots=True)
class Sources:
    """The nodes that write a slot, and the spans of those that come behind one of them."""

    keys: frozenset[Key]
    spans: Spans


_NONE: list[Slot] = []


def _defined(slot: Slot) -> int:
    """Return which instruction of its node writes a slot that has one definition."""
    return slot.definitions[0].step


def is_integer(kind: DataType) -> bool:
    """Whether shapes can describe elements of a type."""
    return not kind.is_float and kind not in {BOOL, WIDE}


def looks_across(effects: Iterable[Effect]) -> bool:
    """Whether some effects compute from lanes of other channels."""
    return any(expr.uop.name in CROSSING for expr in expressions(list(effects)))


class Slots:
    """The slots of one unit.

    Args:
        kernel: the program.
        flow: the unit's control flow.
        full: the subroutines that always run with all channels.
        has_calls: whether functions share the predefined variables.
    """

    def __init__(
        self, kernel: LinkedKernel, flow: Flow, full: set[int], *, has_calls: bool
    ) -> None:
        self.kernel = kernel
        self.flow = flow
        self.full = full
        self.known: dict[Row, Slot] = {}
        self.by_variable: dict[int, list[Slot]] = {}
        self.passing: dict[tuple[Row, Key], list[Slot]] = {}
        self._parts_of: dict[int, list[Slot]] = {}
        self._sources: dict[int, Sources] = {}
        self._parted: dict[tuple[int, Key], list[Row]] = {}
        self._written = set[int]()
        self._numbers = count()
        self.paths = Paths(flow)
        self._collect()
        for slot in self.known.values():
            slot.torn |= has_calls and slot.row.variable < FIRST_DECLARED_GENERAL
        self._listen()
        for slot in list(self.known.values()):
            if not slot.torn:
                self._part(slot)

    def forget(self) -> None:
        """Know no slots: registers are reached by address."""
        self.known.clear()
        self.by_variable.clear()
        self.passing.clear()
        self._parts_of.clear()
        self._parted.clear()

    def every(self) -> Iterator[Slot]:
        """Return all slots, also those of definitions that are overwritten in their node."""
        yield from self.known.values()
        for slots in self.passing.values():
            yield from slots

    def at(self, place: Place) -> Slot | None:
        """Return the slot that is exactly a place."""
        row = row_of(place)
        return None if row is None else self.known.get(row)

    def written(self, place: Place, key: Key, step: int) -> Slot | None:
        """Return the slot that an instruction defines by writing a place."""
        row = row_of(place)
        if row is None or row not in self.known:
            return None
        slot = self.known[row]
        if slot.steps.get(key) == step:
            return slot
        passing = self.passing.get((row, key), ())
        index = bisect_left(passing, step, key=_defined)
        found = passing[index] if index < len(passing) else None
        return found if found and _defined(found) == step else None

    def meeting(self, row: Row) -> list[Slot]:
        """Return the slots that have elements, or parts of them, in common with a row."""
        return [
            slot
            for slot in self.of(row.variable)
            if slot.row.offset < row.end
            and row.offset < slot.row.end
            and not is_between(slot.row, row)
        ]

    def of(self, variable: int) -> list[Slot]:
        """Return all slots of a variable."""
        return [*self.by_variable.get(variable, ()), *self._parts_of.get(variable, ())]

    def seen(self, variable: int, key: Key, step: int) -> list[Slot]:
        """Return the slots of a variable that an instruction may see, in order of their numbers.

        Of definitions that are overwritten in their node it sees one at most: code that writes a
        register in place has as many of them as instructions.
        """
        known = self.by_variable.get(variable, _NONE)
        rows = self._parted.get((variable, key))
        if not rows:
            return known
        found = (self._passing(row, key, step) for row in rows)
        return sorted((*known, *(one for one in found if one)), key=lambda one: one.number)

    def holds(self, slot: Slot, row: Row, key: Key, step: int, channel: int | None) -> bool:
        """Whether an instruction that reads a row sees only lanes of the slot's last write.

        `channel` is that of the row's lane 0, None when all lanes are looked at.
        """
        first = (row.offset - slot.row.offset) // slot.row.stride
        return self._holds(slot, first, key, step, channel)

    def _holds(self, slot: Slot, first: int, key: Key, step: int, channel: int | None) -> bool:
        if not slot.whole and channel != slot.channel + first:
            return False
        now = self._passing(slot.row, key, step)
        if now is not None or slot.until is not None:
            return now is slot
        return self._sees_last(slot, key, step)

    def _sees_last(self, slot: Slot, key: Key, step: int) -> bool:
        """Whether the last write of a slot had all channels that an instruction can have."""
        if slot.steps.get(key, step) < step:
            return True
        sources = self._sources.get(slot.number)
        if sources is None:
            keys = frozenset(one for one in slot.steps if one is not None)
            sources = self._sources[slot.number] = Sources(keys, self.paths.spans(keys))
        keys, spans = sources.keys, sources.spans
        if None not in slot.steps and not self.paths.goes_through(keys, spans, key):
            return False
        return slot.whole or self.paths.keeps_channels(sources.keys, key)

    def _passing(self, row: Row, key: Key, step: int) -> Slot | None:
        """Return the slot of a definition that an instruction sees and a later one overwrites."""
        passing = self.passing.get((row, key), ())
        index = bisect_left(passing, step, key=_defined)
        slot = passing[index - 1] if index else None
        return slot if slot and slot.until is not None and step <= slot.until else None

    def stays(self, variable: General) -> bool:
        """Whether a variable is known to keep what it starts with."""
        if variable.is_shared:
            return False
        reached = self.kernel.is_reached(self.flow.code.unit, variable)
        return not reached and variable.index not in self._written

    def slot(self, row: Row) -> Slot:
        """Return the slot of a row, made when it is first asked for."""
        slot = self.known.get(row)
        if slot is None:
            slot = self.known[row] = Slot(row, next(self._numbers))
            self.by_variable.setdefault(row.variable, []).append(slot)
        return slot

    # Collection

    def _collect(self) -> None:
        spans: dict[int, set[tuple[int, int, Row | None]]] = {}
        reached = self.kernel.reached(self.flow.code.unit)
        for key, step, write in _writes(self.flow):
            self._written.add(write.place.variable.index)
            if write.place.variable.index in reached:
                continue
            row = row_of(write.place)
            low, high = place_span(write.place)
            spans.setdefault(write.place.variable.index, set()).add((low, high, row))
            if row is not None:
                self._define(row, key, step, write)
        for slot in self.known.values():
            slot.torn |= any(
                row != slot.row
                and low < slot.row.end
                and slot.row.offset < high
                and not (row is not None and is_between(slot.row, row))
                for low, high, row in spans.get(slot.row.variable, ())
            )
            slot.torn |= len({one.channel for one in slot.definitions if not one.whole}) > 1

    def _define(self, row: Row, key: Key, step: int, write: WriteRegister) -> None:
        slot, mask = self.slot(row), write.mask
        if mask is None:
            slot.define(Definition(key, step, write, True, 0))
            return
        channel = channel_of(mask)
        if channel is None:
            slot.torn = True
            return
        node = self.flow.nodes[key]
        inside = channel + row.lanes <= self.kernel.simd_size
        whole = inside and key[0] in self.full and not node.waiting
        slot.define(Definition(key, step, write, whole, channel))

    def _part(self, slot: Slot) -> None:
        """Make slots of their own for definitions that are overwritten in their node.

        Registers are often written in place, such as an index that becomes an offset: only what
        is left at the end of a node has to have one form.
        """
        by_node: dict[Key | None, list[Definition]] = {}
        for one in slot.definitions:
            by_node.setdefault(one.key, []).append(one)
        slot.redefine([max(some, key=lambda one: one.step) for some in by_node.values()])
        for key, some in by_node.items():
            for one, after in pairwise(sorted(some, key=lambda one: one.step)):
                if key is None:
                    continue
                part = Slot(slot.row, next(self._numbers), [one], until=after.step)
                self.passing.setdefault((slot.row, key), []).append(part)
                self._parts_of.setdefault(slot.row.variable, []).append(part)
            if key is not None and len(some) > 1:
                self._parted.setdefault((slot.row.variable, key), []).append(slot.row)

    def _listen(self) -> None:
        """Find the slots at whose other lanes somebody looks."""
        for slot in self.known.values():
            slot.quiet = not slot.torn and bool(slot.definitions)
        for key, node in self.flow.nodes.items():
            go_on("looking at registers")
            block = node.block
            for number, step in enumerate(block.steps):
                for effect in step.effects:
                    for place, channel in reads(effect):
                        self._hear(key, number, place, channel)
            if block.transfer is not None:
                for place, _ in reads(block.transfer):
                    self._hear(key, len(block.steps), place, None)

    def _hear(self, key: Key, step: int, place: Place, channel: int | None) -> None:
        row = row_of(place)
        low, high = place_span(place)
        for slot in self.by_variable.get(place.variable.index, ()):
            if not slot.quiet or high <= slot.row.offset or slot.row.end <= low:
                continue
            if row is None or not self._stays_quiet(slot, row, key, step, channel):
                slot.quiet = False

    def _stays_quiet(self, slot: Slot, row: Row, key: Key, step: int, channel: int | None) -> bool:
        if slot.row.stride != row.stride:
            return False
        met = _met(slot.row, row)
        return not met or (len(met) == 1 and self._holds(slot, met[0], key, step, channel))


def contains(row: Row, part: Row) -> bool:
    """Whether a row has all elements of another one."""
    if part.size != row.size or part.stride != row.stride:
        return False
    distance = part.offset - row.offset
    return distance >= 0 and not distance % row.stride and part.end <= row.end


def _met(row: Row, other: Row) -> range:
    """Return which elements of `row` have bytes of lane 0 of another one at the same distances.

    Bytes and words of elements meet one, and so do elements that `row` is a part of. Numbers are
    those of `row` continued on both sides, since each of the rows may begin before the other.
    """
    low = other.offset - row.offset
    return range((low - row.size) // row.stride + 1, (low + other.size - 1) // row.stride + 1)


def _writes(flow: Flow) -> Iterator[tuple[Key, int, WriteRegister]]:
    for key, node in flow.nodes.items():
        for number, step in enumerate(node.block.steps):
            for effect in step.effects:
                if isinstance(effect, WriteRegister):
                    yield key, number, effect


def reads(effect: Effect) -> Iterator[tuple[Place, int | None]]:
    """Return the places that an effect reads, with the channel of lane 0.

    None stands for reads whose lanes do not belong to channels, or to channels that may be off.
    """
    aligned: tuple[Expr, ...] = ()
    match effect:
        case WriteRegister(value=value) | WritePredicate(value=value):
            aligned = (value,)
        case WriteAddress(value=value) | WriteState(value=value):
            aligned = (value,)
        case Load(addresses=addresses):
            aligned = (addresses,)
        case Store(addresses=addresses, values=values):
            aligned = (addresses, *values)
        case Atomic(addresses=addresses, operands=values):
            aligned = (addresses, *values)
        case _:
            pass
    channel = channel_within(getattr(effect, "mask", None)) if aligned else None
    lanes = aligned[0].lanes if aligned else 0
    across, seen = set[Expr](), set[Expr]()
    waiting = [(root, root.lanes == lanes) for root in aligned]
    waiting += [(expr, False) for expr in operands(effect) if expr not in aligned]
    while waiting:
        expr, stays = waiting.pop()
        known = seen if stays else across
        if expr in known:
            continue
        known.add(expr)
        stays = stays and expr.uop.name not in CROSSING
        waiting += [(arg, stays) for arg in expr.args]
    for expr in seen | across:
        if expr.uop.name in {"read", "fused"}:
            fused = expr.uop.name == "fused"
            place: Place = expr.attribute[1] if fused else expr.attribute
            yield place, None if fused or expr in across else channel

"""Messages that are checked together: successive loads, or successive stores, of rows.

A check is a branch, and LLVM makes code for one block between branches at a time. So a message in
rows waits until something needs what it loads, or may not overtake it. Then one branch goes on
where all that wait are in range. Where not, each is done in its general form, in their order, with
the faults that it then has; what was loaded is left in memory in the same arrangement, so that
code goes on in one way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from visim.engine.jit.analysis.blocks import Step, places
from visim.engine.jit.analysis.callouts import follows_mode, is_called_out, needs_interpreter
from visim.engine.jit.layout import EXCHANGE_DATA, Context
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.messages import MessageWriter
from visim.engine.jit.writing.ready import Ready
from visim.engine.jit.writing.rows import Rows, choose
from visim.sem.effects import (
    Effect,
    Load,
    Store,
    WritePredicate,
    WriteRegister,
    WriteState,
    expressions,
)

_MOST = 16
"""How many messages wait at most."""
_MOST_BYTES = 4096
"""Rows that are further apart are left in regions of their own."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message that waits, and what is to be done when it has been."""

    writer: MessageWriter
    ready: Ready
    way: Rows
    finish: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Region:
    """Memory from `first` bytes behind an anchor on, of `size` bytes."""

    pointer: str
    first: int
    size: int


_Branch = tuple[str, list[list[str]]]
"""The last block of a branch, and what it has of each message: pointers or vectors."""


class JointWriter:
    """Writes the messages of one node that can wait for each other."""

    def __init__(self, unit: UnitFrame) -> None:
        self.unit = unit
        self.text = unit.text
        version = unit.module.version
        watched = version.is_followed or not version.runs(Pass.GUARDS)
        self._never = unit.module.flat or version.saving or watched
        self._waiting: list[_Waiting] = []
        self._touched = set[int]()

    # What waits

    def before(self, step: Step, *, dynamic: bool) -> None:
        """Do what waits if an instruction needs it or may not come before it.

        `dynamic` says that the interpreter computes what rounds.
        """
        if self._waiting and not self._can_overtake(step, dynamic=dynamic):
            self.flush()

    def take(
        self, step: Step, writer: MessageWriter, ready: Ready, finish: Callable[[], None]
    ) -> bool:
        """Let the only message of an instruction wait, if it can; `finish` writes what is left."""
        way, loads = ready.way, isinstance(ready.effect, Load)
        if self._never or not isinstance(way, Rows) or not _may_wait(step, ready):
            self.flush()
            return False
        if self._waiting and isinstance(self._waiting[0].ready.effect, Load) is not loads:
            self.flush()
        self._waiting.append(_Waiting(writer, ready, way, finish))
        writes = [effect for effect in step.effects if isinstance(effect, WriteRegister)]
        for write in writes:
            writer.values.mask(write.mask)
        touched = places(writes, expressions(writes))
        self._touched.update(place.variable.index for place in touched)
        if len(self._waiting) == _MOST:
            self.flush()
        return True

    def _can_overtake(self, step: Step, *, dynamic: bool) -> bool:
        """Whether an instruction is a message that may wait too, or computes something else."""
        if step.refusal is not None:
            return False
        if any(place.variable.index in self._touched for place in step.places):
            return False
        if not all(map(_overtakes, step.effects)):
            return False
        return not any(
            expr.uop.name in {"gather", "fused", "clock"}
            or needs_interpreter(expr)
            or (dynamic and follows_mode(expr))
            for expr in step.expressions
        )

    # Writing

    def flush(self) -> None:
        """Write all messages that wait."""
        waiting, self._waiting, self._touched = self._waiting, [], set[int]()
        if not waiting:
            return
        if isinstance(waiting[0].ready.effect, Load):
            self._load(waiting)
        else:
            self._store(waiting)
            for one in waiting:
                one.finish()

    def _load(self, waiting: list[_Waiting]) -> None:
        """Load what waits, behind one check, and write what needs it.

        Rows that stay as they are in memory are loaded behind both branches: a branch only says
        where they are, in their array or where the general form has left them. Others are loaded in
        each branch.
        """
        text = self.text
        if all(one.way.is_sure for one in waiting):
            for one in waiting:
                one.writer.values.loaded[id(one.ready.effect)] = self._loaded(one, one.way)
                one.finish()
            return
        direct, general, join = map(text.fresh, ("direct", "general", "join"))
        ways = choose(text, [one.way for one in waiting], direct, general)
        moved = {
            id(one): self._loaded(one, way)
            for one, way in zip(waiting, ways, strict=True)
            if not _stays(one)
        }
        before = text.block
        text.jump(join)
        text.label(general)
        regions = _regions(waiting)
        others = self._general(waiting, regions)
        after = text.block
        text.jump(join)
        text.label(join)
        own = [
            [regions[id(one)].pointer] if id(one) in regions else moved.get(id(one), way.pointers)
            for one, way in zip(waiting, ways, strict=True)
        ]
        joined = self._joined(waiting, (before, own), (after, others))
        for one, names in zip(waiting, joined, strict=True):
            found = names
            if id(one) in regions:
                found = [text.at(names[0], _place(one)[1])] * len(one.way.pointers)
            if _stays(one):
                found = self._loaded(one, replace(one.way, pointers=found))
            one.writer.values.loaded[id(one.ready.effect)] = found
            one.finish()

    def _joined(
        self, waiting: list[_Waiting], direct: _Branch, general: _Branch
    ) -> list[list[str]]:
        """Return the names behind both branches of what each branch has of the messages."""
        (before, own), (after, others) = direct, general
        names = dict[tuple[str, str], str]()
        for one, here, there in zip(waiting, own, others, strict=True):
            for a, b in zip(here, there, strict=True):
                if (a, b) not in names:
                    code = f"phi {_kind(one)} [ {a}, %{before} ], [ {b}, %{after} ]"
                    names[a, b] = self.text.let(code)
        return [
            [names[pair] for pair in zip(here, there, strict=True)]
            for here, there in zip(own, others, strict=True)
        ]

    def _general(self, waiting: list[_Waiting], regions: dict[int, _Region]) -> list[list[str]]:
        """Load in the general form; return the pointers to what stays in memory, else vectors.

        Of what is in a region that is where its anchor would be.
        """
        accesses = [one.ready.access for one in waiting]
        sizes = [access.parts * access.vector_bytes for access in accesses]
        found, offset = list[list[str]](), EXCHANGE_DATA + max(sizes)
        starts = dict[_Region, tuple[int, str]]()
        supposed = any(one.way.supposed for one in waiting)
        for one, size in zip(waiting, sizes, strict=True):
            region = regions.get(id(one))
            if region is not None:
                if region not in starts:
                    area = self.unit.context_pointer(Context.EXCHANGE)
                    start = offset - region.first
                    starts[region] = start, self.text.at(area, start)
                    offset += region.size
                place = starts[region][0] + _place(one)[1]
                self._left(one, place, supposed=supposed)
                found.append([starts[region][1]])
                continue
            if _stays(one):
                found.append(self._left(one, offset, supposed=supposed))
            elif supposed:
                found.append(one.writer.load_elsewhere(one.ready))
            else:
                one.writer.general.move(one.ready)
                found.append(one.writer.general.results(one.ready.access))
            offset += size
        self.unit.module.sites.reserve(offset)
        return found

    @staticmethod
    def _loaded(one: _Waiting, way: Rows) -> list[str]:
        access = one.ready.access
        return one.writer.rows.load(way, access.scalar, access.parts)

    def _left(self, one: _Waiting, offset: int, *, supposed: bool) -> list[str]:
        """Load in the general form and leave what it loads at a byte of the exchange area.

        Return where the pieces are, as they would be where they came from. Where another message
        may not be in its `supposed` rows, this one may well be in range.
        """
        access, pointers = one.ready.access, one.way.pointers
        if one.way.supposed:
            found = one.writer.load_elsewhere(one.ready)
            places = self._places(one, offset)
            one.writer.rows.store(places, access.lanes, access.scalar, found)
            return places
        places = self._copied(one, offset) if supposed else self._moved(one, offset)
        if one.ready.mask is None:  # every lane of pieces that are alike has been loaded
            return [places[pointers.index(pointer)] for pointer in pointers]
        return places

    def _places(self, one: _Waiting, offset: int) -> list[str]:
        """Return the pointers to where pieces are left from a byte of the exchange area on."""
        form, area = one.way.shape.form, self.unit.context_pointer(Context.EXCHANGE)
        size = one.ready.access.size * (form.piece if form.step else 1)
        return [self.text.at(area, offset + n * size) for n in range(len(one.way.pointers))]

    def _moved(self, one: _Waiting, offset: int) -> list[str]:
        """Load in the general form; return where the pieces are left."""
        access, form = one.ready.access, one.way.shape.form
        one.writer.general.move(one.ready, offset, firsts=0 if form.step else form.piece)
        places = self._places(one, offset)
        if form.step and access.parts > 1:
            found = one.writer.general.results(access, offset)
            one.writer.rows.store(places, access.lanes, access.scalar, found)
        return places

    def _copied(self, one: _Waiting, offset: int) -> list[str]:
        """Copy what is in range, else load it in the general form; return where it is left."""
        text, (direct, general, join) = self.text, self.text.labels("direct", "general", "join")
        [rows] = choose(text, [one.way], direct, general)
        self._copy(one, rows, self._places(one, offset))
        text.jump(join)
        text.label(general)
        self._moved(one, offset)
        text.jump(join)
        text.label(join)
        return self._places(one, offset)

    def _copy(self, one: _Waiting, rows: Rows, places: list[str]) -> None:
        """Copy what is in range to places where the general form would leave it."""
        text, access = self.text, one.ready.access
        if rows.shape.form.step:
            found = self._loaded(one, rows)
            one.writer.rows.store(places, access.lanes, access.scalar, found)
            return
        kind = f"[{access.size} x i8]"
        for pointer, place in zip(rows.pointers, places, strict=True):
            element = text.let(f"load {kind}, ptr {pointer}, align 1")
            text.do(f"store {kind} {element}, ptr {place}, align 1")

    def _store(self, waiting: list[_Waiting]) -> None:
        text = self.text
        if all(one.way.is_sure for one in waiting):
            for one in waiting:
                one.writer.store_rows(one.ready, one.way)
            return
        direct, general, join = map(text.fresh, ("direct", "general", "join"))
        ways = choose(text, [one.way for one in waiting], direct, general)
        supposed = any(one.way.supposed for one in waiting)
        for one, way in zip(waiting, ways, strict=True):
            one.writer.store_rows(one.ready, way)
        text.jump(join)
        text.label(general)
        for one in waiting:
            if supposed:
                one.writer.store_elsewhere(one.ready)
            else:
                one.writer.general.move(one.ready)
        text.jump(join)
        text.label(join)


def _regions(waiting: list[_Waiting]) -> dict[int, _Region]:
    """Return the regions that rows near one anchor are left in, as they are in memory.

    Code behind a check then reaches all of them from one pointer. Rows that have bytes in common
    are left apart, since each lane is loaded by itself. Of pieces that are alike all are left,
    behind the first one: the row that comes next is left over them, and where it is shorter they
    end behind it.
    """
    near = dict[str, list[_Waiting]]()
    for one in waiting:
        alike = len(set(one.way.pointers)) == 1 and one.ready.mask is None
        if _stays(one) and alike and (not one.way.supposed or len(one.way.pointers) == 1):
            near.setdefault(_place(one)[0], []).append(one)
    found = dict[int, _Region]()
    for pointer, some in near.items():
        first = _place(some[0])[1]
        end = max(_place(one)[1] + _left_bytes(one) for one in some)
        region = _Region(pointer, first, end - first)
        apart = all(_place(a)[1] + _bytes(a) <= _place(b)[1] for a, b in pairwise(some))
        if len(some) > 1 and apart and region.size <= _MOST_BYTES:
            found |= {id(one): region for one in some}
    return found


def _place(one: _Waiting) -> tuple[str, int]:
    """Return where all pieces of a row are: the pointer to their anchor, and the distance."""
    near = one.way.near[0] if one.way.near else None
    return (one.way.pointers[0], 0) if near is None else (near.anchor.pointer, near.offset)


def _left_bytes(one: _Waiting) -> int:
    """Return how many bytes the general form leaves of a row, all pieces one after another."""
    return one.ready.access.size * one.ready.access.lanes


def _bytes(one: _Waiting) -> int:
    form = one.way.shape.form
    return one.ready.access.size * (form.piece if form.step else 1)


def _may_wait(step: Step, ready: Ready) -> bool:
    """Whether an instruction is one message and register writes, and lanes that are on can move."""
    others = [effect for effect in step.effects if effect is not ready.effect]
    return all(isinstance(effect, WriteRegister) for effect in others)


def _overtakes(effect: Effect) -> bool:
    if isinstance(effect, Load | Store):
        return not is_called_out(effect)
    return isinstance(effect, WriteRegister | WritePredicate | WriteState)


def _stays(one: _Waiting) -> bool:
    """Whether rows are loaded behind the check: those that memory has as registers have them."""
    form, access = one.way.shape.form, one.ready.access
    if one.way.supposed and not form.step:
        return False
    return not form.step or form.stride == access.size


def _kind(one: _Waiting) -> str:
    return "ptr" if _stays(one) else one.ready.access.vector

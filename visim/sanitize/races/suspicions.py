"""The instrument of suspicions: native code that sees whether a launch can have races at all.

For each four bytes of memory it keeps the last who wrote and the last who read. Where somebody else
comes between the same barriers, or from another group, that is suspicious, and the launch is run
again and looked at precisely (`detector`). What is not suspicious has no races: accesses of parts
of four bytes, locks and orders by atomics are suspicious, though they may be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from visim.engine.provenance import Provenance
from visim.isa import Unexecutable
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.predefined import BY_NAME, GENERALS
from visim.sanitize.bounds.instrument import (
    Access,
    Reach,
    address_of,
    element_bytes,
    group_of_thread,
)
from visim.sanitize.races.cells import (
    CELL_SHIFT,
    FIRST_GROUP,
    GROUP_SHIFT,
    ITEM_SHIFT,
    MANY_GROUPS,
    MANY_ITEMS,
    MOST_PHASES,
    PHASE_SHIFT,
    READ_BYTES,
    CellSpace,
)
from visim.sanitize.uninit.memory import FLAT_BITS, SLM_BITS
from visim.sem.effects import (
    FIRST_COUNTER,
    Atomic,
    Barrier,
    BarrierSignal,
    Effect,
    Fence,
    Load,
    LoadBlock,
    NamedBarrierSignal,
    Place,
    RegisterWrite,
    Request,
    Space,
    Store,
    StoreBlock,
    Watch,
)
from visim.sem.expr import (
    UOPS,
    Expr,
    broadcast,
    constant,
    known_integer,
    lane_numbers,
    select,
    vector_constant,
)
from visim.types import BOOL, UD, UQ

SUSPICION = "race suspicion"
_LOCAL, _GLOBAL = 0, 1
_MEMORY = {Space.SLM: _LOCAL, Space.FLAT: _GLOBAL, Space.SURFACE: _GLOBAL}
_FENCED = {Space.SLM: (_LOCAL,), Space.FLAT: (_GLOBAL,), None: (_LOCAL, _GLOBAL)}
_CELL = 4
_PLAIN, _ATOMIC = 1, 2
_SEVERAL_GROUPS, _SEVERAL_ITEMS = 1, 2
_THREAD_FIELD, _THREAD_BYTES, _WHOLE = 8, 16, 63
_PHASE = 1 << PHASE_SHIFT
_GROUP = (1 << 64) - (1 << GROUP_SHIFT)
"""The bits of a word that say which group it is of."""


def can_suspect(kernel: LinkedKernel, reach: Reach) -> bool:
    """Whether all that orders the threads of a kernel are plain barriers, and it has groups."""
    if not reach.has_groups:
        return False
    for unit in kernel.units:
        for pc in range(len(unit.body)):
            for effect in _effects(kernel, unit, pc):
                if isinstance(effect, NamedBarrierSignal | BarrierSignal | Request):
                    return False
                if isinstance(effect, Load | Store) and effect.shape is not None:
                    return False
    return True


class SuspicionInstrument:
    """Keeps who accessed what, and tells of what is suspicious.

    Args:
        kernel: the kernel without instruments.
        reach: what it reaches.
        space: where the words are.
    """

    def __init__(self, kernel: LinkedKernel, reach: Reach, space: CellSpace) -> None:
        self.name = f"race suspicions at {space.base:x}"
        self.space = space
        self._kernel, self._hidden = kernel, reach.hidden
        self._flat = Provenance(kernel, reach.flat)
        self._start = first_instruction(kernel)

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction, with those on words of cells."""
        del kernel
        found: list[Effect] = []
        if unit.number == 0 and pc == self._start:
            found += self._first_heads()
        for effect in effects:
            if isinstance(effect, RegisterWrite):
                continue
            if isinstance(effect, Barrier):
                for memory in _fenced_before(self._kernel, self._kernel.units[unit.number], pc):
                    found += self._next_phase(memory)
            looked = self._is_looked_at(unit, effect)
            if looked and isinstance(effect, Access):
                execution = getattr(unit.body[pc], "exec", None)
                size = (0, 0) if execution is None else (execution.size, execution.offset)
                found += _Cells(self, effect, *size).effects()
            found.append(effect)
        return (*found, *(effect for effect in effects if isinstance(effect, RegisterWrite)))

    def _is_looked_at(self, unit: LinkedUnit, effect: Effect) -> bool:
        if not isinstance(effect, Access) or effect.space not in _MEMORY:
            return False
        if effect.surface is not None:
            index = known_integer(effect.surface)
            return index is None or index < FIRST_COUNTER
        if effect.space is not Space.FLAT:
            return True
        owners = self._flat.of(self._kernel.units[unit.number], address_of(effect))
        return not owners or not owners <= self._hidden

    # Groups and barriers

    def head_at(self, memory: int) -> Expr:
        """Return where the thread keeps what words of its accesses to a memory begin with."""
        return thread_number() * _THREAD_BYTES + (self.space.heads + 8 * memory)

    def _set_head(self, memory: int, value: Expr) -> Store:
        return Store(Space.SHADOW, None, self.head_at(memory), (value,), None)

    def _first_heads(self) -> Iterator[Effect]:
        x, y, z = (one.to(UQ) for one in group_of_thread())
        strides = Load(Space.SHADOW, None, constant(self.space.strides, UQ, 1), UQ, 2, None)
        yield strides
        group = (x + y * loaded(strides, 0) + z * loaded(strides, 1)) | FIRST_GROUP
        for memory in (_LOCAL, _GLOBAL):
            yield self._set_head(memory, group << GROUP_SHIFT)

    def _next_phase(self, memory: int) -> Iterator[Effect]:
        load = Load(Space.SHADOW, None, self.head_at(memory), UQ, 1, None)
        yield load
        head = loaded(load)
        more = (head & (MOST_PHASES << PHASE_SHIFT)).ne(MOST_PHASES << PHASE_SHIFT)
        yield self._set_head(memory, select(more, head + _PHASE, head))


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one dword of an access: where, and what they are before it."""

    where: Expr
    writer: Expr
    reader: Expr


class _Cells:
    """What an access does to the words of the cells that it reaches."""

    def __init__(
        self, instrument: SuspicionInstrument, effect: Access, size: int, first: int
    ) -> None:
        self._instrument, self._effect = instrument, effect
        self._memory = _MEMORY[effect.space]
        self._found: list[Effect] = []
        is_block = isinstance(effect, LoadBlock | StoreBlock)
        address = address_of(effect).to(UQ)
        self._mask = effect.mask
        if is_block:
            count = effect.count if isinstance(effect, LoadBlock) else effect.value.lanes
            steps = vector_constant(tuple(n * element_bytes(effect) for n in range(count)), UQ)
            address = broadcast(address, count) + steps
            self._mask = None if effect.mask is None else broadcast(effect.mask, count)
        self._address, self._lanes = address, address.lanes
        is_own = size == self._lanes and size > 1 and not is_block
        channels = lane_numbers(self._lanes).to(UQ) + first
        self._channels = channels if is_own else constant(_WHOLE, UQ, self._lanes)
        self._collides = not is_block

    def effects(self) -> list[Effect]:
        """Return the effects that come before the access."""
        head, base = self._head()
        own = head | self._channels << ITEM_SHIFT
        own = own | broadcast(thread_number() << (6 + ITEM_SHIFT), self._lanes)
        limit = head - base
        suspect = (self._address & (min(element_bytes(self._effect), _CELL) - 1)).ne(0)
        for offset in self._offsets():
            suspect = suspect | self._cell(offset, own, base, limit)
        mask = suspect if self._mask is None else self._mask & suspect
        told = lane_numbers(self._lanes).to(UQ)
        self._found.append(Watch(SUSPICION, told, mask, group_of_thread()))
        return self._found

    def _offsets(self) -> Sequence[int]:
        """Return how far the dwords of a lane are behind its address."""
        effect = self._effect
        each = element_bytes(effect)
        elements = 1
        if isinstance(effect, Load):
            elements = effect.components
        elif isinstance(effect, Store):
            elements = len(effect.values)
        return sorted({n // _CELL * _CELL for n in range(0, each * elements, min(each, _CELL))})

    def _head(self) -> tuple[Expr, Expr]:
        """Return what group and barriers make of words, and what the group alone makes."""
        load = Load(Space.SHADOW, None, self._instrument.head_at(self._memory), UQ, 1, None)
        self._found.append(load)
        head = loaded(load)
        return broadcast(head, self._lanes), broadcast(head & _GROUP, self._lanes)

    def _cell(self, offset: int, own: Expr, base: Expr, limit: Expr) -> Expr:
        """Note an access to a dword of each lane; return in which lanes it is suspicious."""
        where = self._where(offset)
        load = Load(Space.SHADOW, None, where, UQ, 2, self._mask)
        self._found.append(load)
        words = _Words(where, loaded(load, 0), loaded(load, 1))
        writer = self._meets(words.writer, own, base, limit)
        match self._effect:
            case Load() | LoadBlock():
                self._note_reader(words, own, base)
                return writer
            case Atomic():
                plain = (words.writer & _ATOMIC).eq(0)
                found = writer & plain | self._meets_readers(words.reader, own, base, limit)
                self._note_atomic(words, own, base)
                return found
            case _:
                found = writer | self._meets_readers(words.reader, own, base, limit)
                self._store(where, own | _PLAIN)
                return found | self._collided(where, own | _PLAIN)

    def _meets(self, word: Expr, own: Expr, base: Expr, limit: Expr) -> Expr:
        """Return where a word is somebody else's, whom nothing has ordered before this access."""
        behind = word - base
        found = behind.ge(limit) & ((word ^ own) >> ITEM_SHIFT).ne(0)
        if self._memory == _LOCAL:  # another group has another memory
            return found & behind.lt(1 << GROUP_SHIFT)
        return found & word.ne(0)

    def _meets_readers(self, word: Expr, own: Expr, base: Expr, limit: Expr) -> Expr:
        behind = word - base
        others = ((word ^ own) >> ITEM_SHIFT).ne(0) | (word & _SEVERAL_ITEMS).ne(0)
        found = behind.ge(limit) & others
        if self._memory == _LOCAL:
            return found & behind.lt(1 << GROUP_SHIFT)
        return (found | (word & _SEVERAL_GROUPS).ne(0)) & word.ne(0)

    def _note_reader(self, words: _Words, own: Expr, base: Expr) -> None:
        word = words.reader
        changed = word ^ own
        zero = constant(0, UQ, self._lanes)
        together = (changed >> PHASE_SHIFT).eq(0)
        several = together & ((changed >> ITEM_SHIFT).ne(0) | (word & _SEVERAL_ITEMS).ne(0))
        new = own | select(several, constant(_SEVERAL_ITEMS, UQ, self._lanes), zero)
        # Lanes that read the same: the word is that of one of them.
        if self._memory == _GLOBAL:
            apart = word.ne(0) & (word - base).ge(1 << GROUP_SHIFT)
            groups = apart | (word & _SEVERAL_GROUPS).ne(0)
            new = new | select(groups, constant(_SEVERAL_GROUPS, UQ, self._lanes), zero)
        self._store(words.where + READ_BYTES, new)
        if self._collides and self._lanes > 1:
            load = Load(Space.SHADOW, None, words.where + READ_BYTES, UQ, 1, self._mask)
            self._found.append(load)
            kept = loaded(load)
            shared = ((kept ^ new) >> ITEM_SHIFT).ne(0)
            mask = shared if self._mask is None else self._mask & shared
            both = (kept | _SEVERAL_ITEMS,)
            where = words.where + READ_BYTES
            self._found.append(Store(Space.SHADOW, None, where, both, mask))

    def _note_atomic(self, words: _Words, own: Expr, base: Expr) -> None:
        """All of a group that update a cell are one; so are several groups."""
        new = own | (MANY_ITEMS | _ATOMIC)
        if self._memory == _GLOBAL:
            apart = (words.writer & _ATOMIC).ne(0) & (words.writer - base).ge(1 << GROUP_SHIFT)
            many = constant(MANY_GROUPS | _ATOMIC, UQ, self._lanes)
            new = select(apart, many, new)
        self._store(words.where, new)

    def _collided(self, where: Expr, own: Expr) -> Expr:
        """Return the lanes over whose word another lane of the instruction has written."""
        if not self._collides or self._lanes == 1:
            return constant(0, BOOL, self._lanes)
        load = Load(Space.SHADOW, None, where, UQ, 1, self._mask)
        self._found.append(load)
        return (loaded(load) ^ own).ne(0)

    def _store(self, where: Expr, value: Expr) -> None:
        self._found.append(Store(Space.SHADOW, None, where, (value,), self._mask))

    def _where(self, offset: int) -> Expr:
        """Return where the words are of the dword so far behind each lane's address."""
        space, place = self._instrument.space, self._address + offset
        if self._memory == _LOCAL:
            low = place & ((1 << SLM_BITS) - _CELL)
            return (low << CELL_SHIFT) + space.slm
        if self._effect.surface is not None:
            entry = ((self._effect.surface.to(UQ) & 0xFF) << 3) + space.table
            start = Load(Space.SHADOW, None, entry, UQ, 1, None)
            self._found.append(start)
            place = place + broadcast(loaded(start), self._lanes)
        low = place & ((1 << FLAT_BITS) - _CELL)
        return (low << CELL_SHIFT) + space.base


def first_instruction(kernel: LinkedKernel) -> int:
    """Return where the first instruction of a kernel is that channels execute: no label."""
    body = kernel.units[0].body
    return next((pc for pc, item in enumerate(body) if hasattr(item, "exec")), 0)


def thread_number() -> Expr:
    """Return the number of the thread in its group, which r0 has."""
    r0 = GENERALS[BY_NAME["%r0"].index]
    place = Place(r0, _THREAD_FIELD, UD, 1, 1, 0, UD.bytes)
    return (Expr(UOPS["read"], UD, 1, (), place) & 0xFF).to(UQ)


def loaded(load: Load, component: int = 0) -> Expr:
    """Return what a message has loaded."""
    return Expr(UOPS["loaded"], UQ, load.addresses.lanes, (), (load, component))


def _fenced_before(kernel: LinkedKernel, unit: LinkedUnit, pc: int) -> tuple[int, ...]:
    """Return the memories that fences in front of a barrier are for, with no access between."""
    found: set[int] = set()
    used: set[int] = set()
    for place in range(pc - 1, -1, -1):
        item = unit.body[place]
        if type(item).__name__ in {"LabelMark", "SubroutineMark"}:
            break
        for effect in _effects(kernel, unit, place):
            if isinstance(effect, Fence):
                found |= {one for one in _FENCED[effect.memory] if one not in used}
            elif isinstance(effect, Access) and effect.space in _MEMORY:
                used.add(_MEMORY[effect.space])
            elif isinstance(effect, Barrier):
                return tuple(sorted(found))
    return tuple(sorted(found))


def _effects(kernel: LinkedKernel, unit: LinkedUnit, pc: int) -> tuple[Effect, ...]:
    if unit.body[pc].op.meaning is None:
        return ()
    try:
        return kernel.effects(unit, pc)
    except Unexecutable:
        return ()


__all__ = ["SUSPICION", "SuspicionInstrument", "can_suspect"]

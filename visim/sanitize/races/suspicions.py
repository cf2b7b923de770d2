"""The instrument of suspicions: native code that sees whether a launch can have races at all.

For each four bytes of memory it keeps the last who wrote and the last who read. Where somebody else
comes between the same barriers, or from another group, that is suspicious, and the launch is run
again and looked at precisely (`detector`). What is not suspicious has no races: bytes of one cell
that work-items share, locks and orders by atomics are suspicious, though they may be right.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.engine.claims import GROUP_SHIFT, PHASE_SHIFT, PHASES, THREAD_SHIFT
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
from visim.sanitize.races.cells import CellSpace
from visim.sanitize.uninit.memory import FLAT_BITS, SLM_BITS
from visim.sem.effects import (
    FIRST_COUNTER,
    Atomic,
    Barrier,
    BarrierSignal,
    Claim,
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
    select,
)
from visim.types import BOOL, UD, UQ

SUSPICION = "race suspicion"
_LOCAL, _GLOBAL = 0, 1
_MEMORY = {Space.SLM: _LOCAL, Space.FLAT: _GLOBAL, Space.SURFACE: _GLOBAL}
_FENCED = {Space.SLM: (_LOCAL,), Space.FLAT: (_GLOBAL,), None: (_LOCAL, _GLOBAL)}
_THREAD_FIELD, _THREAD_BYTES = 8, 16
_PHASE = 1 << PHASE_SHIFT


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
                found += self._claim(effect, *size)
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

    # Accesses

    def _claim(self, effect: Access, size: int, first: int) -> Iterator[Effect]:
        """Yield what notes an access of an instruction of so many channels, from `first` on."""
        memory, address = _MEMORY[effect.space], address_of(effect).to(UQ)
        if effect.surface is not None:
            entry = ((effect.surface.to(UQ) & 0xFF) << 3) + self.space.table
            start = Load(Space.SHADOW, None, entry, UQ, 1, None)
            yield start
            address = address + broadcast(loaded(start), address.lanes)
        is_own = address.lanes > 1 and size == address.lanes
        head = Load(Space.SHADOW, None, self.head_at(memory), UQ, 1, None)
        yield head
        own = loaded(head) | thread_number() << THREAD_SHIFT
        claim = Claim(
            verb_of(effect),
            memory == _LOCAL,
            address,
            element_bytes(effect) * _elements(effect),
            effect.mask,
            own,
            first if is_own else None,
            self.space.slm if memory == _LOCAL else self.space.flat,
            SLM_BITS if memory == _LOCAL else FLAT_BITS,
            self.space.launch,
        )
        yield claim
        is_suspicious = Expr(UOPS["loaded"], BOOL, 1, (), (claim, 0))
        yield Watch(SUSPICION, constant(0, UQ, 1), is_suspicious, group_of_thread())

    # Groups and barriers

    def head_at(self, memory: int) -> Expr:
        """Return where the thread keeps what words of its accesses to a memory begin with."""
        return thread_number() * _THREAD_BYTES + (self.space.heads + 8 * memory)

    def _set_head(self, memory: int, value: Expr) -> Store:
        return Store(Space.SHADOW, None, self.head_at(memory), (value,), None)

    def _first_heads(self) -> Iterator[Effect]:
        x, y, z = (one.to(UQ) for one in group_of_thread())
        strides = Load(Space.SHADOW, None, constant(self.space.strides, UQ, 1), UQ, 2, None)
        first = Load(Space.SHADOW, None, constant(self.space.launch, UQ, 1), UQ, 1, None)
        yield strides
        yield first
        group = x + y * loaded(strides, 0) + z * loaded(strides, 1)
        for memory in (_LOCAL, _GLOBAL):
            yield self._set_head(memory, loaded(first) + (group << GROUP_SHIFT))

    def _next_phase(self, memory: int) -> Iterator[Effect]:
        load = Load(Space.SHADOW, None, self.head_at(memory), UQ, 1, None)
        yield load
        head = loaded(load)
        more = (head & PHASES).ne(PHASES)
        yield self._set_head(memory, select(more, head + _PHASE, head))


def first_instruction(kernel: LinkedKernel) -> int:
    """Return where the first instruction of a kernel is that channels execute: no label."""
    body = kernel.units[0].body
    return next((pc for pc, item in enumerate(body) if hasattr(item, "exec")), 0)


def verb_of(effect: Access) -> str:
    """Return what an access does: "load", "store" or "atomic"."""
    match effect:
        case Load() | LoadBlock():
            return "load"
        case Atomic():
            return "atomic"
        case _:
            return "store"


def _elements(effect: Access) -> int:
    """Return how many elements each lane of an access has."""
    match effect:
        case Load():
            return effect.components
        case Store():
            return len(effect.values)
        case LoadBlock():
            return effect.count
        case StoreBlock():
            return effect.value.lanes
        case _:
            return 1


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

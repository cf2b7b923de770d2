"""The instrument of suspicions: native code that sees whether a launch can have races at all.

For each four bytes of memory it keeps the last who wrote and the last who read. Where somebody else
comes between the same barriers, or from another group, that is suspicious, and the launch is run
again and looked at precisely (`detector`). What is not suspicious has no races: bytes of one cell
that work-items share, locks and orders by atomics are suspicious, though they may be right.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.engine.claims import PHASE_SHIFT, PHASES
from visim.engine.provenance import Provenance
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.bounds.instrument import (
    Access,
    Reach,
    address_of,
    element_bytes,
    group_of_thread,
)
from visim.sanitize.images.table import ImageTable
from visim.sanitize.images.texels import is_painted, texels_of
from visim.sanitize.images.texels import verb_of as verb_of_request
from visim.sanitize.quick.groups import GLOBAL, LOCAL, head_at, thread_word
from visim.sanitize.quick.suspects import suspicion
from visim.sanitize.races.cells import CellSpace
from visim.sanitize.races.needless import Needless
from visim.sanitize.uninit.memory import FLAT_BITS, SLM_BITS
from visim.sanitize.words import kept, loaded, word_at
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
    RegisterWrite,
    Request,
    Space,
    Store,
    StoreBlock,
)
from visim.sem.expr import (
    UOPS,
    Expr,
    broadcast,
    known_integer,
    select,
    take,
)
from visim.sem.requests import TexelAtomic
from visim.types import BOOL, UQ

_MEMORY = {Space.SLM: LOCAL, Space.FLAT: GLOBAL, Space.SURFACE: GLOBAL}
_FENCED = {Space.SLM: (LOCAL,), Space.FLAT: (GLOBAL,), None: (LOCAL, GLOBAL)}
_PHASE = 1 << PHASE_SHIFT
_MOST_LANES = 64
"""Claims have masks of 64 bits; the 2D blocks that a thread moves as a whole have more lanes."""


def can_suspect(kernel: LinkedKernel, reach: Reach) -> bool:
    """Whether all that orders the threads of a kernel are plain barriers, and it has groups.

    Texels that are changed in place by atomics are looked at by nobody else.
    """
    if not reach.has_groups:
        return False
    for unit in kernel.units:
        for pc in range(len(unit.body)):
            for effect in kernel.known_effects(unit, pc):
                if isinstance(effect, NamedBarrierSignal | BarrierSignal):
                    return False
                if isinstance(effect, Load | Store) and effect.shape is not None:
                    return False
                if isinstance(effect, Request) and isinstance(effect.operation, TexelAtomic):
                    return False
    return True


class SuspicionInstrument:
    """Keeps who accessed what, and tells of what is suspicious.

    Args:
        kernel: the kernel without instruments.
        reach: what it reaches.
        space: where the words are.
        images: where the shapes of images are.
        is_apart: whether no two arguments share memory.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        reach: Reach,
        space: CellSpace,
        images: ImageTable,
        *,
        is_apart: bool,
    ) -> None:
        apart = ", arguments apart" if is_apart else ""
        self._images = images if is_painted(kernel) else None
        painted = "" if self._images is None else f", images at {images.address:x}"
        self.name = f"race suspicions at {space.base:x}{apart}{painted}"
        self._needless = Needless(kernel, reach, is_apart=is_apart)
        self.space = space
        self._kernel, self._hidden = kernel, reach.hidden
        self._flat = Provenance(kernel, reach.flat)

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction, with those on words of cells."""
        del kernel
        found: list[Effect] = []
        for effect in effects:
            if isinstance(effect, RegisterWrite):
                continue
            if isinstance(effect, Barrier):
                for memory in _fenced_before(self._kernel, self._kernel.units[unit.number], pc):
                    found += self._next_phase(memory)
            looked = self._is_looked_at(unit, pc, effect)
            if looked and isinstance(effect, Access):
                execution = getattr(unit.body[pc], "exec", None)
                size = (0, 0) if execution is None else (execution.size, execution.offset)
                found += self._claim(effect, *size)
            if isinstance(effect, Request) and self._images is not None:
                found += self._texels(effect, unit.body[pc], self._images)
            found.append(effect)
        return (*found, *(effect for effect in effects if isinstance(effect, RegisterWrite)))

    def _is_looked_at(self, unit: LinkedUnit, pc: int, effect: Effect) -> bool:
        if not isinstance(effect, Access) or effect.space not in _MEMORY:
            return False
        if self._needless(unit, pc, effect):
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
            start = word_at(entry)
            yield start
            address = address + broadcast(loaded(start), address.lanes)
        is_own = address.lanes > 1 and size == address.lanes
        channel, count = first if is_own else None, element_bytes(effect) * _elements(effect)
        yield from self._claims(memory, verb_of(effect), address, effect.mask, count, channel)

    def _texels(self, request: Request, item: object, images: ImageTable) -> Iterator[Effect]:
        """Yield what notes the texels of a message: their first bytes are enough."""
        texels = texels_of(request, images)
        if texels is None:
            return
        yield from texels.words
        execution = getattr(item, "exec", None)
        is_own = execution is not None and execution.size == texels.addresses.lanes > 1
        channel = execution.offset if execution is not None and is_own else None
        verb = verb_of_request(request)
        yield from self._claims(GLOBAL, verb, texels.addresses, texels.inside, 1, channel)

    def _claims(
        self,
        memory: int,
        verb: str,
        address: Expr,
        mask: Expr | None,
        count: int,
        first: int | None,
    ) -> Iterator[Effect]:
        """Yield what notes accesses to `count` bytes at each address, from channel `first` on."""
        head = word_at(head_at(self.space, memory))
        yield head
        own = loaded(head) | thread_word()
        for some, chosen in _parts(address, mask):
            claim = Claim(
                verb,
                memory == LOCAL,
                some,
                count,
                chosen,
                own,
                first,
                self.space.slm if memory == LOCAL else self.space.flat,
                SLM_BITS if memory == LOCAL else FLAT_BITS,
                self.space.launch,
            )
            yield claim
            is_suspicious = Expr(UOPS["loaded"], BOOL, 1, (), (claim, 0))
            yield suspicion(is_suspicious, group_of_thread())

    def _next_phase(self, memory: int) -> Iterator[Effect]:
        """Count a barrier with a fence for a memory."""
        where = head_at(self.space, memory)
        load = word_at(where)
        yield load
        head = loaded(load)
        more = (head & PHASES).ne(PHASES)
        yield kept(where, select(more, head + _PHASE, head))


def _parts(addresses: Expr, mask: Expr | None) -> Iterator[tuple[Expr, Expr | None]]:
    """Yield addresses and their mask in parts of so many lanes as a claim has at most."""
    if addresses.lanes <= _MOST_LANES:
        yield addresses, mask
        return
    for first in range(0, addresses.lanes, _MOST_LANES):
        lanes = tuple(range(first, min(first + _MOST_LANES, addresses.lanes)))
        yield take(addresses, lanes), None if mask is None else take(mask, lanes)


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


def _fenced_before(kernel: LinkedKernel, unit: LinkedUnit, pc: int) -> tuple[int, ...]:
    """Return the memories that fences in front of a barrier are for, with no access between."""
    found: set[int] = set()
    used: set[int] = set()
    for place in range(pc - 1, -1, -1):
        item = unit.body[place]
        if type(item).__name__ in {"LabelMark", "SubroutineMark"}:
            break
        for effect in kernel.known_effects(unit, place):
            if isinstance(effect, Fence):
                found |= {one for one in _FENCED[effect.memory] if one not in used}
            elif isinstance(effect, Access) and effect.space in _MEMORY:
                used.add(_MEMORY[effect.space])
            elif isinstance(effect, Barrier):
                return tuple(sorted(found))
    return tuple(sorted(found))


__all__ = ["SuspicionInstrument", "can_suspect"]

"""The instrument of barriers in quick looks: channels and places compared where threads arrive."""

from __future__ import annotations

from collections.abc import Iterator

from visim.engine.claims import GROUP, PHASE_SHIFT, PHASES
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.bounds.instrument import group_of_thread
from visim.sanitize.quick.groups import GLOBAL, barrier_count, head_at, start_mask
from visim.sanitize.quick.suspects import suspicion
from visim.sanitize.races.cells import CellSpace
from visim.sanitize.words import kept, loaded, word_at
from visim.sem.effects import Barrier, Effect
from visim.sem.expr import UOPS, Expr
from visim.sem.tracer import Tracer
from visim.types import UD, UQ

_UNIT_SHIFT = 16


class MeetingInstrument:
    """Compares how a thread comes to a barrier with how it started, and with how others came.

    Nobody comes to the barrier behind the next one before all have left this one, so that two
    words of a group are enough.
    """

    def __init__(self, space: CellSpace) -> None:
        self.name = f"meetings at {space.base:x}"
        self._space = space

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction; what is compared comes before a barrier."""
        if not any(isinstance(effect, Barrier) for effect in effects):
            return effects
        place = (unit.number << _UNIT_SHIFT) + pc
        return (*self._arrival(kernel.simd_size, place), *effects)

    def _arrival(self, lanes: int, place: int) -> Iterator[Effect]:
        space = self._space
        started, at = start_mask(space), barrier_count(space)
        count, head = word_at(at), word_at(head_at(space, GLOBAL))
        where = ((loaded(count) & 1) << 3) + space.meetings
        seen = word_at(where)
        yield from (started, count, head, seen)
        now = Expr(UOPS["mask_bits"], UD, 1, (Tracer.execution(0, lanes),)).to(UQ)
        number = (loaded(count) << PHASE_SHIFT) & PHASES
        own = (loaded(head) & GROUP) | number | place
        differs = now.ne(loaded(started)) & now.ne(0)
        together = ((loaded(seen) ^ own) >> PHASE_SHIFT).eq(0)
        elsewhere = together & loaded(seen).ne(own)
        yield kept(where, own)
        yield kept(at, loaded(count) + 1)
        yield suspicion(differs | elsewhere, group_of_thread())


__all__ = ["MeetingInstrument"]

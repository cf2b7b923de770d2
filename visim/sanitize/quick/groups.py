"""The instrument of groups: what threads and groups begin with, where Python is not told of them.

It comes behind all others, so that its effects stand in front of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.engine.claims import GROUP_SHIFT, THREAD_SHIFT
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.predefined import BY_NAME, GENERALS
from visim.sanitize.bounds.instrument import group_of_thread
from visim.sanitize.races.cells import THREAD_BYTES, CellSpace
from visim.sanitize.uninit.memory import SCRATCH_BITS, ShadowSpace
from visim.sanitize.words import kept, loaded, word_at
from visim.sem.effects import Effect, Fill, LoadBlock, Place
from visim.sem.expr import UOPS, Expr, constant, select
from visim.sem.tracer import Tracer
from visim.types import UD, UQ

_THREAD_FIELD = 8
"""Where r0 has the number of the thread in its group, in bytes."""
_UNDEFINED = 0xFF
LOCAL, GLOBAL = 0, 1
"""The memories that have heads of their own."""
_START, _COUNT = 16, 24
"""Where a thread has the channels that it starts with, and the number of its barriers."""


class GroupInstrument:
    """Sets what quick looks keep of threads and groups, and marks what nothing has written.

    Args:
        kernel: the kernel without instruments.
        space: where it is kept.
        shadows: of memory, if values are tracked that nothing has written.
    """

    def __init__(self, kernel: LinkedKernel, space: CellSpace, shadows: ShadowSpace | None) -> None:
        marks = "" if shadows is None else f", marks at {shadows.base:x}"
        self.name = f"groups at {space.base:x}{marks}"
        self._space, self._shadows = space, shadows
        self._start, self._lanes = first_instruction(kernel), kernel.simd_size

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction; those of a start come before the first one's."""
        del kernel
        if unit.number or pc != self._start:
            return effects
        return (*self._starting(), *effects)

    def _starting(self) -> Iterator[Effect]:
        space = self._space
        row, plane, first = map(word_at, (space.strides, space.strides + 8, space.launch))
        yield from (row, plane, first)
        x, y, z = (one.to(UQ) for one in group_of_thread())
        number = x + y * loaded(row) + z * loaded(plane)
        word = loaded(first) + (number << GROUP_SHIFT)
        mask = Expr(UOPS["mask_bits"], UD, 1, (Tracer.execution(0, self._lanes),)).to(UQ)
        zero = constant(0, UQ, 1)
        for memory in (LOCAL, GLOBAL):
            yield kept(head_at(space, memory), word)
        yield kept(_slot(space, _START), mask)
        yield kept(_slot(space, _COUNT), zero)
        if self._shadows is not None:
            yield from self._marks(self._shadows, word)

    def _marks(self, shadows: ShadowSpace, word: Expr) -> Iterator[Effect]:
        """Mark what the thread finds unwritten; the first of a group that of the group, too."""
        space = self._space
        group = word_at(space.group)
        own, start, size, scratch, step = (word_at(space.marks + 8 * number) for number in range(5))
        yield from (group, own, start, size, scratch, step)
        is_first, zero = loaded(group).ne(word), constant(0, UQ, 1)
        local, private = (select(is_first, loaded(one), zero) for one in (own, size))
        yield Fill(constant(shadows.slm, UQ, 1), local, _UNDEFINED)
        yield Fill(loaded(start), private, _UNDEFINED)
        thread = thread_number()
        begin = (thread + 1) * loaded(step)
        of_thread = (thread << SCRATCH_BITS) + shadows.scratch + begin
        yield Fill(of_thread, loaded(scratch), _UNDEFINED)
        yield kept(constant(space.group, UQ, 1), word)


def first_instruction(kernel: LinkedKernel) -> int:
    """Return where the first instruction of a kernel is that channels execute: no label."""
    body = kernel.units[0].body
    return next((pc for pc, item in enumerate(body) if hasattr(item, "exec")), 0)


def thread_number() -> Expr:
    """Return the number of the thread in its group, which r0 has."""
    r0 = GENERALS[BY_NAME["%r0"].index]
    place = Place(r0, _THREAD_FIELD, UD, 1, 1, 0, UD.bytes)
    return (Expr(UOPS["read"], UD, 1, (), place) & 0xFF).to(UQ)


def thread_word() -> Expr:
    """Return the number of the thread as words have it."""
    return thread_number() << THREAD_SHIFT


def head_at(space: CellSpace, memory: int) -> Expr:
    """Return where the thread keeps what words of its accesses to a memory begin with."""
    return _slot(space, 8 * memory)


def start_mask(space: CellSpace) -> LoadBlock:
    """Return what loads the channels that the thread has started with."""
    return word_at(_slot(space, _START))


def barrier_count(space: CellSpace) -> Expr:
    """Return where the number of barriers is that the thread has come to."""
    return _slot(space, _COUNT)


def _slot(space: CellSpace, offset: int) -> Expr:
    return thread_number() * THREAD_BYTES + (space.heads + offset)


__all__ = [
    "GLOBAL",
    "LOCAL",
    "GroupInstrument",
    "barrier_count",
    "head_at",
    "start_mask",
    "thread_word",
]

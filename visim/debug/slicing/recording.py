"""What the threads of a group did, instruction by instruction, up to a moment.

The group is executed again from its start, and each instruction noted with what only its run can
tell: masks, conditions, addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.debug.engine.memory import Access
from visim.debug.engine.timeline import Moment, Timeline
from visim.debug.slicing.sources import Sources
from visim.engine.modes import CR0_USED, float_mode
from visim.engine.plan import StepBuilder
from visim.errors import UnsupportedError
from visim.sem.expr import Expr

MOST_RECORDS = 4_000_000
_NOTHING: Mapping[Expr, NDArray[Any]] = {}


@dataclass(slots=True)
class Record:
    """An instruction that was executed: `tick` instructions were before it in its group.

    `active` are the channels that were on, `depth` the calls that were open.
    """

    tick: int
    thread: int
    unit: int
    pc: int
    active: int
    depth: int
    known: Mapping[Expr, NDArray[Any]]
    accesses: tuple[Access, ...] = ()


@dataclass(slots=True)
class Recording:
    """All records of a group up to a moment, those of each thread, and those that store."""

    group: int
    records: list[Record] = field(default_factory=list[Record])
    by_thread: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    stores: list[int] = field(default_factory=list[int])


class Recorder:
    """Makes recordings.

    Args:
        timeline: the launch; it stands at the end of the recording afterwards.
        sources: the facts of the kernel's instructions.
    """

    def __init__(self, timeline: Timeline, sources: Sources) -> None:
        self._timeline = timeline
        self._sources = sources
        self._probes: dict[tuple[int, int], Callable[[], tuple[Any, ...]] | None] = {}

    def record(self, end: Moment) -> Recording:
        """Execute a group again from its start to a moment, and return what it did.

        Raises:
            UnsupportedError: it is too long.
        """
        return self._recorded(end.group, end)

    def record_all(self, group: int) -> Recording:
        """Execute a whole group again, and return what it did; raises what `record` does."""
        return self._recorded(group, Moment(group + 1, 0))

    def _recorded(self, group: int, end: Moment) -> Recording:
        timeline = self._timeline
        timeline.go_to(Moment(group, 0))
        found = Recording(group)
        log = timeline.log
        log.accesses.clear()
        log.is_on = True
        try:
            timeline.run(None, lambda: self._note(found), end, singly=True)
            self._attach(found)
        finally:
            log.is_on = False
        return found

    def _note(self, found: Recording) -> bool:
        self._attach(found)
        stepper = self._timeline.stepper
        thread, stretch, pc = stepper.thread, stepper.stretch, stepper.pc
        if thread is None or stretch is None or pc is None or self._timeline.group != found.group:
            return False
        if len(found.records) >= MOST_RECORDS:
            raise UnsupportedError(
                f"the group has executed more than {MOST_RECORDS} instructions, which is more than "
                "is looked back over"
            )
        number = len(found.records)
        known = self._known(stretch.unit, pc)
        found.records.append(
            Record(
                *(stepper.group.tick, thread.number, stretch.unit, pc, thread.active),
                *(len(thread.frames), known),
            )
        )
        found.by_thread.setdefault(thread.number, []).append(number)
        return False

    def _attach(self, found: Recording) -> None:
        """Give the last record what it has done to memory."""
        accesses = self._timeline.log.accesses
        if not accesses or not found.records:
            return
        last = found.records[-1]
        last.accesses = tuple(accesses)
        if any(one.kind != "load" for one in accesses):
            found.stores.append(len(found.records) - 1)
        accesses.clear()

    def _known(self, unit: int, pc: int) -> Mapping[Expr, NDArray[Any]]:
        facts = self._sources.facts(unit, pc)
        if not facts.asked:
            return _NOTHING
        key = unit, pc
        if key not in self._probes:
            self._probes[key] = self._probe(unit, facts.asked)
        probe = self._probes[key]
        if probe is None:
            return _NOTHING
        return dict(zip(facts.asked, (np.array(one) for one in probe()), strict=True))

    def _probe(self, unit: int, asked: tuple[Expr, ...]) -> Callable[[], tuple[Any, ...]]:
        """Return what computes expressions from the registers as they are."""
        stepper = self._timeline.stepper
        context = stepper.context
        kernel = stepper.kernel
        mode = float_mode(CR0_USED & 0)
        builder = StepBuilder(kernel, kernel.units[unit], context, mode, full=False)
        names = "".join(f"{builder.value(expr)}, " for expr in asked)
        return builder.build(f"({names})")


__all__ = ["Record", "Recorder", "Recording"]

"""The teams of a kernel, kept so that its next launch finds them.

A dispatch that is launched again has its team as it left it. When a dispatch is gone its team is
idle, holds nothing of the launch any more, and the next dispatch of the same form takes it over:
that writes a few tables and registers, where a new team would make all of its memory.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from visim.engine.base import Dispatch, Machine, RunOptions
from visim.engine.jit.workers import Team
from visim.engine.observers import Observers

MOST_IDLE = 8
"""So many teams wait for other launches; beyond them the one that was idle for longest goes."""


@dataclass(slots=True)
class _Kept:
    """The team of a dispatch, and what else it was made for."""

    team: Team
    machine: Machine
    allocations: int
    groups: int
    traits: tuple[Hashable, ...]
    options: RunOptions | None

    def suits(self, groups: int, machine: Machine, options: RunOptions) -> bool:
        """Whether the team can run a launch of its dispatch as it stands."""
        return (
            machine is self.machine
            and machine.memory.allocation_count == self.allocations
            and groups == self.groups
            and (options is self.options or traits(options) == self.traits)
        )


class Teams:
    """The teams of one prepared kernel; one launch at a time asks for them."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[Dispatch], _Kept]] = {}
        self._idle: deque[Team] = deque(maxlen=MOST_IDLE)
        self._weak_end = weakref.WeakMethod(self._end)

    def of(
        self, dispatch: Dispatch, groups: int, machine: Machine, options: RunOptions
    ) -> Team | None:
        """Return the team that has run a dispatch before, if it can run this launch of it."""
        reference, kept = self._kept.get(id(dispatch), (None, None))
        if reference is None or kept is None or reference() is not dispatch:
            return None
        return kept.team if kept.suits(groups, machine, options) else None

    def idle(self, form: Hashable) -> Team | None:
        """Return a team that was made for dispatches of a form and has none now."""
        for team in tuple(self._idle):
            if team.form == form:
                with contextlib.suppress(ValueError):
                    self._idle.remove(team)
                    return team
        return None

    def keep(
        self, team: Team, dispatch: Dispatch, groups: int, machine: Machine, options: RunOptions
    ) -> None:
        """Keep the team of a dispatch, which it must not keep alive."""
        key, count = id(dispatch), machine.memory.allocation_count
        self._end(key)
        # Options with observers would keep these alive.
        known = None if options.observers else options
        with contextlib.suppress(TypeError):
            reference = weakref.ref(dispatch, self._forget(key))
            kept = _Kept(team, machine, count, groups, traits(options), known)
            self._kept[key] = (reference, kept)

    def _end(self, key: int, gone: object = None) -> None:
        """Make the team of a dispatch idle; `gone` is the reference to one that is no more."""
        reference, kept = self._kept.get(key, (None, None))
        if kept is None or (gone is not None and reference is not gone):
            return
        del self._kept[key]
        kept.team.release()
        if kept.team.form is not None:
            self._idle.append(kept.team)

    def _forget(self, key: int) -> Callable[[object], None]:
        """Return what is called when a dispatch is gone, which may be at any moment."""
        end = self._weak_end

        def forget(reference: object) -> None:
            known = end()
            if known is not None:
                known(key, reference)

        return forget


def traits(options: RunOptions) -> tuple[Hashable, ...]:
    """Return what a team depends on of a launch's options."""
    return (
        options.budget,
        options.seed,
        options.count_forms,
        options.workers,
        options.checked,
        Observers(options.observers).wants if options.observers else None,
    )

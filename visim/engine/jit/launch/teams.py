"""The teams of a kernel, kept so that its next launch finds them.

A dispatch that is launched again has its team as it left it. When a dispatch is gone its team is
idle, holds nothing of the launch any more, and the next dispatch of the same form takes it over:
that writes a few tables and registers, where a new team would make all of its memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass

from visim.engine.base import Dispatch, Machine, RunOptions
from visim.engine.jit.launch.workers import Team
from visim.engine.observers import Observers

MOST_IDLE = 8
"""So many teams wait for other launches; beyond them the one that was idle for longest goes."""


@dataclass(slots=True, eq=False)
class _Lease:
    """A team and what it was aimed at; the dispatch keeps it, and gives it back when it goes."""

    teams: Teams
    team: Team
    machine: Machine
    allocations: int
    groups: int
    traits: tuple[Hashable, ...]
    options: RunOptions | None

    def __del__(self) -> None:
        self.teams.take_back(self.team)


class Teams:
    """The teams of one prepared kernel; one launch at a time asks for them."""

    def __init__(self) -> None:
        self._idle: deque[Team] = deque(maxlen=MOST_IDLE)

    def of(
        self, dispatch: Dispatch, groups: int, machine: Machine, options: RunOptions
    ) -> Team | None:
        """Return the team that has run a dispatch before, if it can run this launch of it."""
        lease = dispatch.kept
        if (
            isinstance(lease, _Lease)
            and lease.teams is self
            and lease.machine is machine
            and lease.allocations == machine.memory.allocation_count
            and lease.groups == groups
            and (lease.options is options or lease.traits == traits(options))
        ):
            return lease.team
        return None

    def idle(self, form: Hashable) -> Team | None:
        """Return a team that was made for dispatches of a form and has none now."""
        # A tuple would be made after its iterator: collecting garbage there could change the deque.
        for team in [*self._idle]:
            if team.form == form:
                try:
                    self._idle.remove(team)
                except ValueError:
                    # Another one that came back has pushed it out.
                    continue
                return team
        return None

    def keep(
        self, team: Team, dispatch: Dispatch, groups: int, machine: Machine, options: RunOptions
    ) -> None:
        """Give a dispatch its team; one that it had before becomes idle."""
        # Options with observers would keep these alive.
        known = None if options.observers else options
        count = machine.memory.allocation_count
        dispatch.kept = _Lease(self, team, machine, count, groups, traits(options), known)

    def take_back(self, team: Team) -> None:
        """Make a team idle; this may be called at any moment."""
        team.release()
        if team.form is not None:
            self._idle.append(team)


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

"""The teams of a kernel, kept so that its next launch finds them.

A dispatch that is launched again has its team as it left it. When a dispatch is gone its team is
idle, holds nothing of the launch any more, and the next dispatch of the same form gets it: that
writes a few tables and registers, where a new team would make all of its memory. Dispatches of one
form that are alive share some teams, too, and each aims its team at itself when another one has had
it: hundreds, launched by turns, would each find the memory of a team of its own gone from the
processor's caches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from weakref import ref

from visim.engine.base import Dispatch, Machine, RunOptions
from visim.engine.jit.launch.answers import Target
from visim.engine.jit.launch.tables import Contents
from visim.engine.jit.launch.trials import Trial
from visim.engine.jit.launch.workers import Team
from visim.engine.observers import Observers

MOST_IDLE = 8
"""So many teams wait for other launches; beyond them the one that was idle for longest goes."""
MOST_TEAMS = 16
"""Where there are so many teams, the next dispatch of a form shares that of another one."""


class _Return(ref["_Lease"]):
    """Tells that a lease is gone, and which team it had."""

    __slots__ = ("team",)

    team: Team


@dataclass(slots=True, eq=False, weakref_slot=True)
class _Lease:
    """What a team is to be aimed at for a dispatch, and the team, which others may have as well.

    The dispatch keeps it, and gives the team back when it goes.

    Nothing of Python's own runs then, in which a handler of Ctrl-C could raise an exception that
    nobody gets: what the lease holds goes with it, and `back` adds itself to the idle ones.
    """

    teams: Teams
    team: Team
    targets: Sequence[Target]
    aims: Sequence[ref[Target]]
    machine: Machine
    allocations: int
    groups: int
    traits: tuple[Hashable, ...]
    options: RunOptions | None
    back: _Return | None = None


class Teams:
    """The teams of one prepared kernel; one launch at a time asks for them."""

    def __init__(self) -> None:
        self._idle: deque[_Return] = deque(maxlen=MOST_IDLE)
        self._shown = Contents(b"", (), b"")
        self._made: deque[ref[Team]] = deque()
        """Teams, those first that no dispatch has got for longest; some are gone."""

    def same(self, shown: Contents) -> Contents:
        """Return what a launch shows of its memory, as the one before has it if that is the same.

        Teams find out quicker then that they need not show it again.
        """
        if self._shown != shown:
            self._shown = shown
        return self._shown

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
            team = lease.team
            if not team.is_aimed_at(lease.aims[0]):
                team.aim(lease.aims)
            return team
        return None

    def made_before(self, form: Hashable) -> Team | None:
        """Return a team that was made for dispatches of a form, for another one to share.

        That is one that is nobody's now. If there is none, but many teams, it is the one that no
        other dispatch has got for longest.
        """
        # A tuple would be made after its iterator: collecting garbage there could change the deque.
        for back in [*self._idle]:
            if back.team.form == form:
                # One that came back at this moment may have pushed it out.
                with suppress(ValueError):
                    self._idle.remove(back)
                return back.team
        made = self._made
        if len(made) < MOST_TEAMS:
            return None
        for _ in range(len(made)):
            team = made[0]()
            if team is None:
                made.popleft()
                continue
            made.rotate(-1)
            if team.form == form:
                return team
        return None

    def trial(self, form: Hashable) -> Trial:
        """Return how small launches of a form are run: all teams of a form find that out."""
        teams = [one() for one in self._made]
        known = [team.trial for team in teams if team is not None and team.form == form]
        return known[0] if known and form is not None else Trial()

    def add(self, team: Team) -> None:
        """Note a team that was made."""
        alive = [one for one in self._made if one() is not None]
        self._made = deque([*alive, ref(team)])

    def keep(
        self,
        team: Team,
        dispatch: Dispatch,
        targets: Sequence[Target],
        aims: Sequence[ref[Target]],
        groups: int,
        options: RunOptions,
    ) -> None:
        """Give a dispatch its team; one that it had before becomes idle."""
        # Options with observers would keep these alive.
        known = None if options.observers else options
        machine = targets[0].machine
        count = machine.memory.allocation_count
        lease = _Lease(self, team, targets, aims, machine, count, groups, traits(options), known)
        if team.form is not None:
            lease.back = _Return(lease, self._idle.append)
            lease.back.team = team
        dispatch.kept = lease


def _wants(options: RunOptions) -> Hashable:
    if not options.observers:
        return None
    observers = Observers(options.observers)
    return observers.wants, observers.watches_only


def traits(options: RunOptions) -> tuple[Hashable, ...]:
    """Return what a team depends on of a launch's options."""
    return (
        options.budget,
        options.seed,
        options.count_forms,
        options.workers,
        options.checked,
        _wants(options),
    )

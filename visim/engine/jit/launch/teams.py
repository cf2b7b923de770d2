"""The teams of a kernel, kept so that its next launch finds them.

A dispatch that is launched again has its team as it left it. When a dispatch is gone its team is
idle, holds nothing of the launch any more, and the next dispatch of the same form takes it over:
that writes a few tables and registers, where a new team would make all of its memory. Dispatches
of one form that are alive share some teams, too: hundreds, launched by turns, would each find the
memory of its own team gone from the processor's caches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from weakref import ref

from visim.engine.base import Dispatch, Machine, RunOptions
from visim.engine.jit.launch.answers import Target
from visim.engine.jit.launch.tables import Contents
from visim.engine.jit.launch.workers import Team
from visim.engine.observers import Observers

MOST_IDLE = 8
"""So many teams wait for other launches; beyond them the one that was idle for longest goes."""
MOST_LENT = 16
"""Where dispatches have so many teams, the next one of a form takes over that of another one."""


class _Return(ref["_Lease"]):
    """Tells that a lease is gone, and which team it had."""

    __slots__ = ("team",)

    team: Team


@dataclass(slots=True, eq=False, weakref_slot=True)
class _Lease:
    """What a team is aimed at, and the team, unless another lease has taken it over.

    The dispatch keeps it, and gives the team back when it goes.

    Nothing of Python's own runs then, in which a handler of Ctrl-C could raise an exception that
    nobody gets: what the lease holds goes with it, and `back` adds itself to the idle ones.
    """

    teams: Teams
    form: Hashable
    team: Team | None
    targets: Sequence[Target]
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
        self._lent: deque[ref[_Lease]] = deque()
        """Leases that have teams, those that have had theirs for longest first; some are gone."""

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
            return lease.team or self._again(lease)
        return None

    def _again(self, lease: _Lease) -> Team | None:
        """Return a team for a dispatch whose team another one has taken over."""
        team = self.idle(lease.form)
        if team is not None:
            team.aim(lease.targets)
            self._lend(lease, team)
        return team

    def idle(self, form: Hashable) -> Team | None:
        """Return a team that was made for dispatches of a form and is nobody's now.

        If there is none, but many have teams, the one that has had such a team for longest gives
        it away.
        """
        # A tuple would be made after its iterator: collecting garbage there could change the deque.
        for back in [*self._idle]:
            if back.team.form == form:
                try:
                    self._idle.remove(back)
                except ValueError:
                    # Another one that came back has pushed it out.
                    continue
                return back.team
        return self._taken_over(form)

    def _taken_over(self, form: Hashable) -> Team | None:
        """Return a team of a form that a dispatch has, which is to find another one."""
        lent = self._lent
        for _ in range(len(lent)):
            if len(lent) < MOST_LENT:
                break
            lease = lent[0]()
            if lease is not None and lease.form != form:
                lent.rotate(-1)
                continue
            lent.popleft()
            if lease is not None and lease.team is not None:
                # What would give the team back goes first: it must not come back to two dispatches.
                lease.back = None
                team, lease.team = lease.team, None
                return team
        return None

    def _lend(self, lease: _Lease, team: Team) -> None:
        """Give a lease a team of its form."""
        back = _Return(lease, self._idle.append)
        back.team = team
        if len(self._lent) >= MOST_LENT:
            self._lent = deque([one for one in self._lent if one() is not None])
        self._lent.append(ref(lease))
        lease.team, lease.back = team, back

    def keep(
        self,
        team: Team,
        dispatch: Dispatch,
        targets: Sequence[Target],
        groups: int,
        options: RunOptions,
    ) -> None:
        """Give a dispatch its team; one that it had before becomes idle."""
        # Options with observers would keep these alive.
        known = None if options.observers else options
        machine = targets[0].machine
        count = machine.memory.allocation_count
        form, chosen = team.form, traits(options)
        lease = _Lease(self, form, team, targets, machine, count, groups, chosen, known)
        if form is not None:
            self._lend(lease, team)
        dispatch.kept = lease


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

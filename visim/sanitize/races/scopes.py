"""What comes before what when a fence whose scope is a group orders nothing for other groups.

Kept beside the clocks that know no scopes: what these order and the ones here do not is ordered by
a scope that is too small. In order is what goes through the group's barrier, or through an atomic
behind a fence of any scope, to a thread of the same group; and to other groups what a thread knows
at a fence of a larger scope. What a barrier tells of is released to others if all that came before
it was, by whichever thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from visim.linker.program import LinkedKernel
from visim.sanitize.races.clocks import GLOBAL, NOTHING, Clock, Phase, group_of, joined
from visim.sem.effects import Fence, Space


@dataclass
class _Thread:
    """What a thread knows of global memory, what it has met, and what it tells other groups.

    `own` is the number of the first access behind its last fence.
    """

    known: Clock = field(default_factory=dict[int, int])
    met_inside: Clock = field(default_factory=dict[int, int])
    met_outside: Clock = field(default_factory=dict[int, int])
    told: Clock = field(default_factory=dict[int, int])
    own: int = 0
    waits: list[Phase] = field(default_factory=list[Phase])


@dataclass
class _Meeting:
    """What threads of each group, and those of all groups, learn in one place."""

    inside: dict[int, Clock] = field(default_factory=dict[int, Clock])
    outside: Clock = field(default_factory=dict[int, int])


class ScopedClocks:
    """The clocks of the threads of a launch, as far as scopes reach."""

    def __init__(self) -> None:
        self._threads: dict[int, _Thread] = {}
        self._phases: dict[Phase, _Meeting] = {}
        self._places: dict[int, _Meeting] = {}

    def begin_group(self) -> None:
        """Forget the barriers of the group before."""
        self._phases.clear()

    def known(self, thread: int) -> Clock:
        """Return what comes before the next access of a thread, by its number in the launch."""
        return self._resume(thread).known

    def fence(self, thread: int, memory: int, number: int, *, of_group: bool) -> None:
        """Note a fence of a thread, and its first access behind that."""
        if memory != GLOBAL:
            return
        found = self._resume(thread)
        found.known, found.met_inside = joined(found.known, found.met_inside), NOTHING
        found.own = number
        if not of_group:
            found.known, found.met_outside = joined(found.known, found.met_outside), NOTHING
            found.told = found.known | {thread: number}

    def signal(self, thread: int, barrier: Phase) -> None:
        """Let a phase of a barrier know what a thread tells others."""
        self._tell(thread, self._phases.setdefault(barrier, _Meeting()))

    def wait(self, thread: int, barrier: Phase) -> None:
        """Let a thread wait for a phase of a barrier."""
        self._of(thread).waits.append(barrier)

    def atomic(self, thread: int, addresses: Iterable[int]) -> None:
        """Let a thread meet others at the bytes of an atomic."""
        found = self._resume(thread)
        for address in addresses:
            place = self._places.setdefault(address, _Meeting())
            inside = place.inside.get(group_of(thread), NOTHING)
            found.met_inside = joined(found.met_inside, inside)
            found.met_outside = joined(found.met_outside, place.outside)
            self._tell(thread, place)

    def _of(self, thread: int) -> _Thread:
        return self._threads.setdefault(thread, _Thread())

    def _resume(self, thread: int) -> _Thread:
        """Let a thread that goes on know what the phases know that it has waited for."""
        found = self._of(thread)
        for barrier in found.waits:
            phase = self._phases.get(barrier)
            if phase is not None:
                inside = phase.inside.get(group_of(thread), NOTHING)
                found.known = joined(found.known, inside)
                found.told = joined(found.told, phase.outside)
        found.waits.clear()
        return found

    def _tell(self, thread: int, meeting: _Meeting) -> None:
        found, group = self._resume(thread), group_of(thread)
        own = found.known | {thread: found.own} if found.own else found.known
        meeting.inside[group] = joined(meeting.inside.get(group, NOTHING), own)
        meeting.outside = joined(meeting.outside, found.told)


@dataclass(frozen=True, slots=True)
class Scopes:
    """What the fences of global memory say in a kernel.

    `are_needed` is whether any has a group as its scope, `are_named` whether any is one that only
    programs have that name scopes. OpenCL 1.2 has no other fence than one of a group.
    """

    are_needed: bool
    are_named: bool


def scopes_of(kernel: LinkedKernel) -> Scopes:
    """Return what the fences of global memory in a kernel say."""
    fences = [
        effect
        for unit in kernel.units
        for pc in range(len(unit.body))
        for effect in kernel.known_effects(unit, pc)
        if isinstance(effect, Fence) and effect.memory is Space.FLAT
    ]
    return Scopes(
        any(fence.of_group for fence in fences),
        any(not (fence.of_group and fence.is_plain) for fence in fences),
    )


__all__ = ["ScopedClocks", "Scopes", "scopes_of"]

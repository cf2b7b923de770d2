"""Launches of which native code first sees whether anything can be wrong with them.

The first run keeps who accessed what in memory, in a few words, how threads came to barriers, and
what nothing has written. If it finds nothing suspicious, what it did and found else is the launch.
If it does, all memory becomes again what it was before, and the launch runs once more under the
precise detectors. Nothing stops the first run before its time: native code is done soon, and asking
it in pieces whether it has to stop would take most of a small launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from visim.engine.base import RunOptions
from visim.engine.claims import MOST_GROUPS
from visim.runtime.launching.running import ExecutablePool, Outcome, run_plan
from visim.runtime.launching.sanitizing import OWN_MEMORY, Sanitizing
from visim.runtime.payload.threads import LaunchPlan
from visim.sanitize.detecting import Surroundings
from visim.sanitize.findings import Finding
from visim.sanitize.quick.suspects import Suspects

Receiver = Callable[[str], object]


@dataclass(eq=False)
class QuickLook:
    """The kernel as it looks for suspicions, and what watches it.

    `written` and `paints` are as `_Before` has them.
    """

    executables: ExecutablePool
    sanitizing: Sanitizing
    written: frozenset[str] | None
    paints: bool
    _before: _Before | None = field(default=None, init=False)

    def run(
        self,
        plan: LaunchPlan,
        options: RunOptions,
        errors: Iterable[str],
        receiver: Receiver,
    ) -> tuple[Outcome, tuple[Finding, ...]] | None:
        """Run a plan; return None, and let all memory be as before, where it has to run again.

        So it does at once if the launch has more groups than words tell apart.
        """
        if self.sanitizing.groups(plan) > MOST_GROUPS:
            return None
        before = self._kept(plan)
        printed: list[str] = []
        executable = self.executables.borrow()
        try:
            with self.sanitizing.wanted.turn():
                watcher = self.sanitizing.begin(plan, errors, is_hasty=True)
                looks = [one for one in watcher.detectors if isinstance(one, Suspects)]
                options = replace(options, observers=(watcher,), workers=1)
                try:
                    found = run_plan(plan, executable, options, printed.append)
                except BaseException:
                    watcher.finish(None)
                    raise
                findings = watcher.finish(found.exit.fault)
        finally:
            self.executables.give_back(executable)
        is_suspicious = any(one.is_suspicious for one in looks)
        if is_suspicious or found.exit.fault is not None or found.exit.stopped is not None:
            before.restore()
            return None
        for text in printed:
            receiver(text)
        return found, findings

    def _kept(self, plan: LaunchPlan) -> _Before:
        """Return what memory is now; launches of one plan keep it in the same place."""
        before, around = self._before, self.sanitizing.around(plan)
        if before is None or before.around is not around:
            before = self._before = _Before(
                plan, around, self.sanitizing, self.written, paints=self.paints
            )
        before.keep()
        return before


class _Before:
    """What memory was before a run.

    Args:
        plan: the launch.
        around: what detectors know of it; another one means that memory is elsewhere.
        sanitizing: what watches it.
        written: the names of the memory that the kernel may write; None: any.
        paints: whether it writes images, which memory that has addresses does not hold.
    """

    def __init__(
        self,
        plan: LaunchPlan,
        around: Surroundings,
        sanitizing: Sanitizing,
        written: frozenset[str] | None,
        *,
        paints: bool,
    ) -> None:
        self.around = around
        arrays = [
            one.host
            for one in plan.parts[0].machine.memory.allocations
            if one.name not in OWN_MEMORY and one.host.flags.writeable
            if written is None or one.name in written
        ]
        arrays += _texels(plan, arrays) if paints else []
        arrays += [one.bits for one in sanitizing.uninitialised]
        self._kept = [(one, np.empty_like(one)) for one in arrays]

    def keep(self) -> None:
        """Keep what memory is now."""
        for now, kept in self._kept:
            np.copyto(kept, now)

    def restore(self) -> None:
        """Let memory be that again."""
        for now, kept in self._kept:
            now[:] = kept


def _texels(plan: LaunchPlan, known: list[NDArray[np.uint8]]) -> list[NDArray[np.uint8]]:
    """Return the bytes of surfaces with texels, each once, without those that are `known`."""
    seen = {id(one) for one in known}
    found = dict[int, NDArray[np.uint8]]()
    for index in plan.surfaces.bound:
        if index in plan.surfaces:
            host = plan.surfaces[index].allocation.host
            if host.flags.writeable and id(host) not in seen:
                found[id(host)] = host
    return [*found.values()]


__all__ = ["QuickLook"]

"""Running a launch's plan on an engine: groups in order, printed text, and stopping early.

Knows plans and engines, neither options nor reports.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from visim.engine.base import Executable, Exit, Lookout, RunOptions
from visim.engine.faults import CANCELLED
from visim.engine.observers import Observer
from visim.errors import Fault
from visim.runtime.payload.threads import LaunchPlan, Part
from visim.runtime.printf.records import BadRecord, PrintedText, PrintfBuffer, Receiver

_GROUPS_BETWEEN_LOOKS = 16
_QUICK_S = 0.005
"""Where so many groups take less, there are twice as many before the next look."""
_FILLED_AT_MOST = 1 / 4


class ExecutablePool:
    """A kernel prepared by an engine, once for each launch that runs at the same time.

    Args:
        first: the prepared kernel.
    """

    def __init__(self, first: Executable) -> None:
        self._first = first
        self._idle = [first]
        self._is_new = True

    def expect(self, plan: LaunchPlan, options: RunOptions) -> None:
        """Tell an executable that has run nothing what will be run first."""
        if self._is_new:
            executable = self.borrow()
            try:
                for part in plan.parts:
                    executable.expect(part.dispatch, part.machine, options)
            finally:
                self.give_back(executable)

    def borrow(self) -> Executable:
        """Lend an executable that nobody else uses."""
        self._is_new = False
        try:
            return self._idle.pop()
        except IndexError:
            return self._first.again()

    def give_back(self, executable: Executable) -> None:
        """Take back what was borrowed."""
        self._idle.append(executable)


@dataclass(slots=True)
class Outcome:
    """What a run did.

    `wall_s` are seconds of running, without those for which it waited for code. `printed` is what
    the kernel printed, less `lost_bytes` of records; `counters` are the append counters that it
    used, by binding table index.
    """

    exit: Exit
    wall_s: float
    dropped: int
    printed: str
    lost_bytes: int
    counters: Mapping[int, int]


def run_plan(
    plan: LaunchPlan, executable: Executable, options: RunOptions, receiver: Receiver
) -> Outcome:
    """Run all groups of a plan until one faults or the run has to stop.

    Args:
        plan: the launch.
        executable: the kernel.
        options: what the engine gets; `seed` shuffles the groups, too.
        receiver: gets what the kernel prints, while it runs.
    """
    printed = None
    if plan.printf is not None:
        printed = PrintedText(PrintfBuffer(plan.printf, plan.parts[0].machine.memory), receiver)
    if plan.assertions is not None:
        plan.assertions.reset()
    surfaces = plan.surfaces
    surfaces.reset_counters()
    dropped = surfaces.dropped
    parts, began = plan.parts, perf_counter()
    part = parts[0]
    chooser = _chooser(plan, options)
    at_once = printed is None and options.stop is None and not options.seed and chooser is None
    if at_once and len(parts) == 1 and part.waves is None:
        dispatch = part.dispatch
        total = executable.run(range(dispatch.group_count), dispatch, part.machine, options)
    else:
        total = _Run(executable, options, printed, chooser).total(plan)
    if plan.assertions is not None and total.fault is None:
        total.fault = plan.assertions.fault()
    wall_s = perf_counter() - began - total.compile_s
    text, lost = ("", 0) if printed is None else (printed.text, printed.lost_bytes)
    return Outcome(total, wall_s, surfaces.dropped - dropped, text, lost, surfaces.counters)


def _added(total: Exit, found: Exit) -> Exit:
    """Return what ranges of groups did, `found` being what the last one did."""
    if not total.threads:
        return found
    total.groups += found.groups
    total.compile_s += found.compile_s
    total.add_work(found)
    total.fault, total.stopped = found.fault, found.stopped
    return total


class _Run:
    """One run: how many groups the engine gets at a time, and whether they are watched."""

    def __init__(
        self,
        executable: Executable,
        options: RunOptions,
        printed: PrintedText | None,
        chooser: Observer | None,
    ) -> None:
        self._executable = executable
        self._options = options
        self._printed = printed
        self._chooser = chooser
        self._most_printed = 0.0

    def total(self, plan: LaunchPlan) -> Exit:
        """Run all groups in their order until one faults or the run has to stop."""
        total, stop = None, self._options.stop
        lookout = stop if isinstance(stop, Lookout) else Lookout()
        everything = sum(part.dispatch.group_count for part in plan.parts)
        for found in self._exits(plan):
            total = found if total is None else _added(total, found)
            lookout.ran(total.groups, everything)
            if found.fault is not None or found.stopped is not None:
                break
        return total or Exit()

    def _exits(self, plan: LaunchPlan) -> Iterator[Exit]:
        options = self._options
        at_once = self._printed is None and options.stop is None
        for part in plan.parts:
            for order in part.orders:
                groups = self._shuffled(order) if options.seed else order
                for some, watched in self._watched(part, groups):
                    if at_once:
                        yield self._executable.run(some, part.dispatch, part.machine, watched)
                    else:
                        yield from self._in_pieces(part, some, watched)

    def _watched(
        self, part: Part, order: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], RunOptions]]:
        """Yield all groups in order, each with the observer only if that wants to watch it."""
        chooser, options = self._chooser, self._options
        if chooser is None:
            yield order, options
            return
        yield order[:1], options
        row = part.dispatch.group_id(order[-1])[0] + 1
        chosen = chooser.choice(len(order), row)
        done, alone = 1, replace(options, observers=())
        for one in (range(len(order)),) if chosen is None else chosen:
            if one.start > done:
                yield order[done : one.start], alone
            if one.stop > max(done, one.start):
                yield order[max(done, one.start) : one.stop], options
            done = max(done, one.stop)
        if done < len(order):
            yield order[done:], alone

    def _shuffled(self, order: Sequence[int]) -> Sequence[int]:
        shuffled = list(order)
        random.Random(operator.index(self._options.seed)).shuffle(shuffled)
        return shuffled

    def _in_pieces(self, part: Part, order: Sequence[int], options: RunOptions) -> Iterator[Exit]:
        """Run groups some at a time, to look in between what they print and whether to stop."""
        start, most = 0, _GROUPS_BETWEEN_LOOKS
        step = 1 if self._printed is not None else len(order)
        while start < len(order):
            if options.stop is not None:
                if options.stop.is_set():
                    yield Exit(stopped=_between_groups(part, order[start]))
                    return
                step = most if self._printed is None else min(step, most)
            groups, began = order[start : start + step], perf_counter()
            found = self._executable.run(groups, part.dispatch, part.machine, options)
            start += step
            if perf_counter() - began < _QUICK_S:
                most *= 2
            if self._printed is not None:
                step = self._drain(self._printed, found, step)
            yield found

    def _drain(self, printed: PrintedText, found: Exit, groups: int) -> int:
        """Take out what groups have printed; return how many to run next.

        As many that the buffer does not overflow, if they print about as much as those so far.
        """
        try:
            used = printed.drain()
        except BadRecord as record:
            if found.fault is None:
                found.fault = Fault("undefined", "printf-record", str(record))
            return groups
        self._most_printed = max(self._most_printed, used / groups)
        if not self._most_printed:
            return 2 * groups
        return max(1, min(2 * groups, int(printed.capacity * _FILLED_AT_MOST / self._most_printed)))


def _chooser(plan: LaunchPlan, options: RunOptions) -> Observer | None:
    """Return the only observer, if it is one that chooses groups and the launch lets it."""
    if plan.printf is not None or options.seed or len(options.observers) != 1:
        return None
    part, *others = plan.parts
    if others or part.waves is not None:
        return None
    only = options.observers[0]
    return None if type(only).choice is Observer.choice else only


def _between_groups(part: Part, group: int) -> Fault:
    return replace(CANCELLED.unplaced(), group=part.dispatch.group_id(group))

"""A launch that is debugged: its groups in order, and both engines ready to run them.

The interpreter steps; the JIT gets to the group of interest. Both work in the same arrays of the
caller. Knows no position inside a group.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from visim.debug.engine.undo import HostMemory
from visim.engine.base import Exit, Machine, RunOptions
from visim.engine.kernel_image import KernelImage
from visim.engine.observers import Observer
from visim.errors import Fault, FaultError
from visim.machine.surfaces import Surfaces
from visim.runtime.kernel import Kernel
from visim.runtime.launching.launch import Launch, LaunchKeywords
from visim.runtime.launching.running import ExecutablePool
from visim.runtime.payload.threads import LaunchPlan, Part
from visim.runtime.printf.records import PrintedText, PrintfBuffer, Receiver
from visim.sem.effects import FIRST_COUNTER

_AT_ONCE = 1 << 16
_NOT_DEBUGGED = (
    *("engine", "sanitize", "sanitize_stop", "suppress", "sanitize_errors", "observers", "wait"),
    *("collect", "require_exact", "timeout", "workers"),
)
"""Options of launches that mean nothing to steps, or that the debugger sets itself."""


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """A group in the order of the launch: its part, and its number there."""

    part: int
    number: int


class Fast:
    """The same launch as it is run where nobody debugs: on the JIT, if that is worth it.

    Args:
        launch: what `Kernel.bind` returned. It runs on one worker, so that groups always run in
            the same order.
    """

    def __init__(self, launch: Launch[Any]) -> None:
        self.engine = launch.engine
        self.plan: LaunchPlan = launch.plan
        self._pool: ExecutablePool = launch.executables
        self._options: RunOptions = replace(launch.run_options, workers=1)

    def run(
        self, groups: Sequence[GroupPlace], observers: Sequence[Observer], receiver: Receiver
    ) -> Exit:
        """Run some groups in their order until one faults."""
        executable = self._pool.borrow()
        total = Exit()
        options = replace(self._options, observers=tuple(observers))
        parts = self.plan.parts
        printed = None
        if self.plan.printf is not None:
            memory = parts[0].machine.memory
            printed = PrintedText(PrintfBuffer(self.plan.printf, memory), receiver)
        try:
            start = 0
            while start < len(groups):
                part = groups[start].part
                end = start
                most = 16 if printed is not None else _AT_ONCE
                while end < len(groups) and groups[end].part == part and end - start < most:
                    end += 1
                numbers = _as_range([one.number for one in groups[start:end]])
                dispatch, machine = parts[part].dispatch, parts[part].machine
                found = executable.run(numbers, dispatch, machine, options)
                if printed is not None:
                    printed.drain()
                total.groups += found.groups
                total.add_work(found)
                total.fault = found.fault
                if found.fault is not None:
                    break
                start = end
        finally:
            self._pool.give_back(executable)
        return total


def _as_range(numbers: list[int]) -> Sequence[int]:
    whole = range(numbers[0], numbers[0] + len(numbers)) if numbers else range(0)
    return whole if numbers == list(whole) else numbers


class Debuggee:
    """A kernel with its arguments, bound once for each engine.

    Args:
        kernel: the kernel.
        values: its arguments in order.
        options: those of a launch, without what says how it runs.

    Raises:
        VisimError: what `Kernel.bind` finds wrong.
    """

    def __init__(
        self, kernel: Kernel, values: Sequence[object], options: Mapping[str, Any]
    ) -> None:
        self.kernel = kernel
        self.values = tuple(values)
        given = {k: v for k, v in options.items() if k not in _NOT_DEBUGGED}
        self.options = given
        self.sanitize: object = options.get("sanitize")
        self._engine: object = options.get("engine")
        keywords = cast("LaunchKeywords", {**given, "engine": "interpreter"})
        self.launch: Launch[Any] = kernel.bind(self.values, **keywords)
        self.plan = self.launch.plan
        self.image = cast("KernelImage", self.launch.executables.borrow())
        self.linked = self.image.kernel
        self.run_options = self.launch.run_options
        self._fast: Fast | None = None
        self.order = self._order()
        stretches = [(one.address, one.size) for one in self._allocations() if one.writable]
        self.memory = HostMemory(stretches)

    def _allocations(self) -> list[Any]:
        found: list[Any] = list(self.machine.memory.allocations)
        return found + list(self.plan.surfaces.allocations)

    @property
    def machine(self) -> Machine:
        """The memory of the first part; all parts share it."""
        return self.plan.parts[0].machine

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the launch."""
        return self.plan.parts

    def _order(self) -> list[GroupPlace]:
        """Return all groups in the order in which a launch runs them."""
        seed = self.run_options.seed
        found: list[GroupPlace] = []
        for number, part in enumerate(self.plan.parts):
            for order in part.orders:
                groups = list(order)
                if seed:
                    random.Random(operator.index(seed)).shuffle(groups)
                found += [GroupPlace(number, group) for group in groups]
        return found

    def group_id(self, index: int) -> tuple[int, int, int]:
        """Return the coordinates of the group that is `index`-th in order."""
        place = self.order[index]
        return self.parts[place.part].dispatch.group_id(place.number)

    def index_of(self, group: tuple[int, int, int]) -> int | None:
        """Return which in order the group with some coordinates is; None: there is none such."""
        for index in range(len(self.order)):
            if self.group_id(index) == group:
                return index
        return None

    def first_finding(self) -> Fault | None:
        """Launch the kernel watched by the sanitizers that were asked for.

        Returns:
            The first finding, or the fault, None where there is none.
        """
        keywords = cast("LaunchKeywords", {**self.options, "sanitize": self.sanitize})
        keywords["sanitize_stop"] = True
        try:
            self.kernel.launch(self.values, **cast("Any", keywords))
        except FaultError as error:
            return error.fault
        return None

    @property
    def fast(self) -> Fast:
        """The launch on the engine that runs it where nobody debugs, bound when first needed."""
        if self._fast is None:
            engine = {} if self._engine is None else {"engine": self._engine}
            keywords = cast("LaunchKeywords", {**self.options, **engine})
            self._fast = Fast(self.kernel.bind(self.values, **keywords))
        return self._fast

    def run_fast(
        self,
        first: int,
        end: int,
        *,
        observers: Sequence[Observer] = (),
        receiver: Receiver = lambda _: None,
    ) -> Exit:
        """Run groups `first` to `end` (excluded), at the JIT's speed.

        Returns:
            How it ended; of a fault `group` says where.
        """
        fast = self.fast
        counters = self.plan.surfaces.counters
        set_counters(fast.plan.surfaces, counters)
        found = fast.run(self.order[first:end], observers, receiver)
        set_counters(self.plan.surfaces, fast.plan.surfaces.counters)
        return found


def set_counters(surfaces: Surfaces, counters: Mapping[int, int]) -> None:
    """Give append counters their values."""
    surfaces.reset_counters()
    for index, value in counters.items():
        place = np.zeros(1, np.uint32)
        surfaces.store(index + FIRST_COUNTER, place, None, np.array([value], np.uint32))


__all__ = ["Debuggee", "Fast", "GroupPlace", "set_counters"]

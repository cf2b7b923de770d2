"""One launch: its options, running it on an engine, and the report.

Knows plans and engines, not how plans are made.
"""

from __future__ import annotations

import operator
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import Any, TypedDict, cast

from visim.engine.base import Engine, Executable, Exit, RunOptions
from visim.errors import ArgumentError, Fault, FaultError, InternalError, UnsupportedError
from visim.isa import ISA
from visim.runtime.geometry import Sizes
from visim.runtime.handles import LaunchHandle
from visim.runtime.report import FormUse, Report
from visim.runtime.threads import LaunchPlan

_COLLECTABLE = ("instructions", "fidelity")
_GROUPS_BETWEEN_LOOKS = 16
_CHECKS = ("on", "off")


class LaunchKeywords(TypedDict, total=False):
    """The keyword arguments of `Kernel.launch` and `Kernel.bind`; `LaunchOptions` has defaults."""

    global_size: int | Sequence[int] | None
    local_size: int | Sequence[int] | None
    global_offset: int | Sequence[int] | None
    thread_groups: int | Sequence[int] | None
    group_size: int | Sequence[int] | None
    thread_space: int | Sequence[int] | None
    dependency: str | Sequence[tuple[int, int]]
    surfaces: Mapping[int, object] | None
    samplers: Mapping[int, object] | None
    engine: str | None
    workers: int | None
    seed: int
    budget: int | None
    checks: str
    collect: str | Iterable[str]
    require_exact: bool
    observers: Sequence[object]
    wait: bool


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """The options of a launch as given; `check` refuses what is wrong or not there."""

    global_size: object = None
    local_size: object = None
    global_offset: object = None
    thread_groups: object = None
    group_size: object = None
    thread_space: object = None
    dependency: object = "none"
    surfaces: Mapping[int, object] | None = None
    samplers: Mapping[int, object] | None = None
    engine: str | None = None
    workers: int | None = None
    seed: int = 0
    budget: int | None = None
    checks: str = "on"
    collect: str | Iterable[str] = ()
    require_exact: bool = False
    observers: Sequence[object] = ()
    wait: bool = True

    @property
    def sizes(self) -> Sizes:
        """The geometry as given."""
        return Sizes(
            self.global_size,
            self.local_size,
            self.global_offset,
            self.thread_groups,
            self.group_size,
            self.thread_space,
            self.dependency,
        )

    @property
    def counts_forms(self) -> bool:
        """Whether the engine has to count how often each instruction form runs."""
        return self.require_exact or "fidelity" in self.collect

    @property
    def run_options(self) -> RunOptions:
        """The options that engines know."""
        return RunOptions(self.budget, self.seed, self.counts_forms)

    def check(self) -> LaunchOptions:
        """Return the options in one form.

        Raises:
            ArgumentError: an option is wrong.
            UnsupportedError: it asks for what this build of visim does not have.
        """
        if self.samplers:
            raise UnsupportedError("samplers: they come with a later version of visim")
        if self.observers:
            raise UnsupportedError("observers: they come with a later version of visim")
        if self.checks not in _CHECKS:
            raise ArgumentError(f"checks: expected 'on' or 'off', found {self.checks!r}")
        collect = (self.collect,) if isinstance(self.collect, str) else tuple(self.collect)
        for name in collect:
            if name not in _COLLECTABLE:
                known = ", ".join(_COLLECTABLE)
                raise ArgumentError(f"collect: {name!r} cannot be collected; known: {known}")
        _check_integer("seed", self.seed, 0)
        for name in ("workers", "budget"):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), 1)
        surfaces = {
            _check_integer("surfaces", index, 0): value
            for index, value in (self.surfaces or {}).items()
        }
        return replace(self, collect=collect, surfaces=surfaces)


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with everything that a launch needs; calling it launches again.

    The arrays of the arguments are those that were given to `Kernel.bind`: what they hold at the
    time of the call is what the kernel sees.
    """

    kernel: str
    platform: str
    engine: str
    executable: Executable
    plan: LaunchPlan
    options: LaunchOptions
    compile_s: float
    _lock: Lock

    def __call__(self) -> Report | LaunchHandle:
        """Launch the kernel.

        Returns:
            The report, or a handle for `wait=False`.

        Raises:
            FaultError: it stopped with a fault; `.report` says how far it came.
        """
        if not self.options.wait:
            return LaunchHandle(self.run)
        return cast("Report", self.run(None))

    def run(self, stop: Event | None) -> Report | None:
        """Run all groups; return None if `stop` was set before the last of them."""
        with self._lock:
            return self._run(stop)

    def _run(self, stop: Event | None) -> Report | None:
        surfaces = self.plan.surfaces
        dropped = surfaces.dropped_reads + surfaces.dropped_writes
        self.plan.reset()
        began = time.perf_counter()
        total = Exit()
        for found in self._exits(stop):
            if found is None:
                return None
            _add(total, found)
            if found.fault is not None:
                break
        wall = time.perf_counter() - began
        dropped = surfaces.dropped_reads + surfaces.dropped_writes - dropped
        report = self._report(total, wall, dropped)
        fault = total.fault or self._inexact(report)
        if fault is not None:
            raise FaultError(fault, report)
        return report

    def _exits(self, stop: Event | None) -> Iterator[Exit | None]:
        for part in self.plan.parts:
            order: Sequence[int] = range(part.dispatch.group_count)
            if self.options.seed:
                order = list(order)
                random.Random(self.options.seed).shuffle(order)
            step = _GROUPS_BETWEEN_LOOKS if stop is not None else max(1, len(order))
            for start in range(0, len(order), step):
                if stop is not None and stop.is_set():
                    yield None
                groups = order[start : start + step]
                run_options = self.options.run_options
                yield self.executable.run(groups, part.dispatch, part.machine, run_options)

    def _report(self, total: Exit, wall: float, dropped: int) -> Report:
        fidelity = _fidelity(total.forms) if self.options.counts_forms else None
        return Report(
            kernel=self.kernel,
            engine=self.engine,
            platform=self.platform,
            geometry=self.plan.geometry,
            groups=total.groups,
            threads=total.threads,
            instructions=total.executed if "instructions" in self.options.collect else None,
            wall_s=wall,
            compile_s=self.compile_s,
            fidelity=fidelity,
            dropped_accesses=dropped,
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if self.options.checks == "off":
            yield "checks='off' changes nothing in this build: all checks were on"
        if (self.options.workers or 1) > 1:
            yield f"the {self.engine} ran on one worker"
        if self.plan.printed_bytes > 0:
            yield (
                f"the kernel printed {self.plan.printed_bytes} bytes of records with printf, "
                "which visim does not show yet"
            )

    def _inexact(self, report: Report) -> Fault | None:
        """Return the fault of a run that had to be exact and was not."""
        inexact = [use for use in report.fidelity or () if not use.is_exact]
        if not self.options.require_exact or not inexact:
            return None
        listed = ", ".join(f"{use.form} ({use.exactness}, {use.count} times)" for use in inexact)
        message = f"require_exact: instructions ran whose results are not bit-exact: {listed}"
        return Fault("inexact", "inexact-instruction", message, kernel=self.kernel)


def make_engine(name: str | None) -> Engine:
    """Return an engine by name; None is the fastest of this build.

    Raises:
        UnsupportedError: this build has no such engine.
    """
    if name in {None, "interpreter"}:
        from visim.engine.interp import Interpreter

        return Interpreter()
    raise UnsupportedError(f"engine: this build has no engine {name!r}; it has 'interpreter'")


def _check_integer(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ArgumentError(f"{name}: expected an integer, found {value!r}")
    if number < least:
        raise ArgumentError(f"{name}: expected an integer from {least}, found {number}")
    return number


def _add(total: Exit, found: Exit) -> None:
    total.groups += found.groups
    total.threads += found.threads
    total.executed += found.executed
    total.fault = found.fault
    for form, count in found.forms.items():
        total.forms[form] = total.forms.get(form, 0) + count


def _fidelity(forms: Mapping[str, int]) -> tuple[FormUse, ...]:
    return tuple(_use(form, count) for form, count in sorted(forms.items()))


def _use(form: str, count: int) -> FormUse:
    """Look up what a form is worth; its name is `mnemonic[.relation][:type]`."""
    name = form.partition(":")[0]
    op = ISA.by_mnemonic(name) or ISA.by_mnemonic(name.partition(".")[0])
    if op is None:
        raise InternalError(f"the engine counted {form!r}, which is no instruction")
    return FormUse(form, count, str(op.exactness), op.exactness.is_exact)

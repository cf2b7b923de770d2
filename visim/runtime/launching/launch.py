"""One launch: its options, running it on an engine, and the report.

Knows plans and engines, not how plans are made.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Event, get_ident
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, cast

import numpy as np

from visim.engine.base import Engine, Executable, RunOptions, StopFlag
from visim.engine.observers import Observer
from visim.engine.taint import Reached, ShadowMemory
from visim.errors import ArgumentError, Fault, FaultError, InternalError, UnsupportedError, shown
from visim.forks import RenewedLock, loading
from visim.isa import ISA
from visim.lex import nearest
from visim.machine.bounds import Bounds
from visim.module import Unit
from visim.records import record
from visim.runtime.arguments.uninitialised import Uninitialised
from visim.runtime.given import check_flag
from visim.runtime.launching.deadlines import Deadline, stopping
from visim.runtime.launching.handles import CancelledError, LaunchHandle
from visim.runtime.launching.lookouts import current_lookout
from visim.runtime.launching.quickly import QuickLook
from visim.runtime.launching.report import FormUse, Report, TaintUse
from visim.runtime.launching.running import ExecutablePool, Outcome, run_plan
from visim.runtime.launching.sanitizing import FirstFinding, Sanitizing, first_finding
from visim.runtime.launching.sources import with_source_line
from visim.runtime.payload.geometry import LARGEST_CHOSEN, Sizes, divisor_of
from visim.runtime.payload.threads import LaunchPlan
from visim.runtime.printf.records import PRINTF_BYTES, Receiver, current_receiver
from visim.runtime.sourcetexts import SourceTexts
from visim.sanitize.findings import Finding
from visim.sanitize.kinds import read_kinds, read_sanitize
from visim.sanitize.suppressions import kept, read_suppressions

if TYPE_CHECKING:
    from visim.engine.interp import Interpreter
    from visim.engine.jit import Jit

_Result = TypeVar("_Result")
"""What a launch returns: a `Report`, or a `LaunchHandle` where nobody waits."""
_PATIENCE_S = 0.05
_COLLECTABLE = ("instructions", "fidelity", "taint")
_SEED_BITS = 1024
_CHECKS = ("on", "off")
_COMMAND_LINE = {"groups": "thread_groups"}
"""An option that has another name there, to which `group_size` is nearer."""


class LaunchSettings(TypedDict, total=False):
    """The keyword arguments of `Kernel.launch` but `wait`; `LaunchOptions` has defaults."""

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
    timeout: float | None
    checks: str
    bounds: str | None
    collect: str | Iterable[str]
    require_exact: bool
    observers: Sequence[Observer]
    sanitize: str | Iterable[str] | None
    sanitize_stop: bool
    sanitize_errors: str | Iterable[str]
    suppress: str | Path | None


class LaunchKeywords(LaunchSettings, total=False):
    """The keyword arguments of `Kernel.launch` and `Kernel.bind`."""

    wait: bool


@record
class LaunchOptions(Sizes):
    """The options of a launch as given; `check` refuses what is wrong or not there."""

    surfaces: Mapping[int, object] | None = None
    samplers: Mapping[int, object] | None = None
    engine: str | None = None
    workers: int | None = None
    seed: int = 0
    budget: int | None = None
    timeout: float | None = None
    checks: str = "on"
    bounds: str | None = None
    collect: str | Iterable[str] = ()
    require_exact: bool = False
    observers: Sequence[object] = ()
    sanitize: str | Iterable[str] | None = None
    sanitize_stop: bool = False
    sanitize_errors: str | Iterable[str] = ()
    suppress: str | Path | None = None
    wait: bool = True

    @classmethod
    def of(cls, given: LaunchKeywords) -> LaunchOptions:
        """Return the options that keywords give.

        Raises:
            ArgumentError: there is no such option; the message names the nearest.
        """
        known = LaunchKeywords.__annotations__
        for name in given:
            if name not in known:
                near = _COMMAND_LINE.get(name) or nearest(name, known)
                hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
                raise ArgumentError(f"{name}: this is not an option of launches; {hint}")
        return cls(**given)

    @property
    def counts_forms(self) -> bool:
        """Whether the engine has to count how often each instruction form runs."""
        return self.require_exact or "fidelity" in self.collect

    def surface_bounds(self, default: Bounds) -> Bounds:
        """Return what becomes of accesses out of the range of surfaces; `default` unless given."""
        return default if self.bounds is None else Bounds(self.bounds)

    @property
    def tracks_taint(self) -> bool:
        """Whether the engine has to follow inexact values."""
        return "taint" in self.collect

    @property
    def run_options(self) -> RunOptions:
        """The options that engines know."""
        return RunOptions(
            self.budget,
            self.seed,
            self.counts_forms,
            workers=self.workers,
            checked=self.checks == "on",
            observers=tuple([item for item in self.observers if isinstance(item, Observer)]),
        )

    def check(self) -> LaunchOptions:
        """Return the options in one form.

        Raises:
            ArgumentError: an option is wrong.
            UnsupportedError: it asks for what this build of visim does not have.
        """
        self._check_holders()
        self._check_words()
        self._check_numbers()
        plain = isinstance(self.collect, tuple) and not self.collect and self.sanitize is None
        plain = plain and not self.sanitize_errors
        if plain and not self.surfaces and not self.samplers:
            return self
        return replace(
            self,
            collect=self._collected(),
            sanitize=read_sanitize(self.sanitize),
            sanitize_errors=read_kinds(self.sanitize_errors),
            surfaces=_by_index("surfaces", self.surfaces),
            samplers=_by_index("samplers", self.samplers),
        )

    def _check_words(self) -> None:
        """Refuse words that are none of those known, and flags that are something else."""
        if not isinstance(cast("object", self.checks), str) or self.checks not in _CHECKS:
            raise ArgumentError(f"checks: expected 'on' or 'off', found {shown(self.checks)}")
        if self.bounds is not None and self.bounds not in tuple(Bounds):
            raise ArgumentError(
                f"bounds: expected 'fault' or 'hardware', found {shown(self.bounds)}"
            )
        for name in ("require_exact", "wait", "sanitize_stop"):
            check_flag(name, getattr(self, name))
        if self.engine is not None and not isinstance(cast("object", self.engine), str):
            raise ArgumentError(
                f"engine: expected 'interpreter' or 'jit', found {shown(self.engine)}"
            )

    def _check_numbers(self) -> None:
        """Refuse seeds, workers and budgets that are not such numbers."""
        if _check_integer("seed", self.seed, 0).bit_length() > _SEED_BITS:
            raise ArgumentError(
                f"seed: expected at most {_SEED_BITS} bits, found {shown(self.seed)}"
            )
        for name, value in (("workers", self.workers), ("budget", self.budget)):
            if value is not None:
                _check_integer(name, value, 1)

        if self.timeout is not None:
            _check_seconds("timeout", self.timeout)

    def _collected(self) -> tuple[str, ...]:
        """Return the names of what is to be collected."""
        collect = (self.collect,) if isinstance(self.collect, str) else tuple(self.collect)
        for name in collect:
            if not isinstance(cast("object", name), str) or name not in _COLLECTABLE:
                known = ", ".join(_COLLECTABLE)
                raise ArgumentError(f"collect: {shown(name)} cannot be collected; known: {known}")
        return collect

    def _check_holders(self) -> None:
        """Refuse options that are not lists or tables of what they hold."""
        if not isinstance(self.observers, (list, tuple)):
            found = f"found {shown(self.observers)}"
            raise ArgumentError(f"observers: expected a list of visim.Observer objects, {found}")
        for item in self.observers:
            if not isinstance(item, Observer):
                raise ArgumentError(
                    f"observers: expected objects of visim.Observer, found {shown(item)}"
                )
        if not isinstance(cast("object", self.collect), Iterable):
            raise ArgumentError(f"collect: expected a list of names, found {shown(self.collect)}")
        tables: dict[str, object] = {"surfaces": self.surfaces, "samplers": self.samplers}
        for name, table in tables.items():
            if table is not None and not isinstance(table, Mapping):
                kind = type(table).__name__
                raise ArgumentError(f"{name}: expected a dict by index, found {kind}")


@dataclass(slots=True, eq=False, repr=False)
class Launch(Generic[_Result]):
    """A kernel with everything that a launch needs; calling it launches again.

    The arrays of the arguments are those that were given to `Kernel.bind`: what they hold at the
    time of the call is what the kernel sees. Launches of one such object run one after another.
    """

    kernel: str
    platform: str
    engine: str
    executables: ExecutablePool
    plan: LaunchPlan
    options: LaunchOptions
    run_options: RunOptions
    compile_s: float
    units: tuple[Unit, ...] = ()
    texts: SourceTexts = field(default_factory=SourceTexts)
    kernel_notes: tuple[str, ...] = ()
    sanitizing: Sanitizing | None = None
    unwatched: tuple[Uninitialised, ...] = ()
    receive: Callable[[Report], None] | None = None
    deadline: Deadline | None = None
    quick: QuickLook | None = None
    _lock: RenewedLock = field(default_factory=RenewedLock, repr=False)
    _thread: int = field(default=0, init=False, repr=False)
    _tracks_taint: bool = field(init=False, repr=False)
    _notes: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._tracks_taint = self.options.tracks_taint
        notes = _notes(self.options, self.engine) + _size_notes(self.plan.geometry)
        self._notes = notes + self.plan.notes + self.kernel_notes

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.plan.geometry.items())
        return f"<Launch of {self.kernel} on {self.platform}, {self.engine}: {sizes}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"kernel {self.kernel!r}: what bind() returned can be neither copied nor pickled: "
            "it works in the memory of its arguments; pickle the kernel, and bind it over there"
        )

    def __call__(self) -> _Result:
        """Launch the kernel.

        Returns:
            The report, or a handle for `wait=False`.

        Raises:
            FaultError: it stopped with a fault; `.report` says how far it came.
            UnsupportedError: this very launch runs already, and has called what calls this.
        """
        if self.options.suppress is not None:
            read_suppressions(self.options.suppress)
        receiver = current_receiver()
        deadline = self.deadline or Deadline.after(self.options.timeout)
        if not self.options.wait:
            handle = LaunchHandle(lambda stop: self.run(stop, receiver, deadline))
            return cast("_Result", handle)
        return cast("_Result", self.run(None, receiver, deadline))

    def run(
        self,
        stop: Event | None,
        receiver: Receiver | None = None,
        deadline: Deadline | None = None,
    ) -> Report:
        """Run all groups.

        Args:
            stop: makes the run end before its time once it is set.
            receiver: gets what the kernel prints; None is what `printf_to` says.
            deadline: when the run has to be over, if ever.

        Raises:
            CancelledError: it was stopped; the message says where.
            FaultError: it stopped with a fault; `.report` says how far it came.
        """
        found, findings = self._in_turn(stop, receiver or current_receiver(), deadline)
        if found.exit.stopped is not None and deadline is not None and deadline.is_over(stop):
            found.exit.fault = deadline.fault(found.exit.stopped, self.kernel)
            found.exit.stopped = None
        if found.exit.stopped is not None:
            stopped = with_source_line(found.exit.stopped, self.units, self.texts)
            raise CancelledError(f"{stopped.message} at {stopped.place}")
        report = self._report(found, findings)
        if self.receive is not None:
            self.receive(report)
        fault = found.exit.fault or self._inexact(report)
        if fault is not None:
            raise FaultError(with_source_line(fault, self.units, self.texts), report)
        return report

    def _in_turn(
        self, stop: Event | None, receiver: Receiver, deadline: Deadline | None
    ) -> tuple[Outcome, tuple[Finding, ...]]:
        """Run the plan when no other launch of this object runs."""
        if self._thread == get_ident():
            raise UnsupportedError(
                f"kernel {self.kernel!r}: a launch that runs cannot be launched again by what it "
                "calls, such as its observers; bind the kernel once more for that"
            )
        flag = stopping(deadline, stop, current_lookout())
        if stop is None:
            # Only so no signal's handler can raise an exception while the lock is nobody's.
            with self._lock.lock:
                return self._outcome(flag, receiver)
        lock = self._lock.lock
        while not lock.acquire(timeout=_PATIENCE_S):
            if stop.is_set():
                raise CancelledError("the launch was cancelled before it began")
        try:
            return self._outcome(flag, receiver)
        finally:
            lock.release()

    def _outcome(
        self, stop: StopFlag | None, receiver: Receiver
    ) -> tuple[Outcome, tuple[Finding, ...]]:
        """Run the plan on an executable that nobody else uses."""
        options = self.run_options
        if stop is not None or self._tracks_taint:
            shadow = ShadowMemory() if self._tracks_taint else None
            options = replace(options, stop=stop, shadow=shadow)
        executable = self.executables.borrow()
        try:
            self._thread = get_ident()
            if self.sanitizing is not None:
                return self._watched(self.sanitizing, executable, options, receiver)
            for one in self.unwatched:
                one.forget()
            return run_plan(self.plan, executable, options, receiver), ()
        except MemoryError as error:
            raise UnsupportedError(
                f"kernel {self.kernel!r}: the system refuses memory that the launch needs "
                f"({error or 'MemoryError'}); raise the limit (ulimit -v), or launch less at a time"
            ) from error
        finally:
            self._thread = 0
            self.executables.give_back(executable)

    def _watched(
        self,
        sanitizing: Sanitizing,
        executable: Executable,
        options: RunOptions,
        receiver: Receiver,
    ) -> tuple[Outcome, tuple[Finding, ...]]:
        """Run the plan while sanitizers watch it; return what they found, too."""
        known = () if self.options.suppress is None else read_suppressions(self.options.suppress)
        if self.quick is not None and not self.options.sanitize_stop and not options.observers:
            errors = self.options.sanitize_errors
            done = self.quick.run(self.plan, options, errors, receiver)
            if done is not None:
                return done[0], kept(self.kernel, done[1], known)
            self.quick = None
        with sanitizing.wanted.turn():
            watcher = sanitizing.begin(
                self.plan, self.options.sanitize_errors, is_hasty=self.options.sanitize_stop
            )
            options = replace(options, observers=(*options.observers, watcher))
            if self.options.sanitize_stop:
                options = replace(options, stop=FirstFinding(watcher, options.stop))
            try:
                found = run_plan(self.plan, executable, options, receiver)
            except BaseException:
                watcher.finish(None)
                raise
            findings = watcher.finish(found.exit.fault)
        findings = kept(self.kernel, findings, known)
        if self.options.sanitize_stop and found.exit.fault is None:
            found.exit.fault = first_finding(findings, self.kernel)
            if found.exit.fault is not None:
                found.exit.stopped = None
        return found, findings

    def _report(self, found: Outcome, findings: tuple[Finding, ...]) -> Report:
        total = found.exit
        instructions = total.executed if "instructions" in self.options.collect else None
        fidelity = _fidelity(total.forms) if self.run_options.count_forms else None
        notes = self._notes + _losses(found) if found.lost_bytes else self._notes
        taint = _taint(total.reached or {}) if self._tracks_taint else None
        # Names would take a third of the time again, which small launches notice.
        return Report(
            self.kernel,
            self.engine,
            self.platform,
            self.plan.geometry,
            total.groups,
            total.threads,
            instructions,
            found.wall_s,
            self.compile_s + total.compile_s,
            fidelity,
            found.dropped,
            notes,
            found.printed,
            found.counters,
            taint,
            findings,
        )

    def _inexact(self, report: Report) -> Fault | None:
        """Return the fault of a run that had to be exact and was not."""
        if not self.options.require_exact:
            return None
        inexact = [use for use in report.fidelity or () if not use.is_exact]
        if not inexact:
            return None
        listed = ", ".join(f"{use.form} ({use.exactness}, {use.count} times)" for use in inexact)
        message = f"require_exact: instructions ran whose results are not bit-exact: {listed}"
        return Fault("inexact", "inexact-instruction", message, kernel=self.kernel)


def make_engine(name: str, *, taint: bool = False) -> Engine:
    """Return an engine by name.

    Args:
        name: the engine's name.
        taint: whether it has to follow inexact values.

    Raises:
        UnsupportedError: this build has no such engine, or it is being loaded by what a signal's
            handler, which calls this, has interrupted.
    """
    if taint and name != "interpreter":
        raise UnsupportedError(
            f"collect: only the interpreter follows taint, not engine {name!r}; leave engine out"
        )
    if name == "interpreter":
        return _interpreter()(taint=taint)
    if name == "jit":
        return _jit()()
    raise UnsupportedError(
        f"engine: this build has no engine {shown(name)}; it has 'interpreter' and 'jit'"
    )


@cache
def _interpreter() -> type[Interpreter]:
    with loading("the interpreter"):
        from visim.engine.interp import Interpreter
    return Interpreter


@cache
def _jit() -> type[Jit]:
    with loading("the JIT"):
        from visim.engine.jit import Jit
    return Jit


def _check_integer(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ArgumentError(f"{name}: expected an integer, found {shown(value)}")
    if number < least:
        raise ArgumentError(f"{name}: expected an integer from {least}, found {shown(number)}")
    return number


def _check_seconds(name: str, value: Any) -> None:
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not 0 < float(cast("float", value)) < math.inf:
        raise ArgumentError(
            f"{name}: expected a number of seconds greater than 0, "
            f"found {shown(cast('object', value))}"
        )


def _by_index(name: str, given: Mapping[int, object] | None) -> dict[int, object]:
    """Return a table of surfaces or samplers, by indices that are integers."""
    return {_check_integer(name, index, 0): value for index, value in (given or {}).items()}


def _notes(options: LaunchOptions, engine: str) -> tuple[str, ...]:
    """Return what the reports of all launches with some options note."""
    found: tuple[str, ...] = ()
    if options.checks == "off" and engine == "jit":
        found += ("checks='off': nobody looked whether accesses were in range",)
    elif options.checks == "off":
        found += (f"checks='off' changes nothing on the {engine}: all checks were on",)
    if (options.workers or 1) > 1 and engine == "interpreter":
        found += (f"the {engine} ran on one worker",)
    return found


def _size_notes(geometry: Mapping[str, Any]) -> tuple[str, ...]:
    """Say that nothing but groups of one work-item was found: prime sizes have no divisors."""
    if not geometry.get("local_size_chosen") or max(geometry["local_size"]) > 1:
        return ()
    size = geometry["global_size"][0]
    if size <= LARGEST_CHOSEN or divisor_of(size) > 1:
        return ()
    return (
        f"no size up to {LARGEST_CHOSEN} but 1 divides {size}, so each group has one work-item; "
        "a local_size need not divide, 64 makes fuller threads with a smaller last group",
    )


def _losses(found: Outcome) -> tuple[str, ...]:
    return (
        f"printf: {found.lost_bytes} bytes of records are lost; groups printed more than "
        f"the {PRINTF_BYTES} bytes that the buffer holds",
    )


def _taint(reached: Mapping[Reached, int]) -> tuple[TaintUse, ...]:
    uses = [
        TaintUse(place.sink.value, place.instruction, place.file, place.line, count)
        for place, count in reached.items()
    ]
    return tuple(sorted(uses, key=lambda use: (use.sink, use.file or "", use.line or 0)))


def _fidelity(forms: Mapping[str, int]) -> tuple[FormUse, ...]:
    return tuple(_use(form, count) for form, count in sorted(forms.items()))


def _use(form: str, count: int) -> FormUse:
    """Look up what a form is worth; its name is `mnemonic[.variant][:type]`."""
    name = form.partition(":")[0]
    op = ISA.by_mnemonic(name) or ISA.by_mnemonic(name.partition(".")[0])
    if op is None:
        raise InternalError(f"the engine counted {form!r}, which is not an instruction")
    worth = op.worth(form.partition(":")[2])
    return FormUse(form, count, str(worth), worth.is_exact)

"""The engine `"jit"`: kernels as native code of the host, made by LLVM.

The traced graphs are the meaning of instructions; this package lowers micro-operations and
effects to LLVM IR as text. Only `native` knows llvmlite, and imports it when a kernel is compiled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import isqrt
from threading import Lock
from weakref import WeakMethod, ref

import numpy as np

from visim.engine.base import Dispatch, Exit, Machine, RunOptions, SharedStarts
from visim.engine.faults import CANCELLED
from visim.engine.jit.analysis.affine import InputShape
from visim.engine.jit.analysis.inputs import Inputs
from visim.engine.jit.analysis.payload import Payload
from visim.engine.jit.common.ahead import AHEAD
from visim.engine.jit.launch.answers import Aim, Halt, Target
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.launch.kept import Compiled
from visim.engine.jit.launch.records import (
    DEEP_STACK_BYTES,
    LONG_STACK_BYTES,
    STACK_BYTES,
    Stacks,
)
from visim.engine.jit.launch.run import Runner, looks_inside, shared_starts, weakly
from visim.engine.jit.launch.tables import Contents
from visim.engine.jit.launch.teams import Teams, traits
from visim.engine.jit.launch.work import private_memory
from visim.engine.jit.launch.workers import SMALL_STEPS, Team, available_workers
from visim.engine.jit.writing.versions import Traits, Version, Way, noted
from visim.engine.observers import BlockCounts, BlockPlace, Observers
from visim.engine.stops import Stopped, stoppable
from visim.linker.program import LinkedKernel

_SHORT = 500
"""So many instructions never make a module that is made quickly."""
LEAST_GROUPS = 8
"""Another worker is worth its start for no fewer groups whose threads Python starts."""
LEAST_STEPS = 16_000
"""Native code does fewer instructions in less than what it costs to ask another worker that is
awake, with its tables: an instruction of a hardware thread takes a fifth of a nanosecond to two.

Fewer than `SMALL_STEPS` are done in less than what waking a worker takes; see `handover`.
"""
STEPS_OF_ONE = 4_000
"""Instructions done in the 3 to 4 us for which who launches is busy with one worker more: waking
it, its tables, what it has done. So the best number of workers is the root of how often a launch
has so many. Nobody knows how often loops turn; kernels that have any get all workers."""


class Jit:
    """The engine `"jit"`."""

    name = "jit"

    def prepare(self, kernel: LinkedKernel) -> Prepared:
        """Return the kernel, ready to run; it is compiled for each kind of launch when first met.

        Raises:
            UnsupportedError: the kernel needs what the JIT cannot do.
        """
        return Prepared(kernel)


class Prepared:
    """A kernel, what runs it, and its code.

    Args:
        kernel: the kernel.
        saving: whether threads keep their registers in memory.
        code: its code, if it was prepared before.
    """

    def __init__(
        self, kernel: LinkedKernel, *, saving: bool = False, code: KernelCode | None = None
    ) -> None:
        self.kernel = kernel
        self.saving = saving
        self._teams = Teams()
        self._lock = Lock()
        self.code = code or KernelCode(kernel, saving=saving)
        self._renewals = self.code.renewals
        self._first = self.code.traits
        self._inputs = Inputs(kernel, self._first.rows)
        self._stacks = [Stacks(_stack_bytes(self._first))]

    def again(self) -> Prepared:
        """Return what runs the kernel at the same time, on the same code."""
        return Prepared(self.kernel, saving=self.saving, code=self.code)

    def run(
        self, groups: Sequence[int], dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Exit:
        """Run the groups one after another; a fault ends the run and is returned."""
        with self._lock, stoppable(options.stop):
            if self._renewals != self.code.renewals:
                self._renewals, self._teams = self.code.renewals, Teams()
            team = self._teams.of(dispatch, len(groups), machine, options)
            if team is None:
                team = self._team(len(groups), dispatch, machine, options)
            self.last = team.runners[0]
            try:
                found = team.run(groups, options)
            except Stopped:
                place = dispatch.group_id(groups[0])
                return Exit(
                    stopped=replace(CANCELLED.unplaced(), kernel=self.kernel.name, group=place)
                )
            self.code.was_run()
            # The first worker is the thread that launches; others wait beside it.
            found.compile_s = self.last.compile_s
            if options.observers:
                self._report(team.runners, found, options)
            return found

    def expect(self, dispatch: Dispatch, machine: Machine, options: RunOptions) -> None:
        """Begin to compile what threads run that native code starts, beside the caller.

        A launch that needs the code before it is there waits for it.
        """
        shared = None if options.seed or self._first.has_host_turns else shared_starts(dispatch)
        if shared is None:
            return
        inputs = self._inputs.shapes(shared)
        version = self._version(dispatch, machine, shared, inputs, options)
        every_channel = (1 << self.kernel.simd_size) - 1
        version = replace(version, full=all(one.mask == every_channel for one in shared.starts))
        method = WeakMethod(self.code.compiled)

        def compile_it() -> None:
            provide = method()
            if provide is not None:
                provide(version)

        AHEAD.begin(compile_it)

    def _report(self, runners: Sequence[Runner], found: Exit, options: RunOptions) -> None:
        """Report to observers what is known when groups have ended."""
        observers = Observers(options.observers)
        if observers.block_counts:
            total: Counter[BlockPlace] = Counter()
            for runner in runners:
                total += runner.block_counts
            counts = BlockCounts(self.kernel, [*total], np.array([*total.values()], np.uint64))
            for observe in observers.block_counts:
                observe(counts)
        fault = found.fault or found.stopped
        if fault is not None:
            for observe in observers.fault:
                observe(fault)

    def _team(self, groups: int, dispatch: Dispatch, machine: Machine, options: RunOptions) -> Team:
        """Return workers for a launch that has none: idle ones, or new ones."""
        shared = None if options.seed else shared_starts(dispatch)
        workers = self._workers(groups, dispatch, shared, options)
        if self._first.has_host_turns:
            shared = None
        private = private_memory(machine, shared, workers)
        given, shown = weakly(dispatch), self._teams.same(Contents.of(machine))
        common = () if shared is None else _placed(shared.common)
        targets = [Target(given, shared, machine, own, shown, common) for own in private]
        aims = [ref(target) for target in targets]
        inputs = () if shared is None else self._inputs.shapes(shared)
        form = None if shared is None else _form(shared, inputs, targets, options)
        team = None if form is None else self._teams.made_before(form)
        if team is None:
            team = self._new_team(form, inputs, targets[0], Aim(aims), options)
        else:
            team.aim(aims)
        self._teams.keep(team, dispatch, targets, aims, groups, options)
        return team

    def _new_team(
        self,
        form: Hashable,
        inputs: tuple[InputShape, ...],
        first: Target,
        aim: Aim,
        options: RunOptions,
    ) -> Team:
        """Return workers for launches of a form, one for each target."""
        version = self._version(first.dispatch, first.machine, first.shared, inputs, options)

        def provide(full: bool, cr0: int) -> Compiled:
            return self.code.compiled(replace(version, full=full, cr0=cr0))

        halt, traits_of_all = Halt(), self._first
        runners = [
            Runner(self.kernel, provide, traits_of_all, aim, number, options, halt, stacks)
            for number, stacks in enumerate(self._worker_stacks(len(aim.targets)))
        ]
        team = Team(runners, halt, form, aim, self._teams.trial(form))
        self._teams.add(team)
        return team

    def _version(
        self,
        dispatch: Dispatch,
        machine: Machine,
        shared: SharedStarts | None,
        inputs: tuple[InputShape, ...],
        options: RunOptions,
    ) -> Version:
        """Return the version that a launch needs on any host if threads start with all channels."""
        wants = Observers(options.observers).wants
        payload = None if shared is None else Payload.of(shared)
        filled = None if payload is None else payload.filled
        threads = None if shared is None else len(shared.starts)
        way = self._first.way(threads, looks_inside=looks_inside(options))
        stacks = way is Way.STACKED
        return Version(
            full=True,
            slm_bytes=dispatch.slm_bytes,
            budgeted=options.budget is not None,
            counting=options.count_forms or "block_counts" in wants,
            saving=self.saving,
            inputs=inputs,
            checked=options.checked,
            watched=noted(Observers(options.observers), self.kernel),
            payload=None if stacks else payload,
            filled=filled if stacks else None,
            in_step=way is Way.IN_STEP,
            low=0 if shared is None else _low_channels(shared, self.kernel.simd_size),
            scratch_bytes=None if _has_bases(shared) else machine.scratch_bytes,
        )

    def _workers(
        self, groups: int, dispatch: Dispatch, shared: SharedStarts | None, options: RunOptions
    ) -> int:
        """Return how many workers run a dispatch.

        There is one where the threads of all groups use the same memory, where somebody looks at
        their order, or where it would be done before another one is awake.
        """
        if options.seed or (options.observers and Observers(options.observers).is_ordered):
            return 1
        if shared is None or self._first.has_host_turns:
            shares = shared is not None and shared.private is not None
            if shares or not (shared or getattr(dispatch, "groups_are_independent", False)):
                return 1
            return max(1, min(available_workers(options), groups // LEAST_GROUPS))
        if shared.private is not None and shared.private_places is None:
            return 1
        steps = groups * len(shared.starts) * self._first.weight
        # In which order small launches update memory stays as it is in the interpreter.
        if steps < (SMALL_STEPS if self._first.has_atomics else LEAST_STEPS):
            return 1
        most = min(available_workers(options), groups)
        return most if self._first.has_loops else min(most, isqrt(steps // STEPS_OF_ONE))

    def _worker_stacks(self, workers: int) -> list[Stacks]:
        while len(self._stacks) < workers:
            self._stacks.append(Stacks(self._stacks[0].size))
        return self._stacks[:workers]


def _low_channels(shared: SharedStarts, channels: int) -> int:
    """Return how many channels every thread starts with, if that is a half or less of them.

    Only powers of two count, so that few versions are compiled where many sizes of groups are used.
    """
    masks = {start.mask for start in shared.starts}
    return next((n for n in (1, 2, 4, 8, 16) if n < channels and masks == {(1 << n) - 1}), 0)


def _stack_bytes(traits: Traits) -> int:
    """Return how large the stacks of threads are; only what is used takes memory.

    Code that is made quickly keeps all that it computes there.
    """
    if traits.has_calls:
        return DEEP_STACK_BYTES
    return LONG_STACK_BYTES if traits.steps > _SHORT else STACK_BYTES


def _has_bases(shared: SharedStarts | None) -> bool:
    """Whether threads may have scratch memory that does not begin with address 0."""
    return shared is None or any(start.scratch_base for start in shared.starts)


def _placed(registers: Sequence[tuple[int, bytes]]) -> list[tuple[slice, bytes]]:
    """Return registers with the slices of the image that they are."""
    return [(slice(offset, offset + len(data)), data) for offset, data in registers]


def _form(
    shared: SharedStarts,
    inputs: tuple[InputShape, ...],
    targets: Sequence[Target],
    options: RunOptions,
) -> Hashable:
    """Return what launches have in common that the same team can run, one after another."""
    machine, private = targets[0].machine, shared.private
    return (
        *(shared.starts, shared.places, shared.private_places, inputs, len(targets)),
        *(targets[0].dispatch.slm_bytes, machine.scratch_bytes),
        None if private is None else private.shape,
        traits(options),
    )


__all__ = ["Jit", "Prepared"]

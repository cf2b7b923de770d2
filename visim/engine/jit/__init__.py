"""The engine `"jit"`: kernels as native code of the host, made by LLVM.

The traced graphs are the meaning of instructions; this package lowers micro-operations and
effects to LLVM IR as text. Only `native` knows llvmlite, and imports it when a kernel is compiled.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from visim.engine.base import Dispatch, Exit, Machine, RunOptions, SharedStarts
from visim.engine.jit.answers import Halt
from visim.engine.jit.blocks import UnitCode
from visim.engine.jit.inputs import Inputs
from visim.engine.jit.kept import Compiled, Kept
from visim.engine.jit.module import ModuleText, ModuleWriter, Traits, Version, unit_codes
from visim.engine.jit.native import has_gathers, has_mask_registers, vector_lanes
from visim.engine.jit.payload import Payload
from visim.engine.jit.records import DEEP_STACK_BYTES, STACK_BYTES, Stacks
from visim.engine.jit.run import Runner, shared_starts
from visim.engine.jit.tracing import ACCESSES, PATHS
from visim.engine.jit.work import private_memory
from visim.engine.jit.workers import Team, available_workers
from visim.engine.observers import ORDERED, BlockCounts, BlockPlace, Observers
from visim.linker.program import LinkedKernel

LEAST_GROUPS = 8
"""Another worker is worth its start for no fewer groups whose threads Python starts."""
LEAST_STEPS = 10_000
"""Native code is done with fewer instructions before another worker is awake."""


class Jit:
    """The engine `"jit"`."""

    name = "jit"

    def prepare(self, kernel: LinkedKernel) -> Prepared:
        """Return the kernel, ready to run; it is compiled for each kind of launch when first met.

        Raises:
            UnsupportedError: the kernel needs what the JIT cannot do.
        """
        return Prepared(kernel)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The workers of a dispatch, and what else they were made for."""

    dispatch: weakref.ref[Dispatch]
    traits: object
    team: Team


@dataclass(frozen=True, slots=True)
class _Forget:
    """Removes what is kept for a dispatch when that is gone."""

    kept: dict[int, _Kept]
    key: int

    def __call__(self, reference: object) -> None:
        """Remove it."""
        self.kept.pop(self.key, None)


class Prepared:
    """A kernel and its compiled versions."""

    def __init__(self, kernel: LinkedKernel, *, saving: bool = False) -> None:
        self.kernel = kernel
        self.saving = saving
        self._versions: dict[Version, Compiled] = {}
        self._kept: dict[int, _Kept] = {}
        self._lock = Lock()
        self._compiling = Lock()
        self._entries = Kept(kernel)
        self._first = self._entries.traits(saving=saving, survey=self._survey)
        self._inputs = Inputs(kernel, self._first.rows)
        deep = self._first.has_recursion
        self._stacks = [Stacks(DEEP_STACK_BYTES if deep else STACK_BYTES)]

    def run(
        self, groups: Sequence[int], dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Exit:
        """Run the groups one after another; a fault ends the run and is returned."""
        with self._lock:
            team = self._prepared_team(len(groups), dispatch, machine, options)
            self.last = team.runners[0]
            found = team.run(groups, options)
            dropped = sum(runner.take_dropped() for runner in team.runners)
            machine.surfaces.note_dropped_reads(dropped)
            self._report(team.runners, found, options)
            return found

    def _report(self, runners: Sequence[Runner], found: Exit, options: RunOptions) -> None:
        """Report to observers what is known when groups have ended."""
        if not options.observers:
            return
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

    def _prepared_team(
        self, groups: int, dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Team:
        """Return the workers of a launch; one that is repeated has them already.

        They are forgotten with the dispatch, which they must not keep alive.
        """
        kept, traits = self._kept.get(id(dispatch)), _traits(groups, machine, options)
        if kept is not None and kept.dispatch() is dispatch and kept.traits == traits:
            return kept.team
        team = self._new_team(groups, dispatch, machine, options)
        with contextlib.suppress(TypeError):
            reference = weakref.ref(dispatch, _Forget(self._kept, id(dispatch)))
            # The new workers may have added memory.
            traits = _traits(groups, machine, options)
            self._kept[id(dispatch)] = _Kept(reference, traits, team)
        return team

    def _new_team(
        self, groups: int, dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Team:
        wants = Observers(options.observers).wants
        shared = None if options.seed else shared_starts(dispatch)
        alone = options.seed or wants & ORDERED
        workers = 1 if alone else self._workers(groups, dispatch, shared, options)
        inputs = ()
        if self._first.has_host_turns:
            shared = None
        if shared is not None:
            inputs = self._inputs.shapes(shared)
        slm_bytes = dispatch.slm_bytes
        payload = None if shared is None else Payload.of(shared)
        filled = None if payload is None else payload.filled

        def provide(full: bool, cr0: int) -> Compiled:
            version = Version(
                full,
                slm_bytes,
                cr0=cr0,
                budgeted=options.budget is not None,
                counting=options.count_forms or "block_counts" in wants,
                saving=self.saving,
                inputs=inputs,
                checked=options.checked,
                has_mask_registers=has_mask_registers(),
                has_gathers=has_gathers(),
                vector_lanes=vector_lanes(),
                watched=tuple(sorted(wants & {PATHS, ACCESSES})),
                payload=None if self._first.uses_stacks else payload,
                filled=filled if self._first.uses_stacks else None,
            )
            return self._compiled(version)

        halt, first = Halt(), self._first
        stacks, private = self._worker_stacks(workers), private_memory(machine, shared, workers)
        runners = [
            Runner(self.kernel, provide, first, dispatch, shared, machine, options, halt, *own)
            for own in zip(stacks, private, strict=True)
        ]
        return Team(runners, halt)

    def _workers(
        self, groups: int, dispatch: Dispatch, shared: SharedStarts | None, options: RunOptions
    ) -> int:
        """Return how many workers run a dispatch.

        There is one where the threads of all groups use the same memory, or where it would be done
        before another one is awake.
        """
        most = available_workers(options)
        if shared is None or self._first.has_host_turns:
            shares = shared is not None and shared.private is not None
            if shares or not (shared or getattr(dispatch, "groups_are_independent", False)):
                return 1
            return max(1, min(most, groups // LEAST_GROUPS))
        if shared.private is not None and shared.private_places is None:
            return 1
        steps = groups * len(shared.starts) * self._first.weight
        return min(most, groups) if steps >= LEAST_STEPS else 1

    def _worker_stacks(self, workers: int) -> list[Stacks]:
        while len(self._stacks) < workers:
            self._stacks.append(Stacks(self._stacks[0].size))
        return self._stacks[:workers]

    def _compiled(self, version: Version) -> Compiled:
        with self._compiling:
            found = self._versions.get(version)
            if found is None:

                def write() -> ModuleText:
                    return ModuleWriter(self.kernel, version, self._codes).write()

                found = self._versions[version] = self._entries.compiled(version, write)
            return found

    @cached_property
    def _codes(self) -> list[UnitCode]:
        """The code of all units, which all versions share."""
        return unit_codes(self.kernel)

    def _survey(self) -> Traits:
        version = Version(full=True, slm_bytes=0, saving=self.saving)
        return ModuleWriter(self.kernel, version, self._codes).survey()


def _traits(groups: int, machine: Machine, options: RunOptions) -> object:
    """Return what else the workers of a dispatch are made for."""
    return (
        id(machine),
        len(machine.memory.allocations),
        groups,
        options.budget,
        options.seed,
        options.count_forms,
        options.workers,
        options.checked,
        Observers(options.observers).wants if options.observers else None,
    )


__all__ = ["Jit", "Prepared"]

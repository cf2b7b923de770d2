"""The engine `"jit"`: kernels as native code of the host, made by LLVM.

The traced graphs are the meaning of instructions; this package lowers micro-operations and
effects to LLVM IR as text. Only `native` knows llvmlite, and imports it when a kernel is compiled.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from visim.engine.base import Dispatch, Exit, Machine, RunOptions, SharedStarts
from visim.engine.jit.inputs import input_shapes
from visim.engine.jit.module import ModuleWriter, Version, unit_codes
from visim.engine.jit.native import NativeCode, has_mask_registers
from visim.engine.jit.records import DEEP_STACK_BYTES, STACK_BYTES, Stacks
from visim.engine.jit.run import Compiled, Runner, shared_starts
from visim.engine.jit.workers import LEAST_GROUPS, available_workers, run_groups
from visim.linker.program import LinkedKernel


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
    """The runners of a dispatch, and what else they were made for."""

    dispatch: weakref.ref[Dispatch]
    traits: object
    runners: list[Runner]


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
        self._codes = unit_codes(kernel)
        self._first = ModuleWriter(kernel, Version(True, 0, saving=saving), self._codes).survey()
        deep = self._first.has_recursion
        self._stacks = [Stacks(DEEP_STACK_BYTES if deep else STACK_BYTES)]

    def run(
        self, groups: Sequence[int], dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Exit:
        """Run the groups one after another; a fault ends the run and is returned."""
        with self._lock:
            runners = self._prepared_runners(len(groups), dispatch, machine, options)
            self.last = runners[0]
            for runner in runners:
                runner.begin(options)
            return run_groups(runners, groups)

    def _prepared_runners(
        self, groups: int, dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> list[Runner]:
        """Return a runner for each worker; a launch that is repeated has them already.

        They are forgotten with the dispatch, which they must not keep alive.
        """
        traits = (
            id(machine),
            len(machine.memory.allocations),
            groups,
            options.budget,
            options.seed,
            options.count_forms,
            options.workers,
            options.checked,
        )
        kept = self._kept.get(id(dispatch))
        if kept is not None and kept.dispatch() is dispatch and kept.traits == traits:
            return kept.runners
        runners = self._new_runners(groups, dispatch, machine, options)
        try:
            reference = weakref.ref(dispatch, _Forget(self._kept, id(dispatch)))
        except TypeError:
            return runners
        self._kept[id(dispatch)] = _Kept(reference, traits, runners)
        return runners

    def _new_runners(
        self, groups: int, dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> list[Runner]:
        shared = None if options.seed else shared_starts(dispatch)
        workers = 1 if options.seed else self._workers(groups, dispatch, shared, options)
        inputs = ()
        if self._first.has_host_turns:
            shared = None
        if shared is not None:
            inputs = input_shapes(self.kernel, self._first.rows, shared)
        slm_bytes = dispatch.slm_bytes

        def provide(full: bool, cr0: int) -> Compiled:
            version = Version(
                full,
                slm_bytes,
                cr0=cr0,
                budgeted=options.budget is not None,
                counting=options.count_forms,
                saving=self.saving,
                inputs=inputs,
                places=() if shared is None else shared.places,
                checked=options.checked,
                has_mask_registers=has_mask_registers(),
            )
            return self._compiled(version)

        return [
            Runner(self.kernel, provide, self._first, dispatch, shared, machine, options, stacks)
            for stacks in self._worker_stacks(workers)
        ]

    @staticmethod
    def _workers(
        groups: int, dispatch: Dispatch, shared: SharedStarts | None, options: RunOptions
    ) -> int:
        """Return how many workers run a dispatch.

        There is one where the threads of all groups use the same memory.
        """
        if shared is not None and shared.private is not None:
            return 1
        if shared is None and not getattr(dispatch, "groups_are_independent", False):
            return 1
        return max(1, min(available_workers(options), groups // LEAST_GROUPS))

    def _worker_stacks(self, workers: int) -> list[Stacks]:
        while len(self._stacks) < workers:
            self._stacks.append(Stacks(self._stacks[0].size))
        return self._stacks[:workers]

    def _compiled(self, version: Version) -> Compiled:
        with self._compiling:
            return self._version(version)

    def _version(self, version: Version) -> Compiled:
        found = self._versions.get(version)
        if found is None:
            module = ModuleWriter(self.kernel, version, self._codes).write()
            found = self._versions[version] = Compiled(module, NativeCode(module.text))
        return found


__all__ = ["Jit", "Prepared"]

"""An engine that runs the MIR of kernels, to be compared with the interpreter.

Groups, turns, barriers and faults are the interpreter's; what a thread computes, which channels are
on and where control goes are those of its MIR. Passes may be applied to it, and values watched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine.base import CALL_DEPTH, Dispatch, Exit, Machine, RunOptions
from visim.engine.blocks import Block, Ending, Unready
from visim.engine.faults import (
    TOO_DEEP,
    Stop,
    bad_handle,
    jump_over_waiting,
    not_executable,
    over_budget,
    switch_index,
)
from visim.engine.frames import Thread
from visim.engine.jit.lift.program import lift_program
from visim.engine.jit.lift.unit import Lifted
from visim.engine.jit.mir.attributes import Callee
from visim.engine.jit.mir.evaluator import Activation, Compiled, Performer
from visim.engine.jit.mir.values import NOWHERE, Edge, EndKind, Function, Value
from visim.engine.kernel_image import KernelImage
from visim.engine.lanes import RegisterRange
from visim.engine.modes import float_mode
from visim.engine.running import Run, Stopped
from visim.linker.program import FUNCTION_HANDLE, LinkedKernel
from visim.machine.allocations import MemoryViolation
from visim.sem.effects import (
    Barrier,
    BarrierSignal,
    BarrierWait,
    NamedBarrierSignal,
    NamedBarrierWait,
    Synchronization,
    Yield,
)
from visim.sem.expr import constant
from visim.types import UD

Passes = Callable[[Function], Function]
Watch = Callable[[Function], Callable[[Value, NDArray[Any]], None]]
"""Returns, for a function, what is told what each pure value is when it has been computed."""

_ZERO = constant(0, UD, 1)
_SYNCHRONIZATIONS: dict[str, Synchronization] = {
    "barrier": Barrier(),
    "signal": BarrierSignal(),
    "wait": BarrierWait(),
    "named_signal": NamedBarrierSignal(_ZERO, _ZERO, _ZERO, _ZERO),
    "named_wait": NamedBarrierWait(_ZERO),
    "yield": Yield(),
}
Key = tuple[int, int]


class Shadow:
    """The engine `"mir"`, for tests."""

    name = "mir"

    def __init__(
        self,
        passes: Passes | None = None,
        watch: Watch | None = None,
        *,
        saving: bool = False,
    ) -> None:
        self._passes = passes
        self._watch = watch
        self._saving = saving

    def prepare(self, kernel: LinkedKernel) -> Prepared:
        """Return the kernel as MIR, ready to run.

        Raises:
            NotLifted: the kernel does what MIR does not say.
        """
        return Prepared(kernel, self._passes, self._watch, saving=self._saving)


class Prepared(KernelImage):
    """A kernel whose MIR is ready to run."""

    def __init__(
        self,
        kernel: LinkedKernel,
        passes: Passes | None = None,
        watch: Watch | None = None,
        *,
        saving: bool = False,
    ) -> None:
        super().__init__(kernel)
        self._lock = Lock()
        self._passes = passes
        self._watch = watch
        self._saving = saving
        self.codes: dict[Key, Compiled] = {}
        for key, lifted in lift_program(kernel, saving=saving).items():
            function = lifted.function if passes is None else passes(lifted.function)
            unit, code = kernel.units[key[0]], Lifted(function, lifted.homes)
            observe = None if watch is None else watch(function)
            self.codes[key] = Compiled(kernel, unit, code, self.context, observe)

    def again(self) -> Prepared:
        """Return the kernel with another image, for a launch at the same time."""
        return Prepared(self.kernel, self._passes, self._watch, saving=self._saving)

    def run(
        self, groups: Sequence[int], dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Exit:
        """Run the groups one after another; a fault ends the run and is returned."""
        with self._lock, np.errstate(all="ignore"):
            run = _ShadowRun(self, dispatch, machine, options)
            try:
                run.groups(groups)
                return run.exit
            finally:
                self.context.release()

    def expect(self, dispatch: Dispatch, machine: Machine, options: RunOptions) -> None:
        """Do nothing: the MIR is there."""


class _ShadowRun(Run):
    """A run in which threads execute MIR."""

    def __init__(
        self, prepared: Prepared, dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> None:
        super().__init__(prepared, dispatch, machine, options)
        self._codes = prepared.codes
        self._open: dict[int, list[Activation]] = {}
        self._saved: dict[int, list[list[bytes]]] = {}

    def _start(self, group: int, number: int) -> Thread:
        self._open.pop(number, None)
        self._saved[number] = []
        return super()._start(group, number)

    def _execute(self, thread: Thread) -> None:
        frames = self._open.get(thread.number)
        if frames is None:
            simd = self.kernel.simd_size
            on = np.array([bool(thread.active >> lane & 1) for lane in range(simd)])
            frames = self._open[thread.number] = [self._codes[0, 0].enter(on)]
        while frames:
            if self._in_block(thread, frames):
                return
        thread.done = True

    def _in_block(self, thread: Thread, frames: list[Activation]) -> bool:
        """Run to the end of a block, or to where a function begins; whether others run first."""
        frame = frames[-1]
        body = frame.block.body
        while frame.at < len(body):
            value = body[frame.at]
            frame.at += 1
            if value.op.is_pure:
                frame.code.compute(value, frame.environment)
                continue
            if value.op.name == "call":
                self._enter(thread, frames, value)
                return False
            if self._perform(thread, frame, value):
                return True
        self._leave(thread, frames)
        return False

    def _perform(self, thread: Thread, frame: Activation, value: Value) -> bool:
        """Perform an operation that has effects; return whether others run first."""
        name, pc = value.op.name, value.pc
        if name == "tick":
            thread.executed += int(value.attribute or 0)  # pyright: ignore[reportArgumentType]
            budget = self.options.budget
            if budget is not None and thread.executed > budget:
                raise Stopped(self._stop(frame, over_budget(budget), pc))
            return False
        if name == "pause":
            self._block = self._as_block(frame, pc)
            return self._has_to_pause(thread)
        if name in _SYNCHRONIZATIONS:
            return self._meet(thread, frame, value)
        try:
            Performer(frame.code, frame).perform(value)
        except (MemoryViolation, RegisterRange) as refusal:
            thread.table = self.tables[frame.code.unit.number]
            self._block = self._as_block(frame, pc)
            raise self._stopped(thread, pc, refusal) from None
        return False

    def _as_block(self, frame: Activation, pc: int, ending: Ending | None = None) -> Block:
        """Return a block of the program that ends with an instruction."""
        none: Any = Ending(None, False, None, tuple)
        return Block(0, pc, pc + 1, (), ending or none, ())

    def _stop(self, frame: Activation, stop: Stop, pc: int) -> Any:
        if self._thread is not None:
            self._thread.table = self.tables[frame.code.unit.number]
        self._block = self._as_block(frame, pc)
        return self._fault(stop, pc)

    def _meet(self, thread: Thread, frame: Activation, value: Value) -> bool:
        """Synchronize; return whether others run first."""
        values, names = frame.environment.values, frame.code.names
        given = tuple(int(values[names[arg]][0]) for arg in value.args)
        ending = Ending(_SYNCHRONIZATIONS[value.op.name], False, None, lambda: given)
        thread.table = self.tables[frame.code.unit.number]
        thread.pc = value.pc + 1
        self._block = self._as_block(frame, value.pc, ending)
        return self._gives_way(thread, self._block)

    # Control

    def _leave(self, thread: Thread, frames: list[Activation]) -> None:
        """Do what the end of a block says."""
        frame = frames[-1]
        end, values, names = frame.block.end, frame.environment.values, frame.code.names
        operands = [values[names[arg]] for arg in end.args]
        match end.kind:
            case EndKind.JUMP:
                self._go(frame, end.edges[0])
            case EndKind.BRANCH:
                self._go(frame, end.edges[0] if operands[0][0] else end.edges[1])
            case EndKind.SWITCH:
                number = min(int(operands[0][0]), len(end.edges) - 1)
                self._go(frame, end.edges[number])
            case EndKind.RET:
                frames.pop()
                self._restore(thread, frame, is_last=not frames)
            case EndKind.STOP:
                raise Stopped(self._stopping(frame, operands))

    def _go(self, frame: Activation, edge: Edge) -> None:
        values, names = frame.environment.values, frame.code.names
        target = frame.code.function.by_number[edge.block]
        found = [values[names[arg]] for arg in edge.args]
        for param, value in zip(target.params, found, strict=True):
            values[names[param]] = value
        frame.block, frame.at = target, 0

    def _stopping(self, frame: Activation, operands: list[NDArray[Any]]) -> Any:
        end = frame.block.end
        if end.pc == NOWHERE:
            raise AssertionError(f"MIR: control has come to {end.reason} in ^{frame.block.number}")
        match end.reason:
            case "passed-waiting":
                stop = jump_over_waiting(self._transfer_at(frame, end.pc).label)
            case "switch-index":
                count = len(self._transfer_at(frame, end.pc).labels)
                stop = switch_index(int(operands[0][0]), count)
            case _:
                stop = self._refusal(frame, end.pc)
        return self._stop(frame, stop, end.pc)

    def _refusal(self, frame: Activation, pc: int) -> Stop:
        """Return why the interpreter does not execute an instruction."""
        table = self.tables[frame.code.unit.number]
        found = table.block(min(pc, len(frame.code.unit.body)), float_mode(0), full=False)
        for _, step in found.steps:
            try:
                step()
            except Unready as refusal:
                return not_executable(refusal.reason, undefined=refusal.undefined)
        raise AssertionError(f"MIR: the interpreter executes what is at {pc}")

    def _transfer_at(self, frame: Activation, pc: int) -> Any:
        return self.kernel.effects(frame.code.unit, pc)[-1]

    # Calls

    def _enter(self, thread: Thread, frames: list[Activation], value: Value) -> None:
        """Begin a function; its own variables are zeros."""
        frame = frames[-1]
        values, names = frame.environment.values, frame.code.names
        callee: Any = value.attribute
        assert isinstance(callee, Callee)
        if callee.name is not None:
            number = self.kernel.function(callee.name).number
        else:
            handle = int(values[names[value.args[0]]][0])
            index, rest = divmod(handle - FUNCTION_HANDLE, 16)
            if rest or not 0 <= index < len(self.tables) - 1:
                raise Stopped(self._stop(frame, bad_handle(handle), value.pc))
            number = index + 1
        if len(frames) > CALL_DEPTH:
            raise Stopped(self._stop(frame, TOO_DEEP, value.pc))
        code = self._codes[number, callee.control]
        own = self._variables(code.unit)
        self._saved[thread.number].append([part.tobytes() for part in own])
        for part in own:
            part.fill(0)
        frames.append(code.enter(values[names[value.args[-1]]]))

    def _restore(self, thread: Thread, frame: Activation, *, is_last: bool) -> None:
        """Bring back a function's variables as they were in its activation before."""
        if is_last:
            return
        own = self._variables(frame.code.unit)
        for part, saved in zip(own, self._saved[thread.number].pop(), strict=True):
            part[...] = np.frombuffer(saved, np.uint8).reshape(part.shape)


__all__ = ["Prepared", "Shadow"]

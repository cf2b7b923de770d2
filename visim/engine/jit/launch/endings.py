"""How native code ends: what its thread records say, as the faults that the interpreter has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from visim.engine.barriers import Barriers, Ticket
from visim.engine.faults import (
    CANCELLED,
    TOO_DEEP,
    Stop,
    bad_handle,
    fault_at,
    jump_over_waiting,
    not_executable,
    over_budget,
    place_name,
    register_reach,
    switch_index,
)
from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.launch.records import ThreadRecord
from visim.engine.jit.layout import FaultKind, Thread
from visim.errors import Fault, InternalError
from visim.linker.program import LinkedKernel


class Endings:
    """Reads the ends of a kernel's threads."""

    def __init__(self, kernel: LinkedKernel) -> None:
        self._kernel = kernel

    def cancelled(self, thread: ThreadRecord) -> Fault:
        """Return the cancellation of a thread where it is."""
        pc = int(thread.fields[Thread.PC])
        return self.fault(thread, pc, CANCELLED)

    def fault_of(self, thread: ThreadRecord, refusal: Fault | None, budget: int | None) -> Fault:
        """Return the fault with which a thread has stopped.

        Args:
            thread: the thread.
            refusal: the fault that the host answered last.
            budget: the instructions that the thread may execute.
        """
        fields = thread.fields
        kind, pc = FaultKind(int(fields[Thread.FAULT])), int(fields[Thread.PC])
        address, channel = int(fields[Thread.ADDRESS]), int(fields[Thread.CHANNEL])
        match kind:
            case FaultKind.MEMORY | FaultKind.HOST:
                if refusal is None:
                    raise InternalError("native code reports a refusal that the host does not know")
                return refusal
            case FaultKind.REGISTER:
                found = self.fault(thread, pc, register_reach(address))
                return replace(found, channel=channel, address=address)
            case FaultKind.REFUSED:
                return self.fault(thread, pc, self._refusal(thread, pc))
            case FaultKind.BUDGET:
                return self.fault(thread, pc, over_budget(budget))
            case FaultKind.PASSED_WAITING:
                label = str(getattr(self._instruction(thread, pc), "label", ""))
                return self.fault(thread, pc, jump_over_waiting(label))
            case FaultKind.SWITCH_INDEX:
                count = len(getattr(self._instruction(thread, pc), "labels", ()))
                return self.fault(thread, pc, switch_index(address, count))
            case FaultKind.BAD_HANDLE:
                return self.fault(thread, pc, bad_handle(address))
            case FaultKind.CALL_DEPTH:
                return self.fault(thread, pc, TOO_DEEP)

    def _refusal(self, thread: ThreadRecord, pc: int) -> Stop:
        unit = self._kernel.units[int(thread.fields[Thread.UNIT])]
        block = UnitCode(self._kernel, unit).block(pc)
        refusal = next(step.refusal for step in block.steps if step.refusal is not None)
        return not_executable(refusal.reason, undefined=refusal.undefined)

    def _instruction(self, thread: ThreadRecord, pc: int) -> Any:
        body = self._kernel.units[int(thread.fields[Thread.UNIT])].body
        return body[min(pc, len(body) - 1)]

    def fault(self, thread: ThreadRecord, pc: int, stop: Stop) -> Fault:
        """Return a fault of a thread at a program counter."""
        return fault_at(self._instruction(thread, pc), thread.number, stop)

    def deadlock(self, everyone: Sequence[ThreadRecord], waiting: Sequence[ThreadRecord]) -> Fault:
        """Return the fault of a group none of whose threads, all at barriers, can go on."""
        named = self._kernel.platform.has_named_barriers
        barriers = Barriers(len(everyone), has_named=named)
        for thread in waiting:
            barriers.signal(thread.number)
        for thread in waiting:
            thread.waits = barriers.wait(thread.number)
        return self.stalemate(barriers, everyone, waiting)

    def stalemate(
        self, barriers: Barriers, everyone: Sequence[ThreadRecord], waiting: Sequence[ThreadRecord]
    ) -> Fault:
        """Return the fault of a group whose threads wait and nobody can go on."""
        places: dict[int, tuple[str, Ticket]] = {}
        for thread in waiting:
            if thread.waits is not None:
                unit = self._kernel.units[int(thread.fields[Thread.UNIT])]
                pc = int(thread.fields[Thread.PC]) - 1
                places[thread.number] = place_name(unit.unit.name, unit.body[pc]), thread.waits
        numbers = [thread.number for thread in everyone]
        stop = Stop.undefined("barrier-deadlock", barriers.stalemate(places, numbers))
        return self.fault(waiting[0], int(waiting[0].fields[Thread.PC]) - 1, stop)

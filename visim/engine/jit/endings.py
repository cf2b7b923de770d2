"""How native code ends: what its thread records say, as the faults that the interpreter has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from visim.engine.barriers import Barriers, Ticket
from visim.engine.faults import fault_at, place_name
from visim.engine.interp import CALL_DEPTH
from visim.engine.jit.blocks import UnitCode
from visim.engine.jit.layout import FaultKind, Thread
from visim.engine.jit.records import ThreadRecord
from visim.errors import Fault, InternalError
from visim.linker.program import LinkedKernel

CANCELLED = Fault("cancelled", "cancelled", "the launch was cancelled")


class Endings:
    """Reads the ends of a kernel's threads."""

    def __init__(self, kernel: LinkedKernel) -> None:
        self._kernel = kernel

    def cancelled(self, thread: ThreadRecord) -> Fault:
        """Return the cancellation of a thread where it is."""
        pc = int(thread.fields[Thread.PC])
        return self.fault(thread, pc, CANCELLED.category, CANCELLED.code, CANCELLED.message)

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
                message = (
                    f"an indirect operand reaches register byte {address}, outside its variable"
                )
                found = self.fault(thread, pc, "undefined", "register-access", message)
                return replace(found, channel=channel, address=address)
            case FaultKind.REFUSED:
                return self._refusal(thread, pc)
            case FaultKind.BUDGET:
                message = f"the thread executed more than {budget} instructions"
                return self.fault(thread, pc, "out-of-contract", "instruction-budget", message)
            case FaultKind.PASSED_WAITING:
                effects = self._transfer_label(thread, pc)
                message = f"the jump to {effects} passes a label where channels wait"
                return self.fault(thread, pc, "undefined", "jump-over-waiting", message)
            case FaultKind.SWITCH_INDEX:
                count = len(getattr(self._instruction(thread, pc), "labels", ()))
                message = f"the index is {address}, there are {count} labels"
                return self.fault(thread, pc, "undefined", "switch-index", message)
            case FaultKind.BAD_HANDLE:
                message = f"0x{address:x} is not the handle of a function"
                return self.fault(thread, pc, "undefined", "bad-function-handle", message)
            case FaultKind.CALL_DEPTH:
                message = f"more than {CALL_DEPTH} calls are open"
                return self.fault(thread, pc, "out-of-contract", "call-depth", message)

    def _transfer_label(self, thread: ThreadRecord, pc: int) -> str:
        return str(getattr(self._instruction(thread, pc), "label", ""))

    def _refusal(self, thread: ThreadRecord, pc: int) -> Fault:
        unit = self._kernel.units[int(thread.fields[Thread.UNIT])]
        block = UnitCode(self._kernel, unit).block(pc)
        refusal = next(step.refusal for step in block.steps if step.refusal is not None)
        category = "undefined" if refusal.undefined else "unsupported"
        return self.fault(thread, pc, category, "not-executable", refusal.reason)

    def _instruction(self, thread: ThreadRecord, pc: int) -> Any:
        body = self._kernel.units[int(thread.fields[Thread.UNIT])].body
        return body[min(pc, len(body) - 1)]

    def fault(self, thread: ThreadRecord, pc: int, category: str, code: str, message: str) -> Fault:
        """Return a fault of a thread at a program counter."""
        return fault_at(self._instruction(thread, pc), thread.number, category, code, message)

    def deadlock(self, everyone: list[ThreadRecord], waiting: list[ThreadRecord]) -> Fault:
        """Return the fault of a group none of whose threads, all at barriers, can go on."""
        barriers = Barriers(len(everyone))
        for thread in waiting:
            barriers.signal(thread.number)
        for thread in waiting:
            thread.waits = barriers.wait(thread.number)
        return self.stalemate(barriers, everyone, waiting)

    def stalemate(
        self, barriers: Barriers, everyone: list[ThreadRecord], waiting: list[ThreadRecord]
    ) -> Fault:
        """Return the fault of a group whose threads wait and nobody can go on."""
        places: dict[int, tuple[str, Ticket]] = {}
        for thread in waiting:
            if thread.waits is not None:
                unit = self._kernel.units[int(thread.fields[Thread.UNIT])]
                pc = int(thread.fields[Thread.PC]) - 1
                places[thread.number] = place_name(unit.unit.name, unit.body[pc]), thread.waits
        numbers = [thread.number for thread in everyone]
        message = barriers.stalemate(places, numbers)
        pc = int(waiting[0].fields[Thread.PC]) - 1
        return self.fault(waiting[0], pc, "undefined", "barrier-deadlock", message)
